"""Laws of the journal: what was appended stays, and nothing else is ever read."""

import errno
import json
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time

import pytest

from sklearn_mvrsm._checkpoint import journal as journal_module
from sklearn_mvrsm._checkpoint.journal import Journal, differences

KIND = "notes 1"
HEADER = {"topic": "cats", "count": 3, "nested": {"a": [1, 2.5, None, True]}}
ENTRIES = [{"k": k, "text": "two\nlines, \u2028, \ud800 and ü" * k} for k in range(4)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.jsonl"


@pytest.fixture
def written(path):
    with Journal(path, KIND, HEADER) as journal:
        for entry in ENTRIES:
            journal.append(entry)
    return path


def read(path):
    with Journal(path, KIND, HEADER) as journal:
        return journal


def test_a_new_file_holds_the_header_before_anything_is_appended(path):
    with Journal(path, KIND, HEADER) as journal:
        assert journal.is_new
        assert not journal.is_torn
        assert journal.entries == []
        line = json.loads(path.read_text())
        assert len(line.pop("check")) == 16
        assert line == {"format": KIND, **HEADER}
        assert journal.header == {"format": KIND, **HEADER}


def test_what_was_appended_is_read_again(written):
    journal = read(written)
    assert not journal.is_new
    assert journal.entries == ENTRIES


def test_the_header_is_that_of_the_file(written):
    with Journal(written, KIND, {"topic": "dogs"}) as journal:
        assert journal.header["topic"] == "cats"


def test_each_line_stands_for_itself_and_is_on_the_disk_at_once(path):
    with Journal(path, KIND, HEADER) as journal:
        for n, entry in enumerate(ENTRIES, start=1):
            journal.append(entry)
            lines = path.read_bytes().split(b"\n")
            assert lines[-1] == b""
            assert len(lines) == n + 2
            line = json.loads(lines[n])
            assert len(line.pop("check")) == 16
            assert line == entry


def test_a_line_is_synced_before_append_returns(path, monkeypatch):
    sizes = []
    monkeypatch.setattr(os, "fsync", lambda fd: sizes.append(path.stat().st_size))
    with Journal(path, KIND, HEADER) as journal:
        assert path.stat().st_size in sizes
        journal.append(ENTRIES[1])
        assert sizes[-1] == path.stat().st_size


def test_short_writes_are_continued(path, monkeypatch):
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, bytes(data[:7])))
    with Journal(path, KIND, HEADER) as journal:
        journal.append(ENTRIES[3])
    assert read(path).entries == [ENTRIES[3]]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_json_does_not_know_is_refused_and_not_written(path, value):
    with Journal(path, KIND, HEADER) as journal:
        with pytest.raises(ValueError, match="JSON compliant"):
            journal.append({"value": value})
        journal.append(ENTRIES[1])
    assert read(path).entries == [ENTRIES[1]]


def test_a_line_cut_anywhere_is_dropped_and_the_rest_kept(written, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda fd: None)  # hundreds take their time
    content = written.read_bytes()
    ends = [k + 1 for k, byte in enumerate(content) if byte == ord("\n")]
    for length in range(ends[0], len(content) + 1):
        written.write_bytes(content[:length])
        n_whole = sum(end <= length for end in ends) - 1
        with Journal(written, KIND, HEADER) as journal:
            assert journal.is_torn == (length not in ends)
            assert journal.entries == ENTRIES[:n_whole]
            journal.append({"after": length})
        assert read(written).entries == [*ENTRIES[:n_whole], {"after": length}]


def test_a_header_cut_anywhere_begins_the_file_anew(path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda fd: None)
    read(path)
    content = path.read_bytes()
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with Journal(path, KIND, HEADER) as journal:
            assert journal.is_new
            assert journal.is_torn == (length > 0)
        assert path.read_bytes() == content


@pytest.mark.parametrize("tail", [b"\0" * 512, b"\0\n", b"[1]\n", b"{}}\n", b'{"a": 1'])
def test_a_last_line_of_anything_else_is_dropped(written, tail):
    content = written.read_bytes()
    written.write_bytes(content + tail)
    journal = read(written)
    assert journal.is_torn
    assert journal.entries == ENTRIES
    assert written.read_bytes() == content


