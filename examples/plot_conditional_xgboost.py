"""
XGBoost, where parameters depend on the booster
===============================================

XGBoost has three boosters. Trees have a depth, a linear model does not; dropping trees
at random is for one of them only. A flat space would tune parameters that do nothing,
and a model of the score would have to learn that. Here the space says it.
"""

# %%
import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_wine
from xgboost import XGBClassifier

from sklearn_mvrsm import (
    Categorical,
    Integer,
    MVRSMSearchCV,
    Ordinal,
    Real,
    SearchSpace,
)
from sklearn_mvrsm.inspection import ParallelCoordinatesDisplay

X, y = load_wine(return_X_y=True)

# %%
# Conditions
# ----------
# A condition names a parent and the value, or the values, for which the parameter
# exists. A parent may be conditional itself: ``max_leaves`` below exists only for trees
# that are grown leaf by leaf, and these exist only for boosters of trees.
trees = ["gbtree", "dart"]
space = {
    "booster": Categorical(["gbtree", "dart", "gblinear"]),
    "n_estimators": Integer(5, 100, log=True),
    "learning_rate": Real(0.01, 1.0, log=True),
    "reg_lambda": Real(0.01, 100.0, log=True),
    "grow_policy": Categorical(["depthwise", "lossguide"]).when(booster=trees),
    "max_depth": Integer(1, 10).when(grow_policy="depthwise"),
    "max_leaves": Ordinal([2, 4, 8, 16, 32]).when(grow_policy="lossguide"),
    "subsample": Real(0.3, 1.0).when(booster=trees),
    "rate_drop": Real(0.0, 0.5).when(booster="dart"),
}


# %%
# Constraints
# -----------
# What conditions cannot say, a function can: it gets a configuration and tells whether
# it is allowed. Here, many small steps are fine and so are few large ones, but not many
# large ones.
def affordable(params):
    return params["n_estimators"] * params["learning_rate"] <= 20


space = SearchSpace(space, constraints=[affordable])
for params in space.sample(3, random_state=0):
    print(params)

# %%
# The search
# ----------
# XGBoost 3.4 announces with each fit that two of the boosters will go; ``verbosity=0``
# keeps it quiet.
search = MVRSMSearchCV(
    XGBClassifier(n_jobs=1, verbosity=0),
    space,
    n_iter=30,
    cv=3,
    scoring="neg_log_loss",
    random_state=0,
)
search.fit(X, y)
print(f"log loss: {-search.best_score_:.3f}")
for name, value in search.best_params_.items():
    print(f"    {name}: {value}")

# %%
# All candidates, the best one in purple. A line passes below, at *absent*, where a
# parameter does not exist.
ParallelCoordinatesDisplay.from_estimator(search).plot()
plt.show()

# %%
# What each booster came to. The search spends its candidates where they pay.
table = pd.DataFrame(search.cv_results_)
table.groupby("param_booster")["mean_test_score"].agg(["count", "max", "mean"]).round(3)
