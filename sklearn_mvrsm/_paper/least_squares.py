"""Recursive least squares, in dual form while that is cheaper and then in primal form.

Notation
--------
``D``             number of weights
``c_0, c (D,)``   initial and current weights
``lambda``        ridge; ``P_0 = I / lambda``
``Phi (n, D)``    features seen
``y (n,)``        targets
``S (D, D)``      ``S S^T = P = (Phi^T Phi + lambda I)^-1``

After any number of updates ``c`` minimises ``|y - Phi c|^2 + lambda |c - c_0|^2``.
While ``n < D`` the same weights come from ``c = c_0 + Phi^T (Phi Phi^T + lambda I)^-1
(y - Phi c_0)`` (matrix inversion lemma) in ``O(n D + n^2)`` an update instead of
``O(D^2)``; from ``n = D`` on ``P`` is updated, so a step's cost stays bounded. Its
square root ``S`` is kept in its place (Potter's form): ``P`` cannot lose its positive
definiteness to rounding then, however wide the features and small the ridge.
"""

import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from scipy.linalg.blas import dger

from sklearn_mvrsm._domain import FloatArray

__all__ = ["RecursiveLeastSquares"]


EPSILON = float(np.finfo(np.float64).eps)
SWAMPED = 1e3  # a pivot below so many times its rounding error is not trusted
LARGE = 1000  # weights; with more, a small pivot is raised rather than done without


class RecursiveLeastSquares:
    """Least squares shrunk towards initial weights, one observation at a time.

    Parameters
    ----------
    initial : ndarray of shape (D,)
        ``c_0``.
    ridge : float
        ``lambda``, positive.
    """

    def __init__(self, initial: FloatArray, ridge: float) -> None:
        self.weights = initial.copy()
        self.ridge = ridge
        self._initial = initial.copy()
        self._n = 0
        self._phi = np.empty((0, len(initial)))
        self._residual: FloatArray = np.empty(0)
        self._lower: FloatArray = np.empty((0, 0))
        self._root: FloatArray | None = None  # S, once in primal form

    def update(self, phi: FloatArray, y: float) -> None:
        """Update the weights with one observation.

        Parameters
        ----------
        phi : ndarray of shape (D,)
        y : float
        """
        if self._root is None and self._n >= len(self.weights):
            self._root = self._to_primal()
        if self._root is None:
            self._update_dual(phi, y)
        else:
            self._update_primal(self._root, phi, y)
        self._n += 1

    def _update_dual(self, phi: FloatArray, y: float) -> None:
        n = self._n
        if n == len(self._phi):
            self._grow(max(2 * n, 32))
        left = np.zeros(0)  # scipy before 1.13 does not solve an empty system
        if n:
            cross = self._phi[:n] @ phi
            left = solve_triangular(
                self._lower[:n, :n], cross, lower=True, check_finite=False
            )
        length = float(phi @ phi)
        pivot = length + self.ridge - float(left @ left)
        noise = EPSILON * (n + 1) * length
        if noise > self.ridge and pivot < SWAMPED * noise:
            # the ridge, all that holds apart what is nearly the same, is rounded away
            if len(phi) <= LARGE:
                self._root = self._to_primal()
                self._update_primal(self._root, phi, y)
                return
            pivot = SWAMPED * noise
        self._phi[n] = phi
        self._residual[n] = y - phi @ self._initial
        self._lower[n, :n] = left
        # exactly, the pivot is at least the ridge; rounding can take it below
        self._lower[n, n] = np.sqrt(max(pivot, self.ridge))
        rows = slice(0, n + 1)
        alpha = cho_solve(
            (self._lower[rows, rows], True), self._residual[rows], check_finite=False
        )
        # c = c_0 + Phi^T (Phi Phi^T + lambda I)^-1 (y - Phi c_0)
        self.weights = self._initial + alpha @ self._phi[rows]

    def _update_primal(self, root: FloatArray, phi: FloatArray, y: float) -> None:
        v = phi @ root
        gain = root @ v  # P phi
        total = 1.0 + float(v @ v)  # 1 + phi^T P phi
        # c <- c + P phi (y - phi^T c) / (1 + phi^T P phi)
        self.weights += (y - phi @ self.weights) / total * gain
        # S <- S - P phi v^T / (total + sqrt(total)), in place
        dger(-1.0 / (total + np.sqrt(total)), gain, v, a=root, overwrite_a=1)

    def _to_primal(self) -> FloatArray:
        """Forget the observations and return ``S``."""
        phi = self._phi[: self._n]
        identity = np.eye(len(self.weights))
        stacked = np.vstack([phi, np.sqrt(self.ridge) * identity])
        triangle = np.linalg.qr(stacked, mode="r")  # R^T R = Phi^T Phi + lambda I
        self._phi = np.empty((0, len(self.weights)))
        self._residual, self._lower = np.empty(0), np.empty((0, 0))
        root = solve_triangular(triangle, identity, check_finite=False)
        return np.asfortranarray(root)

    def _grow(self, rows: int) -> None:
        n = self._n
        phi, residual, lower = self._phi, self._residual, self._lower
        self._phi = np.empty((rows, len(self.weights)))
        self._residual, self._lower = np.empty(rows), np.zeros((rows, rows))
        self._phi[:n], self._residual[:n] = phi[:n], residual[:n]
        self._lower[:n, :n] = lower[:n, :n]
