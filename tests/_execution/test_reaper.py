"""Whose files and processes are removed; test_faults has what it is for."""

import os
import shutil
import signal
import subprocess
import sys

import pytest

from sklearn_mvrsm._execution import reaper
from sklearn_mvrsm._execution.payload import PayloadFile

posix_only = pytest.mark.skipif(
    os.name != "posix", reason="folders have owners and locks there, as processes do"
)

# Leave a folder behind: die at once, and without the watchdog, or wait to be killed.
OWNER = """
import os, sys
from sklearn_mvrsm._execution.payload import PayloadFile
file = PayloadFile("content").__enter__()
if sys.argv[1] == "dies":
    file._watchdog._n_starts = 99  # too many: it is not started again
    file._watchdog._reaper.kill()
print(os.path.dirname(file.path), flush=True)
if sys.argv[1] == "dies":
    os._exit(0)
sys.stdin.read()
"""


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def owner(temporary):
    """Start a process that owns a folder; return it, and the folder."""
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, "lives"],
        env={**os.environ, "TMPDIR": str(temporary)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield process.stdout.readline().strip()


@pytest.fixture(scope="module")
def left_once(tmp_path_factory):
    """Return a folder whose owner is gone; not where others look for such."""
    command = [sys.executable, "-c", OWNER, "dies"]
    env = {**os.environ, "TMPDIR": str(tmp_path_factory.mktemp("left"))}
    folder = subprocess.check_output(command, env=env, text=True).strip()
    assert os.path.exists(os.path.join(folder, "payload"))
    return folder


@pytest.fixture
def leftover(left_once, temporary):
    """Return a copy of a folder whose owner is gone."""
    return shutil.copytree(left_once, temporary / os.path.basename(left_once))


@pytest.mark.skipif(
    not reaper.can_find_processes(), reason="processes are found by /proc"
)
def test_a_number_that_is_another_process_s_by_now_kills_nothing():
    command = ["sh", "-c", "sleep 600 & echo $!; wait"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as other:
        child = int(other.stdout.readline())
        try:
            assert reaper.kill_marked({b"a mark that nobody has;": other.pid}) == set()
            assert other.poll() is None
            os.kill(child, 0)
        finally:
            os.killpg(other.pid, signal.SIGKILL)


@posix_only
def test_the_next_search_removes_what_a_dead_one_left(leftover):
    with PayloadFile("content"):
        assert not os.path.exists(leftover)


@posix_only
def test_what_others_still_use_is_not_removed(owner, temporary):
    with PayloadFile("content") as own:
        reaper.remove_leftovers()
        assert os.path.exists(own.path)
        pid = os.fork()
        if not pid:  # a copy of this process knows that it does not own the folder
            own.__exit__()
            reaper.remove_leftovers()
            os._exit(0)
        os.waitpid(pid, 0)
        assert os.path.exists(own.path)
    assert os.path.exists(os.path.join(owner, "payload"))


@posix_only
@pytest.mark.parametrize("whose", ["another host's", "another user's", "nobody's"])
def test_what_may_be_in_use_elsewhere_is_not_removed(leftover, whose, monkeypatch):
    if whose == "another host's":
        with open(os.path.join(leftover, reaper.OWNER), "w") as file:
            file.write("elsewhere")
    elif whose == "another user's":
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    else:  # one that is just being made
        os.remove(os.path.join(leftover, reaper.OWNER))
    reaper.remove_leftovers()
    assert os.path.exists(os.path.join(leftover, "payload"))


@posix_only
def test_a_folder_without_locks_works_and_is_left_alone(temporary, monkeypatch):
    def no_locks(*args):
        raise OSError("no locks available")

    monkeypatch.setattr(reaper.fcntl, "lockf", no_locks)
    with PayloadFile("content") as file:
        reaper._own.clear()
        reaper.remove_leftovers()
        assert os.path.exists(file.path)
    assert list(temporary.iterdir()) == []


def test_without_a_temporary_folder_nothing_is_left_over(monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", "/does not exist")
    reaper.remove_leftovers()
