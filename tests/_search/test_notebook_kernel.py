"""A search in a notebook: its bar and what is shown of it, by a real kernel."""

import re

import pytest

nbclient = pytest.importorskip("nbclient", reason="nbclient is not there")
pytest.importorskip("ipykernel", reason="ipykernel is not there")
pytest.importorskip("ipywidgets", reason="ipywidgets is not there")

from nbformat.v4 import new_code_cell, new_notebook  # noqa: E402  (it may be missing)

SEARCH = """
import warnings
from sklearn.datasets import load_iris
from sklearn.svm import SVC
from sklearn_mvrsm import MVRSMSearchCV, Real

class Picky(SVC):
    def fit(self, X, y, sample_weight=None):
        if self.kernel == "poly":
            raise ValueError("not this one")
        return super().fit(X, y, sample_weight)

X, y = load_iris(return_X_y=True)
warnings.simplefilter("ignore")
search = MVRSMSearchCV(
    Picky(),
    {"kernel": ["rbf", "poly"], "C": Real(1e-2, 1e2, log=True).when(kernel="rbf")},
    n_iter=8,
    cv=3,
    random_state=0,
    progress=PROGRESS,
    n_jobs=JOBS,
)
"""
SHOWN = "application/vnd.jupyter.widget-view+json"


def run(*codes, n_jobs=1, progress=True):
    """Execute cells; return the notebook."""
    first = SEARCH.replace("PROGRESS", str(progress)).replace("JOBS", str(n_jobs))
    cells = [new_code_cell(code) for code in (first, *codes)]
    notebook = new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    return notebook


@pytest.fixture(scope="module", autouse=True)
def _quiet():
    """The debugger of kernels complains of frozen modules."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
        yield


@pytest.fixture(scope="module")
def notebook():
    return run("search.fit(X, y)", "search", "print(search.best_score_)", n_jobs=2)


def widgets(notebook):
    """Return the state of every widget that the notebook holds."""
    kept = notebook.metadata["widgets"]["application/vnd.jupyter.widget-state+json"]
    return [each["state"] for each in kept["state"].values()]


def test_the_bar_is_a_widget_and_nothing_else_is_printed(notebook):
    outputs = notebook.cells[1].outputs
    assert [each.output_type for each in outputs] == ["display_data", "execute_result"]
    assert SHOWN in outputs[0].data


def test_the_bar_ends_full_with_the_best_score_and_the_failures(notebook):
    states = widgets(notebook)
    (bar,) = [s for s in states if s["_model_name"] == "FloatProgressModel"]
    assert bar["value"] == bar["max"] == 24.0
    texts = " ".join(s["value"] for s in states if s["_model_name"] == "HTMLModel")
    best = float(notebook.cells[3].outputs[0].text)
    assert f"best={best:.4g}" in texts
    (failed,) = re.findall(r"failed=(\d+)", texts)
    assert int(failed) > 0
    assert int(failed) % 3 == 0
    assert "24/24" in texts
    assert "running=0" in texts


@pytest.mark.parametrize("cell", [1, 2])
def test_a_fitted_search_is_shown_with_what_it_found(notebook, cell):
    shown = notebook.cells[cell].outputs[-1].data
    html = shown["text/html"]
    best = float(notebook.cells[3].outputs[0].text)
    assert f"Best score <b>{best:.4g}</b>" in html
    assert "<td>kernel</td><td>&#x27;rbf&#x27;</td>" in html
    assert "<td>C</td>" in html
    assert re.search(r"8 candidates, 3 folds each: \d ok, \d error", html)
    assert re.search(r'<path class="sk-mvrsm-best" d="M[\d.]+ [\d.]+', html)
    assert 'class="sk-mvrsm-failed"' in html
    assert "sk-top-container" in html  # and scikit-learn's diagram
    assert shown["text/plain"].startswith("MVRSMSearchCV(")


def test_without_widgets_the_bar_is_text():
    notebook = run("import sys; sys.modules['ipywidgets'] = None", "search.fit(X, y);")
    outputs = notebook.cells[2].outputs
    assert {each.name for each in outputs} == {"stderr"}
    last = "".join(each.text for each in outputs).split("\r")[-1]
    assert "24/24" in last
    assert re.search(r"best=0\.\d+, failed=\d+, running=0", last)
