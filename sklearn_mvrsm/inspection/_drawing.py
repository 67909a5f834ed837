"""How everything is drawn: matplotlib on demand, and colours that all can tell apart.

The colours are those of Okabe and Ito (https://jfly.uni-koeln.de/color/), for scales
cividis (Nunez, Anderton and Renslow, PLOS ONE 13(7), 2018): both are made for people
with colour vision deficiencies. Where colour tells kinds apart, so does a hatch.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "BEST",
    "CATEGORICAL",
    "GREY",
    "SCALE",
    "STATUS_STYLES",
    "StatusStyle",
    "log_ticks",
    "open_axes",
    "score_limits",
]

FloatArray = npt.NDArray[np.float64]

BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#E69F00", "#009E73", "#CC79A7"
SKY, VERMILION, YELLOW, GREY = "#56B4E9", "#D55E00", "#F0E442", "#8C8C8C"
CATEGORICAL = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION)
SCALE = "cividis"
BEST = VERMILION

_ROOM = 4.0  # an axis shows at most this many times what the better half spans
_PLAIN = (1e-3, 1e5)  # numbers that are written without a power of ten


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
    "skipped": StatusStyle("skipped", GREY, ""),
}


def open_axes(
    display: object, ax: Any, size: tuple[float, float] | None = None
) -> tuple[Any, Any]:
    """Return a figure and axes: the given ones, or new ones.

    Parameters
    ----------
    display : object
        Who wants to draw.
    ax : matplotlib axes or None
    size : tuple of float, optional
        Width and height of a new figure, in inches.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{type(display).__name__}.plot needs matplotlib; "
            "pip install 'sklearn-mvrsm[plot]' brings it"
        ) from error
    if ax is None:
        _, ax = plt.subplots(figsize=size, layout="constrained")
    return ax.figure, ax


def score_limits(
    scores: FloatArray, inside: FloatArray | None = None
) -> tuple[tuple[float, float] | None, int]:
    """Choose limits of an axis of scores such that the better ones are told apart.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        May have nan.
    inside : ndarray of shape (m,), optional
        What must be seen.

    Returns
    -------
    limits : tuple of float, or None
        None where nothing is known.
    n_hidden : int
        How many scores lie below.
    """
    known = scores[np.isfinite(scores)]
    if not len(known):
        return None, 0
    high, middle = known.max(), np.median(known)
    low = known.min()
    if high > middle:
        low = max(low, high - _ROOM * (high - middle))
    if inside is not None:
        low, high = min(low, np.nanmin(inside)), max(high, np.nanmax(inside))
    margin = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    limits = float(low - 2.0 * margin), float(high + margin)
    return limits, int((known < limits[0]).sum())


def log_ticks(side: Any, low: float, high: float) -> None:
    """Set ticks that can be read on a logarithmic axis.

    Parameters
    ----------
    side : matplotlib axis
    low, high : float
        Its ends.
    """
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    if high / low <= 200.0:
        side.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    side.set_minor_formatter(NullFormatter())
    if _PLAIN[0] <= low and high <= _PLAIN[1]:
        side.set_major_formatter(StrMethodFormatter("{x:g}"))
