"""What every functional promises, for every row of the registry."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.jax_statistics import IN_JAX
from tests.registry import FUNCTIONALS, FunctionalRow

from orthoboot.autodiff import autodiff
from orthoboot.data import Data, read
from orthoboot.draws.resamples import Resamples
from orthoboot.functionals import unit_resamples
from orthoboot.functionals.base import Covariance
from orthoboot.functionals.user.differentiable import differentiable
from orthoboot.typing import FloatArray

every_row = pytest.mark.parametrize("row", FUNCTIONALS, ids=lambda row: row.id)
every_smooth_row = pytest.mark.parametrize("row", [row for row in FUNCTIONALS if row.smooth], ids=lambda row: row.id)


def has_closed_bias(row: FunctionalRow) -> bool:
    return row.smooth and row.closed_bias


def counts(data: Data, n_resamples: int = 7) -> Resamples:
    rng = np.random.default_rng(10)
    return Resamples(tuple(rng.multinomial(n, np.full(n, 1 / n), size=n_resamples).astype(float) for n in data.sizes))


def towards_rows(data: Data, sample: int, distance: float) -> Resamples:
    """One resample per row of `sample`: its weights moved by `distance` towards that row."""
    weights = [np.ones((data.sizes[sample], n)) for n in data.sizes]
    n = data.sizes[sample]
    weights[sample] = (1 - distance) * np.ones((n, n)) + distance * n * np.eye(n)
    return Resamples(tuple(weights))


def values_towards_rows(row: FunctionalRow, data: Data, sample: int, distance: float) -> FloatArray:
    return row.functional.at(data).values(towards_rows(data, sample, distance))


@every_row
def test_the_data_pass_the_check_and_the_output_has_the_shape_of_the_reference(row: FunctionalRow) -> None:
    data = row.data()
    row.functional.prepared(data)
    output = row.functional.at(data).output
    assert output.shapes == (np.shape(row.reference(*data.arrays)),)
    assert len(output.names) == len(set(output.names)) == output.size == row.functional.at(data).estimate.size
    assert row.functional.smooth is row.smooth


@every_row
def test_the_value_is_that_of_numpy_or_scipy(row: FunctionalRow) -> None:
    data = row.data()
    value = row.functional.at(data).output.pack(row.functional.at(data).estimate)
    np.testing.assert_allclose(value, row.reference(*data.arrays), rtol=1e-12, atol=0)


@every_row
def test_weights_mean_duplicated_rows(row: FunctionalRow) -> None:
    data = row.data()
    resamples = counts(data)
    output = row.functional.at(data).output
    for b, phi_b in enumerate(row.functional.at(data).values(resamples)):
        duplicated = data.take(resamples.indices(b))
        np.testing.assert_allclose(output.pack(phi_b), row.reference(*duplicated), rtol=1e-11, atol=1e-12)


@every_row
def test_a_batch_gives_the_same_bits_as_one_resample_at_a_time(row: FunctionalRow) -> None:
    data = row.data()
    resamples = counts(data, n_resamples=9)
    together = row.functional.at(data).values(resamples)
    alone = np.vstack([row.functional.at(data).values(resamples.one(b)) for b in range(len(resamples))])
    np.testing.assert_array_equal(together, alone)


@every_row
def test_its_own_linear_part_is_that_of_the_influence_values(row: FunctionalRow) -> None:
    data = row.data()
    at, resamples = row.functional.at(data), counts(data)
    linear = at.linear(resamples)
    if linear is None:
        pytest.skip("it leaves the linear part to the influence values")
    expected = sum(resamples.sums(i, part) / len(part) for i, part in enumerate(at.influence()))
    np.testing.assert_allclose(linear, expected, rtol=0, atol=1e-13 * np.abs(at.influence()[0]).max())
    alone = np.vstack([at.linear(resamples.one(b)) for b in range(len(resamples))])
    np.testing.assert_array_equal(linear, alone)


@every_row
def test_rescaled_weights_change_nothing(row: FunctionalRow) -> None:
    data = row.data()
    resamples = counts(data)
    factors = (0.37, 41.0)
    rescaled = Resamples(tuple(factor * w for factor, w in zip(factors, resamples.weights, strict=False)))
    np.testing.assert_allclose(
        row.functional.at(data).values(rescaled), row.functional.at(data).values(resamples), rtol=1e-11, atol=1e-12
    )


@every_row
def test_the_order_of_the_rows_does_not_matter(row: FunctionalRow) -> None:
    data = row.data()
    orders = [np.random.default_rng(11).permutation(n) for n in data.sizes]
    shuffled = read(data.take(orders), paired=len(data.tables) > len(data.sizes))
    resamples = counts(data)
    reordered = Resamples(tuple(w[:, order] for w, order in zip(resamples.weights, orders, strict=True)))
    np.testing.assert_allclose(
        row.functional.at(shuffled).values(reordered),
        row.functional.at(data).values(resamples),
        rtol=1e-11,
        atol=1e-12,
    )
    expected, influence = row.functional.at(data).influence(), row.functional.at(shuffled).influence()
    for part, shuffled_part, order in zip(expected, influence, orders, strict=True):
        np.testing.assert_allclose(shuffled_part, part[order], atol=1e-9 * np.abs(part).max())


@every_row
def test_the_influence_has_mean_zero_in_each_sample(row: FunctionalRow) -> None:
    data = row.data()
    for part, n in zip(row.functional.at(data).influence(), data.sizes, strict=True):
        assert part.shape == (n, row.functional.at(data).output.size)
        assert np.all(np.abs(part.mean(axis=0)) <= 1e-10 * np.abs(part).max(axis=0))
        assert np.all(np.abs(part).max(axis=0) > 0)


@every_smooth_row
def test_the_influence_is_the_derivative_towards_each_row(row: FunctionalRow) -> None:
    data, distance = row.data(), 1e-5
    for sample, part in enumerate(row.functional.at(data).influence()):
        ahead, behind = (values_towards_rows(row, data, sample, d) for d in (distance, -distance))
        slopes = (ahead - behind) / (2 * distance)
        np.testing.assert_allclose(part, slopes, rtol=0, atol=1e-5 * np.abs(slopes).max())


every_row_in_jax = pytest.mark.parametrize(
    "row", [row for row in FUNCTIONALS if row.in_jax is not None], ids=lambda row: row.id
)


def value_and_influence_in_jax(jax: Any, row: FunctionalRow, data: Data) -> tuple[FloatArray, list[FloatArray]]:
    """Return the value of a row's function in jax, and the derivative towards each row, from one program."""
    package, stops = autodiff("jax"), np.cumsum(data.sizes)
    samples = [package.array(array) for array in data.arrays]

    def value(weights: Any) -> Any:
        parts = tuple(weights[stop - n : stop] for stop, n in zip(stops, data.sizes, strict=True))
        return row.in_jax(*samples, weights=parts if len(parts) > 1 else weights).ravel()  # type: ignore[misc]

    both = jax.jit(lambda weights: (value(weights), jax.jacrev(value)(weights)))
    found, slopes = map(package.numbers, package.called(both, package.array(np.ones(stops[-1]))))
    towards = [n * part.T for n, part in zip(data.sizes, np.split(slopes, stops[:-1], axis=1), strict=True)]
    return found, [part - part.mean(axis=0) for part in towards]


