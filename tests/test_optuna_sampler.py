import ast
import itertools
import math
import pickle
import re
import statistics
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from sklearn_mvrsm import Categorical, Integer, Real

MISSING = "optuna is not installed"
optuna = pytest.importorskip("optuna", reason=MISSING)
suite = pytest.importorskip(
    "optuna.testing.pytest_samplers",
    reason="this optuna does not ship its tests of samplers",
)
package = pytest.importorskip("sklearn_mvrsm.optuna", reason=MISSING)
axes = pytest.importorskip("sklearn_mvrsm.optuna._axes", reason=MISSING)
structure = pytest.importorskip("sklearn_mvrsm.optuna._structure", reason=MISSING)

CategoricalDistribution = optuna.distributions.CategoricalDistribution
FloatDistribution = optuna.distributions.FloatDistribution
IntDistribution = optuna.distributions.IntDistribution
MVRSMSampler = package.MVRSMSampler
axis_of = axes.axis_of
learn_conditions = structure.learn_conditions

optuna.logging.set_verbosity(optuna.logging.ERROR)


class OurSampler:
    @pytest.fixture
    def sampler(self):
        return lambda: MVRSMSampler(n_startup_trials=0)


class TestOptunaBasic(OurSampler, suite.BasicSamplerTestCase):
    pass


class TestOptunaRelative(OurSampler, suite.RelativeSamplerTestCase):
    pass


class TestOptunaSingleObjective(OurSampler, suite.SingleOnlySamplerTestCase):
    pass


def bowl(trial):
    """Mixed and conditional; the least value is 0."""
    x = trial.suggest_float("x", -2.0, 2.0)
    k = trial.suggest_int("k", 0, 8, step=2)
    value = (x - 0.5) ** 2 + (k - 4) ** 2 / 16
    match trial.suggest_categorical("kind", ["flat", "deep", None]):
        case "deep":
            return (
                value + math.log10(trial.suggest_float("scale", 1e-3, 1, log=True)) + 3
            )
        case "flat":
            return value + 1 + trial.suggest_float("slope", 0.0, 1.0, step=0.25)
    return value + 2


def ours(seed=0, **options):
    """A sampler that soon uses its surrogate."""
    return MVRSMSampler(seed=seed, n_startup_trials=6, **options)


def run(n_trials, *, objective=bowl, sampler=None, **options):
    sampler = ours() if sampler is None else sampler
    study = optuna.create_study(sampler=sampler, **options)
    study.optimize(objective, n_trials=n_trials, catch=(ArithmeticError,))
    return study


def params_of(study):
    return [trial.params for trial in study.trials]


# --- proposals ---------------------------------------------------------------------


@pytest.mark.statistical
def test_the_sampler_finds_what_random_search_does_not():
    found = [run(30, sampler=ours(seed)).best_value for seed in (0, 1)]
    random = [
        run(30, sampler=optuna.samplers.RandomSampler(seed=seed)).best_value
        for seed in range(10)
    ]
    assert max(found) < min(random)


def test_equal_seeds_give_equal_trials():
    first = params_of(run(12, sampler=ours(3)))
    assert params_of(run(12, sampler=ours(3))) == first
    assert params_of(run(12, sampler=ours(4))) != first


def test_a_new_seed_gives_other_trials():
    sampler = MVRSMSampler(seed=3)
    sampler.reseed_rng()
    assert params_of(run(3, sampler=sampler)) != params_of(
        run(3, sampler=MVRSMSampler(seed=3))
    )


def test_maximising_mirrors_minimising():
    up = run(12, objective=lambda trial: -bowl(trial), direction="maximize")
    assert params_of(up) == params_of(run(12))


@pytest.fixture
def database(tmp_path):
    """Storages on one file, and its address; their connections are closed after."""
    address = f"sqlite:///{tmp_path}/study.db"
    opened = []

    def connect():
        opened.append(optuna.storages.RDBStorage(address))
        return opened[-1]

    yield address, connect
    for storage in opened:
        storage.remove_session()
        storage.engine.dispose()


def test_a_stored_study_resumes_as_if_it_had_never_stopped(database):
    _, connect = database
    whole = params_of(run(12))
    run(8, storage=connect(), study_name="s")
    study = optuna.load_study(
        storage=connect(),
        study_name="s",
        sampler=pickle.loads(pickle.dumps(ours())),
    )
    study.optimize(bowl, n_trials=4)
    assert params_of(study) == whole


