"""The share of candidates that reach a score."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sklearn_mvrsm.inspection._drawing import (
    CATEGORICAL,
    Display,
    score_limits,
    shown_in_part,
)
from sklearn_mvrsm.inspection._scores import Scores, read_each

__all__ = ["DistributionDisplay"]

FloatArray = npt.NDArray[np.float64]


@dataclass(eq=False, repr=False)
class DistributionDisplay(Display):
    """The empirical distribution of the scores of a search, or of several.

    The curve of a search shows, for each score, which share of all its candidates has
    at most that. A candidate without a score, or one that violates a ``constraint``,
    counts as worse than any other: where higher is better the curve starts at the share
    of these, where lower is better it ends that far below 1. Searches of different
    lengths can be compared.

    Make it with :meth:`from_estimator`.

    Parameters
    ----------
    values : tuple of ndarray
        The scores of each search, ascending, infeasible candidates left out.
    shares : tuple of ndarray
        For each of these, the share of candidates that have at most that.
    missing : tuple of dict of str to int
        How many candidates of each search have "failed", how many were "given up" as
        hopeless (``racing``), and how many are "infeasible".
    names : tuple of str
        Names of the searches.
    label : str
        What the scores are.
    sign : int, default=1
        1 where higher scores are better, -1 where lower values are.

    Attributes
    ----------
    ax_ : matplotlib axes
        What has been drawn on.
    figure_ : matplotlib figure
        Its figure.
    lines_ : list of matplotlib lines
        A curve for each search.

    Examples
    --------
    >>> from sklearn_mvrsm import Real, minimize
    >>> from sklearn_mvrsm.inspection import DistributionDisplay
    >>> space = {"x": Real(0.0, 1.0)}
    >>> results = [
    ...     minimize(lambda p: p["x"] ** 2, space, n, random_state=0) for n in (5, 20)
    ... ]
    >>> display = DistributionDisplay.from_estimator(results, names=["short", "long"])
    >>> display.shares[0].tolist()
    [0.2, 0.4, 0.6, 0.8, 1.0]
    >>> display.plot()  # doctest: +SKIP
    """

    values: tuple[FloatArray, ...]
    shares: tuple[FloatArray, ...]
    missing: tuple[dict[str, int], ...]
    names: tuple[str, ...]
    label: str
    sign: int = 1
    lines_: Any = field(init=False)

    @classmethod
    def from_estimator(
        cls,
        search: Any,
        *,
        metric: str | None = None,
        names: str | Sequence[str] | None = None,
    ) -> Self:
        """Compute what is to be drawn.

        Parameters
        ----------
        search : MVRSMSearchCV, MVRSMOptimizer or OptimizeResult, or a list of them
            A fitted search, also one of scikit-learn's; an optimiser that was told
            values; what :func:`~sklearn_mvrsm.minimize` returned.
        metric : str, default=None
            Which of several metrics. None: the one that guided the search.
        names : str or sequence of str, default=None
            A name for each search. None: their classes.

        Returns
        -------
        DistributionDisplay
            Nothing has been drawn yet.

        Raises
        ------
        ValueError
            If the list is empty, its searches have different metrics, or the names are
            more or fewer.
        """
        read = read_each(cls, search, metric)
        if names is None:
            names = _classes(search if isinstance(search, list | tuple) else [search])
        named = (names,) if isinstance(names, str) else tuple(names)
        if len(named) != len(read):
            raise ValueError(
                f"'names' must have a name for each of {len(read)} searches, "
                f"got {names!r}"
            )
        values, shares, missing = zip(*map(_curve, read), strict=True)
        return cls(
            values=values,
            shares=shares,
            missing=missing,
            names=named,
            label=read[0].label,
            sign=read[0].sign,
        )

    def _draw(self) -> None:
        own = [score_limits(values, sign=self.sign)[0] for values in self.values]
        seen = np.ravel([limits for limits in own if limits])  # of the widest of them
        limits, n_hidden = score_limits(np.concatenate(self.values), seen, self.sign)
        left, right = limits or (0.0, 1.0)
        others = [line for line in self.ax_.lines if line.get_gid() == "distribution"]
        if others:
            low, high = self.ax_.get_xlim()
            left, right = min(left, low), max(right, high)
        self.lines_ = []
        each = zip(self.values, self.shares, self.missing, self.names, strict=True)
        for k, (values, shares, missing, name) in enumerate(each, len(others)):
            n = sum(missing.values())
            start = n / (n + len(values)) if self.sign > 0 else 0.0
            heights = [start, *shares]
            without = ", ".join(f"{n} {what}" for what, n in missing.items() if n)
            (line,) = self.ax_.plot(
                [min([left, *values]), *values, max([right, *values])],
                [*heights, heights[-1]],
                drawstyle="steps-post",
                gid="distribution",
                color=CATEGORICAL[k % len(CATEGORICAL)],
                linewidth=2.0,
                label=f"{name} ({without})" if without else name,
            )
            self.lines_.append(line)
        self.ax_.set(xlim=(left, right), ylim=(0.0, 1.03))
        self.ax_.locator_params("x", nbins=6)
        self.ax_.set(xlabel=self.label, ylabel="share of candidates with at most that")
        self.ax_.set_title(shown_in_part(n_hidden, self.sign), fontsize="medium")
        self.ax_.legend(loc="best")


def _curve(scores: Scores) -> tuple[FloatArray, FloatArray, dict[str, int]]:
    """Return ascending scores, the shares that have at most these, and what is missing.

    What has no score, or is infeasible, counts as worse than all the others.
    """
    without = np.isnan(scores.values)
    infeasible = np.zeros_like(without)
    if scores.infeasible is not None:
        infeasible = scores.infeasible
    values = np.sort(scores.values[~without & ~infeasible])
    missing = {
        "failed": int(scores.failed.sum()),
        "given up": int((without & ~scores.failed).sum()),
        "infeasible": int(infeasible.sum()),
    }
    lower = sum(missing.values()) if scores.sign > 0 else 0
    shares = (lower + np.arange(1.0, len(values) + 1.0)) / len(without)
    return values, shares, missing


def _classes(searches: Sequence[object]) -> list[str]:
    """Name each search by its class, with a number where several have the same."""
    names = [type(each).__name__ for each in searches]
    times = Counter(names)
    return [
        f"{name} {names[: k + 1].count(name)}" if times[name] > 1 else name
        for k, name in enumerate(names)
    ]
