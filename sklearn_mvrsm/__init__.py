"""Mixed-variable hyperparameter search for scikit-learn."""
