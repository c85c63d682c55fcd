"""Quantiles of rows that are read part by part are those of the same rows in memory."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest

import orthoboot as ob
from orthoboot.data import read
from orthoboot.distributed.selection import source_of
from orthoboot.errors import OrthobootWarning
from orthoboot.functionals.columns import quantiles_in_pieces, rank_windows
from orthoboot.functionals.columns.quantiles_in_pieces import QuantilesInPieces, QuantileWindows

N = 30_000
LEVELS = [0.05, 0.5, 0.9]
WIDER = QuantileWindows.wider


@pytest.fixture
def mapped(tmp_path):
    """Write an array to a file and map it."""

    def write(array, name="rows.bin"):
        np.ascontiguousarray(array).tofile(tmp_path / name)
        return np.memmap(tmp_path / name, dtype=array.dtype, mode="r", shape=array.shape)

    return write


@pytest.fixture
def small(monkeypatch):
    """Search in short data as in long ones: windows are narrow, and brackets keep few rows."""
    monkeypatch.setattr(quantiles_in_pieces, "_HELD_ROWS", 100)
    monkeypatch.setattr(rank_windows, "_ROWS_KEPT", 3000)
    monkeypatch.setattr(rank_windows, "_FEWEST_KEPT", 1000)
    monkeypatch.setattr(rank_windows, "_LARGEST_SAMPLE", 2000)
    monkeypatch.setattr(quantiles_in_pieces, "_COUNTS_AT_ONCE", 10_000)
    monkeypatch.setattr(QuantileWindows, "wider", lambda self: pytest.fail("no resample leaves windows of this width"))


def columns(kind: str, n: int = N):
    rng = np.random.default_rng(7)
    return {
        "smooth": lambda: rng.exponential(size=n),
        "sorted": lambda: np.sort(rng.normal(size=n)),
        "integers": lambda: rng.integers(0, 4, n),
        "rounded": lambda: rng.normal(size=n).round(2),
        "constant": lambda: np.full(n, 2.5),
        "mostly zero": lambda: np.where(rng.random(n) < 0.499, 0.0, rng.normal(size=n)),
        "huge range": lambda: 10.0 ** rng.uniform(-150, 150, n),
        "float32": lambda: rng.normal(size=n).astype(np.float32),
        "two columns": lambda: np.column_stack([rng.normal(size=n), rng.integers(0, 4, n)]),
    }[kind]()


def result(data, statistic, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OrthobootWarning)
        return ob.bootstrap(data, statistic, rng=3, **options)


def assert_near(found, expected, rounding):
    assert (np.abs(np.ravel(found) - np.ravel(expected)) <= rounding).all()


def assert_same(source, array, statistic, **options):
    found, expected = result(source, statistic, **options), result(np.asarray(array), statistic, **options)
    assert isinstance(found.run.prepared, QuantilesInPieces)
    np.testing.assert_array_equal(found.estimate, expected.estimate)
    np.testing.assert_array_equal(found.replicates.values, expected.replicates.values)
    scale = np.maximum(np.abs(expected.replicates.linear).max(axis=0), 1e-300)
    np.testing.assert_allclose(found.replicates.linear / scale, expected.replicates.linear / scale, atol=1e-9)
    np.testing.assert_allclose(found.run.linear_variance, expected.run.linear_variance, rtol=1e-10)
    # Where the linear part varies far more than the value does, their difference has few digits.
    variance = expected.run.linear_variance
    rounding = 1e-11 * np.outer(np.sqrt(variance), np.sqrt(variance))
    assert_near(found.covariance, expected.covariance, np.ravel(rounding))
    assert_near(found.standard_error, expected.standard_error, 1e-8 * np.sqrt(variance))
    assert_near(found.confidence_interval.low, expected.confidence_interval.low, 1e-8 * np.sqrt(variance))
    assert [type(warning) for warning in found.warnings] == [type(warning) for warning in expected.warnings]
    assert found.run.output == expected.run.output


KINDS = ["smooth", "sorted", "integers", "rounded", "constant", "mostly zero", "huge range", "float32", "two columns"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("statistic", [ob.median, ob.quantile(LEVELS)], ids=["median", "levels"])
def test_numbers_are_those_in_memory(small, mapped, kind, statistic):
    assert_same(mapped(columns(kind)), columns(kind), statistic)


@pytest.mark.parametrize("n", [2, 3, 70, 500])
@pytest.mark.parametrize("held", [0, 20_000])
def test_extreme_levels_of_few_rows(monkeypatch, mapped, n, held):
    monkeypatch.setattr(quantiles_in_pieces, "_HELD_ROWS", held)
    x = columns("smooth", n)
    assert_same(mapped(x), x, ob.quantile([0.001, 0.999]), n_resamples=40)


@pytest.mark.parametrize("level", [0.0005, 0.9995])
def test_extreme_levels_of_many_rows(small, mapped, level):
    assert_same(mapped(columns("smooth")), columns("smooth"), ob.quantile(level), n_resamples=60)


def test_partitions_of_any_size_give_the_same(small):
    da = pytest.importorskip("dask.array")
    table = columns("two columns")
    sizes = (0, 1, 8191, 0, 12_345, 2, 9461, 0)
    assert sum(sizes) == N
    assert_same(da.from_array(table, chunks=((N,), 2)), table, ob.quantile([0.2, 0.5]))
    uneven = da.from_array(table, chunks=(sizes, (2,)))
    assert uneven.chunks[0] == sizes
    assert_same(uneven, table, ob.quantile([0.2, 0.5]))


def prepared_at(data, statistic=ob.median) -> QuantilesInPieces:
    return statistic.prepared(read(data, source_of=source_of))


def test_windows_are_narrow_and_brackets_keep_few_rows(small, monkeypatch, mapped):
    kept, passes = [], []
    joined, found_inside = rank_windows._joined, rank_windows._found_inside
    monkeypatch.setattr(
        rank_windows, "_joined", lambda *given: (found := joined(*given), kept.append(len(found.rows)))[0]
    )
    monkeypatch.setattr(rank_windows, "_found_inside", lambda *given: (passes.append(1), found_inside(*given))[1])
    (window,) = prepared_at(mapped(columns("smooth"))).derived.windows
    reach = 10 * (np.sqrt(N) / 2 + 4)
    assert len(window.rows) == pytest.approx(2 * reach, rel=0.01)
    assert len(passes) <= 4
    assert max(kept) < 5 * len(window.rows) < N / 3


def test_rows_of_a_value_that_many_have_are_counted_and_not_kept(small, monkeypatch, mapped):
    kept = []
    joined = rank_windows._joined
    monkeypatch.setattr(
        rank_windows, "_joined", lambda *given: (found := joined(*given), kept.append(len(found.rows)))[0]
    )
    x = columns("mostly zero")
    (window,) = prepared_at(mapped(x)).derived.windows
    assert window.atoms.tolist() == [0.0]
    assert window.atom_counts.tolist() == [np.count_nonzero(x == 0)]
    assert max(kept) < N / 3
    ordered = np.sort(x)
    assert window.n_below == np.searchsorted(ordered, window.low)
    assert ordered[window.n_below : window.n_below + window.size][-1] == window.ordered_values[-1]


@pytest.mark.parametrize("kind", ["smooth", "integers", "two columns"])
def test_a_resample_that_leaves_its_window_is_found_in_a_wider_one(small, monkeypatch, mapped, kind):
    widened = []
    monkeypatch.setattr(QuantileWindows, "wider", lambda self: widened.append(self.reach) or WIDER(self))
    monkeypatch.setattr(quantiles_in_pieces, "_REACH", 0.3)
    monkeypatch.setattr(quantiles_in_pieces, "_SPARE_RANKS", 0)
    assert_same(mapped(columns(kind)), columns(kind), ob.quantile([0.3, 0.7]), n_resamples=12)
    assert len(widened) >= 2 or kind == "integers"


def test_a_sample_that_misleads_is_taken_again(small, monkeypatch, mapped):
    tried = []
    narrower = rank_windows._narrower

    def too_sure(bracket, ranks, found, most, deviations):
        tried.append(deviations)
        return narrower(bracket, ranks, found, most, deviations - rank_windows._DEVIATIONS)

    monkeypatch.setattr(rank_windows, "_narrower", too_sure)
    assert_same(mapped(columns("smooth")), columns("smooth"), ob.median)
    assert max(tried) > rank_windows._DEVIATIONS


def test_the_influence_needs_no_pass_to_know_its_spread(small, mapped):
    # At level 0.76 every whole number is at most the quantile, and the influence is zero although the slope is not.
    (influence,) = prepared_at(mapped(columns("two columns")), ob.quantile([0.05, 0.76])).influence()
    known = influence.spread
    del vars(influence)["spread"]
    np.testing.assert_allclose(known.ranges.low, influence.spread.ranges.low, rtol=1e-12)
    np.testing.assert_allclose(known.ranges.high, influence.spread.ranges.high, rtol=1e-12)
    np.testing.assert_allclose(known.squares, influence.spread.squares, rtol=1e-10)
    np.testing.assert_allclose(influence.spread.mean, 0, atol=1e-12)


def test_what_is_sent_to_workers_can_be_pickled(small, mapped):
    steps = prepared_at(mapped(columns("integers"))).derived.steps
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(steps)).means, steps.means)


def test_the_bias_by_differences_is_that_in_memory(mapped):
    x = columns("smooth", 300)
    found, expected = (result(data, ob.median, estimator="jackknife") for data in (mapped(x), x))
    assert isinstance(found.run.prepared, QuantilesInPieces)
    assert found.bias == pytest.approx(expected.bias, rel=1e-9)


@pytest.mark.parametrize("n", [300, N])
def test_abc_intervals_are_those_in_memory(small, mapped, n):
    x = columns("smooth", n)
    found, expected = (result(data, ob.quantile([0.5, 0.6]), method="abc") for data in (mapped(x), x))
    assert isinstance(found.run.prepared, QuantilesInPieces)
    np.testing.assert_allclose(found.confidence_interval.low, expected.confidence_interval.low, rtol=1e-9)
    np.testing.assert_allclose(found.confidence_interval.high, expected.confidence_interval.high, rtol=1e-9)


def test_two_samples_are_compared(small, mapped):
    x, y = columns("smooth"), columns("rounded", 20_000)
    found = result((mapped(x), mapped(y, "other.bin")), ob.difference(ob.median))
    expected = result((x, y), ob.difference(ob.median))
    np.testing.assert_array_equal(found.replicates.values, expected.replicates.values)
    assert found.standard_error == pytest.approx(expected.standard_error, rel=1e-9)
    assert found.run.batch_size > 1
