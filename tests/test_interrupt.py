"""Laws of interrupts: none is lost, and nobody else's handling of them is touched."""

import os
import signal
import sys
import threading
import time

import pytest
from estimators import Misbehaving
from sklearn.datasets import load_iris

from sklearn_mvrsm import MVRSMSearchCV
from sklearn_mvrsm._interrupt import heeded_interrupt

if sys.platform == "win32":
    pytest.skip("signals as Unix has them", allow_module_level=True)

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


pytestmark = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)


def test_an_interrupt_is_raised_where_it_comes():
    with pytest.raises(KeyboardInterrupt), heeded_interrupt():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_that_was_dropped_is_raised_by_the_next_check():
    with heeded_interrupt() as check:
        check()
        lose_an_interrupt()
        with pytest.raises(KeyboardInterrupt):
            check()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_another_handler_stays_in_force():
    seen = []
    before = signal.signal(signal.SIGINT, lambda signum, frame: seen.append(signum))
    try:
        handler = signal.getsignal(signal.SIGINT)
        with heeded_interrupt() as check:
            assert signal.getsignal(signal.SIGINT) is handler
            press()
            check()
        assert seen == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_change_nothing():
    found = []

    def work():
        with heeded_interrupt() as check:
            check()
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
