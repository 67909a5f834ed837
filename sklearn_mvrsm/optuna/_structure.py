"""Which parameters exist where, learned from the trials that ran to their end.

Objectives that are define-by-run never say on what a parameter depends; the values of
the others in the trials that have it, and in those that lack it, do.

Notation
--------
row      the plain parameters of a complete trial
present  for each name, the numbers of the rows that have it
"""

from collections.abc import Mapping, Sequence

from sklearn_mvrsm import Categorical, Integer, Real
from sklearn_mvrsm.optuna._axes import Plain

__all__ = ["Conditions", "learn_conditions"]

Conditions = tuple[tuple[str, Sequence[int]], ...]  # parent, its values; AND-ed
Rows = frozenset[int]


def learn_conditions(
    rows: Sequence[Plain], parameters: Mapping[str, Real | Integer | Categorical]
) -> dict[str, Conditions]:
    """Explain why parameters are absent from some rows.

    A parent is a category or an integer that is in all rows that have the child, and
    in others. A category's values are those seen together with the child; an integer's
    are an interval around those, as wide as the other rows allow. Parents are added,
    the one that explains most first, until each absence is explained.

    Parameters
    ----------
    rows : sequence of dict
    parameters : mapping of str to parameter

    Returns
    -------
    dict of str to tuple of (str, sequence of int)
        The conditions of each parameter, true of all rows, parents before children.
        What cannot be explained, or was never there, is left out.
    """
    present = {
        name: frozenset(k for k, row in enumerate(rows) if name in row)
        for name in parameters
    }
    learned: dict[str, Conditions] = {}
    for name in sorted(parameters, key=lambda name: (-len(present[name]), name)):
        if rows and not present[name]:
            continue
        parents = {
            parent: parameter
            for parent, parameter in parameters.items()
            if parent in learned and present[parent] > present[name]
        }
        conditions = _explain(rows, present[name], parents)
        if conditions is not None:
            learned[name] = conditions
    return learned


def _explain(
    rows: Sequence[Plain],
    present: Rows,
    parents: Mapping[str, Real | Integer | Categorical],
) -> Conditions | None:
    unexplained = frozenset(range(len(rows))) - present
    conditions: list[tuple[str, Sequence[int]]] = []
    while unexplained:
        found = [
            (explained, parameter, parent)
            for parent, parameter in parents.items()
            if not isinstance(parameter, Real)
            and (explained := _explained(rows, present, unexplained, parent, parameter))
        ]
        if not found:
            return None
        explained, parameter, parent = max(found, key=_rank)
        wanted = _wanted(rows, present, explained, parent, parameter)
        conditions.append((parent, wanted))
        unexplained -= explained
    return tuple(conditions)


def _rank(found: tuple[Rows, Integer | Categorical, str]) -> tuple[int, bool, int]:
    explained, parameter, _ = found
    return len(explained), isinstance(parameter, Categorical), -parameter.size


def _explained(
    rows: Sequence[Plain],
    present: Rows,
    unexplained: Rows,
    parent: str,
    parameter: Integer | Categorical,
) -> Rows:
    """Return the rows that lack the parent, or have it outside its values."""
    seen = {rows[k][parent] for k in present}
    if isinstance(parameter, Categorical):
        return frozenset(k for k in unexplained if rows[k].get(parent) not in seen)
    low, high = min(seen), max(seen)
    return frozenset(
        k
        for k in unexplained
        if parent not in rows[k] or not low <= rows[k][parent] <= high
    )


def _wanted(
    rows: Sequence[Plain],
    present: Rows,
    explained: Rows,
    parent: str,
    parameter: Integer | Categorical,
) -> Sequence[int]:
    seen = sorted({int(rows[k][parent]) for k in present})
    if isinstance(parameter, Categorical):
        return seen
    others = [int(rows[k][parent]) for k in explained if parent in rows[k]]
    low = max([value + 1 for value in others if value < seen[0]] + [parameter.low])
    high = min([value - 1 for value in others if value > seen[-1]] + [parameter.high])
    return range(low, high + 1)
