"""Best score so far, candidate by candidate."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sklearn_mvrsm.inspection._drawing import CATEGORICAL, open_axes, score_limits
from sklearn_mvrsm.inspection._scores import read_scores

__all__ = ["ConvergenceDisplay"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

_RUG = 0.035  # height of a row of failures, as a share of the axes


@dataclass(eq=False, repr=False)
class ConvergenceDisplay:
    """How the best score of a search grew.

    Make it with :meth:`from_estimator`. To compare searches, draw them on one axes.

    Parameters
    ----------
    scores : ndarray of shape (n_candidates,)
        Mean test scores in the order of the candidates, nan where there is none.
    failed : ndarray of bool of shape (n_candidates,)
        Whether something went wrong with a candidate. One without a score that has not
        failed was given up as hopeless (``racing``).
    best : ndarray of shape (n_candidates,)
        Best of the scores up to each candidate; nan before the first success.
    label : str
        What the scores are.
    name : str
        Name of the search, for the legend.

    Attributes
    ----------
    ax_ : matplotlib axes
        What has been drawn on.
    figure_ : matplotlib figure
        Its figure.
    line_ : matplotlib line
        The best score so far.
    points_ : matplotlib line
        The candidates.
    failures_, given_up_ : matplotlib line
        Failed candidates, and those given up, at the bottom.

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
    ax_: Any = field(init=False)
    figure_: Any = field(init=False)
    line_: Any = field(init=False)
    points_: Any = field(init=False)
    failures_: Any = field(init=False)
    given_up_: Any = field(init=False)

    @classmethod
    def from_estimator(
        cls, search: Any, *, metric: str | None = None, name: str | None = None
    ) -> Self:
        """Compute what is to be drawn.

        Parameters
        ----------
        search : MVRSMSearchCV
            A fitted search; those of scikit-learn are understood too.
        metric : str, default=None
            Which of several metrics. None: the one that guided the search.
        name : str, default=None
            Name of the search. None: its class.

        Returns
        -------
        ConvergenceDisplay
            Nothing has been drawn yet.
        """
        scores = read_scores(search, metric)
        return cls(
            scores=scores.values,
            failed=scores.failed,
            best=np.fmax.accumulate(scores.values),
            label=scores.label,
            name=type(search).__name__ if name is None else name,
        )

    def plot(self, ax: Any = None, **line_kwargs: Any) -> Self:
        """Draw the best score so far, each candidate's score, and crosses for failures.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw. None: on a new figure. Axes on which other searches have
            been drawn compare them.
        **line_kwargs : object
            For the line of the best score, such as ``color``.

        Returns
        -------
        ConvergenceDisplay
            Itself, with what has been drawn.
        """
        self.figure_, self.ax_ = open_axes(self, ax)
        others = [line for line in self.ax_.lines if line.get_gid() == "best so far"]
        style = {
            "color": CATEGORICAL[len(others) % len(CATEGORICAL)],
            "label": self.name,
            "drawstyle": "steps-post",
            "linewidth": 2.0,
            **line_kwargs,
        }
        number = np.arange(1, len(self.scores) + 1)
        (self.line_,) = self.ax_.plot(number, self.best, gid="best so far", **style)
        color = self.line_.get_color()
        (self.points_,) = self.ax_.plot(
            number,
            self.scores,
            ".",
            color=color,
            alpha=0.45,
            markersize=5.0,
            gid="candidates",
        )
        row = _RUG * (len(others) + 0.5)
        given_up = np.isnan(self.scores) & ~self.failed
        self.failures_ = self._mark(number[self.failed], row, "x", "failed", color)
        self.given_up_ = self._mark(number[given_up], row, "|", "given up", color)
        self._limit_scores()
        self.ax_.set(xlabel="candidate", ylabel=self.label)
        self.ax_.xaxis.get_major_locator().set_params(integer=True)
        self.ax_.legend(loc="best")
        return self

    def _mark(self, at: Any, row: float, marker: str, what: str, color: Any) -> Any:
        """Mark candidates without a score in a row at the bottom of the axes."""
        (marks,) = self.ax_.plot(
            at,
            np.full(len(at), row),
            marker,
            color=color,
            markersize=5.0,
            transform=self.ax_.get_xaxis_transform(),
            label=f"{len(at)} {what}" if len(at) else None,
        )
        return marks

    def _limit_scores(self) -> None:
        """Leave out of the picture scores so low that they would flatten the rest."""
        lines = [line for line in self.ax_.lines if line.get_gid() == "candidates"]
        scores = np.concatenate([line.get_ydata() for line in lines])
        limits, n_hidden = score_limits(scores)
        self.ax_.set_ylim(limits)
        self.ax_.set_title(
            f"{n_hidden} lower scores are not shown" if n_hidden else "",
            fontsize="medium",
        )
