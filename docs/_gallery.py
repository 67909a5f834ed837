"""How the gallery orders and runs the examples."""

import warnings

ORDER = (
    "plot_first_search.py",
    "plot_conditional_xgboost.py",
    "plot_whole_pipelines.py",
    "plot_automl.py",
    "plot_timeouts.py",
    "plot_resume.py",
    "plot_pictures.py",
    "plot_nested_cross_validation.py",
    "plot_ackley.py",
    "plot_external_program.py",
    "tune_steel_plates.py",
)


class Order:
    """Sort key of the examples; one that has no place is a mistake."""

    def __init__(self, directory):
        self.directory = directory

    def __call__(self, filename):
        return ORDER.index(filename)

    def __repr__(self):
        return "<Order>"


def reset(gallery_conf, filename):
    """Show warnings as their text, without the path of a file."""
    warnings.formatwarning = lambda message, category, *_, **__: (
        f"{category.__name__}: {message}\n"
    )
