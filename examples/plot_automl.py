"""
A table with gaps and categories
================================

Real tables have columns of words and missing values. This example goes from such a
table to a tuned pipeline, step by step as in a notebook: which model, how it is fed,
and its parameters are decided by one search.
"""

# %%
# The table
# ---------
# 569 tumours from the breast cancer data that ship with scikit-learn: what the cell
# nuclei look like, and whether the tumour is benign. The measurements are real. To have
# something to repair, two of them are written as words here, and a tenth of all cells
# is left empty.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, brier_score_loss
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from sklearn_mvrsm import Integer, MVRSMSearchCV, Real
from sklearn_mvrsm.inspection import ConvergenceDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
area, dents = X.pop("mean area"), X.pop("mean concave points")
size = pd.cut(area, [0, 450, 700, np.inf], labels=["small", "medium", "large"])
outline = pd.cut(dents, [-1, 0.03, 0.06, 1], labels=["smooth", "dented", "ragged"])
X = X.assign(size=size.astype(object), outline=outline.astype(object))
X = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
X[["size", "outline", "mean radius", "mean texture", "worst area"]].head()

# %%
# Two ways to feed a model
# ------------------------
# Models of distances and weights need numbers on one scale and no gaps. Trees take gaps
# and codes as they are.
words = make_column_selector(dtype_exclude="number")
numbers = make_column_selector(dtype_include="number")
full = make_column_transformer(
    (make_pipeline(SimpleImputer(), StandardScaler()), numbers),
    (
        make_pipeline(
            SimpleImputer(strategy="constant", fill_value="unknown"),
            OneHotEncoder(handle_unknown="ignore"),
        ),
        words,
    ),
)
plain = make_column_transformer(
    (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), words),
    remainder="passthrough",
)

# %%
# The space
# ---------
# One dict for each model, as for ``GridSearchCV``: each has parameters of its own, the
# first two have gaps to fill, and only the trees may be fed either way.
linear = LogisticRegression(max_iter=1000)
neighbours = KNeighborsClassifier()
boosting = HistGradientBoostingClassifier(random_state=0)
pipeline = Pipeline([("prepare", plain), ("model", boosting)])

fill = "prepare__pipeline-1__simpleimputer__"
filled = {
    "prepare": [full],
    f"{fill}strategy": ["mean", "median"],
    f"{fill}add_indicator": [False, True],
}
space = [
    {
        **filled,
        "model": [linear],
        "model__C": Real(1e-3, 1e2, log=True),
    },
    {
        **filled,
        "model": [neighbours],
        "model__n_neighbors": Integer(3, 60, log=True),
        "model__weights": ["uniform", "distance"],
    },
    {
        "prepare": [full, plain],
        "model": [boosting],
        "model__learning_rate": Real(0.02, 0.5, log=True),
        "model__max_iter": Integer(10, 60, log=True),
        "model__max_leaf_nodes": Integer(2, 16, log=True),
        "model__l2_regularization": Real(1e-3, 1e2, log=True),
    },
]

# %%
# The search
# ----------
# A third of the table is kept away from it. The search follows the Brier score, the
# mean squared error of the probabilities. It begins with what is known to be sensible:
# a plain setting of each model.
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=1 / 3, stratify=y, random_state=0
)
search = MVRSMSearchCV(
    pipeline,
    space,
    n_iter=30,
    initial_points=[
        {
            "prepare": full,
            f"{fill}strategy": "mean",
            f"{fill}add_indicator": False,
            "model": linear,
            "model__C": 1.0,
        },
        {
            "prepare": full,
            f"{fill}strategy": "mean",
            f"{fill}add_indicator": False,
            "model": neighbours,
            "model__n_neighbors": 5,
            "model__weights": "uniform",
        },
        {
            "prepare": plain,
            "model": boosting,
            "model__learning_rate": 0.1,
            "model__max_iter": 60,
            "model__max_leaf_nodes": 8,
            "model__l2_regularization": 0.1,
        },
    ],
    cv=StratifiedKFold(5, shuffle=True, random_state=0),
    scoring="neg_brier_score",
    random_state=0,
)
search.fit(X_train, y_train)
print(type(search.best_params_["model"]).__name__)
for name, value in search.best_params_.items():
    if name not in ("model", "prepare"):
        print(f"    {name}: {value}")

# %%
# What it came to
# ---------------
# On the third that was kept away: boosting as it comes, and what the search found.
for name, model in (("untuned", pipeline.fit(X_train, y_train)), ("tuned", search)):
    loss = brier_score_loss(y_test, model.predict_proba(X_test)[:, 1])
    accuracy = accuracy_score(y_test, model.predict(X_test))
    print(f"{name:8} Brier score {loss:.4f}, accuracy {accuracy:.3f}")

# %%
ConvergenceDisplay.from_estimator(search).plot()
plt.show()

# %%
# Each model at its best, in cross-validation.
table = pd.DataFrame(search.cv_results_)
table["model"] = [type(model).__name__ for model in table["param_model"]]
table["Brier score"] = -table["mean_test_score"]
table.groupby("model")["Brier score"].agg(["count", "min", "median"]).round(4)

# %%
# The winner is a pipeline, ready to use.
search.best_estimator_
