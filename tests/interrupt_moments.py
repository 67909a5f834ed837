"""Press Ctrl-C at random moments of a search.

    python tests/interrupt_moments.py 50

interrupts so many searches with two workers, each at another moment between its start
and its end, some of them twice, and checks that each ends with ``KeyboardInterrupt``,
knows what had finished, and leaves no process behind. Each search runs in a forked
child, which has everything imported; not on Windows.
"""

import argparse
import itertools
import os
import random
import signal
import sys
import threading
import time
import warnings
from collections import Counter

import numpy as np
from estimators import Constant
from sklearn.datasets import load_iris

from sklearn_mvrsm import MVRSMSearchCV, Real

X, y = load_iris(return_X_y=True)
N_ITER, N_SPLITS = 12, 2
LOST, WRONG, LEFT = 3, 4, 5  # exit codes


def search():
    return MVRSMSearchCV(
        Constant(seconds=0.02),
        {"level": Real(0.0, 1.0)},
        scoring=by_level,
        n_iter=N_ITER,
        n_initial_points=6,
        cv=N_SPLITS,
        n_jobs=2,
        fit_timeout=12.0,  # so short that there is a spare
        random_state=0,
    )


def by_level(estimator, X, y):
    return -((estimator.level - 0.3) ** 2)


def has_sound_results(found):
    """Return whether a search knows what it has finished, and nothing else."""
    if not hasattr(found, "cv_results_"):
        return not hasattr(found, "best_params_")
    results = found.cv_results_
    folds = [results[f"split{k}_test_score"] for k in range(N_SPLITS)]
    best = int(np.argmax(results["mean_test_score"]))
    return (
        0 < len(results["params"]) <= N_ITER
        and set(results["status"]) == {"ok"}
        and np.isfinite(folds).all()
        and found.best_params_ == results["params"][best]
        and found.best_score_ == results["mean_test_score"][best]
    )


def workers_left(seconds=120.0):
    """Return whether any process of a fit is there after so long.

    One that is still importing sees late that nobody wants it any more.
    """
    import psutil

    end = time.monotonic() + seconds
    while any("popen_loky" in " ".join(p.cmdline()) for p in _children(psutil)):
        if time.monotonic() > end:
            return True
        time.sleep(0.05)
    return False


def _children(psutil):
    found = psutil.Process().children(recursive=True)
    return [p for p in found if p.is_running() and p.status() != "zombie"]


def interrupted_search(moments):
    """Search, press at the moments; return the exit code of this process."""
    began = time.monotonic()

    def press():
        for moment in moments:
            time.sleep(max(began + moment - time.monotonic(), 0.0))
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press, daemon=True)
    found, ended = search(), 0
    try:
        try:
            thread.start()
            found.fit(X, y)
            ended = 1  # before anybody pressed, or else it is lost
            thread.join()
            time.sleep(1.0)
            return LOST
        except KeyboardInterrupt:
            pass
        thread.join()
        time.sleep(0.2)
    except KeyboardInterrupt:  # the second
        pass
    if not has_sound_results(found):
        return WRONG
    return LEFT if workers_left() else ended


def interrupt_at_moments(n, seed=0):
    """Interrupt so many searches; return how many ended early, and how many whole.

    There are more where all of these ended before their moments came.
    """
    rng = random.Random(seed)
    began = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search().fit(X, y)
    whole = time.monotonic() - began
    counted = Counter()
    for k in itertools.count():
        if k >= n and counted["interrupted"]:
            return counted
        began = time.monotonic()
        moments = [rng.uniform(0.0, whole)]
        if k % 3 == 2:
            moments.append(moments[0] + rng.uniform(0.0, 0.3))
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                code = 2
                code = interrupted_search(moments)
            finally:
                os._exit(10 + code)
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status) - 10
        assert code in (0, 1), (moments, code)
        counted["whole" if code else "interrupted"] += 1
        if code:  # the first one took longer, as it may on a busy machine
            whole = min(whole, time.monotonic() - began)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Interrupt searches.")
    parser.add_argument("times", type=int, help="how many")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    options = parser.parse_args()
    print(dict(interrupt_at_moments(options.times, options.seed)))
