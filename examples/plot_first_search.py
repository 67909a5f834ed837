"""
A first search
==============

A support vector machine has a kernel, and each kernel has parameters of its own.
This example declares such a space, searches it, and reads the results.
"""

# %%
# The data: 600 of the handwritten digits that ship with scikit-learn.
import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from sklearn_mvrsm import Categorical, Integer, MVRSMSearchCV, Real
from sklearn_mvrsm.inspection import ConvergenceDisplay

pd.options.display.float_format = "{:.4g}".format
X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, train_size=600, stratify=y, random_state=0
)

# %%
# The space
# ---------
# Names are those of ``set_params``. ``coef0`` exists for two of the kernels, and
# ``degree`` for one: :meth:`~sklearn_mvrsm.Real.when` says so. Where a parameter does
# not exist, it is not passed to the estimator.
space = {
    "svc__kernel": Categorical(["rbf", "poly", "sigmoid"]),
    "svc__C": Real(1e-3, 1e3, log=True),
    "svc__gamma": Real(1e-5, 1.0, log=True),
    "svc__coef0": Real(-2.0, 2.0).when(svc__kernel=["poly", "sigmoid"]),
    "svc__degree": Integer(2, 5).when(svc__kernel="poly"),
}

# %%
# The search
# ----------
# It is used like ``GridSearchCV``. ``random_state`` is the seed of the proposals: with
# the same one, the search tries the same configurations again.
search = MVRSMSearchCV(
    make_pipeline(StandardScaler(), SVC()), space, n_iter=30, cv=3, random_state=0
)
search.fit(X_train, y_train)
print(search.best_params_)
print(f"mean accuracy of 3 folds: {search.best_score_:.3f}")
print(f"accuracy on held-out data: {search.score(X_test, y_test):.3f}")

# %%
# The results
# -----------
# ``cv_results_`` has a row for each configuration. An empty cell is a parameter that
# did not exist.
table = pd.DataFrame(search.cv_results_).sort_values("rank_test_score")
columns = [name for name in table if name.startswith("param_")]
table = table[[*columns, "mean_test_score", "std_test_score"]]
table.rename(columns=lambda name: name.removeprefix("param_svc__")).head(8)

# %%
# The first candidates are spread over the space; the later ones follow a model of the
# score.
ConvergenceDisplay.from_estimator(search).plot()
plt.show()
