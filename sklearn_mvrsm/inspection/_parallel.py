"""All candidates at once: a line each, across an axis for each parameter."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from sklearn_mvrsm.inspection._axes import Axis
from sklearn_mvrsm.inspection._candidates import AllCandidates
from sklearn_mvrsm.inspection._drawing import (
    BEST,
    FAILED,
    GREY,
    color_map,
    number_texts,
)

__all__ = ["ParallelCoordinatesDisplay"]

FloatArray = npt.NDArray[np.float64]

_ABSENT = -0.13  # height at which lines pass an axis whose parameter does not exist
_SPREAD = 0.05  # by which lines through one category are drawn apart
_LOWEST_SHARE = 0.1  # scores below this quantile share the darkest colour
_MOST_TICKS = 12  # categories that are all named
_MOST_NUMBERS = 5  # numbers that are written on an axis, about
_CLOSE = 0.08  # share of an axis below which two numbers would overlap


@dataclass(eq=False, repr=False)
class ParallelCoordinatesDisplay(AllCandidates):
    """Every candidate as a line that crosses an axis for each parameter.

    Good scores are drawn above bad ones, and the best on top. Candidates that violate a
    ``constraint`` are grey dashes, those without a score are dotted.

    Make it with :meth:`from_estimator`.

    Parameters
    ----------
    axes : tuple of Axis
        Name, scale and ticks of each parameter shown.
    values : ndarray of shape (n_candidates, n_axes)
        Numbers as they are, categories by place; nan where the parameter does not
        exist.
    scores : ndarray of shape (n_candidates,)
        Mean test scores, nan where there is none.
    failed : ndarray of bool of shape (n_candidates,)
        Whether something went wrong with a candidate. One without a score that has not
        failed was given up as hopeless (``racing``).
    best : int or None
        Row of the best candidate.
    label : str
        What the scores are.
    n_parameters : int
        How many parameters the space has.
    sign : int, default=1
        1 where higher scores are better, -1 where lower values are.
    infeasible : ndarray of bool of shape (n_candidates,), default=None
        Whether a candidate violates the ``constraint``; None without one.

    Attributes
    ----------
    ax_ : matplotlib axes
        What has been drawn on.
    figure_ : matplotlib figure
        Its figure.
    lines_ : matplotlib line collection
        Candidates with a score, infeasible ones left out.
    failures_ : matplotlib line collection
        The others: failed, given up, or infeasible.
    best_line_ : matplotlib line or None
        The best candidate.
    colorbar_ : matplotlib colorbar
        Of the scores.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from sklearn_mvrsm import Integer, MVRSMSearchCV, Real
    >>> from sklearn_mvrsm.inspection import ParallelCoordinatesDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> space = {"max_depth": Integer(1, 9), "ccp_alpha": Real(1e-5, 0.1, log=True)}
    >>> search = MVRSMSearchCV(
    ...     DecisionTreeClassifier(random_state=0), space, n_iter=5, random_state=0
    ... ).fit(X, y)
    >>> display = ParallelCoordinatesDisplay.from_estimator(search)
    >>> display.values.shape
    (5, 2)
    >>> display.plot()  # doctest: +SKIP
    """

    lines_: Any = field(init=False)
    failures_: Any = field(init=False)
    best_line_: Any = field(init=False)
    colorbar_: Any = field(init=False)

    @property
    def _size(self) -> tuple[float, float]:
        return max(4.8, 1.6 + 1.1 * len(self.axes)), 4.8

    def _draw(self) -> None:
        from matplotlib.collections import LineCollection
        from matplotlib.colors import Normalize

        paths = self._paths()
        pale = np.isnan(self.scores) | self._is_infeasible
        self.failures_ = LineCollection(
            list(paths[pale]),
            colors=[FAILED if each else GREY for each in self.failed[pale]],
            linestyles=["--" if each else ":" for each in self._is_infeasible[pale]],
            linewidths=0.9,
            zorder=1,
        )
        order = np.argsort(self.sign * self.scores, kind="stable")
        order = order[~pale[order]]
        known = self.scores[order]
        low, high = (0.0, 1.0) if not len(known) else _color_range(known, self.sign)
        self.lines_ = LineCollection(
            list(paths[order]),
            array=known,
            cmap=color_map(self.sign, on_white=True),
            norm=Normalize(low, high),
            linewidths=1.2,
            alpha=0.9,
            zorder=2,
        )
        for lines in (self.failures_, self.lines_):
            self.ax_.add_collection(lines)
        self.best_line_ = None
        if self.best is not None:
            (self.best_line_,) = self.ax_.plot(
                *paths[self.best].T, color=BEST, linewidth=2.5, marker="o", zorder=4
            )
        self._plot_axes()
        cut = len(known) > 0 and not low <= known[0] <= high
        extend = ("min" if self.sign > 0 else "max") if cut else None
        self.colorbar_ = self.figure_.colorbar(
            self.lines_, ax=self.ax_, label=self.label, extend=extend
        )
        self._plot_legend()

    def _paths(self) -> FloatArray:
        """Return the corners of the lines, shape ``(n_candidates, n_corners, 2)``."""
        n, k = self.values.shape
        heights = np.empty((n, k))
        rank = np.argsort(np.argsort(self.scores, kind="stable"), kind="stable")
        apart = _SPREAD * (rank / max(n - 1, 1) - 0.5)
        for j, axis in enumerate(self.axes):
            heights[:, j] = axis.share(self.values[:, j])
            if axis.ticks:
                heights[:, j] += apart
        heights = np.where(np.isnan(heights), _ABSENT + apart[:, np.newaxis], heights)
        across = np.broadcast_to(np.arange(k, dtype=float), (n, k))
        if k == 1:  # a line needs two ends
            across = across + np.array([-0.1, 0.1])
            heights = np.repeat(heights, 2, axis=1)
        return np.stack([across, heights], axis=2)

    def _plot_axes(self) -> None:
        """Draw a vertical line with ticks for each parameter."""
        some_absent = bool(np.isnan(self.values).any())
        for j, axis in enumerate(self.axes):
            self.ax_.plot([j, j], [0.0, 1.0], color="0.45", linewidth=1.0, zorder=3)
            for height, text in _ticks(axis):
                self.ax_.plot(j, height, "_", color="0.45", markersize=6.0, zorder=3)
                self.ax_.annotate(
                    text,
                    (j, height),
                    xytext=(4, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize="x-small",
                    zorder=5,
                    bbox={
                        "facecolor": self.ax_.get_facecolor(),
                        "alpha": 0.75,
                        "edgecolor": "none",
                        "pad": 0.6,
                    },
                )
        self.ax_.set_xlim(-0.3, len(self.axes) - 1 + 0.7)
        self.ax_.set_ylim(_ABSENT - 0.07 if some_absent else -0.07, 1.07)
        self.ax_.set_xticks(
            range(len(self.axes)),
            [axis.name for axis in self.axes],
            rotation=25,
            ha="right",
            rotation_mode="anchor",
        )
        self.ax_.set_yticks([_ABSENT] if some_absent else [], ["absent"] * some_absent)
        self.ax_.tick_params(length=0)
        self.ax_.spines[:].set_visible(False)

    def _plot_legend(self) -> None:
        if self._shown:
            self.ax_.set_title(self._shown, fontsize="medium")
        handles, labels = [], []
        if self.best_line_ is not None:
            handles.append(self.best_line_)
            labels.append("best")
        n_failed = int(self.failed.sum())
        n_given_up = int(np.isnan(self.scores).sum()) - n_failed
        from matplotlib.lines import Line2D

        for n, what, color in (
            (n_failed, "failed", FAILED),
            (n_given_up, "given up", GREY),
            (int(self._is_infeasible.sum()), "infeasible", GREY),
        ):
            if n:
                line = Line2D([], [], color=color)
                line.set_linestyle("--" if what == "infeasible" else ":")
                handles.append(line)
                labels.append(f"{n} {what}")
        if handles:
            self.ax_.legend(
                handles,
                labels,
                loc="lower left",
                bbox_to_anchor=(0.0, 1.0),
                ncols=3,
                frameon=False,
            )


def _color_range(known: FloatArray, sign: int) -> tuple[float, float]:
    """Return the ends of the colour scale for scores, the worst first."""
    worst, best = float(np.quantile(known, _share(sign))), float(known[-1])
    if worst == best:
        worst = float(known[0])
    return min(worst, best), max(worst, best)


def _share(sign: int) -> float:
    return _LOWEST_SHARE if sign > 0 else 1.0 - _LOWEST_SHARE


def _ticks(axis: Axis) -> list[tuple[float, str]]:
    """Return heights and texts of the ticks of an axis."""
    if axis.ticks:
        step = -(-len(axis.ticks) // _MOST_TICKS)
        places = np.arange(0, len(axis.ticks), step)
        heights = axis.share(places.astype(float))
        return [(float(h), axis.ticks[k]) for h, k in zip(heights, places, strict=True)]
    values = _tick_values(axis)
    texts = number_texts(values, log=axis.log, whole=axis.whole)
    return list(zip(axis.share(values).tolist(), texts, strict=True))


def _tick_values(axis: Axis) -> FloatArray:
    """Choose the numbers that are written on an axis: its ends, and some between."""
    values = np.linspace(axis.low, axis.high, _MOST_NUMBERS)
    if axis.steps:
        places = np.linspace(0, len(axis.steps) - 1, _MOST_NUMBERS)
        return np.unique(np.array(axis.steps)[np.rint(places).astype(int)])
    if axis.log:
        values = np.geomspace(axis.low, axis.high, _MOST_NUMBERS)
        first, last = np.ceil(np.log10(axis.low)), np.floor(np.log10(axis.high))
        if last - first >= 2:  # powers of ten are easier to read
            step = -(-(last - first) // _MOST_NUMBERS)
            decades = 10.0 ** np.arange(first, last + 1, step)
            away = np.abs(axis.share(decades) - 0.5) < 0.5 - _CLOSE
            values = np.array([axis.low, *decades[away], axis.high])
    return np.unique(np.rint(values)) if axis.whole else values