WORKER = """
import sys, warnings
import optuna
sys.path.insert(0, sys.argv[2])
from test_optuna_sampler import MVRSMSampler, bowl
study = optuna.load_study(
    study_name="s", storage=sys.argv[1], sampler=MVRSMSampler(seed=0)
)
study.optimize(bowl, n_trials=6)
"""


def test_several_workers_share_a_study(database):
    address, connect = database
    optuna.create_study(storage=connect(), study_name="s")
    command = [sys.executable, "-c", WORKER, address, str(Path(__file__).parent)]
    workers = [subprocess.Popen(command) for _ in range(2)]
    assert [worker.wait(timeout=600) for worker in workers] == [0, 0]
    study = optuna.load_study(storage=connect(), study_name="s")
    assert {trial.state.name for trial in study.trials} == {"COMPLETE"}
    assert len({tuple(sorted(map(str, p.items()))) for p in params_of(study)}) == 12


def test_threads_share_a_study():
    study = optuna.create_study(sampler=MVRSMSampler(seed=0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        study.optimize(bowl, n_trials=12, n_jobs=2)
    assert {trial.state.name for trial in study.trials} == {"COMPLETE"}


def test_running_trials_are_not_proposed_again():
    study = optuna.create_study(sampler=MVRSMSampler(seed=0))

    def suggest(trial):
        trial.suggest_categorical("a", ["p", "q", "r"])
        trial.suggest_int("b", 1, 4)
        return trial

    first = suggest(study.ask())
    study.tell(first, 1.0)
    running = [suggest(study.ask()) for _ in range(11)]
    seen = {tuple(sorted(each.params.items())) for each in [first, *running]}
    assert len(seen) == 12
    suggest(study.ask())  # all have been tried: one comes again


def test_a_configuration_is_not_proposed_twice():
    def objective(trial):
        a = trial.suggest_categorical("a", ["p", "q", "r"])
        return trial.suggest_int("b", 1, 5) + (a == "p")

    tried = {tuple(sorted(p.items())) for p in params_of(run(15, objective=objective))}
    assert len(tried) == 15


# --- outcomes ----------------------------------------------------------------------


@pytest.mark.long
def test_failures_are_learned_from():
    def objective(trial):
        x = trial.suggest_float("x", 0.0, 1.0)
        y = trial.suggest_float("y", 0.0, 1.0)
        return y - x if x < 0.5 else 1 / 0

    best, early, late = [], 0, 0
    for seed in range(8):
        study = run(40, objective=objective, sampler=ours(seed))
        failed = [trial.state.name == "FAIL" for trial in study.trials]
        assert sum(failed) < 15
        early, late = early + sum(failed[:20]), late + sum(failed[20:])
        best.append(study.best_value)
    assert late < early
    assert late < 40  # of 160, of which 80 fail at random
    assert statistics.median(best) < -0.45  # the best, -0.5, is where failures begin


def study_with(*extra):
    """A study of ten complete trials and some more."""
    study = optuna.create_study(sampler=MVRSMSampler(seed=0, n_startup_trials=0))
    distributions = {"x": FloatDistribution(0.0, 1.0), "n": IntDistribution(1, 9)}
    for k in range(10):
        params = {"x": k / 10, "n": 1 + k * 7 % 9}
        study.add_trial(
            optuna.create_trial(params=params, distributions=distributions, value=k)
        )
    for options in extra:
        study.add_trial(
            optuna.create_trial(
                params={"x": 0.95, "n": 2}, distributions=distributions, **options
            )
        )
    return study


def proposal(study):
    trial = study.ask(study.trials[0].distributions)
    return trial.params


def pruned(value):
    state = optuna.trial.TrialState.PRUNED
    return {"state": state, "intermediate_values": {0: 0.0, 3: value}}


def test_a_pruned_trial_counts_as_its_last_report_but_not_as_a_good_one():
    assert proposal(study_with(pruned(8.0))) == proposal(study_with({"value": 8.0}))
    assert proposal(study_with(pruned(-5.0))) == proposal(study_with({"value": 4.5}))
    failed = {"state": optuna.trial.TrialState.FAIL}
    silent = {"state": optuna.trial.TrialState.PRUNED}
    assert proposal(study_with(silent)) == proposal(study_with(failed))
    assert proposal(study_with(pruned(math.nan))) == proposal(study_with(failed))


def test_what_was_enqueued_is_learned_from_where_it_can_be():
    study = optuna.create_study(sampler=MVRSMSampler(seed=0))
    study.enqueue_trial({"x": 0.5, "k": 4, "kind": "deep", "scale": 1e-3})
    study.enqueue_trial({"x": -1.0})
    study.enqueue_trial({"x": 100.0})  # out of range: it is evaluated, not learned from
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        study.optimize(bowl, n_trials=12)
    assert study.trials[0].value == pytest.approx(0.0)
    assert study.trials[1].params["x"] == -1.0
    assert all(abs(params["x"]) <= 2 for params in params_of(study)[3:])


def test_several_objectives_are_refused_by_name():
    study = optuna.create_study(
        directions=["minimize", "maximize"], sampler=MVRSMSampler()
    )
    with pytest.raises(ValueError, match="one objective, got a study with 2"):
        study.ask().suggest_float("x", 0.0, 1.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": -1}, "'seed' must be an int >= 0 or None, got -1"),
        ({"seed": 1.5}, "'seed' must be an int >= 0 or None, got 1.5"),
        (
            {"n_startup_trials": -1},
            "'n_startup_trials' must be an int >= 0 or None, got -1",
        ),
        ({"method": "magic"}, "'method' must be one of .* got 'magic'"),
    ],
)
def test_arguments_that_make_no_sense_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        MVRSMSampler(**options)


def test_the_published_method_samples_too():
    study = run(30, sampler=MVRSMSampler(seed=0, method="paper", n_startup_trials=5))
    assert study.best_value < 2.0


# --- distributions -----------------------------------------------------------------


@pytest.mark.parametrize(
    "distribution",
    [
        FloatDistribution(-1.0, 1.0),
        FloatDistribution(1e-7, 10.0, log=True),
        FloatDistribution(-10.2, 10.2, step=0.1),
        FloatDistribution(0.0, 0.9, step=0.3),
        IntDistribution(-4, 9),
        IntDistribution(1, 500, log=True),
        IntDistribution(-10, 11, step=3),
        FloatDistribution(1e9, 1e9 + 1, step=1e-4),
        FloatDistribution(0.0, 1e6, step=1e-7),
        IntDistribution(0, 2**53, step=4),
        IntDistribution(2**60, 2**60 + 100),
        CategoricalDistribution([None, True, 1.5, "a", math.nan]),
    ],
)
def test_values_survive_the_journey_to_plain_ones(distribution):
    axis = axis_of(distribution)
    sampler = optuna.samplers.RandomSampler(seed=0)
    study = optuna.create_study()
    trial = study.ask()
    for _ in range(30):
        value = sampler.sample_independent(study, trial, "x", distribution)
        plain = axis.to_plain(value)
        assert axis.parameter.to_value(axis.parameter.to_number(plain)) == (
            pytest.approx(plain, rel=1e-9)
        )
        again = axis.to_value(plain)
        assert type(again) is type(value)
        assert axis.to_plain(again) == plain
        assert distribution.to_internal_repr(again) == pytest.approx(
            distribution.to_internal_repr(value)
        )


@pytest.mark.parametrize(
    ("distribution", "values"),
    [
        (FloatDistribution(0.0, 0.9, step=0.3), [0.0, 0.3, 0.6, 0.9]),
        (IntDistribution(-10, -2, step=4), [-10, -6, -2]),
        (IntDistribution(3, 6), [3, 4, 5, 6]),
        (IntDistribution(2**52, 2**52 + 16, step=8), [2**52, 2**52 + 8, 2**52 + 16]),
        (CategoricalDistribution(["b", None]), ["b", None]),
    ],
)
def test_every_value_can_be_proposed(distribution, values):
    axis = axis_of(distribution)
    parameter = axis.parameter
    plains = [parameter.to_value(parameter.number_at(k)) for k in range(parameter.size)]
    offered = [axis.to_value(plain) for plain in plains]
    assert offered == values  # without the dust of sums of floats


@pytest.mark.parametrize(
    "distribution",
    [
        IntDistribution(5, 5),
        FloatDistribution(0.5, 0.5, step=1.0),
        CategoricalDistribution(["one"]),
        IntDistribution(0, 2**60),
        FloatDistribution(1.0, 1.0 + 1e-15, log=True),
    ],
)
def test_what_cannot_be_searched_is_sampled_independently(distribution):
    assert axis_of(distribution) is None
    study = optuna.create_study(sampler=MVRSMSampler(seed=0))
    for _ in range(3):
        trial = study.ask({"x": distribution, "y": FloatDistribution(0.0, 1.0)})
        study.tell(trial, trial.params["y"])
    assert distribution.to_internal_repr(study.trials[-1].params["x"]) is not None
    relative = study.sampler.infer_relative_search_space(study, study.trials[-1])
    assert set(relative) == {"y"}


# --- which parameters exist where --------------------------------------------------

MODEL = Categorical(range(4))
LAYERS = Integer(1, 8)
RATE = Real(0.0, 1.0)


def test_what_is_always_there_depends_on_nothing():
    rows = [{"a": 0, "b": 0.5}, {"a": 1, "b": 0.1}]
    assert learn_conditions(rows, {"a": MODEL, "b": RATE}) == {"a": (), "b": ()}
    assert learn_conditions([], {"a": MODEL}) == {"a": ()}


def test_a_category_explains_its_children_by_the_values_seen():
    rows = [{"m": 0, "u": 0.1}, {"m": 1}, {"m": 2, "u": 0.3}, {"m": 1}]
    learned = learn_conditions(rows, {"m": MODEL, "u": RATE})
    assert learned == {"m": (), "u": (("m", [0, 2]),)}


def test_an_integer_explains_its_children_by_an_interval_as_wide_as_allowed():
    rows = [{"n": n} | ({"u": 0.1} if n >= 4 else {}) for n in (1, 3, 5, 6)]
    learned = learn_conditions(rows, {"n": LAYERS, "u": RATE})
    assert learned == {"n": (), "u": (("n", range(4, 9)),)}
    rows = [{"n": n} | ({"u": 0.1} if n in (4, 6) else {}) for n in (2, 4, 6, 7)]
    learned = learn_conditions(rows, {"n": LAYERS, "u": RATE})
    assert learned["u"] == (("n", range(3, 7)),)


def test_a_child_may_be_a_parent():
    rows = [
        {"m": 0},
        {"m": 1, "n": 1},
        {"m": 1, "n": 4, "u": 0.2},
        {"m": 1, "n": 2},
        {"m": 2},
    ]
    learned = learn_conditions(rows, {"u": RATE, "n": LAYERS, "m": MODEL})
    assert learned == {"m": (), "n": (("m", [1]),), "u": (("n", range(3, 9)),)}
    assert list(learned) == ["m", "n", "u"]


def test_two_parents_together_explain_what_neither_does_alone():
    rows = [
        {"a": a, "b": b} | ({"u": 0.5} if a == 1 and b == 0 else {})
        for a, b in itertools.product(range(3), range(2))
    ]
    learned = learn_conditions(
        rows, {"a": Categorical(range(3)), "b": Categorical(range(2)), "u": RATE}
    )
    assert learned["u"] == (("a", [1]), ("b", [0]))


def test_categories_are_believed_before_integers():
    rows = [{"m": 0, "n": 1}, {"m": 1, "n": 7, "u": 0.1}]
    learned = learn_conditions(rows, {"n": LAYERS, "m": MODEL, "u": RATE})
    assert learned["u"] == (("m", [1]),)


def test_what_no_parent_explains_is_left_out_with_its_children():
    rows = [
        {"x": 0.1, "m": 0, "u": 1, "v": 0.5},
        {"x": 0.2, "m": 0, "u": 2},
        {"x": 0.9, "m": 0},
        {"x": 0.8, "m": 0},
    ]
    learned = learn_conditions(
        rows, {"x": RATE, "m": MODEL, "u": LAYERS, "v": RATE, "never": RATE}
    )
    assert learned == {"x": (), "m": ()}


def test_learned_conditions_are_true_of_the_rows():
    study = run(20)
    relative = study.sampler.infer_relative_search_space(study, study.trials[-1])
    assert set(relative) == {"x", "k", "kind", "scale", "slope"}
    drawn = study.sampler.sample_relative(study, study.ask(), relative)
    expected = {"deep": {"scale"}, "flat": {"slope"}, None: set()}[drawn["kind"]]
    assert set(drawn) == {"x", "k", "kind"} | expected


# --- manners -----------------------------------------------------------------------


def test_private_names_of_optuna_are_not_used():
    folder = Path(package.__file__).parent
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and re.match(r"_(?!_\w+__$)", node.attr):
                assert ast.unparse(node.value) == "self", ast.unparse(node)
            if isinstance(node, ast.ImportFrom) and node.module.startswith("optuna"):
                names = [node.module, *(alias.name for alias in node.names)]
                assert "._" not in ".".join(["", *names])