def test_a_damaged_line_in_the_middle_is_refused_by_its_number(written):
    lines = written.read_bytes().split(b"\n")
    lines[2] = lines[2][:-3]
    content = b"\n".join(lines)
    written.write_bytes(content)
    with pytest.raises(ValueError, match=r"Line 3 of the checkpoint .* is damaged"):
        read(written)
    assert written.read_bytes() == content


@pytest.mark.parametrize(
    "content",
    [
        b"name,age\nTom,3\n",
        b"\n",
        b"x",
        b'{"format": "notes 10"}\n',
        b'{"format": "notes 2", "topic": "cats"}\n',
        b'{"topic": "cats"}\n',
        pickle.dumps(HEADER),
    ],
)
def test_another_file_is_refused_and_left_as_it_is(path, content):
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is not a checkpoint that this version"):
        read(path)
    assert path.read_bytes() == content


def test_reading_runs_no_code(path):
    # The module has no way to: it knows JSON, and calls nothing by name.
    with open(journal_module.__file__, encoding="utf-8") as file:
        source = file.read()
    for way in ("eval(", "exec(", "pickle", "import_module", "getattr(self"):
        assert way not in source


# --- the lock ---------------------------------------------------------------


def no_flock(monkeypatch, way):
    if way == "no fcntl":
        monkeypatch.setattr(journal_module, "fcntl", None)
    elif way == "flock fails":

        def flock(fd, operation):
            raise OSError(errno.ENOLCK, "No locks available")

        monkeypatch.setattr(journal_module.fcntl, "flock", flock)


ways = pytest.mark.parametrize("way", ["flock", "no fcntl", "flock fails"])


@ways
def test_a_journal_that_is_open_is_refused(path, monkeypatch, way):
    no_flock(monkeypatch, way)
    with Journal(path, KIND, HEADER) as journal:
        journal.append(ENTRIES[0])
        with pytest.raises(RuntimeError, match="in use by another search"):
            read(path)
        journal.append(ENTRIES[1])
    assert read(path).entries == ENTRIES[:2]
    assert os.listdir(path.parent) == [path.name]


@ways
def test_a_journal_that_could_not_be_opened_is_not_locked(path, monkeypatch, way):
    no_flock(monkeypatch, way)
    path.write_text("something else")
    for _ in range(2):
        with pytest.raises(ValueError, match="not a checkpoint"):
            read(path)
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.skipif(
    journal_module.fcntl is None,
    reason="flock is POSIX's; test_a_lock_file_left_behind_is_named needs none",
)
def test_the_lock_goes_with_its_process(path):
    script = f"""
import runpy, signal
Journal = runpy.run_path({journal_module.__file__!r})["Journal"]
journal = Journal({os.fspath(path)!r}, {KIND!r}, {HEADER!r})
journal.append({ENTRIES[1]!r})
print("open", flush=True)
signal.pause()
"""
    holder = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    with holder:
        assert holder.stdout.readline() == b"open\n"
        with pytest.raises(RuntimeError, match="in use by another search"):
            read(path)
        holder.kill()
    assert read(path).entries == [ENTRIES[1]]


def forked():
    pid = os.fork()
    if pid == 0:
        time.sleep(60.0)
        os._exit(0)
    return pid


def forked_by_multiprocessing():
    context = multiprocessing.get_context("fork")
    child = context.Process(target=time.sleep, args=(60.0,), daemon=True)
    child.start()
    return child.pid


def started_with_all_files():
    command = [sys.executable, "-c", "import time; time.sleep(60.0)"]
    return os.posix_spawn(sys.executable, command, os.environ)


STRANGERS = (forked, forked_by_multiprocessing, started_with_all_files)
needs_fork = pytest.mark.skipif(
    not hasattr(os, "fork"),
    reason="only POSIX hands files on to processes without being asked",
)


