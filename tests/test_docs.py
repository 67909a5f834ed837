"""The documentation says what is so: its code runs, its names exist."""

import ast
import doctest
import importlib
import inspect
import re
import runpy
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import sklearn_mvrsm
from sklearn_mvrsm import (
    InfeasibleSpaceError,
    MVRSMOptimizer,
    MVRSMSearchCV,
    Real,
    SearchSpace,
    spaces,
)

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs").rglob("*.rst"))
PACKAGE = ROOT / "sklearn_mvrsm"
PUBLIC_MODULES = [
    "sklearn_mvrsm",
    "sklearn_mvrsm.boosting",
    "sklearn_mvrsm.callbacks",
    "sklearn_mvrsm.inspection",
    "sklearn_mvrsm.optuna",
    "sklearn_mvrsm.selection",
    "sklearn_mvrsm.spaces",
]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

pages = [
    page
    for page in PAGES
    if not {"_build", "auto_examples", "generated"} & set(page.parts)
]
with_code = [page for page in pages if "\n>>> " in page.read_text()]


@pytest.mark.parametrize("page", with_code, ids=lambda page: page.stem)
def test_code_of_a_page_gives_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testfile(
        str(page), module_relative=False, optionflags=OPTIONS
    )
    assert tried > 0
    assert failed == 0


def defined_in(path):
    """Return qualified names of the functions, classes and constants of a module."""
    names = set()
    if not path.exists():
        return names

    def visit(body, prefix):
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names.add(prefix + node.name)
                visit(node.body, f"{prefix}{node.name}.")
            if isinstance(node, ast.Assign):
                targets = [
                    name
                    for target in node.targets
                    for name in (target.elts if hasattr(target, "elts") else [target])
                ]
                names.update(t.id for t in targets if isinstance(t, ast.Name))

    visit(ast.parse(path.read_text()).body, "")
    return names


def places_named_in(page):
    """Return (file, name) of each ``file.py:name`` in a page."""
    return re.findall(r"``([\w/]+\.py):([\w.]+)``", page.read_text())


def home_of(file):
    """Return the path of a file of the package, or of a test."""
    is_test = Path(file).name.startswith("test_")
    return (ROOT / "tests" if is_test else PACKAGE) / file


@pytest.mark.parametrize("page", ["algorithm", "algorithm_tests"])
def test_algorithm_page_names_functions_that_exist(page):
    places = places_named_in(ROOT / "docs" / f"{page}.rst")
    assert len(places) > 40
    missing = [
        f"{file}:{name}"
        for file, name in places
        if name not in defined_in(home_of(file))
    ]
    assert missing == []


def test_algorithm_page_tells_a_missing_function():
    assert "RidgeSplines.features" in defined_in(PACKAGE / "_paper" / "splines.py")
    assert "RidgeSplines.no_such" not in defined_in(PACKAGE / "_paper" / "splines.py")


@pytest.mark.parametrize("name", PUBLIC_MODULES)
def test_every_public_object_has_a_reference_page(name):
    module = importlib.import_module(name)
    page = (ROOT / "docs" / "api.rst").read_text()
    listed = set()
    for block in re.split(r"\.\. currentmodule:: ", page)[1:]:
        current, _, rest = block.partition("\n")
        if current.strip() == name:
            listed |= set(re.findall(r"^   (\w+)$", rest, flags=re.MULTILINE))
    assert set(module.__all__) == listed


@pytest.mark.parametrize("name", PUBLIC_MODULES)
def test_every_public_object_has_an_example(name):
    module = importlib.import_module(name)
    objects = {each: getattr(module, each) for each in module.__all__}
    bare = [
        each
        for each, value in objects.items()
        if not (isinstance(value, type) and issubclass(value, Exception))
        and ">>> " not in (inspect.getdoc(value) or "")
    ]
    assert bare == []


