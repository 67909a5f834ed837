"""Which slot ran which fit when."""

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sklearn_mvrsm.inspection._drawing import STATUS_STYLES, Display
from sklearn_mvrsm.inspection._scores import fit_log_of, require_search

__all__ = ["TimelineDisplay"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_UNITS = (("hours", 3600.0), ("minutes", 60.0), ("seconds", 1.0))
_WORTH = 5.0  # a unit is used from this many on
_THIN = 0.004  # bars of a smaller share of the width get no outline


@dataclass(eq=False, repr=False)
class TimelineDisplay(Display):
    """Every fit as a bar in the slot where it ran, coloured by what became of it.

    A fit that was skipped before it began has no bar: a mark above the slots shows when
    it was given up, which is when the fit that ended its candidate did. One that had
    begun has a bar: it was killed, or ran in vain.

    Make it with :meth:`from_estimator`.

    Parameters
    ----------
    slot : ndarray of int of shape (n_fits,)
        Where each fit ran; -1 where it did not.
    start, finish : ndarray of shape (n_fits,)
        When, in seconds since the search began. Of a skipped fit that did not begin,
        both are the time at which it was given up; nan if that is unknown, and for fits
        that an earlier session made.
    status : ndarray of str of shape (n_fits,)
        "ok", "error", "timeout", "out_of_memory", "crashed", "killed" or "skipped".
    candidate, fold : ndarray of int of shape (n_fits,)
        Which fit it is.

    Attributes
    ----------
    ax_ : matplotlib axes
        What has been drawn on.
    figure_ : matplotlib figure
        Its figure.
    bars_ : dict of str to matplotlib collection
        Fits by status.
    skips_ : matplotlib line
        Fits that were skipped.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from sklearn_mvrsm import Integer, MVRSMSearchCV
    >>> from sklearn_mvrsm.inspection import TimelineDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> search = MVRSMSearchCV(
    ...     DecisionTreeClassifier(random_state=0),
    ...     {"max_depth": Integer(1, 9)},
    ...     n_iter=4,
    ...     cv=3,
    ...     random_state=0,
    ... ).fit(X, y)
    >>> display = TimelineDisplay.from_estimator(search)
    >>> len(display.start), set(display.slot.tolist())
    (12, {0})
    >>> display.plot()  # doctest: +SKIP
    """

    slot: IntArray
    start: FloatArray
    finish: FloatArray
    status: npt.NDArray[np.object_]
    candidate: IntArray
    fold: IntArray
    bars_: Any = field(init=False)
    skips_: Any = field(init=False)

    @property
    def busy(self) -> float:
        """Share of the slots' time that fits took, from the first start to the end."""
        ran = self.slot >= 0
        if not ran.any():
            return float("nan")
        start, finish = self.start[ran], self.finish[ran]
        whole = (finish.max() - start.min()) * len(np.unique(self.slot[ran]))
        return float((finish - start).sum() / whole)

    @classmethod
    def from_estimator(cls, search: Any) -> Self:
        """Compute what is to be drawn.

        Parameters
        ----------
        search : MVRSMSearchCV or OptimizeResult
            A fitted search, or what :func:`~sklearn_mvrsm.minimize` returned.

        Returns
        -------
        TimelineDisplay
            Nothing has been drawn yet.
        """
        log = fit_log_of(search)
        if log is None:
            require_search(cls, search, ", which keeps no times of fits", "fit_log_")
            log = search.fit_log_
        given_up = _ends_of_candidates(log)
        never = (log["status"] == "skipped") & (log["slot"] < 0)
        return cls(
            slot=log["slot"],
            start=np.where(never, given_up, log["start"]),
            finish=np.where(never, given_up, log["finish"]),
            status=log["status"],
            candidate=log["candidate"],
            fold=log["fold"],
        )

    @property
    def _n_slots(self) -> int:
        return int(self.slot.max(initial=-1)) + 1

    @property
    def _size(self) -> tuple[float, float]:
        return 8.0, min(2.0 + 0.35 * self._n_slots, 12.0)

    def _draw(self) -> None:
        unit, seconds = _unit(float(np.nanmax(self.finish, initial=0.0)))
        self.bars_ = {}
        for status, style in STATUS_STYLES.items():
            rows = np.flatnonzero((self.status == status) & (self.slot >= 0))
            if status == "skipped":
                style = replace(style, label="in vain")
            if len(rows):
                self.bars_[status] = self._plot_bars(rows, style, seconds)
        self._plot_skips(seconds)
        self.ax_.set_xlabel(f"{unit} since the search began")
        self.ax_.set_xlim(left=0.0)
        self._plot_title()

    def _plot_title(self) -> None:
        n_fits = int((self.slot >= 0).sum())
        n_restored = int(((self.slot < 0) & (self.status != "skipped")).sum())
        parts = []
        if n_fits:
            parts.append(f"{n_fits} fits; slots {self.busy:.0%} busy")
            self.ax_.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
        if n_restored:
            parts.append(f"{n_restored} more fits of an earlier session")
        self.ax_.set_title("; ".join(parts), fontsize="medium")

    def _plot_bars(self, rows: Any, style: Any, seconds: float) -> Any:
        from matplotlib.collections import PolyCollection

        left, right = self.start[rows] / seconds, self.finish[rows] / seconds
        low, high = self.slot[rows] - 0.4, self.slot[rows] + 0.4
        x = np.stack([left, right, right, left], axis=1)
        y = np.stack([low, low, high, high], axis=1)
        thin = right - left < _THIN * np.nanmax(self.finish) / seconds
        outline = self.ax_.get_facecolor()
        bars = PolyCollection(
            list(np.stack([x, y], axis=2)),
            facecolors=style.color,
            edgecolors=[style.color if each else outline for each in thin],
            linewidths=0.6,
            hatch=style.hatch,
            label=f"{len(rows)} {style.label}",
        )
        self.ax_.add_collection(bars)
        return bars

    def _plot_skips(self, seconds: float) -> None:
        """Mark skipped fits in a row of their own, and name the rows."""
        skipped = (self.status == "skipped") & (self.slot < 0)
        style = STATUS_STYLES["skipped"]
        count, n_slots = int(skipped.sum()), self._n_slots
        (self.skips_,) = self.ax_.plot(
            self.finish[skipped] / seconds,
            np.full(count, -1.0),
            "|",
            color=style.color,
            markersize=10.0,
            label=f"{count} {style.label}" if count else None,
        )
        names = [f"slot {k}" for k in range(n_slots)]
        rows = list(range(n_slots))
        if count:
            names, rows = ["skipped", *names], [-1, *rows]
        self.ax_.set_yticks(rows, names)
        self.ax_.set_ylim(n_slots - 0.4, -1.5 if count else -0.6)
        self.ax_.autoscale_view(scaley=False)


def _unit(latest: float) -> tuple[str, float]:
    """Choose the unit of the time axis: its name, and how many seconds it has."""
    for name, seconds in _UNITS:
        if latest >= _WORTH * seconds:
            return name, seconds
    return _UNITS[-1]


def _ends_of_candidates(log: dict[str, Any]) -> FloatArray:
    """For each fit, when the fits of its candidate that count were over."""
    ends = np.full(len(log["slot"]), np.nan)
    for candidate in np.unique(log["candidate"][log["candidate"] >= 0]):
        own = log["candidate"] == candidate
        counts = (log["status"] != "killed") & (log["status"] != "skipped")
        ran = own & counts & (log["slot"] >= 0)
        if ran.any():
            ends[own] = log["finish"][ran].max()
    return ends
