"""Tests of features that kernels compute where they are added up."""

from __future__ import annotations

import numpy as np
import pytest

import orthoboot as ob
from orthoboot.data import read
from orthoboot.data.pieces import LONG
from orthoboot.functionals.product_rows import ProductRows

N_ROWS = LONG + 30_000


def features_of(data: object, statistic: ob.Functional) -> ProductRows:
    prepared = statistic.prepared(read(data))
    rows = prepared.derived.deviations
    assert isinstance(rows, ProductRows)
    return rows


@pytest.fixture
def tables(tmp_path):
    """Return a table in memory, and the same in a file as rows, in columns and as 32-bit numbers."""
    rows = (100 + np.random.default_rng(3).exponential(size=(N_ROWS, 2))).astype(np.float32).astype(np.float64)
    mapped = []
    for name, array in {"rows": rows, "columns": np.asfortranarray(rows), "short": rows.astype(np.float32)}.items():
        np.save(tmp_path / name, array)
        mapped.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    return rows, mapped


@pytest.mark.parametrize("statistic", [ob.correlation, ob.variance, ob.skewness], ids=lambda each: each.name)
def test_rows_in_a_file_have_the_sums_of_those_in_memory(tables, statistic) -> None:
    rows, mapped = tables
    exact = features_of(rows, statistic)
    for other in mapped[:2]:
        found = features_of(other, statistic)
        np.testing.assert_allclose(found.products.centre, exact.products.centre, rtol=1e-10, atol=1e-13)
        np.testing.assert_allclose(found.spread.ranges, exact.spread.ranges, rtol=1e-10)
        np.testing.assert_allclose(found.spread.squares, exact.spread.squares, rtol=1e-12)
        both = [(rows.multiples(np.ones((rows.width, 1)), 1.0), rows) for rows in (found, exact)]
        np.testing.assert_allclose(*(multiples.spread.squares for multiples, _ in both), rtol=1e-10)
        np.testing.assert_allclose(*(multiples.sums_of_cubes(np.zeros(1)) for multiples, _ in both), rtol=1e-9)
        np.testing.assert_allclose(*(multiples.cross_sums(rows) for multiples, rows in both), rtol=1e-9)


def test_a_pass_for_multiples_finds_the_spread_of_the_features_too(tables) -> None:
    rows, _ = tables
    alone, found = (features_of(rows, ob.correlation) for _ in range(2))
    _ = found.multiples(np.ones((found.width, 1)), 1.0).spread
    assert "spread" in vars(found)
    for one, other in zip(found.spread, alone.spread, strict=True):
        assert np.array_equal(one, other)


def test_numbers_of_32_bits_are_added_up_as_64(tables) -> None:
    rows, (*_, short) = tables
    of_short, exact = (ob.bootstrap(data, ob.correlation, n_resamples=10, rng=0) for data in (short, rows))
    np.testing.assert_allclose(of_short.standard_error, exact.standard_error, rtol=1e-10)


def test_wide_tables_have_the_cubes_and_crosses_of_narrow_ones(tmp_path) -> None:
    """More than a few crosses are a matrix product, fewer are added up by the kernel."""
    rows = np.random.default_rng(4).exponential(size=(N_ROWS, 12))
    np.save(tmp_path / "wide", rows)
    mapped = np.load(tmp_path / "wide.npy", mmap_mode="r")
    found = {}
    for name, columns in {"wide": slice(None), "narrow": slice(0, 2)}.items():
        features = features_of(mapped[:, columns], ob.variance)
        multiples = features.multiples(np.ones((2, features.width // 2)), 1.0)
        crosses = multiples.cross_sums(features).reshape(features.width // 2, 2, -1)
        found[name] = multiples.sums_of_cubes(np.zeros(1))[:2], crosses[:2, :, :2]
    for wide, narrow in zip(*found.values(), strict=True):
        np.testing.assert_allclose(wide, narrow, rtol=1e-10)
