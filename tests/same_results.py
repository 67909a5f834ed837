"""Digests of seven searches: what they proposed and scored, to the last digit.

``python tests/same_results.py`` prints a line a search and one for all. A change that
should move code only leaves them as they are; run it before and after, on one machine.
"""

import hashlib
import json
import os
import sys
import tempfile
import warnings

from sklearn.datasets import load_iris
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from sklearn_mvrsm import Categorical, Integer, MVRSMSearchCV, Ordinal, Real, minimize

X, y = load_iris(return_X_y=True)
SVCS = {
    "clf__kernel": Categorical(["linear", "rbf", "poly"]),
    "clf__C": Real(1e-3, 1e3, log=True),
    "clf__gamma": Real(1e-4, 1e1, log=True).when(clf__kernel=["rbf", "poly"]),
    "clf__degree": Integer(2, 5).when(clf__kernel="poly"),
    "clf__tol": Ordinal([1e-4, 1e-3, 1e-2]),
    "scale__with_mean": [True, False],
}
TREES = {
    "n_estimators": Integer(2, 20),
    "max_depth": Integer(1, 8),
    "max_features": Real(0.2, 1.0),
    "criterion": ["gini", "entropy"],
}


def pipe():
    return Pipeline([("scale", StandardScaler()), ("clf", SVC())])


def exact(value):
    if isinstance(value, float):
        return value.hex()
    return repr(value)


def fitted(search):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(X, y)
    rows = []
    results = search.cv_results_
    for k, params in enumerate(results["params"]):
        scores = [results[f"split{j}_test_score"][k] for j in range(search.n_splits_)]
        rows.append(
            [
                {name: exact(value) for name, value in sorted(params.items())},
                [exact(float(score)) for score in scores],
                exact(float(results["mean_test_score"][k])),
                int(results["rank_test_score"][k]),
                str(results["status"][k]),
            ]
        )
    return rows


def search(estimator, space, **options):
    options = {"n_iter": 30, "cv": 3, "random_state": 0} | options
    return MVRSMSearchCV(estimator, space, **options)


def resumed():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "journal")
        fitted(search(pipe(), SVCS, n_iter=14, checkpoint=path))
        return fitted(search(pipe(), SVCS, n_iter=30, checkpoint=path))


def minimized(method):
    def f(params):
        value = (params["x"] - 0.3) ** 2 + 0.1 * abs(params["k"] - 7)
        value += {"a": 0.0, "b": 0.5, "c": 0.2}[params["c"]]
        return value + (params["z"] - 1.0) ** 2 if "z" in params else value

    space = {
        "x": Real(-2.0, 2.0),
        "k": Integer(0, 20),
        "c": ["a", "b", "c"],
        "z": Real(1e-2, 10.0, log=True).when(c=["a", "c"]),
    }
    told = []
    minimize(
        lambda params: told.append((params, f(params))) or told[-1][1],
        space,
        n_iter=50,
        random_state=3,
        method=method,
    )
    return [
        [{name: exact(value) for name, value in sorted(params.items())}, exact(value)]
        for params, value in told
    ]


SEARCHES = {
    "one job": lambda: fitted(search(pipe(), SVCS)),
    "two jobs, a limit": lambda: fitted(
        search(ExtraTreesClassifier(random_state=0), TREES, n_jobs=2, fit_timeout=60.0)
    ),
    "paper": lambda: fitted(search(pipe(), SVCS, method="paper", n_iter=40)),
    "racing": lambda: fitted(search(pipe(), SVCS, racing=True, cv=5)),
    "checkpoint": resumed,
    "minimize": lambda: minimized("mvrsm"),
    "minimize, paper": lambda: minimized("paper"),
}

if __name__ == "__main__":
    whole = hashlib.sha256()
    for name in sys.argv[1:] or SEARCHES:
        text = json.dumps(SEARCHES[name](), sort_keys=True)
        whole.update(text.encode())
        print(f"{hashlib.sha256(text.encode()).hexdigest()[:16]}  {name}", flush=True)
    print(f"{whole.hexdigest()[:16]}  all")
