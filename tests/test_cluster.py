"""Where fits are to run, as joblib says; and what is done with a cluster."""

import sys
from concurrent.futures import CancelledError, Future
from types import SimpleNamespace

import pytest
from joblib import parallel_config
from made_up import NoMachine

from sklearn_mvrsm._cluster import (
    BackendCluster,
    DaskCluster,
    Lost,
    RayCluster,
    active_cluster,
)


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


def test_a_backend_is_used_from_open_to_close():
    backend = EightSlots()
    found = []
    with parallel_config(backend):
        cluster = active_cluster(3)
        assert isinstance(cluster, BackendCluster)
        cluster.open()
        cluster.submit(max, (1, 2), found.append)
        cluster.submit(divmod, (1, 0), found.append)
        cluster.close()
    assert found[0] == 2
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


class Client:
    """A client of dask: tasks end when they are told to."""

    def __init__(self):
        self.status = "running"
        self.log = []

    def scatter(self, data, *, hash):
        assert not hash
        return ("scattered", data)

    def submit(self, fn, *args, **options):
        future = Future()
        self.log.append((fn, args, options, future))
        return future

    def cancel(self, futures, *, force):
        assert force
        self.log.append(("cancelled", len(futures)))


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
            cluster.submit(max, (1, 2), found.append)
        calls = backend.client.log[:]
        calls[0][-1].set_result(2)
        calls[1][-1].set_exception(ZeroDivisionError())
        calls[2][-1].cancel()
        cluster.close()
    assert calls[0][:3] == (max, (1, 2), {"pure": False, "retries": 2})
    assert found[0] == 2
    assert [type(lost.error) for lost in found[1:]] == [
        ZeroDivisionError,
        CancelledError,
    ]
    assert backend.client.log[-1] == ("cancelled", 1)
    assert backend.log == []


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
        cluster.close()


# ------------------------------------------------------------------ ray


class Task:
    def __init__(self, ray, fn):
        self.ray = ray
        self.fn = fn

    def options(self, **options):
        self.ray.log.append(("options", options))
        return self

    def remote(self, *args):
        reference = SimpleNamespace(args=args, result=Future())
        self.ray.log.append((self.fn, reference))
        return Reference(reference.result)


class Reference:
    def __init__(self, result):
        self.result = result

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

    def cancel(self, task, *, force):
        assert force
        self.log.append(("cancelled", task))


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
        for _ in range(3):
            cluster.submit(max, (1, 2), found.append)
        calls = [entry for entry in ray.log if entry[0] is max]
        calls[0][1].result.set_result(2)
        calls[1][1].result.set_exception(ZeroDivisionError())
        cluster.close()
    assert calls[0][1].args == (1, 2)
    assert ray.log[1] == ("options", {"num_cpus": 1})
    assert found[0] == 2
    assert isinstance(found[1], Lost)
    assert [entry for entry in ray.log if entry[0] == "cancelled"] == [ray.log[-1]]
