"""The way from ConfigSpace to a space, and back."""

from collections.abc import Mapping
from typing import Any, Literal, Protocol, Self, overload

from sklearn_mvrsm._constraints import Constraint
from sklearn_mvrsm._default import Space, default_params

__all__ = ["ConfigSpaceMethods"]

Params = dict[str, Any]


class _Space(Space, Protocol):
    constraints: tuple[Constraint, ...]

    def sample(self, n: int, random_state: Any = None) -> list[Params]: ...


class ConfigSpaceMethods:
    """What a space has for those who have a ``ConfigurationSpace``."""

    @overload
    @classmethod
    def from_configspace(
        cls, cs: Any, *, return_default: Literal[False] = ...
    ) -> Self: ...

    @overload
    @classmethod
    def from_configspace(
        cls, cs: Any, *, return_default: Literal[True]
    ) -> tuple[Self, Params]: ...

    @classmethod
    def from_configspace(
        cls, cs: Any, *, return_default: bool = False
    ) -> Self | tuple[Self, Params]:
        """Translate a ``ConfigSpace.ConfigurationSpace``.

        Needs the library ConfigSpace (``pip install sklearn-mvrsm[configspace]``).

        Parameters
        ----------
        cs : ConfigSpace.ConfigurationSpace
            Uniform floats and integers (``log`` included), categories, ordinals and
            constants, with their default values; conditions; forbidden clauses.
        return_default : bool, default=False
            Whether to return the default configuration too.

        Returns
        -------
        space : SearchSpace
            Forbidden clauses are its constraints.
        default : dict of str to object
            Only where asked for: the default configuration.

        Raises
        ------
        ImportError
            If ConfigSpace is not installed.
        ValueError
            If something has no counterpart; the message names the hyperparameter: a
            prior or weights that are not uniform, a condition on a float, an "or"
            between conditions on different parents.

        Examples
        --------
        >>> from ConfigSpace import ConfigurationSpace, EqualsCondition
        >>> from sklearn_mvrsm import SearchSpace
        >>> cs = ConfigurationSpace({"kernel": ["linear", "rbf"], "gamma": (0.1, 1.0)})
        >>> cs.add(EqualsCondition(cs["gamma"], cs["kernel"], "rbf"))
        >>> SearchSpace.from_configspace(cs, return_default=True)
        (<SearchSpace: 2 parameters, 1 conditional>, {'kernel': 'linear'})
        """
        from sklearn_mvrsm._configspace_reader import default_of, read

        params, constraints = read(cs)
        build: Any = cls
        space = build(params, constraints=constraints)
        built: Self = space
        if not return_default:
            return built
        default: Params = space.decode(space.encode(default_of(cs)))
        return built, default

    def to_configspace(
        self: _Space, *, default: Mapping[str, Any] | None = None
    ) -> Any:
        """Translate into a ``ConfigSpace.ConfigurationSpace``.

        Needs the library ConfigSpace (``pip install sklearn-mvrsm[configspace]``).

        Parameters
        ----------
        default : mapping of str to object or None, default=None
            The configuration that becomes the default. None: the declared defaults,
            and ConfigSpace's choice where there is none. What a forbidden clause
            refuses is replaced by an allowed configuration.

        Returns
        -------
        ConfigSpace.ConfigurationSpace

        Raises
        ------
        ImportError
            If ConfigSpace is not installed.
        ValueError
            If something has no counterpart; the message names it: alternatives,
            values that ConfigSpace refuses, constraints that are functions.

        Examples
        --------
        >>> from sklearn_mvrsm import Integer, SearchSpace
        >>> space = SearchSpace({"depth": Integer(1, 9), "kind": ["a", "b"]})
        >>> cs = space.to_configspace(default={"depth": 3, "kind": "b"})
        >>> dict(cs.get_default_configuration())
        {'depth': 3, 'kind': 'b'}
        """
        from sklearn_mvrsm._configspace_writer import write

        if default is None and self.constraints:
            default = default_params(self) or self.sample(1, random_state=0)[0]
        if default is not None:
            self.encode(default)  # refuses what is no configuration
        return write(self.parameters, self.names, self.constraints, default or {})
