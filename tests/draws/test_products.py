"""Columns that are computed row by row, and their sums: the bits of the literal definition on every path."""

from __future__ import annotations

import numpy as np
import pytest
from tests import literal_draws

import orthoboot as ob
from orthoboot.arrays.row_products import RowProducts, product_columns, row_products
from orthoboot.data import pieces
from orthoboot.draws import kernels, numpy_kernels
from orthoboot.draws.poisson import inversion
from orthoboot.draws.products import (
    add_poisson_product_sums,
    multinomial_product_sums,
    product_moments,
    product_spread,
    product_sums,
)
from orthoboot.draws.random_counts import multinomial_sums

KEY = (0xB7E151628AED2A6A, 0xBF7158809CF4F3C7)
SIZES = [1, 255, 257, 1023, 1024, 1025, 8191, 8192, 8193, 20_000]


def compiled():
    return pytest.importorskip("orthoboot.draws.compiled.numba_kernels", exc_type=ImportError)


def choose(backend, monkeypatch):
    choice = kernels.Choice()
    choice._kernels, choice._left = backend, 0
    monkeypatch.setattr(kernels, "_choice", choice)


@pytest.fixture(params=["numpy", "numba"])
def chosen(request, monkeypatch):
    """Let all sums go through one path."""
    choose(numpy_kernels if request.param == "numpy" else compiled(), monkeypatch)


def tables_of(n, widths):
    numbers = np.random.default_rng(n).standard_cauchy(size=(n, sum(widths)))
    return tuple(np.ascontiguousarray(part) for part in np.split(numbers, [widths[0]], axis=1))


def products_of(v, *, units=False) -> RowProducts:
    """Return v variables, their squares and the cubes of the first ones, with all that can be asked for."""
    rng = np.random.default_rng(v)
    pairs = [(i, i) for i in range(v)] + [(v, 0)]
    return row_products(
        2.0 ** np.arange(600, 600 + v) if units else np.ones(v),
        (rng.normal(size=v), 1e-17 * rng.normal(size=v)),
        np.array(pairs),
        inverse=rng.uniform(1, 3, size=v),
        factor=rng.uniform(1, 3, size=2 * v + 1),
    )


def influence_of(products: RowProducts) -> RowProducts:
    rng, p = np.random.default_rng(9), products.n_features
    return products.less(rng.normal(size=p)).combined(
        np.stack([rng.permutation(p) for _ in range(2)], axis=1), rng.normal(size=(p, 2)), np.array([1.0, 0.5])
    )


def literal_output(products: RowProducts, row, j):
    """Return an output of one row, in the words of `RowProducts`."""
    variables = zip(row, products.unit, products.first, products.rest, products.inverse, strict=True)
    features = [(x / unit - first - rest) * inverse for x, unit, first, rest, inverse in variables]
    for one, other in products.pairs:
        features.append(features[one] * features[other])
    features = [
        x * factor - centre for x, factor, centre in zip(features, products.factor, products.centre, strict=True)
    ]
    if not len(products.places):
        return features[j]
    total = features[products.places[0, j]] * products.slopes[0, j]
    for place, slope in zip(products.places[1:, j], products.slopes[1:, j], strict=True):
        total += features[place] * slope
    return total * products.scale[j]


def literal_sum(values):
    return literal_draws.weighted_sum([1.0] * len(values), [float(value) for value in values])


def assert_same_bits(found, expected):
    np.testing.assert_array_equal(np.asarray(found).view(np.uint64), np.asarray(expected, dtype=float).view(np.uint64))


@pytest.mark.parametrize("units", [False, True])
@pytest.mark.parametrize("widths", [(1, 0), (2, 0), (1, 1), (3, 2)])
def test_a_row_is_computed_as_stated(widths, units):
    tables = tables_of(40, widths)
    for products in (products_of(sum(widths), units=units), influence_of(products_of(sum(widths), units=units))):
        found = product_columns(products, tables)
        rows = np.hstack(tables)
        literal = [[literal_output(products, row, j) for j in range(products.n_outputs)] for row in rows]
        assert_same_bits(np.ascontiguousarray(found), literal)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("widths", [(1, 0), (2, 0), (1, 1), (3, 2)])
def test_sums_ranges_and_products_are_those_of_the_columns(n, widths, chosen):
    tables, products = tables_of(n, widths), products_of(sum(widths))
    for asked in (products, products.less(np.ones(products.n_features)), influence_of(products)):
        columns = product_columns(asked, tables)
        assert_same_bits(product_sums(asked, tables), [literal_sum(column) for column in columns.T])
        spread = product_spread(asked, tables)
        assert_same_bits(spread.squares, [literal_sum(column * column) for column in columns.T])
        assert_same_bits(spread.ranges, [columns.min(axis=0), columns.max(axis=0)])


@pytest.mark.parametrize("n", [1, 1025, 8193])
@pytest.mark.parametrize("widths", [(1, 0), (1, 1)])
def test_one_pass_finds_the_moments_of_outputs_and_features(n, widths, chosen):
    tables, products = tables_of(n, widths), products_of(sum(widths))
    plain = row_products(np.ones(sum(widths)), (np.zeros(sum(widths)), np.zeros(sum(widths))), products.pairs)
    for asked in (plain, products.less(np.ones(products.n_features)), influence_of(products)):
        columns, features = (product_columns(some, tables) for some in (asked, asked.of_features))
        moments = product_moments(asked, tables)
        for found, some in ((moments.outputs, columns), (moments.features, features)):
            assert_same_bits(found.squares, [literal_sum(column * column) for column in some.T])
            assert_same_bits(found.ranges, [some.min(axis=0), some.max(axis=0)])
        assert_same_bits(moments.features.squares, product_spread(asked.of_features, tables).squares)
        assert_same_bits(moments.cubes, [literal_sum(column * column * column) for column in columns.T])
        crosses = [[literal_sum(column * other) for other in features.T] for column in columns.T]
        assert_same_bits(moments.crosses, crosses)


