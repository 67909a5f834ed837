"""Best score so far, candidate by candidate."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sklearn_mvrsm.inspection._drawing import (
    CATEGORICAL,
    FAILED,
    Display,
    mark_failures,
    score_limits,
    shown_in_part,
)
from sklearn_mvrsm.inspection._scores import optimizer_of, read_each

__all__ = ["ConvergenceDisplay"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

_RUG = 0.035  # height of a row of failures, as a share of the axes


@dataclass(eq=False, repr=False)
class ConvergenceDisplay(Display):
    """How the best score of a search grew, or of several with their mean and spread.

    Make it with :meth:`from_estimator`. To compare methods, draw their displays on one
    axes.

    Parameters
    ----------
    scores : ndarray of shape (n_candidates,) or (n_searches, n_candidates)
        Mean test scores in the order of the candidates, nan where there is none.
    failed : ndarray of bool, same shape
        Whether something went wrong with a candidate. One without a score that has not
        failed was given up as hopeless (``racing``).
    best : ndarray, same shape
        Best of the scores of feasible candidates up to each one; nan before the first.
        A search that has ended keeps its best score while others go on.
    label : str
        What the scores are.
    name : str
        Name of the search, for the legend.
    n_initial : int or None, default=None
        How many of the first candidates the model did not propose.
    sign : int, default=1
        1 where higher scores are better, -1 where lower values are.
    infeasible : ndarray of bool, same shape, default=None
        Whether a candidate violates the ``constraint``; None without one.

    Attributes
    ----------
    ax_ : matplotlib axes
        What has been drawn on.
    figure_ : matplotlib figure
        Its figure.
    line_ : matplotlib line
        The best score so far; of several searches, the mean.
    band_ : matplotlib collection or None
        Of several searches: a standard deviation above and below the mean.
    points_ : matplotlib line
        The candidates; none of several searches.
    failures_, given_up_ : matplotlib line
        Failed candidates, and those given up, at the bottom.
    initial_ : matplotlib line or None
        Where the part that the model did not propose ends.
    infeasible_ : matplotlib line or None
        Of one search: the candidates that violate the constraint, hollow.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from sklearn_mvrsm import Integer, MVRSMSearchCV
    >>> from sklearn_mvrsm.inspection import ConvergenceDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> search = MVRSMSearchCV(
    ...     DecisionTreeClassifier(random_state=0),
    ...     {"max_depth": Integer(1, 9)},
    ...     n_iter=5,
    ...     random_state=0,
    ... ).fit(X, y)
    >>> display = ConvergenceDisplay.from_estimator(search)
    >>> bool(display.best[-1] == search.best_score_)
    True
    >>> display.plot()  # doctest: +SKIP
    """

    scores: FloatArray
    failed: BoolArray
    best: FloatArray
    label: str
    name: str
    n_initial: int | None = None
    sign: int = 1
    infeasible: BoolArray | None = None
    line_: Any = field(init=False)
    band_: Any = field(init=False, default=None)
    points_: Any = field(init=False)
    failures_: Any = field(init=False)
    given_up_: Any = field(init=False)
    initial_: Any = field(init=False, default=None)
    infeasible_: Any = field(init=False, default=None)

    @classmethod
    def from_estimator(
        cls, search: Any, *, metric: str | None = None, name: str | None = None
    ) -> Self:
        """Compute what is to be drawn.

        Parameters
        ----------
        search : MVRSMSearchCV, MVRSMOptimizer or OptimizeResult, or a list of them
            A fitted search, also one of scikit-learn's; an optimiser that was told
            values; what :func:`~sklearn_mvrsm.minimize` returned. Of a list, such as
            searches with different seeds, the mean is drawn with its spread.
        metric : str, default=None
            Which of several metrics. None: the one that guided the search.
        name : str, default=None
            Name of the search. None: its class.

        Returns
        -------
        ConvergenceDisplay
            Nothing has been drawn yet.

        Raises
        ------
        ValueError
            If the list is empty, or its searches have different metrics.
        """
        several = isinstance(search, list | tuple)
        searches = list(search) if several else [search]
        read = read_each(cls, search, metric)
        sign, longest = read[0].sign, max(len(each.values) for each in read)
        scores = np.full((len(read), longest), np.nan)
        best = scores.copy()
        failed = np.zeros((len(read), longest), dtype=np.bool_)
        for row, each in enumerate(read):
            scores[row, : len(each.values)] = each.values
            best[row, : len(each.values)] = each.best_so_far
            failed[row, : len(each.values)] = each.failed
        best = sign * np.fmax.accumulate(sign * best, axis=1)
        if name is None:
            name = type(searches[0]).__name__
            name = f"{name} ({len(read)} searches)" if several else name
        return cls(
            scores=scores if several else scores[0],
            failed=failed if several else failed[0],
            best=best if several else best[0],
            label=read[0].label,
            name=name,
            n_initial=_n_initial(searches),
            sign=sign,
            infeasible=None if several else read[0].infeasible,
        )

    def plot(
        self,
        ax: Any = None,
        *,
        figsize: tuple[float, float] | None = None,
        **line_kwargs: Any,
    ) -> Self:
        """Draw the best score so far, each candidate's score, and crosses for failures.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw. None: on a new figure. Axes on which other searches have
            been drawn compare them.
        figsize : tuple of float, default=None
            Width and height of a new figure, in inches.
        **line_kwargs : object
            For the line of the best score, such as ``color``.

        Returns
        -------
        ConvergenceDisplay
            Itself, with what has been drawn.
        """
        self._open(ax, figsize)
        self._draw(**line_kwargs)
        return self

    def _draw(self, **line_kwargs: Any) -> None:
        others = [line for line in self.ax_.lines if line.get_gid() == "best so far"]
        style = {
            "color": CATEGORICAL[len(others) % len(CATEGORICAL)],
            "label": self.name,
            "drawstyle": "steps-post",
            "linewidth": 2.0,
            **line_kwargs,
        }
        number = np.arange(1, self.best.shape[-1] + 1)
        best = np.atleast_2d(self.best)
        mean = best.mean(axis=0)  # from where all have a score
        (self.line_,) = self.ax_.plot(number, mean, gid="best so far", **style)
        color = self.line_.get_color()
        if len(best) > 1:
            self.band_ = self.ax_.fill_between(
                number,
                mean - best.std(axis=0),
                mean + best.std(axis=0),
                step="post",
                color=color,
                alpha=0.18,
                linewidth=0.0,
                label="± a standard deviation" if not others else None,
            )
        self._plot_points(number, color, len(others))
        self._plot_initial()
        self._limit_scores()
        self.ax_.set(xlabel="candidate", ylabel=self.label)
        self.ax_.xaxis.get_major_locator().set_params(integer=True)
        self.ax_.legend(loc="best")

    def _plot_points(self, number: Any, color: Any, n_others: int) -> None:
        """Draw the candidates of one search, those without a score at the bottom."""
        one = self.scores.ndim == 1
        scores = self.scores if one else np.full(len(number), np.nan)
        if self.infeasible is not None and self.infeasible.any():
            hollow, scores = scores, np.where(self.infeasible, np.nan, scores)
            n = int(self.infeasible.sum())
            (self.infeasible_,) = self.ax_.plot(
                number[self.infeasible],
                hollow[self.infeasible],
                "o",
                mfc="none",
                color=color,
                alpha=0.45,
                markersize=4.0,
                gid="candidates",
                label=f"{n} infeasible",
            )
        (self.points_,) = self.ax_.plot(
            number,
            scores,
            ".",
            color=color,
            alpha=0.45,
            markersize=5.0,
            gid="candidates",
            label="candidates" if one and n_others == 0 else None,
        )
        if n_others > 0:  # then their colours tell whose they are
            for line in self.ax_.lines:
                if line.get_gid() == "candidates":
                    line.set_label("_candidates")
        given_up = np.isnan(self.scores) & ~self.failed if one else ()
        for attribute, rows, marker, what, of in (
            ("failures_", self.failed if one else (), "x", "failed", FAILED),
            ("given_up_", given_up, "|", "given up", color),
        ):
            at = number[np.flatnonzero(rows)]
            whose = f" ({self.name})" if n_others else ""
            marks = mark_failures(
                self.ax_,
                at,
                _RUG * (n_others + 0.5),
                marker=marker,
                color=of,
                label=f"{len(at)} {what}{whose}" if len(at) else None,
            )
            setattr(self, attribute, marks)

    def _plot_initial(self) -> None:
        """Show where the model takes over, unless that is shown already."""
        n = self.n_initial
        if n is None or not 0 < n < self.best.shape[-1]:
            return
        at = n + 0.5
        if any(
            line.get_gid() == "initial" and line.get_xdata()[0] == at
            for line in self.ax_.lines
        ):
            return
        self.initial_ = self.ax_.axvline(
            at,
            color="0.5",
            linestyle="--",
            linewidth=1.0,
            zorder=1,
            gid="initial",
            label=f"end of the {n} initial candidates",
        )

    def _limit_scores(self) -> None:
        """Leave out of the picture scores so bad that they would flatten the rest."""
        drawn = {
            gid: [line.get_ydata() for line in self.ax_.lines if line.get_gid() == gid]
            for gid in ("candidates", "best so far")
        }
        scores = np.concatenate(drawn["candidates"])
        if np.isnan(scores).all():  # means of several searches have no points
            scores = np.concatenate(drawn["best so far"])
        limits, n_hidden = score_limits(scores, sign=self.sign)
        self.ax_.set_ylim(limits)
        self.ax_.set_title(shown_in_part(n_hidden, self.sign), fontsize="medium")


def _n_initial(sources: list[Any]) -> int | None:
    """Return how many candidates the models did not propose, if that is one number."""
    optimizers = [
        optimizer_of(each) or getattr(each, "optimizer_", None) for each in sources
    ]
    numbers = {each and int(each.n_initial_points) for each in optimizers}
    return numbers.pop() if len(numbers) == 1 else None
