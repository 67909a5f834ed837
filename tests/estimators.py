"""Estimators that sleep, crash, grow and so on; importable by worker processes."""

import ctypes
import os
import signal
import subprocess
import sys
import time
import uuid

import awkward
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin


class UnpicklableError(Exception):
    """Its pickle cannot be loaded: the arguments do not match."""

    def __init__(self, first, second):
        super().__init__("one argument kept of two")


class OwnError(Exception):
    """One of the user's own."""


class Handle:
    """Travels from the process where it was made, and not on from where it arrived."""

    def __init__(self, home=None):
        self.home = os.getpid() if home is None else home

    def __reduce__(self):
        if self.home != os.getpid():
            raise TypeError("an open handle cannot be pickled")
        return Handle, (self.home,)


class Constant(ClassifierMixin, BaseEstimator):
    """Predicts the first class after ``seconds``; notes its process in ``folder``."""

    def __init__(self, seconds=0.0, folder=None, level=0.0):
        self.seconds = seconds
        self.folder = folder
        self.level = level

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        if self.folder is not None:
            open(os.path.join(self.folder, str(os.getpid())), "w").close()
        time.sleep(self.seconds)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


class Copied(Constant):
    """Forks in its fit, and waits for the copy, which leaves the fit as ``ending``."""

    def __init__(self, ending="returns", folder=None):
        super().__init__(folder=folder)
        self.ending = ending

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        pid = os.fork()
        if pid:
            os.waitpid(pid, 0)
            return self
        open(os.path.join(self.folder, f"copy-{os.getpid()}"), "w").close()
        if self.ending == "raises":
            raise ValueError("only a copy")
        if self.ending == "exits":
            sys.exit(3)
        return self


class Shift(TransformerMixin, BaseEstimator):
    """Adds ``level``; notes each of its fits in ``folder``.

    While ``folder`` has a file "stall", what was fitted with a level of 1 cannot be
    written down.
    """

    def __init__(self, level=0.0, seconds=0.0, folder=None):
        self.level = level
        self.seconds = seconds
        self.folder = folder

    def fit(self, X, y=None):
        open(os.path.join(self.folder, f"fit-{uuid.uuid4()}"), "w").close()
        time.sleep(self.seconds)
        self.shift_ = np.full(X.shape[1], self.level)
        return self

    def transform(self, X):
        return X + self.shift_

    def __getstate__(self):
        stall = os.path.join(self.folder, "stall")
        if hasattr(self, "shift_") and self.level == 1.0 and os.path.exists(stall):
            open(os.path.join(self.folder, "stalled"), "w").close()
            time.sleep(60)
        return super().__getstate__()


class Misbehaving(Constant):
    """Does what the function ``fault``, here or in awkward.py, does; then fits."""

    def __init__(self, fault=None, seconds=0.0, folder=None, level=0.0):
        super().__init__(seconds=seconds, folder=folder, level=level)
        self.fault = fault

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y)
        if self.fault in NEED_A_FOLDER:
            globals()[self.fault](self.folder)
        elif self.fault is not None:
            {**awkward.FAULTS, **globals()}[self.fault]()
        return self


NEED_A_FOLDER = ("stuck_nested", "wait_for_go", "stuck_among_strangers")


def value_error():
    raise ValueError("bad parameters")


def system_exit():
    raise SystemExit(7)


def interrupt():
    raise KeyboardInterrupt("by the user's own code")


def unpicklable_error():
    raise UnpicklableError(1, 2)


def own_error():
    raise OwnError("why", 3)


def memory_error():
    raise MemoryError("none left")


def segfault():
    ctypes.string_at(0)


def exit_code():
    os._exit(1)


def sigkill():
    os.kill(os.getpid(), signal.SIGKILL)


def close_files():
    """Close what one has not opened, and go on for a while."""
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    time.sleep(60)  # longer than a worker checks its parent


def ignore_sigterm():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(120)


def sleep_forever():
    while True:
        time.sleep(60)


def wait_for_go(folder):
    """Wait until ``folder`` has a file "go", ten minutes at most."""
    end = time.monotonic() + 600
    while not os.path.exists(os.path.join(folder, "go")) and time.monotonic() < end:
        time.sleep(0.02)


def stuck_xgboost():
    """One boosting round of very many trees: one call of C++ that takes minutes."""
    from xgboost import XGBRFClassifier

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4000, 27)), rng.integers(0, 2, 4000)
    XGBRFClassifier(n_estimators=100_000, max_depth=10, n_jobs=1).fit(X, y)


def stuck_svc():
    """Support vectors that never converge, in C."""
    from sklearn.svm import SVC

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20_000, 5)) * 1e3, rng.integers(0, 2, 20_000)
    SVC(kernel="linear", C=1e6, max_iter=-1).fit(X, y)


