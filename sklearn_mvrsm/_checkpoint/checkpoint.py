"""A search that goes on where it was ended: what its journal holds, and how to use it.

Nothing of the optimiser is stored. A resumed search asks for its candidates once more,
which takes milliseconds each, and is given the folds that had been finished instead of
fitting them; so it comes to the very state in which it was ended.

Where the optimiser proposes something else than the journal has (floating point rounds
differently on another machine or with another release), the search follows the journal
as far as that goes, with a warning, and goes on from there.
"""

import contextlib
import os
import platform
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields
from importlib.metadata import PackageNotFoundError, version

from sklearn_mvrsm._checkpoint.fingerprint import Decisive, fingerprint
from sklearn_mvrsm._checkpoint.journal import Journal, Record, differences
from sklearn_mvrsm._evaluation import FoldScore, Job, from_record, to_record
from sklearn_mvrsm._optimizer import Plan
from sklearn_mvrsm._space import SearchSpace
from sklearn_mvrsm._warnings import warn

__all__ = ["Checkpoint", "open_checkpoint"]


KIND = "sklearn-mvrsm checkpoint 2"

_MOST_SHOWN = 10  # differences named in a refusal


@contextlib.contextmanager
def open_checkpoint(
    path: str | os.PathLike[str] | None,
    decisive: Decisive,
    space: SearchSpace,
    job: Job,
    plan: Plan,
    *,
    n_iter: int | None,
    is_seeded: bool,
) -> "Iterator[Checkpoint | None]":
    """Open the checkpoint of a search; None if it has none.

    Parameters
    ----------
    path : str, path-like or None
        The file.
    decisive : Decisive
        Arguments of the search.
    space : SearchSpace
        What is searched.
    job : FitJob or FunctionJob
        What is to be run; nothing of it has been.
    plan : Plan
        Of this search, if it turns out to be the first on this checkpoint.
    n_iter : int or None
        Number of candidates of this search; None if the time decides.
    is_seeded : bool
        Whether the seed of the plan was chosen, so that it must be that of the file.

    Yields
    ------
    Checkpoint or None

    Raises
    ------
    OSError
        If it cannot be written.
    RuntimeError
        If another search is using it.
    ValueError
        If it is of another search, naming what differs, or of something else; if one
        of its lines is damaged, naming the line.
    """
    if path is None:
        yield None
        return
    unread: dict[str, set[str]] = {}
    header = {
        "search": fingerprint(decisive, space, job, unread),
        "plan": asdict(plan),
        "versions": _versions(),
    }
    with Journal(path, KIND, header) as journal:
        if journal.is_torn:
            warn(
                f"The last line of the checkpoint {journal.path!r} breaks off or is "
                "damaged, as after a crash in the middle of a write; it is dropped."
            )
        if not journal.is_new:
            _match(journal, header, is_seeded=is_seeded)
        _warn_of_unread(journal, unread)
        keep_errors = not job.raise_errors
        checkpoint = Checkpoint(journal, space, keep_errors=keep_errors)
        if not journal.is_new:
            # This also tells before the first fit whether there is room on the disk.
            journal.append({"resumed": {"n_iter": n_iter, **_versions()}})
        yield checkpoint


