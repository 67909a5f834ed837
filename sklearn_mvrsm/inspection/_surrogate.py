"""What the surrogate expects along one or two parameters."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sklearn_mvrsm.inspection._axes import Axis, depends, parameter_axes, read_points
from sklearn_mvrsm.inspection._drawing import (
    BEST,
    BLUE,
    Display,
    color_map,
    jitter,
    mark_failures,
    mark_infeasible,
    scale_axis,
    score_limits,
    shown_in_part,
    slopes,
)
from sklearn_mvrsm.inspection._importance import most_important
from sklearn_mvrsm.inspection._model import expectation
from sklearn_mvrsm.inspection._scores import Tried, read_tried
from sklearn_mvrsm.inspection._slices import (
    Evaluated,
    average_over,
    axis_grid,
    cell_edges,
    slice_through,
)

__all__ = ["SurrogateDisplay"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

_KINDS = ("slice", "average")
_RESOLUTION = {1: 101, 2: 41}  # values of a number, by how many parameters there are
_BAND = 2.0  # standard deviations
_ASIDE = 0.2  # by which candidates stand beside the surrogate of their category
_BELOW = 0.5  # inches from the axes to the legend
_SLOPING = 0.4  # more where names slope
_NARROW = 3.9  # inches
_CELL = 0.6  # share of the cell of a category over which candidates spread


@dataclass(eq=False, repr=False)
class SurrogateDisplay(Display):
    """The surrogate along one or two parameters, with what was evaluated.

    Along one parameter the expected score is a curve with a band of two standard
    deviations; along two it is a colour, grey where they do not exist together.

    In a slice (``kind="slice"``) the other parameters are as in the best candidate that
    has the parameters shown. Along a parameter on which others depend, such as a choice
    among models, each value has the others as in the best candidate with it. If no
    candidate has a parameter, what it depends on is changed in the best one so that it
    exists; ``note`` says which it is. The evaluated candidates differ in the other
    parameters as well and need not lie on the slice.

    The average (``kind="average"``) is partial dependence: the mean of what is expected
    over random configurations of the space that have the parameters, each with their
    values exchanged. Its band shows how far single configurations are from the mean.

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
        nan where a parameter does not exist (``std`` also with ``method="paper"``). Of
        an average, the deviation over the configurations. Of a metric with known ends,
        such as accuracy, the mean is between them.
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
        How the slice differs from one through the best candidate.
    centre : int or None, default=None
        Row of the candidate that the slice goes through. None: the best.
    sign : int, default=1
        1 where higher scores are better, -1 where lower values are.
    bounds : tuple of float
        Between which numbers the metric always is, as far as that is known.
    kind : {"slice", "average"}, default="slice"
        What ``mean`` is.
    infeasible : ndarray of bool of shape (n_candidates,), default=None
        Whether a candidate violates the ``constraint``; None without one.

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
        The best candidate with the parameters.

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
    centre: int | None = None
    sign: int = 1
    bounds: tuple[float, float] = (-np.inf, np.inf)
    kind: str = "slice"
    infeasible: BoolArray | None = None
    line_: Any = field(init=False, default=None)
    surface_: Any = field(init=False, default=None)
    points_: Any = field(init=False)
    failures_: Any = field(init=False)
    best_point_: Any = field(init=False)

    @classmethod
    def from_estimator(
        cls,
        search: Any,
        parameters: str | Sequence[str] | None = None,
        *,
        metric: str | None = None,
        resolution: int | None = None,
        kind: str = "slice",
    ) -> Self:
        """Compute what is to be drawn.

        Parameters
        ----------
        search : MVRSMSearchCV, MVRSMOptimizer or OptimizeResult
            A fitted search, an optimiser that was told values, or what
            :func:`~sklearn_mvrsm.minimize` returned.
        parameters : str or sequence of one or two str, default=None
            Names of parameters. None: the most important one, as
            :class:`ImportanceDisplay` ranks them, and the next that some candidate has
            with it and that does not depend on it, nor it on that; one alone if there
            is no other.
        metric : str, default=None
            Which of several metrics. None: the one that guided the search. For another
            one a surrogate is fitted here.
        resolution : int, default=None
            Values at which a number is looked at, at most. None: 101, and 41 for each
            of two. Of more than 300 categories, 300 are looked at.
        kind : {"slice", "average"}, default="slice"
            Whether the other parameters are as in the best candidate, or the surrogate
            is averaged over random configurations of the space.

        Returns
        -------
        SurrogateDisplay
            Nothing has been drawn yet.

        Raises
        ------
        ValueError
            If a name is not in the space; if the parameters never exist together; if no
            candidate has a score, or none is feasible and the search has not chosen
            one; if ``kind`` is something else.
        """
        if kind not in _KINDS:
            raise ValueError(f"'kind' must be one of {_KINDS}, got {kind!r}")
        tried = read_tried(cls, search, metric)
        scores = tried.scores
        if scores.best is None:
            if np.isfinite(scores.values).any():
                raise ValueError("No candidate satisfies the constraint")
            raise ValueError(f"No candidate has a score of {scores.metric!r}")
        space = tried.space
        axes = _chosen(search, tried, parameters)
        points, places = read_points(space, tried.configurations, axes)
        size = _RESOLUTION[len(axes)] if resolution is None else resolution
        grid = tuple(axis_grid(axis, size) for axis in axes)
        cut = slice_through(space, Evaluated(points, places, scores.order), axes, grid)
        expected = expectation(search, scores.metric)
        if kind == "average":
            mean, std = average_over(space, expected, axes, grid)
        else:
            mean, std = expected(cut.points)
            mean[~cut.exists] = std[~cut.exists] = np.nan
        shape = tuple(len(values) for values in grid)
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
            note=cut.note if kind == "slice" else "",
            centre=cut.centre,
            sign=scores.sign,
            bounds=scores.bounds,
            kind=kind,
            infeasible=scores.infeasible,
        )

    def _draw(self) -> None:
        lines = [f"slice at the best candidate{self.note}"]
        if self.kind == "average":
            lines = ["average over random configurations"]
        if absent := int(np.isnan(self.values).any(axis=1).sum()):
            which = "this parameter" if len(self.axes) == 1 else "these parameters"
            lines.append(f"{absent} candidates without {which} are not shown")
        if len(self.axes) == 1:
            if hidden := shown_in_part(self._plot_curve(), self.sign):
                lines.append(hidden)
        else:
            self._plot_surface()
        scale_axis(self.ax_, "x", self.axes[0])
        size = "small" if self._narrow else "medium"
        self.ax_.set_title("\n".join(lines), fontsize=size)

    @property
    def _star(self) -> tuple[int, str | None]:
        """Row of the best candidate that can be drawn, and its name in the legend."""
        row = self.best if self.centre is None else self.centre
        if np.isnan(self.values[row]).any():
            return row, None
        return row, "best" if row == self.best else "best of these"

    @property
    def _narrow(self) -> bool:
        share = self.ax_.get_position().width  # of the figure, before it is laid out
        return bool(self.figure_.get_figwidth() * share < _NARROW)

    @property
    def _curve(self) -> str:
        """Name of the curve in the legend."""
        return "surrogate" if self.kind == "slice" else "average of the surrogate"

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
        limits, n_hidden = score_limits(
            shown, np.clip(surrogate, *self.bounds), self.sign
        )
        self.ax_.set_ylim(limits)
        return n_hidden

    def _plot_expectation(self, band: FloatArray) -> None:
        axis, x = self.axes[0], self.grid[0]
        low, high = np.clip([self.mean - band, self.mean + band], *self.bounds)
        if axis.ticks:
            self.line_ = self.ax_.errorbar(
                x,
                self.mean,
                [self.mean - low, high - self.mean],
                fmt="s",
                color=BLUE,
                capsize=4.0,
                label=self._curve,
            )
            return
        marker = "." if axis.whole or axis.steps else ""
        which = "" if self.kind == "slice" else " of configurations"
        (self.line_,) = self.ax_.plot(
            x, self.mean, marker=marker, color=BLUE, label=self._curve
        )
        self.ax_.fill_between(
            x,
            low,
            high,
            color=BLUE,
            alpha=0.18,
            linewidth=0.0,
            label=f"± {_BAND:g} standard deviations{which}" if band.any() else None,
        )

    def _plot_candidates(self, aside: float) -> None:
        at = self.values[:, 0] + aside
        if aside:  # so that equal ones do not hide each other
            at = at + jitter(len(at), _ASIDE)[:, 0]
        style: dict[str, Any] = {"color": "0.35", "markersize": 3.5}
        hollow = mark_infeasible(self.ax_, self.infeasible, at, self.scores, **style)
        shown = np.where(hollow, np.nan, self.scores)
        (self.points_,) = self.ax_.plot(at, shown, "o", label="candidates", **style)
        row, label = self._star
        (self.best_point_,) = self.ax_.plot(
            at[row],
            self.scores[row],
            "*",
            color=BEST,
            markeredgecolor="black",
            markeredgewidth=0.6,
            markersize=13.0,
            label=label,
        )
        self.failures_ = mark_failures(self.ax_, at[self.failed & ~np.isnan(at)])

    # --- two parameters ---------------------------------------------------------

    def _plot_surface(self) -> None:
        from matplotlib.patheffects import withStroke

        x, y = (cell_edges(a, g) for a, g in zip(self.axes, self.grid, strict=True))
        known = ~np.isnan(self.scores) & ~np.isnan(self.values).any(axis=1)
        seen = np.concatenate([self.mean.ravel(), self.scores[known]])
        ends, n_hidden = score_limits(seen, sign=self.sign)
        low, high = (0.0, 1.0) if ends is None else np.clip(ends, *self.bounds)
        limits = {"vmin": low, "vmax": high}
        self.ax_.set_facecolor("0.85")
        colors = color_map(self.sign)
        surface = np.ma.masked_invalid(self.mean.T)
        self.surface_ = self.ax_.pcolormesh(x, y, surface, cmap=colors, **limits)
        widths = [_CELL * bool(axis.ticks) for axis in self.axes]
        at = self.values + jitter(len(self.values), *widths)
        halo = [withStroke(linewidth=2.4, foreground="white")]
        style: dict[str, Any] = {"color": "k", "markersize": 5.0, "path_effects": halo}
        known &= ~mark_infeasible(self.ax_, self.infeasible, *at.T, **style)
        self.points_ = self.ax_.scatter(
            *at[known].T,
            c=self.scores[known],
            cmap=colors,
            s=26.0,
            edgecolors="black",
            linewidths=0.6,
            label="candidates",
            **limits,
        )
        failed = at[self.failed & ~np.isnan(at).any(axis=1)]
        self.failures_ = mark_failures(
            self.ax_, *failed.T, transform=self.ax_.transData, markersize=6.0
        )
        row, label = self._star
        (self.best_point_,) = self.ax_.plot(
            *at[[row]].T,
            "*",
            color=BEST,
            markeredgecolor="black",
            markersize=15.0,
            label=label,
        )
        scale_axis(self.ax_, "y", self.axes[1])
        extend = ("min" if self.sign > 0 else "max") if n_hidden else None
        label = f"{self.label}, {'expected' if self.kind == 'slice' else 'average'}"
        self.figure_.colorbar(self.surface_, ax=self.ax_, label=label, extend=extend)
        self._plot_legend()

    def _plot_legend(self) -> None:
        """Put the legend below the name of the axis, where it hides no candidate."""
        from matplotlib.transforms import ScaledTranslation

        below = _BELOW + (_SLOPING if slopes(self.axes[0]) else 0.0)
        down = ScaledTranslation(0.0, -below, self.figure_.dpi_scale_trans)
        self.ax_.legend(
            loc="upper center",
            bbox_to_anchor=(0.5, 0.0),
            bbox_transform=self.ax_.transAxes + down,
            ncols=2 if self._narrow else 3,
            frameon=False,
        )


