"""Peers and other optional libraries, imported where they are used."""

import warnings
from importlib import import_module
from types import ModuleType


class MissingLibraryError(ImportError):
    """A library that a problem or a method needs is not installed."""


def require(module: str, distribution: str) -> ModuleType:
    """Import and return a module, or say what to install.

    Parameters
    ----------
    module : str
        Name to import.
    distribution : str
        Name to install.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what the library itself imports
            return import_module(module)
    except ImportError as error:
        raise MissingLibraryError(
            f"this benchmark needs {module!r}: pip install {distribution!r} ({error})"
        ) from error
