"""Laws of descriptions: equal for equal values, other for others, in every session."""

import collections
import copy
import dataclasses
import datetime
import decimal
import enum
import functools
import importlib
import json
import operator
import os
import pathlib
import re
import subprocess
import sys
import threading
import types

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from scipy import stats
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import fbeta_score, make_scorer
from sklearn.model_selection import GridSearchCV, KFold, RandomizedSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC

from sklearn_mvrsm import Categorical, MVRSMSearchCV, Real, SearchSpace
from sklearn_mvrsm._description import description
from sklearn_mvrsm._description.description import describe_value
from sklearn_mvrsm._space.values import same_value

X = np.arange(20.0).reshape(10, 2)
y = np.arange(10) % 2


def scaled(x, a=1):
    return x * a


class Thing:
    """Anything with attributes, and no equality."""

    def __init__(self, **attributes):
        vars(self).update(attributes)

    def method(self):
        return vars(self)


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a


class Cached(Thing):
    @functools.cached_property
    def size(self):
        return np.random.default_rng().random()


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@dataclasses.dataclass
class Record:
    a: object = 1
    b: object = None


class List(list):
    pass


class Text(str):
    __slots__ = ()


class Whole(int):
    pass


class Set(set):
    pass


Pair = collections.namedtuple("Pair", "a b")


def adder(k):
    return lambda x: x + k


def named(text, name="f"):
    """Return what a module of the user's own defines under a name."""
    scope = {"__name__": "__main__"}
    exec(text, scope)
    return scope[name]


def wrapping(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)

    return wrapper


def counter_at(n):
    return named(f"n = {n}\ndef f():\n global n\n n += 1\n return n")


def with_attributes(**attributes):
    """Return a class of which some attributes are set when it is there."""

    class Settings:
        known = 0

        def count(self):
            type(self).n_calls = 1

    for name, value in attributes.items():
        setattr(Settings, name, value)
    return Settings


def cycle(value):
    one, other = Thing(value=value), Thing(value=0)
    one.other, other.other = other, one
    return one


def used(value):
    """Return a value after something was computed from it and kept."""
    return value, value.size


def fitted(model, shift=0.0):
    return model.fit(X + shift * y[:, np.newaxis], y)


def advanced(n):
    rng = np.random.RandomState(0)
    rng.random(n)
    return rng


def padded(value):
    """Return an array of records with bytes of no meaning between its fields."""
    array = np.zeros(3, dtype=np.dtype([("a", "i1"), ("b", "f8")], align=True))
    array.view(np.uint8)[1::16] = np.random.default_rng().integers(256)
    array["b"] = value
    return array


def transformed(columns):
    return ColumnTransformer([("a", StandardScaler(), columns)])


def nested(space):
    return MVRSMSearchCV(SVC(), space)


