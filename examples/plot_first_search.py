"""
A first search
==============

A support vector machine has a kernel, and each kernel has parameters of its own.
This example declares such a space, searches it, and reads the results.
"""

# %%
# The data: 600 of the handwritten digits that ship with scikit-learn.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from sklearn_mvrsm import Categorical, Integer, MVRSMSearchCV, Real

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, train_size=600, stratify=y, random_state=0
)

# %%
# The space
# ---------
# Names are those of ``set_params``. ``gamma`` exists for two of the kernels, and
# ``degree`` for one: :meth:`~sklearn_mvrsm.Real.when` says so. Where a parameter does
# not exist, it is not passed to the estimator.
space = {
    "svc__kernel": Categorical(["linear", "rbf", "poly"]),
    "svc__C": Real(1e-3, 1e3, log=True),
    "svc__gamma": Real(1e-5, 1.0, log=True).when(svc__kernel=["rbf", "poly"]),
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
table[[*columns, "mean_test_score", "std_test_score"]].head(8).round(4)

# %%
# The first candidates are spread over the space; the later ones follow a model of the
# score.
scores = search.cv_results_["mean_test_score"]
n_initial = search.optimizer_.n_initial_points
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
candidate = np.arange(1, len(scores) + 1)
ax.plot(candidate, scores, "o", label="candidate")
ax.step(candidate, np.maximum.accumulate(scores), where="post", label="best so far")
ax.axvline(n_initial + 0.5, color="0.6", linestyle=":", label="end of the random ones")
ax.set(xlabel="candidate", ylabel="mean accuracy of 3 folds")
ax.legend(loc="lower right")
plt.show()
