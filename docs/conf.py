"""How the documentation is built: ``sphinx-build -W -b html docs docs/_build``."""

import inspect
import os
import re
import sys
from importlib import import_module
from pathlib import Path

for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")
sys.path.insert(0, str(Path(__file__).parent))

project = "sklearn-mvrsm"
author = "The sklearn-mvrsm developers"
copyright = author
version = release = import_module("sklearn_mvrsm").__version__

extensions = [
    "_mathml",
    "matplotlib.sphinxext.plot_directive",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.extlinks",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "auto_examples/*.ipynb", "auto_examples/*.py"]
html_static_path = ["_static"]
html_css_files = ["custom.css"]
default_role = "py:obj"
# Names of the package can be written without it.
rst_prolog = ".. currentmodule:: sklearn_mvrsm\n"
nitpicky = True
# Names of other packages, and attributes that fit sets, have no page here; all other
# names must resolve.
nitpick_ignore_regex = [
    (r"py:.*", r"(?!sklearn_mvrsm)[a-z]\w*\..*"),
    (r"py:obj", r"\w+_"),
]

# Pages of scikit-learn: :sklearn:`GridSearchCV <model_selection.GridSearchCV>`.
extlinks = {
    "sklearn": (
        "https://scikit-learn.org/stable/modules/generated/sklearn.%s.html",
        "%s",
    )
}

# With this set, names of other packages are linked too, which needs the network.
if os.environ.get("SKLEARN_MVRSM_DOCS_LINKS"):
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_mapping = {
        "python": ("https://docs.python.org/3", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "scipy": ("https://docs.scipy.org/doc/scipy", None),
        "sklearn": ("https://scikit-learn.org/stable", None),
    }

# Reference pages, from docstrings.
autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# Pictures that a page draws, with the code that draws them.
plot_include_source = True
plot_html_show_source_link = False
plot_html_show_formats = False
plot_formats = [("png", 100)]

# What is copied is what is typed: no prompts, no output.
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = "sklearn-mvrsm"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": f"sklearn-mvrsm {version}"},
    "navbar_persistent": ["search-button"],
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "navigation_with_keys": False,
    "show_prev_next": True,
    "header_links_before_dropdown": 8,
    "pygments_light_style": "tango",
    "pygments_dark_style": "github-dark",
}
html_sidebars = {
    "start": [],
    "algorithm": [],
    "algorithm_tests": [],
    "benchmarks": [],
    "changelog": [],
}


sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"quickstart\.py",
    "within_subsection_order": "_gallery.Order",
    "backreferences_dir": "generated/examples",
    "doc_module": ("sklearn_mvrsm",),
    "inspect_global_variables": False,
    "thumbnail_size": (400, 280),
    "reference_url": {"sklearn_mvrsm": None},
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "download_all_examples": False,
    "reset_modules": ("_gallery.reset", "matplotlib"),
    "abort_on_example_error": True,
    "matplotlib_animations": False,
}


def without_links(app, what, name, obj, options, lines):
    """Replace references to pages of scikit-learn, in what is inherited from there."""
    origin = inspect.unwrap(getattr(obj, "fget", obj))
    if getattr(origin, "__module__", "").startswith("sklearn."):
        for k, line in enumerate(lines):
            line = re.sub(r":(?:term|ref):`([^<`]*?)(?: <[^`]*>)?`", r"``\1``", line)
            lines[k] = re.sub(r"(?<![`:])`([^`]+)`(?!`)", r"``\1``", line)


def setup(app):
    # before numpydoc
    app.connect("autodoc-process-docstring", without_links, priority=400)
