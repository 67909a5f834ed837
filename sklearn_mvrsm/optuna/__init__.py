"""The optimiser as a sampler of optuna, and a search as a study. Needs optuna."""

try:
    from sklearn_mvrsm.optuna._sampler import MVRSMSampler
    from sklearn_mvrsm.optuna._study import to_study
except ModuleNotFoundError as error:
    if error.name != "optuna":
        raise
    raise ImportError(
        "sklearn_mvrsm.optuna needs optuna, which 'pip install sklearn-mvrsm[optuna]' "
        "installs"
    ) from error

__all__ = ["MVRSMSampler", "to_study"]

for _name in __all__:  # pickles and checkpoints name the public path
    globals()[_name].__module__ = __name__
