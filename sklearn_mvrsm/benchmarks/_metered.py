"""Fits that are counted: an estimator, and a score that adds up losses and cost."""

import contextlib
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from sklearn_mvrsm.benchmarks._kinds import Kind
from sklearn_mvrsm.benchmarks._problem import Params
from sklearn_mvrsm.benchmarks._tuning import FOLDS, loss_of

__all__ = ["BudgetSpent", "FitMeter", "Model", "metered", "score", "score_or_stop"]

FloatArray = NDArray[np.float64]
WHOLE = 0.95  # share of the rows of a fold, from which a fit is one to all of them


class BudgetSpent(BaseException):
    """The compute is used up; peers do not take it for a fit that has failed."""


@dataclass
class FitMeter:
    """The fits of one search, added up.

    Parameters
    ----------
    limit : float
        CPU seconds, after which the search is ended.
    rows : int
        Fewest rows that a fold trains on; fits to a sample of them do not validate a
        candidate.
    folds : int
        Fits that do.

    Attributes
    ----------
    used : float
        CPU seconds by now.
    ends : list of float
        What was used when each candidate had a score on every whole fold.
    best : list of (float, float, dict)
        Each improvement: seconds used, mean loss over the folds, params.
    """

    limit: float
    rows: int
    folds: int = FOLDS
    used: float = 0.0
    ends: list[float] = field(default_factory=list)
    best: list[tuple[float, float, Params]] = field(default_factory=list)
    _losses: dict[str, list[float]] = field(default_factory=dict)

    @property
    def is_spent(self) -> bool:
        """Whether the compute is used up."""
        return self.used >= self.limit

    def add(self, params: Params, rows: int, seconds: float, loss: float) -> None:
        """Count a fit."""
        self.used += seconds
        if rows < WHOLE * self.rows:
            return
        losses = self._losses.setdefault(repr(sorted(params.items())), [])
        losses.append(loss)
        if len(losses) == self.folds:
            mean = float(np.mean(losses))
            losses.clear()  # it may be fitted again
            self.ends.append(self.used)
            if not self.best or mean < self.best[-1][1]:
                self.best.append((self.used, mean, params))


_meters: list[FitMeter] = []  # the last one counts what this process fits


@contextlib.contextmanager
def metered(meter: FitMeter) -> Iterator[None]:
    """Count the fits within a block, which ends once the compute is used up."""
    _meters.append(meter)
    try:
        with contextlib.suppress(BudgetSpent):
            yield
    finally:
        _meters.remove(meter)


class Model(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # base is Any: scikit-learn has no py.typed; once it has, strict mypy reports this line as unused
    """A kind of model as an estimator that measures its fits.

    Parameters
    ----------
    kind : Kind
    **params : object
        Of its space; None is what the model takes.
    """

    def __init__(self, kind: Kind, **params: Any) -> None:
        self.kind, self.params = kind, params

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the kind and all params."""
        return {"kind": self.kind, **self.params}

    def set_params(self, **params: Any) -> Self:
        """Set params."""
        self.kind = params.pop("kind", self.kind)
        self.params = {**self.params, **params}
        return self

    @property
    def given(self) -> Params:
        """The params that are set."""
        return {name: v for name, v in self.params.items() if v is not None}

    def fit(self, X: FloatArray, y: NDArray[np.intp]) -> Self:
        """Fit the model, and note its CPU seconds and rows."""
        started = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.fitted_ = self.kind.build(self.given).fit(X, y)
        self.classes_, self.rows_ = self.fitted_.classes_, len(y)
        self.seconds_ = time.process_time() - started
        return self


def score(model: Model, X: FloatArray, y: NDArray[np.intp]) -> float:
    """Return minus the loss, and count the fit with this."""
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loss = loss_of(model.kind.scoring)(model.fitted_, X, y)
    seconds = model.seconds_ + time.process_time() - started
    _meters[-1].add(model.given, model.rows_, seconds, loss)
    return -loss


def score_or_stop(model: Model, X: FloatArray, y: NDArray[np.intp]) -> float:
    """Score, and end the search once the compute is used up."""
    value = score(model, X, y)
    if _meters[-1].is_spent:
        raise BudgetSpent
    return value
