"""A pipeline's cache, which the workers of a search share."""

import os

import numpy as np
import pytest
from estimators import Shift
from sklearn.datasets import load_iris
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

from sklearn_mvrsm import MVRSMSearchCV, Real

# joblib's, on a busy machine
pytestmark = pytest.mark.filterwarnings("ignore:Persisting input arguments took")

X, y = load_iris(return_X_y=True)
N_ITER, N_SPLITS, LEVELS = 8, 3, [0.0, 1.0]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "fits").mkdir()
    return tmp_path


def searched(folder, memory, levels=LEVELS, seconds=0.0, **arguments):
    """Search over the levels of a transformer and a parameter behind it."""
    pipeline = Pipeline(
        [
            ("shift", Shift(seconds=seconds, folder=str(folder / "fits"))),
            ("clf", LogisticRegression(max_iter=1000)),
        ],
        memory=None if memory is None else str(folder / memory),
    )
    space = {"shift__level": levels, "clf__C": Real(1e-2, 1e2, log=True)}
    arguments = {"cv": N_SPLITS, "n_iter": N_ITER, "n_jobs": 2, **arguments}
    search = MVRSMSearchCV(pipeline, space, random_state=0, **arguments)
    return search.fit(X, y)


def n_fits(folder):
    return sum(name.startswith("fit-") for name in os.listdir(folder / "fits"))


def scores(search):
    return [search.cv_results_[f"split{k}_test_score"] for k in range(search.n_splits_)]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_setting_is_fitted_once_for_each_fold_and_not_for_each_candidate(
    folder, n_jobs
):
    plain = searched(folder, None, n_jobs=1)
    without = n_fits(folder)
    cached = searched(folder, "cache", n_jobs=n_jobs)
    within = n_fits(folder) - without
    assert without == N_ITER * N_SPLITS + 1  # and the refit
    needed = len(LEVELS) * N_SPLITS
    # two workers may begin the same thing, where one of them was held up
    assert needed + 1 <= within <= n_jobs * needed + 1
    assert np.array_equal(scores(cached), scores(plain))


def test_workers_that_compute_the_same_at_a_time_leave_a_good_cache(folder):
    half = [(np.arange(0, 150, 2), np.arange(1, 150, 2))]
    plain = searched(folder, None, cv=half * 2, n_jobs=1)
    before = n_fits(folder)
    cached = searched(folder, "cache", cv=half * 2, seconds=0.2)
    assert np.array_equal(scores(cached), scores(plain))
    # two folds that are the same begin together; afterwards all is there
    first = n_fits(folder) - before
    assert len(LEVELS) + 1 <= first <= 2 * len(LEVELS) + 1
    again = searched(folder, "cache", cv=half * 2, seconds=0.2, n_jobs=1)
    assert np.array_equal(scores(again), scores(plain))
    assert n_fits(folder) - before == first


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
def test_a_fit_that_is_killed_while_it_writes_does_not_spoil_the_cache(folder):
    plain = searched(folder, None, n_iter=4, n_jobs=1)
    stall = folder / "fits" / "stall"
    stall.touch()
    with pytest.warns(FitFailedWarning):
        hurt = searched(folder, "cache", n_iter=4, fit_timeout=6.0, refit=False)
    assert (folder / "fits" / "stalled").exists()
    assert set(hurt.cv_results_["status"]) == {"ok", "timeout"}
    stall.unlink()
    before = n_fits(folder)
    healed = searched(folder, "cache", n_iter=4, n_jobs=1)
    assert set(healed.cv_results_["status"]) == {"ok"}
    assert np.array_equal(scores(healed), scores(plain))
    # what had been written whole is used, what had not is fitted again
    assert 0 < n_fits(folder) - before <= N_SPLITS + 1
