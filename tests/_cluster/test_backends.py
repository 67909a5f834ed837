"""Where fits are to run, as joblib says; and what is done with a cluster."""

import _thread
import contextlib
import sys
import threading
import time
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait

import pytest
from joblib import parallel_config
from made_up import NoMachine

from sklearn_mvrsm._cluster import backends
from sklearn_mvrsm._cluster.backends import (
    BackendCluster,
    DaskCluster,
    Lost,
    RayCluster,
    _run_on_dask,
    _run_on_ray,
    active_cluster,
)

PATIENCE = 60.0


class EightSlots(NoMachine):
    """A cluster as joblib sees it."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.log = []

    def effective_n_jobs(self, n_jobs):
        return 8

    def start_call(self):
        self.log.append("start")

    def stop_call(self):
        self.log.append("stop")

    def abort_everything(self, ensure_ready=True):
        self.log.append("abort")

    def terminate(self):
        self.log.append("terminate")


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_the_backends_of_one_machine_are_no_cluster(backend):
    with parallel_config(backend, n_jobs=2):
        assert active_cluster(None) is None
        assert active_cluster(2) is None


@pytest.mark.parametrize(
    ("n_jobs", "n_slots"), [(None, 8), (-1, 8), (-3, 6), (-20, 1), (3, 3), (20, 8)]
)
def test_a_number_of_jobs_is_a_number_of_slots_of_the_cluster(n_jobs, n_slots):
    with parallel_config(EightSlots()):
        assert active_cluster(n_jobs).n_slots == n_slots
    with parallel_config(EightSlots(), n_jobs=4):
        wanted = 4 if n_jobs is None else n_slots
        assert active_cluster(n_jobs).n_slots == wanted


@pytest.mark.parametrize("n_jobs", [None, -2, 4])
def test_a_cluster_that_has_no_machine_yet_has_a_slot(n_jobs, monkeypatch):
    monkeypatch.setattr(EightSlots, "effective_n_jobs", lambda self, n_jobs: 0)
    with parallel_config(EightSlots()):
        assert active_cluster(n_jobs).n_slots == 1


def test_one_job_stays_on_this_machine():
    with parallel_config(EightSlots()):
        assert active_cluster(1) is None
    with parallel_config(EightSlots(), n_jobs=1):
        assert active_cluster(None) is None


def test_no_job_is_refused():
    with parallel_config(EightSlots()), pytest.raises(ValueError, match="n_jobs"):
        active_cluster(0)


def divide(liveness, a, b):
    """Return what can be learned of a task and its search, and a quotient."""
    return liveness.is_cancelled(), liveness.is_over(), a // b


def test_a_backend_is_used_from_open_to_close():
    backend = EightSlots()
    found = []
    with parallel_config(backend):
        cluster = active_cluster(3)
        assert isinstance(cluster, BackendCluster)
        cluster.open()
        cluster.submit(divide, (7, 2), found.append)
        cluster.submit(divide, (7, 0), found.append)
        cluster.cancel(None)
        cluster.close()
    assert found[0] == (False, None, 3)
    assert isinstance(found[1], Lost)
    assert isinstance(found[1].error, ZeroDivisionError)
    assert backend.log == ["start", "abort", "stop", "terminate"]


def test_a_cluster_that_cannot_be_opened_is_let_go():
    class Broken(EightSlots):
        def start_call(self):
            raise TimeoutError

    backend = Broken()
    with parallel_config(backend):
        cluster = active_cluster(3)
        with pytest.raises(TimeoutError):
            cluster.open()
    assert backend.log == ["terminate"]


# ------------------------------------------------------------------ dask


class Key(Future):
    """A future of dask."""

    def __init__(self, key):
        super().__init__()
        self.key = key


class Client:
    """A client of dask: tasks end when they are told to."""

    def __init__(self):
        self.status = "running"
        self.log = []
        self.markers = []

    def scatter(self, data, *, hash):
        assert not hash
        return ("scattered", data)

    def submit(self, fn, *args, **options):
        future = Key(f"key {len(self.log)}")
        if fn is int:
            self.markers.append(future)
        else:
            self.log.append((fn, args, options, future))
        return future

    def cancel(self, futures, *, force):
        assert force
        self.log.append(("cancelled", futures))


class DaskDistributedBackend(EightSlots):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.submit_kwargs = {"retries": 2}
        self.client = Client()


def test_dask_is_asked_through_its_client():
    backend = DaskDistributedBackend()
    found = []
    with parallel_config(backend):
        cluster = active_cluster(3)
        cluster.open()
        assert isinstance(cluster, DaskCluster)
        assert cluster.n_slots == 3
        assert cluster.share("data") == ("scattered", "data")
        for _ in range(4):
            handle = cluster.submit(max, (1, 2), found.append)
        calls = backend.client.log[:]
        (marker,) = backend.client.markers
        calls[0][-1].set_result(2)
        calls[1][-1].set_exception(ZeroDivisionError())
        calls[2][-1].cancel()
        cluster.cancel(handle)
        cluster.close()
    assert calls[0][:3] == (
        _run_on_dask,
        (marker.key, max, 1, 2),
        {"pure": False, "retries": 2},
    )
    assert found[0] == 2
    assert [type(lost.error) for lost in found[1:]] == [
        ZeroDivisionError,
        CancelledError,
    ]
    assert backend.client.log[-2:] == [
        ("cancelled", [handle]),
        ("cancelled", [marker, handle]),
    ]
    assert backend.log == []


def test_a_marker_that_is_lost_is_replaced():
    # A client that has lost its scheduler, and found it again, has no key any more.
    backend = DaskDistributedBackend()
    with parallel_config(backend):
        cluster = active_cluster(3)
        cluster.open()
        cluster.submit(max, (1, 2), print)
        (marker,) = backend.client.markers
        marker.cancel()
        cluster.submit(max, (1, 2), print)
        cluster.submit(max, (1, 2), print)
        cluster.close()
    keys = [args[0] for _, args, *_ in backend.client.log[:3]]
    assert keys == [marker.key, *[backend.client.markers[1].key] * 2]


def test_data_wait_until_a_machine_joins(monkeypatch):
    backend = DaskDistributedBackend()
    tries = []

    def scatter(data, *, hash):
        tries.append(data)
        if len(tries) == 3:
            return "scattered"
        backend.client.status = "running" if len(tries) < 4 else "closed"
        raise TimeoutError("No valid workers found")

    monkeypatch.setattr(backend.client, "scatter", scatter)
    with parallel_config(backend):
        cluster = active_cluster(3)
        assert cluster.share("data") == "scattered"
        with pytest.raises(ConnectionError, match="closed"):
            cluster.share("data")
    assert tries == ["data"] * 4


def test_a_client_that_is_closed_is_not_waited_for():
    backend = DaskDistributedBackend()
    with parallel_config(backend):
        cluster = active_cluster(3)
        cluster.open()
        backend.client.status = "closed"
        with pytest.raises(ConnectionError, match="closed"):
            cluster.submit(max, (1, 2), print)
        with pytest.raises(ConnectionError, match="closed"):
            cluster.share("data")
        backend.client.cancel = None  # whatever it is that cannot be done any more
        cluster.cancel(None)
        cluster.close()


def until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


seen = []
done = threading.Event()


def look_and_wait(liveness):
    """Note what can be learned of a task and its search; wait until ``done``."""
    seen.append((liveness, liveness.is_cancelled(), liveness.is_over()))
    done.wait(PATIENCE)


def test_a_task_of_dask_learns_what_becomes_of_it_and_of_its_search(monkeypatch):
    distributed = pytest.importorskip("distributed", reason="dask is not installed")
    monkeypatch.setattr(backends, "_RPC_TIMEOUT", PATIENCE)
    options = {"n_workers": 1, "threads_per_worker": 2, "dashboard_address": None}
    with (
        distributed.Client(processes=False, **options),
        contextlib.ExitStack() as last,
        parallel_config("dask"),
    ):
        last.callback(done.set)
        cluster = active_cluster(None)
        cluster.open()
        one = cluster.submit(look_and_wait, (), lambda _: None)
        cluster.submit(look_and_wait, (), lambda _: None)
        until(lambda: len(seen) == 2)
        cluster.cancel(one)
        tasks, *early = zip(*seen, strict=True)
        until(lambda: sum(task.is_cancelled() for task in tasks) == 1)
        assert [task.is_over() for task in tasks] == [False, False]
        cluster.close()
        until(lambda: all(task.is_cancelled() for task in tasks))
        assert [task.is_over() for task in tasks] == [True, True]
        with monkeypatch.context() as patch:
            patch.setattr(backends, "_RPC_TIMEOUT", 0.0)
            assert tasks[0].is_over() is None
    assert early == [(False, False), (False, False)]
    assert tasks[0].is_over()  # whatever its search does: the worker is closed
    assert tasks[0].is_cancelled()


# ------------------------------------------------------------------ ray


class Task:
    def __init__(self, ray, fn):
        self.ray = ray
        self.fn = fn

    def options(self, **options):
        self.ray.log.append(("options", options))
        return self

    def remote(self, *args):
        reference = Reference(args)
        self.ray.log.append((self.fn, reference))
        return reference


class Reference:
    def __init__(self, args):
        self.args = args
        self.result = Future()

    def future(self):
        return self.result


class Ray:
    """The part of ray that is used."""

    def __init__(self):
        self.log = []

    def is_initialized(self):
        return bool(self.log)

    def init(self):
        self.log.append("init")

    def cluster_resources(self):
        return {"CPU": 8.0}

    def put(self, data):
        return ("put", data)

    def remote(self, fn):
        return Task(self, fn)

    def cancel(self, task):
        self.log.append(("cancelled", task))

    def wait(self, references, *, timeout):
        assert timeout == 0
        done = [each for each in references if each.result.done()]
        return done, [each for each in references if each not in done]


class RayBackend(EightSlots):
    ray_remote_args = None


@pytest.fixture
def ray(monkeypatch):
    ray = Ray()
    monkeypatch.setitem(sys.modules, "ray", ray)
    return ray


@pytest.mark.parametrize(
    ("options", "n_slots"),
    [(None, 8), ({"num_cpus": 2}, 4), ({"num_cpus": 0}, 8), ({"num_cpus": 0.5}, 16)],
)
def test_slots_of_ray_have_the_cores_that_they_ask_for(ray, options, n_slots):
    backend = RayBackend()
    backend.ray_remote_args = options
    with parallel_config(backend):
        assert active_cluster(None).n_slots == n_slots
    assert ray.log == ["init"]


def test_ray_is_asked_for_tasks_of_its_own(ray):
    found = []
    with parallel_config(RayBackend()):
        cluster = active_cluster(2)
        cluster.open()
        assert isinstance(cluster, RayCluster)
        assert cluster.share("data") == ("put", "data")
        handles = [cluster.submit(max, (1, 2), found.append) for _ in range(3)]
        handles[0].result.set_result(2)
        handles[1].result.set_exception(ZeroDivisionError())
        cluster.cancel(handles[2])
        cluster.close()
    assert ray.log[1] == ("options", {"num_cpus": 0, "max_retries": -1})
    marker = ray.log[2][1]
    assert ray.log[3] == ("options", {"num_cpus": 1})
    assert ray.log[4] == (_run_on_ray, handles[0])
    assert handles[0].args == ([marker], max, 1, 2)
    assert found[0] == 2
    assert isinstance(found[1], Lost)
    assert [entry[1] for entry in ray.log if entry[0] == "cancelled"] == [
        handles[2],
        marker,
        handles[2],
    ]


def test_a_task_of_ray_learns_what_becomes_of_it_and_of_its_search(ray, monkeypatch):
    marker = Reference(())
    waits = threading.Event()

    def note_and_wait(*args):
        waits.set()
        return wait(*args)

    def look(liveness, result):
        assert waits.wait(PATIENCE)
        assert not liveness.is_cancelled()
        assert not liveness.is_over()
        marker.result.set_result(None)
        assert liveness.is_over()
        ray.wait = None  # it has ended in this process
        assert liveness.is_over()
        _thread.interrupt_main()  # as ray does
        until(liveness.is_cancelled)
        return result

    monkeypatch.setattr(backends, "wait", note_and_wait)
    assert _run_on_ray([marker], look, 3) == 3


def test_a_task_of_ray_may_be_interrupted_before_it_begins(monkeypatch):
    def interrupted(self, fn, liveness):
        ended.append(ThreadPoolExecutor.submit(self, until, liveness.is_cancelled))
        raise KeyboardInterrupt

    ended = []
    executor = type("Executor", (ThreadPoolExecutor,), {"submit": interrupted})
    monkeypatch.setattr(backends, "ThreadPoolExecutor", executor)
    with pytest.raises(KeyboardInterrupt):
        _run_on_ray([], print)
    assert ended[0].done()


def test_what_a_task_of_ray_raises_is_raised(ray):
    with pytest.raises(TimeoutError, match="its own"):
        _run_on_ray([], raise_timeout)


def raise_timeout(liveness):
    raise TimeoutError("its own")
