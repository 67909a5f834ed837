"""
An external program with a time limit
=====================================

Flow solvers, finite elements and other simulations are programs: one writes a case to
a folder, starts the program, and reads a number from what it prints. Some cases never
end. Here gas flows into an electrostatic precipitator through seven screens, and the
plates in them are to make the flow even.
"""

# %%
# The program
# -----------
# ``duct.py`` computes the flow in two dimensions. Whatever is started with a case and
# prints a number takes its place: the command is all that is known of it.
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from sklearn_mvrsm import Categorical, Real, minimize
from sklearn_mvrsm.benchmarks import duct
from sklearn_mvrsm.inspection import TimelineDisplay

COMMAND = [sys.executable, duct.__file__]

# %%
# The objective
# -------------
# Each run has a folder of its own. A program that fails, or prints no number, is an
# exception here.


def run(params):
    rows = [params[f"row{k}"] for k in range(7)]
    holes = [params[f"holes{k}"] for k in range(1, 6)]
    with tempfile.TemporaryDirectory() as folder:
        case = Path(folder, "case.json")
        case.write_text(json.dumps({"plates": rows * 7, "holes": holes}))
        done = subprocess.run(
            [*COMMAND, case], cwd=folder, check=True, capture_output=True, text=True
        )
    return float(done.stdout)


# %%
# The search
# ----------
# Each of the seven rows of slots is empty, or has one of five kinds of plates or two of
# blades, the same in all screens; the width of the holes belongs to the kind of plate.
# The problem ``esp-flow`` of the benchmarks chooses each of the 49 slots. The first
# candidate is the design that is there already: the same plates everywhere. A study
# would take more than 16 runs.
#
# Two programs run at a time. One that takes more than a minute is killed. That, and an
# exception, is a failure: never the best, and a second model learns where runs fail. In
# a study, ``checkpoint="runs.jsonl"`` would keep every run.
space = {f"row{k}": Categorical(range(8)) for k in range(7)}
space |= {f"holes{k}": Real(*duct.HOLES, default=0.6) for k in range(1, 6)}
present = {f"row{k}": 3 for k in range(7)} | {f"holes{k}": 0.6 for k in range(1, 6)}
result = minimize(
    run,
    space,
    16,
    initial_points=[present],
    random_state=0,
    n_jobs=2,
    fit_timeout=60.0,
    error_score=np.nan,
)
print(f"unevenness as it is: {result.func_vals[0]:.3f}, best: {result.fun:.3f}")
result.x

# %%
# When each program ran, and what became of it:
TimelineDisplay.from_estimator(result).plot()
plt.show()

# %%
# The flow
# --------
# The solver is a module too, which draws the two designs: speed, and streamlines.
fig, axes = plt.subplots(1, 2, figsize=(7, 6), sharey=True, layout="constrained")
mesh = duct.make_mesh(84, 84)
x = duct.LENGTH * (np.arange(mesh.nx) + 0.5) / mesh.nx
y = duct.HEIGHT * (np.arange(mesh.ny) + 0.5) / mesh.ny
for ax, title, params in zip(
    axes, ["as it is", "best"], [present, result.x], strict=True
):
    plates = np.tile([params[f"row{k}"] for k in range(7)], (7, 1))
    drag = duct.drag_of(mesh, plates, [params[f"holes{k}"] for k in range(1, 6)])
    u, v = duct.solve(mesh, drag, duct.inflow_of(mesh))
    u, v = (u[1:] + u[:-1]) / 2, (v[:, 1:] + v[:, :-1]) / 2
    speed = ax.pcolormesh(x, y, np.hypot(u, v).T, vmin=0.0, vmax=4.0)
    ax.streamplot(x, y, u.T, v.T, color="white", linewidth=0.6)
    ax.set(title=title, xlabel="x", aspect="equal")
axes[0].set_ylabel("y")
fig.colorbar(speed, ax=axes, label="speed over mean speed")
plt.show()
