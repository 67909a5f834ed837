"""Recursive least squares, in dual form while that is cheaper and then in primal form.

Notation
--------
``D``             number of weights
``c_0, c (D,)``   initial and current weights
``lambda``        ridge; ``P_0 = I / lambda``
``Phi (n, D)``    features seen
``y (n,)``        targets
``P (D, D)``      ``(Phi^T Phi + lambda I)^-1``

After any number of updates ``c`` minimises ``|y - Phi c|^2 + lambda |c - c_0|^2``.
While ``n < D`` the same weights come from ``c = c_0 + Phi^T (Phi Phi^T + lambda I)^-1
(y - Phi c_0)`` (matrix inversion lemma) in ``O(n D + n^2)`` an update instead of
``O(D^2)``; from ``n = D`` on ``P`` is updated, so a step's cost stays bounded.
"""

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_solve, solve_triangular

__all__ = ["RecursiveLeastSquares"]

FloatArray = npt.NDArray[np.float64]


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
        self._inverse: FloatArray | None = None  # P, once in primal form

    def update(self, phi: FloatArray, y: float) -> None:
        """Take in one observation.

        Parameters
        ----------
        phi : ndarray of shape (D,)
        y : float
        """
        if self._inverse is None and self._n >= len(self.weights):
            self._to_primal()
        if self._inverse is None:
            self._update_dual(phi, y)
        else:
            self._update_primal(self._inverse, phi, y)
        self._n += 1

    def _update_dual(self, phi: FloatArray, y: float) -> None:
        n = self._n
        if n == len(self._phi):
            self._grow(max(2 * n, 32))
        left = solve_triangular(
            self._lower[:n, :n], self._phi[:n] @ phi, lower=True, check_finite=False
        )
        pivot = float(phi @ phi) + self.ridge - float(left @ left)
        self._phi[n] = phi
        self._residual[n] = y - phi @ self._initial
        self._lower[n, :n] = left
        # exactly, the pivot is at least the ridge; rounding can take it below
        self._lower[n, n] = np.sqrt(max(pivot, self.ridge))
        rows = slice(0, n + 1)
        alpha = cho_solve(
            (self._lower[rows, rows], True), self._residual[rows], check_finite=False
        )
        self.weights = self._initial + alpha @ self._phi[rows]

    def _update_primal(self, inverse: FloatArray, phi: FloatArray, y: float) -> None:
        v = inverse @ phi
        gain = v / (1.0 + phi @ v)
        self.weights += (y - phi @ self.weights) * gain
        inverse -= np.outer(gain, v)

    def _to_primal(self) -> None:
        phi = self._phi[: self._n]
        values, vectors = np.linalg.eigh(phi.T @ phi)
        # P = (Phi^T Phi + lambda I)^-1
        self._inverse = (vectors / (np.maximum(values, 0.0) + self.ridge)) @ vectors.T
        self._phi = np.empty((0, len(self.weights)))
        self._residual, self._lower = np.empty(0), np.empty((0, 0))

    def _grow(self, rows: int) -> None:
        n = self._n
        phi, residual, lower = self._phi, self._residual, self._lower
        self._phi = np.empty((rows, len(self.weights)))
        self._residual, self._lower = np.empty(rows), np.zeros((rows, rows))
        self._phi[:n], self._residual[:n] = phi[:n], residual[:n]
        self._lower[:n, :n] = lower[:n, :n]
