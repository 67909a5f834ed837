"""
Minimising a black box
======================

The optimiser does not need an estimator. Here it minimises the function of 53 variables
from the paper that introduced MVRSM: Ackley's, with 50 of the variables restricted to 0
and 1. Its minimum is 0, where all variables are 0.
"""

# %%
import time

import matplotlib.pyplot as plt
import numpy as np

from sklearn_mvrsm import Integer, MVRSMOptimizer, Real, SearchSpace, minimize

names = [f"b{i}" for i in range(50)] + [f"x{i}" for i in range(3)]
space = SearchSpace(
    {name: Integer(0, 1) if name[0] == "b" else Real(-1.0, 1.0) for name in names}
)


def ackley(params):
    x = np.array([params[name] for name in names], dtype=float)
    radius = np.sqrt(np.mean(x**2))
    ripple = np.mean(np.cos(2 * np.pi * x))
    return 20 - 20 * np.exp(-0.2 * radius) + np.e - np.exp(ripple)


# %%
# :func:`~sklearn_mvrsm.minimize` returns what the functions of ``scipy.optimize``
# return. Random search, for comparison, sees as many points.
n_iter = 100
start = time.monotonic()
result = minimize(ackley, space, n_iter, random_state=0)
took = time.monotonic() - start
random_values = [ackley(params) for params in space.sample(n_iter, random_state=0)]
print(f"mvrsm:  {result.fun:.3f}, {1000 * took / n_iter:.0f} ms a step")
print(f"random: {min(random_values):.3f}")

# %%
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for label, values in (("random", random_values), ("mvrsm", result.func_vals)):
    ax.step(np.arange(1, n_iter + 1), np.minimum.accumulate(values), label=label)
ax.set(xlabel="evaluation", ylabel="lowest value so far", ylim=(0, None))
ax.legend()
plt.show()

# %%
# Ask and tell
# ------------
# Where the function cannot be called, because a person or a machine evaluates it, there
# is :class:`~sklearn_mvrsm.MVRSMOptimizer`. It can be pickled between two steps.
optimizer = MVRSMOptimizer(space, random_state=0)
for _ in range(30):
    params = optimizer.ask()
    optimizer.tell(params, ackley(params))
print(f"after 30 evaluations: {optimizer.best_value:.3f}")
