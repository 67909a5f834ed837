"""The sampler: everything is read from the trials of the study, each time anew."""

import math
import statistics
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from optuna import Study
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from sklearn_mvrsm import MVRSMOptimizer, SearchSpace, SpaceExhaustedError
from sklearn_mvrsm.optuna._axes import Axis, Plain, axis_of
from sklearn_mvrsm.optuna._structure import learn_conditions

__all__ = ["MVRSMSampler"]


class MVRSMSampler(BaseSampler):
    """Proposes the trials of optuna as :class:`~sklearn_mvrsm.MVRSMOptimizer` does.

    Parameters
    ----------
    seed : int or None, default=None
        With one worker, equal seeds give equal trials. None differs each time.
    n_startup_trials : int or None, default=None
        Trials at random before the surrogate is used. None: a rule of the number of
        parameters, at most 24.
    method : {"mvrsm", "paper"}, default="mvrsm"
        As for :class:`~sklearn_mvrsm.MVRSMOptimizer`.

    Raises
    ------
    ValueError
        If an argument makes no sense, or a study has several objectives.

    Notes
    -----
    Parameters are sampled together (*relative sampling*) once a trial that is complete
    has had them. Where complete trials differ in their parameters, it is learned from
    them which values of categories and integers decide that; a parameter that does not
    exist in a trial says nothing about it. What cannot be explained in this way, and
    what has had different ranges, is sampled at random (*independent sampling*), as
    is everything once a finite space has been tried in full.

    Where trials fail is learnt, and avoided. A pruned trial counts as its last
    intermediate value, but never better than the median of the complete ones.
    Running trials, of other workers too, are taken to have their predicted values.

    The sampler keeps no state but its seed: any storage will do, workers come and go,
    and a study can be resumed. The price is that each trial learns from all those
    before it anew: half a second of one core after 200 trials of 12 parameters.
    Several objectives and constraints are not supported.

    Examples
    --------
    >>> import optuna
    >>> from sklearn_mvrsm.optuna import MVRSMSampler
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> def objective(trial):
    ...     x = trial.suggest_float("x", -2.0, 2.0)
    ...     k = trial.suggest_int("k", 0, 9)
    ...     return x**2 + (k - 4) ** 2
    >>> study = optuna.create_study(sampler=MVRSMSampler(seed=0))
    >>> study.optimize(objective, n_trials=30)
    >>> study.best_params["k"]
    4
    """

    def __init__(
        self,
        *,
        seed: int | None = None,
        n_startup_trials: int | None = None,
        method: str = "mvrsm",
    ) -> None:
        for name, given in (("seed", seed), ("n_startup_trials", n_startup_trials)):
            is_int = isinstance(given, Integral) and not isinstance(given, bool)
            if given is not None and not (is_int and given >= 0):
                raise ValueError(f"{name!r} must be an int >= 0 or None, got {given!r}")
        MVRSMOptimizer({}, method=method)  # refuses an unknown method
        self._seed = _fresh_seed() if seed is None else int(seed)
        self._n_startup_trials = n_startup_trials
        self._method = method

    def reseed_rng(self) -> None:
        """Draw a new seed, as optuna asks for where threads share a sampler."""
        self._seed = _fresh_seed()

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """Return the parameters of complete trials whose conditions are understood.

        Parameters
        ----------
        study : optuna.Study
        trial : optuna.trial.FrozenTrial

        Returns
        -------
        dict of str to optuna.distributions.BaseDistribution
        """
        _refuse_several_objectives(study)
        complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        axes = _common_axes(complete)
        return {name: axes[name].distribution for name in _conditions(complete, axes)}

    def sample_relative(
        self,
        study: Study,
        trial: FrozenTrial,
        search_space: dict[str, BaseDistribution],
    ) -> dict[str, Any]:
        """Propose values for parameters that are understood together.

        Parameters
        ----------
        study : optuna.Study
        trial : optuna.trial.FrozenTrial
        search_space : dict of str to optuna.distributions.BaseDistribution

        Returns
        -------
        dict of str to object
            Without the parameters that are not expected to exist.
        """
        _refuse_several_objectives(study)
        if not search_space:
            return {}
        found = {name: axis_of(each) for name, each in sorted(search_space.items())}
        axes = {name: axis for name, axis in found.items() if axis is not None}
        trials = [
            each
            for each in study.get_trials(deepcopy=False)
            if each.number != trial.number
        ]
        history = _read(trials, axes, study.direction)
        optimizer = self._optimizer(history, trial)
        for params, value in history.told:
            optimizer.tell(params, value)
        for params in history.running:
            optimizer.enqueue(params)
            optimizer.ask()
        try:
            proposal = optimizer.ask()
        except SpaceExhaustedError:
            return {}
        return {name: axes[name].to_value(plain) for name, plain in proposal.items()}

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """Draw a value at random.

        Parameters
        ----------
        study : optuna.Study
        trial : optuna.trial.FrozenTrial
        param_name : str
        param_distribution : optuna.distributions.BaseDistribution

        Returns
        -------
        object
            A function of the seed, the trial's number and the name.
        """
        _refuse_several_objectives(study)
        seed = self._derived_seed(trial, zlib.crc32(param_name.encode()))
        return RandomSampler(seed=seed).sample_independent(
            study, trial, param_name, param_distribution
        )

    def _derived_seed(self, trial: FrozenTrial, key: int) -> int:
        sequence = np.random.SeedSequence([self._seed, trial.number, key])
        return int(sequence.generate_state(1)[0])

    def _optimizer(self, history: "_History", trial: FrozenTrial) -> MVRSMOptimizer:
        """Build an optimiser that knows nothing yet.

        As long as one worker draws initial points they come from one design; later,
        and where several do, each trial has a seed of its own.
        """

        def build(seed: int) -> MVRSMOptimizer:
            return MVRSMOptimizer(
                history.space,
                method=self._method,
                n_initial_points=self._n_startup_trials,
                random_state=seed,
            )

        optimizer = build(self._seed)
        is_design = len(history.told) < optimizer.n_initial_points
        if is_design and history.is_sequential:
            return optimizer
        return build(self._derived_seed(trial, 0))