# Each row has two functions, of which the values must be described otherwise.
OTHERS = {
    "bool": (lambda: True, lambda: 1),
    "float": (lambda: 1, lambda: 1.0),
    "text": (lambda: None, lambda: "None"),
    "long text": (lambda: "a" * 1000, lambda: "a" * 999 + "b"),
    "long int": (lambda: 10**5000, lambda: 10**5000 + 1),
    "complex": (lambda: 1j, lambda: 2j),
    "slice": (lambda: slice(0, 1), lambda: slice(0, 4)),
    "range": (lambda: range(3), lambda: range(4)),
    "bytes": (lambda: b"a", lambda: b"b"),
    "set": (lambda: {1, 2}, lambda: {1, 3}),
    "frozenset": (lambda: {"a"}, lambda: frozenset("a")),
    "tuple": (lambda: [1], lambda: (1,)),
    "long list": (lambda: [*range(100)], lambda: [*range(99), 0]),
    "list of lists": (
        lambda: [[k] for k in range(99)],
        lambda: [(k,) for k in range(99)],
    ),
    "key": (lambda: {1: 2}, lambda: {2: 2}),
    "order": (
        lambda: collections.OrderedDict(a=1, b=2),
        lambda: collections.OrderedDict(b=2, a=1),
    ),
    "factory": (
        lambda: collections.defaultdict(int),
        lambda: collections.defaultdict(list),
    ),
    "proxy": (
        lambda: types.MappingProxyType({1: 1}),
        lambda: types.MappingProxyType({1: 2}),
    ),
    "date": (lambda: datetime.date(2020, 1, 1), lambda: datetime.date(2020, 1, 2)),
    "zone": (
        lambda: datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC),
        lambda: datetime.datetime(2020, 1, 1),
    ),
    "decimal": (lambda: decimal.Decimal("1.0"), lambda: decimal.Decimal("1")),
    "path": (lambda: pathlib.Path("a"), lambda: pathlib.Path("b")),
    "pattern": (lambda: re.compile("a"), lambda: re.compile("a", re.IGNORECASE)),
    "enum": (lambda: Colour.RED, lambda: Colour.BLUE),
    "dataclass": (lambda: Record(1, np.ones(3)), lambda: Record(1, np.zeros(3))),
    "namedtuple": (lambda: Pair(1, 2), lambda: Pair(1, 3)),
    "subclass of list": (lambda: List([1]), lambda: List([2])),
    "subclass of str": (lambda: Text("a"), lambda: "a"),
    "subclass of int": (lambda: Whole(1), lambda: Whole(2)),
    "subclass of set": (lambda: Set("ab"), lambda: Set("ac")),
    "state": (lambda: Thing(beta=1), lambda: Thing(beta=2)),
    "deep state": (lambda: {"a": Thing(b=[1])}, lambda: {"a": Thing(b=[2])}),
    "slots": (lambda: Slotted(1), lambda: Slotted(2)),
    "method": (lambda: Thing(a=1).method, lambda: Thing(a=2).method),
    "builtin method": (lambda: "a".join, lambda: "b".join),
    "cycle": (lambda: cycle(1), lambda: cycle(2)),
    # numpy
    "dtype": (lambda: np.dtype("f4"), lambda: np.dtype("f8")),
    "array": (lambda: np.zeros(3), lambda: np.ones(3)),
    "type of array": (lambda: np.zeros(3), lambda: np.zeros(3, dtype=int)),
    "shape": (lambda: np.zeros((2, 3)), lambda: np.zeros((3, 2))),
    "objects": (lambda: np.array([1, None]), lambda: np.array([1, "a"], dtype=object)),
    "records": (lambda: padded(1), lambda: padded(2)),
    "long double": (
        lambda: np.array([1], np.longdouble),
        lambda: np.array([1], np.longdouble) + np.finfo(np.longdouble).eps,
    ),
    "mask": (lambda: np.ma.array([1], mask=[0]), lambda: np.ma.array([1], mask=[1])),
    "moment": (lambda: np.datetime64("2020"), lambda: np.datetime64("2021")),
    "unit": (lambda: np.timedelta64(1, "s"), lambda: np.timedelta64(1, "ms")),
    "matrix": (lambda: np.array([[1]]).view(np.matrix), lambda: np.array([[1]])),
    "seed": (lambda: np.random.RandomState(0), lambda: np.random.RandomState(1)),
    "draws": (lambda: advanced(0), lambda: advanced(1)),
    "generator": (lambda: np.random.default_rng(0), lambda: np.random.default_rng(1)),
    "ufunc": (lambda: np.log, lambda: np.exp),
    "function of numpy": (lambda: np.mean, lambda: np.median),
    # pandas and others
    "index": (lambda: pd.Index(["a"]), lambda: pd.Index(["b"])),
    "levels": (
        lambda: pd.MultiIndex.from_tuples([(1, 2)]),
        lambda: pd.MultiIndex.from_tuples([(1, 3)]),
    ),
    "series": (lambda: pd.Series([1, 2]), lambda: pd.Series([1, 3])),
    "labels": (
        lambda: pd.Series([1, 2], index=["a", "b"]),
        lambda: pd.Series([1, 2], index=["b", "a"]),
    ),
    "labels of a frame": (
        lambda: pd.DataFrame({"a": [1]}, index=[0]),
        lambda: pd.DataFrame({"a": [1]}, index=[1]),
    ),
    "timestamp": (
        lambda: pd.Timestamp("2020", tz="UTC"),
        lambda: pd.Timestamp("2020", tz="Europe/Berlin"),
    ),
    "offset": (lambda: pd.offsets.BDay(1), lambda: pd.offsets.BDay(2)),
    "categories": (
        lambda: pd.CategoricalDtype(["a"]),
        lambda: pd.CategoricalDtype(["a"], ordered=True),
    ),
    "big integers of polars": (
        lambda: pl.Series([2**60, None]),
        lambda: pl.Series([2**60 + 1, None]),
    ),
    "sparse": (lambda: sp.csr_array(np.eye(2)), lambda: sp.csr_array(2 * np.eye(2))),
    "distribution": (lambda: stats.uniform(0, 1), lambda: stats.uniform(0, 2)),
    # functions and classes
    "builtin": (lambda: len, lambda: sum),
    "itemgetter": (lambda: operator.itemgetter(1), lambda: operator.itemgetter(2)),
    "partial": (
        lambda: functools.partial(scaled, a=1),
        lambda: functools.partial(scaled, a=9),
    ),
    "partial of a lambda": (
        lambda: functools.partial(lambda x: x),
        lambda: functools.partial(lambda x: -x),
    ),
    "constant": (lambda: lambda x: x + 2, lambda: lambda x: x + 3),
    "attribute": (lambda: lambda x: x.mean(), lambda: lambda x: x.sum()),
    "closure": (lambda: adder(1), lambda: adder(2)),
    "default": (lambda: lambda x, k=1: k, lambda: lambda x, k=2: k),
    "keyword default": (lambda: lambda *, k=1: k, lambda: lambda *, k=2: k),
    "name of an argument": (lambda: lambda x: 1, lambda: lambda z: 1),
    "inner function": (
        lambda: lambda x: [lambda: 1 for _ in x],
        lambda: lambda x: [lambda: 2 for _ in x],
    ),
    "body": (
        lambda: named("def f(x): return 1"),
        lambda: named("def f(x): return 2"),
    ),
    "name": (
        lambda: named("def f(x): return 1"),
        lambda: named("def g(x): return 1", "g"),
    ),
    "global": (
        lambda: named("K = [1]\ndef f(x): return K"),
        lambda: named("K = [2]\ndef f(x): return K"),
    ),
    "helper": (
        lambda: named("def g(): return 1\ndef f(x): return g()"),
        lambda: named("def g(): return 2\ndef f(x): return g()"),
    ),
    "recursion": (
        lambda: named("def g(): return f() + 1\ndef f(): return g()"),
        lambda: named("def g(): return f() + 2\ndef f(): return g()"),
    ),
    "attribute of a function": (
        lambda: named("def f(x): return f.k\nf.k = 1"),
        lambda: named("def f(x): return f.k\nf.k = 2"),
    ),
    "wrapped": (lambda: wrapping(np.log), lambda: wrapping(np.exp)),
    "wrapper": (lambda: wrapping(np.log), lambda: np.log),
    "cache": (
        lambda: functools.lru_cache(adder(1)),
        lambda: functools.lru_cache(adder(2)),
    ),
    "vectorized": (lambda: np.vectorize(adder(1)), lambda: np.vectorize(adder(2))),
    "code of a method": (
        lambda: named("class f:\n def fit(self): return 1")(),
        lambda: named("class f:\n def fit(self): return 2")(),
    ),
    "code of a property": (
        lambda: named("class f:\n @property\n def p(self): return 1"),
        lambda: named("class f:\n @property\n def p(self): return 2"),
    ),
    "code of a base": (
        lambda: named("class B:\n def p(self): return 1\nclass f(B): pass"),
        lambda: named("class B:\n def p(self): return 2\nclass f(B): pass"),
    ),
    "helper of a method": (
        lambda: named("def g(): return 1\nclass f:\n def p(self): return g()"),
        lambda: named("def g(): return 2\nclass f:\n def p(self): return g()"),
    ),
    # scikit-learn
    "columns as a slice": (
        lambda: transformed(slice(0, 1)),
        lambda: transformed(slice(0, 4)),
    ),
    "columns as a mask": (
        lambda: transformed(np.array([True, False])),
        lambda: transformed(np.array([False, True])),
    ),
    "columns as an index": (
        lambda: transformed(pd.Index(["a"])),
        lambda: transformed(pd.Index(["b"])),
    ),
    "columns by a function": (
        lambda: transformed(lambda frame: [0]),
        lambda: transformed(lambda frame: [1]),
    ),
    "columns by a pattern": (
        lambda: make_column_selector("a"),
        lambda: make_column_selector("b"),
    ),
    "function of a transformer": (
        lambda: FunctionTransformer(functools.partial(scaled, a=1)),
        lambda: FunctionTransformer(functools.partial(scaled, a=100)),
    ),
    "arguments of a transformer": (
        lambda: FunctionTransformer(scaled, kw_args={"a": 1}),
        lambda: FunctionTransformer(scaled, kw_args={"a": 2}),
    ),
    "stop words": (
        lambda: TfidfVectorizer(stop_words=frozenset({"a", "b"})),
        lambda: TfidfVectorizer(stop_words=frozenset({"a", "c"})),
    ),
    "tokenizer": (
        lambda: TfidfVectorizer(tokenizer=Thing(a=1).method),
        lambda: TfidfVectorizer(tokenizer=Thing(a=2).method),
    ),
    "scorer": (
        lambda: make_scorer(fbeta_score, beta=1),
        lambda: make_scorer(fbeta_score, beta=2),
    ),
    "sign of a scorer": (
        lambda: make_scorer(scaled),
        lambda: make_scorer(scaled, greater_is_better=False),
    ),
    "splitter": (lambda: KFold(3), lambda: KFold(4)),
    "splitter inside": (
        lambda: CalibratedClassifierCV(cv=KFold(3)),
        lambda: CalibratedClassifierCV(cv=KFold(4)),
    ),
    "grid inside": (
        lambda: GridSearchCV(SVC(), {"C": [1]}),
        lambda: GridSearchCV(SVC(), {"C": [2]}),
    ),
    "distribution inside": (
        lambda: RandomizedSearchCV(SVC(), {"C": stats.uniform(0, 1)}),
        lambda: RandomizedSearchCV(SVC(), {"C": stats.uniform(0, 2)}),
    ),
    "space inside": (
        lambda: nested({"C": Real(1, 2)}),
        lambda: nested({"C": Real(1, 3)}),
    ),
    "kernel": (lambda: RBF(1.0), lambda: RBF(2.0)),
    "operator of kernels": (
        lambda: ConstantKernel() * RBF(),
        lambda: ConstantKernel() + RBF(),
    ),
    "frozen": (
        lambda: FrozenEstimator(fitted(LogisticRegression())),
        lambda: FrozenEstimator(fitted(LogisticRegression(), shift=1.0)),
    ),
    "frozen trees": (
        lambda: FrozenEstimator(fitted(RandomForestClassifier(2, random_state=0))),
        lambda: FrozenEstimator(fitted(RandomForestClassifier(2, random_state=1))),
    ),
    "fitted in a partial": (
        lambda: functools.partial(scaled, a=fitted(LogisticRegression())),
        lambda: functools.partial(scaled, a=fitted(LogisticRegression(), shift=1.0)),
    ),
    "mean of a distribution": (
        lambda: stats.multivariate_normal([0, 1]),
        lambda: stats.multivariate_normal([0, 2]),
    ),
    "class without source": (
        lambda: named("class f:\n a = 1"),
        lambda: named("class f:\n a = 2"),
    ),
    "attribute of a class set from elsewhere": (
        lambda: with_attributes(level=1),
        lambda: with_attributes(level=2),
    ),
    "attributes of a class set anew": (
        lambda: with_attributes(known=1),
        lambda: with_attributes(known=2),
    ),
    "output": (
        lambda: StandardScaler(),
        lambda: StandardScaler().set_output(transform="pandas"),
    ),
}
# ... and of which they must be described alike.
ALIKE = {
    "number": (lambda: [np.int8(3), np.float64(0.1), np.True_], lambda: [3, 0.1, True]),
    "number inside": (lambda: SVC(C=np.float32(0.5)), lambda: SVC(C=0.5)),
    "order of a dict": (lambda: {"a": 1, 2: 2}, lambda: {2: 2, "a": 1}),
    "order of arguments": (
        lambda: FunctionTransformer(scaled, kw_args={"a": 1, "b": 2}),
        lambda: FunctionTransformer(scaled, kw_args={"b": 2, "a": 1}),
    ),
    "order of attributes": (lambda: Thing(a=1, b=2), lambda: Thing(b=2, a=1)),
    "order in memory": (lambda: np.asfortranarray(X), lambda: X.copy()),
    "sharing": (lambda: [Thing()] * 2, lambda: [Thing(), Thing()]),
    "what was computed": (lambda: used(Cached(a=1))[0], lambda: Cached(a=1)),
    "fitted": (lambda: fitted(LogisticRegression()), lambda: LogisticRegression()),
    "fitted steps": (
        lambda: fitted(make_pipeline(StandardScaler(), SVC())),
        lambda: make_pipeline(StandardScaler(), SVC()),
    ),
    "fitted search": (
        lambda: fitted(nested({"C": [1.0]}).set_params(n_iter=1, cv=2)),
        lambda: nested({"C": [1.0]}).set_params(n_iter=1, cv=2),
    ),
    "clone": (
        lambda: clone(SVC(random_state=np.random.RandomState(0))),
        lambda: SVC(random_state=np.random.RandomState(0)),
    ),
    "copy of a distribution": (
        lambda: copy.deepcopy(stats.uniform(0, 1)),
        lambda: stats.uniform(0, 1),
    ),
    "place and comments": (
        lambda: named("def f(x):\n return x + 3"),
        lambda: named("\n\n# why\ndef f(x):\n  '''Doc.'''\n\n  return x + 3  # so"),
    ),
    "place of a class": (
        lambda: named(
            "def f():\n class A:\n  def g(self): self.a = self.b = 1\n return A"
        ),
        lambda: named(
            "\n\ndef f():\n class A:\n  def g(self): self.a = self.b = 1\n return A"
        ),
    ),
    "state of a function": (lambda: counter_at(1), lambda: counter_at(2)),
    "state of a class": (
        lambda: with_attributes(n_calls=1),
        lambda: with_attributes(n_calls=2),
    ),
}
PAIRS = {
    **{f"other {name}": pair for name, pair in OTHERS.items()},
    **{f"alike {name}": pair for name, pair in ALIKE.items()},
}


