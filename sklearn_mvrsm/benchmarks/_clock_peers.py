"""Searches by others, each a function of a task, its meter and a seed.

They fit ``task.model`` on ``task.folds``, score it by `score_or_stop`, and end with the
compute. Optuna and SMAC are told the conditions of the space.
"""

import functools
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import RandomizedSearchCV, StratifiedKFold
from sklearn.utils import resample

from sklearn_mvrsm import SearchSpace
from sklearn_mvrsm.benchmarks._kinds import Kind
from sklearn_mvrsm.benchmarks._metered import FitMeter, Model, score_or_stop
from sklearn_mvrsm.benchmarks._optional import require
from sklearn_mvrsm.benchmarks._peer_optuna import suggest_active
from sklearn_mvrsm.benchmarks._peer_smac import configuration_space, smac_params
from sklearn_mvrsm.benchmarks._problem import Params
from sklearn_mvrsm.benchmarks._tuning import FOLDS, Data, kind_and_set, load
from sklearn_mvrsm.benchmarks._variables import Variable, active, variables_of

__all__ = ["PEERS", "Task"]

LEAST_ROWS = 1 / 9  # share of a fold's, from which SMAC's candidates begin
MORE = 10  # times as many may be begun: some are pruned, small or cheap
CHEAP = {"n_estimators", "num_leaves", "max_depth"}  # at their lower bounds, for FLAML


@dataclass(frozen=True)
class Task:
    """What is searched: a pair of a kind of model and a data set.

    ``most`` is the number of candidates, if the compute does not end a search before.
    """

    kind: Kind
    data: Data
    space: SearchSpace
    model: Model
    folds: list[Any]
    most: int

    @classmethod
    def of(cls, pair: str, rows: int, most: int) -> Self:
        """Return the task of ``kind-set``, of which so many rows are tuned on."""
        kind, data_set = kind_and_set(pair)
        data = load(data_set, rows)
        space = kind.space(*data.X.shape)
        usual = kind.usual(data.X.shape[1])
        model = Model(kind, **{each: usual.get(each) for each in space})
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
        listed = list(folds.split(data.X, data.y))
        return cls(kind, data, SearchSpace(space), model, listed, most)

    def scores(self, params: Params, share: float = 1.0) -> Iterator[float]:
        """Yield the score on each fold, of a share of its rows drawn by class."""
        X, y = self.data.X, self.data.y
        model = clone(self.model).set_params(**params)
        for train, test in self.folds:
            kept = train
            if share < 1.0:
                n = max(round(share * len(train)), len(np.unique(y)))
                options = {"replace": False, "n_samples": n, "random_state": 0}
                kept = resample(train, stratify=y[train], **options)
            fitted = clone(model).fit(X[kept], y[kept])
            yield score_or_stop(fitted, X[test], y[test])

    def loss(self, params: Params, share: float = 1.0) -> float:
        """Return the mean loss over the folds; infinite where a fit fails."""
        try:
            return -float(np.mean([*self.scores(params, share)]))
        except Exception:  # as searches that go on
            return np.inf


def randomized(task: Task, meter: FitMeter, seed: int) -> None:
    """Search by ``RandomizedSearchCV``."""
    _theirs(RandomizedSearchCV, task, seed, n_iter=task.most)


