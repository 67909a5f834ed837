"""What test_faults.py runs, each function in a process of its own.

Each prints one line of JSON with what it saw.
"""

import contextlib
import json
import multiprocessing.shared_memory
import os
import pickle
import signal
import statistics
import subprocess
import sys
import threading
import time
from functools import partial

import numpy as np
from estimators import (
    Constant,
    Copied,
    Misbehaving,
    die_among_strangers,
    exit_code,
    grow,
    lock_score,
    n_strangers,
    segfault,
    stuck_among_strangers,
    stuck_nested,
    sum_nested,
    worker_pid,
)
from sklearn.datasets import load_iris
from sklearn.metrics import get_scorer
from sklearn.model_selection import StratifiedKFold

from sklearn_mvrsm import MVRSMSearchCV, Real
from sklearn_mvrsm._evaluation.evaluator import Evaluator
from sklearn_mvrsm._evaluation.fold_fit import FitJob
from sklearn_mvrsm._evaluation.mapped_arrays import reduce_array
from sklearn_mvrsm._execution.child import encode_task
from sklearn_mvrsm._execution.outcomes import Returned
from sklearn_mvrsm._execution.payload import PayloadFile, read_payload
from sklearn_mvrsm._execution.worker_pool import WorkerPool

X, Y = load_iris(return_X_y=True)
PATIENCE = 300.0
SPLITS = list(StratifiedKFold(2).split(X, Y))


def tell(**seen):
    print(json.dumps(seen), flush=True)


def evaluate(evaluator, candidates):
    """Evaluate candidates on one fold each; return a list of their scores."""
    for k, params in enumerate(candidates):
        evaluator.submit(k, params, [0])
    return drained(evaluator)


def drained(evaluator):
    """Return the scores of the candidates that were submitted, in their order."""
    scores = {}
    while (score := evaluator.next_event(PATIENCE)) is not None:
        scores[score.candidate] = score
    return [scores[k] for k in sorted(scores)]


def job(estimator, scorer=worker_pid, X=X):
    return FitJob(estimator, X, Y, SPLITS, scorer)


def events(pool):
    """Return what became of the tasks of a pool."""
    found = {}
    while (event := pool.next_event(PATIENCE)) is not None:
        found[event.task_id] = event
    return found


def until_ready(pool):
    """Wait until the slots of a pool and its spare are ready."""
    while not pool._spare.is_ready:
        pool._start_seconds = PATIENCE  # so that one is due long before a limit
        pool.submit("nap", time.sleep, 0.05, timeout=PATIENCE)
        events(pool)


# ------------------------------------------------------------------ faults of fits


def fits():
    """Stuck, crashing and failing fits, each beside a fit that is well."""
    from xgboost import XGBClassifier

    faults = [
        "value_error",
        "system_exit",
        "unpicklable_error",
        "raised_from_itself",
        "unpicklable_panic",
        "syntax_error_of_bytes",
        "broken_attributes",
        "close_files",
        "stuck_xgboost",
        "stuck_svc",
        "ignore_sigterm",
        "segfault",
        "exit_code",
        "sigkill",
    ]
    # A parameter that brings xgboost: the workers import it before they are ready.
    template = Misbehaving(level=XGBClassifier)
    late = ("stuck_xgboost", "stuck_svc", "ignore_sigterm")
    with Evaluator(job(template), n_jobs=2, timeout=PATIENCE) as evaluator:
        before = {}  # process by slot
        while len(before) < 2:
            for score in evaluate(evaluator, [{"seconds": 0.05}] * 2):
                before[score.slot] = score.test_scores["score"]
        rows = []
        for fault in faults:
            evaluator._timeout = 2.0 if fault in late else PATIENCE
            evaluator.submit(0, {"fault": fault}, [0])
            evaluator._timeout = PATIENCE
            evaluator.submit(1, {"seconds": 0.2}, [0])
            broken, well = drained(evaluator)
            rows.append((fault, broken.status, broken.fit_time, well.status))
            if fault == "broken_attributes":
                after = evaluate(evaluator, [{"seconds": 0.05}] * 4)
    same = [before[score.slot] == score.test_scores["score"] for score in after]
    tell(rows=rows, workers_went_on=all(same))


