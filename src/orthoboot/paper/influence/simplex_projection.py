"""A constrained problem with inequalities whose solution has a formula: the nearest point of the simplex."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import orthoboot as ob
from orthoboot.typing import FloatArray

N_ROWS, N_VARIABLES = 200, 10


def simplex_rows(rng: np.random.Generator) -> FloatArray:
    """Return noisy shares around a point where about half of the shares are zero, shape ``(n, p)``."""
    centre = rng.dirichlet(np.full(N_VARIABLES, 0.3))
    return centre - 0.1 * (centre < 0.05) + rng.standard_normal((N_ROWS, N_VARIABLES))


@cache
def simplex_functional() -> Any:
    r"""Return the nearest point of the simplex and half its squared distance, as a solved problem.

    .. math:: \min_x \tfrac12 \|x - \xi\|^2 \quad\text{subject to}\quad \textstyle\sum_i x_i = 1,\; -x \le 0.
    """
    return ob.minimize(
        lambda x, xi: ((x - xi) ** 2).sum() / 2,
        np.full(N_VARIABLES, 1 / N_VARIABLES),
        equality=lambda x, xi: x.sum() - 1,
        inequality=lambda x, xi: -x,
        output="both",
        library="jax",
        name="simplex",
    )


def nearest_shares(point: FloatArray) -> FloatArray:
    """Return ``max(xi - t, 0)``, with t such that the sum is one, shape ``(p,)``.

    Examples
    --------
    >>> nearest_shares(np.array([0.5, 1.0, -0.2])).tolist()
    [0.25, 0.75, 0.0]
    """
    descending = np.sort(point)[::-1]
    levels = (np.cumsum(descending) - 1) / np.arange(1, len(point) + 1)
    level = levels[descending > levels][-1]
    shares: FloatArray = np.maximum(point - level, 0.0)
    return shares


def explicit_influence(rows: FloatArray) -> FloatArray:
    """Return the influence on the p shares and on the value, shape ``(n, p + 1)``, from the formula.

    Shares that are zero stay so; the others move with xi, less the mean of their moves. The value moves by
    ``(xi - x) . dxi``.
    """
    centre = rows.mean(axis=0)
    shares = nearest_shares(centre)
    moves = rows - centre
    positive = shares > 0
    of_shares = np.where(positive, moves - moves[:, positive].mean(axis=1, keepdims=True), 0.0)
    return np.column_stack([of_shares, moves @ (centre - shares)])