def halving(task: Task, meter: FitMeter, seed: int) -> None:
    """Search by ``HalvingRandomSearchCV``, the last candidates on all rows."""
    require("sklearn.experimental.enable_halving_search_cv", "scikit-learn")
    from sklearn.model_selection import HalvingRandomSearchCV

    options = {"n_candidates": task.most // 3, "min_resources": "exhaust"}
    _theirs(HalvingRandomSearchCV, task, seed, **options)


def _theirs(search: Any, task: Task, seed: int, **options: Any) -> None:
    """Run a search of scikit-learn over random params, as they know no conditions."""
    drawn = task.space.sample(task.most, random_state=seed)
    search(
        task.model,
        [{name: [value] for name, value in params.items()} for params in drawn],
        scoring=score_or_stop,
        cv=task.folds,
        refit=False,
        return_train_score=False,  # halving would score, and count, these as well
        random_state=seed,
        **options,
    ).fit(task.data.X, task.data.y)


def tpe(task: Task, meter: FitMeter, seed: int, *, pruner: str = "Nop") -> None:
    """Search by Optuna's TPE, perhaps with one of its pruners after each fold."""
    optuna = require("optuna", "optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    options = {"max_resource": FOLDS} if pruner == "Hyperband" else {}
    variables = variables_of(task.space)
    study = optuna.create_study(
        sampler=optuna.samplers.TPESampler(seed=seed),
        pruner=getattr(optuna.pruners, f"{pruner}Pruner")(**options),
        direction="maximize",
    )

    def objective(trial: Any) -> float:
        scores: list[float] = []
        for value in task.scores(suggest_active(trial, variables)):
            scores.append(value)
            trial.report(float(np.mean(scores)), len(scores))
            if len(scores) < FOLDS and trial.should_prune():
                raise optuna.TrialPruned
        return float(np.mean(scores))

    study.optimize(objective, n_trials=MORE * task.most, catch=(Exception,))


def flaml(task: Task, meter: FitMeter, seed: int, *, searcher: str = "CFO") -> None:
    """Search by a searcher of FLAML, told the seconds. The naive encoding."""
    tune = require("flaml.tune", "flaml")
    if searcher == "BlendSearch":
        optuna = require("optuna", "optuna")
        optuna.logging.set_verbosity(optuna.logging.ERROR)
    searchers = require("flaml.tune.searcher.blendsearch", "flaml")
    variables = variables_of(task.space)
    cheap = [v for v in variables if v.name.rpartition("__")[2] in CHEAP]
    optimizer = getattr(searchers, searcher)(
        metric="loss",
        mode="min",
        space={v.name: _flaml_domain(tune, v) for v in variables},
        low_cost_partial_config={v.name: int(v.low) for v in cheap},
        cost_attr="seconds",
        seed=seed,
    )
    for k in range(MORE * task.most):
        config = optimizer.suggest(str(k))
        if config is None:  # it has none to propose
            continue
        full = {v.name: v.value(config[v.name]) for v in variables}
        used, loss = meter.used, task.loss(active(variables, full))
        result = {"loss": loss, "seconds": meter.used - used, "config": config}
        optimizer.on_trial_complete(str(k), result)


def _flaml_domain(tune: Any, v: Variable) -> object:
    if v.kind == "category":
        return tune.choice(list(range(v.size)))
    if v.kind == "real":
        return (tune.loguniform if v.log else tune.uniform)(v.low, v.high)
    return (tune.lograndint if v.log else tune.randint)(int(v.low), int(v.high) + 1)


def smac(task: Task, meter: FitMeter, seed: int) -> None:
    """Search by SMAC's facade for several fidelities: shares of the rows."""
    module = require("smac", "smac")
    variables = variables_of(task.space)
    with tempfile.TemporaryDirectory() as directory:
        scenario = module.Scenario(
            configuration_space(variables, seed),
            deterministic=True,
            n_trials=MORE * task.most,
            min_budget=LEAST_ROWS,
            max_budget=1.0,
            seed=seed,
            output_directory=directory,
        )
        optimizer = module.MultiFidelityFacade(
            scenario,
            lambda config, seed, budget: 0.0,  # never called: values are told
            logging_level=False,
            overwrite=True,
        )
        for _ in range(MORE * task.most):
            asked = optimizer.ask()
            loss = task.loss(smac_params(asked.config, variables), asked.budget)
            optimizer.tell(asked, module.runhistory.TrialValue(cost=loss))


PEERS: dict[str, Callable[[Task, FitMeter, int], None]] = {
    "random": randomized,
    "halving": halving,
    "tpe": tpe,
    "tpe-median": functools.partial(tpe, pruner="Median"),
    "tpe-hyperband": functools.partial(tpe, pruner="Hyperband"),
    "cfo": flaml,
    "blendsearch": functools.partial(flaml, searcher="BlendSearch"),
    "smac": smac,
}
