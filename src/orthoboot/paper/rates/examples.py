"""The statistics, numbers of rows and numbers of resamples for the rates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import orthoboot as ob
from orthoboot.typing import FloatArray

ESTIMATORS = ("standard", "paper", "orthogonal")
QUANTITIES = {"debiased": "debiased value", "variance": "variance estimate"}
"""What is simulated, and what it is called."""
ROWS = (50, 158, 500, 1581, 5000, 15811, 50000)
"""Numbers of rows n, two to a power of ten, with `FEW_RESAMPLES`."""
FEW_RESAMPLES = 10
RESAMPLES = (5, 10, 20, 50, 100, 200, 500, 1000)
"""Numbers of resamples B, with `FIXED_ROWS`."""
FIXED_ROWS = 1000
GROUPS = 50
"""Over how many groups of B replicates of one data set the simulation variance is taken."""


@dataclass(frozen=True)
class PresentValue:
    r"""The present value of T periods of sales whose price grows by random factors: two inputs, a finite horizon.

    .. math:: \phi(F_1, F_2) = E\,h(G, D), \qquad
              h(G, D) = \sum_{t=1}^T d^t D(t) \prod_{s=1}^t G(s), \qquad G(t) \sim F_1,\ D(t) \sim F_2

    All G(t) and D(t) are independent, so the expectation over the paths is a finite sum and so are its derivatives:

    .. math:: \phi = \mu_D\,S(\mu_G), \quad S(g) = \sum_{t=1}^T (d g)^t, \qquad
              I_1(x) = \mu_D\,S'(\mu_G)\,(x - \mu_G), \quad I_2(y) = S(\mu_G)\,(y - \mu_D).

    A performance measure of the form in ``section:verifyingKernelMMD``, of which ``equation: finite-horizon taylor`` is
    the expansion.

    Attributes
    ----------
    periods
        The horizon T.
    discount
        The factor d of one period.

    Examples
    --------
    >>> PresentValue(periods=2, discount=0.5)(np.array([1.0, 3.0]), np.array([5.0]))
    10.0
    """

    periods: int = 5
    discount: float = 0.95

    def path(self, growth: FloatArray, sales: FloatArray) -> float:
        """Return h of one path, growth factors and sales of shape ``(T,)`` each."""
        discounts = self.discount ** np.arange(1, self.periods + 1)
        return float(np.sum(discounts * sales * np.cumprod(growth)))

    def __call__(
        self, growth: FloatArray, sales: FloatArray, *, weights: tuple[FloatArray, FloatArray] | None = None
    ) -> float:
        """Return the expectation of h when factors and sales are drawn from the weighted rows of the samples."""
        of_growth, of_sales = weights or (None, None)
        return float(self._sum(np.average(growth, weights=of_growth)) * np.average(sales, weights=of_sales))

    def influence(self, growth: FloatArray, sales: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the influence of the rows of each sample, shapes ``(n_1,)`` and ``(n_2,)``."""
        mean_growth, mean_sales = growth.mean(), sales.mean()
        return (
            mean_sales * self._slope(mean_growth) * (growth - mean_growth),
            self._sum(mean_growth) * (sales - mean_sales),
        )

    def _sum(self, growth: float) -> float:
        return sum((self.discount * growth) ** t for t in range(1, self.periods + 1))

    def _slope(self, growth: float) -> float:
        return sum(t * self.discount**t * growth ** (t - 1) for t in range(1, self.periods + 1))


@dataclass(frozen=True)
class Example:
    """A statistic, the data it is taken of, and how fast its remainder vanishes.

    Attributes
    ----------
    title
        In tables and above panels.
    draw
        Returns the data, n rows of each sample.
    statistic, influence
        As for `bootstrap`.
    remainder
        The remainder ``phi_b - phi_hat - linear_b`` is of order ``n**-remainder``.
    smooth
        Whether the assumptions of the theorems hold.
    control
        What the orthogonal estimator takes from a replicate; the theorems are about the linear part.
    groups
        Over how many groups of B replicates of one data set the simulation variance is taken.
    """

    title: str
    draw: Callable[[np.random.Generator, int], Any]
    statistic: Any
    influence: Any = "auto"
    remainder: float = 1.0
    smooth: bool = True
    control: str = "linear"
    groups: int = GROUPS

    def simulated_order(self, estimator: str) -> float:
        """Return the power of 1/n that the simulated part of a replicate falls with.

        It is the whole of phi_b - phi_hat for the standard bootstrap, and what the linear part leaves for the others;
        half an order less than that without the quadratic part too.
        """
        if estimator == "standard":
            return 0.5
        return self.remainder + (0.5 if estimator == "orthogonal" and self.control == "quadratic" else 0.0)


def _normal(rng: np.random.Generator, n: int) -> FloatArray:
    return rng.standard_normal(n)


def _shifted_normal(rng: np.random.Generator, n: int) -> FloatArray:
    return 1 + rng.standard_normal(n)


def _exponential_pairs(rng: np.random.Generator, n: int) -> FloatArray:
    return rng.exponential(size=(n, 2))


def _growth_and_sales(rng: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray]:
    return rng.lognormal(0.0, 0.2, n), rng.gamma(4.0, 0.25, n)


_present_value = PresentValue()

EXAMPLES = {
    # Of normal data, since heavy tails hide in 50 rows: the sample's fourth moment is then far below that of the
    # distribution, which alone makes the slope of the standard variance estimate -1.88 for the double exponential.
    "variance": Example("variance, normal", _normal, ob.variance),
    "squared-mean": Example("(E X)², X ~ N(1, 1)", _shifted_normal, ob.norm_of_mean(2)),
    "finite-horizon": Example(
        "present value, two inputs", _growth_and_sales, _present_value, influence=_present_value.influence
    ),
    # A known bias outweighs few replicates: few groups differ from each other.
    "ratio": Example(
        "E Y / E X, quadratic control", _exponential_pairs, ob.ratio, control="quadratic", groups=4 * GROUPS
    ),
    # By Bahadur's representation, where the assumptions of the theorems would give 1.
    "median": Example("median, normal (assumption fails)", _normal, ob.median, remainder=0.75, smooth=False),
}
"""The examples by the names of their cases. ``section:verifyingKernelMMD`` has the second and the third."""
