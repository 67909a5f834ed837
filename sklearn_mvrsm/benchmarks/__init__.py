"""The paper's problems, peers, runner and tables.

``python -m sklearn_mvrsm.benchmarks --help`` runs them.
"""

from sklearn_mvrsm.benchmarks._problem import BudgetSpent, Meter, Problem
from sklearn_mvrsm.benchmarks._registry import make_problem, problem_names

__all__ = ["BudgetSpent", "Meter", "Problem", "make_problem", "problem_names"]

for _name in __all__:  # pickles and checkpoints name the public path
    globals()[_name].__module__ = __name__