class Checkpoint:
    """Knows finished folds: reads those of the journal, and appends new ones.

    Parameters
    ----------
    journal : Journal
        Of this search.
    space : SearchSpace
        It turns params into codes.
    keep_errors : bool
        Whether a fit that raised counts as finished.

    Attributes
    ----------
    plan : Plan
        Of the first search on this journal.
    codes : dict of int to dict
        Codes of the params of each candidate that the journal knows.

    Raises
    ------
    ValueError
        If an entry is no record of a fold, or contradicts one before it.
    """

    def __init__(
        self, journal: Journal, space: SearchSpace, *, keep_errors: bool
    ) -> None:
        self._journal = journal
        self._space = space
        self._keep_errors = keep_errors
        self._codes_now: dict[int, Record] = {}
        self._folds: dict[int, dict[int, FoldScore]] = {}
        self.plan = _plan_of(journal)
        self.codes: dict[int, Record] = {}
        for index, entry in enumerate(journal.entries):
            if "resumed" in entry:
                continue
            try:
                self._learn(entry)
            except ValueError as error:
                raise journal.damaged(index, str(error)) from error

    def _learn(self, entry: Record) -> None:
        """Record a fold that was finished before; raise ValueError if it is wrong."""
        n_splits = self._journal.header["search"]["folds"]["number"]
        record = dict(entry)
        codes = record.pop("params", None)
        fold = from_record(record, n_splits)
        if fold.candidate not in self.codes:
            self._space.from_codes(codes)
        if self.codes.setdefault(fold.candidate, codes) != codes:
            raise ValueError(f"an earlier line has other params of {_named(fold)}")
        folds = self._folds.setdefault(fold.candidate, {})
        if fold.fold in folds:
            raise ValueError(f"an earlier line is of {_named(fold)} too")
        folds[fold.fold] = fold

    @property
    def has_score(self) -> bool:
        """Whether a fit of the journal has a score."""
        known = (fold for folds in self._folds.values() for fold in folds.values())
        return any(fold.test_scores for fold in known)

    def recall(
        self, candidate: int, params: Mapping[str, object]
    ) -> Mapping[int, FoldScore]:
        """Return the folds of a candidate that need not be fitted, by number.

        Parameters
        ----------
        candidate : int
            Its number.
        params : mapping
            Its parameters.
        """
        self._codes_now[candidate] = self._space.to_codes(params)
        return self._folds.get(candidate, {})

    def record(self, fold: FoldScore) -> None:
        """Write a fold that has just been finished, unless it ends the search.

        Parameters
        ----------
        fold : FoldScore
            Its candidate has been recalled.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        ends_the_search = fold.has_raised and not self._keep_errors
        if ends_the_search or fold.exception is not None:
            return
        params = self._codes_now[fold.candidate]
        self._journal.append({**to_record(fold), "params": params})

    def params(self, candidate: int) -> dict[str, object]:
        """Return the params of a candidate that the journal knows."""
        return self._space.from_codes(self.codes[candidate])

    def has_other(self, candidate: int, params: Mapping[str, object]) -> bool:
        """Return whether the journal has other params for a candidate than these."""
        known = self.codes.get(candidate)
        return known is not None and known != self._space.to_codes(params)


def _plan_of(journal: Journal) -> Plan:
    """Return the plan in the header of a journal, which is checked."""
    plan = journal.header.get("plan")
    names = {each.name for each in fields(Plan)}
    if not (isinstance(plan, dict) and plan.keys() == names):
        raise journal.damaged(-1, f"'plan' must have {sorted(names)}, got {plan!r}")
    return Plan(**plan)


def _named(fold: FoldScore) -> str:
    return f"candidate {fold.candidate}, fold {fold.fold}"


def _match(journal: Journal, header: Record, *, is_seeded: bool) -> None:
    """Refuse a journal of another search."""
    found = list(differences(journal.header.get("search"), header["search"]))
    seeds = [_plan_of(journal).random_state, header["plan"]["random_state"]]
    if is_seeded and seeds[0] != seeds[1]:
        found.append(f"random_state: it gives the seed {seeds[1]}, not {seeds[0]}")
    if not found:
        return
    shown = "\n- ".join(found[:_MOST_SHOWN])
    if len(found) > _MOST_SHOWN:
        shown += f"\n- and {len(found) - _MOST_SHOWN} more"
    hint = ""
    if any(each.startswith("folds, samples") for each in found):
        hint = "\nA splitter that shuffles gives the same folds if its seed is fixed."
    before, now = journal.header.get("versions"), header["versions"]
    other = sorted(set(before.items()) - set(now.items())) if before else []
    if other:
        begun = ", ".join(f"{name} {release}" for name, release in other)
        hint += f"\nThe checkpoint was begun with {begun}."
    raise ValueError(
        f"The checkpoint {journal.path!r} is of another search, and was left as it is. "
        f"These differ:\n- {shown}{hint}"
    )


def _warn_of_unread(journal: Journal, unread: Mapping[str, set[str]]) -> None:
    """Warn of objects whose state cannot be compared with that of another session."""
    named = [
        f"{name} ({', '.join(sorted(unread[name]))})" for name in unread if unread[name]
    ]
    if named:
        warn(
            f"The checkpoint {journal.path!r} cannot tell whether these are as they "
            "were when it was begun, as the state of their objects cannot be read:\n- "
            + "\n- ".join(named)
            + "\nIf one of them has changed, use another checkpoint. Objects that can "
            "be pickled can be told."
        )


def _versions() -> Record:
    """Return the installed versions, for readers of the file; they are not compared."""
    versions = {"python": platform.python_version()}
    for name in ("sklearn-mvrsm", "scikit-learn", "numpy", "scipy"):
        with contextlib.suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions
