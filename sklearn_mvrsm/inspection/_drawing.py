"""How everything is drawn: matplotlib on demand, and colours that all can tell apart.

The colours are those of Okabe and Ito (https://jfly.uni-koeln.de/color/), for scales
cividis (Nunez, Anderton and Renslow, PLOS ONE 13(7), 2018): both are made for people
with colour vision deficiencies. Where colour tells kinds apart, so does a hatch.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sklearn_mvrsm.inspection._axes import Axis

__all__ = [
    "BEST",
    "BLUE",
    "CATEGORICAL",
    "FAILED",
    "GREY",
    "SCALE",
    "SKY",
    "STATUS_STYLES",
    "Display",
    "StatusStyle",
    "color_map",
    "jitter",
    "mark_failures",
    "mark_infeasible",
    "number_texts",
    "scale_axis",
    "score_limits",
    "shown_in_part",
    "slopes",
]

FloatArray = npt.NDArray[np.float64]

BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#E69F00", "#009E73", "#CC79A7"
SKY, VERMILION, YELLOW, GREY = "#56B4E9", "#D55E00", "#F0E442", "#8C8C8C"
CATEGORICAL = (BLUE, ORANGE, GREEN, PURPLE, SKY, GREY)
SCALE = "cividis"
FAILED = VERMILION  # nothing else has this colour, but for errors in the timeline
BEST = PURPLE

_ROOM = 4.0  # an axis shows at most this many times what the better half spans
_MOST_TICKS = 25  # categories that are all named
_FEW_STEPS = 6  # values of a number that are all ticks
_LETTERS = 36  # that stand side by side below axes
_PLAIN = (1e-4, 1e5)  # numbers that are written without a power of ten
_PALEST = 0.82  # of the scale that can be seen on white
# Multiples of these, modulo 1, are far from each other: in one dimension, and in two.
_SPREADING = ((0.618033988749895,), (0.754877666246693, 0.569840290998053))


@dataclass(frozen=True)
class StatusStyle:
    """How a kind of outcome is drawn."""

    label: str
    color: str
    hatch: str


STATUS_STYLES = {
    "ok": StatusStyle("ok", BLUE, ""),
    "error": StatusStyle("error", VERMILION, "\\\\\\"),
    "timeout": StatusStyle("timeout", ORANGE, "///"),
    "out_of_memory": StatusStyle("out of memory", YELLOW, "..."),
    "crashed": StatusStyle("crashed", PURPLE, "xxx"),
    "killed": StatusStyle("killed", GREY, "|||"),
    "skipped": StatusStyle("skipped", GREY, ""),
}


@dataclass(eq=False, repr=False)
class Display(ABC):
    """Something to draw, on given axes or on a new figure."""

    ax_: Any = field(init=False)
    figure_: Any = field(init=False)

    def plot(
        self, ax: Any = None, *, figsize: tuple[float, float] | None = None
    ) -> Self:
        """Draw what has been computed.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw. None: on a new figure.
        figsize : tuple of float, default=None
            Width and height of a new figure, in inches.

        Returns
        -------
        display
            Itself, with what has been drawn.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        self._open(ax, figsize)
        self._draw()
        return self

    @property
    def _size(self) -> tuple[float, float] | None:
        """Width and height of a new figure for which none are given."""
        return None

    def _open(self, ax: Any, figsize: tuple[float, float] | None) -> None:
        """Keep the given axes, or new ones, and their figure."""
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError(
                f"{type(self).__name__}.plot needs matplotlib; "
                "pip install 'sklearn-mvrsm[plot]' brings it"
            ) from error
        if ax is None:
            _, ax = plt.subplots(figsize=figsize or self._size, layout="constrained")
        self.figure_, self.ax_ = ax.figure, ax

    @abstractmethod
    def _draw(self) -> None:
        """Draw on the axes that are kept."""


