"""Strata of rows that are read part by part: the in-memory answer, wherever the rows of a stratum lie."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from tests.distributed.test_bootstrap import N, assert_same, in_dask, mapped, rows

import orthoboot as ob
from orthoboot.data import labels_in_pieces
from orthoboot.errors import ArgumentError, DataError, SmallSampleWarning
from orthoboot.intervals.laws import views
from orthoboot.plans.strata import settled_strata

pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame.reset_index")  # dask's own

_RNG = np.random.default_rng(9)

STRATA = {
    "few": _RNG.integers(0, 4, size=N) * 3,
    "small": _RNG.integers(0, 500, size=N),
    "uneven": np.minimum(_RNG.geometric(0.3, size=N), 12),
    "in order": np.sort(_RNG.integers(0, 9, size=N)),
    "one": np.ones(N),
    "true or false": _RNG.random(N) < 0.1,
}
"""Strata of thousands of rows and of a few, that lie in all parts and in one."""


def stratified(strata):
    """Rows whose means differ from stratum to stratum."""
    effects = np.random.default_rng(8).normal(size=1500)[np.asarray(strata, dtype=int)]
    return rows() + effects[:, np.newaxis]


def dask_column(column, chunks=(7, 20_000, 0, N - 20_007)):
    return pytest.importorskip("dask.array").from_array(column, chunks=(chunks,))


def both(statistic, strata, data, labels, **options):
    """The answers of rows in memory and of others."""
    table = stratified(strata)
    return tuple(
        ob.bootstrap(one, statistic, strata=own, rng=5, **options) for one, own in ((table, strata), (data, labels))
    )


STATISTICS = {
    "correlation": (ob.correlation, {}),
    "variance": (ob.variance.replace(ddof=1), {"method": "t", "n_resamples": 40}),
    "ratio": (ob.ratio, {"method": "abc"}),
    "kurtosis": (ob.kurtosis, {"estimator": "jackknife"}),
    "matrix": (ob.covariance_matrix, {"estimator": "paper"}),
    "rmse": (ob.rmse, {"estimator": "standard", "n_resamples": 30}),
    "quantile": (ob.quantile(0.3), {}),
    "own": (ob.function_of_means(lambda t: [t[:, 0], t[:, 1] ** 2], lambda m: m[0] / m[1]), {}),
}


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, kind) for name in STATISTICS for kind in STRATA if name == "correlation" or kind in ("uneven", "small")],
)
def test_the_answer_is_that_of_the_rows_in_memory(name, kind, tmp_path):
    statistic, options = STATISTICS[name]
    strata = STRATA[kind]
    expected, found = both(statistic, strata, in_dask(tmp_path, stratified(strata)), dask_column(strata), **options)
    assert_same(found, expected)
    assert [str(warning) for warning in found.warnings] == [str(warning) for warning in expected.warnings]


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
@pytest.mark.parametrize("statistic", [ob.mean, ob.variance], ids=lambda one: one.name)
def test_the_interval_of_several_outputs_is_that_of_the_rows_in_memory(statistic):
    table, strata = rows()[:900], STRATA["few"][:900]
    chunks = (7, 500, 0, 393)
    in_parts = pytest.importorskip("dask.array").from_array(table, chunks=(chunks, (2,)))
    expected = ob.bootstrap(table, statistic, strata=strata, rng=5)
    found = ob.bootstrap(in_parts, statistic, strata=dask_column(strata, chunks), rng=5)
    assert (found.interval_method, found.interval_reason) == (expected.interval_method, expected.interval_reason)
    assert_same(found, expected)


@pytest.mark.parametrize("method", ["percentile", "basic", "bca"])
@pytest.mark.parametrize("strata", [None, STRATA["few"]], ids=["rows", "strata"])
def test_few_replicates_of_many_rows_have_no_quantiles(strata, method, monkeypatch):
    in_parts = dask_column(rows()[:, 0])
    result = ob.bootstrap(in_parts, ob.variance, strata=None if strata is None else dask_column(strata), rng=5)
    expected = ob.bootstrap(rows()[:, 0], ob.variance, strata=strata, rng=5).interval(method=method)
    assert result.interval(method=method) == pytest.approx(expected, rel=1e-7)
    monkeypatch.setattr(views, "LARGEST_LAW", N - 1)
    with pytest.raises(ArgumentError, match=rf"method='{method}' of fewer than 200 .* 30,000 rows. Use method=\"abc\""):
        result.interval(method=method)
    many = result.extend(200)
    assert many.interval(method=method).low == pytest.approx(expected.low, abs=result.standard_error)


def test_strata_are_described_as_in_memory(tmp_path):
    strata = STRATA["few"]
    expected, found = both(ob.correlation, strata, mapped(tmp_path, stratified(strata)), strata)
    assert found.summary().count("30,000 rows in 4 strata") == expected.summary().count("in 4 strata") == 1
    assert_same(pickle.loads(pickle.dumps(found)).extend(7), expected.extend(7))


@pytest.mark.parametrize("chunks", [(1_500,) * 20, (4_286,) * 6 + (4_284,), (29_999, 1)])
def test_the_partitioning_changes_nothing(chunks):
    arrays = pytest.importorskip("dask.array")
    strata = STRATA["uneven"]
    data = arrays.from_array(stratified(strata), chunks=(chunks, 2))
    expected, found = both(ob.correlation, strata, data, dask_column(strata, chunks))
    assert_same(found, expected)


def test_a_cluster_gives_the_same(cluster):
    arrays = pytest.importorskip("dask.array")
    strata = STRATA["few"]
    data = arrays.from_array(stratified(strata), chunks=(4_286, 2))
    expected, found = both(ob.correlation, strata, data, dask_column(strata, 4_286))
    assert_same(found, expected)


def test_labels_in_a_file_or_in_memory_beside_rows_in_a_file(tmp_path):
    strata = STRATA["uneven"]
    data = mapped(tmp_path, stratified(strata))
    expected, found = both(ob.correlation, strata, data, mapped(tmp_path, strata, "strata"))
    assert_same(found, expected)
    assert_same(both(ob.correlation, strata, data, strata)[1], expected)


@pytest.mark.parametrize("argument", ["strata", "groups"])
@pytest.mark.parametrize("kind", ["text", "list", "series"])
def test_labels_of_any_kind_beside_an_array_in_a_file(kind, argument, tmp_path):
    """Where they are no array of numbers the rows are loaded."""
    labels = STRATA["small"][:2000] // 5
    given = {
        "text": labels.astype(str),
        "list": labels.tolist(),
        "series": pytest.importorskip("pandas").Series(labels),
    }
    table = rows()[:2000]
    expected = ob.bootstrap(table, ob.correlation, rng=5, **{argument: labels})
    found = ob.bootstrap(mapped(tmp_path, table), ob.correlation, rng=5, **{argument: given[kind]})
    assert found.standard_error == pytest.approx(expected.standard_error, rel=1e-12)


def scanned(tmp_path):
    """A Parquet file with strata in a column, and the same in memory."""
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"x": stratified(STRATA["few"])[:, 0], "stratum": STRATA["few"]})
    frame.write_parquet(tmp_path / "rows.parquet", row_group_size=7_000)
    return frame, tmp_path / "rows.parquet"


@pytest.mark.parametrize("kind", ["polars", "pyarrow", "duckdb", "dask"])
def test_strata_in_a_column_that_is_named(kind, tmp_path):
    frame, path = scanned(tmp_path)
    read = {
        "polars": lambda: pytest.importorskip("polars").scan_parquet(path),
        "pyarrow": lambda: pytest.importorskip("pyarrow.dataset").dataset(path),
        "duckdb": lambda: pytest.importorskip("duckdb").read_parquet(str(path)),
        "dask": lambda: pytest.importorskip("dask.dataframe").read_parquet(path),
    }
    statistic = ob.function_of_means(lambda t: [t[:, 0], t[:, 0] ** 2], lambda m: m[1] - m[0] ** 2)
    expected = ob.bootstrap(frame["x"].to_numpy()[:, np.newaxis], statistic, strata=STRATA["few"], rng=5)
    assert_same(ob.bootstrap(frame.to_numpy(), statistic, strata=STRATA["few"], rng=5), expected)
    assert_same(ob.bootstrap(read[kind](), statistic, strata="stratum", rng=5), expected)


def test_strata_in_a_column_of_a_frame_in_memory():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": rows()[:200, 0], "s": np.array(["a", "b"])[STRATA["few"][:200] % 2]})
    expected = ob.bootstrap(frame["x"], ob.mean, strata=frame["s"], rng=5)
    found = ob.bootstrap(frame, lambda t: t["x"].mean(), strata="s", rng=5, n_resamples=10)
    assert found.bootstrap_distribution == pytest.approx(expected.bootstrap_distribution)
    both_samples = ob.bootstrap((frame, frame), lambda a, b: a["x"].mean(), strata=("s", None), rng=5, n_resamples=10)
    assert both_samples.bootstrap_distribution == pytest.approx(expected.bootstrap_distribution)
    with pytest.raises(
        ArgumentError, match=r"`strata` must hold one label.* has the columns 'x', 's'; got the text 't'"
    ):
        ob.bootstrap(frame[["x", "s"]], lambda t: t["x"].mean(), strata="t")


def test_a_column_that_is_read_beside_a_scan(tmp_path):
    polars = pytest.importorskip("polars")
    frame, path = scanned(tmp_path)
    scan = polars.scan_parquet(path)
    expected = ob.bootstrap(frame.select("x"), ob.mean, strata=STRATA["few"], rng=5)
    assert_same(ob.bootstrap(scan.select("x"), ob.mean, strata=scan.select("stratum"), rng=5), expected)


@pytest.mark.parametrize("model", ["linear", "logistic", "poisson"])
def test_regressions(model):
    arrays = pytest.importorskip("dask.array")
    rng, n = np.random.default_rng(3), 9_000
    X = np.column_stack([np.ones(n), rng.normal(size=(n, 2))])
    predictor = X @ [0.2, 0.5, -0.3]
    statistic, y = {
        "linear": (ob.linear_regression, predictor + rng.normal(size=n)),
        "logistic": (ob.logistic_regression, (rng.random(n) < 1 / (1 + np.exp(-predictor))).astype(float)),
        "poisson": (ob.glm("poisson"), rng.poisson(np.exp(predictor)).astype(float)),
    }[model]
    strata = np.minimum(rng.integers(0, 15, size=n), 6)  # one of 5,400 rows among those of 600
    expected = ob.bootstrap((X, y), statistic, paired=True, strata=strata, rng=5)
    chunks = (7, 3_500, 0, n - 3_507)
    data = arrays.from_array(X, chunks=(chunks, 3)), dask_column(y, chunks)
    assert_same(ob.bootstrap(data, statistic, paired=True, strata=dask_column(strata, chunks), rng=5), expected)


def test_a_stratum_of_one_row_is_warned_of(tmp_path):
    strata = STRATA["few"].copy()
    strata[25_000] = 1
    with pytest.warns(SmallSampleWarning, match=r"a stratum has only 1 row\(s\)"):
        expected, found = both(ob.correlation, strata, in_dask(tmp_path, stratified(strata)), dask_column(strata))
    assert_same(found, expected)
    assert [str(warning) for warning in found.warnings] == [str(warning) for warning in expected.warnings]


def refused(strata, message, error=ArgumentError, statistic=ob.correlation, **options):
    arrays = pytest.importorskip("dask.array")
    with pytest.raises(error, match=message):
        ob.bootstrap(arrays.from_array(rows(), chunks=(1_500, 2)), statistic, strata=strata, **options)


def test_strata_of_one_row_each_are_refused():
    message = r"at least one stratum of two or more rows; got 30000 strata for 30000 rows"
    refused(dask_column(np.arange(N), 1_500), message)


def test_a_missing_label_is_named_with_its_partition_and_row():
    labels = STRATA["few"].astype(float)
    labels[[17 * 1_500 + 41, 17 * 1_500 + 50]] = np.nan
    message = r"`strata` must have a label.* 2 missing or infinite in partition 17 .* row 41, row 25,541 of all"
    refused(dask_column(labels, 1_500), message)


@pytest.mark.parametrize("argument", ["strata", "groups"])
def test_labels_of_another_length_are_refused(argument, tmp_path):
    message = f"`{argument}` must have one label per row; got 29999 labels for 30000 rows"
    for data, labels in ((in_dask, dask_column(np.ones(N - 1), 1_500)), (mapped, np.ones(N - 1))):
        with pytest.raises(ArgumentError, match=message):
            ob.bootstrap(data(tmp_path, rows()), ob.correlation, **{argument: labels})


def test_labels_that_are_divided_otherwise_are_refused_with_the_partition():
    arrays = pytest.importorskip("dask.array")
    data = arrays.from_array(rows(), chunks=(1_000, 2))
    shorter = dask_column(STRATA["few"][:-1], 1_000)
    message = r"`strata` must have one label per row; got 999 labels for 1000 rows in partition 29"
    with pytest.raises(ArgumentError, match=message):
        ob.bootstrap(data, ob.correlation, strata=shorter[shorter >= 0])  # of unknown length
    fewer = dask_column(STRATA["few"], 1_500)
    with pytest.raises(DataError, match=r"`data`, `strata` must have the same partitions; got 30 and 20 of them"):
        ob.bootstrap(data, ob.correlation, strata=fewer[fewer >= 0])


def test_more_strata_than_fit_are_refused_with_the_limit_or_loaded(monkeypatch, tmp_path):
    strata = STRATA["small"]
    expected = ob.bootstrap(rows(), ob.correlation, strata=strata, rng=5)
    monkeypatch.setattr(labels_in_pieces, "MOST_STRATA", 3_999)
    refused(dask_column(strata, 1_500), r"at most 3,999 strata, .* got more in the first 9 of 20 part\(s\)")
    monkeypatch.setattr(labels_in_pieces, "MOST_STRATA", 99)
    found = ob.bootstrap(mapped(tmp_path, rows()), ob.correlation, strata=strata, rng=5)
    assert found.standard_error == expected.standard_error


def test_blocks_are_taken_together_where_they_have_few_rows_of_a_stratum(monkeypatch):
    """In any number of them at once."""
    arrays = pytest.importorskip("dask.array")
    table, strata = np.tile(stratified(STRATA["uneven"]), (5, 1)), np.tile(STRATA["uneven"], 5)
    data, labels = arrays.from_array(table, chunks=(-1, 2)), arrays.from_array(strata, chunks=-1)
    expected = ob.bootstrap(table, ob.correlation, strata=strata, rng=5)
    for numbers in (1, 1 << 19, 1 << 24):
        monkeypatch.setattr(settled_strata, "_NUMBERS_AT_ONCE", numbers)
        assert_same(ob.bootstrap(data, ob.correlation, strata=labels, rng=5), expected)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (lambda: ["a", "b"] * (N // 2), r"`strata` must name a column .* got a list"),
        (lambda: dask_column(np.zeros(N), 1_500)[:, None] * np.ones(2), r"`strata` must be one-dim.* got 2 columns"),
        (
            lambda: dask_column(np.arange(N) + 2**60, 1_500),
            r"`strata` must lie in a table of numbers that a float represents exactly.* 11529",
        ),
        (lambda: "stratum", r"`strata` must name a column of the data, which has no names"),
    ],
    ids=["list", "two columns", "large numbers", "no names"],
)
def test_labels_that_are_no_column_of_numbers_are_refused(labels, message):
    refused(labels(), message)


def test_text_labels_of_a_scan_are_refused_with_the_remedy():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"x": rows()[:, 0], "s": ["a", "b"] * (N // 2)}).lazy()
    with pytest.raises(DataError, match=r"`strata`.*'s'"):
        ob.bootstrap(frame.select("x"), ob.mean, strata=frame.select("s"))


def test_other_options_are_refused_as_in_memory(tmp_path):
    labels = dask_column(STRATA["few"], 1_500)
    refused(labels, r"`method='bca'` needs all rows at once", method="bca")
    refused(labels, r"At most one of .* got `strata` and `groups`", groups=labels)
    arrays = pytest.importorskip("dask.array")
    data = arrays.from_array(rows()[:, 0], chunks=1_500)
    with pytest.raises(ArgumentError, match=r"`strata=\.\.\.` of several samples needs all rows at once"):
        ob.bootstrap((data, data), ob.difference(ob.mean), strata=(labels, labels))


def test_tilts_of_a_regression_need_no_column_of_labels(tmp_path):
    """Its passes read X and y alone, and the blocks know their strata."""
    table, strata = stratified(STRATA["few"])[:3000], STRATA["few"][:3000]
    X, y = table - table.mean(axis=0), (rows(3)[:3000, 0] < 1).astype(float)
    files = [mapped(tmp_path, one, name) for one, name in ((X, "X"), (y, "y"), (strata, "strata"))]
    found, expected = (
        ob.bootstrap(one[:2], ob.logistic_regression, paired=True, strata=one[2], method="abc", rng=5)
        for one in (files, (X, y, strata))
    )
    assert_same(found, expected)
