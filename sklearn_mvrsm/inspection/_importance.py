"""Which parameters matter: shares of the variance of the surrogate."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sklearn_mvrsm import SearchSpace
from sklearn_mvrsm.inspection._axes import (
    Axis,
    exchange_choice,
    parameter_axes,
    shows_choice,
)
from sklearn_mvrsm.inspection._drawing import BLUE, SKY, Display
from sklearn_mvrsm.inspection._model import expectation
from sklearn_mvrsm.inspection._scores import Tried, read_tried
from sklearn_mvrsm.inspection._sobol import (
    SobolIndices,
    sobol_indices,
    uniform_points,
)

__all__ = ["ImportanceDisplay", "most_important"]

FloatArray = npt.NDArray[np.float64]

_EVALUATIONS = 2**14  # of the surrogate, about
_FEWEST, _MOST = 2**7, 2**11  # samples


@dataclass(eq=False, repr=False)
class ImportanceDisplay(Display):
    """How much each parameter explains of the surrogate's score over the space.

    Parameters are drawn independently and uniformly (on their own scale) from the whole
    space; the variance of the surrogate's score is then shared out among them as Sobol'
    indices [1]_, [2]_. The *first-order* index of a parameter is the share that it
    explains by itself; the *total* index adds all its interactions. A parameter counts
    only where it exists: a conditional one that is rarely active has a small index even
    if it is decisive there. Constraints are not looked at. To the surrogate a failure
    is as bad as the worst score, so a parameter that makes fits fail matters.

    The indices describe the surrogate. After few candidates it knows little, and a
    parameter that it has not understood yet looks unimportant.

    Make it with :meth:`from_estimator`.

    Parameters
    ----------
    names : tuple of str
        Parameters, the most important first.
    first_order, total : ndarray of shape (n_parameters,)
        Indices of each.
    total_error : ndarray of shape (n_parameters,)
        Standard error of ``total``, from the finite sample of the surrogate.
    label : str
        What the score is.

    Attributes
    ----------
    ax_ : matplotlib axes
        What has been drawn on.
    figure_ : matplotlib figure
        Its figure.
    bars_ : list of matplotlib bar containers
        Total and first-order indices.

    References
    ----------
    .. [1] I. M. Sobol', "Global sensitivity indices for nonlinear mathematical models
       and their Monte Carlo estimates", Mathematics and Computers in Simulation 55
       (2001), 271-280.
    .. [2] A. Saltelli et al., "Variance based sensitivity analysis of model output.
       Design and estimator for the total sensitivity index", Computer Physics
       Communications 181 (2010), 259-270.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from sklearn_mvrsm import Integer, MVRSMSearchCV, Real
    >>> from sklearn_mvrsm.inspection import ImportanceDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> search = MVRSMSearchCV(
    ...     DecisionTreeClassifier(random_state=0),
    ...     {"max_depth": Integer(1, 9), "ccp_alpha": Real(1e-6, 1e-5)},
    ...     n_iter=12,
    ...     random_state=0,
    ... ).fit(X, y)
    >>> display = ImportanceDisplay.from_estimator(search)
    >>> display.names
    ('max_depth', 'ccp_alpha')
    >>> display.plot()  # doctest: +SKIP
    """

    names: tuple[str, ...]
    first_order: FloatArray
    total: FloatArray
    total_error: FloatArray
    label: str
    bars_: Any = field(init=False)

    @classmethod
    def from_estimator(
        cls,
        search: Any,
        *,
        metric: str | None = None,
        n_samples: int | None = None,
        random_state: int = 0,
    ) -> Self:
        """Compute the indices.

        Parameters
        ----------
        search : MVRSMSearchCV, MVRSMOptimizer or OptimizeResult
            A fitted search, an optimiser that was told values, or what
            :func:`~sklearn_mvrsm.minimize` returned.
        metric : str, default=None
            Which of several metrics. None: the one that guided the search. For another
            one a surrogate is fitted here.
        n_samples : int, default=None
            Sample size, a power of two; the surrogate is evaluated that often for each
            parameter. None: up to 2048, fewer for many parameters.
        random_state : int, default=0
            Seed of the sample.

        Returns
        -------
        ImportanceDisplay
            Nothing has been drawn yet.

        Raises
        ------
        ValueError
            If no candidate has a score; if ``n_samples`` is no power of two.
        """
        tried = read_tried(cls, search, metric)
        scores = tried.scores
        axes = parameter_axes(tried.space)
        indices = _indices(
            search, tried.space, scores.metric, axes, n_samples, random_state
        )
        order = np.argsort(-indices.total, kind="stable")
        return cls(
            names=tuple(axes[k].name for k in order),
            first_order=indices.first_order[order],
            total=indices.total[order],
            total_error=indices.total_error[order],
            label=scores.label,
        )

    def plot(
        self,
        ax: Any = None,
        *,
        max_parameters: int = 20,
        figsize: tuple[float, float] | None = None,
    ) -> Self:
        """Draw the indices as bars, the most important parameter on top.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw. None: on a new figure.
        max_parameters : int, default=20
            How many to show at most.
        figsize : tuple of float, default=None
            Width and height of a new figure, in inches.

        Returns
        -------
        ImportanceDisplay
            Itself, with what has been drawn.
        """
        shown = min(max_parameters, len(self.names))
        self._open(ax, figsize or (8.5, 1.3 + 0.28 * shown))
        self._draw(shown)
        return self

    def _draw(self, shown: int = 20) -> None:
        place = np.arange(shown)
        total = np.maximum(self.total[:shown], 0.0)
        first = np.clip(self.first_order[:shown], 0.0, total)
        self.bars_ = [
            self.ax_.barh(
                place,
                total,
                xerr=self.total_error[:shown],
                color=SKY,
                ecolor="0.45",
                label="total, with interactions",
            ),
            self.ax_.barh(place, first, color=BLUE, height=0.4, label="by itself"),
        ]
        self.ax_.set_yticks(place, self.names[:shown])
        self.ax_.invert_yaxis()
        self.ax_.set_xlim(left=0.0)
        self.ax_.set_xlabel(f"share of the surrogate's variance ({self.label})")
        title = "Sobol' indices of the surrogate"
        if not self.total.any():
            title += ", which is constant"
        if shown < len(self.names):
            rest = float(np.maximum(self.total[shown:], 0.0).max())
            title += (
                f"\n{shown} of {len(self.names)} parameters; "
                f"each of the others has at most {rest:.2g}"
            )
        self.ax_.set_title(title, fontsize="medium")
        self.ax_.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)


def most_important(search: Any, tried: Tried, axes: tuple[Axis, ...]) -> list[int]:
    """Rank parameters by their total index, for displays that cannot show all."""
    indices = _indices(search, tried.space, tried.scores.metric, axes, None, 0)
    return [int(k) for k in np.argsort(-indices.total, kind="stable")]


def _indices(
    search: Any,
    space: SearchSpace,
    metric: str,
    axes: tuple[Axis, ...],
    n_samples: int | None,
    random_state: int,
) -> SobolIndices:
    domain = space.domain
    if n_samples is None:
        power = int(np.log2(_EVALUATIONS / (len(axes) + 2)))
        n_samples = int(np.clip(2**power, _FEWEST, _MOST))
    if n_samples < 2 or n_samples & (n_samples - 1):
        raise ValueError(f"'n_samples' must be a power of two, got {n_samples!r}")

    def to_box(unit: FloatArray) -> FloatArray:
        n_discrete = domain.n_categorical + domain.n_integer
        return uniform_points(domain.lower, domain.upper, n_discrete, unit)

    tables = [
        exchange_choice(space, axes, k) if shows_choice(space, axis) else None
        for k, axis in enumerate(axes)
    ]

    def exchange(k: int, a: FloatArray, b: FloatArray) -> FloatArray:
        mixed = a.copy()
        mixed[:, axes[k].coordinates] = b[:, axes[k].coordinates]
        table = tables[k]
        if table is not None:
            mixed[:, 0] = table[a[:, 0].astype(int), b[:, 0].astype(int)]
        return mixed

    expected = expectation(search, metric)
    return sobol_indices(
        lambda points: expected(points)[0],
        to_box,
        domain.d,
        [axis.coordinates for axis in axes],
        n_samples,
        np.random.default_rng(random_state),
        exchange,
    )
