"""Laws of the limit on BLAS's threads."""

import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from sklearn_mvrsm import MVRSMOptimizer, Real
from sklearn_mvrsm._optimizer.blas import single_threaded


def n_threads():
    """Of each BLAS that is loaded."""
    infos = [each for each in threadpool_info() if each["user_api"] == "blas"]
    if not infos:
        pytest.skip("threadpoolctl knows no BLAS here, such as Accelerate on macOS")
    return {each["num_threads"] for each in infos}


@pytest.fixture(autouse=True)
def _two_threads():
    with threadpool_limits(2, user_api="blas"):
        yield


def test_within_a_block_there_is_one_thread_and_afterwards_as_many_as_before():
    before = n_threads()
    with single_threaded():
        assert n_threads() == {1}
        with single_threaded():
            assert n_threads() == {1}
        assert n_threads() == {1}
    assert n_threads() == before == {2}


def test_an_error_takes_the_limit_away():
    with pytest.raises(ZeroDivisionError), single_threaded():
        raise ZeroDivisionError
    assert n_threads() == {2}


def test_blocks_of_several_threads_come_one_after_the_other():
    inside, most = [], []

    def work():
        for _ in range(50):
            with single_threaded():
                inside.append(None)
                time.sleep(0.0005)  # another thread has its chance
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 200
    assert n_threads() == {2}  # nothing is left behind


def test_all_that_is_computed_is_computed_with_one_thread(monkeypatch):
    optimizer = MVRSMOptimizer({"x": Real(0.0, 1.0)}, n_initial_points=4)
    seen = []
    for name in ("observe", "propose", "predict"):
        method = getattr(optimizer._method, name)

        def spy(*args, method=method, name=name):
            seen.append((name, n_threads()))
            return method(*args)

        monkeypatch.setattr(optimizer._method, name, spy)
    for _ in range(4):
        params = optimizer.ask()
        optimizer.tell(params, params["x"])
    optimizer.ask()
    optimizer.predict(np.array([[0.5]]))
    assert [name for name, _ in seen] == ["observe"] * 4 + ["propose", "predict"]
    assert all(counts == {1} for _, counts in seen)
    assert n_threads() == {2}
