"""Warnings that name the line of the user."""

import inspect
import warnings

__all__ = ["warn"]

_WITHIN = frozenset({__name__.partition(".")[0], "sklearn", "contextlib"})


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost line outside this package and scikit-learn.

    Parameters
    ----------
    message : str
        What is wrong, and what helps.
    category : type of Warning
        Its class.
    """
    frame, level = inspect.currentframe(), 0
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] not in _WITHIN:
            break
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level + 1)
