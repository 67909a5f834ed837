"""
Tune XGBoost on the steel plates
================================

The real task of the paper that introduced MVRSM, made for a pipeline: find out which of
seven faults a steel plate has, from 27 measurements of 1941 plates. One search decides
how the measurements are prepared (a scaler, principal components, nothing), which
booster of XGBoost is used, and the parameters that this booster has. Every candidate is
judged by the accuracy of 5-fold cross-validation, and a fit that takes longer than its
limit is stopped.

This script takes minutes. Run it with::

    python examples/tune_steel_plates.py --data steel-plates-faults.csv

The table is read from ``--data``, a CSV file whose last column is the fault, or else
fetched from OpenML, where it has the number 40982.
"""

# %%
# The table
# ---------
import argparse
import time
import warnings
from collections import Counter

# sphinx_gallery_thumbnail_path = "_static/candidates.png"
import numpy as np
import pandas as pd
from sklearn.datasets import fetch_openml
from sklearn.decomposition import PCA
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    LabelEncoder,
    MinMaxScaler,
    Normalizer,
    QuantileTransformer,
    StandardScaler,
)
from xgboost import XGBClassifier

from sklearn_mvrsm import Categorical, Integer, MVRSMSearchCV, Real


def load_plates(path=None):
    """Return the measurements, shape (1941, 27), and the faults as numbers 0 to 6."""
    if path is None:
        table = fetch_openml(data_id=40982, as_frame=True, parser="auto")
        X, fault = table.data, table.target
    else:
        table = pd.read_csv(path)
        X, fault = table.iloc[:, :-1], table.iloc[:, -1]
    return X.to_numpy(dtype=np.float64), LabelEncoder().fit_transform(fault)


# %%
# The space
# ---------
# Two parents, ``prepare`` and ``model__booster``, and a parent that is conditional
# itself: which features a linear model may look at first depends on how it is updated.
def make_space():
    """Return the space of the pipeline's parameters."""
    pca = PCA(random_state=0)
    uniform = QuantileTransformer(n_quantiles=100, random_state=0)
    trees = ["gbtree", "dart"]
    return {
        "prepare": Categorical(
            [
                "passthrough",
                StandardScaler(),
                MinMaxScaler(),
                Normalizer(),
                uniform,
                pca,
            ]
        ),
        "prepare__n_components": Integer(5, 27).when(prepare=pca),
        "prepare__whiten": Categorical([False, True]).when(prepare=pca),
        "model__booster": Categorical(["gbtree", "dart", "gblinear"]),
        "model__n_estimators": Integer(10, 500, log=True),
        "model__learning_rate": Real(0.01, 1.0, log=True),
        "model__reg_lambda": Real(1e-3, 100.0, log=True),
        "model__reg_alpha": Real(1e-4, 10.0, log=True),
        "model__max_depth": Integer(1, 14).when(model__booster=trees),
        "model__min_child_weight": Real(0.1, 20.0, log=True).when(model__booster=trees),
        "model__gamma": Real(0.0, 5.0).when(model__booster=trees),
        "model__subsample": Real(0.3, 1.0).when(model__booster=trees),
        "model__colsample_bytree": Real(0.3, 1.0).when(model__booster=trees),
        "model__rate_drop": Real(0.0, 0.5).when(model__booster="dart"),
        "model__skip_drop": Real(0.0, 0.9).when(model__booster="dart"),
        "model__normalize_type": Categorical(["tree", "forest"]).when(
            model__booster="dart"
        ),
        "model__updater": Categorical(["shotgun", "coord_descent"]).when(
            model__booster="gblinear"
        ),
        "model__feature_selector": Categorical(["cyclic", "shuffle", "greedy"]).when(
            model__updater="coord_descent"
        ),
    }


# %%
# The search
# ----------
# A bar shows the progress. What failed, and how, is counted at the end.
def show(params):
    """Print one parameter a line."""
    for name, value in params.items():
        shown = f"{value:.4g}" if isinstance(value, float) else value
        print(f"    {name}: {shown}")


def main():
    """Tune, and compare with the default configuration."""
    parser = argparse.ArgumentParser(description="Tune XGBoost on the steel plates.")
    parser.add_argument("--data", help="CSV file; OpenML's table 40982 if not given")
    parser.add_argument("--n-iter", type=int, default=60, help="number of candidates")
    parser.add_argument("--fit-timeout", type=float, default=8.0, help="seconds a fit")
    parser.add_argument("--n-jobs", type=int, default=2, help="fits at a time")
    parser.add_argument("--seed", type=int, default=0, help="seed of the proposals")
    options = parser.parse_args()

    X, y = load_plates(options.data)
    model = XGBClassifier(n_jobs=1)  # fits run side by side, not threads of one fit
    pipeline = Pipeline([("prepare", "passthrough"), ("model", model)])
    search = MVRSMSearchCV(
        pipeline,
        make_space(),
        n_iter=options.n_iter,
        cv=5,
        n_jobs=options.n_jobs,
        fit_timeout=options.fit_timeout,
        random_state=options.seed,
        progress=True,
    )
    start = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # failures are counted below
        search.fit(X, y)
    took = time.monotonic() - start

    statuses = Counter(
        status
        for k in range(search.n_splits_)
        for status in search.cv_results_[f"split{k}_status"]
    )
    skipped = statuses.pop("skipped", 0)
    default = cross_val_score(pipeline, X, y, cv=5, n_jobs=options.n_jobs).mean()
    print(f"\n{len(search.cv_results_['params'])} candidates in {took:.0f} s")
    print("best configuration:")
    show(search.best_params_)
    print(f"its accuracy, mean of 5 folds: {search.best_score_:.4f}")
    print(f"the default configuration's:   {default:.4f}")
    print("fits by what became of them:", dict(statuses.most_common()))
    print(f"fits skipped after a failure:  {skipped}")


if __name__ == "__main__":
    main()
