"""Every candidate as a point, parameter by parameter."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sklearn_mvrsm.inspection._axes import Axis, parameter_axes, read_points
from sklearn_mvrsm.inspection._drawing import (
    BEST,
    Display,
    color_map,
    jitter,
    mark_failures,
    mark_infeasible,
    scale_axis,
    score_limits,
    shown_in_part,
)
from sklearn_mvrsm.inspection._importance import most_important
from sklearn_mvrsm.inspection._scores import read_tried

__all__ = ["AllCandidates", "CandidatesDisplay"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

_SPREAD = 0.5  # over which the candidates of one category spread
_WIDTH, _HEIGHT = 2.6, 2.2  # of one picture, in inches
_MOST_COLUMNS = 4
_NARROWEST = 2.0  # inches for one picture
_LETTERS_AN_INCH = 6  # of categories that stand side by side


@dataclass(eq=False, repr=False)
class AllCandidates(Display):
    """What displays of all candidates hold; each of them draws it."""

    axes: tuple[Axis, ...]
    values: FloatArray
    scores: FloatArray
    failed: BoolArray
    best: int | None
    label: str
    n_parameters: int
    sign: int = 1
    infeasible: BoolArray | None = None

    @classmethod
    def from_estimator(
        cls, search: Any, *, metric: str | None = None, max_parameters: int = 12
    ) -> Self:
        """Compute what is to be drawn.

        Parameters
        ----------
        search : MVRSMSearchCV, MVRSMOptimizer or OptimizeResult
            A fitted search, an optimiser that was told values, or what
            :func:`~sklearn_mvrsm.minimize` returned.
        metric : str, default=None
            Which of several metrics. None: the one that guided the search.
        max_parameters : int, default=12
            How many parameters at most. Of more, the most important ones are shown, as
            :class:`ImportanceDisplay` ranks them.

        Returns
        -------
        display
            Nothing has been drawn yet.
        """
        tried = read_tried(cls, search, metric)
        scores = tried.scores
        axes = parameter_axes(tried.space)
        n_parameters = len(axes)
        if n_parameters > max_parameters:
            ranked = most_important(search, tried, axes)
            axes = tuple(axes[k] for k in sorted(ranked[:max_parameters]))
        _, values = read_points(tried.space, tried.configurations, axes)
        return cls(
            axes=axes,
            values=values,
            scores=scores.values,
            failed=scores.failed,
            best=scores.best,
            label=scores.label,
            n_parameters=n_parameters,
            sign=scores.sign,
            infeasible=scores.infeasible,
        )

    @property
    def _shown(self) -> str:
        """What to say if not all parameters are shown."""
        if self.n_parameters == len(self.axes):
            return ""
        return f"{len(self.axes)} most important of {self.n_parameters} parameters"

    @property
    def _is_infeasible(self) -> BoolArray:
        none = np.zeros(len(self.scores), dtype=np.bool_)
        return none if self.infeasible is None else self.infeasible


@dataclass(eq=False, repr=False)
class CandidatesDisplay(AllCandidates):
    """The score of every candidate against each parameter, in a grid of pictures.

    The candidates are shown as they are, without a model: a candidate is a point in the
    picture of each parameter that it has. Points are the brighter, the later they were
    proposed; those that violate a ``constraint`` are hollow. Candidates of one category
    are drawn apart.

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
        Whether something went wrong with a candidate.
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
        What has been drawn on: its place has been divided.
    axes_ : list of matplotlib axes
        The picture of each parameter.
    figure_ : matplotlib figure
        Its figure.
    points_ : list of matplotlib path collections
        The candidates with a score, in each picture.
    failures_ : list of matplotlib lines
        The failed candidates, in each picture.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from sklearn_mvrsm import Integer, MVRSMSearchCV, Real
    >>> from sklearn_mvrsm.inspection import CandidatesDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> space = {"max_depth": Integer(1, 9), "ccp_alpha": Real(1e-5, 0.1, log=True)}
    >>> search = MVRSMSearchCV(
    ...     DecisionTreeClassifier(random_state=0), space, n_iter=5, random_state=0
    ... ).fit(X, y)
    >>> display = CandidatesDisplay.from_estimator(search)
    >>> display.values.shape
    (5, 2)
    >>> display.plot()  # doctest: +SKIP
    """

    axes_: Any = field(init=False)
    points_: Any = field(init=False)
    failures_: Any = field(init=False)

    @property
    def _size(self) -> tuple[float, float]:
        columns = min(len(self.axes), _MOST_COLUMNS)
        return 1.4 + _WIDTH * columns, 0.7 + _HEIGHT * -(-len(self.axes) // columns)

    def _draw(self) -> None:
        n, width = len(self.axes), self.figure_.get_figwidth()
        columns = min(n, _MOST_COLUMNS, max(1, int(width / _NARROWEST)))
        letters = int(_LETTERS_AN_INCH * width / columns)
        place = self.ax_.get_subplotspec()
        if place is None:
            raise ValueError(f"'ax' must be a subplot, to be divided, got {self.ax_!r}")
        self.ax_.set_axis_off()
        grid = place.subgridspec(-(-n // columns), columns)
        self.axes_, self.points_, self.failures_ = [], [], []
        limits, n_hidden = score_limits(self.scores, self._best_of_each, self.sign)
        for k in range(n):
            first = self.axes_[0] if self.axes_ else None
            ax = self.figure_.add_subplot(grid[k // columns, k % columns], sharey=first)
            self.axes_.append(ax)
            self._plot_parameter(k, letters)
            if k % columns == 0:
                ax.set_ylabel(self.label)
            else:
                ax.tick_params("y", labelleft=False)
        self.axes_[0].set_ylim(limits)
        notes = [self._shown, shown_in_part(n_hidden, self.sign)]
        if n_failed := int(self.failed.sum()):
            notes.append(f"{n_failed} failed (crosses)")
        if n_infeasible := int(self._is_infeasible.sum()):
            notes.append(f"{n_infeasible} infeasible (hollow)")
        bar = self.figure_.colorbar(
            self.points_[0], ax=self.axes_, label="candidate", shrink=0.9
        )
        bar.ax.yaxis.get_major_locator().set_params(integer=True)
        note = "; ".join(filter(None, notes))
        self.axes_[0].set_title(note, fontsize="small", loc="left")

    @property
    def _best_of_each(self) -> FloatArray:
        """Best score with each parameter, nan without any: so much must be seen."""
        scores = self.sign * np.where(
            np.isnan(self.values), np.nan, self.scores[:, np.newaxis]
        )
        return np.asarray(self.sign * np.fmax.reduce(scores, axis=0))

    def _plot_parameter(self, k: int, letters: int) -> None:
        axis, ax = self.axes[k], self.axes_[k]
        spread = _SPREAD if axis.ticks else 0.0
        at = self.values[:, k] + jitter(len(self.scores), spread)[:, 0]
        shown = ~np.isnan(self.scores) & ~np.isnan(at)
        hollow = mark_infeasible(ax, self.infeasible, at, self.scores)
        known = np.flatnonzero(shown & ~hollow)
        self.points_.append(
            ax.scatter(
                at[known],
                self.scores[known],
                c=known + 1,
                cmap=color_map(on_white=True),
                vmin=1,
                vmax=max(2, len(self.scores)),
                s=14.0,
            )
        )
        if self.best is not None:
            ax.plot(
                at[[self.best]],
                self.scores[[self.best]],
                "*",
                color=BEST,
                markeredgecolor="black",
                markeredgewidth=0.5,
                markersize=11.0,
                clip_on=False,
                zorder=4,
            )
        failed = at[self.failed & ~np.isnan(at)]
        self.failures_.append(mark_failures(ax, failed, 0.04))
        scale_axis(ax, "x", axis, letters)
