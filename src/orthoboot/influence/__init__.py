"""Engines that find the influence function of a statistic."""

from orthoboot.influence.finite_difference import finite_difference_bias, finite_difference_influence
from orthoboot.influence.given import CENTRE_TOLERANCE, given_columns
from orthoboot.influence.jackknife import jackknife_influence
from orthoboot.influence.probe import Probe, ignored_weights, probed
from orthoboot.influence.regression import (
    Design,
    RegressionRequest,
    design_for,
    regression_fit,
    regression_on,
    requested_regression,
)
from orthoboot.influence.selection import (
    ENGINES,
    FINITE_DIFFERENCE_ROWS,
    GIVEN,
    InfluenceFunction,
    check_of_resamples,
    closed_form,
    influence_for,
    not_of_resamples,
)

__all__ = [
    "CENTRE_TOLERANCE",
    "ENGINES",
    "FINITE_DIFFERENCE_ROWS",
    "GIVEN",
    "Design",
    "InfluenceFunction",
    "Probe",
    "RegressionRequest",
    "check_of_resamples",
    "closed_form",
    "design_for",
    "finite_difference_bias",
    "finite_difference_influence",
    "given_columns",
    "ignored_weights",
    "influence_for",
    "jackknife_influence",
    "not_of_resamples",
    "probed",
    "regression_fit",
    "regression_on",
    "requested_regression",
]
