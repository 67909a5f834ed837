"""Cholesky factors of covariances that rounding has made indefinite."""

import numpy as np
import numpy.typing as npt

__all__ = ["safe_cholesky"]

FloatArray = npt.NDArray[np.float64]


def safe_cholesky(matrix: FloatArray, noise: float) -> FloatArray:
    """Factor a Schur complement; rounding must not make it indefinite.

    Its exact eigenvalues are at least ``noise``, so adding some of it back is within
    what rounding took.
    """
    identity = np.eye(len(matrix))
    scale = max(float(np.trace(matrix)) / max(len(matrix), 1), noise)
    jitter = 0.0
    while True:
        try:
            lower = np.linalg.cholesky(matrix + jitter * identity)
            return lower.astype(np.float64)
        except np.linalg.LinAlgError:
            if not np.isfinite(matrix).all():
                raise
            jitter = max(10.0 * jitter, noise, 1e-12 * scale)