def _chosen(
    search: Any, tried: Tried, parameters: str | Sequence[str] | None
) -> tuple[Axis, ...]:
    axes = parameter_axes(tried.space)
    if parameters is None:
        return _most_telling(search, tried, axes)
    names = [parameters] if isinstance(parameters, str) else list(parameters)
    if len(names) not in (1, 2):
        raise ValueError(f"'parameters' must be one or two names, got {parameters!r}")
    named = {axis.name: axis for axis in axes}
    for name in names:
        if name not in named:
            raise ValueError(
                f"'parameters' must be among {sorted(named)}, got {name!r}"
            )
    if len(set(names)) < len(names):
        raise ValueError(f"'parameters' must differ, got {names}")
    return tuple(named[name] for name in names)


def _most_telling(
    search: Any, tried: Tried, axes: tuple[Axis, ...]
) -> tuple[Axis, ...]:
    """Choose the most important parameter, and the next that can be crossed with it."""
    if len(axes) == 1:
        return axes
    _, values = read_points(tried.space, tried.configurations, axes)
    exists = ~np.isnan(values)
    first, *others = most_important(search, tried, axes)
    for k in others:
        pair = axes[first], axes[k]
        together = (exists[:, first] & exists[:, k]).any()
        if together and not any(depends(tried.space, *p) for p in (pair, pair[::-1])):
            return pair
    return (axes[first],)
