"""What failed in a search, in words: warnings at its end."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.exceptions import FitFailedWarning

from sklearn_mvrsm._evaluation import ENDING_STATUSES, Candidate
from sklearn_mvrsm._execution import shortened
from sklearn_mvrsm._search.results import any_score, count_non_finite
from sklearn_mvrsm._warnings import warn

__all__ = [
    "describe_failures",
    "message_of",
    "no_candidate_in_time",
    "warn_of_failures",
]


_MAX_KINDS_SHOWN = 5
_MAX_CHARACTERS = 2000
"""Of one kind; what is longer is cut in the middle."""

_FRAMES = re.compile(r'(?:^  File ".*\n(?:    .*\n)*)+', re.MULTILINE)
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]+")
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")

_VERBS_AND_ADVICE = {
    "timeout": (
        "timed out",
        "Raise 'fit_timeout', or keep what takes longer out of the space.",
    ),
    "out_of_memory": (
        "ran out of memory",
        "Raise 'fit_memory_limit' if there is one, lower 'n_jobs', or keep what needs "
        "more out of the space.",
    ),
    "crashed": (
        "crashed",
        "Look for the cause in the standard error output, or try one of these "
        "candidates by itself.",
    ),
}


@dataclass(frozen=True)
class _Kind:
    """Fits that failed in the same way."""

    status: str
    errors: Sequence[str]
    unit: str

    @classmethod
    def all_of(cls, failures: Iterable[tuple[str, str]], unit: str) -> list[Self]:
        """Group pairs of a status and an error; the most frequent kind comes first."""
        groups: dict[tuple[str, str], list[str]] = {}
        for status, error in failures:
            template = _NUMBER.sub("#", message_of(error))
            groups.setdefault((status, template), []).append(error)
        kinds = [cls(status, errors, unit) for (status, _), errors in groups.items()]
        return sorted(kinds, key=lambda kind: -len(kind.errors))

    def __str__(self) -> str:
        count, text = len(self.errors), self._text()
        if self.status not in _VERBS_AND_ADVICE:
            return f"{count} {self.unit}s failed with the following error:\n{text}"
        verb, advice = _VERBS_AND_ADVICE[self.status]
        end = "\n" if "\n" in text else ". "
        return f"{count} {self.unit}s {verb}: {text}{end}{advice}"

    def _text(self) -> str:
        """Return the error, with the range of each number that differs."""
        messages = list(dict.fromkeys(message_of(error) for error in self.errors))
        columns = zip(*(_NUMBER.findall(each) for each in messages), strict=True)
        ranges = iter([_range(column) for column in columns])
        text = _NUMBER.sub(lambda _: next(ranges), messages[0])
        for frames in _FRAMES.findall(self.errors[0]):
            text = text.replace(_NO_FRAMES, frames, 1)
        return shortened(text, _MAX_CHARACTERS)


_NO_FRAMES = "\0"


def message_of(error: str) -> str:
    """Return an error without addresses, and a mark where a traceback has frames."""
    return _ADDRESS.sub("0x...", _FRAMES.sub(_NO_FRAMES, error))


def _range(numbers: Sequence[str]) -> str:
    low, high = min(numbers, key=float), max(numbers, key=float)
    return low if len(set(numbers)) == 1 else f"{low} to {high}"


def describe_failures(
    candidates: Sequence[Candidate], error_score: object, unit: str = "fit"
) -> str:
    """Count the fits that failed, by kind, with their reasons.

    Parameters
    ----------
    candidates : sequence of Candidate
        The evaluated candidates.
    error_score : object
        Stands for their scores.
    unit : str
        What failed; it is "evaluation" for a function.

    Returns
    -------
    str
        The wording is that of ``GridSearchCV``, followed by a summary of each kind.
        Empty where none failed.
    """
    statuses = Counter(fold.status for c in candidates for fold in c.folds)
    statuses.pop("skipped", None)
    n_fits = statuses.total()
    n_failed = n_fits - statuses.pop("ok", 0)
    if n_failed == 0:
        return ""
    can_raise = "error" in statuses
    if unit != "fit":
        text = f"\n{n_failed} of {n_fits} {unit}s failed."
    elif any_score(candidates):
        text = (
            f"\n{n_failed} fits failed out of a total of {n_fits}.\nThe score on these "
            f"train-test partitions for these parameters will be set to {error_score}."
        )
        if can_raise:
            text += (
                "\nIf these failures are not expected, you can try to debug them by "
                "setting error_score='raise'."
            )
    else:
        text = f"\nAll the {n_failed} fits failed."
        if can_raise:
            text += (
                "\nIt is very likely that your model is misconfigured.\nYou can try to "
                "debug the error by setting error_score='raise'."
            )
    kinds = ", ".join(f"{n} {status}" for status, n in statuses.most_common())
    details = _details(candidates, unit)
    return f"{text}\nBy kind: {kinds}{_skipped(candidates)}.\n\n{details}"


def _skipped(candidates: Sequence[Candidate]) -> str:
    """Count the fits that were skipped since another one of the candidate failed."""
    ended = [c for c in candidates if c.status in ENDING_STATUSES]
    n_skipped = sum(fold.status == "skipped" for c in ended for fold in c.folds)
    if n_skipped == 0:
        return ""
    return f" ({n_skipped} more fits of these candidates were skipped)"


def _details(candidates: Sequence[Candidate], unit: str) -> str:
    """Describe each kind, the most frequent first."""
    kinds = _Kind.all_of(
        (
            (fold.status, fold.error)
            for c in candidates
            for fold in c.folds
            if fold.error
        ),
        unit,
    )
    line = "-" * 80 + "\n"
    shown = [f"{line}{kind}" for kind in kinds[:_MAX_KINDS_SHOWN]]
    if len(kinds) > _MAX_KINDS_SHOWN:
        shown.append(f"{line}and {len(kinds) - _MAX_KINDS_SHOWN} other kinds.")
    return "Below are more details about the failures:\n" + "\n".join(shown)


def warn_of_failures(
    candidates: Sequence[Candidate], results: Mapping[str, Any], error_score: float
) -> None:
    """Warn of failures, scores that are not finite, and no feasible candidate.

    Parameters
    ----------
    candidates : sequence of Candidate
        Those that were finished, at least one.
    results : mapping
        Their ``cv_results_``.
    error_score : float
        Stands for the scores of failures.

    Raises
    ------
    ValueError
        If not a single fit gave a score.
    """
    failures = describe_failures(candidates, error_score)
    if not any_score(candidates):
        raise ValueError(failures)
    if failures:
        warn(failures, FitFailedWarning)
    for part, counts in count_non_finite(results).items():
        counted = ", ".join(
            f"{count} of {len(candidates)} means of {metric!r}"
            for metric, count in counts.items()
        )
        warn(f"One or more of the {part} scores are non-finite: {counted}.")
    _warn_of_infeasible(results)


def _warn_of_infeasible(results: Mapping[str, Any]) -> None:
    """Warn if there is a constraint that no candidate satisfies."""
    constraint = results.get("constraint")
    if constraint is None or (constraint <= 0.0).any():
        return
    known = constraint[constraint == constraint]
    least = "all are nan. Scores alone rank the candidates."
    if len(known):
        least = (
            f"the least of them is {known.min():.4g}. The candidate that violates it "
            "least ranks first. Search longer, or loosen the constraint."
        )
    warn(
        f"None of the {len(constraint)} candidates satisfies 'constraint', whose value "
        f"must be <= 0: {least}"
    )


def no_candidate_in_time(
    timeout: float | None, n_splits: int | None, log: Mapping[str, np.ndarray]
) -> TimeoutError:
    """Return the error of a search that finished no candidate: how far it came.

    A function has no splits.
    """
    unit, size = "fit", f"; a candidate is {n_splits} fits"
    advice = "Raise 'timeout' or 'n_jobs', or have fewer folds ('cv')."
    if n_splits is None:
        unit, size, advice = "evaluation", "", "Raise 'timeout'."
    ran = log["slot"] >= 0
    ended = ran & (log["status"] != "killed")
    text = (
        f"No candidate was finished within timeout={timeout} seconds, which "
        f"count from the start of the first {unit}{size}. "
    )
    if not ran.any():
        return TimeoutError(text + f"No {unit} had started, as no worker became ready.")
    start = float(log["start"][ran].min())
    text += f"The workers took {start:.1f} s to start, which is not part of it. "
    if ended.any():
        took = float((log["finish"] - log["start"])[ended][0])
        text += (
            f"{ended.sum()} {unit}s ended, the first of them took {took:.1f} s; what "
            "cannot end in time at their pace is not begun. "
        )
    else:
        text += f"No {unit} ended. "
    return TimeoutError(text + advice)
