"""Slots that run one task at a time in a process that can be killed.

Each slot owns a worker: one process behind a loky executor of its own, so that a kill
or a crash costs exactly one task. A warm spare takes the place of a lost worker; it is
started once one was lost, or shortly before a running task comes to its deadline; with
a memory limit, which kills without notice, as soon as all slots have their worker.

Two kinds of thread meet here. The caller's thread owns the slots: it starts, kills and
replaces workers. The thread of an executor reports a finished task, and hands a worker
that is well the next task at once, so that it need not wait for the caller. What both
touch (queue, runs) is guarded by the pool's lock.

All times are those of ``time.monotonic``.
"""

import math
import time
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import Pipe
from typing import Any

from sklearn_mvrsm._outcomes import (
    Event,
    Outcome,
    OutOfMemory,
    Raised,
    Returned,
    TimedOut,
    attempt,
    memory_limit_problem,
)
from sklearn_mvrsm._pool import ReportingPool
from sklearn_mvrsm._process import WorkerProcess, encode_task
from sklearn_mvrsm._runs import Run, Task, setup_problem
from sklearn_mvrsm._spare import Spare

_MAX_FRESH_DEATHS = 2
"""So many processes in a row that die before their first task end the pool."""


@dataclass(eq=False)
class _Slot:
    index: int
    worker: WorkerProcess
    run: Run | None = None


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
        self._fresh_deaths = 0
        self._idle_deaths = 0  # since a task has ended
        self._was_ready = False  # whether any worker ever was
        self._reader, self._writer = Pipe(duplex=False)

    @property
    def free(self) -> int:
        """How many more tasks could start at once."""
        idle = sum(s.run is None and s.worker.is_ready for s in self._slots)
        return max(idle - len(self._queue), 0)

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
        fn: Callable[..., Any],
        *args: Any,
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

        A running task may go on for as long as a new worker would take to start: so a
        short one does not cost a process.
        """
        task = self._open.pop(task_id, None)
        latest = time.monotonic() + self._start_seconds
        with self._lock:
            if task is not None and task in self._queue:
                self._queue.remove(task)
                return True
            for slot in self._slots:
                run = slot.run
                if run is not None and run.task is task:
                    ends = latest if run.deadline is None else run.deadline
                    run.deadline = min(latest, ends)
        return False

    def close(self) -> None:
        """Kill all workers and their children, and wait until they are gone."""
        self._closed = True
        self._writer.close()  # workers that we lost track of end themselves
        self._reader.close()
        with self._lock:
            self._queue.clear()
        self._end_orphaned_groups()
        workers = [slot.worker for slot in self._slots]
        if self._spare.worker is not None:
            workers.append(self._spare.worker)
        for worker in workers:
            worker.kill()
        for worker in workers:
            worker.discard()
        for worker in [*workers, *self._discarded]:
            worker.join()
        self._spare.worker = None
        self._slots, self._discarded = [], []
        self._open.clear()

    # ------------------------------------------------------------ tasks on slots

    def _fill(self) -> None:
        """Give waiting tasks to idle slots; start the workers that are missing."""
        while len(self._slots) < min(self.n_workers, len(self._open)):
            self._slots.append(_Slot(len(self._slots), self._new_worker()))
        for slot in self._slots:
            if slot.worker.is_ready and not self._launch(slot):
                self._count_idle_death(slot.worker)
                self._replace(slot)
        if time.monotonic() >= self._spare_due():
            self._spare.worker = self._new_worker()

    def _launch(self, slot: _Slot) -> bool:
        """Start the next task, if any, on a ready worker; False if it died idle."""
        with self._lock:
            if not self._queue or slot.run is not None or self._closed:
                return True
            if not slot.worker.is_alive:
                return False
            task = self._queue.popleft()
            now = time.monotonic()  # not after: this thread may have to wait meanwhile
            try:
                future = slot.worker.run(task.blob, task.timeout, self._memory_limit)
            except BrokenProcessPool:  # it died this very moment
                self._queue.appendleft(task)
                return False
            deadline = None if task.timeout is None else now + task.timeout
            if self.first_start is None:
                self.first_start = now
            slot.run = run = Run(task, slot.worker, slot.index, now, deadline, future)
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
            if run.is_healthy():
                slot.run = None
                self._launch(slot)
            self._notes.put(run)

    def _stop_late_run(self) -> Event | None:
        """Kill the first run found past its deadline."""
        for slot in self._slots:
            with self._lock:
                run = slot.run
                now = time.monotonic()
                if run is None or run.deadline is None or now < run.deadline:
                    continue
                if run.future.done():
                    continue
                slot.run = None
            self._idle_deaths = 0
            self._replace(slot, just_died=True)
            killed = time.monotonic()
            limit = run.task.timeout
            if self._is_open(run.task) and limit is not None:
                return self._event(run, TimedOut(limit, killed - run.started), killed)
        return None

    def _end_orphaned_groups(self) -> None:
        """Kill what dead workers forked, for it keeps their death from being noticed.

        A death is reported by the end of a pipe, and forked processes hold it too.
        """
        for slot in self._slots:
            if slot.run is not None and slot.worker.has_exited:
                slot.worker.kill(just_died=True)

    def _read(self, note: _Note) -> Event | None:
        """Act on what a thread of an executor reported."""
        if isinstance(note, WorkerProcess):
            self._welcome(note)
            return None
        if isinstance(note, _Refusal):
            if not self._is_open(note.task):
                return None
            now = time.monotonic()
            del self._open[note.task.task_id]
            return Event(note.task.task_id, note.outcome, None, now, now)
        self._idle_deaths = 0
        outcome = note.outcome()
        slot = self._slots[note.slot]
        if slot.run is note:  # not healthy: still on its slot
            slot.run = None
            if note.worker_died():
                self._replace(slot, just_died=True)
        if not self._is_open(note.task):
            return None
        return self._event(note, outcome, note.finished)

    def _event_of(self, note: _Note) -> Event | None:
        """Return the event of a run that has ended."""
        if isinstance(note, Run) and self._is_open(note.task):
            return self._event(note, note.outcome(), note.finished)
        return None

    def _event(self, run: Run, outcome: Outcome, finished: float) -> Event:
        del self._open[run.task.task_id]
        return Event(run.task.task_id, outcome, run.slot, run.started, finished)

    def _look(self) -> Event | None:
        """Kill what is late, and what keeps a death from being noticed."""
        self._end_orphaned_groups()
        return self._stop_late_run()

    def _next_look(self) -> float:
        """When the next run is late, or a spare due."""
        ends = [run.deadline for run in self._runs()]
        return min([self._spare_due(), *(end for end in ends if end is not None)])

    def _runs(self) -> list[Run]:
        runs = [slot.run for slot in self._slots]
        return [run for run in runs if run is not None]

    # ------------------------------------------------------------ workers

    def _spare_due(self) -> float:
        """When to start a spare, once all slots have their worker."""
        if not all(slot.worker.is_ready for slot in self._slots):
            return math.inf
        # one that was cancelled may end by itself, and is no reason to start a process
        owed = [run.deadline for run in self._runs() if self._is_open(run.task)]
        return self._spare.due(owed, self._start_seconds)

    def _new_worker(self) -> WorkerProcess:
        worker = WorkerProcess(self._setup, self._env, self._reader)
        worker.ready.add_done_callback(lambda _: self._notes.put(worker))
        return worker

    def _welcome(self, worker: WorkerProcess) -> None:
        """Check that a worker was set up; give up if that keeps failing."""
        problem = setup_problem(worker)
        if problem is None:
            self._fresh_deaths, self._was_ready = 0, True
            self._start_seconds = time.monotonic() - worker.started
            return
        if worker is self._spare.worker and self._was_ready:
            self._spare.give_up()
            self._discard(worker)
            return
        slots = [slot for slot in self._slots if slot.worker is worker]
        if not slots:
            return
        self._fresh_deaths += 1
        once = problem.is_error and not self._was_ready  # as it would be each time
        if once or self._fresh_deaths >= _MAX_FRESH_DEATHS:
            raise RuntimeError(problem.told(self._fresh_deaths))
        self._replace(slots[0])

    def _count_idle_death(self, worker: WorkerProcess) -> None:
        """Give up if workers keep dying while they wait for a task."""
        self._idle_deaths += 1
        if self._idle_deaths > _MAX_FRESH_DEATHS * self.n_workers:
            raise RuntimeError(
                f"{self._idle_deaths} workers in a row died while they waited for a "
                f"task, the last one with {worker.how_it_ended()}."
            )

    def _replace(self, slot: _Slot, *, just_died: bool = False) -> None:
        """Put the spare, or a new worker, in the place of a slot's worker."""
        self._discard(slot.worker, just_died=just_died)
        spare = self._spare.take()
        if spare is not None and not spare.is_alive:
            self._discard(spare)
            spare = None
        slot.worker = self._new_worker() if spare is None else spare

    def _discard(self, worker: WorkerProcess, *, just_died: bool = False) -> None:
        worker.discard(just_died=just_died)
        self._discarded = [w for w in self._discarded if w.is_served] + [worker]


def _nothing() -> None:
    """Set nothing up."""