@every_row_in_jax
def test_the_influence_is_that_of_automatic_differentiation(row: FunctionalRow, jax: Any) -> None:
    data = row.data()
    ours, (estimate, influence) = row.functional.at(data), value_and_influence_in_jax(jax, row, data)
    np.testing.assert_allclose(estimate, ours.estimate, rtol=1e-11, atol=0)
    for part, automatic in zip(ours.influence(), influence, strict=True):
        # The derivative is exact; both lose digits to rounding alone, and most in a fit, which solves equations.
        assert np.abs(part - automatic).max() <= 1e-8 * np.abs(part).max()


@pytest.mark.slow
@pytest.mark.usefixtures("jax")
@every_row_in_jax
def test_a_user_who_writes_it_in_jax_gets_the_same(row: FunctionalRow) -> None:
    data = row.data()
    ours, in_jax = row.functional.at(data), differentiable(row.in_jax, data, "jax").at(data)
    np.testing.assert_allclose(in_jax.estimate, ours.estimate, rtol=1e-11, atol=0)
    for part, automatic in zip(ours.influence(), in_jax.influence(), strict=True):
        # The derivative is exact; both lose digits to rounding alone, and most in a fit, which solves equations.
        assert np.abs(part - automatic).max() <= 1e-8 * np.abs(part).max()


@pytest.mark.usefixtures("jax")
def test_every_statistic_in_jax_judges_a_row() -> None:
    assert set(IN_JAX) <= {row.id for row in FUNCTIONALS}


@pytest.mark.parametrize("row", [row for row in FUNCTIONALS if has_closed_bias(row)], ids=lambda row: row.id)
def test_the_second_order_bias_is_half_the_mean_curvature_towards_rows(
    row: FunctionalRow, iid_covariance: Covariance
) -> None:
    data, distance = row.data(), 3e-4
    bias, size = np.zeros(row.functional.at(data).output.size), np.zeros(row.functional.at(data).output.size)
    middle = row.functional.at(data).values(unit_resamples(data))
    for sample, n in enumerate(data.sizes):
        outer = sum(values_towards_rows(row, data, sample, 2 * d) for d in (distance, -distance))
        inner = sum(values_towards_rows(row, data, sample, d) for d in (distance, -distance))
        second = (16 * inner - outer - 30 * middle) / (12 * distance**2)
        bias += second.sum(axis=0) / (2 * n**2)
        size += np.abs(second).sum(axis=0) / (2 * n**2)
    closed = row.functional.at(data).second_order_bias(iid_covariance)
    np.testing.assert_array_less(np.abs(closed - bias), 1e-6 * size + 1e-9 * np.abs(middle[0]))


@pytest.mark.parametrize("row", [row for row in FUNCTIONALS if not has_closed_bias(row)], ids=lambda row: row.id)
def test_what_has_no_closed_form_claims_no_second_order_bias(row: FunctionalRow, iid_covariance: Covariance) -> None:
    assert row.functional.at(row.data()).second_order_bias(iid_covariance) is None
