"""
Quick start: tune XGBoost
=========================

A search over XGBoost's parameters on the breast cancer data that ship with
scikit-learn. Which parameters exist depends on the booster, and a fit that takes
longer than its limit is stopped and costs the search nothing more.

It prints the best parameters, their score, and how many fits were stopped.
"""

# %%
import time
import warnings

from sklearn.datasets import load_breast_cancer
from xgboost import XGBClassifier

from sklearn_mvrsm import Categorical, Integer, MVRSMSearchCV, Real

X, y = load_breast_cancer(return_X_y=True)

trees = ["gbtree", "dart"]
space = {
    "booster": Categorical(["gbtree", "dart", "gblinear"]),
    "n_estimators": Integer(10, 1000, log=True),
    "learning_rate": Real(0.01, 1.0, log=True),
    "reg_lambda": Real(0.01, 100.0, log=True),
    "max_depth": Integer(1, 10).when(booster=trees),
    "subsample": Real(0.3, 1.0).when(booster=trees),
    "rate_drop": Real(0.0, 0.5).when(booster="dart"),
}
search = MVRSMSearchCV(
    XGBClassifier(),
    space,
    n_iter=25,
    cv=3,
    n_jobs=2,
    fit_timeout=2.0,
    random_state=0,
)

# %%
# Fits that were stopped are rows of the results, and warnings sum them up at the end.
# Here they are counted instead.
start = time.monotonic()
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    search.fit(X, y)
took = time.monotonic() - start

stopped = sum(
    (search.cv_results_[f"split{k}_status"] == "timeout").sum()
    for k in range(search.n_splits_)
)
print(f"{len(search.cv_results_['params'])} candidates in {took:.0f} s")
print("best parameters:")
for name, value in search.best_params_.items():
    print(f"    {name} = {value if isinstance(value, str) else format(value, '.4g')}")
print(f"accuracy, mean of {search.n_splits_} folds: {search.best_score_:.4f}")
print(f"fits stopped after {search.fit_timeout} s: {stopped}")