@needs_fork
@ways
@pytest.mark.filterwarnings("ignore:.*fork")
@pytest.mark.parametrize("start", STRANGERS)
def test_a_process_that_outlives_the_journal_does_not_lock_it(
    path, monkeypatch, way, start
):
    no_flock(monkeypatch, way)
    with Journal(path, KIND, HEADER) as journal:
        stranger = start()
        with pytest.raises(RuntimeError, match="in use by another search"):
            read(path)
        journal.append(ENTRIES[1])
    try:
        assert read(path).entries == [ENTRIES[1]]
    finally:
        os.kill(stranger, signal.SIGKILL)
        os.waitpid(stranger, 0)


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_process_that_outlives_a_killed_holder_does_not_lock_its_journal(path):
    script = f"""
import os, runpy, signal, time
Journal = runpy.run_path({journal_module.__file__!r})["Journal"]
journal = Journal({os.fspath(path)!r}, {KIND!r}, {HEADER!r})
if not os.fork():
    print(os.getpid(), flush=True)
    time.sleep(60.0)
    os._exit(0)
signal.pause()
"""
    holder = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    with holder:
        stranger = int(holder.stdout.readline())
        holder.kill()
        holder.wait()
        try:
            assert read(path).entries == []
        finally:
            os.kill(stranger, signal.SIGKILL)


@needs_fork
@ways
@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_forked_process_can_neither_write_nor_unlock(path, monkeypatch, way):
    no_flock(monkeypatch, way)
    with Journal(path, KIND, HEADER) as journal:
        content = path.read_bytes()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                journal.append(ENTRIES[0])
            except OSError:
                journal.close()
                code = 0
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert path.read_bytes() == content
        with pytest.raises(RuntimeError, match="in use by another search"):
            read(path)


def test_a_lock_file_left_behind_is_named(path, monkeypatch):
    monkeypatch.setattr(journal_module, "fcntl", None)
    lock = path.with_name(path.name + ".lock")
    lock.write_text("process 1\n")
    with pytest.raises(RuntimeError, match=r"remove the file '.*journal\.jsonl\.lock'"):
        read(path)
    assert lock.exists()


# --- disks ------------------------------------------------------------------


def test_a_folder_that_is_not_there_is_a_clear_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="cannot open the checkpoint: No such"):
        read(tmp_path / "nowhere" / "journal")


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(OSError, match="cannot open the checkpoint"):
        read(tmp_path)


FULL = [each for each in ("/dev/full",) if os.path.exists(each)]


@pytest.mark.parametrize("device", [*FULL, None])
def test_a_full_disk_is_an_error_on_opening(device, path, monkeypatch):
    if device is None:
        full_after(monkeypatch, 0)
    full = os.fspath(path) if device is None else device
    with pytest.raises(OSError, match="cannot write the checkpoint: No space") as info:
        read(full)
    assert info.value.errno == errno.ENOSPC
    assert info.value.filename == full


def full_after(monkeypatch, n):
    """Leave the disk room for n more bytes."""
    write, left = os.write, [n]

    def limited(fd, data):
        if left[0] == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        n_written = write(fd, bytes(data[: left[0]]))
        left[0] -= n_written
        return n_written

    monkeypatch.setattr(os, "write", limited)


def test_a_disk_that_fills_up_costs_only_the_line_that_found_no_room(path, monkeypatch):
    with Journal(path, KIND, HEADER) as journal:
        journal.append(ENTRIES[0])
        full_after(monkeypatch, 10)
        with pytest.raises(OSError, match="cannot write the checkpoint: No space"):
            journal.append(ENTRIES[1])
        monkeypatch.undo()
        journal.append(ENTRIES[2])
    journal = read(path)
    assert not journal.is_torn
    assert journal.entries == [ENTRIES[0], ENTRIES[2]]


def test_a_failing_sync_is_an_error(path, monkeypatch):
    def fsync(fd):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with Journal(path, KIND, HEADER) as journal:
        monkeypatch.setattr(os, "fsync", fsync)
        with pytest.raises(OSError, match=r"write the checkpoint: .*output error"):
            journal.append(ENTRIES[0])


# --- matching ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("there", "here", "sentences"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}, []),
        ({"a": 1}, {"a": 2}, ["a: 1 in the checkpoint, now 2"]),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, ["a, c: 2 in the"]),
        ({"a": 1}, {}, ["a: only in the checkpoint"]),
        ({}, {"a": 1}, ["a: not in the checkpoint"]),
        ({"a": 1, "b": 1}, {"b": 2, "c": 1}, ["a: only", "b: 1 in", "c: not in"]),
        ({"a": {}}, {"a": 1}, ["a: {} in the checkpoint, now 1"]),
    ],
)
def test_exactly_what_differs_is_named(there, here, sentences):
    found = list(differences(there, here))
    assert len(found) == len(sentences)
    assert all(f.startswith(s) for f, s in zip(found, sentences, strict=True))