def memory():
    """Fits that ask for too much memory, in Python and in C++; a score that is none."""
    with Evaluator(job(Misbehaving()), memory_limit=500_000_000) as evaluator:
        names = ["ask_numpy_for_memory", "ask_xgboost_for_memory"]
        scores = evaluate(evaluator, [{}, *({"fault": n} for n in names), {}])
    with Evaluator(job(Constant(), scorer=lock_score), killable=True) as evaluator:
        evaluator.submit(0, {}, [0])
        try:
            evaluator.next_event()
        except ValueError as error:
            refusal = str(error)
        alive = evaluator._pool._slots[0].worker.is_alive
    tell(
        statuses=[s.status for s in scores],
        errors=[s.error[-300:] for s in scores],
        worker_went_on=scores[0].test_scores == scores[-1].test_scores,
        refusal=refusal,
        alive_after_refusal=alive,
    )


# ------------------------------------------------------------------ workers


def growth():
    """Loky would replace a worker that grew, and charge it to the next fit."""
    try:
        import psutil  # noqa: F401  (whether it is there is all that matters)
    except ImportError:
        psutil_there = False
    else:
        psutil_there = True
    with WorkerPool(1) as pool:
        pool.submit("before", os.getpid)
        pool.submit("grow", grow)
        pool.submit("small", time.sleep, 0.01, timeout=PATIENCE)
        pool.submit("again", time.sleep, 0.01, timeout=PATIENCE)
        pool.submit("after", os.getpid)
        found = events(pool)
    tell(
        psutil=psutil_there,
        small=[str(found[name].outcome) for name in ("small", "again")],
        same_worker=found["before"].outcome == found["after"].outcome,
    )


def killed_workers():
    """A worker is killed by somebody else: busy, idle, as the spare."""
    with WorkerPool(1) as pool:
        until_ready(pool)
        spare = pool._spare.workers[0]._process.pid
        pool.submit("busy", lambda: os.kill(os.getpid(), signal.SIGKILL))
        busy = events(pool)["busy"]
        pool.submit("next", os.getpid)
        took_over = events(pool)["next"].outcome == Returned(spare)
        for name in ("idle", "spare"):
            until_ready(pool)
            idle, spare = pool._slots[0].worker, pool._spare.workers[0]
            worker = idle if name == "idle" else spare
            os.kill(worker._process.pid, signal.SIGKILL)
            while worker.is_alive:
                time.sleep(0.01)
            if name == "spare":
                pool.submit("late", time.sleep, 60, timeout=0.1)
            pool.submit(name, os.getpid)
            outcome = events(pool)[name].outcome
            assert isinstance(outcome, Returned), outcome
    tell(busy=str(busy.outcome), took_over=took_over)


def nested():
    """A stuck fit with processes of its own is late; another ends well."""
    folder, temporary = sys.argv[2], os.environ["JOBLIB_TEMP_FOLDER"]
    with WorkerPool(1) as pool:
        until_ready(pool)
        pool.submit("stuck", stuck_nested, folder, timeout=1000.0)
        while n_nested(folder) < 2:
            pool.next_event(0.05)
        shared = os.listdir(temporary)
        pool._slots[0].run.deadline = time.monotonic()
        event = events(pool)["stuck"]
        names = [name for name in os.listdir(folder) if name.startswith("nested-")]
        pids = [int(name.removeprefix("nested-")) for name in names]
        left = [pid for pid in pids if is_running(pid)] + os.listdir(temporary)
        pool.submit("well", sum_nested)
        well = events(pool)["well"].outcome == Returned(4.0)
    tell(
        outcome=type(event.outcome).__name__,
        grandchildren=len(pids),
        shared=bool(shared),
        left=left,
        well=well,
    )


def strangers():
    """Fits that start processes which get away, and are late or die."""
    folder = sys.argv[2]
    late = (folder, "session", "deaf", "stopped", "many", "replaced")
    with WorkerPool(1) as pool:
        seen = {}
        pool.submit("late", stuck_among_strangers, *late, timeout=1000.0)
        while n_nested(folder) < 1:
            pool.next_event(0.05)
        pool._slots[0].run.deadline = time.monotonic()
        seen["late"] = str(events(pool)["late"].outcome)
        left = {"late": strangers_left(folder)}
        pool.submit("dead", die_among_strangers, folder)
        seen["dead"] = str(events(pool)["dead"].outcome)
        left["dead"] = strangers_left(folder)
        pool.submit("next", os.getppid)
        seen["next"] = events(pool)["next"].outcome.value == os.getpid()
    tell(**seen, left=left, n=n_strangers(folder))


def strangers_left(folder):
    """Which of the processes that noted themselves are there, if need be in a copy."""
    found = []
    for name in os.listdir(folder):
        if name.startswith("stranger-"):
            _, pid, kind = name.split("-")
            path = os.path.join(folder, name)
            noted = os.path.getmtime(path)
            time.sleep(0.3 * (kind == "replaced"))
            if is_running(int(pid)) or os.path.getmtime(path) != noted:
                found.append(kind)
    return found


