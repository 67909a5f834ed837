"""What a worker reports to the caller's process, acted on here."""

import base64
import os
import subprocess
import sys
import uuid
from multiprocessing import shared_memory

import pytest

from sklearn_mvrsm._execution.resources import Resources

if sys.platform != "linux":
    pytest.skip(
        "elsewhere workers report to the caller's resource trackers",
        allow_module_level=True,
    )


@pytest.fixture
def resources():
    resources = Resources()
    yield resources
    resources.close()


def report(resources, *lines):
    for line in lines:
        os.write(resources.writer.fileno(), line.encode() + b"\n")


@pytest.fixture
def name():
    """Of a file in shared memory that a worker has made."""
    name = f"test-{uuid.uuid4().hex}"
    yield name
    for kind in ("", "sem."):
        if os.path.exists(f"/dev/shm/{kind}{name}"):
            os.unlink(f"/dev/shm/{kind}{name}")


@pytest.mark.parametrize(
    ("kind", "prefix"),
    [("shared_memory", ""), ("semaphore", "sem."), ("semlock", "sem.")],
)
def test_what_is_left_is_removed_at_the_end(resources, name, kind, prefix):
    path = f"/dev/shm/{prefix}{name}"
    open(path, "w").close()
    report(resources, f"REGISTER:/{name}:{kind}", "PROBE:0:noop", "nonsense", "{}")
    resources.close()
    assert not os.path.exists(path)
    resources.close()


def test_folders_and_their_files_are_removed_too(resources, tmp_path):
    folder = tmp_path / "a: folder"
    folder.mkdir()
    (folder / "file").touch()
    coded = base64.urlsafe_b64encode(os.fsencode(folder)).decode()
    report(
        resources,
        f'{{"cmd":"REGISTER","rtype":"folder","base64_name":"{coded}"}}',
        f"REGISTER:{folder / 'file'}:file",
    )
    resources.close()
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_more_registered_is_left_alone(resources, tmp_path):
    (tmp_path / "file").touch()
    lines = [f"{verb}:{tmp_path / 'file'}:file" for verb in ("REGISTER", "UNREGISTER")]
    report(resources, *lines)
    resources.close()
    assert (tmp_path / "file").exists()


def test_a_file_goes_with_its_last_user(resources, tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "other").touch()
    twice = [f"REGISTER:{tmp_path / 'file'}:file"] * 2
    report(resources, *twice, f"MAYBE_UNLINK:{tmp_path / 'file'}:file")
    report(resources, f"REGISTER:{tmp_path / 'other'}:file")
    report(resources, f"MAYBE_UNLINK:{tmp_path / 'other'}:file")
    report(resources, f"UNREGISTER:{tmp_path / 'file'}:file")
    resources.close()
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_memory_that_was_there_before_outlives_the_worker():
    mine = shared_memory.SharedMemory(create=True, size=100)
    resources = Resources()
    report(resources, f"REGISTER:{mine._name}:shared_memory")
    resources.close()
    assert os.path.exists(f"/dev/shm/{mine.name}")
    mine.close()
    mine.unlink()


FORKS = """
import os

from joblib.externals.loky.backend import resource_tracker as of_loky
from sklearn_mvrsm._execution.resources import report_resources

reader, writer = os.pipe()
report_resources(writer)
tracker = of_loky._resource_tracker
before = tracker._fd
for lost in (False, True):
    if lost:  # as by those that let go of it in a process that was forked
        tracker._fd = None
    if os.fork() == 0:
        lets_go = hasattr(tracker, "_after_fork_in_child")  # joblib >= 1.6
        same = tracker._fd == before or lets_go
        of_loky.register(f"/lost={lost},same={same}", "semlock")
        os._exit(0)
    os.wait()
print(os.read(reader, 1000).decode())
"""


def test_processes_that_are_forked_report_where_they_did():
    # A file that moved would be missed by a program that replaces the process.
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKS], capture_output=True, text=True
    )
    lines = [line for line in run.stdout.splitlines() if line.startswith("REGISTER")]
    assert any("lost=True" in line for line in lines), run.stderr
    assert "REGISTER:/lost=False,same=True:semlock" in lines
    assert run.stderr == ""
