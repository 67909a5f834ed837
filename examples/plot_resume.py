"""
Stop and go on
==============

A search that is interrupted should not have to start again. With ``checkpoint=`` every
finished fit is kept in a file, and the same script goes on from there.
"""

# %%
# A search that is interrupted
# ----------------------------
# The interrupt is made by hand here: the model asks for it when it is fitted for the
# fortieth time. It has the same effect as Ctrl-C.
import json
import os
from pathlib import Path
from tempfile import mkdtemp

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_mvrsm import MVRSMSearchCV, Real
from sklearn_mvrsm.inspection import ConvergenceDisplay

X, y = load_wine(return_X_y=True)
journal = Path(mkdtemp()) / "wine.jsonl"
n_fits = 0


class Counted(LogisticRegression):
    def fit(self, X, y):
        global n_fits
        n_fits += 1
        if str(n_fits) == os.environ.get("INTERRUPT_AT"):
            raise KeyboardInterrupt
        return super().fit(X, y)


def make_search(n_iter, checkpoint):
    return MVRSMSearchCV(
        make_pipeline(StandardScaler(), Counted(max_iter=500)),
        {"counted__C": Real(1e-3, 1e3, log=True), "counted__tol": Real(1e-6, 1e-2)},
        n_iter=n_iter,
        cv=5,
        scoring="neg_log_loss",
        random_state=0,
        checkpoint=checkpoint,
    )


os.environ["INTERRUPT_AT"] = "40"
search = make_search(20, journal)
try:
    search.fit(X, y)
except KeyboardInterrupt:
    print(f"interrupted at fit {n_fits} of {20 * 5}")
print(f"finished candidates: {len(search.cv_results_['params'])}")
print(f"best score so far: {search.best_score_:.4f}")

# %%
# The file
# --------
# One line of JSON for each fit, after a line that says which search this is.
lines = journal.read_text().splitlines()
print(f"{len(lines)} lines, the last of them:")
print(json.dumps(json.loads(lines[-1]), indent=4))

# %%
# The same search again
# ---------------------
# What is in the file is not fitted again.
del os.environ["INTERRUPT_AT"]
n_fits = 0
search = make_search(20, journal).fit(X, y)
print(f"fits made now: {n_fits}, the refit included")
print(f"best score: {search.best_score_:.4f}")

# %%
# A search that was never interrupted gives the same.
at_once = make_search(20, None).fit(X, y)
print(at_once.cv_results_["params"] == search.cv_results_["params"])

# %%
# More candidates
# ---------------
# A larger ``n_iter`` extends it. If the space, the data or the folds were others, the
# file would be refused.
n_fits = 0
search = make_search(24, journal).fit(X, y)
print(f"fits made now: {n_fits}, best score: {search.best_score_:.4f}")
ConvergenceDisplay.from_estimator(search).plot()
plt.show()
