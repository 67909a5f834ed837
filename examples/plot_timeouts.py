"""
Timeouts in action
==================

A fit that never ends, or one that takes its process with it, costs a search one
candidate and nothing else. This example provokes both.
"""

# %%
# A fragile model
# ---------------
# A classifier that works, but that hangs, fails or crashes in parts of its space. The
# crash is a real one: it ends the process, as a fault in compiled code does.
import os
import time
import warnings

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_iris
from sklearn.exceptions import FitFailedWarning
from sklearn.tree import DecisionTreeClassifier

from sklearn_mvrsm import Integer, MVRSMSearchCV, Real
from sklearn_mvrsm.inspection import TimelineDisplay


class Fragile(DecisionTreeClassifier):
    def fit(self, X, y):
        if self.max_depth > 12:
            time.sleep(3600)  # never ends
        if self.min_samples_leaf > 30:
            os._exit(1)  # takes the process with it
        if self.ccp_alpha > 0.15:
            raise ValueError("nothing would be left of the tree")
        return super().fit(X, y)


space = {
    "max_depth": Integer(1, 13),
    "min_samples_leaf": Integer(1, 32),
    "ccp_alpha": Real(0.0, 0.2),
}

# %%
# The search
# ----------
# ``fit_timeout`` is the limit of one fit with its scoring, in seconds. The fit is
# killed then, whatever it is doing, and the other folds of that candidate are skipped.
# At the end, a warning says what went wrong. ``initial_points`` makes sure that the
# search meets each kind of trouble once; it may meet more by itself.
X, y = load_iris(return_X_y=True)
search = MVRSMSearchCV(
    Fragile(random_state=0),
    space,
    n_iter=14,
    initial_points=[
        {"max_depth": 5, "min_samples_leaf": 1, "ccp_alpha": 0.19},
        {"max_depth": 5, "min_samples_leaf": 32, "ccp_alpha": 0.0},
        {"max_depth": 13, "min_samples_leaf": 1, "ccp_alpha": 0.0},
    ],
    cv=3,
    n_jobs=2,
    fit_timeout=1.0,
    random_state=0,
)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", FitFailedWarning)
    search.fit(X, y)
print(f"best accuracy: {search.best_score_:.3f} with {search.best_params_}")
summary = next(w for w in caught if w.category is FitFailedWarning)
print("\n".join(str(summary.message).splitlines()[:6]))

# %%
# What happened to each candidate
# -------------------------------
# ``status`` says what became of a candidate, ``split0_status`` what became of its first
# fold, and ``split0_error`` why.
table = pd.DataFrame(search.cv_results_)
table["status"].value_counts()

# %%
columns = ["param_max_depth", "param_min_samples_leaf", "param_ccp_alpha"]
columns += ["status", "split0_status", "split1_status", "mean_test_score"]
table[columns].rename(columns=lambda name: name.removeprefix("param_")).round(3)

# %%
for status, rows in table[table["status"] != "ok"].groupby("status"):
    print(f"{status}: {rows['split0_error'].iloc[0].splitlines()[-1]}")

# %%
# The time that it took: a bar is a fit.
TimelineDisplay.from_estimator(search).plot()
plt.show()

# %%
# Failed candidates rank last, whatever ``error_score`` is. A second model learns where
# fits fail, so the search has no reason to go back.
failed = table["status"] != "ok"
print("ranks of failed candidates:", set(table["rank_test_score"][failed].tolist()))