@pytest.mark.parametrize(("start", "stop"), [(0, 20_000), (5, 8192), (8191, 8193), (16_384, 20_000), (300, 19_000)])
@pytest.mark.parametrize("widths", [(1, 0), (1, 1)])
def test_poisson_sums_of_products_are_those_of_the_columns(start, stop, widths, monkeypatch):
    choose(compiled(), monkeypatch)
    n, numbers = 20_000, [3, 4, 9]
    tables = tuple(np.ascontiguousarray(table[start:stop]) for table in tables_of(n, widths))
    products = products_of(sum(widths)).less(np.ones(2 * sum(widths) + 1))
    totals, sums = np.zeros(3, dtype=np.int64), np.zeros((3, products.n_features))
    assert add_poisson_product_sums(KEY, 2, 1, numbers, n, start, products, tables, totals, sums)
    columns = np.ascontiguousarray(product_columns(products, tables).T)
    for place, number in enumerate(numbers):
        total, expected = np.zeros(1, dtype=np.int64), np.zeros((1, products.n_features))
        numpy_kernels.poisson_sums(*KEY, 2, number, 1, inversion(n), n, start, columns, total, expected)
        assert totals[place] == total[0]
        assert_same_bits(sums[place], expected[0])


@pytest.mark.parametrize("units", [False, True])
def test_ranges_are_nan_where_a_number_is(units, chosen):
    tables = tables_of(9000, (2, 0))
    tables[0][8500, 1] = np.nan
    products = products_of(2, units=units)
    columns = product_columns(products, tables)
    of_moments = product_moments(products, tables).features.ranges
    np.testing.assert_array_equal(of_moments, [columns.min(axis=0), columns.max(axis=0)])
    found = product_spread(products, tables).ranges
    np.testing.assert_array_equal(found.low, columns.min(axis=0))
    np.testing.assert_array_equal(found.high, columns.max(axis=0))
    assert np.isnan(found.low).tolist() == [False, True, False, True, False]


@pytest.mark.parametrize("n", [8193, 20_000])
@pytest.mark.parametrize("widths", [(1, 0), (2, 0), (1, 1), (3, 2)])
def test_sums_over_resamples_are_those_of_the_columns(n, widths, monkeypatch):
    choose(compiled(), monkeypatch)
    tables, products = tables_of(n, widths), products_of(sum(widths)).less(np.ones(2 * sum(widths) + 1))
    numbers = [3, 4, 5, 9, 10, 2**40]
    found = multinomial_product_sums(KEY, 2, numbers, products, tables)
    assert found is not None
    assert_same_bits(found, multinomial_sums(KEY, 2, numbers, product_columns(products, tables)))


def test_resamples_with_too_many_poisson_counts_are_drawn_again(monkeypatch):
    choose(compiled(), monkeypatch)
    n, tables, products = 8193, tables_of(8193, (1, 0)), products_of(1)
    # Found by trying: their totals are 8213 and 8198. One resample in thirty thousand is such.
    numbers = [22_068, 22_069, 39_810]
    totals = np.zeros(1, dtype=np.int64)
    numpy_kernels.poisson_sums(*KEY, 0, numbers[0], 0, inversion(n), n, 0, np.empty((0, n)), totals, np.empty((1, 0)))
    assert totals[0] > n
    found = multinomial_product_sums(KEY, 0, numbers, products, tables)
    assert_same_bits(found, multinomial_sums(KEY, 0, numbers, product_columns(products, tables)))


def test_without_compiled_kernels_there_are_no_sums_over_resamples(monkeypatch):
    choose(numpy_kernels, monkeypatch)
    assert multinomial_product_sums(KEY, 0, range(3), products_of(1), tables_of(100, (1, 0))) is None


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e70])
@pytest.mark.parametrize("method", ["normal", "abc"])
@pytest.mark.parametrize(
    "statistic",
    [ob.mean, ob.variance, ob.std.replace(ddof=1), ob.skewness, ob.kurtosis, ob.correlation],
    ids=lambda s: s.name,
)
def test_a_long_sample_has_the_same_answer_on_both_paths(statistic, method, scale, monkeypatch):
    x = scale * np.random.default_rng(5).gamma(2.0, size=(140_001, 2))
    answers = []
    for backend in (numpy_kernels, compiled()):
        choose(backend, monkeypatch)
        result = ob.bootstrap(x, statistic, method=method, rng=0)
        interval = result.confidence_interval
        answers.append(
            np.ravel([result.estimate, result.bias, result.standard_error, interval.low, interval.high]).tolist()
        )
    assert answers[0] == answers[1]
    # What is computed of a short sample is held, and summed in another order.
    monkeypatch.setattr(pieces, "LONG", len(x) + 1)
    held = ob.bootstrap(x, statistic, method=method, rng=0)
    np.testing.assert_allclose(held.standard_error, result.standard_error, rtol=1e-10)
    np.testing.assert_allclose(held.confidence_interval, interval, rtol=1e-8)


@pytest.mark.parametrize("table", [np.asfortranarray, lambda x: x, lambda x: (x[:, 0], x[:, 1])])
def test_the_layout_of_the_rows_does_not_matter(table):
    x = np.random.default_rng(5).gamma(2.0, size=(140_001, 2))
    data = table(x)
    found = ob.bootstrap(data, ob.correlation, paired=isinstance(data, tuple), rng=0)
    assert found.standard_error == ob.bootstrap(x, ob.correlation, rng=0).standard_error