def score_limits(
    scores: FloatArray, inside: FloatArray | None = None, sign: int = 1
) -> tuple[tuple[float, float] | None, int]:
    """Choose limits of an axis of scores such that the better ones are told apart.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        May have nan.
    inside : ndarray of shape (m,), optional
        What must be seen.
    sign : int, default=1
        1 where higher is better, -1 where lower is.

    Returns
    -------
    limits : tuple of float, or None
        None where nothing is known.
    n_hidden : int
        How many scores are worse than all that is shown.
    """
    known = sign * scores[np.isfinite(scores)]
    if not len(known):
        return None, 0
    high, middle = known.max(), np.median(known)
    low = known.min()
    if high > middle:
        low = max(low, high - _ROOM * (high - middle))
    if inside is not None:
        shown = sign * inside[np.isfinite(inside)]
        low, high = min([low, *shown]), max([high, *shown])
    margin = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    limits = float(low - 2.0 * margin), float(high + margin)
    n_hidden = int((known < limits[0]).sum())
    return (limits if sign > 0 else (-limits[1], -limits[0])), n_hidden


def shown_in_part(n_hidden: int, sign: int) -> str:
    """Write how many scores are out of the picture; nothing if none is."""
    if n_hidden == 0:
        return ""
    which = "lower scores" if sign > 0 else "higher values"
    if n_hidden == 1:
        return f"1 {which[:-1]} is not shown"
    return f"{n_hidden} {which} are not shown"


def color_map(sign: int = 1, *, on_white: bool = False) -> Any:
    """Return the scale of colours for scores: the better, the brighter.

    Parameters
    ----------
    sign : int, default=1
        1 where higher is better, -1 where lower is.
    on_white : bool, default=False
        Leave out the palest colours, for lines and points on a white background.
    """
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    shares = np.linspace(0.0, _PALEST if on_white else 1.0, 256)
    return ListedColormap(colormaps[SCALE](shares[::sign]))


def jitter(n: int, *widths: float) -> FloatArray:
    """Return places around 0 that spread over widths: the same at each call.

    Parameters
    ----------
    n : int
    *widths : float
        Of one or two axes.

    Returns
    -------
    ndarray of shape (n, n_axes)
    """
    steps = _SPREADING[len(widths) - 1]
    places = np.outer(np.arange(1, n + 1), steps) % 1.0 - 0.5
    return np.asarray(places * widths, dtype=np.float64)


def mark_failures(ax: Any, at: FloatArray, height: float = 0.02, **style: Any) -> Any:
    """Mark failed candidates in a row at the bottom of axes.

    Parameters
    ----------
    ax : matplotlib axes
    at : ndarray of shape (n,)
        Where, on the horizontal axis.
    height : float, default=0.02
        Of the row, as a share of the axes.
    **style : object
        For the marks.
    """
    (marks,) = ax.plot(
        at,
        np.full(len(at), height),
        **{
            "marker": "x",
            "linestyle": "",
            "color": FAILED,
            "markersize": 5.0,
            "transform": ax.get_xaxis_transform(),
            "label": f"{len(at)} failed" if len(at) else None,
            "zorder": 3,
            **style,
        },
    )
    return marks


def mark_infeasible(
    ax: Any,
    infeasible: npt.NDArray[np.bool_] | None,
    x: FloatArray,
    y: FloatArray,
    **style: Any,
) -> npt.NDArray[np.bool_]:
    """Draw candidates that violate the constraint as hollow points.

    Parameters
    ----------
    ax : matplotlib axes
    infeasible : ndarray of bool of shape (n,) or None
        Whether they violate it; None without one.
    x, y : ndarray of shape (n,)
        Where all candidates are; nan where one cannot be drawn.
    **style : object
        For the points.

    Returns
    -------
    ndarray of bool of shape (n,)
        Which have been drawn.
    """
    hollow = ~np.isnan(x + y) & (False if infeasible is None else infeasible)
    n = int(hollow.sum())
    points = {"color": GREY, "markersize": 3.5, "markerfacecolor": "none", **style}
    label = f"{n} infeasible" if n else None
    ax.plot(x[hollow], y[hollow], "o", label=label, **points)
    return hollow