def stuck_nested(folder):
    """Wait for two processes of one's own; all three note themselves in ``folder``."""
    from joblib import Parallel, delayed
    from joblib.externals.loky.backend import get_context

    open(os.path.join(folder, f"hangs-{os.getpid()}"), "w").close()

    def note_and_wait(
        array,
    ):  # pickled by value: its processes need not import this module
        import os
        import time

        open(os.path.join(folder, f"nested-{os.getpid()}"), "w").close()
        time.sleep(120)

    shared = get_context("loky").Semaphore()  # there as long as this waits
    array = np.ones(2_000_000)  # large enough to be shared through a file
    Parallel(n_jobs=2)(delayed(note_and_wait)(array) for _ in range(2))
    shared.release()


def sum_nested():
    """Use two processes of one's own, which stay for the next time."""
    from joblib import Parallel, delayed

    array = np.ones(2_000_000)
    return sum(Parallel(n_jobs=2)(delayed(float)(array[k]) for k in range(4)))


STRANGER = """
import os, signal, sys, time
kind, folder = sys.argv[1:]
if kind in ("daemon", "without a mark"):
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)
elif kind == "deaf":
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    os.closerange(0, 256)
elif kind == "many":
    for _ in range(9):
        if os.fork() == 0:
            break
name = os.path.join(folder, f"stranger-{os.getpid()}-{kind}")
os.close(os.open(name, os.O_CREAT))
while kind == "replaced":  # by a copy of itself, again and again
    os.utime(name)
    time.sleep(0.002)
    if os.fork():
        os._exit(0)
if kind == "stopped":
    os.kill(os.getpid(), signal.SIGSTOP)
time.sleep(600)
"""
STRANGERS = ("session", "daemon", "deaf", "stopped", "many", "replaced")


def start_strangers(folder, *kinds):
    """Start processes that try to get away; return once all have noted themselves."""
    before = n_strangers(folder)
    for kind in kinds:
        subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", STRANGER, kind, folder],
            start_new_session=True,
            env={} if kind == "without a mark" else None,
        )
    while n_strangers(folder) < before + len(kinds) + 9 * ("many" in kinds):
        time.sleep(0.02)


def n_strangers(folder):
    return sum(name.startswith("stranger-") for name in os.listdir(folder))


def stuck_among_strangers(folder, *kinds):
    """Keep Python's lock for ever in a process that has started others."""
    start_strangers(folder, "daemon", "without a mark", *kinds)
    for kind in ("hangs", "nested"):
        open(os.path.join(folder, f"{kind}-{os.getpid()}"), "w").close()
    ctypes.PyDLL(None).sleep(600)


def die_among_strangers(folder):
    """Die, and leave many processes, of which one holds all that was open."""
    start_strangers(folder, *STRANGERS)
    if os.fork() == 0:
        os.setsid()
        open(os.path.join(folder, f"stranger-{os.getpid()}-fork"), "w").close()
        time.sleep(600)
    os._exit(3)


def grow():
    """Keep 400 MB, long enough for loky to take notice."""
    kept.append(np.ones(50_000_000))
    time.sleep(1.5)


def ask_numpy_for_memory():
    np.ones(2_000_000_000 // 8)


def ask_xgboost_for_memory():
    """Little data, large histograms: the memory is asked for in C++."""
    from xgboost import XGBClassifier

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(5000, 100)), rng.integers(0, 2, 5000)
    XGBClassifier(max_depth=12, max_bin=5000, n_jobs=1).fit(X, y)


kept = []


def worker_pid(estimator, X, y):
    """Score a fit with the id of its process."""
    return float(os.getpid())


def lock_score(estimator, X, y):
    """Return a score that is no number and cannot be pickled."""
    import threading

    return threading.Lock()


def fresh_death():
    """Set up a worker: in vain."""
    os._exit(4)


def failing_setup():
    raise ImportError("no such module")


def setup_that_fails_second(folder):
    """Count the calls in a folder; the second one fails."""
    number = len(os.listdir(folder))
    with open(os.path.join(folder, str(number)), "w"):
        pass
    if number == 1:
        raise OSError("the file server is away")


class Bowl(ClassifierMixin, BaseEstimator):
    """Scores best at x = 0.3 and k = 4; ``mood`` is what goes wrong in ``fit``."""

    fits = 0

    def __init__(self, x=0.0, k=0, mood="fine", wait=0.0):
        self.x = x
        self.k = k
        self.mood = mood
        self.wait = wait

    def fit(self, X, y, sample_weight=None, flag=None):
        Bowl.fits += 1
        if self.mood == "fails":
            raise ArithmeticError(f"cannot fit x={self.x}")
        if self.mood == "dies":
            os._exit(3)
        if self.mood == "interrupted":
            raise KeyboardInterrupt
        if self.mood == "signals":
            os.kill(os.getppid(), signal.SIGINT)
        if self.mood == "grows":
            np.ones(100_000_000)
        if self.mood in {"hangs", "signals"}:
            time.sleep(120)
        time.sleep(self.wait * np.random.default_rng().random())
        self.classes_ = np.unique(y)
        self.weights_ = sample_weight
        self.flag_ = flag
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])

    def score(self, X, y, sample_weight=None):
        return -((self.x - 0.3) ** 2) - (self.k - 4) ** 2 / 50.0 + 1e-3 * len(X)
