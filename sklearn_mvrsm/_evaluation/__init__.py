"""The evaluation of candidates: one fit and one score a fold."""

from sklearn_mvrsm._evaluation.evaluator import Evaluator
from sklearn_mvrsm._evaluation.fold_fit import FitJob, FunctionJob, Job
from sklearn_mvrsm._evaluation.folds import FrozenFolds, Split, draw_folds
from sklearn_mvrsm._evaluation.scores import (
    ENDING_STATUSES,
    Candidate,
    FoldScore,
    ScoredFold,
    from_record,
    to_record,
)

__all__ = [
    "ENDING_STATUSES",
    "Candidate",
    "Evaluator",
    "FitJob",
    "FoldScore",
    "FrozenFolds",
    "FunctionJob",
    "Job",
    "ScoredFold",
    "Split",
    "draw_folds",
    "from_record",
    "to_record",
]
