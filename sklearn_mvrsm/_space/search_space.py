"""The space of a search: named parameters on one side, points of a box on the other."""

import contextlib
import math
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sklearn_mvrsm._domain import BoolArray, Domain, FloatArray
from sklearn_mvrsm._space.conditions import Activity, Dimension
from sklearn_mvrsm._space.configspace import ConfigSpaceMethods
from sklearn_mvrsm._space.constraints import (
    Constraint,
    checked,
    described,
    infeasible,
    objection,
)
from sklearn_mvrsm._space.enumeration import count, walk
from sklearn_mvrsm._space.layout import Layout, lay_out
from sklearn_mvrsm._space.mapping import MappingMethods
from sklearn_mvrsm._space.values import generator_of, int_of

__all__ = ["SearchSpace"]


Params = dict[str, Any]

_TRIES = 10_000  # points drawn before a space is declared infeasible
_ALTERNATIVE = ""  # key under which codes tell the alternative; never a name


class SearchSpace(MappingMethods, ConfigSpaceMethods):
    """Named parameters, when they exist, and which combinations are forbidden.

    Parameters
    ----------
    params : dict, list of dict or SearchSpace
        A parameter for each name: :class:`Real`, :class:`Integer`,
        :class:`Ordinal`, :class:`Categorical`; a list, tuple, range or 1-d array
        (always categories); a frozen ``scipy.stats`` ``uniform``, ``loguniform``
        or ``randint``. Of several dicts, each is an alternative. An empty dict
        holds one configuration: the defaults.
    constraints : sequence of callable, default=()
        ``f(params) -> bool``, true where ``params`` (active parameters only) are
        allowed. They are added to those of a given ``SearchSpace``.

    Attributes
    ----------
    parameters : tuple of Dimension
        One for each coordinate of a point, in coordinate order.
    names : tuple of str
        Names of the parameters, each once, in the order of declaration.
    constraints : tuple of callable
        As given.
    domain : Domain
        The box of the points.

    Raises
    ------
    TypeError, ValueError
        If a name, a parameter, a condition or a constraint makes no sense; the
        message names it.

    Notes
    -----
    It is a mapping from names to parameters: ``space["C"]``, ``"C" in space``,
    ``space.items()``. ``space | {...}`` and :meth:`without` return a space that is
    changed. A space itself is not altered after it is built; clones of an estimator
    share it.

    Examples
    --------
    >>> from sklearn_mvrsm import Real, SearchSpace
    >>> space = SearchSpace(
    ...     {
    ...         "kernel": ["linear", "rbf"],
    ...         "gamma": Real(1e-4, 1.0, log=True).when(kernel="rbf"),
    ...     }
    ... )
    >>> space
    SearchSpace: 2 parameters, 1 conditional
      kernel  Categorical(['linear', 'rbf'])
      gamma   Real(0.0001, 1.0, log=True).when(kernel='rbf')
    >>> space.decode(space.encode({"kernel": "rbf", "gamma": 0.1}))
    {'kernel': 'rbf', 'gamma': 0.1}
    >>> space.decode(space.encode({"kernel": "linear"}))
    {'kernel': 'linear'}
    """

    __module__ = "sklearn_mvrsm"  # pickles name the public path

    def __init__(
        self,
        params: "Mapping[str, Any] | Sequence[Mapping[str, Any]] | SearchSpace",
        constraints: Sequence[Constraint] = (),
    ) -> None:
        self.constraints: tuple[Constraint, ...] = checked(constraints)
        self._layout: Layout
        if isinstance(params, SearchSpace):
            self.constraints = params.constraints + self.constraints
            self._layout = params._layout
        else:
            self._layout = lay_out(params)
        self.parameters: tuple[Dimension, ...] = self._layout.dimensions
        self.names: tuple[str, ...] = self._layout.names
        self.domain: Domain = self._layout.domain
        self._activity = Activity(self.parameters, self._layout.parents_first)

    @classmethod
    def from_any(cls, params: Any) -> "SearchSpace":
        """Return a ``SearchSpace`` as it is, and build one from anything else."""
        return params if isinstance(params, SearchSpace) else cls(params)

    def __sklearn_clone__(self) -> Self:
        """Return the same object in clones of an estimator."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what was declared: a pickle names no private class."""
        declared = self._layout.declared
        params = list(declared) if self._layout.is_choice else declared[0]
        return type(self), (params, self.constraints)

    # Named parameters -> points, and back

    def encode(self, params: Mapping[str, object]) -> FloatArray:
        """Return the canonical point of a configuration.

        Parameters
        ----------
        params : mapping of str to object
            A value for each active parameter and no others. Constraints are not
            looked at.

        Returns
        -------
        ndarray of shape (d,)
            Of several alternatives, the first that accepts the names and values. Of
            equal values of one parameter, the first.

        Raises
        ------
        ValueError
            For an unknown name, an active parameter without a value, a value for an
            inactive one, a value that is not offered.
        """
        if not isinstance(params, Mapping):
            raise TypeError(f"params must be a mapping, got {params!r}")
        reasons = []
        for alternative in range(len(self._layout.declared)):
            try:
                return self._encode(params, alternative)
            except ValueError as error:
                reasons.append(error)
        if len(reasons) == 1:
            raise reasons[0]
        listed = "; ".join(f"{k}: {reason}" for k, reason in enumerate(reasons))
        raise ValueError(
            f"params fit none of the {len(reasons)} alternatives. {listed}"
        )

    def _encode(self, params: Mapping[str, object], alternative: int) -> FloatArray:
        declared = self._layout.declared[alternative]
        coordinates = self._layout.coordinates[alternative]
        x = self.domain.neutral.copy()
        if self._layout.is_choice:
            x[0] = alternative
        for name, value in params.items():
            if name not in coordinates:
                raise ValueError(
                    f"Parameter {name!r} (={value!r}) is not in the space; its names "
                    f"are {sorted(coordinates)}"
                )
            try:
                number = declared[name].to_number(value)
            except ValueError as error:
                raise ValueError(f"Parameter {name!r} {error}") from None
            x[coordinates[name]] = number + 0.0  # no negative zero
        active = self._activity(x[np.newaxis])[0].tolist()
        for name, j in coordinates.items():
            if active[j] and name not in params:
                raise ValueError(
                    f"Parameter {name!r} must have a value, got only {sorted(params)}"
                )
            if name in params and not active[j]:
                raise ValueError(
                    f"Parameter {name!r} (={params[name]!r}) must be absent here: it "
                    f"exists only where {declared[name].condition_text} holds"
                )
        return x

    def decode(self, point: npt.ArrayLike) -> Params:
        """Return the configuration of a point.

        Parameters
        ----------
        point : array-like of shape (d,)
            Any numbers; what is no value's number becomes the nearest one.

        Returns
        -------
        dict of str to object
            Active parameters only: builtin ints and floats, and the very objects
            that were declared as categories.
        """
        x = self._stack(point)
        if len(x) != 1:
            raise ValueError(f"'point' must have shape (d,), got {np.shape(point)}")
        if np.isnan(x).any():
            raise ValueError(f"'point' must not have NaN, got {point!r}")
        x = self._layout.snap(x)
        return self._params(x[0], self._activity(x)[0])

    def _params(self, x: FloatArray, active: BoolArray) -> Params:
        numbers, exists = x.tolist(), active.tolist()
        alternative = int(numbers[0]) if self._layout.is_choice else 0
        coordinates = self._layout.coordinates[alternative]
        return {
            name: parameter.to_value(numbers[coordinates[name]])
            for name, parameter in self._layout.declared[alternative].items()
            if exists[coordinates[name]]
        }

    def to_codes(self, params: Mapping[str, object]) -> dict[str, int | float]:
        """Return a form of a configuration that JSON keeps exactly.

        Numbers stay, values of a :class:`Categorical` or :class:`Ordinal` become
        their place. Where there are alternatives, the key ``""`` tells which.
        """
        point = self.encode(params)
        alternative = int(point[0]) if self._layout.is_choice else 0
        declared = self._layout.declared[alternative]
        codes = {name: declared[name].to_code(value) for name, value in params.items()}
        if self._layout.is_choice:
            codes[_ALTERNATIVE] = alternative
        return codes

    def from_codes(self, codes: Any) -> Params:
        """Return the configuration that ``to_codes`` turned into ``codes``.

        Raises
        ------
        ValueError
            If they are not the codes of a configuration.
        """
        with contextlib.suppress(
            ArithmeticError, AttributeError, LookupError, TypeError
        ):
            declared = self._layout.declared[int(codes.get(_ALTERNATIVE, 0))]
            params = {
                name: declared[name].from_code(code)
                for name, code in codes.items()
                if name != _ALTERNATIVE
            }
            if self.to_codes(params) == codes:
                return params
        raise ValueError(f"no configuration has the codes {codes!r}")

    # What the optimiser asks about points

    def active(self, points: npt.ArrayLike) -> BoolArray:
        """Return which coordinates exist.

        Parameters
        ----------
        points : array-like of shape (d,) or (n, d)

        Returns
        -------
        ndarray of bool, same shape
        """
        x = self._stack(points)
        if self._activity.is_trivial:
            return np.ones(np.shape(points), dtype=np.bool_)
        return self._activity(self._layout.snap(x)).reshape(np.shape(points))

    def canonical(self, points: npt.ArrayLike) -> FloatArray:
        """Return the one point that stands for the configuration of each point.

        Coordinates become numbers of values; inactive ones rest at
        ``domain.neutral``. Two points are the same configuration if and only if
        their canonical points have equal bytes. Equal values that were declared
        twice are two configurations.

        Parameters
        ----------
        points : array-like of shape (d,) or (n, d)

        Returns
        -------
        ndarray, same shape
        """
        x = self._layout.snap(self._stack(points))
        if not self._activity.is_trivial:
            x = np.where(self._activity(x), x, self.domain.neutral)
        x += 0.0  # no negative zeros
        return x.reshape(np.shape(points))

    def _stack(self, points: npt.ArrayLike) -> FloatArray:
        x = np.atleast_2d(np.asarray(points, dtype=np.float64))
        if x.ndim != 2 or x.shape[1] != self.domain.d:
            raise ValueError(
                f"points must have shape (d,) or (n, d) with d={self.domain.d}, "
                f"got {np.shape(points)}"
            )
        return x

    def feasible(self, point: npt.ArrayLike) -> bool:
        """Return whether the configuration of a point of shape (d,) is allowed."""
        return self._objection(point) is None

    def _objection(self, point: npt.ArrayLike) -> Constraint | None:
        if not self.constraints:
            return None
        return objection(self.constraints, self.decode(point))

    def sample_point(self, rng: np.random.Generator) -> FloatArray:
        """Draw a canonical point that satisfies the constraints.

        Uniform over the domain, given the constraints.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of randomness, advanced.

        Returns
        -------
        ndarray of shape (d,)

        Raises
        ------
        InfeasibleSpaceError
            If none of 10 000 points satisfies the constraints.
        """
        objections: list[Constraint] = []
        for _ in range(_TRIES):
            point = self.canonical(self.domain.sample(rng))
            objector = self._objection(point)
            if objector is None:
                return point
            objections.append(objector)
        raise infeasible(objections)

    def sample(self, n: int, random_state: Any = None) -> list[Params]:
        """Draw configurations at random; the same one may come twice.

        Parameters
        ----------
        n : int
            How many, at least 0.
        random_state : int, Generator, RandomState or None, default=None
            Seed or source of randomness; None differs each time.

        Returns
        -------
        list of dict
        """
        if isinstance(random_state, np.random.RandomState):
            random_state = random_state.randint(2**31 - 1, size=4)
        n, rng = int_of("n", n, 0), generator_of(random_state)
        points = [self.sample_point(rng) for _ in range(n)]
        x = np.array(points).reshape(n, self.domain.d)
        return [self._params(*pair) for pair in zip(x, self._activity(x), strict=True)]

    # The space as a whole

    @cached_property
    def cardinality(self) -> int | float:
        """Number of configurations, constraints ignored; ``math.inf`` with reals.

        Exact up to 10,000, and without conditions; else the product of the numbers of
        values, which is an upper bound.
        """
        return count(self.parameters, self._layout.parents_first)

    def grid(self) -> Iterator[FloatArray]:
        """Iterate lazily over the canonical points of a finite space.

        Yields
        ------
        ndarray of shape (d,)
            Each configuration once, constraints ignored; what was declared last
            changes fastest.

        Raises
        ------
        ValueError
            If the space has reals.
        """
        if self.cardinality == math.inf:
            reals = [d.name for d in self.parameters if d.parameter.size == math.inf]
            raise ValueError(f"A space with reals has no grid, got {reals}")
        return self.settings()

    def settings(self) -> Iterator[FloatArray]:
        """Iterate lazily over the settings of all parameters but the reals.

        Yields
        ------
        ndarray of shape (d,)
            Each setting once, constraints ignored; reals are where they rest when they
            do not exist. The point is canonical in a space without them.
        """
        return walk(self.parameters, self._layout.parents_first, self.domain.neutral)

    def fingerprint(
        self, unread: MutableMapping[str, set[str]] | None = None
    ) -> dict[str, Any]:
        """Describe the space by plain data, equal for equal spaces in any session.

        Parameters
        ----------
        unread : mapping of str to set of str, optional
            Types whose objects cannot be told apart are added, by parameter.

        Returns
        -------
        dict
            Lists, dicts, strings and numbers only: each coordinate's name, kind,
            bounds or values, and conditions by position; constraints with names.
        """
        found = {} if unread is None else unread
        types = found.setdefault("constraints", set())
        return {
            "coordinates": [
                each.describe(found.setdefault(repr(each.name), set()))
                for each in self.parameters
            ],
            "constraints": described(self.constraints, types),
        }
