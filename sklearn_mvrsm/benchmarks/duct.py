"""Compute the flow of gas through a duct with plates: ``python duct.py CASE.json``.

The duct leads to an electrostatic precipitator. Gas enters a hood, 1 high and 1/2
long, through an opening low in its left wall, passes 7 screens of 7 slots each, and
leaves on the right, where the flow should be even. Each slot holds

* 0: nothing;
* 1 to 5: a plate with holes, whose width, in pitches, belongs to the kind;
* 6 and 7: blades that turn the gas by 45 degrees upwards, or downwards.

The gas creeps: ``-div(grad(w)) + A w + grad(p) = 0`` and ``div(w) = 0`` (Brinkman,
1949; unit viscosity). The drag ``A`` is a symmetric matrix in each plate, and zero in
between. A plate with the open share ``f`` resists by ``5 (1 / f - 1)^2`` across, and by
half of that along. Blades resist by 100 across themselves, and not along. Walls are
smooth. There is no inertia: the structure is that of the real problem (Rehbach et
al., GECCO 2018), its numbers are not.

Finite volumes are staggered: ``u`` is on the vertical faces of cells, ``v`` on the
horizontal ones. The unknowns are a stream function at the corners, so that mass is
conserved exactly. The solution is the flow of least dissipation with that inlet: the
pressure is eliminated, and the matrix is symmetric and positive definite. The value is
within 1.5 % of that on a mesh twice as fine, also where the flow is nearly even.

The case is a JSON object: ``plates`` has 49 kinds, screen by screen from the inlet and
each from the bottom, and ``holes`` 5 numbers. The program prints the value.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

N_SCREENS = N_ROWS = 7
N_KINDS, N_HOLES = 8, 5
HOLES = 0.4, 0.9  # bounds of their widths
LENGTH, HEIGHT = 0.5, 1.0
OPENING = 1.0 / 7.0, 2.0 / 7.0
REFINEMENT = 3

_PLATE = 5.0
_BLADES = 100.0
_SCREEN = 4  # a screen is a quarter of its share of the length thick

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Mesh:
    """What a mesh of nx times ny cells contributes to the equations.

    Parameters
    ----------
    nx, ny : int
    curl : sparse matrix of shape (n_faces, n_corners)
        From the stream function to u, then v, on the faces.
    viscous : sparse matrix of shape (n_faces, n_faces)
        Dissipation of velocities as a quadratic form.
    to_u, to_v : sparse matrices of shape (n_cells, n_u) and (n_cells, n_v)
        Means over the two faces of each cell.
    """

    nx: int
    ny: int
    curl: Any
    viscous: Any
    to_u: Any
    to_v: Any

    @property
    def volume(self) -> float:
        """Volume of a cell."""
        return LENGTH / self.nx * HEIGHT / self.ny


def _differences(n: int) -> sparse.spmatrix:
    """Return the matrix of the differences of n + 1 values."""
    return sparse.diags([-np.ones(n), np.ones(n)], [0, 1], shape=(n, n + 1))


def _means(n: int) -> sparse.spmatrix:
    """Return the matrix of the means of two neighbours of n + 1 values."""
    return abs(_differences(n)) / 2.0


def _gradient(along: int, across: int, ratio: float, *, first: bool) -> sparse.spmatrix:
    """Return the dissipation of one component, which lives on faces.

    Parameters
    ----------
    along, across : int
        Cells in the direction of the component, of which it has the faces, and in the
        other, of which it has the middles.
    ratio : float
        Width of a cell across over its width along.
    first : bool
        Whether the component's direction is the first index.
    """
    D, E = _differences(along), _differences(across - 1)
    ends = np.ones(along + 1)
    ends[[0, -1]] = 0.5  # half a volume lies within the duct
    own = sparse.diags(ends)
    stretch, shear = D.T @ D * ratio, E.T @ E / ratio
    one = sparse.identity(across)
    if first:
        return sparse.kron(stretch, one) + sparse.kron(own, shear)
    return sparse.kron(one, stretch) + sparse.kron(shear, own)


@cache
def make_mesh(nx: int, ny: int) -> Mesh:
    """Return the mesh of nx times ny equal cells; arrays are indexed [x, y]."""
    hx, hy = LENGTH / nx, HEIGHT / ny
    u = sparse.kron(sparse.identity(nx + 1), _differences(ny)) / hy
    v = sparse.kron(_differences(nx), sparse.identity(ny + 1)) / -hx
    blocks = [
        _gradient(nx, ny, hy / hx, first=True),
        _gradient(ny, nx, hx / hy, first=False),
    ]
    return Mesh(
        nx,
        ny,
        sparse.vstack([u, v]).tocsr(),
        sparse.block_diag(blocks).tocsr(),
        sparse.kron(_means(nx), sparse.identity(ny)).tocsr(),
        sparse.kron(sparse.identity(nx), _means(ny)).tocsr(),
    )


def solve(
    mesh: Mesh, drag: ArrayLike, inflow: ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Return the velocities on the faces.

    Parameters
    ----------
    mesh : Mesh
    drag : array-like of shape (3, nx, ny)
        Of each cell the entries xx, yy and xy of the matrix A.
    inflow : array-like of shape (ny + 1,)
        The stream function at the left wall: the flow through it below each corner.

    Returns
    -------
    u : ndarray of shape (nx + 1, ny)
    v : ndarray of shape (nx, ny + 1)
    """
    nx, ny, curl = mesh.nx, mesh.ny, mesh.curl
    xx, yy, xy = (mesh.volume * np.reshape(entry, -1) for entry in np.asarray(drag))
    own_u, own_v = (sparse.diags(d) for d in (mesh.to_u.T @ xx, mesh.to_v.T @ yy))
    mixed = mesh.to_u.T @ sparse.diags(xy) @ mesh.to_v
    form = sparse.bmat([[own_u, mixed], [mixed.T, own_v]]) + mesh.viscous
    psi = np.zeros((nx + 1, ny + 1))
    psi[0] = inflow
    psi[:, [0, -1]] = psi[0, [0, -1]]  # no flow through the walls
    is_free = np.zeros(psi.shape, dtype=bool)
    is_free[1:, 1:-1] = True
    basis = curl[:, is_free.ravel()]
    weighted = basis.T @ form
    factors = splu(
        (weighted @ basis).tocsc(),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    psi[is_free] = factors.solve(-(weighted @ (curl @ psi.ravel())))
    u, v = np.split(curl @ psi.ravel(), [(nx + 1) * ny])
    return u.reshape(nx + 1, ny), v.reshape(nx, ny + 1)


def drag_of(mesh: Mesh, plates: ArrayLike, holes: ArrayLike) -> FloatArray:
    """Return the drag of a design in each cell.

    Parameters
    ----------
    mesh : Mesh
        nx a multiple of 28 and ny of 7.
    plates : array-like of shape (7, 7)
        Kinds by screen and row.
    holes : array-like of shape (5,)
        Widths in pitches.

    Returns
    -------
    ndarray of shape (3, nx, ny)
    """
    open_share = np.pi / 4.0 * np.asarray(holes, dtype=float) ** 2
    across = np.r_[0.0, _PLATE * (1.0 / open_share - 1.0) ** 2, [_BLADES / 2.0] * 2]
    along = np.r_[across[:6] / 2.0, across[6:]]
    turn = np.r_[np.zeros(6), -_BLADES / 2.0, _BLADES / 2.0]
    thickness = LENGTH / N_SCREENS / _SCREEN
    of_kind = np.array([across, along, turn]) / thickness
    of_slot = of_kind[:, np.asarray(plates, dtype=int)]
    cells = mesh.nx // (N_SCREENS * _SCREEN), mesh.ny // N_ROWS
    slices = np.zeros((3, N_SCREENS, _SCREEN, N_ROWS))
    slices[:, :, _SCREEN // 2] = of_slot
    drag: FloatArray = slices.reshape(3, N_SCREENS * _SCREEN, N_ROWS)
    return drag.repeat(cells[0], axis=1).repeat(cells[1], axis=2)


def inflow_of(mesh: Mesh, opening: tuple[float, float] = OPENING) -> FloatArray:
    """Return the inflow through an opening: a parabola, 1 in all."""
    y = np.linspace(0.0, HEIGHT, mesh.ny + 1)
    low, high = opening
    s = np.clip((y - low) / (high - low), 0.0, 1.0)
    inflow: FloatArray = s**2 * (3.0 - 2.0 * s)
    return inflow


def unevenness(
    plates: ArrayLike, holes: ArrayLike, refinement: int = REFINEMENT
) -> float:
    """Return how uneven the outflow is: its standard deviation over its mean.

    Parameters
    ----------
    plates : array-like of shape (7, 7)
    holes : array-like of shape (5,)
    refinement : int
        The mesh has 28 times as many cells in each direction.
    """
    mesh = make_mesh(28 * refinement, 28 * refinement)
    u, _ = solve(mesh, drag_of(mesh, plates, holes), inflow_of(mesh))
    return float(np.std(u[-1]) / np.mean(u[-1]))


def main(arguments: Sequence[str]) -> int:
    """Print the value of a case and return the exit code."""
    (path,) = arguments
    case = json.loads(Path(path).read_text(encoding="utf-8"))
    plates = np.reshape(case["plates"], (N_SCREENS, N_ROWS))
    print(unevenness(plates, case["holes"]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
