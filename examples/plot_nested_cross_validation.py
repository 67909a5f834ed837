"""
Nested cross-validation
=======================

The best score of a search is optimistic: it is the largest of many. How well the whole
procedure does, search included, is answered by cross-validating the search.
"""

# %%
# A search is an estimator, so ``cross_validate`` takes it as it is. The target, a
# measure of the progress of diabetes, is divided by its standard deviation.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from sklearn_mvrsm import MVRSMSearchCV, Real

X, y = load_diabetes(return_X_y=True)
y = y / y.std()
search = MVRSMSearchCV(
    make_pipeline(StandardScaler(), SVR()),
    {
        "svr__C": Real(1e-2, 1e3, log=True),
        "svr__epsilon": Real(1e-3, 1.0, log=True),
        "svr__gamma": Real(1e-4, 1.0, log=True),
    },
    n_iter=20,
    cv=KFold(3, shuffle=True, random_state=0),
    random_state=0,
)
outer = KFold(4, shuffle=True, random_state=1)
results = cross_validate(search, X, y, cv=outer, return_estimator=True)

# %%
# The inner score is the one that the search maximised. The outer one was measured on
# data that the search had not seen.
inner = np.array([fitted.best_score_ for fitted in results["estimator"]])
print("R2       inner   outer")
for k, pair in enumerate(zip(inner, results["test_score"], strict=True)):
    print(f"fold {k}   {pair[0]:.3f}   {pair[1]:.3f}")
print(f"mean     {inner.mean():.3f}   {results['test_score'].mean():.3f}")

# %%
fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
for k, pair in enumerate(zip(inner, results["test_score"], strict=True)):
    ax.plot(pair, [k, k], color="0.8", zorder=1)
ax.plot(inner, range(4), "o", label="inner: what the search saw")
ax.plot(results["test_score"], range(4), "s", label="outer: what it had not seen")
ax.set(xlabel="R2", yticks=range(4), yticklabels=[f"fold {k}" for k in range(4)])
ax.legend()
plt.show()

# %%
# Each outer fold has a winner of its own. What differs much between them matters less
# than its value suggests.
for fitted in results["estimator"]:
    print(", ".join(f"{name} = {v:.3g}" for name, v in fitted.best_params_.items()))
