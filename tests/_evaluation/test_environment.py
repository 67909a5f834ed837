import os
import re
import warnings

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.decomposition import PCA
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from sklearn_mvrsm._compat.joblib import thread_limits
from sklearn_mvrsm._evaluation.environment import (
    fit_environment,
    restored,
    threads_asked_for,
)


@pytest.fixture(autouse=True)
def no_thread_variables(monkeypatch):
    for name in thread_limits(1):
        monkeypatch.delenv(name, raising=False)


def test_slots_share_the_cores(monkeypatch):
    monkeypatch.setattr("joblib._parallel_backends.cpu_count", lambda: 8)
    for n_slots, share in [(1, "8"), (3, "2"), (8, "1"), (100, "1")]:
        limits = thread_limits(n_slots)
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            assert limits[name] == share


def test_the_users_own_variable_wins(monkeypatch):
    monkeypatch.setattr("joblib._parallel_backends.cpu_count", lambda: 8)
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    limits = thread_limits(4)
    assert limits["OMP_NUM_THREADS"] == "5"
    assert limits["MKL_NUM_THREADS"] == "2"


def test_what_the_estimator_was_told_wins(monkeypatch):
    monkeypatch.setattr("joblib._parallel_backends.cpu_count", lambda: 8)
    # XGBoost takes no more threads than OpenMP has, whatever its n_jobs is
    assert thread_limits(4, asked_for=3)["OMP_NUM_THREADS"] == "3"
    assert thread_limits(4, asked_for=3)["OPENBLAS_NUM_THREADS"] == "2"
    assert thread_limits(4, asked_for=1)["OMP_NUM_THREADS"] == "2"
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert thread_limits(4, asked_for=3)["OMP_NUM_THREADS"] == "1"


def test_threads_asked_for_are_the_most_of_any_booster():
    booster = pytest.importorskip("xgboost").XGBClassifier
    assert threads_asked_for(booster()) == 1
    assert threads_asked_for(booster(n_jobs=-1)) == 1
    assert threads_asked_for(booster(n_jobs=np.int64(3))) == 3
    assert threads_asked_for(make_pipeline(PCA(), booster(n_jobs=4))) == 4
    two = VotingClassifier([("a", booster(n_jobs=2)), ("b", booster(n_jobs=3))])
    assert threads_asked_for(two) == 3


def test_who_starts_no_threads_of_openmp_asks_for_none():
    assert threads_asked_for(SVC()) == 1
    bags = BaggingClassifier(RandomForestClassifier(n_jobs=2), n_jobs=5)
    assert threads_asked_for(bags) == 1


def test_what_joblib_was_told_wins():
    with joblib.parallel_config(backend="loky", inner_max_num_threads=3):
        assert thread_limits(2)["OMP_NUM_THREADS"] == "3"


def test_settings_are_restored():
    with sklearn.config_context(transform_output="pandas", assume_finite=True):
        environment = fit_environment()
    with restored(environment):
        assert sklearn.get_config()["transform_output"] == "pandas"
        assert sklearn.get_config()["assume_finite"]
    assert sklearn.get_config()["transform_output"] == "default"


def raised(message, category=UserWarning):
    """Return whether a warning is an error, shown or hidden."""
    with warnings.catch_warnings(record=True) as shown:
        try:
            warnings.warn_explicit(message, category, "file.py", 1, "some.module")
        except category:
            return "error"
    return "shown" if shown else "hidden"


def test_warning_filters_are_restored():
    with warnings.catch_warnings():
        warnings.resetwarnings()
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", message="loud.*", category=UserWarning)
        warnings.filterwarnings("always", module=r"some\.module", message="Seen")
        environment = fit_environment()
        answers = [raised("Loud one"), raised("seen"), raised("other")]
    assert answers == ["error", "shown", "hidden"]
    with warnings.catch_warnings(), restored(environment):
        assert [raised("Loud one"), raised("seen"), raised("other")] == answers
        assert raised("loud", DeprecationWarning) == "hidden"


def test_an_environment_can_be_sent(tmp_path):
    from sklearn_mvrsm._execution.payload import read_payload, write_payload

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=re.escape("a (pattern)"))
        environment = fit_environment()
    path = os.path.join(tmp_path, "payload")
    write_payload(path, environment)
    assert read_payload(path) == environment