def share(folder, ending):
    """Share by all means with processes of one's own; end as asked for."""
    from joblib import Parallel, delayed

    kept = multiprocessing.shared_memory.SharedMemory(create=True, size=1_000_000)
    semaphore = multiprocessing.get_context("spawn").Semaphore()
    multiprocessing.get_context("fork").Manager()
    names = [kept._name, "/sem." + semaphore._semlock.name.strip("/")]
    data = np.ones(2_000_000)
    Parallel(n_jobs=2)(delayed(np.sum)(data) for _ in range(4))
    with open(os.path.join(folder, "shared"), "w") as file:
        json.dump([os.getpid(), names], file)
    if ending == "late":
        Parallel(n_jobs=2)(delayed(time.sleep)(100 + 0 * data[0]) for _ in range(2))
    if ending == "crash":
        os._exit(3)


def shared():
    """Fits that share with processes of their own, and end in several ways."""
    folder, left = sys.argv[2], {}
    path = os.path.join(folder, "shared")
    for ending in ("well", "late", "crash", "closed"):
        with WorkerPool(1) as pool:
            how = "late" if ending == "closed" else ending
            pool.submit("fit", share, folder, how, timeout=1000.0)
            while not os.path.exists(path):
                pool.next_event(0.05)
            if ending == "late":
                pool._slots[0].run.deadline = time.monotonic()
            if ending != "closed":
                events(pool)
            if ending == "well":  # it goes with its process
                pool.submit("next", os.getpid)
                events(pool)
        with open(path) as file:
            pid, names = json.load(file)
        os.remove(path)
        mine = [f"/{n}" for n in os.listdir("/dev/shm") if f"sem.loky-{pid}-" in n]
        there = [name for name in names if os.path.exists(f"/dev/shm{name}")]
        left[ending] = mine + there + os.listdir(os.environ["TMPDIR"])
    tell(left=left)


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def stopped():
    """A search is stopped and goes on, again and again."""
    found = MVRSMSearchCV(
        Misbehaving(folder=sys.argv[2], seconds=0.3),
        {"level": Real(0.0, 1.0)},
        n_iter=20,
        cv=2,
        n_jobs=2,
        fit_timeout=3.9,  # a fit may stand still for three seconds of it
        random_state=0,
    ).fit(X, Y)
    tell(statuses=list(found.cv_results_["status"]))


def terminal():
    """Fits that use a terminal which stops processes in the background for it."""
    import pty
    import termios

    pid, terminal = pty.fork()
    if pid:
        with (
            open(terminal, "rb", closefd=False) as screen,
            contextlib.suppress(OSError),
        ):
            for line in screen:  # an error is the end of the other side
                print(line.decode().strip(), flush=True)
        os.waitpid(pid, 0)
        return
    attributes = termios.tcgetattr(0)
    attributes[3] |= termios.TOSTOP
    termios.tcsetattr(0, termios.TCSANOW, attributes)
    with WorkerPool(1) as pool:
        pool.submit("prints", partial(print, "printed by a fit", flush=True))
        pool.submit(
            "child prints", subprocess.check_call, ["echo", "printed by a child"]
        )
        pool.submit("reads", os.read, 0, 1)
        pool.submit("asks", input)
        pool.submit("opens", read_terminal)
        pool.submit("child reads", subprocess.check_output, ["head", "-c1"])
        found = {name: event.outcome for name, event in events(pool).items()}
    tell(**{name: type(outcome).__name__ for name, outcome in found.items()})


def read_terminal():
    with open("/dev/tty") as file:
        return file.readline()


def copies():
    """Fits that fork, where the copy leaves the fit as well: fails there, or ends."""
    seen = {}
    for n_jobs in (1, 2):
        found = MVRSMSearchCV(
            Copied(folder=sys.argv[2]),
            {"ending": ["returns", "raises", "exits"]},
            n_iter=3,
            cv=2,
            n_jobs=n_jobs,
            random_state=0,
        ).fit(X, Y)
        seen[n_jobs] = list(found.cv_results_["status"])
    print("the script goes on", flush=True)
    tell(statuses=seen, copies=os.listdir(sys.argv[2]))


