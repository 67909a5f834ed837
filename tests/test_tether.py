import errno
import socket
import threading
import time
from contextlib import contextmanager
from dataclasses import replace

import pytest

from sklearn_mvrsm import _tether
from sklearn_mvrsm._tether import Number, Tether, hold

PATIENCE = 10.0


@contextmanager
def held(number):
    """Hold the line in a thread; give what comes over it, and the thread."""
    heard = []
    kept = []
    thread = threading.Thread(
        target=lambda: kept.append(hold(number, heard.append, lambda: None))
    )
    thread.start()
    yield heard, kept
    thread.join(PATIENCE)
    assert not thread.is_alive()


def until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_what_is_not_wanted_is_heard_by_all_and_so_is_the_end():
    tether = Tether()
    with held(tether.number) as (one, one_kept), held(tether.number) as (two, two_kept):
        until(lambda: tether.n_held == 2)
        tether.cancel(3)
        tether.cancel(14)
        until(lambda: one == two == [3, 14])
        tether.close()
        until(lambda: one_kept == two_kept == [True])
    assert tether.n_held == 0


def test_who_calls_late_hears_what_is_not_wanted():
    tether = Tether()
    tether.cancel(7)
    tether.cancel(8)
    with held(tether.number) as (heard, _):
        until(lambda: tether.n_held == 1)
        tether.cancel(9)
        until(lambda: heard == [7, 8, 9])
        tether.close()


def test_who_calls_late_hears_that_all_is_over():
    tether = Tether()
    with held(tether.number) as (_, early):
        until(lambda: tether.n_held == 1)
        tether.cancel(7)
        tether.end()
        until(lambda: early == [True])
        with held(tether.number) as (heard, late):
            until(lambda: late == [True])
        assert heard == [7]
    tether.close()


def test_a_number_that_broke_off_is_not_heard():
    with socket.create_server(("127.0.0.1", 0)) as search:
        number = Number("another", ("127.0.0.1",), search.getsockname()[1], "x" * 32)
        with held(number) as (heard, kept):
            line, _ = search.accept()
            with line:
                line.sendall(line.recv(32, socket.MSG_WAITALL) + b"12\n34")
            until(lambda: kept == [True])
    assert heard == [12]


def test_a_far_end_that_left_is_no_trouble():
    tether = Tether()
    number = tether.number
    line = socket.create_connection(("127.0.0.1", number.port))
    line.sendall(number.token.encode())
    until(lambda: tether.n_held == 1)
    line.close()

    until(lambda: tether.n_held == 0)
    tether.cancel(3)
    assert tether.n_calls == 1
    tether.close()


def test_the_lines_of_who_is_gone_are_let_go_as_others_call():
    # A cluster may come and go for a night; each line is an open file.
    tether = Tether()
    for k in range(3):
        with socket.create_connection(("127.0.0.1", tether.number.port)) as line:
            line.sendall(tether.number.token.encode())
            until(lambda k=k: tether.n_calls == k + 1)
    with held(tether.number):
        until(lambda: tether.n_calls == 4)
        assert len(tether._lines) == 1
        tether.close()


def test_a_call_that_cannot_be_taken_is_not_the_last(monkeypatch):
    tether = Tether()
    refused = []

    class Broken:
        def accept(self):
            refused.append(True)
            monkeypatch.undo()
            raise OSError(errno.EMFILE, "too many open files")

    monkeypatch.setattr(tether, "_listener", Broken())
    with held(tether.number):  # taken by who waited before
        until(lambda: refused)
        with held(tether.number):
            until(lambda: tether.n_held == 2)
            tether.close()
    assert refused == [True]


def test_who_calls_at_the_end_is_sent_away(monkeypatch):
    # The end comes between the greeting and the line.
    tether = Tether()
    greeting = threading.Event()
    ending = threading.Event()

    def greet_slowly(self, line):
        greeting.set()
        return ending.wait(PATIENCE)

    monkeypatch.setattr(Tether, "_is_one_of_us", greet_slowly)
    with socket.create_connection(("127.0.0.1", tether.number.port)) as line:
        assert greeting.wait(PATIENCE)
        tether._closed = True
        ending.set()
        assert line.recv(1) == b""
    assert tether.n_held == 0
    tether.close()


@pytest.mark.parametrize("said", [b"x" * 32, b""])
def test_strangers_are_sent_away(said):
    tether = Tether()
    with socket.create_connection(("127.0.0.1", tether.number.port)) as line:
        line.sendall(said)
        line.shutdown(socket.SHUT_WR)
        assert line.recv(1) == b""
    assert tether.n_held == 0
    tether.close()


def test_a_silent_stranger_is_not_waited_for_long(monkeypatch):
    monkeypatch.setattr(_tether, "_HANDSHAKE_SECONDS", 0.1)
    tether = Tether()
    with socket.create_connection(("127.0.0.1", tether.number.port)) as line:
        assert line.recv(1) == b""
    tether.close()


def test_a_search_that_cannot_be_reached_is_done_without():
    tether = Tether()
    tether.close()
    assert not hold(tether.number, print, print)


def test_who_answers_must_know_the_token(monkeypatch):
    # Another program may use the port on another machine.
    monkeypatch.setattr(_tether, "_HANDSHAKE_SECONDS", 0.2)
    tether = Tether()
    assert not hold(replace(tether.number, token="y" * 32), print, print)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        assert not hold(replace(tether.number, port=port), print, print)
    tether.close()


def test_other_machines_use_the_addresses_of_this_one():
    tether = Tether()
    number = replace(tether.number, host="another", addresses=("127.0.0.1",))
    with held(number):
        until(lambda: tether.n_held == 1)
        tether.close()
    assert not hold(replace(number, addresses=()), print, print)


@pytest.mark.parametrize(("patience", "is_done"), [(PATIENCE, True), (0.05, False)])
def test_the_end_waits_for_far_ends_to_be_done(patience, is_done):
    tether = Tether()
    done = []
    asserted = threading.Event()

    def tidy_up():
        asserted.wait(0.5 if is_done else PATIENCE)
        done.append(True)

    thread = threading.Thread(target=hold, args=(tether.number, print, tidy_up))
    thread.start()
    until(lambda: tether.n_held == 1)
    start = time.monotonic()
    tether.close(patience)
    assert time.monotonic() - start < PATIENCE
    assert bool(done) == is_done
    asserted.set()
    thread.join(PATIENCE)
