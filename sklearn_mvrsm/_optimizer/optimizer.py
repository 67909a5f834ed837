"""Ask and tell: the one place where names meet arrays."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from textwrap import shorten
from typing import Any

import numpy as np
import numpy.typing as npt

from sklearn_mvrsm._domain import FloatArray, History, Region, as_number
from sklearn_mvrsm._optimizer.blas import single_threaded
from sklearn_mvrsm._optimizer.candidates import initial_design
from sklearn_mvrsm._optimizer.method import Method
from sklearn_mvrsm._optimizer.mvrsm import MvrsmMethod
from sklearn_mvrsm._paper import PaperMethod
from sklearn_mvrsm._space import (
    Originals,
    SearchSpace,
    default_params,
    float_of,
    generator_of,
    int_of,
)

__all__ = ["MVRSMOptimizer", "SpaceExhaustedError", "Trial"]


Params = dict[str, Any]

# of a region, a seed and the evaluations in all
METHODS: dict[str, Callable[[Region, int, int | None], Method]] = {
    "mvrsm": lambda region, seed, n_iter: MvrsmMethod(region, seed),
    "paper": PaperMethod,
}
_KEPT = (bool, float, int, str, np.generic, type(None))  # values, as they were told
NOVEL_TRIES = 200  # random points drawn before all settings are tried in order


class SpaceExhaustedError(RuntimeError):
    """No configuration is left that has not been proposed."""

    __module__ = "sklearn_mvrsm"  # pickles name the public path


@dataclass(frozen=True)
class Trial:
    """One evaluated configuration.

    Parameters
    ----------
    params : dict
        Active parameters by name.
    value : float
        Lower is better; not finite where the evaluation failed.
    constraint : float or None
        As it was told: <= 0 where the configuration is feasible.
    """

    params: Params
    value: float
    constraint: float | None = None


@dataclass(frozen=True)
class _Pending:
    params: Params  # with the objects that were declared
    given: Params  # as returned by `ask`
    point: FloatArray


class MVRSMOptimizer:
    """Mixed-variable optimiser with an ask-and-tell interface.

    Parameters
    ----------
    space : SearchSpace, dict or list of dict
        What may be proposed.
    method : {"mvrsm", "paper"}, default="mvrsm"
        The default method, or the algorithm as published [1]_.
    n_initial_points : int or None, default=None
        Configurations before the surrogate is used. The default and those enqueued or
        told count; the others are drawn at random. None: ``min(24, 6 + d // 3)``
        for ``d`` parameters, where the choice among alternatives counts as one; 24 for
        ``method="paper"``.
    random_state : int or None, default=None
        Seed. The proposals are a function of it and of the calls made.
    n_iter : int or None, default=None
        Evaluations in all, where known. Only ``method="paper"`` uses it: it does
        not explore before the last evaluation.
    include_default : bool, default=True
        Whether to propose the declared defaults first, if any parameter has one; of
        the others the middle of the range, or the first category.

    Attributes
    ----------
    space : SearchSpace
        The space in use.
    n_initial_points : int
        As resolved.

    Raises
    ------
    TypeError, ValueError
        If an argument makes no sense; the message names it.

    Notes
    -----
    :meth:`tell` is cheap; :meth:`ask` fits the model and proposes. Two calls of
    :meth:`ask` without a :meth:`tell` between them return different configurations: the
    first is taken to have its predicted value until the truth arrives. Values may be
    told in any order, also of configurations that were never asked for.

    ``method="mvrsm"`` never proposes a configuration twice. ``method="paper"`` can.

    References
    ----------
    .. [1] L. Bliek, A. Guijt, S. Verwer and M. de Weerdt, "Black-box mixed-variable
       optimisation using a surrogate model that satisfies integer constraints",
       GECCO 2021 Companion.

    Examples
    --------
    >>> from sklearn_mvrsm import MVRSMOptimizer, Integer, Real
    >>> optimizer = MVRSMOptimizer(
    ...     {"x": Real(-2.0, 2.0), "k": Integer(0, 9)}, random_state=0
    ... )
    >>> for _ in range(30):
    ...     params = optimizer.ask()
    ...     optimizer.tell(params, params["x"] ** 2 + (params["k"] - 4) ** 2)
    >>> optimizer.best_params["k"]
    4
    """

    __module__ = "sklearn_mvrsm"  # pickles name the public path

    def __init__(
        self,
        space: object,
        *,
        method: str = "mvrsm",
        n_initial_points: int | None = None,
        random_state: int | None = None,
        n_iter: int | None = None,
        include_default: bool = True,
    ) -> None:
        if method not in METHODS:
            known = tuple(METHODS)
            raise ValueError(f"'method' must be one of {known}, got {method!r}")
        if not isinstance(include_default, bool | np.bool_):
            raise TypeError(
                f"'include_default' must be a bool, got {include_default!r}"
            )
        if n_initial_points is not None:
            n_initial_points = int_of("n_initial_points", n_initial_points, 0)
        if n_iter is not None:
            n_iter = int_of("n_iter", n_iter, 1)
        self.space = SearchSpace.from_any(space)
        self._rng = generator_of(random_state)
        seed = int(self._rng.integers(2**31))
        self._name = method
        self._method = METHODS[method](self.space, seed, n_iter)
        self.n_initial_points = (
            self._method.n_initial_points
            if n_initial_points is None
            else n_initial_points
        )
        design = initial_design(self.space, self._rng, self.n_initial_points)
        self._design = self._method.initial_points(design, self._rng)
        self._trials: list[Trial] = []
        self._points = np.empty((0, self.space.domain.d))
        self._values: FloatArray = np.empty(0)
        self._constraints: FloatArray = np.empty(0)  # nan where nothing is known
        self._is_constrained = False
        self._pending: list[_Pending] = []
        self._queue: list[_Pending] = []
        self._seen: set[bytes] = set()
        self._default = default_params(self.space) if include_default else None
        self._originals = Originals()

    def __repr__(self) -> str:
        """Show the method, what has been observed, the best of it, and the space."""
        n_failed = sum(not math.isfinite(trial.value) for trial in self._trials)
        failed = f" ({n_failed} failed)" if n_failed else ""
        pending = f", {len(self._pending)} pending" if self._pending else ""
        best = self._best()
        found = "none yet" if best is None else f"{best.value:.6g} at {best.params!r}"
        return (
            f"MVRSMOptimizer: method {self._name!r}, {len(self._trials)} observed"
            f"{failed}{pending}\n  best: {shorten(found, 80, placeholder=' …')}\n  "
        ) + repr(self.space).replace("\n", "\n  ")

    # --- results --------------------------------------------------------------

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Every evaluation told, in the order in which it was told."""
        return tuple(
            replace(trial, params=self._originals.restored(trial.params))
            for trial in self._trials
        )

    @property
    def best_value(self) -> float:
        """Lowest finite value of a feasible trial; infinite while there is none."""
        best = self._best()
        return math.inf if best is None else best.value

    @property
    def best_params(self) -> Params:
        """Feasible configuration with the lowest value, the first of several.

        Raises
        ------
        ValueError
            While no finite value has been told of a feasible one.
        """
        best = self._best()
        if best is None:
            self._require_a_value()
            raise ValueError("No configuration told satisfies its constraint yet.")
        return self._originals.restored(best.params)

    def _require_a_value(self) -> None:
        if not any(math.isfinite(trial.value) for trial in self._trials):
            raise ValueError("No finite value has been told yet.")

    def _best(self) -> Trial | None:
        told = [trial for trial in self._trials if math.isfinite(trial.value)]
        if self._is_constrained:
            told = [
                trial
                for trial in told
                if trial.constraint is not None and trial.constraint <= 0.0
            ]
        return min(told, key=lambda trial: trial.value, default=None)

    # --- ask and tell ---------------------------------------------------------

    def enqueue(self, params: Mapping[str, object]) -> None:
        """Queue parameters for :meth:`ask`, before proposals of the method.

        Parameters
        ----------
        params : mapping
            Active parameters by name.

        Raises
        ------
        ValueError
            If they are not a configuration of the space.
        """
        point = self._canonical(params)
        if not self.space.feasible(point):
            raise ValueError(f"A constraint forbids the enqueued {dict(params)!r}")
        self._queue.append(self._pending_at(point, self._own(params, point)))

    def ask(self) -> Params:
        """Propose a configuration to evaluate.

        Returns
        -------
        dict
            Active parameters by name, a new dict with the very objects declared. If
            one of these is altered, copies as it was take its place from then on.

        Raises
        ------
        SpaceExhaustedError
            When every configuration has been proposed; never with
            ``method="paper"``, which can repeat.
        InfeasibleSpaceError
            When almost nothing satisfies the constraints.
        """
        if not self._queue and self._default is not None:
            default, self._default = self._default, None
            if self._canonical(default).tobytes() not in self._seen:
                self.enqueue(default)
        if self._queue:
            proposal = self._queue.pop(0)
        else:
            with single_threaded():
                point = self._propose()
            proposal = self._pending_at(point, self.space.decode(point))
        self._pending.append(proposal)
        self._seen.add(proposal.point.tobytes())
        return dict(proposal.given)

    def tell(
        self,
        params: Mapping[str, object],
        value: float,
        constraint: float | None = None,
    ) -> None:
        """Report the value of a configuration.

        Parameters
        ----------
        params : mapping
            As returned by :meth:`ask`, or any other configuration of the space.
        value : float
            Lower is better. A value that is not finite is a failure: it never
            counts as the best, and its surroundings are avoided.
        constraint : float, default=None
            What was found only by the evaluation, and must be <= 0 for the
            configuration to be the best; nan where it could not be computed. None:
            nothing is known. Once a constraint has been told, trials without one are
            never the best.

        Raises
        ------
        TypeError, ValueError
            If ``params`` are not a configuration of the space, or the value is no
            number.
        """
        value = float_of("value", value)
        if isinstance(constraint, bool | np.bool_):
            raise TypeError(
                "'constraint' must be a number, which is <= 0 where the configuration "
                f"is allowed, got {constraint!r}"
            )
        if constraint is not None:
            constraint = float_of("constraint", constraint)
        own, point = self._settle(params)
        n = len(self._trials)
        if n == len(self._points):
            room = max(2 * n, 64)
            self._points = np.resize(self._points, (room, self._points.shape[1]))
            self._values = np.resize(self._values, room)
            self._constraints = np.resize(self._constraints, room)
        self._points[n], self._values[n] = point, value
        self._constraints[n] = as_number(constraint)
        self._is_constrained |= constraint is not None
        self._trials.append(Trial(own, value, constraint))
        self._seen.add(point.tobytes())
        with single_threaded():
            self._method.observe(point, value, constraint)

    def predict(self, points: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return what the surrogate expects; nothing changes by asking.

        Parameters
        ----------
        points : array-like of shape (n, d)
            Configurations, as ``space.encode`` gives them. Constraints are not looked
            at.

        Returns
        -------
        mean : ndarray of shape (n,)
            Expected values, lower is better. To the surrogate a failure is as bad as
            the worst value told.
        std : ndarray of shape (n,)
            Standard deviations of the expectation, without the noise of a single
            evaluation; nan with ``method="paper"``, which has none.

        Raises
        ------
        ValueError
            While no finite value has been told.
        """
        self._require_a_value()
        canonical = self.space.canonical(np.atleast_2d(np.asarray(points, float)))
        with single_threaded():
            return self._method.predict(self._history(), canonical)

    def _canonical(self, params: Mapping[str, object]) -> FloatArray:
        return self.space.canonical(self.space.encode(params))

    def _pending_at(self, point: FloatArray, params: Params) -> _Pending:
        return _Pending(params, self._originals.restored(params), point)

    def _own(self, params: Mapping[str, object], point: FloatArray) -> Params:
        """Return params with declared objects, and reals without the dust of steps."""
        declared, codes = self.space.decode(point), self.space.to_codes(params)
        reals = {name: code for name, code in codes.items() if isinstance(code, float)}
        return {
            name: value if isinstance(value, _KEPT) else declared[name]
            for name, value in params.items()
        } | reals

    def _settle(self, params: Mapping[str, object]) -> tuple[Params, FloatArray]:
        """Return ``params`` and their point, no longer pending if they were."""
        for i, pending in enumerate(self._pending):
            same = pending.given.keys() == params.keys()
            if same and all(pending.given[k] is params[k] for k in params):
                self._pending.pop(i)
                return pending.params, pending.point
        point = self._canonical(params)
        for i, pending in enumerate(self._pending):
            # equal values declared twice share their encoding, not their point
            if (self._canonical(pending.params) == point).all():
                point = self._pending.pop(i).point
                break
        return self._own(params, point), point

    # --- proposing ------------------------------------------------------------

    def _history(self) -> History:
        n = len(self._trials)
        pending = [pending.point for pending in self._pending]
        return History(
            self._points[:n],
            self._values[:n],
            np.array(pending).reshape(len(pending), self.space.domain.d),
            self._seen,
            self._constraints[:n] if self._is_constrained else None,
        )

    def _propose(self) -> FloatArray:
        if not self._method.may_repeat and len(self._seen) >= self.space.cardinality:
            raise self._exhausted()
        history = self._history()
        known = len(history.values) + len(history.pending)
        if known < self.n_initial_points:
            point = np.asarray(self._design[known])
        elif history.is_flat:
            return self._random_point()
        else:
            point = self._method.propose(history, self._rng)
        new = self._method.may_repeat or point.tobytes() not in self._seen
        if new and self.space.feasible(point):
            return point
        return self._random_point()

    def _random_point(self) -> FloatArray:
        """Draw a feasible configuration, a new one unless it may repeat."""
        for _ in range(NOVEL_TRIES):
            point = self.space.sample_point(self._rng)
            if self._method.may_repeat or point.tobytes() not in self._seen:
                return point
        domain = self.space.domain
        real = np.arange(domain.d) >= domain.d - domain.n_real
        for setting in self.space.settings():
            drawn = np.where(real, domain.sample(self._rng), setting)
            point = self.space.canonical(drawn)
            if point.tobytes() not in self._seen and self.space.feasible(point):
                return point
        raise self._exhausted()

    def _exhausted(self) -> SpaceExhaustedError:
        if math.isinf(self.space.cardinality):
            return SpaceExhaustedError(
                f"No configuration was found beside the {len(self._seen)} that have "
                "been proposed: almost none satisfies the constraints."
            )
        return SpaceExhaustedError(
            f"All {len(self._seen)} configurations of the space have been proposed."
        )