def _number_ticks(
    side: Any, low: float, high: float, *, log: bool, whole: bool
) -> None:
    """Set ticks that can be read on an axis of numbers, alike in how they are written.

    Parameters
    ----------
    side : matplotlib axis
    low, high : float
        Its ends.
    log, whole : bool
        Whether the scale is logarithmic, and whether only integers are values.
    """
    from matplotlib.ticker import (
        LogLocator,
        MaxNLocator,
        NullFormatter,
        StrMethodFormatter,
    )

    if not log:
        side.set_major_locator(MaxNLocator("auto", integer=whole))
        return
    if high / low <= 200.0:
        side.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    side.set_minor_formatter(NullFormatter())
    if _PLAIN[0] <= low and high <= _PLAIN[1]:
        side.set_major_formatter(StrMethodFormatter("{x:g}"))


def number_texts(values: FloatArray, *, log: bool, whole: bool) -> list[str]:
    """Write the numbers of one axis alike: with as many decimals, or as powers of ten.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Ascending.
    log, whole : bool
        Whether the scale is logarithmic, and whether only integers are values.
    """
    size = np.abs(values[values != 0.0])
    plain = not len(size) or (_PLAIN[0] <= size.min() and size.max() < _PLAIN[1])
    if whole and (plain or not log):
        return [f"{value:.0f}" for value in values]
    if log or not plain:
        texts = [f"{value:.1e}" for value in values]
        if plain:
            return [np.format_float_positional(float(t), trim="-") for t in texts]
        powers = [text.replace(".0e", "e") for text in texts]
        return powers if all("." not in text for text in powers) else texts
    step = float(np.diff(values).min()) if len(values) > 1 else 1.0
    decimals = max(0, math.ceil(-math.log10(1.001 * step)))
    rough = np.abs(np.round(values, decimals) - values).max() > 0.01 * step
    return [f"{value:.{decimals + rough}f}" for value in values]


def slopes(axis: Axis, letters: int = _LETTERS) -> bool:
    """Whether the names of categories are too long to stand side by side."""
    return sum(map(len, axis.ticks[:_MOST_TICKS])) > letters


def scale_axis(ax: Any, side: str, axis: Axis, letters: int = _LETTERS) -> None:
    """Name one side of axes, and set the scale of its parameter.

    Parameters
    ----------
    ax : matplotlib axes
    side : {"x", "y"}
    axis : Axis
    letters : int
        How many letters of categories stand side by side below the axes.
    """
    ax.set(**{f"{side}label": axis.name})
    if axis.ticks:
        step = -(-len(axis.ticks) // _MOST_TICKS)
        ax.set(
            **{
                f"{side}lim": (-0.5, len(axis.ticks) - 0.5),
                f"{side}ticks": range(0, len(axis.ticks), step),
                f"{side}ticklabels": axis.ticks[::step],
            }
        )
        if side == "x" and slopes(axis, letters):
            names = [
                name if len(name) <= letters else f"{name[: letters - 1]}…"
                for name in axis.ticks[::step]
            ]
            ax.set_xticklabels(names, rotation=20, ha="right", rotation_mode="anchor")
        return
    if axis.log:
        if not np.isfinite(getattr(ax.dataLim, f"minpos{side}")):  # nothing is drawn
            ax.set(**{f"{side}lim": (axis.low, axis.high)})
        ax.set(**{f"{side}scale": "log"})
    if 0 < len(axis.steps) <= _FEW_STEPS:
        ax.set(**{f"{side}ticks": axis.steps})
        return
    _number_ticks(
        getattr(ax, f"{side}axis"), axis.low, axis.high, log=axis.log, whole=axis.whole
    )
