"""The covariance matrix has its row in the registry; here is its triangular factor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import orthoboot as ob
from orthoboot.data import read
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import DataError, FitError

ROWS = np.random.default_rng(0).gamma(2.0, size=(30, 3)) @ [[1.0, 0.5, 2.0], [0.0, 1.0, 1.0], [0.0, 0.0, 0.3]]


def test_the_factor_is_triangular_and_its_square_the_covariance_matrix() -> None:
    factor = ob.covariance_factor.replace(ddof=1)(ROWS)
    np.testing.assert_array_equal(np.tril(factor, -1), 0)
    np.testing.assert_allclose(factor.T @ factor, np.cov(ROWS, rowvar=False), rtol=1e-12)


def test_weights_on_rows_count_them_as_often() -> None:
    counts = np.arange(30) % 4
    repeated = ob.covariance_factor(np.repeat(ROWS, counts, axis=0))
    np.testing.assert_allclose(ob.covariance_factor(ROWS, weights=counts), repeated, rtol=1e-12)


@pytest.mark.parametrize("ddof", [0, 1])
def test_the_influence_is_the_derivative_towards_each_row(ddof: int) -> None:
    data, factor, distance = read(ROWS), ob.covariance_factor.replace(ddof=ddof), 1e-5
    towards = 30 * np.eye(30) - 1
    ahead, behind = (factor.at(data).values(Resamples((1 + d * towards,))) for d in (distance, -distance))
    (influence,) = factor.at(data).influence()
    slopes = (ahead - behind) / (2 * distance)
    np.testing.assert_allclose(influence, slopes, rtol=0, atol=1e-8 * np.abs(slopes).max())


def test_the_second_order_bias_is_half_the_mean_curvature_towards_rows() -> None:
    data, distance = read(ROWS), 1e-3
    towards = 30 * np.eye(30) - 1
    sides = [ob.covariance_factor.at(data).values(Resamples((1 + d * towards,))) for d in (distance, -distance)]
    second = (sides[0] + sides[1] - 2 * ob.covariance_factor.at(data).estimate) / distance**2
    bias = ob.covariance_factor.at(data).second_order_bias(lambda parts: parts[0].T @ parts[0] / 30**2)
    np.testing.assert_allclose(bias, second.sum(axis=0) / (2 * 30**2), rtol=1e-3, atol=1e-9)


def test_a_column_that_follows_from_the_others_is_an_error() -> None:
    with pytest.raises(FitError, match="a combination of the columns does not vary"):
        ob.covariance_factor([[1.0, 2.0], [2.0, 4.0], [4.0, 8.0]])


def test_a_single_column_without_a_second_axis_is_refused() -> None:
    with pytest.raises(DataError, match="use `variance`"):
        ob.covariance_matrix([1.0, 2.0, 4.0])


@pytest.mark.parametrize("offset", [0.0, 20.0, 900.0])
@pytest.mark.parametrize("seed", range(5))
def test_columns_that_depend_on_each_other_have_no_factor_whatever_rounding_says(seed: int, offset: float) -> None:
    first = np.random.default_rng(seed).normal(size=(12, 2))
    dependent = np.column_stack([first, first @ [0.3, -1.7]]) + offset
    with pytest.raises(FitError, match="a combination of the columns does not vary"):
        ob.covariance_factor(dependent)
    few = np.random.default_rng(seed).normal(size=(3, 4)) + offset  # fewer rows than columns
    with pytest.raises(FitError, match="there must be more rows than columns"):
        ob.covariance_factor(few)


def test_columns_that_nearly_depend_on_each_other_have_a_factor() -> None:
    rng = np.random.default_rng(0)
    first, noise = rng.normal(size=(2, 50))
    # What the first column leaves of the second, by least squares.
    rest = 1e-5 * np.sqrt(noise.var() - np.cov(first, noise, ddof=0)[0, 1] ** 2 / first.var())
    factor = ob.covariance_factor(np.column_stack([first, first + 1e-5 * noise]))
    np.testing.assert_allclose(factor[1, 1], rest, rtol=1e-4)


@pytest.mark.parametrize("offset", [0.0, 900.0])
def test_columns_before_that_are_nearly_dependent_enlarge_rounding(offset: float) -> None:
    # Four rows span three dimensions about their mean, whatever is added to them.
    rows = np.array([[0.0, 0.5, 2.0, 7.0], [0.0, 0.7, 1.0, 13.0], [4.2177, -1.8054, -1.6110, 9.9718]])
    rows = np.vstack([rows, [0.4504, 0.4965, 0.0415, 9.2106]]) + offset
    with pytest.raises(FitError, match="a combination of the columns does not vary"):
        ob.covariance_factor(rows)


@pytest.mark.parametrize("statistic", [ob.covariance_matrix, ob.covariance_factor], ids=lambda one: one.name)
def test_rows_without_the_outlier_of_the_data_keep_their_digits(statistic: Any) -> None:
    rows = np.vstack([ROWS, np.full((1, 3), 1e8)])
    counts = np.r_[np.ones(30), 0.0]
    np.testing.assert_allclose(statistic(rows, weights=counts), statistic(ROWS), rtol=1e-7)
