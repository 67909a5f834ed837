"""What the surrogate expects along one or two parameters."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sklearn_mvrsm.inspection._axes import Axis, parameter_axes, read_points
from sklearn_mvrsm.inspection._drawing import (
    BEST,
    BLUE,
    SCALE,
    log_ticks,
    open_axes,
    score_limits,
)
from sklearn_mvrsm.inspection._importance import most_important
from sklearn_mvrsm.inspection._model import expectation
from sklearn_mvrsm.inspection._scores import read_scores, require_mvrsm
from sklearn_mvrsm.inspection._slices import axis_grid, slice_through

__all__ = ["SurrogateDisplay"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

_MOST_TICKS = 25  # categories that are all named
_RESOLUTION = {1: 101, 2: 41}  # values of a number, by how many parameters there are
_BAND = 2.0  # standard deviations
_ASIDE = 0.15  # by which candidates stand beside the surrogate of their category


@dataclass(eq=False, repr=False)
class SurrogateDisplay:
    """The surrogate along one or two parameters, with what was evaluated.

    The other parameters are as in the best candidate: the picture is a slice through
    it. Where it lacks a parameter shown, what that one depends on is changed so that it
    exists, and ``note`` says so. The evaluated candidates differ in the other
    parameters as well and need not lie on the slice.

    Make it with :meth:`from_estimator`.

    Parameters
    ----------
    axes : tuple of one or two Axis
        Name, scale and ticks of the parameters.
    grid : tuple of one or two ndarray
        Values of each parameter at which the surrogate was asked: numbers as they are,
        categories by place.
    mean, std : ndarray of shape (n_values,) or (n_values, n_other_values)
        Expected score and its standard deviation, without the noise of one evaluation;
        nan where a parameter does not exist (``std`` also with ``method="paper"``).
    values : ndarray of shape (n_candidates, 1 or 2)
        Where the evaluated candidates are; nan where a parameter does not exist.
    scores : ndarray of shape (n_candidates,)
        Their mean test scores, nan where there is none.
    failed : ndarray of bool of shape (n_candidates,)
        Whether something went wrong with them.
    best : int
        Row of the best candidate.
    label : str
        What the scores are.
    note : str
        How the slice differs from the best candidate in other parameters.

    Attributes
    ----------
    ax_ : matplotlib axes
        What has been drawn on.
    figure_ : matplotlib figure
        Its figure.
    line_ : matplotlib line or error bars
        The surrogate of one parameter.
    surface_ : matplotlib mesh
        The surrogate of two parameters.
    points_ : matplotlib line or path collection
        Candidates with a score.
    failures_ : matplotlib line
        Failed candidates.
    best_point_ : matplotlib line
        The best candidate.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from sklearn_mvrsm import Integer, MVRSMSearchCV, Real
    >>> from sklearn_mvrsm.inspection import SurrogateDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> space = {"max_depth": Integer(1, 9), "ccp_alpha": Real(1e-5, 0.1, log=True)}
    >>> search = MVRSMSearchCV(
    ...     DecisionTreeClassifier(random_state=0), space, n_iter=10, random_state=0
    ... ).fit(X, y)
    >>> display = SurrogateDisplay.from_estimator(search, ["max_depth"])
    >>> display.grid[0]
    array([1., 2., 3., 4., 5., 6., 7., 8., 9.])
    >>> display.mean.shape
    (9,)
    >>> display.plot()  # doctest: +SKIP
    """

    axes: tuple[Axis, ...]
    grid: tuple[FloatArray, ...]
    mean: FloatArray
    std: FloatArray
    values: FloatArray
    scores: FloatArray
    failed: BoolArray
    best: int
    label: str
    note: str
    ax_: Any = field(init=False)
    figure_: Any = field(init=False)
    line_: Any = field(init=False, default=None)
    surface_: Any = field(init=False, default=None)
    points_: Any = field(init=False)
    failures_: Any = field(init=False)
    best_point_: Any = field(init=False)

    @classmethod
    def from_estimator(
        cls,
        search: Any,
        parameters: Sequence[str] | None = None,
        *,
        metric: str | None = None,
        resolution: int | None = None,
    ) -> Self:
        """Compute what is to be drawn.

        Parameters
        ----------
        search : MVRSMSearchCV
            A fitted search.
        parameters : sequence of one or two str, default=None
            Names of parameters. None: the two most important ones, as
            :class:`ImportanceDisplay` ranks them; the only one of a space with one.
        metric : str, default=None
            Which of several metrics. None: the one that guided the search. For another
            one a surrogate is fitted here.
        resolution : int, default=None
            Values at which a number is looked at, at most. None: 101, and 41 for each
            of two. Of more than 300 categories, 300 are looked at.

        Returns
        -------
        SurrogateDisplay
            Nothing has been drawn yet.

        Raises
        ------
        ValueError
            If a name is not in the space; if the parameters never exist together; if no
            candidate has a score.
        """
        require_mvrsm(cls, search)
        scores = read_scores(search, metric)
        if scores.best is None:
            raise ValueError(f"No candidate has a score of {scores.metric!r}")
        space = search.space_
        axes = _chosen(search, scores.metric, parameters)
        configurations = search.cv_results_["params"]
        points, places = read_points(space, configurations, axes)
        size = _RESOLUTION[len(axes)] if resolution is None else resolution
        grid = tuple(axis_grid(axis, size) for axis in axes)
        cut = slice_through(space, points[scores.best], axes, grid)
        mean, std = expectation(search, scores.metric)(cut.points)
        shape = tuple(len(values) for values in grid)
        mean[~cut.exists] = std[~cut.exists] = np.nan
        return cls(
            axes=axes,
            grid=grid,
            mean=mean.reshape(shape),
            std=std.reshape(shape),
            values=places,
            scores=scores.values,
            failed=scores.failed,
            best=scores.best,
            label=scores.label,
            note=cut.note,
        )

    def plot(self, ax: Any = None) -> Self:
        """Draw the surrogate, the candidates, and the best of them.

        Of one parameter: the expected score with a band of two standard deviations.
        Of two: the expected score as a colour; grey where they do not exist together.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw. None: on a new figure.

        Returns
        -------
        SurrogateDisplay
            Itself, with what has been drawn.
        """
        self.figure_, self.ax_ = open_axes(self, ax)
        lines = [f"slice at the best candidate{self.note}"]
        if absent := int(np.isnan(self.values).any(axis=1).sum()):
            which = "this parameter" if len(self.axes) == 1 else "these parameters"
            lines.append(f"{absent} candidates without {which} are not shown")
        if len(self.axes) == 1:
            if n_hidden := self._plot_curve():
                lines.append(f"{n_hidden} lower scores are not shown")
        else:
            self._plot_surface()
        _scale(self.ax_, "x", self.axes[0])
        self.ax_.set_title("\n".join(lines), fontsize="medium")
        return self

    @property
    def _best_label(self) -> str | None:
        """Name of the best candidate in the legend, if it can be drawn."""
        return None if np.isnan(self.values[self.best]).any() else "best"

    # --- one parameter ----------------------------------------------------------

    def _plot_curve(self) -> int:
        """Draw, and return how many scores are too low to be shown."""
        band = _BAND * np.nan_to_num(self.std)
        self._plot_expectation(band)
        self._plot_candidates(_ASIDE if self.axes[0].ticks else 0.0)
        self.ax_.set_ylabel(self.label)
        self._plot_legend()
        shown = self.scores[~np.isnan(self.values[:, 0])]
        most = np.nanmax([*self.mean, *shown]) - np.nanmin([*self.mean, *shown])
        band = np.minimum(band, most)  # a wide band may leave the picture
        surrogate = np.concatenate([self.mean - band, self.mean + band])
        limits, n_hidden = score_limits(shown, surrogate)
        self.ax_.set_ylim(limits)
        return n_hidden

    def _plot_expectation(self, band: FloatArray) -> None:
        axis, x = self.axes[0], self.grid[0]
        if axis.ticks:
            self.line_ = self.ax_.errorbar(
                x, self.mean, band, fmt="s", color=BLUE, capsize=4.0, label="surrogate"
            )
            return
        marker = "." if axis.whole else ""
        (self.line_,) = self.ax_.plot(
            x, self.mean, marker=marker, color=BLUE, label="surrogate"
        )
        self.ax_.fill_between(
            x,
            self.mean - band,
            self.mean + band,
            color=BLUE,
            alpha=0.18,
            linewidth=0.0,
            label=f"± {_BAND:g} standard deviations" if band.any() else None,
        )

    def _plot_candidates(self, aside: float) -> None:
        at = self.values[:, 0] + aside
        (self.points_,) = self.ax_.plot(
            at, self.scores, "o", color="0.35", markersize=3.5, label="candidates"
        )
        (self.best_point_,) = self.ax_.plot(
            at[self.best],
            self.scores[self.best],
            "*",
            color=BEST,
            markersize=13.0,
            label=self._best_label,
        )
        failed = at[self.failed & ~np.isnan(at)]
        (self.failures_,) = self.ax_.plot(
            failed,
            np.full(len(failed), 0.02),
            "x",
            color=BEST,
            markersize=5.0,
            transform=self.ax_.get_xaxis_transform(),
            label=f"{len(failed)} failed" if len(failed) else None,
        )

    # --- two parameters ---------------------------------------------------------

    def _plot_surface(self) -> None:
        x, y = (_edges(a, g) for a, g in zip(self.axes, self.grid, strict=True))
        known = ~np.isnan(self.scores) & ~np.isnan(self.values).any(axis=1)
        seen = np.concatenate([self.mean.ravel(), self.scores[known]])
        limits = {"vmin": np.nanquantile(seen, 0.02), "vmax": np.nanmax(seen)}
        self.ax_.set_facecolor("0.85")
        surface = np.ma.masked_invalid(self.mean.T)
        self.surface_ = self.ax_.pcolormesh(x, y, surface, cmap=SCALE, **limits)
        at = self.values[known]
        self.points_ = self.ax_.scatter(
            *at.T,
            c=self.scores[known],
            cmap=SCALE,
            s=26.0,
            edgecolors="white",
            linewidths=0.8,
            label="candidates",
            **limits,
        )
        failed = self.values[self.failed]
        failed = failed[~np.isnan(failed).any(axis=1)]
        (self.failures_,) = self.ax_.plot(
            *failed.T,
            "x",
            color=BEST,
            markersize=6.0,
            label=f"{len(failed)} failed" if len(failed) else None,
        )
        (self.best_point_,) = self.ax_.plot(
            *self.values[[self.best]].T,
            "*",
            color=BEST,
            markeredgecolor="white",
            markersize=15.0,
            label=self._best_label,
        )
        _scale(self.ax_, "y", self.axes[1])
        self.figure_.colorbar(
            self.surface_, ax=self.ax_, label=f"{self.label}, expected"
        )
        self._plot_legend()

    def _plot_legend(self) -> None:
        """Put the legend below, where it hides no candidate."""
        self.ax_.legend(
            loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=3, frameon=False
        )


def _chosen(
    search: Any, metric: str, parameters: Sequence[str] | None
) -> tuple[Axis, ...]:
    axes = parameter_axes(search.space_)
    if parameters is None:
        ranked = list(range(len(axes)))
        if len(axes) > 2:
            ranked = most_important(search, metric, axes)[:2]
        return tuple(axes[k] for k in ranked)
    if isinstance(parameters, str) or len(parameters) not in (1, 2):
        raise ValueError(
            f"'parameters' must be a sequence of one or two names, got {parameters!r}"
        )
    named = {axis.name: axis for axis in axes}
    for name in parameters:
        if name not in named:
            raise ValueError(
                f"'parameters' must be among {sorted(named)}, got {name!r}"
            )
    if len(set(parameters)) < len(parameters):
        raise ValueError(f"'parameters' must differ, got {list(parameters)}")
    return tuple(named[name] for name in parameters)


def _scale(ax: Any, side: str, axis: Axis) -> None:
    """Name one side ("x" or "y") of axes, and give it the scale of its parameter."""
    ax.set(**{f"{side}label": axis.name})
    if axis.log:
        ax.set(**{f"{side}scale": "log"})
        log_ticks(getattr(ax, f"{side}axis"), axis.low, axis.high)
    elif axis.ticks:
        step = -(-len(axis.ticks) // _MOST_TICKS)
        ax.set(
            **{
                f"{side}lim": (-0.5, len(axis.ticks) - 0.5),
                f"{side}ticks": range(0, len(axis.ticks), step),
                f"{side}ticklabels": axis.ticks[::step],
            }
        )


def _edges(axis: Axis, values: FloatArray) -> FloatArray:
    """Edges of the cells around ascending values, half-way on the scale of the axis."""
    x = np.log(values) if axis.log else values
    if len(x) == 1:
        middle, first, last = x[:0], x[0] - 0.5, x[0] + 0.5
    else:
        middle = (x[1:] + x[:-1]) / 2.0
        first, last = x[0] - (middle[0] - x[0]), x[-1] + (x[-1] - middle[-1])
    edges = np.concatenate([[first], middle, [last]])
    return np.exp(edges) if axis.log else edges
