"""
Pictures of a search
====================

What did the search do, and what has it found out about the parameters? The displays of
:mod:`sklearn_mvrsm.inspection` are made from a fitted search, in one line each.
"""

# %%
# A search to look at
# -------------------
# A decision tree or a support vector machine, for 500 of the handwritten digits. A tree
# with one leaf is refused by scikit-learn, so some candidates fail. Two fits run at a
# time.
import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.exceptions import FitFailedWarning
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from sklearn_mvrsm import Categorical, Integer, MVRSMSearchCV, Real
from sklearn_mvrsm.inspection import (
    CandidatesDisplay,
    ConvergenceDisplay,
    DistributionDisplay,
    ImportanceDisplay,
    ParallelCoordinatesDisplay,
    ParetoDisplay,
    SurrogateDisplay,
    TimelineDisplay,
)

# sphinx_gallery_thumbnail_number = 8
X, y = load_digits(return_X_y=True)
X, y = X[:500], y[:500]
tree, vectors = DecisionTreeClassifier(random_state=0), SVC()
space = {
    "model": Categorical([tree, vectors]),
    "model__max_leaf_nodes": Integer(1, 60, log=True).when(model=tree),
    "model__min_samples_leaf": Integer(1, 30, log=True).when(model=tree),
    "model__C": Real(1e-2, 1e3, log=True).when(model=vectors),
    "model__gamma": Real(1e-5, 1.0, log=True).when(model=vectors),
}
search = MVRSMSearchCV(
    Pipeline([("scale", StandardScaler()), ("model", tree)]),
    space,
    n_iter=40,
    cv=3,
    n_jobs=2,
    random_state=0,
)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", FitFailedWarning)
    warnings.simplefilter("ignore", UserWarning)
    search.fit(X, y)

# %%
# How the best score grew
# -----------------------
# A point is a candidate, a cross at the bottom one that failed. The model proposes from
# the dashed line on.
ConvergenceDisplay.from_estimator(search).plot()
plt.show()

# %%
# How many are how good
# ---------------------
# Which share of the candidates has at most a score; failures count as worse than all.
# Of several searches, each has a curve.
DistributionDisplay.from_estimator(search).plot()
plt.show()

# %%
# The score against each parameter
# --------------------------------
# The candidates as they are, the later the brighter. Those of one category are drawn
# apart, so that none hides another. The star is the best.
CandidatesDisplay.from_estimator(search).plot()
plt.show()

# %%
# All candidates at once
# ----------------------
# A line is a candidate. Where it does not have a parameter, it passes below, at
# *absent*.
ParallelCoordinatesDisplay.from_estimator(search).plot()
plt.show()

# %%
# Which parameters mattered
# -------------------------
# Shares of the variance of the model of the score: what a parameter explains by itself,
# and together with others.
ImportanceDisplay.from_estimator(search).plot()
plt.show()

# %%
# The model of the score
# ----------------------
# A slice through the best candidate that has the parameter, along one parameter or two.
# Each model is shown at its own best candidate.
SurrogateDisplay.from_estimator(search, "model").plot()
plt.show()

# %%
# Beside the slice, the average over random configurations that have the parameter:
# partial dependence over the space.
figure, axes = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained", sharey=True)
for ax, kind in zip(axes, ["slice", "average"], strict=True):
    SurrogateDisplay.from_estimator(search, "model__gamma", kind=kind).plot(ax)
plt.show()

# %%
SurrogateDisplay.from_estimator(search, ["model__C", "model__gamma"]).plot()
plt.show()

# %%
# Score and time
# --------------
# The line joins the candidates that no other one beats in both.
ParetoDisplay.from_estimator(search, ["fit_time", "score"]).plot()
plt.show()

# %%
# Which fit ran when
# ------------------
# A bar is a fit. The folds of two candidates fill the two slots.
TimelineDisplay.from_estimator(search).plot()
plt.show()

# %%
# In a notebook
# -------------
# A search that ends a cell shows a summary of itself.
search
