"""A search with nothing installed but the required dependencies."""

from importlib.util import find_spec
from pathlib import Path

from sklearn.datasets import load_iris
from sklearn.svm import SVC

import sklearn_mvrsm
from sklearn_mvrsm import Categorical, MVRSMSearchCV, Real


def main() -> None:
    """Search, and check that it was the installed package alone that did it."""
    for name in ("xgboost", "matplotlib", "pandas"):
        if find_spec(name) is not None:
            raise SystemExit(f"{name} is installed: this environment is not clean")
    package = Path(sklearn_mvrsm.__file__).parent
    if "site-packages" not in package.parts or not (package / "py.typed").exists():
        raise SystemExit(f"not an installed, typed package: {package}")
    space = {
        "kernel": Categorical(["linear", "rbf"]),
        "C": Real(0.01, 100.0, log=True),
        "gamma": Real(0.001, 1.0, log=True).when(kernel="rbf"),
    }
    search = MVRSMSearchCV(SVC(), space, n_iter=12, cv=3, n_jobs=2, random_state=0)
    search.fit(*load_iris(return_X_y=True))
    print(f"{search.best_params_} {search.best_score_:.3f}")
    if search.best_score_ < 0.9:
        raise SystemExit(f"best score {search.best_score_}")


if __name__ == "__main__":
    main()
