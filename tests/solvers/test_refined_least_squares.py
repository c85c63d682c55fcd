"""Least squares on many resamples at once: to double precision, and each with the same bits whatever the others."""

import os
import platform
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import orthoboot as ob
from orthoboot.arrays.threads import run_here
from orthoboot.data import read
from orthoboot.draws.resamples import Resamples
from orthoboot.functionals import linear_regression
from orthoboot.solvers import refined_least_squares
from orthoboot.solvers.cross_products import CrossProducts
from orthoboot.solvers.refined_least_squares import TOGETHER, RefinedLeastSquares
from orthoboot.solvers.tall_qr import QRFactors

N, D = 1100, 32
OF_OPENBLAS = pytest.mark.skipif(
    "openblas" not in np.show_config(mode="dicts")["Build Dependencies"]["blas"]["name"],
    reason="other libraries round by the place in a product",
)
SIZES = [(5, 1), (100, 3), (129, 9), (300, 20), (700, 50), (1025, 63)]


def problem(n: int, d: int, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return orthonormal columns, errors and weights."""
    rng = np.random.default_rng(n + d)
    basis = QRFactors.of(rng.lognormal(size=(n, d))).orthonormal
    return basis, rng.normal(size=n), rng.gamma(2.0, size=(number, n))


def fit_data(n: int = N, d: int = D) -> Any:
    rng = np.random.default_rng(3)
    X = rng.lognormal(size=(n, d))
    return X, X.sum(axis=1) + rng.normal(size=n)


@pytest.mark.parametrize(("n", "d"), SIZES)
@pytest.mark.parametrize("number", [1, TOGETHER + 3])
def test_solutions_and_scores_are_those_of_double_precision(n: int, d: int, number: int) -> None:
    basis, errors, weights = problem(n, d, number)
    found = RefinedLeastSquares(basis, errors)(weights)
    multiply = CrossProducts(basis, errors)
    for own, change, scores in zip(weights, *found, strict=True):
        products = multiply(own)
        # Rounding of sums of n numbers, and what the last step may leave.
        np.testing.assert_allclose(scores, products[:, -1], rtol=0, atol=1e-14 * np.sqrt(n) * np.abs(errors).max())
        expected = np.linalg.solve(products[:, :-1], products[:, -1])
        bound = 1e-12 + 1e-14 * np.linalg.cond(products[:, :-1])
        np.testing.assert_allclose(change, expected, rtol=0, atol=bound * np.abs(expected).max())


def test_matrices_that_single_precision_has_three_digits_for_are_solved_to_double_precision() -> None:
    basis, errors, weights = problem(N, D, 12)
    # Rows that tell one direction from another are drawn less and less, until the factor is refused.
    share = np.square(basis @ np.ones(D)) / (basis**2).sum(axis=1)
    weights = weights[:1] * np.exp2(-np.arange(12))[:, np.newaxis] ** (40 * share / share.max())
    found = RefinedLeastSquares(basis, errors)(weights).changes
    multiply, n_solved = CrossProducts(basis, errors), 0
    for own, change in zip(weights, found, strict=True):
        products = multiply(own)
        expected = np.linalg.solve(products[:, :-1], products[:, -1])
        if not np.isnan(change).any():
            n_solved += np.linalg.cond(products[:, :-1]) > 100
            # What a further step is estimated to add, which is right to a small factor.
            bound = 4e-12 + 1e-14 * np.linalg.cond(products[:, :-1])
            np.testing.assert_allclose(change, expected, rtol=0, atol=bound * np.abs(expected).max())
    assert n_solved >= 3


@OF_OPENBLAS
@pytest.mark.parametrize(("n", "d"), SIZES)
def test_a_resample_has_the_same_bits_alone_and_at_any_place(n: int, d: int) -> None:
    basis, errors, weights = problem(n, d, 2 * TOGETHER + 6)
    solve = RefinedLeastSquares(basis, errors)
    together, turned = solve(weights), solve(weights[::-1])
    np.testing.assert_array_equal(turned.changes[::-1], together.changes)
    np.testing.assert_array_equal(turned.scores[::-1], together.scores)
    for place in (0, 1, TOGETHER - 1, TOGETHER, len(weights) - 1):
        alone = solve(weights[place : place + 1])
        np.testing.assert_array_equal(alone.changes[0], together.changes[place])
        np.testing.assert_array_equal(alone.scores[0], together.scores[place])


@OF_OPENBLAS
@pytest.mark.skipif(platform.machine().lower() not in {"x86_64", "amd64"}, reason="routines of other processors")
@pytest.mark.parametrize("routines", ["Haswell", "Nehalem", "Prescott"])
def test_a_resample_has_the_same_bits_at_any_place_on_processors_without_avx512(routines: str) -> None:
    program = (
        "import numpy as np; from orthoboot.solvers.refined_least_squares import RefinedLeastSquares\n"
        "rng = np.random.default_rng(9); basis, _ = np.linalg.qr(rng.normal(size=(700, 50)))\n"
        "weights, solve = rng.gamma(2.0, size=(40, 700)), RefinedLeastSquares(basis, rng.normal(size=700))\n"
        "assert (solve(weights[::-1]).changes[::-1] == solve(weights).changes).all()\n"
        "assert (solve(weights[9:10]).changes == solve(weights).changes[9]).all()\n"
    )
    # OpenBLAS takes the routines of the processor that this variable names.
    environment = {**os.environ, "OPENBLAS_CORETYPE": routines}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)


@OF_OPENBLAS
@pytest.mark.parametrize("options", [{"batch": 1}, {"batch": 7}, {"n_jobs": 2}])
def test_the_batch_and_the_jobs_change_no_bit(options: dict[str, int]) -> None:
    assert RefinedLeastSquares.suits(N, D)
    common = {"paired": True, "n_resamples": 12, "estimator": "standard", "method": "normal", "rng": 0}
    expected = ob.bootstrap(fit_data(), linear_regression, **common)
    found = ob.bootstrap(fit_data(), linear_regression, **common, **options)
    np.testing.assert_array_equal(found.bootstrap_distribution, expected.bootstrap_distribution)


def test_threads_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    basis, errors, weights = problem(N, D, 40)
    together = RefinedLeastSquares(basis, errors)(weights)
    monkeypatch.setattr(refined_least_squares, "run_tasks", run_here)
    alone = RefinedLeastSquares(basis, errors)(weights)
    np.testing.assert_array_equal(alone.changes, together.changes)


@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
def test_refits_are_those_of_lstsq_on_the_rows_drawn_in_any_units(scale: float) -> None:
    X, y = fit_data()
    prepared = linear_regression.prepared(read((X, y * scale), paired=True))
    weights = np.random.default_rng(4).multinomial(N, np.ones(N) / N, size=3).astype(float)
    for own, coefficients in zip(weights, prepared.values(Resamples((weights,))), strict=True):
        rows = np.repeat(np.arange(N), own.astype(int))
        expected = np.linalg.lstsq(X[rows], y[rows], rcond=None)[0]
        bound = 1e-14 * np.linalg.cond(X[rows])
        np.testing.assert_allclose(coefficients / scale, expected, rtol=0, atol=bound * np.abs(expected).max())


@pytest.mark.parametrize("size", [1e-300, 1e-60, 1e60, 1e150])
def test_weights_out_of_the_range_of_single_precision_are_weights(size: float) -> None:
    prepared = linear_regression.prepared(read(fit_data(), paired=True))
    weights = np.random.default_rng(5).poisson(1.0, size=(2, N)).astype(float)
    expected = prepared.values(Resamples((weights,)))
    np.testing.assert_allclose(prepared.values(Resamples((weights * size,))), expected, rtol=1e-11)


def test_where_single_precision_has_too_few_digits_the_rows_are_factorised() -> None:
    rng = np.random.default_rng(6)
    X, y = fit_data()
    X[:, 1] = np.where(np.arange(N) < N // 2, X[:, 1], X[:, 0] + 1e-3 * X[:, 1])
    weights = rng.poisson(1.0, size=(3, N)).astype(float)
    weights[1, : N // 2] = 0.0
    weights[2, : N // 2] *= 1e-9
    prepared = linear_regression.prepared(read((X, y), paired=True))
    assert np.isnan(prepared.fit.refined(weights).changes).any(axis=1).tolist() == [False, True, True]
    for own, coefficients in zip(weights, prepared.values(Resamples((weights,))), strict=True):
        roots = np.sqrt(own)[:, np.newaxis]
        expected = np.linalg.lstsq(roots * X, roots[:, 0] * y, rcond=None)[0]
        bound = 1e-13 * np.linalg.cond(roots * X)
        np.testing.assert_allclose(coefficients, expected, rtol=0, atol=bound * np.abs(expected).max())


def test_a_resample_without_a_fit_is_left_to_others_and_changes_no_other() -> None:
    basis, errors, weights = problem(N, D, 4)
    expected = RefinedLeastSquares(basis, errors)(weights).changes
    broken = weights.copy()
    broken[1], broken[2] = 0.0, np.nan
    found = RefinedLeastSquares(basis, errors)(broken).changes
    assert np.isnan(found[1:3]).all()
    np.testing.assert_array_equal(found[[0, 3]], expected[[0, 3]])


def test_errors_of_zero_change_nothing() -> None:
    basis, errors, weights = problem(N, D, 2)
    assert not RefinedLeastSquares(basis, 0 * errors)(weights).changes.any()
