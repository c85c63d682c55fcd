"""Every scheme: counts and rows of the same draw, and exact moments of the linear part that simulation confirms."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.registry import SCHEMES, UNEVEN

from orthoboot.errors import ArgumentError
from orthoboot.plans import (
    CircularBlocks,
    Cluster,
    Iid,
    MovingBlocks,
    Plan,
    StationaryBlocks,
    Stratified,
    plan_for,
)
from orthoboot.plans.labels import label_codes

KEY = (0x9E3779B97F4A7C15, 0x243F6A8885A308D3)
N_DRAWS = 20_000

WITH_DRAWS = {name: scheme for name, scheme in SCHEMES.items() if not isinstance(scheme, StationaryBlocks)}
BY_ROW = {name: scheme for name, scheme in WITH_DRAWS.items() if "moving" not in name and "circular" not in name}


def each(schemes):
    return pytest.mark.parametrize("scheme", schemes.values(), ids=schemes.keys())


def influence_of(n, k=2):
    """Autocorrelated columns of mean zero, so that blocks and groups matter."""
    noise = np.random.default_rng(n).normal(size=(n, k))
    values = np.cumsum(noise, axis=0) + 3 * noise[:, ::-1]
    return values - values.mean(axis=0)


@each(SCHEMES)
def test_exact_moments_of_the_linear_part_match_simulation(scheme):
    influence = influence_of(scheme.n)
    linear = scheme.counts(KEY, 0, range(N_DRAWS)) @ influence / scheme.n
    mean, covariance = scheme.mean(influence), scheme.covariance(influence)
    deviation = linear - mean
    products = deviation[:, [0, 0, 1]] * deviation[:, [0, 1, 1]]
    # Five z values for each scheme: the odds that any of them exceeds 4 at a random seed are 4e-3 in all.
    assert_means(linear, mean)
    assert_means(products, covariance[[0, 0, 1], [0, 1, 1]])


def assert_means(values, expected):
    z = (values.mean(axis=0) - expected) / (values.std(axis=0, ddof=1) / np.sqrt(len(values)))
    assert np.abs(z).max() < 4


@each(SCHEMES)
def test_counts_are_how_often_each_row_is_drawn(scheme):
    for replicate in range(5):
        rows = scheme.indices(KEY, 1, replicate)
        counts = scheme.counts(KEY, 1, [replicate])[0]
        assert counts.dtype == np.float64
        np.testing.assert_array_equal(counts, np.bincount(rows, minlength=scheme.n))


@each({name: scheme for name, scheme in SCHEMES.items() if not isinstance(scheme, Cluster)})
def test_counts_sum_to_n(scheme):
    assert scheme.counts(KEY, 0, range(20)).sum(axis=1).tolist() == [scheme.n] * 20


@each(WITH_DRAWS)
def test_independent_draws_have_the_moments_of_the_scheme(scheme):
    influence = influence_of(scheme.n, k=3)
    parts = scheme.draws(influence)
    mean = sum(part.number * part.values.mean(axis=0) for part in parts)
    covariance = sum(part.number * np.cov(part.values.T, ddof=0) for part in parts)
    np.testing.assert_allclose(scheme.mean(influence), mean, atol=1e-13)
    np.testing.assert_allclose(scheme.covariance(influence), covariance, rtol=1e-10)


@each(SCHEMES)
def test_the_covariance_is_symmetric_and_not_negative(scheme):
    covariance = scheme.covariance(influence_of(scheme.n, k=4))
    np.testing.assert_array_equal(covariance, covariance.T)
    assert np.linalg.eigvalsh(covariance).min() > -1e-12 * np.trace(covariance)


@each(BY_ROW)
def test_the_tilt_is_the_covariance_of_the_counts_times_the_influence_over_n(scheme):
    influence, n = influence_of(scheme.n, k=1) + 1.0, scheme.n
    # The linear part of the unit vector of row j is counts_j / n, so one covariance gives one row of the tilt.
    covariance = scheme.covariance(np.column_stack([influence, np.eye(n)]))
    np.testing.assert_allclose(scheme.tilt(influence)[:, 0], n * covariance[0, 1:], atol=1e-12)


@each({name: scheme for name, scheme in SCHEMES.items() if name not in BY_ROW})
def test_blocks_have_no_tilt(scheme):
    assert scheme.tilt(influence_of(scheme.n)) is None


@each(SCHEMES)
def test_a_scheme_survives_pickling_and_cannot_be_changed(scheme):
    copy = pickle.loads(pickle.dumps(scheme))
    np.testing.assert_array_equal(copy.counts(KEY, 0, [3]), scheme.counts(KEY, 0, [3]))
    with pytest.raises(FrozenInstanceError):
        scheme.n = 5


def test_the_iid_variance_is_the_mean_square_over_n():
    influence = np.array([[-3.0], [1.0], [2.0]])
    # (9 + 1 + 4) / 3^2
    np.testing.assert_allclose(Iid(3).covariance(influence), [[14 / 9]])


def test_strata_keep_their_sizes():
    scheme = Stratified(UNEVEN)
    for replicate in range(10):
        np.testing.assert_array_equal(UNEVEN[scheme.indices(KEY, 0, replicate)], UNEVEN)


def test_the_stratified_variance_is_that_within_strata():
    influence = np.array([[-4.0], [-2.0], [1.0], [5.0], [0.0]])
    # Strata {-4, -2}, {1, 5}, {0}: (1 + 1 + 4 + 4 + 0) / 5^2
    np.testing.assert_allclose(Stratified(list("aabbc")).covariance(influence), [[0.4]])


def test_groups_are_drawn_whole():
    scheme = Cluster(UNEVEN)
    counts = scheme.counts(KEY, 0, range(50))
    of_group = counts[:, [np.flatnonzero(group == UNEVEN)[0] for group in range(5)]]
    np.testing.assert_array_equal(counts, of_group[:, UNEVEN])
    np.testing.assert_array_equal(of_group.sum(axis=1), 5)
    assert np.unique(counts.sum(axis=1)).size > 1


def test_the_cluster_variance_is_that_of_the_group_totals():
    influence = np.array([[-4.0], [-2.0], [1.0], [5.0]])
    # Totals -6, 1, 5 of mean 0: (36 + 1 + 25) / 4^2
    np.testing.assert_allclose(Cluster(list("aabc")).covariance(influence), [[62 / 16]])


def test_the_ends_of_moving_blocks_are_drawn_less_often():
    influence = np.array([[-1.0], [-1.0], [2.0]])
    # One whole block, of rows 0 and 1 or 1 and 2: mean sum (-2 + 1)/2, and one block cut to its first row: -1.
    np.testing.assert_allclose(MovingBlocks(3, 2).mean(influence), [(-0.5 - 1.0) / 3])
    # Variances 9/4 and 0.
    np.testing.assert_allclose(MovingBlocks(3, 2).covariance(influence), [[2.25 / 9]])


def test_circular_blocks_have_no_edge():
    influence = np.array([[-1.0], [-1.0], [2.0]])
    # Whole blocks sum to -2, 1, 1, cut ones to -1, -1, 2: both of mean 0 and variance 2.
    np.testing.assert_allclose(CircularBlocks(3, 2).mean(influence), [0.0], atol=1e-15)
    np.testing.assert_allclose(CircularBlocks(3, 2).covariance(influence), [[4 / 9]])


@pytest.mark.parametrize(("n", "length"), [(2, 1), (7, 3), (12, 11), (30, 4)])
def test_the_stationary_covariance_is_the_sum_over_lags(n, length):
    influence = influence_of(n)
    q = 1 - 1 / length
    lagged = [influence.T @ np.roll(influence, -lag, axis=0) / n for lag in range(n)]
    expected = n * lagged[0] + sum((n - h) * q**h * (lagged[h] + lagged[h].T) for h in range(1, n))
    np.testing.assert_allclose(StationaryBlocks(n, length).covariance(influence), expected / n**2, atol=1e-12)


@pytest.mark.parametrize("blocks", [MovingBlocks, CircularBlocks, StationaryBlocks])
def test_blocks_of_one_row_have_the_moments_of_independent_draws(blocks):
    influence = influence_of(30)
    for moment in ("mean", "variance", "covariance"):
        given_, expected = (getattr(scheme, moment)(influence) for scheme in (blocks(30, 1), Iid(30)))
        np.testing.assert_allclose(given_, expected, atol=1e-12)


def test_moments_do_not_assume_that_the_influence_is_centred():
    influence = influence_of(50) + 7.0
    for scheme in (Iid(50), Stratified(np.arange(50) % 3), CircularBlocks(50, 7), StationaryBlocks(50, 7)):
        np.testing.assert_allclose(scheme.mean(influence), [7.0, 7.0])
        np.testing.assert_allclose(
            scheme.covariance(influence), scheme.covariance(influence - 7.0), rtol=1e-9, atol=1e-12
        )


@pytest.mark.parametrize("wraps", [True, False])
def test_equal_blocks_are_runs_of_consecutive_rows(wraps):
    scheme = CircularBlocks(23, 5) if wraps else MovingBlocks(23, 5)
    rows = np.stack([scheme.indices(KEY, 0, b) for b in range(50)])
    steps = np.diff(rows, axis=1)
    within = np.arange(22) % 5 != 4
    if wraps:
        steps = steps % 23
        assert (np.diff(rows, axis=1)[:, within] < 0).any()
    assert (steps[:, within] == 1).all()
    assert (steps[:, ~within] != 1).any()


def test_stationary_blocks_have_the_mean_length_asked_for():
    n, length = 400, 8
    rows = np.stack([StationaryBlocks(n, length).indices(KEY, 0, b) for b in range(500)])
    breaks = (np.diff(rows, axis=1) % n != 1).mean()
    # A restart goes to the neighbour itself once in n; the share of breaks has a binomial error.
    expected = (1 / length) * (1 - 1 / n)
    # Odds of a failure at a random seed: 6e-5.
    assert abs(breaks - expected) < 4 * np.sqrt(expected / (500 * (n - 1)))


def test_a_restart_may_go_to_any_row():
    rows = np.concatenate([StationaryBlocks(10, 2).indices(KEY, 0, b) for b in range(50)])
    assert np.unique(rows).tolist() == list(range(10))


# Labels


@pytest.mark.parametrize(
    "labels",
    [
        ["x", "y", "x", "z"],
        [2, 1, 2, 0],
        np.array([0.5, -1.0, 0.5, 9.0]),
        np.array(["2020-01-02", "2020-01-01", "2020-01-02", "1999-01-01"], dtype="datetime64[D]"),
        [True, "no", True, 3.5],
        pd.Series(["x", "y", "x", "z"], index=[9, 8, 7, 6]),
        pd.Series(["x", "y", "x", "z"], dtype="category"),
        pl.Series(["x", "y", "x", "z"]),
        pl.Series([5, 1, 5, 4]),
    ],
    ids=str,
)
def test_a_resample_depends_on_how_labels_divide_the_rows_and_not_on_their_names(labels):
    assert label_codes(labels, "strata").tolist() == [0, 1, 0, 2]


@pytest.mark.parametrize(
    "labels",
    [
        ["a", None, "b"],
        ["a", float("nan"), "b"],
        np.array([1.0, np.nan, 2.0]),
        np.array(["2020-01-01", "NaT", "2020-01-02"], dtype="datetime64[D]"),
        pd.Series(["a", None, "b"]),
        pd.Series([1, None, 2], dtype="Int64"),
        pd.Series(["a", pd.NA, "b"], dtype="string"),
        pl.Series(["a", None, "b"]),
        pl.Series([1, None, 2]),
    ],
    ids=str,
)
@pytest.mark.parametrize(("scheme", "argument"), [(Stratified, "strata"), (Cluster, "groups")])
def test_a_missing_label_is_refused_and_located(scheme, argument, labels):
    with pytest.raises(ArgumentError, match=f"`{argument}` must have a label for every row; got 1 missing, .* row 1"):
        scheme(labels)


@pytest.mark.parametrize("labels", [[], 3, np.zeros((4, 2)), [["a", "b"], ["a", "c"]]], ids=str)
def test_labels_that_are_not_one_per_row_are_refused(labels):
    with pytest.raises(ArgumentError, match="`strata` must be one-dimensional"):
        Stratified(labels)


def test_the_name_of_a_column_is_no_label():
    with pytest.raises(
        ArgumentError, match=r"got the text 'store'. For a column pass the column itself, `frame\['store'\]`"
    ):
        Cluster("store")


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (plan_for([4000, 6000]), "4,000 + 6,000 rows"),
        (plan_for([6], strata=list("aabbcc")), "6 rows in 3 strata"),
        (plan_for([6, 4], groups=(list("aabbcc"), None)), "6 rows in 3 groups + 4 rows"),
        (plan_for([400], block_length=20, block_kind="moving"), "400 rows in moving blocks of 20"),
    ],
)
def test_a_plan_says_what_is_resampled(plan, words):
    assert plan.description == words


def test_labels_that_cannot_be_compared_are_refused():
    labels = np.empty(2, dtype=object)
    labels[:] = [{"a": 1}, {"b": 2}]
    with pytest.raises(ArgumentError, match="can be compared"):
        Cluster(labels)


def test_strata_that_fix_every_row_are_refused():
    with pytest.raises(ArgumentError, match=r"got 4 strata for 4 rows.*coarser"):
        Stratified([1, 2, 3, 4])


def test_a_stratum_of_one_row_is_always_drawn():
    scheme = Stratified(["a", "b", "b", "b"])
    assert set(scheme.counts(KEY, 0, range(20))[:, 0]) == {1.0}


def test_a_single_group_is_refused():
    with pytest.raises(ArgumentError, match="`groups` must hold at least two groups; got one label for all 3 rows"):
        Cluster(["a", "a", "a"])


@settings(deadline=None, max_examples=50)
@given(st.lists(st.sampled_from("abcde"), min_size=2, max_size=40).filter(lambda x: 1 < len(set(x)) < len(x)))
def test_any_division_of_the_rows_can_be_resampled(labels):
    array = np.array(labels)
    stratified, cluster = Stratified(labels), Cluster(labels)
    assert (array[stratified.indices(KEY, 0, 0)] == array).all()
    assert cluster.counts(KEY, 0, [0]).shape == (
        1,
        len(labels),
    )


# Options


@pytest.mark.parametrize("length", [0, -3, 100, 250, 2.0, True, "5", None])
@pytest.mark.parametrize("blocks", [MovingBlocks, CircularBlocks, StationaryBlocks])
def test_an_impossible_block_length_is_refused(blocks, length):
    with pytest.raises(ArgumentError, match="`block_length` must be a whole number from 1 to n - 1 = 99; got"):
        blocks(100, length)


def test_a_numpy_integer_is_a_block_length():
    assert CircularBlocks(10, np.int64(3)).counts(KEY, 0, [0]).sum() == 10


def test_without_options_every_sample_is_drawn_row_by_row():
    assert plan_for([3, 5]) == Plan((Iid(3), Iid(5)))


@pytest.mark.parametrize(
    ("kind", "blocks"), [("moving", MovingBlocks), ("circular", CircularBlocks), ("stationary", StationaryBlocks)]
)
def test_a_block_length_is_for_every_sample(kind, blocks):
    plan = plan_for([10, 20], block_length=3, block_kind=kind)
    assert [(type(scheme), scheme.n, scheme.length) for scheme in plan.schemes] == [(blocks, 10, 3), (blocks, 20, 3)]


def test_options_can_differ_between_samples():
    plan = plan_for([4, 3, 4], groups=(None, ["a", "b", "b"], np.array([1, 1, 2, 2])))
    assert [type(scheme) for scheme in plan.schemes] == [Iid, Cluster, Cluster]
    assert [scheme.n for scheme in plan.schemes] == [4, 3, 4]


def test_labels_of_one_sample_need_no_tuple():
    assert isinstance(plan_for([4], strata=["a", "a", "b", "b"]).schemes[0], Stratified)
    assert isinstance(plan_for([4], groups=pd.Series([1, 1, 2, 2])).schemes[0], Cluster)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strata": [1] * 9}, "`strata` must have one label per row; got 9 labels for 10 rows."),
        ({"groups": np.arange(11)}, "`groups` must have one label per row; got 11 labels for 10 rows."),
        ({"strata": [1] * 10, "block_length": 3}, "At most one of .* got `strata` and `block_length`"),
        ({"block_length": 10}, "`block_length` must be a whole number from 1 to n - 1 = 9; got 10."),
        ({"block_kind": "tapered"}, "`block_kind` must be one of 'moving', 'circular', 'stationary'; got 'tapered'"),
    ],
)
def test_options_that_break_their_rule_are_refused(options, message):
    with pytest.raises(ArgumentError, match=message):
        plan_for([10], **options)


@pytest.mark.parametrize("strata", [np.zeros(10), [[0] * 10], (None, None, None)], ids=["array", "one", "three"])
def test_several_samples_need_one_entry_each(strata):
    with pytest.raises(ArgumentError, match="`strata` must be a tuple or list with one entry per sample, here 2"):
        plan_for([10, 10], strata=strata)


# Plans


PLAN = Plan((Iid(70), Stratified(UNEVEN), Cluster(UNEVEN), MovingBlocks(50, 7), StationaryBlocks(50, 7)))


def test_a_replicate_does_not_depend_on_what_else_is_drawn():
    batch = PLAN.resamples(KEY, range(10))
    for numbers in ([7], [9, 7, 0]):
        other = PLAN.resamples(KEY, numbers)
        place = numbers.index(7)
        for one, many in zip(other.weights, batch.weights, strict=True):
            np.testing.assert_array_equal(one[place], many[7])
        for one, many in zip(other.indices(place), batch.indices(7), strict=True):
            np.testing.assert_array_equal(one, many)


def test_weights_and_rows_of_a_plan_are_the_same_draw():
    resamples = PLAN.resamples(KEY, [3, 4])
    for weights, rows in zip(resamples.weights, resamples.indices(1), strict=True):
        np.testing.assert_array_equal(weights[1], np.bincount(rows, minlength=weights.shape[1]))


def test_samples_of_equal_size_are_drawn_independently():
    first, second = plan_for([100_000, 100_000]).resamples(KEY, [0]).weights
    # The correlation has a standard error of n^-1/2; odds of a failure at a random seed: 6e-5.
    assert abs(np.corrcoef(first[0], second[0])[0, 1]) < 4 / np.sqrt(100_000)


def test_moments_of_independent_samples_add():
    plan = Plan((Iid(10), MovingBlocks(20, 3)))
    influence = (influence_of(10), influence_of(20))
    for moment in ("mean", "variance", "covariance"):
        parts = [getattr(scheme, moment)(values) for scheme, values in zip(plan.schemes, influence, strict=True)]
        np.testing.assert_allclose(getattr(plan, moment)(influence), parts[0] + parts[1])


@each(SCHEMES)
def test_the_variance_is_the_diagonal_of_the_covariance(scheme):
    influence = influence_of(scheme.n, k=3) + 1.0
    np.testing.assert_allclose(scheme.variance(influence), np.diag(scheme.covariance(influence)), rtol=1e-10)


@each(SCHEMES)
def test_a_scheme_says_what_it_has(scheme):
    influence = influence_of(scheme.n)
    assert scheme.has_draws is (scheme.draws(influence) is not None)
    assert scheme.has_tilt is (scheme.tilt(influence) is not None)


def test_a_plan_has_draws_and_a_tilt_where_all_its_schemes_do():
    influence = (influence_of(10), influence_of(20))
    assert len(Plan((Iid(10), MovingBlocks(20, 3))).draws(influence)) == 3
    assert Plan((Iid(10), StationaryBlocks(20, 3))).draws(influence) is None
    assert [part.shape for part in Plan((Iid(10), Iid(20))).tilt(influence)] == [(10, 2), (20, 2)]
    assert Plan((Iid(10), MovingBlocks(20, 3))).tilt(influence) is None


# Shares of categories


@pytest.mark.parametrize("n_categories", [1, 4, 1000])
@pytest.mark.parametrize("name", [name for name in SCHEMES if "stationary" not in name])
def test_the_variances_of_shares_are_those_of_the_indicators(name, n_categories):
    scheme = SCHEMES[name]
    drawn = np.random.default_rng(7).integers(0, n_categories, size=scheme.n)
    codes = np.unique(drawn, return_inverse=True)[1]
    indicators = (codes[:, np.newaxis] == np.arange(codes.max() + 1)).astype(float)
    expected = scheme.variance(indicators - indicators.mean(axis=0))
    np.testing.assert_allclose(scheme.category_variances(codes), expected, rtol=1e-9, atol=1e-15)
