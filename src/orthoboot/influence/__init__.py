"""Engines that find the influence function of a statistic."""

from orthoboot.influence.finite_difference import finite_difference_bias, finite_difference_influence
from orthoboot.influence.jackknife import jackknife_influence
from orthoboot.influence.selection import ENGINES, FINITE_DIFFERENCE_ROWS, Found, closed_form, influence_for

__all__ = [
    "ENGINES",
    "FINITE_DIFFERENCE_ROWS",
    "Found",
    "closed_form",
    "finite_difference_bias",
    "finite_difference_influence",
    "influence_for",
    "jackknife_influence",
]
