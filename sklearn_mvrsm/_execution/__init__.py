"""Callables run in processes that can be killed.

``worker_pool`` decides when a task is late, ``process`` kills its process with all that
this has started (on Linux through ``reaper``). Where the caller itself is killed,
``reaper`` does so as a program of its own.
"""

from sklearn_mvrsm._execution.child import (
    WorkerMessage,
    decode,
    encode_task,
    pickled_exception,
    run_encoded,
)
from sklearn_mvrsm._execution.interrupts import Interrupts, deferred_interrupts
from sklearn_mvrsm._execution.outcomes import (
    Abandoned,
    Died,
    Outcome,
    OutOfMemory,
    Raised,
    Returned,
    TaskEnd,
    TimedOut,
    attempt,
    causes,
    copies_ended,
    memory_limit_problem,
    shortened,
    summary,
    to_outcome,
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
from sklearn_mvrsm._execution.watchdog import suspended_seconds
from sklearn_mvrsm._execution.worker_pool import WorkerPool

__all__ = [
    "MIN_MAPPED",
    "Abandoned",
    "Blocks",
    "Died",
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
    "TaskEnd",
    "TimedOut",
    "WorkerMessage",
    "WorkerPool",
    "attempt",
    "causes",
    "copies_ended",
    "decode",
    "deferred_interrupts",
    "encode_task",
    "memory_limit_problem",
    "pickled_exception",
    "read_payload",
    "remove_leftovers",
    "run_encoded",
    "shortened",
    "summary",
    "suspended_seconds",
    "to_outcome",
]
