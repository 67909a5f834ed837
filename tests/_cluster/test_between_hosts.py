"""A search and its cluster on two hosts: network namespaces joined by a cable.

Each host has an address of its own, and is reached by no other way. No packet leaves
the namespaces, which end with the test. All begin at once, as they mostly wait.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from estimators import Misbehaving
from joblib import parallel_config
from made_up import copies_of_data
from sklearn.datasets import load_iris

from sklearn_mvrsm import MVRSMSearchCV, Real

X, Y = load_iris(return_X_y=True)
TESTS = str(Path(__file__).parent.parent)
ENVIRONMENT = dict(os.environ)  # pytest writes to it while threads read
HERE, THERE = "198.51.100.1", "198.51.100.2"  # addresses for examples (RFC 5737)
SCHEDULER = f"tcp://{HERE}:8786"
A_MINUTE = 60.0
PATIENCE = 600.0

pytestmark = [
    pytest.mark.hosts,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning"),
    pytest.mark.filterwarnings("ignore:One or more of the test scores"),
]


def by_level(estimator, X, y):
    """Return a score that depends on the level."""
    return -((estimator.level - 0.3) ** 2)


def search(folder):
    """Search; the first fits wait until ``folder`` has a file "go"."""
    fitted = MVRSMSearchCV(
        Misbehaving(folder=str(folder)),
        {"level": Real(0.0, 1.0), "fault": ["wait_for_go", None, "own_error"]},
        initial_points=[{"level": 0.5, "fault": "wait_for_go"}],
        scoring=by_level,
        refit=False,
        n_iter=8,
        n_initial_points=4,
        cv=2,
        random_state=0,
    ).fit(X, Y)
    names = ["status", "mean_test_score", "split0_status", "split1_status", "params"]
    found = {name: list(fitted.cv_results_[name]) for name in names}
    return json.dumps({**found, "best": fitted.best_params_})


def search_on_cluster(folder):
    """Write down what a search finds; in a process of its own."""
    from distributed import Client

    with Client(SCHEDULER), parallel_config("dask"):
        found = search(folder)
    Path(folder, "part").write_text(found)
    Path(folder, "part").rename(Path(folder, "found"))


def ip(*words):
    """Run Debian's ``ip``."""
    ran = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if ran.returncode:
        raise OSError(f"'ip {' '.join(words)}' says: {ran.stderr.strip()}")
    return ran.stdout


def within(seconds, condition):
    """Wait until a condition holds, no longer than this."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


class Host:
    """A network namespace, with a folder for its temporary files."""

    def __init__(self, name, folder):
        self.name = name
        self.temp = folder / name
        self.temp.mkdir()
        self.started = []

    def start(self, *command):
        """Start Python there."""
        env = {
            **ENVIRONMENT,
            "TMPDIR": str(self.temp),
            "PYTHONPATH": os.pathsep.join([TESTS, *sys.path]),
            "PYTHONWARNINGS": "ignore",
        }
        words = ["ip", "netns", "exec", self.name, sys.executable, *command]
        with (self.temp / "log").open("a") as log:
            process = subprocess.Popen(words, env=env, stdout=log, stderr=log)
        self.started.append(process)

    def processes(self):
        """Return the numbers of all its processes."""
        for process in self.started:
            process.poll()  # no zombies
        return {int(word) for word in ip("netns", "pids", self.name).split()}

    def kill(self):
        """Kill all its processes."""
        while running := self.processes():
            for pid in running:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)
        for process in self.started:
            process.wait()

    def copies(self):
        """Return copies of the data."""
        return copies_of_data(self.temp, self.processes())


class Hosts:
    """The host of the search and of dask's scheduler, and that of the workers."""

    def __init__(self, folder):
        name = f"mvrsm-{os.getpid()}-{folder.name}"
        self.folder = folder / "shared"  # no cable is needed for it
        self.folder.mkdir()
        self.here = Host(f"{name}-a", folder)
        self.there = Host(f"{name}-b", folder)

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            for host in (self.here, self.there):
                ip("netns", "add", host.name)
                stack.callback(ip, "netns", "del", host.name)
                stack.callback(host.kill)
                ip("-n", host.name, "link", "set", "lo", "up")
            peer = ("type", "veth", "peer", "name", "cable", "netns", self.there.name)
            ip("-n", self.here.name, "link", "add", "cable", *peer)
            for host, address in ((self.here, HERE), (self.there, THERE)):
                ip("-n", host.name, "addr", "add", f"{address}/30", "dev", "cable")
                ip("-n", host.name, "link", "set", "cable", "up")
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exc_info):
        self._stack.close()

    def cable(self, state):
        """Set the cable "up" or "down"."""
        ip("-n", self.here.name, "link", "set", "cable", state)

    def start_workers(self):
        self.there.start(
            *("-m", "distributed.cli.dask_worker", SCHEDULER, "--host", THERE),
            *("--nworkers", "2", "--nthreads", "1", "--no-dashboard"),
        )

    def start_search(self):
        """Start all, and wait until two fits wait for leave to go on."""
        self.here.start(
            *("-m", "distributed.cli.dask_scheduler", "--host", HERE),
            *("--port", "8786", "--no-dashboard"),
        )
        self.start_workers()
        script = "import sys, test_between_hosts as t; t.search_on_cluster(sys.argv[1])"
        self.here.start("-c", script, str(self.folder))
        within(PATIENCE, lambda: len(self.fits()) == 2)
        assert self.fits() <= self.there.processes()

    def fits(self):
        """Return the numbers of processes that have fitted."""
        return {int(name) for name in os.listdir(self.folder) if name.isdigit()}

    def are_clean(self):
        """Return whether no process that has fitted, and no data, is left there."""
        return not self.fits() & self.there.processes() and not self.there.copies()

    def found(self):
        """Wait for the result of the search, and until nothing is left of it."""
        (self.folder / "go").touch()
        within(PATIENCE, (self.folder / "found").exists)
        within(A_MINUTE, self.are_clean)
        return (self.folder / "found").read_text()


