"""Callables run in processes that can be killed."""

from sklearn_mvrsm._execution.child import (
    Answer,
    decode,
    encode_task,
    portable,
    run_encoded,
)
from sklearn_mvrsm._execution.interrupts import Interrupts, heeded_interrupts
from sklearn_mvrsm._execution.outcomes import (
    Abandoned,
    Died,
    Event,
    Outcome,
    OutOfMemory,
    Raised,
    Returned,
    TimedOut,
    attempt,
    causes,
    copies_ended,
    describe,
    memory_limit_problem,
    shortened,
    summary,
)
from sklearn_mvrsm._execution.payload import (
    MIN_MAPPED,
    Blocks,
    PayloadCopy,
    PayloadFile,
    read_payload,
)
from sklearn_mvrsm._execution.pool import InlinePool, Pool, ReportingPool
from sklearn_mvrsm._execution.reaper import remove_leftovers
from sklearn_mvrsm._execution.watchdog import stood_still
from sklearn_mvrsm._execution.worker_pool import WorkerPool

__all__ = [
    "MIN_MAPPED",
    "Abandoned",
    "Answer",
    "Blocks",
    "Died",
    "Event",
    "InlinePool",
    "Interrupts",
    "OutOfMemory",
    "Outcome",
    "PayloadCopy",
    "PayloadFile",
    "Pool",
    "Raised",
    "ReportingPool",
    "Returned",
    "TimedOut",
    "WorkerPool",
    "attempt",
    "causes",
    "copies_ended",
    "decode",
    "describe",
    "encode_task",
    "heeded_interrupts",
    "memory_limit_problem",
    "portable",
    "read_payload",
    "remove_leftovers",
    "run_encoded",
    "shortened",
    "stood_still",
    "summary",
]