@dataclass(frozen=True)
class _History:
    """What the trials of a study say."""

    space: SearchSpace
    told: list[tuple[Plain, float]]
    running: list[Plain]
    is_sequential: bool  # no other trial is running


def _fresh_seed() -> int:
    return int(np.random.SeedSequence().generate_state(1)[0])


def _refuse_several_objectives(study: Study) -> None:
    if len(study.directions) > 1:
        raise ValueError(
            "MVRSMSampler must be used with one objective, got a study with "
            f"{len(study.directions)}"
        )


def _common_axes(trials: Sequence[FrozenTrial]) -> dict[str, Axis]:
    """Return the axes of parameters that never changed their range, by name."""
    distributions: dict[str, BaseDistribution] = {}
    changed: set[str] = set()
    for trial in trials:
        for name, distribution in trial.distributions.items():
            if distributions.setdefault(name, distribution) != distribution:
                changed.add(name)
    axes = {name: axis_of(distributions[name]) for name in sorted(distributions.keys())}
    return {
        name: axis
        for name, axis in axes.items()
        if axis is not None and name not in changed
    }


def _plain(trial: FrozenTrial, axes: Mapping[str, Axis]) -> Plain:
    """Return the parameters of a trial that have axes and the axes' ranges."""
    return {
        name: axis.to_plain(trial.params[name])
        for name, axis in axes.items()
        if name in trial.params and trial.distributions[name] == axis.distribution
    }


def _conditions(
    complete: Sequence[FrozenTrial], axes: Mapping[str, Axis]
) -> dict[str, Any]:
    rows = [_plain(trial, axes) for trial in complete]
    return learn_conditions(rows, {name: axis.parameter for name, axis in axes.items()})


def _read(
    trials: Sequence[FrozenTrial],
    axes: Mapping[str, Axis],
    direction: StudyDirection,
) -> _History:
    complete = [each for each in trials if each.state == TrialState.COMPLETE]
    conditions = _conditions(complete, axes)
    parameters = {}
    for name in sorted(conditions):
        parameters[name] = axes[name].parameter
        for parent, wanted in conditions[name]:
            parameters[name] = parameters[name].when({parent: wanted})
    space = SearchSpace(parameters)
    own = {name: axes[name] for name in parameters}
    sign = -1.0 if direction == StudyDirection.MAXIMIZE else 1.0
    values = [_final(each, sign) for each in complete]
    median = statistics.median(values) if values else -math.inf
    told = []
    running = []
    for each in sorted(trials, key=lambda trial: trial.number):
        params = _plain(each, own)
        if not _is_whole(space, params):
            continue
        if each.state == TrialState.RUNNING:
            running.append(params)
        elif each.state != TrialState.WAITING:
            told.append((params, _value(each, sign, median)))
    is_sequential = all(each.state != TrialState.RUNNING for each in trials)
    return _History(space, told, running, is_sequential)


def _is_whole(space: SearchSpace, params: Plain) -> bool:
    """Return whether a trial has all parameters that it should have, and no others."""
    try:
        space.encode(params)
    except ValueError:
        return False
    return True


def _final(trial: FrozenTrial, sign: float) -> float:
    assert trial.value is not None
    return sign * trial.value


def _value(trial: FrozenTrial, sign: float, median: float) -> float:
    """Return what is told of a finished trial: lower is better, nan is a failure."""
    if trial.state == TrialState.COMPLETE:
        return _final(trial, sign)
    reports = trial.intermediate_values
    if trial.state == TrialState.FAIL or not reports:
        return math.nan
    return max(sign * reports[max(reports)], median)