def slow_import():
    """The import of the estimator takes its time, and says when it has ended."""
    sys.path.insert(0, sys.argv[2])
    with open(os.path.join(sys.argv[2], "slow_to_import.py"), "w") as file:
        file.write("import time\ntime.sleep(0.1)\nfrom estimators import Constant\n")
        file.write("class Slow(Constant):\n    pass\nended = time.monotonic()\n")
    from slow_to_import import Slow, ended

    with Evaluator(job(Slow(), when_imported), killable=True) as evaluator:
        (score,) = evaluate(evaluator, [{}])
    imported = score.test_scores["score"]
    big_data(in_worker=imported > ended, before_fit=imported <= score.started)


def when_imported(estimator, X, y):
    return sys.modules["slow_to_import"].ended


# ------------------------------------------------------------------ costs


def look_at(path):
    """Touch the data that the worker has mapped."""
    return float(mapped(path)[0, 0])


_mapped = {}


def mapped(path):
    if path not in _mapped:
        _mapped[path] = read_payload(path)
    return _mapped[path]


def big_data(**seen):
    """Fits of next to no work on a matrix of 200 MB, a part of a larger one."""
    import psutil

    data = np.ones((25_000_000 // 50, 51))[:, :-1]
    with (
        PayloadFile(data, partial(reduce_array, by_path=True)) as file,
        WorkerPool(1, setup=partial(mapped, file.path)) as pool,
    ):
        pool.submit("warm", look_at, file.path)
        events(pool)
        seconds = []
        for k in range(50):
            start = time.monotonic()
            pool.submit(k, look_at, file.path)
            assert events(pool)[k].outcome == Returned(1.0)
            seconds.append(time.monotonic() - start)
        size = os.path.getsize(file.path)
        worker = pool._slots[0].worker
        back = len(pickle.dumps(worker.ready.result()))
        own = psutil.Process(worker._process.pid).memory_full_info().uss
    tell(
        **seen,
        megabytes_in_file=size / 1e6,
        bytes_back_from_setup=back,
        megabytes_of_the_worker=own / 1e6,
        bytes_a_task=len(encode_task(look_at, (file.path,))),
        fastest_ms=1e3 * min(seconds),
        median_ms=1e3 * statistics.median(seconds),
    )


def cpu_time():
    """CPU time of many short fits, beside that of RandomizedSearchCV; pools warm."""
    import psutil
    from scipy.stats import loguniform
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import RandomizedSearchCV

    rng = np.random.default_rng(0)
    data = rng.normal(size=(2000, 27))
    target = rng.integers(0, 3, 2000) + (data[:, 0] > 0)
    splits = list(StratifiedKFold(5).split(data, target))
    values = list(loguniform(1e-3, 1e3).rvs(25, random_state=0))
    me = psutil.Process()

    def cpu():
        times = [p.cpu_times() for p in [me, *me.children(recursive=True)]]
        return sum(t.user + t.system for t in times)

    def peer(values):
        RandomizedSearchCV(
            LogisticRegression(),
            {"C": values},
            n_iter=len(values),
            cv=splits,
            n_jobs=2,
            refit=False,
            random_state=0,
        ).fit(data, target)

    def ours(values):
        for k, value in enumerate(values):
            evaluator.submit(k, {"C": value}, range(5))
        while evaluator.next_event() is not None:
            pass

    fits = FitJob(LogisticRegression(), data, target, splits, get_scorer("accuracy"))
    spent = {"peer": [], "ours": []}
    with Evaluator(fits, n_jobs=2) as evaluator:
        for run in (peer, ours):
            run(values[:4])
        for run in (peer, ours) * 5:
            start = cpu()
            run(values)
            spent[run.__name__].append(cpu() - start)
    # Whatever else runs on the machine adds to the time of a round, and never takes.
    tell(ratio=min(spent["ours"]) / min(spent["peer"]), **spent)


# ------------------------------------------------------------------ ends


def search(folder, fault="stuck_nested", **limits):
    """A search whose third and fourth candidates are stuck, with nested workers."""
    stuck = {"fault": fault}
    return MVRSMSearchCV(
        Misbehaving(folder=folder),
        {"fault": [None, fault], "level": [0.0, 1.0]},
        initial_points=[
            {"fault": None, "level": 0.0},
            {"fault": None, "level": 1.0},
            {**stuck, "level": 0.0},
            {**stuck, "level": 1.0},
        ],
        n_iter=4,
        n_jobs=2,
        cv=2,
        random_state=0,
        **limits,
    )


def interrupted(**limits):
    """A search in which two fits hang until somebody interrupts it."""
    found = search(sys.argv[2], **limits)
    try:
        found.fit(X, Y)
    except KeyboardInterrupt:
        tell(
            statuses=list(found.cv_results_["status"]),
            scores=list(found.cv_results_["mean_test_score"]),
            best=found.best_params_,
            best_score=found.best_score_,
        )


def locked():
    """The same where the fits hold Python's lock, and their processes get away."""
    interrupted(fault="stuck_among_strangers")


def interrupted_with_spare():
    """The same with a spare that nobody uses."""
    interrupted(fit_memory_limit=2**40)  # with a limit of memory there always is one


IN_A_KERNEL = (
    """
import sys
from fault_scripts import X, Y, search, tell
found = search("FOLDER")
found.fit(X, Y)
""",
    """
tell(
    statuses=list(found.cv_results_["status"]),
    scores=list(found.cv_results_["mean_test_score"]),
    best=found.best_params_,
    best_score=found.best_score_,
)
""",
)


def interrupted_kernel():
    """The same in a notebook, whose kernel is interrupted; a cell follows."""
    import nbformat
    from jupyter_client.utils import run_sync
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    folder = sys.argv[2]
    cells = [
        nbformat.v4.new_code_cell(code.replace("FOLDER", folder))
        for code in IN_A_KERNEL
    ]
    notebook = nbformat.v4.new_notebook(cells=cells)
    client = NotebookClient(notebook, timeout=200, kernel_name="python3")

    def interrupt():
        while n_noted(folder, "hangs") < 2 or n_nested(folder) < 2:
            time.sleep(0.05)
        run_sync(client.km.interrupt_kernel)()

    with client.setup_kernel():
        threading.Thread(target=interrupt, daemon=True).start()
        ended = ""
        try:
            client.execute_cell(cells[0], 0)
        except CellExecutionError as error:
            ended = error.ename
        if ended != "KeyboardInterrupt":
            raise AssertionError(f"the first cell ended with {ended!r}")
        client.execute_cell(cells[1], 1)
    outputs = [*cells[0].outputs, *cells[1].outputs]
    for name in ("stdout", "stderr"):
        texts = [each.text for each in outputs if each.get("name") == name]
        print("".join(texts), file=getattr(sys, name))


def n_nested(folder):
    return n_noted(folder, "nested")


def n_noted(folder, kind):
    return sum(name.startswith(kind) for name in os.listdir(folder))


def failing_block(end=lambda: 1 / 0, fault="stuck_nested"):
    """The code around the fits raises while two of them hang."""
    with Evaluator(job(Misbehaving(folder=sys.argv[2])), n_jobs=2) as evaluator:
        for k in range(2):
            evaluator.submit(k, {"fault": fault}, [0])
        while n_nested(sys.argv[2]) < 2:
            evaluator.next_event(0.05)
        end()


def dying_block():
    """The code around the fits is not even left."""
    failing_block(segfault, "stuck_among_strangers")


def leaving_block():
    """The code around the fits ends the program, and nothing is cleaned up."""
    failing_block(exit_code, "stuck_among_strangers")


# ------------------------------------------------------------------ places


def probe(_):
    """Run a pool where this is: what became of a good and of a stuck task."""
    with WorkerPool(1) as pool:
        pool.submit("good", os.getpid)
        pool.submit("stuck", time.sleep, 60, timeout=0.5)
        pool.submit("next", os.getpid)
        found = events(pool)
    return [type(found[name].outcome).__name__ for name in ("good", "stuck", "next")]


def inside():
    """Inside workers of others, with OpenMP used in the parent first."""
    from joblib import Parallel, delayed
    from xgboost import XGBClassifier

    XGBClassifier(n_estimators=5).fit(X, Y)
    with Evaluator(job(XGBClassifier(n_estimators=5)), killable=True) as evaluator:
        scores = evaluate(evaluator, [{}, {}])
    seen = {"openmp first": [s.status for s in scores]}
    for backend in ("loky", "multiprocessing", "threading"):
        (seen[backend],) = Parallel(n_jobs=2, backend=backend)(
            [delayed(probe)(backend)]
        )
    tell(seen=seen)


def dask():
    """Inside a dask worker, which is daemonic."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as one,
        Client(one) as client,
    ):
        client.run(lambda path: sys.path.insert(0, path), os.path.dirname(__file__))
        seen = client.submit(probe, None).result(PATIENCE)
    tell(seen=seen)


if __name__ == "__main__":
    for number in (signal.SIGHUP, signal.SIGQUIT):  # under nohup, in the background
        signal.signal(number, signal.SIG_DFL)
    globals()[sys.argv[1]]()
