"""Where fits are to run, as joblib says; and what is done with a cluster."""

from types import SimpleNamespace

import pytest
from joblib import parallel_config
from test_sklearn_compat import NoMachine

from sklearn_mvrsm._cluster import BackendCluster, Lost, active_cluster


class EightSlots(NoMachine):
    """A cluster as joblib sees it."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.client = SimpleNamespace(status="running")
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


def test_a_client_that_is_closed_is_not_waited_for():
    backend = EightSlots()
    with parallel_config(backend):
        cluster = active_cluster(3)
        cluster.open()
        backend.client.status = "closed"
        with pytest.raises(ConnectionError, match="closed"):
            cluster.submit(max, (1, 2), print)
        cluster.close()


def test_each_share_is_another_object():
    # A backend may know arrays by identity, and what it knew may be lost.
    cluster = BackendCluster(EightSlots(), -1)
    data = bytearray(b"abc")
    assert cluster.share(data) == data
    assert cluster.share(data) is not cluster.share(data)
