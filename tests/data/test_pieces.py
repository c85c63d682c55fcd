"""Values that are computed block by block give what values that are held give."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import orthoboot as ob
from orthoboot.data import pieces, sources
from orthoboot.data.pieces import RowsInPieces, in_pieces
from orthoboot.data.samples import Data, read

N = 30_000
"""Rows in four blocks of three parts, the last ones not whole."""


@pytest.fixture
def in_small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work on short data in pieces too."""
    monkeypatch.setattr(pieces, "LONG", 1000)
    monkeypatch.setattr(sources, "_ROWS_OF_A_PART", 2 * sources.CHUNK)
    monkeypatch.setattr(sources, "_MOST_ROWS", sources.CHUNK)


def table(seed: int = 0) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    x = rng.exponential(size=N)
    return np.column_stack([x, x + rng.normal(size=N)])


def squares(data: Data) -> np.ndarray[Any, Any]:
    return data.arrays[0] ** 2


@pytest.fixture
def rows(in_small_pieces: None) -> RowsInPieces:
    sample = in_pieces(read(table()))
    assert sample is not None
    return RowsInPieces(sample, squares, 2)


def test_short_data_are_not_cut() -> None:
    assert in_pieces(read(table())) is None


def test_blocks_are_the_rows_in_their_order(rows: RowsInPieces) -> None:
    expected = table() ** 2
    assert np.array_equal(np.asarray(rows), expected)
    starts = [start for start, _ in rows.blocks()]
    assert starts == [0, 8192, 16384, 24576]
    assert np.array_equal(rows.at(np.array([7, 29_999, 7])), expected[[7, 29_999, 7]])


@pytest.mark.parametrize(("size", "least", "lengths"), [(3000, 1024, {2048}), (10, 1024, {1024}), (10, 8192, {8192})])
def test_blocks_of_wide_rows_are_even_parts_of_a_chunk(size: int, least: int, lengths: set[int]) -> None:
    rows = np.arange(2 * sources.CHUNK)
    found = list(sources.blocks(sources.CHUNK, iter([(rows,)]), size, least=least))
    assert {len(block) for _, (block,) in found} == lengths
    assert [start for start, _ in found] == [sources.CHUNK + int(block[0]) for _, (block,) in found]
    assert np.array_equal(np.concatenate([block for _, (block,) in found]), rows)


def test_passes_find_what_arrays_have(rows: RowsInPieces) -> None:
    expected = table() ** 2
    assert rows.means == pytest.approx(expected.mean(axis=0), rel=1e-13)
    assert np.array_equal(rows.spread.ranges.high, expected.max(axis=0))
    assert rows.spread.squares == pytest.approx(N * expected.var(axis=0), rel=1e-12)
    assert rows.covariance() == pytest.approx(np.cov(expected.T, ddof=0), rel=1e-10)
    assert rows.sums_of_cubes(rows.means) == pytest.approx(
        ((expected - expected.mean(axis=0)) ** 3).sum(axis=0), rel=1e-9
    )
    assert rows.cross_sums(rows) == pytest.approx(expected.T @ expected, rel=1e-12)


def test_blocks_do_not_depend_on_how_many_are_computed_at_once(
    rows: RowsInPieces, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for processors in (1, 3):
        monkeypatch.setattr(pieces, "processors", lambda n=processors: n)
        found.append(list(rows.blocks()))
    assert [start for start, _ in found[0]] == [start for start, _ in found[1]]
    assert all(np.array_equal(one, other) for (_, one), (_, other) in zip(*found, strict=True))


def test_columns_that_others_are_made_of_are_computed_once(rows: RowsInPieces) -> None:
    calls = []

    def counted(data: Data) -> np.ndarray[Any, Any]:
        calls.append(data.sizes[0])
        return squares(data)

    base = RowsInPieces(rows.sample, counted, 2)
    made = base.mapped(lambda values: values[:, :1] + values[:, 1:], 1) / 4.0
    expected = (np.asarray(rows).sum(axis=1, keepdims=True) / 4).T @ np.asarray(rows)
    np.testing.assert_allclose(made.cross_sums(base), expected, rtol=1e-12)
    assert sum(calls) == N


@pytest.mark.parametrize("in_place", [True, False])
def test_products_with_columns_that_were_overwritten(rows: RowsInPieces, in_place: bool) -> None:
    _, deviations = rows.centred(in_place=in_place, near=True)
    held = np.asarray(rows)
    expected = (held - held.mean(axis=0)).T @ held
    np.testing.assert_allclose(deviations.cross_sums(rows), expected, rtol=1e-9, atol=1e-6)


def test_multiples_know_their_spread(rows: RowsInPieces) -> None:
    scaled = rows * np.array([-2.0, 0.5])
    expected = table() ** 2 * np.array([-2.0, 0.5])
    assert np.array_equal(np.asarray(scaled), expected)
    assert np.array_equal(scaled.spread.ranges.low, expected.min(axis=0))
    assert scaled.spread.squares == pytest.approx(N * expected.var(axis=0), rel=1e-12)
    assert np.array_equal(np.asarray(np.array([2.0, 2.0]) * rows), 2 * table() ** 2)
    assert np.asarray(rows / 4) == pytest.approx(table() ** 2 / 4)


def test_rows_in_pieces_can_be_pickled(rows: RowsInPieces) -> None:
    assert np.array_equal(pickle.loads(pickle.dumps(rows)).means, rows.means)


STATISTICS = {
    "mean": ob.mean,
    "variance": ob.variance.replace(ddof=1),
    "std": ob.std,
    "skewness": ob.skewness,
    "kurtosis": ob.kurtosis,
    "norm_of_mean": ob.norm_of_mean(2),
    "covariance": ob.covariance,
    "correlation": ob.correlation,
    "ratio": ob.ratio,
    "covariance_matrix": ob.covariance_matrix,
    "rmse": ob.rmse,
    "mae": ob.mae,
    "r2": ob.r2,
}


def numbers(result: Any) -> list[Any]:
    return [
        *(result.estimate, result.bias, result.standard_error, *result.confidence_interval),
        *(result.bootstrap_distribution, result.linear_distribution, result.influence),
    ]


ABC = {"method": "abc", "estimator": "jackknife"}


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((name, options) for name in STATISTICS for options in ({}, ABC)),
        *((name, {"method": "bca"}) for name in ("mean", "correlation", "rmse")),
    ],
    ids=str,
)
def test_results_are_those_of_arrays(name: str, options: dict[str, Any], request: pytest.FixtureRequest) -> None:
    held = ob.bootstrap(table(), STATISTICS[name], n_resamples=10, rng=3, **options)
    request.getfixturevalue("in_small_pieces")
    cut = ob.bootstrap(table(), STATISTICS[name], n_resamples=10, rng=3, **options)
    # The second differences of ABC have a step of 1e-3, which makes rounding a million times as large.
    close = 1e-7 if held.interval_method == "abc" else 1e-9
    scale = np.max(np.abs(held.standard_error))
    for found, expected in zip(numbers(cut), numbers(held), strict=True):
        assert np.asarray(found) == pytest.approx(np.asarray(expected), rel=close, abs=close * scale)
    assert [str(warning) for warning in cut.warnings] == [str(warning) for warning in held.warnings]


