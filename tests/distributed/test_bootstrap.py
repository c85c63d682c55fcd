"""`bootstrap` of data that do not lie in memory: the in-memory answer, wherever and however the rows are read."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest

import orthoboot as ob
from orthoboot.errors import ArgumentError, DataError

N = 30_000

pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame.reset_index")  # dask's own


def rows(seed=0):
    rng = np.random.default_rng(seed)
    x = rng.exponential(size=N)
    return np.column_stack([x, x + rng.normal(size=N)])


def mapped(tmp_path, array, name="rows"):
    np.save(tmp_path / f"{name}.npy", array)
    return np.load(tmp_path / f"{name}.npy", mmap_mode="r")


def in_dask(tmp_path, array):
    arrays = pytest.importorskip("dask.array")
    return arrays.from_array(array, chunks=((7, 20_000, 0, N - 20_007), (2,)))


def parquet(tmp_path, array):
    tables, files = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "rows.parquet"
    files.write_table(tables.table({"a": array[:, 0], "b": array[:, 1]}), path, row_group_size=9_000)
    return path


def in_polars(tmp_path, array):
    return pytest.importorskip("polars").scan_parquet(parquet(tmp_path, array))


def in_arrow(tmp_path, array):
    return pytest.importorskip("pyarrow.dataset").dataset(parquet(tmp_path, array))


def in_duckdb(tmp_path, array):
    return pytest.importorskip("duckdb").read_parquet(str(parquet(tmp_path, array)))


def in_dask_frame(tmp_path, array):
    return pytest.importorskip("dask.dataframe").read_parquet(parquet(tmp_path, array))


SOURCES = {
    "memmap": mapped,
    "dask array": in_dask,
    "dask frame": in_dask_frame,
    "polars": in_polars,
    "arrow": in_arrow,
    "duckdb": in_duckdb,
}

STATISTICS = {
    "mean": (ob.mean, {}),
    "variance": (ob.variance.replace(ddof=1), {"method": "t"}),
    "kurtosis": (ob.kurtosis, {"estimator": "jackknife"}),
    "norm": (ob.norm_of_mean(4), {}),
    "correlation": (ob.correlation, {}),
    "covariance": (ob.covariance, {"estimator": "paper"}),
    "ratio": (ob.ratio, {"method": "abc"}),
    "matrix": (ob.covariance_matrix, {}),
    "rmse": (ob.rmse, {}),
    "mae": (ob.mae, {"estimator": "standard", "n_resamples": 20}),
    "r2": (ob.r2, {}),
    "own": (ob.function_of_means(lambda t: [t[:, 0], t[:, 1] ** 2], lambda m: m[0] / m[1]), {}),
}


def assert_same(found, expected, close=1e-9):
    scale = np.max(np.abs(expected.standard_error))
    for name in ("estimate", "bias", "standard_error", "bootstrap_distribution", "linear_distribution"):
        one, other = getattr(found, name), getattr(expected, name)
        assert np.asarray(one) == pytest.approx(np.asarray(other), rel=close, abs=close * scale), name
    ends = zip(found.confidence_interval, expected.confidence_interval, strict=True)
    # The second differences of ABC have a step of 1e-3, which makes rounding a million times as large.
    assert all(np.asarray(one) == pytest.approx(np.asarray(other), rel=1e-7, abs=1e-7 * scale) for one, other in ends)


EVERYWHERE = {"variance", "correlation", "own"}
"""Statistics that are tried on all sources; the others differ in what they compute, and not in what is read."""


@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, kind) for name in STATISTICS for kind in SOURCES if name in EVERYWHERE or kind in ("memmap", "dask array")],
)
def test_the_answer_is_that_of_the_rows_in_memory(name, kind, tmp_path):
    statistic, options = STATISTICS[name]
    expected = ob.bootstrap(rows(), statistic, rng=5, **options)
    assert_same(ob.bootstrap(SOURCES[kind](tmp_path, rows()), statistic, rng=5, **options), expected)


def labels(seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(N) < 0.3).astype(float)
    return np.column_stack([y, np.where(rng.random(N) < 0.8, y, 1 - y)])


@pytest.mark.parametrize("metric", [ob.accuracy, ob.precision, ob.recall, ob.f1, ob.log_loss, ob.brier])
@pytest.mark.parametrize("kind", ["memmap", "dask array"])
def test_metrics_that_are_sums(metric, kind, tmp_path):
    table = labels()
    if metric in (ob.log_loss, ob.brier):
        table[:, 1] = np.clip(table[:, 1] * 0.7 + 0.1, 0.01, 0.99)
    expected = ob.bootstrap(table, metric, rng=5)
    assert_same(ob.bootstrap(SOURCES[kind](tmp_path, table), metric, rng=5), expected)


def test_labels_that_a_part_does_not_hold_are_those_of_the_whole(tmp_path):
    table = np.sort(labels() + 1.0, axis=0)  # the first parts hold the label 1 alone
    expected = ob.bootstrap(table, ob.f1.replace(positive=2.0), rng=5)
    assert_same(ob.bootstrap(mapped(tmp_path, table), ob.f1.replace(positive=2.0), rng=5), expected)


def test_a_third_label_is_refused(tmp_path):
    table = labels()
    table[25_000, 1] = 0.5
    with pytest.raises(DataError, match="takes two classes"):
        ob.bootstrap(in_dask(tmp_path, table), ob.f1)


@pytest.mark.parametrize("compared", [ob.difference, ob.relative_difference])
def test_two_samples(compared, tmp_path):
    first, second = rows(0)[:, 0], rows(1)[:20_000, 1]
    expected = ob.bootstrap((first, second), compared(ob.variance), rng=5, method="abc")
    found = ob.bootstrap(
        (mapped(tmp_path, first), mapped(tmp_path, second, "second")), compared(ob.variance), rng=5, method="abc"
    )
    assert_same(found, expected)


def test_a_sample_in_memory_beside_one_that_is_not(tmp_path):
    first, second = rows(0)[:, 0], rows(1)[:20_000, 1]
    expected = ob.bootstrap((first, second), ob.difference(ob.mean), rng=5)
    assert_same(ob.bootstrap((mapped(tmp_path, first), second), ob.difference(ob.mean), rng=5), expected)


def test_paired_columns_and_two_predictions(tmp_path):
    y, first, second = *rows(0).T, rows(1)[:, 1]
    expected = ob.bootstrap((y, first, second), ob.paired_difference(ob.rmse), paired=True, rng=5)
    containers = tuple(mapped(tmp_path, one, name) for one, name in ((y, "y"), (first, "a"), (second, "b")))
    assert_same(ob.bootstrap(containers, ob.paired_difference(ob.rmse), paired=True, rng=5), expected)
    alone = ob.bootstrap((y, second), ob.correlation, paired=True, rng=5)
    assert_same(ob.bootstrap((containers[0], containers[2]), ob.correlation, paired=True, rng=5), alone)


@pytest.mark.parametrize("chunk", [3_000, 9_001])
def test_the_partitioning_changes_nothing(chunk, tmp_path):
    arrays = pytest.importorskip("dask.array")
    expected = ob.bootstrap(rows(), ob.correlation, rng=5)
    assert_same(ob.bootstrap(arrays.from_array(rows(), chunks=(chunk, 2)), ob.correlation, rng=5), expected)


def test_far_offsets_lose_no_digits(tmp_path):
    far = rows()[:, 0] + 1e9
    expected = ob.bootstrap(far, ob.variance, rng=5)
    assert_same(ob.bootstrap(mapped(tmp_path, far), ob.variance, rng=5), expected, close=1e-7)


def test_more_replicates_and_tolerances(tmp_path):
    expected = ob.bootstrap(rows(), ob.correlation, rng=5, tol=0.02)
    found = ob.bootstrap(mapped(tmp_path, rows()), ob.correlation, rng=5, tol=0.02)
    assert found.n_resamples == expected.n_resamples
    assert_same(found.extend(7), expected.extend(7))


@pytest.mark.parametrize(
    ("statistic", "options"),
    [
        (ob.gini, {}),
        (lambda x: x.mean(), {"n_resamples": 5, "estimator": "standard"}),
        (ob.mean, {"method": "bca"}),
        (ob.mean, {"block_length": 10}),
    ],
)
def test_arrays_in_files_are_loaded_where_all_rows_are_needed(statistic, options, tmp_path):
    x = rows()[:2_000, 0]
    found, expected = (ob.bootstrap(data, statistic, rng=5, **options) for data in (mapped(tmp_path, x), x))
    assert found.standard_error == expected.standard_error


@pytest.mark.parametrize(
    ("statistic", "options", "message"),
    [
        (ob.gini, {}, "`gini` needs all rows at once, and a dask Array is read part by part"),
        (lambda x: x.mean(), {}, "a function of yours needs all rows at once"),
        (ob.mean, {"method": "bca"}, "`method='bca'` needs all rows at once"),
        (ob.mean, {"block_length": 10}, r"`block_length=\.\.\.` needs all rows at once"),
        (ob.mean, {"influence": "jackknife"}, "`influence='jackknife'` needs all rows at once"),
        (ob.mean, {"checkpoint": "run.npz"}, "`checkpoint='run.npz'` needs all rows at once"),
    ],
)
def test_what_needs_all_rows_is_refused_elsewhere(statistic, options, message, tmp_path):
    with pytest.raises((ArgumentError, DataError), match=message):
        ob.bootstrap(in_dask(tmp_path, rows()), statistic, **options)


def test_a_missing_number_is_named_with_its_partition_and_row():
    arrays = pytest.importorskip("dask.array")
    table = rows()
    table[17 * 1_500 + 41, 1] = np.nan
    with pytest.raises(DataError, match=r"1 NaN value.* partition 17 .*row 41, column 1, row 25,541 of all"):
        ob.bootstrap(arrays.from_array(table, chunks=(1_500, 2)), ob.correlation)


def test_a_missing_number_is_named_with_its_column(tmp_path):
    table = rows()
    table[[5, 6], 1] = np.nan, np.inf
    with pytest.raises(DataError, match=r"1 NaN and 1 infinite value.* row 5 of column 'b'"):
        ob.bootstrap(in_polars(tmp_path, table), ob.correlation)


@pytest.mark.parametrize(
    ("place", "message"),
    [(0, r"row 5, column 0 of `data\[0\]`, row 5 "), (1, r"row 5 of column 'b' of `data\[1\]`, row 5 ")],
)
def test_a_missing_number_is_named_with_its_table(place, message):
    arrays, frames = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    whole = rows()[:100].copy(), rows(1)[:100].copy()
    whole[place][5, place] = np.nan
    containers = (
        arrays.from_array(whole[0], chunks=(50, 2)),
        frames.from_pandas(pandas.DataFrame(whole[1], columns=["a", "b"]), npartitions=2),
    )
    with pytest.raises(DataError, match=message):
        ob.bootstrap(containers, ob.linear_regression, paired=True)


def test_too_few_rows(tmp_path):
    arrays = pytest.importorskip("dask.array")
    with pytest.raises(DataError, match=r"at least two rows.* got 1 in 2 partition"):
        ob.bootstrap(arrays.from_array(np.ones(1), chunks=((0, 1),)), ob.mean)


def test_a_constant_column_is_named(tmp_path):
    table = rows()
    table[:, 1] = 3.0
    with pytest.raises(DataError, match=r"constant column; got column 'b' with every value 3\.0"):
        ob.bootstrap(in_arrow(tmp_path, table), ob.correlation)


def slowly(block):
    time.sleep(0.03)
    return block


@pytest.mark.parametrize("chunk", [3_000, 9_001])
def test_a_cluster_gives_the_same(cluster, chunk):
    arrays = pytest.importorskip("dask.array")
    expected = ob.bootstrap(rows(), ob.correlation, rng=5)
    assert_same(ob.bootstrap(arrays.from_array(rows(), chunks=(chunk, 2)), ob.correlation, rng=5), expected)


def test_a_worker_that_is_killed_changes_nothing_but_time(cluster):
    arrays = pytest.importorskip("dask.array")
    slow = arrays.from_array(rows(), chunks=(3_000, 2)).map_blocks(slowly)
    expected = ob.bootstrap(rows(), ob.correlation, rng=5)
    victims = list(cluster.run(os.getpid).values())
    timer = threading.Timer(0.5, os.kill, (victims[0], signal.SIGKILL))
    timer.start()
    assert_same(ob.bootstrap(slow, ob.correlation, rng=5), expected)
    timer.join()
    assert victims[0] not in cluster.run(os.getpid).values()


def test_errors_of_workers_come_back_in_their_words(cluster):
    arrays = pytest.importorskip("dask.array")
    table = rows()
    table[20_000, 0] = np.inf
    start = time.monotonic()
    with pytest.raises(DataError, match=r"1 infinite value.* partition 13 "):
        ob.bootstrap(arrays.from_array(table, chunks=(1_500, 2)), ob.variance)
    assert time.monotonic() - start < 10


GROUPS = np.random.default_rng(9).integers(0, 700, size=N) * 3
"""Labels of groups whose rows lie in all parts."""


def grouped():
    effects = np.random.default_rng(8).normal(size=3 * 700)[GROUPS]
    return rows() + effects[:, np.newaxis]


@pytest.mark.parametrize("options", [{}, {"method": "bca"}, {"method": "abc", "estimator": "jackknife"}], ids=str)
@pytest.mark.parametrize("kind", ["memmap", "memmap and array", "dask array"])
def test_groups_that_lie_in_several_parts(options, kind, tmp_path):
    expected = ob.bootstrap(grouped(), ob.correlation, groups=GROUPS, rng=5, **options)
    labels = GROUPS
    if kind == "memmap":
        labels = mapped(tmp_path, GROUPS, "groups")
    elif kind == "dask array":
        labels = pytest.importorskip("dask.array").from_array(GROUPS, chunks=((7, 20_000, 0, N - 20_007),))
    data = SOURCES[kind.removesuffix(" and array")](tmp_path, grouped())
    found = ob.bootstrap(data, ob.correlation, groups=labels, rng=5, **options)
    assert_same(found, expected)
    assert found.summary().count("700 groups") == expected.summary().count("700 groups") == 1


def test_groups_in_a_column_of_a_scan(tmp_path):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"x": grouped()[:, 0], "g": GROUPS})
    frame.write_parquet(tmp_path / "grouped.parquet")
    scan = polars.scan_parquet(tmp_path / "grouped.parquet")
    expected = ob.bootstrap(frame, ob.mean, groups="g", rng=5)
    assert_same(ob.bootstrap(scan, ob.mean, groups="g", rng=5), expected)
    beside = ob.bootstrap(scan.select("x"), ob.mean, groups=scan.select("g"), rng=5)
    assert beside.standard_error == pytest.approx(expected.standard_error[:1], rel=1e-12)
    with pytest.raises(ArgumentError, match=r"`groups` must name a column of the data, which has .* 'x', 'g'; got 'h'"):
        ob.bootstrap(scan, ob.mean, groups="h")


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
@pytest.mark.parametrize("options", [{}, {"method": "abc"}], ids=str)
@pytest.mark.parametrize(
    "statistic", [ob.median, ob.linear_regression, ob.logistic_regression, ob.glm("poisson")], ids=lambda one: one.name
)
def test_groups_where_the_counts_of_rows_are_needed(statistic, options, tmp_path):
    dask, table = pytest.importorskip("dask.array"), grouped()
    chunks = (7, 20_000, 0, N - 20_007)
    data = table[:, 0] if statistic is ob.median else (table - table.mean(axis=0), (rows(3)[:, 0] < 1).astype(float))
    whole = data if isinstance(data, tuple) else (data,)
    in_parts = tuple(dask.from_array(one, chunks=(chunks, *one.shape[1:])) for one in whole)
    labels = dask.from_array(GROUPS, chunks=(chunks,))
    paired = {"paired": isinstance(data, tuple), "rng": 5, **options}
    expected = ob.bootstrap(data, statistic, groups=GROUPS, **paired)
    found = ob.bootstrap(in_parts if len(in_parts) > 1 else in_parts[0], statistic, groups=labels, **paired)
    assert_same(found, expected)
    files = tuple(mapped(tmp_path, one, f"table{number}") for number, one in enumerate(whole))
    beside = ob.bootstrap(files if len(files) > 1 else files[0], statistic, groups=GROUPS, **paired)
    assert_same(beside, expected)


def test_labels_that_a_float_rounds_are_refused_by_name_too():
    polars = pytest.importorskip("polars")
    scan = polars.DataFrame({"x": np.arange(400) % 7, "id": 2**60 + 64 * (np.arange(400) % 40)}).lazy()
    for argument in ("groups", "strata"):
        with pytest.raises(
            ArgumentError, match=rf"`{argument}` must lie in a table of numbers that a float represents exactly"
        ):
            ob.bootstrap(scan, ob.mean, **{argument: "id"})


def test_tables_of_one_folder_keep_its_partitions(tmp_path):
    """Dask joins small files of a table with few columns, and others not."""
    pandas, dask = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(rng.normal(size=(800, 4)), columns=list("abcy"))
    for part in range(8):
        frame[100 * part : 100 * part + 100].to_parquet(tmp_path / f"{part}.parquet")
    folder = dask.read_parquet(tmp_path)
    found, expected = (
        ob.bootstrap((one[["a", "b", "c"]], one["y"]), ob.linear_regression, paired=True, rng=5)
        for one in (folder, frame)
    )
    assert_same(found, expected)


def test_one_group_is_refused(tmp_path):
    with pytest.raises(ArgumentError, match="at least two groups; got one label for all 30000 rows"):
        ob.bootstrap(mapped(tmp_path, rows()), ob.correlation, groups=np.zeros(N))


def test_labels_in_memory_beside_a_cluster_are_refused(tmp_path):
    with pytest.raises(DataError, match="`data` is a dask Array and `groups` is a numpy ndarray"):
        ob.bootstrap(in_dask(tmp_path, rows()), ob.correlation, groups=GROUPS)


def test_jobs_and_pickled_results_change_nothing(tmp_path):
    expected = ob.bootstrap(rows(), STATISTICS["own"][0], n_resamples=40, rng=5)
    found = ob.bootstrap(in_dask(tmp_path, rows()), STATISTICS["own"][0], n_resamples=40, rng=5, n_jobs=2, batch=10)
    assert_same(found, expected)
    result = ob.bootstrap(in_arrow(tmp_path, rows()), ob.correlation, rng=5)
    assert_same(pickle.loads(pickle.dumps(result)).extend(5), ob.bootstrap(rows(), ob.correlation, rng=5).extend(5))


def test_several_columns_and_their_own_tilts(tmp_path):
    expected = ob.bootstrap(rows(), ob.kurtosis, rng=5, method="abc", n_resamples=10)
    assert_same(ob.bootstrap(in_dask(tmp_path, rows()), ob.kurtosis, rng=5, method="abc", n_resamples=10), expected)


@pytest.mark.parametrize("method", ["normal", "abc"])
@pytest.mark.parametrize("of", [ob.mean, ob.correlation])
def test_functions_of_statistics(of, method, tmp_path):
    statistic = ob.compose(lambda a, b: a / b[0, 0], of, ob.covariance_matrix)
    expected = ob.bootstrap(rows(), statistic, rng=5, method=method, n_resamples=10)
    assert_same(ob.bootstrap(in_dask(tmp_path, rows()), statistic, rng=5, method=method, n_resamples=10), expected)


def with_outlier(size):
    table = rows()
    table[20_005] = size
    return table


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
@pytest.mark.parametrize("kind", ["memmap", "dask array"])
@pytest.mark.parametrize("statistic", [ob.variance, ob.std, ob.skewness, ob.kurtosis, ob.r2, ob.covariance_matrix])
def test_resamples_without_an_outlier_have_their_digits(statistic, kind, tmp_path):
    expected = ob.bootstrap(with_outlier(1e12), statistic, rng=5, n_resamples=30)
    found = ob.bootstrap(SOURCES[kind](tmp_path, with_outlier(1e12)), statistic, rng=5, n_resamples=30)
    assert found.n_failed == expected.n_failed == 0
    assert_same(found, expected, close=1e-8)


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_resamples_without_the_only_row_that_differs(tmp_path):
    table = np.where(np.arange(N) == 7, 0.2, 0.1)
    expected = ob.bootstrap(table, ob.std, rng=5, n_resamples=30)
    assert_same(ob.bootstrap(mapped(tmp_path, table), ob.std, rng=5, n_resamples=30), expected)


@pytest.mark.filterwarnings("ignore::orthoboot.errors.NonSmoothWarning")
def test_a_row_that_makes_a_correlation_perfect(tmp_path):
    with pytest.warns(ob.errors.DominantRowWarning, match="row 20005 "):
        ob.bootstrap(mapped(tmp_path, with_outlier(1e12)), ob.correlation, rng=5, n_resamples=30)


def test_a_perfect_correlation(tmp_path):
    x = rows()[:, 0]
    with pytest.warns(ob.errors.ConstantDataWarning, match="exactly 1 in the data"):
        assert ob.bootstrap(mapped(tmp_path, np.column_stack([x, 2 * x])), ob.correlation).standard_error == 0


@pytest.mark.filterwarnings("error::RuntimeWarning", "ignore::orthoboot.errors.OrthobootWarning")
@pytest.mark.parametrize("statistic", [ob.mean, ob.std, ob.skewness])
@pytest.mark.parametrize("size", [1e-290, 1e160, 1e305, -1e305])
def test_numbers_of_any_size(size, statistic, tmp_path):
    expected = ob.bootstrap(size * rows(), statistic, rng=5)
    assert_same(ob.bootstrap(mapped(tmp_path, size * rows()), statistic, rng=5), expected)


@pytest.mark.filterwarnings("ignore::orthoboot.errors.ConstantDataWarning")
@pytest.mark.parametrize("statistic", [ob.variance, ob.covariance_matrix])
def test_a_constant_column_does_not_vary(statistic, tmp_path):
    table = np.column_stack([rows()[:, 0], np.full(N, 0.1)])
    assert np.ravel(ob.bootstrap(mapped(tmp_path, table), statistic).standard_error)[-1] == 0


def test_whole_numbers_that_are_rounded(tmp_path):
    table = np.arange(N) + 2**60
    with pytest.warns(ob.errors.DigitsWarning, match=f"such as {2**60 + N - 1}, which"):
        ob.bootstrap(mapped(tmp_path, table), ob.std)
    polars = pytest.importorskip("polars")
    with pytest.raises(DataError, match="whole numbers beyond"):
        ob.bootstrap(polars.DataFrame({"a": table, "b": np.arange(N) / 7}).lazy(), ob.std)


def dispersion(features):
    return ob.function_of_means(features, lambda m: m[1] - m[0] ** 2)


def fewer_where_large(x):
    return [x, x**2] if x.max() < 9 else [x]


def about_their_mean(x):
    return [x - x.mean(), x**2]


def doubled(x):
    x *= 2
    return [x, x**2]


@pytest.mark.parametrize(
    ("features", "match"),
    [(fewer_where_large, "same number of features"), (about_their_mean, "from that row alone"), (doubled, "read-only")],
)
@pytest.mark.parametrize("kind", ["memmap", "dask"])
def test_features_that_break_the_rules(kind, features, match, tmp_path):
    x = rows()[:, 0]
    data = mapped(tmp_path, x) if kind == "memmap" else pytest.importorskip("dask.array").from_array(x, chunks=7_000)
    with pytest.raises(ob.errors.StatisticError, match=match):
        ob.bootstrap(data, dispersion(features))
    assert np.array_equal(x, rows()[:, 0])


def test_rows_that_change_places_between_the_ends():
    polars = pytest.importorskip("polars")
    key = np.where(np.arange(N) == 0, 0.0, np.where(np.arange(N) == 1, 2.0, 1.0))
    frame = polars.DataFrame({"a": rows()[:, 0], "key": key}).lazy()
    mixed = frame.with_columns(order=polars.int_range(N).shuffle()).sort("key", "order").select("a", "key")
    with pytest.raises(DataError, match="the same rows in the same order"):
        ob.bootstrap(mixed, ob.correlation)


@pytest.mark.filterwarnings("ignore::orthoboot.errors.ConstantDataWarning")
def test_influence_values_that_are_rounding_are_zero(tmp_path):
    table = np.column_stack([1e-280 * rows()[:, 0], np.full(N, 0.1)])
    assert ob.bootstrap(mapped(tmp_path, table), ob.mae).standard_error == 0
