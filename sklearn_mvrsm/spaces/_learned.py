"""What was learned for the ready-made spaces, by ``benchmarks.portfolios``."""

from typing import Any

__all__ = ["LEARNED"]


def _table(names: str, *rows: tuple[float, ...]) -> list[dict[str, Any]]:
    return [dict(zip(names.split(), row, strict=True)) for row in rows]


# By the name of the space, without sizes; each complements those before it and the
# estimator as it comes. Categories that are not named are the first.
LEARNED: dict[str, list[dict[str, Any]]] = {
    "svc": [
        {"C": 10.0, "kernel": "rbf", "gamma": 0.051},
        {"C": 940.0, "kernel": "poly", "gamma": 0.00077, "degree": 3, "coef0": -0.22},
        {"C": 0.77, "kernel": "rbf", "gamma": 0.18},
        {"C": 12.0, "kernel": "rbf", "gamma": 0.028},
        {"C": 1.3, "kernel": "rbf", "gamma": 0.23},
        {"C": 37.0, "kernel": "poly", "gamma": 0.0053, "degree": 5, "coef0": 0.99},
        {"C": 4.2, "kernel": "rbf", "gamma": 0.04},
    ],
    "xgboost": _table(
        "n_estimators learning_rate reg_lambda reg_alpha "
        "max_depth min_child_weight subsample colsample_bytree",
        (300, 0.071, 0.62, 0.34, 2, 0.75, 0.61, 0.59),
        (120, 0.5, 0.001, 0.0016, 1, 0.1, 1.0, 0.53),
        (10, 0.34, 0.13, 0.85, 3, 0.1, 1.0, 0.97),
        (300, 0.43, 83.0, 0.012, 10, 0.15, 0.97, 0.55),
        (300, 0.075, 1.3, 0.16, 5, 0.12, 0.48, 0.46),
        (260, 0.33, 26.0, 0.26, 10, 0.25, 0.36, 0.85),
        (170, 0.12, 0.85, 0.85, 5, 1.1, 0.62, 0.5),
    ),
    "lightgbm": _table(
        "n_estimators learning_rate num_leaves min_child_samples "
        "subsample colsample_bytree reg_alpha reg_lambda",
        (300, 0.038, 97, 8, 0.43, 0.51, 0.2, 0.0052),
        (300, 0.13, 4, 2, 0.91, 0.42, 0.055, 2.2),
        (300, 0.045, 6, 4, 0.57, 0.47, 0.015, 0.13),
        (210, 0.036, 6, 20, 0.82, 0.41, 0.57, 0.06),
        (300, 0.027, 256, 4, 0.83, 0.67, 0.23, 0.088),
        (280, 0.068, 170, 6, 0.58, 0.51, 0.0084, 1.8),
        (300, 0.18, 8, 3, 0.72, 0.55, 0.88, 0.92),
    ),
    "hist_gradient_boosting": _table(
        "max_iter learning_rate max_leaf_nodes min_samples_leaf "
        "l2_regularization max_features",
        (300, 0.023, 4, 1, 0.41, 0.3),
        (300, 0.5, 4, 1, 2.7, 0.3),
        (300, 0.076, 14, 1, 2.3, 0.44),
        (300, 0.022, 5, 2, 0.63, 0.47),
    ),
    "gradient_boosting": _table(
        "n_estimators learning_rate max_depth min_samples_leaf subsample max_features",
        (300, 0.059, 11, 5, 0.91, 0.042),
        (190, 0.085, 1, 4, 1.0, 0.94),
        (300, 0.034, 11, 29, 0.8, 0.79),
        (74, 0.068, 11, 6, 0.54, 0.03125),
    ),
    "mlp": [
        {"hidden_layer_sizes": (16,), "activation": "tanh", "alpha": 0.1}
        | {"solver": "lbfgs"},
        {"hidden_layer_sizes": (256, 256, 256), "activation": "relu", "alpha": 1.8e-07}
        | {"solver": "adam", "learning_rate_init": 0.00014},
        {"hidden_layer_sizes": (64, 64, 64), "activation": "tanh", "alpha": 0.09}
        | {"solver": "lbfgs"},
        {"hidden_layer_sizes": (256, 256, 256), "activation": "tanh", "alpha": 2.4e-06}
        | {"solver": "adam", "learning_rate_init": 0.00014},
    ],
    "random_forest": _table(
        "max_features min_samples_leaf max_samples",
        (0.84, 3, 0.81),
        (0.79, 1, 0.78),
        (0.26, 2, 1.0),
        (0.49, 1, 0.24),
        (0.68, 1, 0.7),
        (0.43, 3, 0.94),
        (0.61, 1, 0.78),
    ),
}
