"""The statistics that are debiased, and the values that they estimate with a bias."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import orthoboot as ob
from orthoboot.paper.debias.quadratic_program import quadratic_program
from orthoboot.typing import FloatArray

SIZES = tuple(range(2, 11))
"""Numbers of resamples B."""
TIMES = 10
"""How often the bootstrap of one data set is repeated."""
METHODS = ("standard", "paper", "orthogonal")


@dataclass(frozen=True)
class Problem:
    """A statistic of simulated data, and the value it estimates with a bias.

    Attributes
    ----------
    title
        As in the paper's table.
    statistic
        From the seed of the run.
    generate
        Returns data and the true value.
    """

    title: str
    statistic: Callable[[int], Any]
    generate: Callable[[np.random.Generator, int], tuple[FloatArray, float]]


def _vectors(rng: np.random.Generator, seed: int) -> tuple[FloatArray, float]:
    """Return 100 rows of N(0.2, I) in 25 dimensions; the squared length of the mean is one, and so is its square."""
    return 0.2 + rng.standard_normal((100, 25)), 1.0


def _categories(rng: np.random.Generator, seed: int) -> tuple[FloatArray, float]:
    """Return 1000 draws from 100 categories, whose shares are drawn from the uniform Dirichlet distribution."""
    shares = rng.dirichlet(np.ones(100))
    # A share that is drawn as exactly zero adds nothing.
    truth = -float(np.sum(shares * np.log(np.where(shares > 0, shares, 1.0))))
    return rng.choice(100, size=1000, p=shares).astype(np.float64), truth


def right_sides(rng: np.random.Generator, seed: int) -> tuple[FloatArray, float]:
    """Return ten noisy right-hand sides, and the minimal value at their mean, which lies on the unit sphere."""
    program = quadratic_program(seed)
    centre = rng.standard_normal(program.n_constraints)
    centre /= np.linalg.norm(centre)
    return centre + rng.standard_normal((10, len(centre))), program.minimal_value(centre)


PROBLEMS = {
    "ellipsoidal": Problem("Ellipsoidal", lambda seed: ob.norm_of_mean(2), _vectors),
    "polynomial": Problem("Polynomial", lambda seed: ob.norm_of_mean(4), _vectors),
    "entropy": Problem("Entropy", lambda seed: ob.entropy, _categories),
    "optimisation": Problem("Optimisation", lambda seed: quadratic_program(seed).functional(), right_sides),
}
"""The columns of ``table: debias``, in order."""
