"""Slots that run one task at a time in a process that can be killed.

Each slot owns a worker: one process behind a loky executor of its own, so that a kill
or a crash costs exactly one task. A warm spare takes the place of a lost worker, see
`Spare`. A task that is not wanted any more is killed once that frees its slot at once.

Two kinds of thread meet here. The caller's thread owns the slots: it starts, kills and
replaces workers. The thread of an executor reports a finished task, and hands a worker
that is well the next task at once, so that it need not wait for the caller. What both
touch (queue, runs) is guarded by the pool's lock.

All times are those of ``time.monotonic``.
"""

import math
import os
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from multiprocessing import Pipe

from sklearn_mvrsm._execution.child import encode_task
from sklearn_mvrsm._execution.outcomes import (
    Outcome,
    OutOfMemory,
    Raised,
    Returned,
    TaskEnd,
    TimedOut,
    attempt,
    memory_limit_problem,
)
from sklearn_mvrsm._execution.pool import ReportingPool
from sklearn_mvrsm._execution.process import LEAD, Spare, WorkerProcess, kill_all
from sklearn_mvrsm._execution.tasks import Run, Task, setup_failure
from sklearn_mvrsm._execution.watchdog import suspended_seconds, watchdog

_MAX_FRESH_DEATHS = 2
"""So many processes in a row that die before their first task end the pool."""


_LAST_MOMENT, _LONGEST_MOMENT = 0.05, 1.0
"""Seconds for an answer to arrive before a late task is killed: as long as it is found
late, within these bounds. The thread that reads it may not have had its turn."""

_MAX_REFUSALS, _RETRY_SECONDS = 30, 1.0
"""So often, and so far apart, the system may refuse a process where there is none."""


@dataclass(eq=False)
class _Slot:
    index: int
    worker: WorkerProcess | None = None  # None while none can be started
    run: Run | None = None

    @property
    def is_ready(self) -> bool:
        return self.worker is not None and self.worker.is_ready


@dataclass(frozen=True)
class _Refusal:
    """A task that cannot be sent to a process."""

    task: Task
    outcome: Raised | OutOfMemory


_Note = Run | _Refusal | WorkerProcess


