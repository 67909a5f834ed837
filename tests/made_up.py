"""A backend of joblib and a cluster that are made up, for tests to disturb."""

import contextlib
import os
import threading
from concurrent.futures import CancelledError, Future
from pathlib import Path

from joblib.parallel import ParallelBackendBase, SequentialBackend

from sklearn_mvrsm._cluster.backends import Lost
from sklearn_mvrsm._cluster.host import HostReply, _call_with_path, run_on_host
from sklearn_mvrsm._execution.child import encode_task, run_encoded
from sklearn_mvrsm._execution.outcomes import Returned


def copies_of_data(folder, pids):
    """Return the copies of data in a folder, and those without a name in processes."""
    found = {str(path) for path in Path(folder).glob("sklearn-mvrsm-*")}
    for link in (link for pid in pids for link in Path(f"/proc/{pid}/fd").glob("*")):
        with contextlib.suppress(OSError):  # a file that was closed, a process gone
            file = os.readlink(link)
            if f"{folder}/sklearn-mvrsm-" in file:
                found.add(f"{file} of {link.parts[2]}")
    return found


class NoMachine(ParallelBackendBase):
    """A backend of somebody's, which runs calls where they are handed over."""

    supports_retrieve_callback = True

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.calls = []

    def effective_n_jobs(self, n_jobs):
        return 2

    def submit(self, func, callback=None):
        future = Future()
        try:
            future.set_result(func())
        except ZeroDivisionError as error:  # as dask does: the callback hears nothing
            future.set_exception(error)
        else:
            callback(future.result())
        self.calls.append(func)
        return future

    apply_async = submit  # its name before joblib 1.5

    def retrieve_result_callback(self, out):
        return out

    def get_nested_backend(self):
        return SequentialBackend(nesting_level=1), None


class MadeUp:
    """A cluster of ``n_slots`` threads.

    ``disturb(task_id, n_try, has_data)`` returns what a task gives instead of running,
    or None. ``path`` is where the data are written.
    """

    def __init__(self, n_slots=2, disturb=lambda *_: None, path=os.devnull):
        self.n_slots = n_slots
        self.disturb = disturb
        self.path = path
        self.tries = {}
        self.sent = []
        self.cancelled = []
        self.n_shared = 0
        self.running = self.most_running = 0
        self.opened = self.closed = False

    def open(self):
        self.opened = True

    def share(self, data):
        self.n_shared += 1
        data.tofile(self.path)
        return data[:]

    def submit(self, fn, args, on_done):
        assert fn is run_on_host
        _config, blob, timeout, *data = args
        task_id = on_done.args[0].task_id
        self.tries[task_id] = self.tries.get(task_id, 0) + 1
        self.sent.append((task_id, bool(data)))
        self.running += 1
        self.most_running = max(self.running, self.most_running)
        threading.Thread(
            target=self.work, args=(task_id, blob, timeout, data, on_done)
        ).start()
        return on_done

    def work(self, task_id, blob, timeout, data, on_done):
        found = self.disturb(task_id, self.tries[task_id], bool(data))
        if found is None:
            task = encode_task(_call_with_path, (self.path, blob))
            answer = run_encoded(task, timeout, None)
            place = f"here:{len(self.sent) % 2}"
            found = HostReply(place, Returned(answer), answer.elapsed)
        self.running -= 1
        on_done(found)

    def cancel(self, on_done):
        """Forget a task, as dask does: the caller hears of it at once."""
        self.cancelled.append(on_done.args[0].task_id)
        on_done(Lost(CancelledError()))

    def close(self):
        self.closed = True
