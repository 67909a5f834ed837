"""The constraint of a search: a number of each candidate that must be <= 0."""

import contextlib
import inspect
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from numbers import Real
from typing import Any

from sklearn_mvrsm._evaluation import Candidate
from sklearn_mvrsm._search.results import format_results
from sklearn_mvrsm._space import copied

__all__ = ["Constraint"]


Row = Mapping[str, Any]


class Constraint:
    """Reads the number that must be <= 0 from the results of a candidate.

    Parameters
    ----------
    given : str or callable
        The name of a metric, or a function of a row of ``cv_results_``.
    return_train_score : bool
        Whether such a row has training scores.

    Raises
    ------
    TypeError
        If a callable does not take one argument.
    """

    def __init__(
        self, given: str | Callable[[Row], float], *, return_train_score: bool
    ) -> None:
        self._given = given
        self._return_train_score = return_train_score
        if callable(given) and not _takes_one(given):
            raise TypeError(
                "'constraint' must be the name of a metric or a function of one "
                f"argument, a dict with a candidate's row of results, got {given!r}"
            )

    def check_names(self, metrics: Collection[str], *, multimetric: bool) -> None:
        """Raise ValueError unless the constraint is one of several metrics.

        Parameters
        ----------
        metrics : collection of str
            Their names.
        multimetric : bool
            Whether they have names.
        """
        if callable(self._given) or (multimetric and self._given in metrics):
            return
        known = f"{list(metrics)}" if multimetric else "only one metric, without a name"
        raise ValueError(
            "'constraint' must name one of the metrics of 'scoring', or be a callable, "
            f"got {self._given!r}; 'scoring' has {known}"
        )

    def value(self, candidate: Candidate, metrics: Sequence[str]) -> float | None:
        """Return the number of a candidate.

        Parameters
        ----------
        candidate : Candidate
            Its folds are all decided.
        metrics : sequence of str
            Names of the metrics.

        Returns
        -------
        float or None
            nan if the candidate failed; None if it was pruned, which says nothing.
        """
        if candidate.is_pruned:
            return None
        if not callable(self._given):
            return candidate.mean_test_score(self._given)
        if candidate.status != "ok":
            return math.nan
        table = format_results(
            [candidate],
            metrics,
            error_score=math.nan,
            return_train_score=self._return_train_score,
        )
        try:
            return self.of_row(table, 0)
        except Exception as error:
            with contextlib.suppress(Exception):  # its class may not bear a note
                error.add_note(f"'constraint' raised this for {candidate.params}.")
            raise

    def of_row(self, results: Row, row: int) -> float:
        """Return the number of a row of ``cv_results_``, which has succeeded.

        Parameters
        ----------
        results : mapping
            The table.
        row : int

        Raises
        ------
        TypeError
            If a callable returns something else than a number.
        """
        if not callable(self._given):
            return float(_cell(results[f"mean_test_{self._given}"], row))
        cells = {
            name: _cell(results[name], row)
            for name in results
            if not str(name).startswith(("rank_test_", "param_"))
        }
        # a copy, which it may alter
        value = self._given({**cells, "params": copied(cells["params"], objects=False)})
        if not isinstance(value, Real) or isinstance(value, bool):
            raise TypeError(
                "'constraint' must return a number, which is <= 0 for a candidate that "
                f"is allowed, got {value!r}"
            )
        return float(value)

    def missing_column(self, results: Collection[str]) -> str | None:
        """Return the column that a table of results lacks to know the number."""
        column = f"mean_test_{self._given}"
        return None if callable(self._given) or column in results else column


def _cell(column: Any, row: int) -> Any:
    return column.iloc[row] if hasattr(column, "iloc") else column[row]


def _takes_one(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind({})
    except TypeError:
        return False
    except ValueError:  # it has no signature that Python can read
        return True
    return True