def cut_for_ten_seconds(hosts):
    """Return the result of a search whose fits end while the cable is cut."""
    fits = hosts.fits()
    hosts.cable("down")
    (hosts.folder / "go").touch()
    time.sleep(10.0)
    hosts.cable("up")
    found = hosts.found()
    assert hosts.fits() == fits  # none was begun again
    return found


def cut_for_good(hosts):
    """Return the result of a search that gets another host for one out of reach."""
    hosts.cable("down")
    within(A_MINUTE, hosts.are_clean)
    within(PATIENCE, lambda: not hosts.there.processes())
    hosts.cable("up")
    hosts.start_workers()
    return hosts.found()


def workers_gone(hosts):
    """Return the result of a search that gets another host for a dead one."""
    assert hosts.there.copies()
    hosts.cable("down")
    hosts.there.kill()
    assert not hosts.there.copies()
    time.sleep(10.0)
    hosts.cable("up")
    hosts.start_workers()
    return hosts.found()


def search_gone(hosts):
    """Return nothing: no process and no data are left where the search cannot be."""
    hosts.cable("down")
    hosts.here.kill()
    within(A_MINUTE, hosts.are_clean)
    within(PATIENCE, lambda: not hosts.there.processes())


STORIES = [cut_for_ten_seconds, cut_for_good, workers_gone, search_gone]


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What comes of each story, as futures."""
    pytest.importorskip("distributed", reason="dask is not installed")
    if shutil.which("ip") is None:
        pytest.skip("there is no 'ip', the command of Debian's iproute2")

    def tell(story, hosts):
        hosts.start_search()
        return story(hosts)

    with contextlib.ExitStack() as stack:
        executor = stack.enter_context(ThreadPoolExecutor(len(STORIES)))
        futures = {}
        for k, story in enumerate(STORIES):
            hosts = Hosts(tmp_path_factory.mktemp(f"hosts-{k}"))
            try:
                stack.enter_context(hosts)
            except OSError as error:
                pytest.skip(f"network namespaces cannot be made here: {error}")
            futures[story] = executor.submit(tell, story, hosts)
        yield futures


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """What the search finds on one machine."""
    folder = tmp_path_factory.mktemp("alone")
    (folder / "go").touch()
    with parallel_config("loky", n_jobs=2):
        return search(folder)


@pytest.mark.parametrize("story", STORIES[:3], ids=lambda story: story.__name__)
def test_a_search_finds_what_it_finds_on_one_machine(story, told, alone):
    assert told[story].result() == alone


def test_nothing_goes_on_where_the_search_is_gone(told):
    assert told[search_gone].result() is None