@pytest.mark.parametrize("plan", ["strata", "groups"])
def test_other_plans_take_them_as_arrays(plan: str, request: pytest.FixtureRequest) -> None:
    labels = np.arange(N) // 100
    held = ob.bootstrap(table(), ob.correlation, rng=3, **{plan: labels})
    request.getfixturevalue("in_small_pieces")
    cut = ob.bootstrap(table(), ob.correlation, rng=3, **{plan: labels})
    assert cut.standard_error == pytest.approx(held.standard_error, rel=1e-10)


def test_replicates_have_the_bits_of_one_order_whatever_the_threads(
    in_small_pieces: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    several = ob.bootstrap(table(), ob.correlation, rng=3)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    alone = ob.bootstrap(table(), ob.correlation, rng=3)
    assert np.array_equal(several.bootstrap_distribution, alone.bootstrap_distribution)
    assert several.standard_error == alone.standard_error


def test_comparisons_of_long_samples(request: pytest.FixtureRequest) -> None:
    first, second = table(0)[:, 0], table(1)[:20_000, 1]
    held = ob.bootstrap((first, second), ob.relative_difference(ob.variance), rng=3, method="abc")
    request.getfixturevalue("in_small_pieces")
    cut = ob.bootstrap((first, second), ob.relative_difference(ob.variance), rng=3, method="abc")
    assert cut.confidence_interval == pytest.approx(held.confidence_interval, rel=1e-9)
    assert cut.bias == pytest.approx(held.bias, abs=1e-9 * held.standard_error)


@pytest.mark.parametrize("metric", [ob.rmse, ob.correlation, ob.r2])
@pytest.mark.parametrize("method", ["normal", "abc"])
def test_two_predictions_are_those_of_their_own_tables(
    metric: Any, method: str, request: pytest.FixtureRequest
) -> None:
    y, first = table(0).T
    data, options = (y, first, y + table(1)[:, 1]), {"paired": True, "method": method, "rng": 3, "n_resamples": 30}
    expected = ob.bootstrap(data, ob.paired_difference(metric), **options)
    request.getfixturevalue("in_small_pieces")
    found = ob.bootstrap(data, ob.paired_difference(metric), **options)
    assert found.standard_error == pytest.approx(expected.standard_error, rel=1e-9)
    assert tuple(found.confidence_interval) == pytest.approx(tuple(expected.confidence_interval), rel=1e-6)


def test_influence_values_are_the_users_own(in_small_pieces: None) -> None:
    result = ob.bootstrap(table(), ob.mean, n_resamples=10, rng=3)
    expected = np.array(result.influence)
    result.influence[:] = 0.0
    assert np.array_equal(result.influence, expected)


def test_arrays_of_another_type(rows: RowsInPieces) -> None:
    assert np.asarray(rows, dtype=np.float32).dtype == np.float32
    assert not np.shares_memory(np.array(rows), np.asarray(rows))


@pytest.mark.parametrize("long", [1000, 1 << 17])
def test_errors_are_measured_in_their_own_size(long: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "LONG", long)
    errors = table()
    errors[5] = 1e165  # predicted without error
    assert ob.rmse(errors) == pytest.approx(np.sqrt(np.mean(np.square(errors[:, 0] - errors[:, 1]))))
