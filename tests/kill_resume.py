"""Kill a search at random moments, again and again, and let it go on each time.

    python tests/kill_resume.py 200

kills searches with SIGKILL 200 times in all, and checks that no finished fit is ever
lost or repeated, and that the results are those of a search that was not interrupted.
Each search runs in a forked child, which has everything imported; not on Windows.
"""

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from functools import partial

import numpy as np
import psutil
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification

from sklearn_mvrsm import Categorical, Integer, MVRSMSearchCV, Real

X, y = make_classification(40, n_features=4, random_state=0)
N_ITER, N_SPLITS, N_RANDOM = 12, 3, 10
METHODS = ("paper", "mvrsm")
N_FITS = N_ITER * N_SPLITS
REPORT = "KILL_RESUME_REPORT"  # environment variable: file with a line a fit


class Reporting(ClassifierMixin, BaseEstimator):
    """Fails for one value of ``k``; reports each fit that comes to its end."""

    def __init__(self, x=0.0, k=0, kind=None, z=0.0):
        self.x = x
        self.k = k
        self.kind = kind
        self.z = z

    def fit(self, X, y):
        time.sleep(0.03)
        self.classes_ = np.unique(y)
        with open(os.environ[REPORT], "ab", buffering=0) as file:
            file.write(b"fit\n")
        if self.k == 7:
            raise ArithmeticError("seven is a failure")
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])

    def score(self, X, y):
        bonus = self.z if self.kind is None else 0.5
        return float(-((self.x - 0.3) ** 2) - abs(self.k - 4) + bonus + X[0, 0] / 100)


def search(method, checkpoint=None, n_jobs=1):
    """Search, and return the results but for times."""
    space = {
        "x": Real(-1.0, 1.0),
        "k": Integer(0, 9),
        "kind": Categorical([None, object]),
        "z": Real(0.001, 1.0, log=True).when(kind=[None]),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fits that fail, and a torn line
        search = MVRSMSearchCV(
            Reporting(),
            space,
            n_iter=N_ITER,
            n_initial_points=N_RANDOM,
            method=method,
            cv=N_SPLITS,
            n_jobs=n_jobs,
            random_state=0,
            refit=False,
            checkpoint=checkpoint,
        ).fit(X, y)
    return {
        name: last_lines(column) if name.endswith("_error") else column
        for name, column in search.cv_results_.items()
        if "time" not in name
    }


def last_lines(texts):
    """Leave out of tracebacks where the code was, which depends on the process."""
    return [text.strip().rpartition("\n")[2] for text in texts]


def status_of(child, *, wait):
    """Return the status of a child that has ended, None while it runs."""
    pid, status = os.waitpid(child, 0 if wait else os.WNOHANG)
    return status if pid else None


def run_in_child(method, path, n_jobs, moment=None):
    """Search in a child, which is killed so many seconds after it has begun.

    Returns
    -------
    killed : bool
    seconds : float
        From its begin to its end. With processes of its own it has begun when a fit
        has ended: to start them takes far longer than all fits.
    """
    sys.stdout.flush()
    before = count_fits()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            search(method, path, n_jobs)
            code = 0
        finally:
            os._exit(code)
    status = None
    while n_jobs > 1 and count_fits() == before and status is None:
        time.sleep(0.002)
        status = status_of(child, wait=False)
    begin = time.monotonic()
    if moment is not None and status is None:
        time.sleep(moment)
        workers = psutil.Process(child).children(recursive=True)
        os.kill(child, signal.SIGKILL)
        # the fit of a worker that outlives it by a moment is not one of the next child
        assert not psutil.wait_procs(workers, 120.0)[1], "a process outlived its search"
    if status is None:
        status = status_of(child, wait=True)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the search failed"
    return os.WIFSIGNALED(status), time.monotonic() - begin


def count_fits():
    """Return how many fits have come to their end, in all children together."""
    path = os.environ[REPORT]
    return os.path.getsize(path) // len(b"fit\n") if os.path.exists(path) else 0


def finished_folds(path):
    """Return the folds of the whole lines of a journal, each with its line."""
    if not os.path.exists(path):
        return {}
    with open(path, "rb") as file:
        lines = [line for line in file if line.endswith(b"\n")]
    entries = [(json.loads(line), line) for line in lines]
    folds = [(e["candidate"], e["fold"]) for e, _ in entries if "candidate" in e]
    assert max(Counter(folds).values(), default=0) <= 1, "a finished fit was repeated"
    return dict(zip(folds, (s for e, s in entries if "candidate" in e), strict=True))


def kill_until_done(method, path, n_kills, moment, n_jobs):
    """Kill a search until it ends before its moment comes; return what was counted.

    Parameters
    ----------
    method : str
        Of the search.
    path : str
        Its checkpoint, which does not exist.
    n_kills : int
        At most so many times; then it goes on to its end.
    moment : callable
        Draws the seconds from the begin to the kill.
    n_jobs : int
        Fits at a time.
    """
    counts = Counter(searches=1)
    done = {}
    while True:
        before = count_fits()
        is_last = counts["kills"] == n_kills
        killed, _ = run_in_child(method, path, n_jobs, None if is_last else moment())
        n_fitted, known = count_fits() - before, finished_folds(path)
        assert done.items() <= known.items(), "a line was lost or altered"
        n_new = len(known) - len(done)
        # Only fits that were under way can have ended without being written: in this
        # process one, elsewhere all of two candidates while another is proposed.
        n_in_flight = n_fitted - n_new
        at_most = 1 if n_jobs == 1 else 2 * N_SPLITS
        assert n_in_flight <= killed * at_most, "a finished fit was lost"
        assert n_new <= n_fitted, "a fit was made up"
        done = known
        if not killed:
            assert len(done) == N_FITS
            return counts
        counts["kills"] += 1
        counts["fits repeated"] += n_in_flight
        counts["kills before any fit"] += not known
        counts["kills after all fits"] += len(known) == N_FITS


def kill_and_resume(n_kills, *, seed=0, n_jobs=1, methods=METHODS):
    """Kill searches ``n_kills`` times in all; return what was counted."""
    rng = random.Random(seed)
    counts = Counter()
    with tempfile.TemporaryDirectory() as folder:
        os.environ[REPORT] = os.path.join(folder, "report")
        expected, seconds = {}, {}
        for method in methods:
            expected[method] = search(method)
            path = os.path.join(folder, method)
            _, seconds[method] = run_in_child(method, path, n_jobs)
        while counts["kills"] < n_kills:
            method = methods[counts["searches"] % len(methods)]
            longest = 0.6 * seconds[method]
            path = os.path.join(folder, f"journal{counts['searches']}")
            n_left = n_kills - counts["kills"]
            counts += kill_until_done(
                method, path, n_left, partial(rng.uniform, 0.0, longest), n_jobs
            )
            before = count_fits()
            found = search(method, path)
            assert count_fits() == before, "a search that was done fitted again"
            np.testing.assert_equal(found, expected[method])
    return counts


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Kill and resume searches.")
    parser.add_argument("kills", type=int, help="how many times")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    parser.add_argument("--n-jobs", type=int, default=1, help="fits at a time")
    options = parser.parse_args()
    began = time.monotonic()
    counted = kill_and_resume(options.kills, seed=options.seed, n_jobs=options.n_jobs)
    print(dict(counted), f"{time.monotonic() - began:.0f} s")