def described(name):
    """Return the descriptions of both values of a row, as text."""
    return [json.dumps(describe_value(make())) for make in PAIRS[name]]


@pytest.mark.parametrize("name", PAIRS)
def test_descriptions_are_equal_for_equal_values_alone(name):
    one, other = described(name)
    assert (one == other) is name.startswith("alike")
    assert "0x" not in one + other or "digest" in one + other
    unread = set()
    describe_value([make() for make in PAIRS[name]], unread)
    assert unread == set()


SCRIPT = """
import json, test_description as tests
print(json.dumps({name: tests.described(name) for name in tests.PAIRS}))
"""


def test_descriptions_are_the_same_in_another_session():
    seed = "1" if os.environ.get("PYTHONHASHSEED") == "2" else "2"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PYTHONHASHSEED": seed,
    }
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT],
        capture_output=True,
        check=True,
        env=environment,
        text=True,
    )
    there = json.loads(run.stdout)
    assert there == {name: described(name) for name in PAIRS}


# --- columns ----------------------------------------------------------------


def moments(n):
    return pd.Series(pd.date_range("2020", periods=n, freq="h", tz="Europe/Berlin"))


def texts(n):
    return [f"w{k % 7}" for k in range(n)]


COLUMNS = {
    "zoned": moments,
    "zoned index": lambda n: pd.DatetimeIndex(moments(n)),
    "zoned categories": lambda n: pd.Series(
        pd.Categorical.from_codes(np.arange(n) % 7, moments(7))
    ),
    "period": lambda n: moments(n).dt.tz_localize(None).dt.to_period("h"),
    "duration": lambda n: moments(n) - moments(1)[0],
    "interval": lambda n: pd.Series(pd.interval_range(0, n)),
    "category": lambda n: pd.Series(texts(n), dtype="category"),
    "nullable": lambda n: pd.Series([None, *range(n - 1)], dtype="Int64"),
    "nullable bool": lambda n: pd.Series([None] + [True] * (n - 1), dtype="boolean"),
    "string": lambda n: pd.Series([None, *texts(n - 1)], dtype="string"),
    "text": lambda n: pd.Series(texts(n)),
    "objects": lambda n: pd.Series([None, *texts(n - 1)], dtype=object),
    "dates": lambda n: pd.Series(moments(n).dt.date),
    "sparse": lambda n: pd.Series(pd.arrays.SparseArray(np.arange(n) % 7)),
    "levels": lambda n: pd.MultiIndex.from_arrays([texts(n), moments(n)]),
    "frame": lambda n: pd.DataFrame({"t": moments(n), "x": np.arange(n)}),
    "records": lambda n: np.zeros(n, dtype=[("a", "i1"), ("b", "M8[s]")]),
    "lists": lambda n: [[k, 0.5] for k in range(n)],
    "polars": lambda n: pl.Series([None, *texts(n - 1)]),
    "zoned of polars": lambda n: pl.Series(
        moments(n).dt.tz_convert(None).to_numpy()
    ).dt.replace_time_zone("UTC"),
    "lists of polars": lambda n: pl.Series([[k] for k in range(n)]),
    "structs of polars": lambda n: pl.Series([{"a": k} for k in range(n)]),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_columns_are_read_as_a_whole(kind, monkeypatch):
    calls = []
    describe = description._Describer.describe

    def counting(*args, **options):
        calls.append(args)
        return describe(*args, **options)

    monkeypatch.setattr(description._Describer, "describe", counting)
    found = []
    for n in (100, 1000):
        calls.clear()
        found += [describe_value(COLUMNS[kind](n)), len(calls)]
    assert found[1] == found[3]
    assert found[0] != found[2]


# --- what is not installed --------------------------------------------------

MODULE = """
import functools
import own_tools
from sklearn.base import BaseEstimator

OFFSET = 5

class Model(BaseEstimator):
    # what for
    '''Documented.'''
    factor: int = 2
    offset = OFFSET
    if OFFSET > 3:
        penalty = 7

    def fit(self, X, y):
        return own_tools.helper(X)

def metric(model, X, y):
    return own_tools.LIMIT

def late(model, X, y):
    from own_tools import helper
    return helper(X)
"""
TOOLS = """
LIMIT = 1

def helper(X):
    return len(X)

def unused():
    return 1
"""
# What is edited, in which values that counts.
EDITS = {
    "nothing": ("", "", ()),
    "a comment": ("# what for", "# why, and what for", ()),
    "a documentation": ("Documented.", "With documentation.", ()),
    "an annotation": ("factor: int", "factor: float", ()),
    "what is not used": ("return 1", "return 2", ("late",)),
    "a body": ("own_tools.helper(X)", "own_tools.helper(y)", ("Model",)),
    "an attribute": ("int = 2", "int = 3", ("Model",)),
    "another attribute": ("offset = OFFSET", "offset = 3", ("Model",)),
    "what an attribute reads": ("OFFSET = 5", "OFFSET = 6", ("Model",)),
    "a statement of a class": ("penalty = 7", "penalty = 8", ("Model",)),
    "a helper": ("len(X)", "len(X) + 1", ("Model", "late")),
    "a constant": ("LIMIT = 1", "LIMIT = 2", ("metric", "late")),
}


def own_values(folder, old="", new=""):
    """Return what modules of the user's own define, after an edit."""
    folder.mkdir()
    folder.joinpath("own_model.py").write_text(MODULE.replace(old, new))
    folder.joinpath("own_tools.py").write_text(TOOLS.replace(old, new))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        module = importlib.import_module("own_model")
        values = {
            "Model": module.Model(),
            "metric": module.metric,
            "late": module.late,  # it has not imported anything yet: the file is read
        }
        found = {name: describe_value(value) for name, value in values.items()}
    for name in ("own_model", "own_tools"):
        del sys.modules[name]
    return found


@pytest.mark.parametrize("case", EDITS)
def test_the_code_of_the_user_is_told_by_what_it_does(tmp_path, case):
    old, new, changed = EDITS[case]
    before = own_values(tmp_path / "before")
    after = own_values(tmp_path / "after", old, new)
    assert {name for name in before if before[name] != after[name]} == set(changed)


# --- what a third party does ------------------------------------------------


class Refuses:
    """Raises whatever is asked of it; ``what`` is its state all the same."""

    __hash__ = None

    def __init__(self, what):
        self.what = what

    def _refuse(self, *args):
        raise RuntimeError("not to be looked at")

    __reduce_ex__ = __eq__ = __repr__ = __bool__ = __len__ = __iter__ = _refuse
    __array__ = __deepcopy__ = _refuse


class HidesState(Thing):
    def __getstate__(self):
        raise RuntimeError("not to be looked at")


class Untouchable:
    def __getattribute__(self, name):
        raise RuntimeError("not to be looked at")


class Parameters(Thing):
    def get_params(self, deep=True):
        return self.params()


def deep_list(value, depth=5000):
    for _ in range(depth):
        value = [value]
    return value


UNREADABLE = {
    "reduce": (lambda k: Refuses(k), {"test_description.Refuses"}, True),
    "getstate": (lambda k: HidesState(k=k), {"test_description.HidesState"}, True),
    "part": (lambda k: Thing(k=k, lock=threading.Lock()), {"_thread.lock"}, True),
    "lock": (lambda k: threading.Lock(), {"_thread.lock"}, False),
    "generator": (lambda k: (k for _ in ()), {"builtins.generator"}, False),
    "ufunc": (lambda k: np.frompyfunc(adder(k), 1, 1), {"numpy.ufunc"}, False),
    "attributes": (lambda k: Untouchable(), {"test_description.Untouchable"}, False),
    "depth": (lambda k: deep_list(k), {"builtins.list"}, False),
    "parameters": (lambda k: Parameters(params=lambda: k), set(), True),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_what_cannot_be_read_is_named_and_nothing_is_raised(case):
    make, types_, told = UNREADABLE[case]
    unread = set()
    one, other = describe_value(make(1), unread), describe_value(make(2))
    assert unread == types_
    assert (one != other) is told
    assert one == describe_value(make(1))
    assert not unread or not same_value(make(1), make(1))


def test_code_may_have_constants_without_a_hash():
    def made(k):
        code = (lambda: "a constant").__code__
        constants = tuple([k] if c == "a constant" else c for c in code.co_consts)
        return types.FunctionType(code.replace(co_consts=constants), globals())

    assert describe_value(made(1)) == describe_value(made(1))
    assert describe_value(made(1)) != describe_value(made(2))


# --- same values ------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "same", "other"),
    [
        (KFold(3), KFold(3), KFold(4)),
        tuple(functools.partial(scaled, a=k) for k in (1, 1, 2)),
        (Thing(a=[1]), Thing(a=[1]), Thing(a=[2])),
        (Thing(a=1).method, Thing(a=1).method, Thing(a=2).method),
        (adder(1), adder(1), adder(2)),
        (pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [2]})),
        (make_scorer(scaled, a=1), make_scorer(scaled, a=1), make_scorer(scaled, a=2)),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_objects_without_equality_are_the_same_by_their_state(one, same, other):
    assert same_value(one, same)
    assert not same_value(one, other)
    parameter = Categorical([other, one])
    assert parameter.to_code(same) == 1
    space = SearchSpace({"p": [other, one], "x": Real(0, 1).when(p=same)})
    assert space.parameters[1].conditions[0].spans == ((1, 1),)
