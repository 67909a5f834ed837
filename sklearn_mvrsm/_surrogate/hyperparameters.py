"""The kernel's formula, its hyperparameters and their normal priors.

Notation
--------
``B (n, n')``   covariance of the splines, ``sum_k splines_k B_k`` over their kinds
``S (n, n')``   similarity, the overlap kernel, see ``overlap_kernel.py``
``M (n, n')``   Matern kernel, see ``matern_kernel.py``
``K (n, n')``   the kernel, with a positive weight for each term:
                ``K = (1 + interaction S) B + linear S
                + local exp(sharpness (S - 1)) + matern M``
``lambda``      variance of the noise, the ridge of least squares
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sklearn_mvrsm._domain import FloatArray

__all__ = [
    "BOUNDS",
    "KINDS",
    "LENGTHSCALE_BOUNDS",
    "SPREAD",
    "Hyperparameters",
    "default_lengthscales",
    "negative_log_prior",
]


KINDS = 4  # of splines: see span_basis


@dataclass(frozen=True)
class Hyperparameters:
    """Logarithms of the hyperparameters; the defaults are the centre of their prior.

    Parameters
    ----------
    log_splines : tuple of float
        Variance of each kind of spline, ``KINDS`` of them.
    log_interaction, log_linear, log_local, log_sharpness : float
        Of the terms with ``S``.
    log_matern : float
        Variance of the Matern term.
    log_noise : float
        ``lambda``.
    """

    log_splines: tuple[float, ...] = (0.0,) * KINDS
    log_interaction: float = 0.0
    log_linear: float = float(np.log(0.3))
    log_local: float = float(np.log(0.3))
    log_sharpness: float = float(np.log(3.0))
    log_matern: float = 0.0
    log_noise: float = float(np.log(1e-3))

    @classmethod
    def from_vector(cls, vector: FloatArray) -> "Hyperparameters":
        """Return hyperparameters from their logarithms, in the order of the fields."""
        return cls(tuple(vector[:KINDS].tolist()), *vector[KINDS:].tolist())

    def to_vector(self) -> FloatArray:
        """Return the logarithms in the order of the fields, ``(KINDS + 6,)``."""
        ends = self.log_matern, self.log_noise
        return np.array([*self.log_splines, *self._log_overlap, *ends])

    @property
    def splines(self) -> FloatArray:
        """Variance of each kind of spline, shape ``(KINDS,)``."""
        return np.exp(self.log_splines)

    @property
    def matern(self) -> float:
        """Variance of the Matern term."""
        return float(np.exp(self.log_matern))

    @property
    def noise(self) -> float:
        """Variance of the noise: the ridge ``lambda``."""
        return float(np.exp(self.log_noise))

    def overlap_terms(
        self, similarity: FloatArray | None
    ) -> tuple[FloatArray | float, FloatArray | float]:
        """Return the factor of ``B`` and what is added to it; None: there is no S."""
        if similarity is None:
            return 1.0, 0.0
        interaction, linear, local, sharpness = np.exp(self._log_overlap)
        added = np.asarray(similarity - 1.0)
        added *= sharpness
        np.exp(added, out=added)
        added *= local
        added += linear * similarity
        factor = np.asarray(interaction * similarity)
        factor += 1.0
        return factor, added

    def covariance(
        self,
        splines: FloatArray,
        similarity: FloatArray | None,
        matern: FloatArray | float,
    ) -> FloatArray:
        """Return ``K``, the kernel, from ``B``, ``S`` and ``M``, all of one shape."""
        factor, added = self.overlap_terms(similarity)
        covariance = splines * factor
        covariance += added
        covariance += self.matern * matern
        return covariance

    def covariance_and_gradient(
        self, grams: FloatArray, similarity: FloatArray | None, matern: FloatArray
    ) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
        """Return ``K + lambda I`` at the observations, and its chain rule.

        Parameters
        ----------
        grams : ndarray of shape (KINDS, n, n)
            ``B_k``.
        similarity, matern : ndarray of shape (n, n)
            ``S`` (None: there is none) and ``M``.

        Returns
        -------
        covariance : ndarray of shape (n, n)
        gradient : callable
            Takes the derivatives of something in ``K + lambda I``, symmetric, and
            returns those in the logarithms, ordered as `to_vector` does.
        """
        flat = grams.reshape(KINDS, -1)
        splines = (self.splines @ flat).reshape(matern.shape)
        factor, added = self.overlap_terms(similarity)
        covariance = splines * factor
        covariance += added
        covariance += self.matern * matern
        covariance.ravel()[:: len(matern) + 1] += self.noise

        def gradient(slope: FloatArray) -> FloatArray:
            touched, overlap = slope, (0.0,) * 4
            if similarity is not None:
                interaction, linear, _, sharpness = np.exp(self._log_overlap)
                touched, shared = slope * factor, slope * similarity
                straight = linear * shared.sum()
                # local exp(sharpness (S - 1)) is what is added beside linear S
                peak = np.vdot(slope, added) - straight
                bent = np.vdot(shared, added) - linear * np.vdot(shared, similarity)
                curved = interaction * np.vdot(shared, splines)
                overlap = (curved, straight, peak, sharpness * (bent - peak))
            of_splines = self.splines * (flat @ touched.ravel())
            of_matern = self.matern * np.vdot(slope, matern)
            ends = of_matern, self.noise * np.trace(slope)
            return np.array([*of_splines, *overlap, *ends])

        return covariance, gradient

    @property
    def _log_overlap(self) -> tuple[float, float, float, float]:
        first = self.log_interaction, self.log_linear
        return *first, self.log_local, self.log_sharpness


SPREAD = Hyperparameters(  # standard deviations of the normal prior
    log_splines=(1.5,) * KINDS,
    log_interaction=1.0,
    log_linear=1.5,
    log_local=1.5,
    log_sharpness=0.7,
    log_matern=2.0,
    log_noise=2.0,
)
BOUNDS = np.array([(-12.0, 12.0)] * (KINDS + 5) + [(np.log(1e-8), 1.0)])
LENGTHSCALE_BOUNDS = (-4.0, 6.0)  # of a log lengthscale
_LENGTHSCALE = 0.5  # usual one of one coordinate alone, in units of its range


def default_lengthscales(d: int) -> FloatArray:
    """Return the centre of the prior of the log lengthscales.

    They grow with the root of the number of coordinates, as distances do (Hvarfner,
    Hellsten and Nardi, ICML 2024).
    """
    return np.full(d, np.log(_LENGTHSCALE * np.sqrt(max(d, 1))))


def negative_log_prior(
    values: FloatArray, centre: FloatArray, spread: FloatArray
) -> tuple[float, FloatArray]:
    """Return the negative log density of a normal prior, and its gradient."""
    z = (values - centre) / spread
    return 0.5 * float(z @ z), z / spread