def test_readme_and_quick_start_are_the_same_search():
    text = (ROOT / "README.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    script = (ROOT / "examples" / "quickstart.py").read_text()
    lines = [line for line in code.splitlines() if line.strip()]
    assert len(lines) > 10
    assert [line for line in lines if line not in script] == []


def test_the_first_screen_of_the_readme_has_a_picture_a_search_and_two_commands():
    screen = "\n".join((ROOT / "README.md").read_text().splitlines()[:40])
    (picture,) = re.findall(r"!\[.+\]\((.+)\)", screen)
    assert 10_000 < (ROOT / picture).stat().st_size < 200_000
    assert re.findall(r"<!-- ci: (.+) -->\n```sh\n", screen) == ["main-job", "tests"]


@pytest.mark.filterwarnings("ignore::UserWarning:xgboost")
def test_the_first_search_of_the_readme_runs(monkeypatch):
    pytest.importorskip("xgboost", reason="xgboost is not there")
    (code,) = re.findall(
        r"```py\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL
    )
    fit = MVRSMSearchCV.fit

    def fit_two(search, X, y):
        return fit(search.set_params(n_iter=2, cv=2, random_state=0), X, y)

    monkeypatch.setattr(MVRSMSearchCV, "fit", fit_two)
    X, y = load_iris(return_X_y=True)
    made = {"X": X[:100], "y": y[:100]}
    exec(code, made)
    assert made["search"].predict(X[:3]).tolist() == [0, 0, 0]


def test_the_search_of_the_steel_plates_runs_on_a_table_of_its_shape(
    tmp_path, monkeypatch, capsys
):
    pytest.importorskip("xgboost", reason="xgboost is not there")
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 27)))
    table.assign(fault=[f"fault {k % 3}" for k in range(60)]).to_csv(
        tmp_path / "plates.csv", index=False
    )
    options = ["--data", str(tmp_path / "plates.csv"), "--n-iter", "2"]
    options += ["--n-jobs", "1", "--fit-timeout", "120"]
    monkeypatch.setattr(sys, "argv", ["tune_steel_plates.py", *options])
    example = runpy.run_path(str(ROOT / "examples" / "tune_steel_plates.py"))
    example["main"]()
    shown = capsys.readouterr().out
    assert "2 candidates in" in shown
    assert re.search(r"its accuracy, mean of 5 folds: 0\.\d{4}\n", shown)
    assert "fits by what became of them: {'ok': 10}" in shown


def test_versions_are_claimed_where_they_are_tried():
    steps = ROOT / ".ci" / "run"
    if not steps.exists():
        pytest.skip("a source distribution has no steps of continuous integration")
    tried = re.findall(r"choose (3\.\d+)", steps.read_text())
    with (ROOT / "pyproject.toml").open("rb") as file:
        classifiers = tomllib.load(file)["project"]["classifiers"]
    claimed = re.findall(r"Python :: (3\.\d+)", "\n".join(classifiers))
    assert set(claimed) == set(tried)


def test_readme_says_how_many_candidates_are_random():
    ready_made = set(spaces.__all__) - {"any_of", "from_estimator", "portfolio"}
    made = [MVRSMOptimizer(getattr(spaces, name)()) for name in sorted(ready_made)]
    counts = [optimizer.n_initial_points for optimizer in made]
    text = " ".join((ROOT / "README.md").read_text().split())
    assert f"({min(counts)} to {max(counts)} in the ready-made spaces)" in text


@pytest.mark.parametrize("name", ["MVRSMSearchCV", "EarlyStopping"])
def test_pages_of_estimators_have_what_they_inherit(name):
    template = ROOT / "docs" / "_templates" / "autosummary" / "class.rst"
    branches = re.split(r"\{%- (?:el)?if", template.read_text())
    (branch,) = [branch for branch in branches if f'"{name}"' in branch]
    assert ":inherited-members:" in branch


def test_the_version_is_that_of_the_distribution(monkeypatch):
    with (ROOT / "pyproject.toml").open("rb") as file:
        declared = tomllib.load(file)["project"]["version"]

    def version(name):
        assert name == "sklearn-mvrsm"
        return declared

    monkeypatch.setattr(metadata, "version", version)
    assert sklearn_mvrsm.__version__ == declared
    absent = "no_such"
    with pytest.raises(AttributeError, match=f"no attribute '{absent}'"):
        getattr(sklearn_mvrsm, absent)


def test_sources_that_are_not_installed_have_a_version_too(monkeypatch):
    def version(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", version)
    assert sklearn_mvrsm.__version__ == "0+unknown"


def test_an_error_that_a_space_raises_can_be_caught_by_its_public_name():
    nothing = SearchSpace({"C": Real(0.0, 1.0)}, constraints=[lambda params: False])
    with pytest.raises(InfeasibleSpaceError):
        nothing.sample(1, random_state=0)