class WorkerPool(ReportingPool[Task, _Note]):
    """Run tasks in killable processes, at most ``n_workers`` at a time.

    A pool that is not closed keeps the interpreter from ending.

    Parameters
    ----------
    n_workers : int
        Number of slots. A process is started when the first task needs it.
    setup : callable, optional
        Picklable, without arguments; called once in each process before the process
        counts as ready, so that imports are not charged to a task's time limit.
    env : mapping, optional
        Environment variables of the processes, added to the caller's.
    memory_limit : int, optional
        Bytes that one task may use on top of what its process uses already.
    keep_spare : bool
        Whether to have a spare worker ready, where one was lost or soon may be.

    Raises
    ------
    ValueError
        If ``n_workers`` is not positive, or the platform cannot enforce
        ``memory_limit``.
    """

    def __init__(
        self,
        n_workers: int,
        *,
        setup: Callable[[], object] | None = None,
        env: Mapping[str, str] | None = None,
        memory_limit: int | None = None,
        keep_spare: bool = True,
    ) -> None:
        if n_workers < 1:
            raise ValueError(f"'n_workers' must be >= 1, got {n_workers}")
        if memory_limit is not None and (problem := memory_limit_problem()):
            raise ValueError(
                f"'memory_limit' must be None here, got {memory_limit}: {problem}"
            )
        super().__init__(n_workers)
        self._setup = encode_task(_nothing if setup is None else setup, ())
        self._env = {} if env is None else dict(env)
        self._memory_limit = memory_limit
        self._slots: list[_Slot] = []
        self._discarded: list[WorkerProcess] = []
        self._spare = Spare(allowed=keep_spare, always=memory_limit is not None)
        self._start_seconds = 0.0
        self._n_refusals = 0
        self._retry_at = -math.inf
        self._fresh_deaths = 0
        self._idle_deaths = 0  # since a task has ended
        self._was_ready = False  # whether any worker ever was
        self._reader, self._writer = Pipe(duplex=False)
        self._pid = os.getpid()
        self._watchdog = watchdog().acquire()

    @property
    def n_running(self) -> int:
        """How many tasks run."""
        return len(self._runs())

    @property
    def start_seconds(self) -> float:
        """How long the last worker took to start."""
        return self._start_seconds

    def submit(
        self,
        task_id: Hashable,
        fn: Callable[..., object],
        *args: object,
        timeout: float | None = None,
    ) -> None:
        """Queue a task; it starts now if a slot is free. See `Pool.submit`."""
        if self._closed:
            raise RuntimeError("the pool is closed")
        if task_id in self._open:
            raise ValueError(f"task {task_id!r} is under way already")
        encoded = attempt(encode_task, (fn, args))
        blob = encoded.value if isinstance(encoded, Returned) else b""
        self._open[task_id] = task = Task(task_id, blob, timeout)
        if not isinstance(encoded, Returned):
            self._notes.put(_Refusal(task, encoded))
            return
        with self._lock:
            self._queue.append(task)
        self._fill()

    def cancel(self, task_id: Hashable) -> bool:
        """Drop a task. See `Pool.cancel`.

        A running task may go on until it has taken as long as a new worker takes to
        start, so that a short one does not cost a process; and then until a spare is
        ready, as its slot would be idle without one.
        """
        task = self._open.pop(task_id, None)
        with self._lock:
            if task is not None and task in self._queue:
                self._queue.remove(task)
                return True
            for slot in self._slots:
                run = slot.run
                if run is not None and run.task is task:
                    start = self._start_seconds
                    now = time.monotonic() - run.suspended
                    end = max(now, run.started + start)
                    run.patience_ends = end, end + LEAD * start
        return False

    def close(self) -> None:
        """Kill all workers and their children, and wait until they are gone."""
        if self._closed or os.getpid() != self._pid:
            return  # a process that was forked has no part in it
        self._closed = True
        with self._lock:
            self._queue.clear()
        self._notice_deaths()
        for run in self._runs():
            if not run.future.done():
                self.abandoned.append(run.abandoned(killed=True))
        workers = list(self._workers())
        kill_all(workers)
        self._writer.close()  # workers that we lost track of end themselves
        self._reader.close()
        for worker in workers:
            worker.discard()
        for worker in [*workers, *self._discarded]:
            worker.join()
        self._spare.workers = []
        self._slots, self._discarded = [], []
        self._open.clear()
        self._watchdog.release()

    # ------------------------------------------------------------ tasks on slots

    def _fill(self) -> None:
        """Start waiting tasks on idle slots, and the workers that are missing."""
        while len(self._slots) < min(self.n_workers, len(self._open)):
            self._slots.append(_Slot(len(self._slots)))
        self._start_missing()
        for slot in self._slots:
            if slot.is_ready and not self._launch(slot):
                self._count_idle_death(slot)
                self._replace(slot)
        if time.monotonic() >= self._spare_due():
            worker = self._new_worker()
            if worker is None:
                self._spare.give_up()
            else:
                self._spare.workers.append(worker)

    def _launch(self, slot: _Slot) -> bool:
        """Start the next task, if any, on a ready worker; False if it died idle."""
        with self._lock:
            if not self._queue or slot.run is not None or self._closed:
                return True
            worker = slot.worker
            if worker is None or not worker.is_alive:
                return False
            task = self._queue.popleft()
            now = time.monotonic()  # not after: this thread may have to wait meanwhile
            try:
                future = worker.run(task.blob, task.timeout, self._memory_limit)
            except Exception:  # it died this very moment, or there is no memory
                self._queue.appendleft(task)
                return False
            deadline = None if task.timeout is None else now + task.timeout
            self._note_start(now)
            slot.run = run = Run(task, worker, slot.index, now, deadline, future)
        future.add_done_callback(lambda _: self._on_done(slot, run))
        return True

    def _on_done(self, slot: _Slot, run: Run) -> None:
        """Note a finished run; in the executor's thread."""
        run.note_end()
        if self._closed:
            return
        with self._lock:
            if slot.run is not run:
                return  # killed by the caller's thread
            try:
                if run.is_healthy():
                    slot.run = None
                    self._launch(slot)
            finally:
                self._notes.put(run)

    def _stop_late_run(self) -> TaskEnd | None:
        """Kill the first run found past its deadline."""
        for slot in self._slots:
            with self._lock:
                run = slot.run
                if run is None:
                    continue
                late = time.monotonic() - run.kill_time(self._spare.is_ready)
                if late < 0.0 or run.future.done():
                    continue
                if self._is_open(run.task) and not run.was_late:
                    run.was_late = True
                    moment = min(max(late, _LAST_MOMENT), _LONGEST_MOMENT)
                    run.deadline = time.monotonic() - run.suspended + moment
                    continue
                slot.run = None
            self._idle_deaths = 0
            self._replace(slot, just_died=True)
            killed = time.monotonic()
            limit = run.task.timeout
            if self._is_open(run.task) and limit is not None:
                return self._event(run, TimedOut(limit, killed - run.started), killed)
            self.abandoned.append(run.abandoned(killed=True))
        return None

    def _notice_deaths(self) -> None:
        """Report deaths of workers, whoever holds the ends of their pipes."""
        for slot in self._slots:
            if slot.worker is not None:
                slot.worker.notice_death(just_died=slot.run is not None)
        for worker in self._spare.workers:
            worker.notice_death(just_died=False)

    def _read(self, note: _Note) -> TaskEnd | None:
        """Act on what a thread of an executor reported."""
        if isinstance(note, WorkerProcess):
            self._welcome(note)
            return None
        if isinstance(note, _Refusal):
            if not self._is_open(note.task):
                return None
            now = time.monotonic()
            del self._open[note.task.task_id]
            return TaskEnd(note.task.task_id, note.outcome, None, now, now)
        self._idle_deaths = 0
        outcome = note.outcome()
        slot = self._slots[note.slot]
        if slot.run is note:  # not healthy: still on its slot
            slot.run = None
            if note.worker_died():
                self._replace(slot, just_died=True)
        if not self._is_open(note.task):
            self.abandoned.append(note.abandoned(killed=False))
            return None
        if note.was_cut_short():
            with self._lock:
                self._queue.appendleft(note.task)
            return None
        return self._event(note, outcome, note.finished)

    def _end_of(self, note: _Note) -> TaskEnd | None:
        """Return the event of a run that has ended."""
        if not isinstance(note, Run) or note.was_cut_short():
            return None
        if self._is_open(note.task):
            return self._event(note, note.outcome(), note.finished)
        self.abandoned.append(note.abandoned(killed=False))
        return None

    def _event(self, run: Run, outcome: Outcome, finished: float) -> TaskEnd:
        del self._open[run.task.task_id]
        return TaskEnd(run.task.task_id, outcome, run.slot, run.started, finished)

    def _stop_overdue(self) -> TaskEnd | None:
        """Kill what is late, and what keeps a death from being noticed."""
        self._notice_deaths()
        return self._stop_late_run()

    def _next_deadline(self) -> float:
        """Return when the next run is late, or a spare due."""
        is_ready = self._spare.is_ready
        ends = [run.kill_time(is_ready) for run in self._runs()]
        return min([self._spare_due(), *ends])

    def _runs(self) -> list[Run]:
        runs = [slot.run for slot in self._slots]
        return [run for run in runs if run is not None]

    # ------------------------------------------------------------ workers

    def _spare_due(self) -> float:
        """Return when to start a spare, once all slots have their worker."""
        if not all(slot.is_ready for slot in self._slots):
            return math.inf
        ends = [run.kill_time(False) for run in self._runs()]
        return self._spare.due(ends, self._start_seconds)

    def _workers(self) -> Iterator[WorkerProcess]:
        yield from (slot.worker for slot in self._slots if slot.worker is not None)
        yield from self._spare.workers

    def _start_missing(self) -> None:
        """Start workers for slots without one; wait a little if the system refuses."""
        for slot in self._slots:
            if slot.worker is None and time.monotonic() >= self._retry_at:
                slot.worker = self._new_worker()

    def _new_worker(self) -> WorkerProcess | None:
        """Start a worker; return None where the system refuses it.

        Raise if it has refused one too often while there was none at all.
        """
        try:
            worker = WorkerProcess(self._setup, self._env, self._reader)
        except (OSError, MemoryError, RuntimeError) as error:
            if type(error) is RuntimeError and "new thread" not in str(error):
                raise
            self._n_refusals = 0 if any(self._workers()) else self._n_refusals + 1
            self._retry_at = time.monotonic() + _RETRY_SECONDS
            if self._n_refusals >= _MAX_REFUSALS:
                raise RuntimeError(
                    f"no worker could be started in {self._n_refusals} tries, the "
                    f"last one failed with {type(error).__name__}: {error}. "
                    "The system may have too many processes or too little memory."
                ) from error
            return None
        self._n_refusals = 0
        worker.ready.add_done_callback(lambda _: self._notes.put(worker))
        return worker

    def _welcome(self, worker: WorkerProcess) -> None:
        """Check that a worker was set up; give up if that keeps failing."""
        problem = setup_failure(worker)
        if problem is None:
            self._fresh_deaths, self._was_ready = 0, True
            self._start_seconds = (
                time.monotonic() - suspended_seconds() - worker.started
            )
            return
        if worker in self._spare.workers and self._was_ready:
            self._spare.give_up(worker)
            self._discard(worker)
            return
        slots = [slot for slot in self._slots if slot.worker is worker]
        if not slots:
            return
        self._fresh_deaths += 1
        once = problem.is_error and not self._was_ready  # as it would be each time
        if once or self._fresh_deaths >= _MAX_FRESH_DEATHS:
            raise RuntimeError(problem.message(self._fresh_deaths))
        self._replace(slots[0])

    def _count_idle_death(self, slot: _Slot) -> None:
        """Raise if workers keep dying while they wait for a task."""
        self._idle_deaths += 1
        worker = slot.worker
        assert worker is not None
        if self._idle_deaths > _MAX_FRESH_DEATHS * self.n_workers:
            raise RuntimeError(
                f"{self._idle_deaths} workers in a row died while they waited for a "
                f"task, the last one with {worker.how_it_ended()}."
            )

    def _replace(self, slot: _Slot, *, just_died: bool = False) -> None:
        """Put the spare, or a new worker, in the place of a slot's worker."""
        if slot.worker is not None:
            self._discard(slot.worker, just_died=just_died)
        slot.worker = self._spare.take()
        if slot.worker is not None and not slot.worker.is_alive:
            self._discard(slot.worker)
            slot.worker = None
        self._start_missing()

    def _discard(self, worker: WorkerProcess, *, just_died: bool = False) -> None:
        worker.discard(just_died=just_died)
        self._discarded = [w for w in self._discarded if w.is_served] + [worker]


def _nothing() -> None:
    """Set nothing up."""
