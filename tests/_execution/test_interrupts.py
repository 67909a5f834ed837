"""Laws of interrupts: none is lost, and nobody else's handling of them is touched."""

import os
import signal
import sys
import threading
import time

import pytest
from estimators import Misbehaving
from interrupt_moments import interrupt_at_moments
from sklearn.datasets import load_iris

from sklearn_mvrsm import MVRSMSearchCV, Real
from sklearn_mvrsm._execution.interrupts import deferred_interrupts

if sys.platform == "win32":
    pytest.skip(
        "on Windows os.kill(SIGINT) ends a process and SIGALRM is missing",
        allow_module_level=True,
    )

X, Y = load_iris(return_X_y=True)


def press():
    os.kill(os.getpid(), signal.SIGINT)


class PressesAtItsEnd:
    """Has the interrupt raised in its finalizer, where Python drops it."""

    def __del__(self):
        press()
        for _ in range(1000):  # the signal is seen between two of these
            pass


def lose_an_interrupt():
    PressesAtItsEnd()


pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:.*fork"),
]


def test_an_interrupt_is_raised_where_it_comes():
    with pytest.raises(KeyboardInterrupt), deferred_interrupts():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_that_was_dropped_is_raised_by_the_next_check():
    with deferred_interrupts() as interrupts:
        interrupts.check()
        lose_an_interrupt()
        with pytest.raises(KeyboardInterrupt):
            interrupts.check()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_what_must_come_to_its_end_does_and_the_interrupt_follows():
    done = []

    def press_while_held(interrupts):
        with interrupts.shielded():
            press()
            done.append("all of it")

    with deferred_interrupts() as interrupts:
        with pytest.raises(KeyboardInterrupt):
            press_while_held(interrupts)
        with interrupts.shielded():
            done.append("that one has been raised already")
        with pytest.raises(ZeroDivisionError), interrupts.shielded():
            raise ZeroDivisionError
        with pytest.raises(KeyboardInterrupt):  # as before
            signal.raise_signal(signal.SIGINT)
    assert len(done) == 2


def test_another_handler_stays_in_force():
    seen = []
    before = signal.signal(signal.SIGINT, lambda signum, frame: seen.append(signum))
    try:
        handler = signal.getsignal(signal.SIGINT)
        with deferred_interrupts() as interrupts:
            assert signal.getsignal(signal.SIGINT) is handler
            press()
            interrupts.check()
        assert seen == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_change_nothing():
    found = []

    def work():
        with deferred_interrupts() as interrupts:
            interrupts.check()
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]


def test_a_search_ends_though_the_exception_was_dropped(tmp_path):
    search = MVRSMSearchCV(
        Misbehaving(),
        {"fault": ["sleep_forever"], "folder": [str(tmp_path)]},
        n_iter=1,
        n_jobs=2,
        cv=2,
    )
    lost = threading.Event()

    def lose_once(signum, frame):
        lose_an_interrupt()
        lost.set()

    def when_a_fit_hangs():
        while not os.listdir(tmp_path):
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGALRM)

    before = signal.signal(signal.SIGALRM, lose_once)
    thread = threading.Thread(target=when_a_fit_hangs)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            search.fit(X, Y)
    finally:
        thread.join()
        signal.signal(signal.SIGALRM, before)
    assert lost.is_set()


class Pressing(Misbehaving):
    """Loses an interrupt in one of its fits."""

    def fit(self, X, y):
        if self.level > 0.5:
            lose_an_interrupt()
        return super().fit(X, y)


def test_a_search_in_this_process_ends_though_the_exception_was_dropped():
    levels = [{"level": level} for level in (0.1, 0.2, 0.9, 0.3)]
    search = MVRSMSearchCV(
        Pressing(),
        {"level": Real(0.0, 1.0)},
        n_iter=4,
        n_jobs=1,
        n_pending=1,
        cv=2,
        initial_points=levels,
    )
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, Y)
    assert search.cv_results_["params"] == levels[:2]


def test_an_interrupt_at_any_moment_keeps_what_has_finished_and_leaves_nothing():
    counted = interrupt_at_moments(4)
    assert sum(counted.values()) >= 4
    assert counted["interrupted"] >= 1
