"""
Choosing among whole pipelines
==============================

Which scaler, which model, and the parameters of the one that is chosen: one search can
decide all of it.
"""

# %%
import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC

from sklearn_mvrsm import Categorical, Integer, MVRSMSearchCV, Real
from sklearn_mvrsm.inspection import ConvergenceDisplay

X, y = load_wine(return_X_y=True)

# %%
# Estimators as values
# --------------------
# The steps of a pipeline are parameters, and estimators are values of them. A condition
# may name such a value: the very object.
scale, squeeze, project = StandardScaler(), MinMaxScaler(), PCA()
linear, vectors, forest = (
    LogisticRegression(solver="newton-cholesky"),
    SVC(),
    RandomForestClassifier(random_state=0),
)
pipeline = Pipeline([("prepare", "passthrough"), ("model", linear)])

space = {
    "prepare": Categorical([scale, squeeze, project, "passthrough"]),
    "prepare__n_components": Integer(2, 10).when(prepare=project),
    "model": Categorical([linear, vectors, forest]),
    "model__C": Real(1e-3, 1e3, log=True).when(model=[linear, vectors]),
    "model__gamma": Real(1e-5, 1.0, log=True).when(model=vectors),
    "model__n_estimators": Integer(5, 50, log=True).when(model=forest),
    "model__max_features": Real(0.1, 1.0).when(model=forest),
}
search = MVRSMSearchCV(pipeline, space, n_iter=35, cv=3, random_state=0)
search.fit(X, y)
print(f"mean accuracy of 3 folds: {search.best_score_:.3f}")
search.best_estimator_

# %%
# The two choices, and how the candidates were shared out among them.
table = pd.DataFrame(search.cv_results_)
for step in ("prepare", "model"):
    table[step] = [
        value if isinstance(value, str) else type(value).__name__
        for value in table[f"param_{step}"]
    ]
table.groupby(["model", "prepare"])["mean_test_score"].agg(["count", "max"]).round(3)

# %%
# Alternatives
# ------------
# Where two spaces have nothing in common, a list of them is easier to write, as for
# ``GridSearchCV``. Each dict is an alternative.
alternatives = [
    {
        "prepare": [scale],
        "model": [vectors],
        "model__kernel": ["rbf", "sigmoid"],
        "model__C": Real(1e-2, 1e2, log=True),
    },
    {
        "prepare": ["passthrough"],
        "model": [forest],
        "model__max_depth": Integer(1, 12),
    },
]
second = MVRSMSearchCV(pipeline, alternatives, n_iter=20, cv=3, random_state=0)
second.fit(X, y)
print(second.best_params_)
print(f"mean accuracy of 3 folds: {second.best_score_:.3f}")

# %%
# Both searches in one picture.
display = ConvergenceDisplay.from_estimator(search, name="one space").plot()
ConvergenceDisplay.from_estimator(second, name="alternatives").plot(ax=display.ax_)
plt.show()
