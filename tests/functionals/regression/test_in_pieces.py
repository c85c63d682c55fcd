"""Regressions on rows that are read part by part give what they give on the same rows in memory."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest
import statsmodels.api as sm

import orthoboot as ob
from orthoboot.distributed.memory_mapped import MappedArrays
from orthoboot.draws.random_counts import key_from, multinomial_counts
from orthoboot.errors import DataError, FitError, FitWarning
from orthoboot.functionals.regression import losses_in_pieces
from orthoboot.functionals.regression.linear_in_pieces import RegressionInPieces

N = 20_000
"""Rows in three parts of a file, each of one block or two, the last ones not whole."""

RNG = np.random.default_rng(7)
OFFSET = np.array([0.0, 20.0, -3.0])
X = RNG.normal(size=(N, 3)) + OFFSET
ETA = (X - OFFSET) @ [0.6, -0.4, 0.3] - 0.5
CASE_WEIGHTS = RNG.uniform(0.2, 3.0, size=N)
LATE = np.arange(N) % 9000 == 8500
"""Two rows in different parts, neither at the start of a block."""
RESPONSES = {
    "linear": X @ [1.0, -2.0, 0.5] + (1 + np.abs(X[:, 0])) * RNG.normal(size=N),
    "logistic": (RNG.uniform(size=N) < 1 / (1 + np.exp(-ETA))).astype(float),
    "poisson": RNG.poisson(np.exp(ETA)).astype(float),
    "gamma": np.exp(ETA) * RNG.gamma(2.0, size=N),
}
MODELS = {
    "linear": ob.linear_regression.replace(intercept=True),
    "logistic": ob.logistic_regression.replace(intercept=True),
    "poisson": ob.glm("poisson", intercept=True),
    "gamma": ob.glm("gamma", "log", intercept=True),
}


class Mapped:
    """Writes arrays to files and maps them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.number = folder, 0

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        return tuple(map(self._one, arrays))

    def _one(self, array: Any) -> Any:
        self.number += 1
        path = self.folder / f"{self.number}.npy"
        np.save(path, array)
        return np.load(path, mmap_mode="r")


@pytest.fixture
def mapped(tmp_path: Path) -> Mapped:
    return Mapped(tmp_path)


def bootstrap(data: Any, model: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ob.bootstrap(data, model, paired=True, **{"rng": 3, **options})


def check_same(found: Any, expected: Any) -> None:
    """Check all numbers to a share of the standard error, and all words."""
    # The second differences of ABC have a step of 1e-3, which makes rounding a million times as large.
    close = 1e-6 if expected.interval_method == "abc" else 1e-9
    assert isinstance(found.run.prepared, RegressionInPieces)
    assert not isinstance(expected.run.prepared, RegressionInPieces)
    scale = np.where(expected.standard_error > 0, expected.standard_error, 1.0)
    for name in ("estimate", "bias", "standard_error", "bootstrap_distribution", "linear_distribution"):
        differences = np.asarray(getattr(found, name)) - np.asarray(getattr(expected, name))
        columns = differences if differences.shape[-1:] == scale.shape else differences.T
        assert np.max(np.abs(columns / scale), initial=0.0) < 1e-9, name
    ends = np.abs(np.array(found.confidence_interval) - np.array(expected.confidence_interval))
    assert np.max(ends / scale) < close
    assert [str(warning) for warning in found.warnings] == [str(warning) for warning in expected.warnings]
    assert found.run.output.names == expected.run.output.names


# The answers in memory


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("options", [{}, {"method": "t"}, {"estimator": "jackknife"}, {"method": "abc"}], ids=str)
def test_results_are_those_in_memory(name: str, options: dict[str, Any], mapped: Mapped) -> None:
    arrays = X, RESPONSES[name]
    check_same(bootstrap(mapped(*arrays), MODELS[name], **options), bootstrap(arrays, MODELS[name], **options))


@pytest.mark.parametrize("plan", ["strata", "groups"])
def test_the_bias_of_second_order_is_that_in_memory(plan: str, mapped: Mapped) -> None:
    arrays = X[:3000], RESPONSES["poisson"][:3000], CASE_WEIGHTS[:3000]
    labels = np.arange(3000) % 4 if plan == "strata" else np.repeat(np.arange(1500), np.tile([1, 3], 750))
    found, expected = (
        bootstrap(data, MODELS["poisson"], n_resamples=10, **{plan: labels}).run.known_bias
        for data in (mapped(*arrays), arrays)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-8)


@pytest.mark.parametrize("name", MODELS)
def test_partitions_may_be_uneven_and_empty(name: str) -> None:
    da = pytest.importorskip("dask.array")
    sizes = (3, 0, 11_000, 1, 0, N - 11_004)
    arrays = X[:, :2], RESPONSES[name], CASE_WEIGHTS
    lazy = tuple(da.from_array(array, chunks=(sizes, *array.shape[1:])) for array in arrays)
    check_same(bootstrap(lazy, MODELS[name]), bootstrap(arrays, MODELS[name]))


@pytest.mark.parametrize("name", ["linear", "logistic"])
def test_many_columns_are_read_in_shorter_blocks(name: str, mapped: Mapped) -> None:
    arrays = np.hstack([X, np.random.default_rng(8).normal(size=(N, 17))]), RESPONSES[name]
    check_same(bootstrap(mapped(*arrays), MODELS[name]), bootstrap(arrays, MODELS[name]))


def test_frames_name_the_coefficients() -> None:
    pl = pytest.importorskip("polars")
    names = {f"x{i}": column for i, column in enumerate(X.T)}
    frame = pl.DataFrame({**names, "y": RESPONSES["linear"]})
    lazy = frame.lazy().select(list(names)), frame.lazy().select("y")
    held = frame.select(list(names)), frame["y"]
    check_same(bootstrap(lazy, MODELS["linear"]), bootstrap(held, MODELS["linear"]))


def test_case_weights_of_proportions(mapped: Mapped) -> None:
    trials = RNG.integers(1, 9, size=N).astype(float)
    arrays = X, RNG.binomial(trials.astype(int), 1 / (1 + np.exp(-ETA))) / trials, trials
    check_same(bootstrap(mapped(*arrays), MODELS["logistic"]), bootstrap(arrays, MODELS["logistic"]))


def test_the_influence_values_of_few_rows_give_the_bias_by_differences(mapped: Mapped) -> None:
    arrays = X[:300], RESPONSES["poisson"][:300]
    found, expected = (bootstrap(data, MODELS["poisson"], estimator="jackknife") for data in (mapped(*arrays), arrays))
    assert np.all(np.abs(expected.bias) > 0)
    # Second differences with steps of 1e-3 standard errors leave a millionth of the digits.
    np.testing.assert_allclose(found.bias, expected.bias, rtol=0, atol=1e-7 * np.min(expected.standard_error))


def test_results_do_not_depend_on_the_batch(mapped: Mapped) -> None:
    data = mapped(X, RESPONSES["logistic"])
    one, all_of_them = (bootstrap(data, MODELS["logistic"], batch=batch) for batch in (1, 10))
    np.testing.assert_allclose(one.bootstrap_distribution, all_of_them.bootstrap_distribution, rtol=1e-12)


# Values of others


@pytest.mark.parametrize(
    ("name", "family"),
    [("linear", sm.families.Gaussian()), ("logistic", sm.families.Binomial())],
    ids=["linear", "logistic"],
)
def test_a_replicate_is_the_fit_of_statsmodels_to_the_rows_drawn(name: str, family: Any, mapped: Mapped) -> None:
    result = bootstrap(mapped(X, RESPONSES[name]), MODELS[name], n_resamples=3)
    counts = multinomial_counts(key_from(3), 0, [2], N)[0]
    # Least squares in the coordinates of the data loses digits, and so is told that the columns have an offset.
    columns = np.column_stack([np.ones(N), X - OFFSET])
    centred = sm.GLM(RESPONSES[name], columns, family, freq_weights=counts).fit(tol=1e-13).params
    expected = np.concatenate([[centred[0] - OFFSET @ centred[1:]], centred[1:]])
    np.testing.assert_allclose(result.bootstrap_distribution.reshape(4, 3)[:, 2], expected, rtol=1e-9)


def test_columns_that_are_nearly_dependent_keep_the_digits_of_a_factorisation(mapped: Mapped) -> None:
    t = np.linspace(1, 2, N)
    arrays = np.column_stack([t**power for power in range(7)]), np.sin(5 * t) + RNG.normal(size=N)
    found, expected = (bootstrap(data, ob.linear_regression) for data in (mapped(*arrays), arrays))
    # Of condition 1e7: cross products of these columns, of condition 1e14, would leave two digits.
    assert np.linalg.cond(arrays[0] / np.linalg.norm(arrays[0], axis=0)) > 1e6
    scale = expected.standard_error
    assert np.max(np.abs(found.estimate - expected.estimate) / scale) < 1e-6
    assert np.max(np.abs(found.standard_error - expected.standard_error) / scale) < 1e-6


# What is refused, and what fails


@pytest.mark.parametrize(
    ("name", "arrays", "words"),
    [
        ("linear", (np.column_stack([X, X[:, 0] + X[:, 2]]), RESPONSES["linear"]), "column 3 is a combination"),
        ("linear", (X, RESPONSES["linear"], np.where(LATE, -1.0, 1.0)), "positive case weights"),
        ("linear", (X, np.column_stack([ETA, ETA])), "one number per row"),
        ("linear", (X[:3], ETA[:3]), "at least as many rows as coefficients"),
        ("logistic", (X, RESPONSES["linear"]), "responses in"),
        ("logistic", (X, np.ones(N)), "one class only"),
        ("poisson", (X, RESPONSES["poisson"] - 1), "counts, which are not negative"),
        ("poisson", (X, np.zeros(N)), "counts are zero"),
        ("logistic", (X, (X[:, 0] > 0.5).astype(float)), "the coefficients diverge"),
    ],
)
def test_what_is_refused_is_refused_with_the_same_words(
    name: str, arrays: tuple[Any, ...], words: str, mapped: Mapped
) -> None:
    messages = []
    for data in (arrays, mapped(*arrays)):
        with pytest.raises((DataError, FitError), match=words) as caught:
            bootstrap(data, MODELS[name])
        messages.append((caught.type, str(caught.value)))
    assert messages[0] == messages[1]


def rare_category() -> tuple[Any, Any]:
    rows = np.arange(400)
    rare = np.isin(rows, [5, 8, 9, 77]).astype(float)
    response = RESPONSES["logistic"][:400].copy()
    response[[5, 8]], response[[9, 77]] = 1, 0
    return np.column_stack([X[:400], rare]), response


def single_row() -> tuple[Any, Any]:
    return np.column_stack([X[:400], np.arange(400) == 5]), RESPONSES["linear"][:400]


def separated_but_for_a_row() -> tuple[Any, Any]:
    x = np.linspace(-1, 1, 40)
    return x[:, np.newaxis], ((x > 0) ^ (np.arange(40) == 15)).astype(float)


def few_events() -> tuple[Any, Any]:
    return X[:400, :1], np.isin(np.arange(400), [5, 8]).astype(float)


@pytest.mark.parametrize(
    ("name", "arrays", "words"),
    [
        ("linear", single_row(), "the coefficients are not unique"),
        ("logistic", (single_row()[0], np.full(400, 0.3)), "the coefficients are not unique"),
        ("logistic", rare_category(), "the coefficients diverge"),
        ("logistic", separated_but_for_a_row(), "the coefficients diverge"),
        ("logistic", few_events(), "one class only"),
        ("poisson", few_events(), "counts are zero"),
    ],
)
def test_resamples_without_a_fit_fail_for_the_same_reasons(
    name: str, arrays: tuple[Any, ...], words: str, mapped: Mapped
) -> None:
    found, expected = (bootstrap(data, MODELS[name], n_resamples=30) for data in (mapped(*arrays), arrays))
    assert any(words in reason for reason in expected.replicates.failures.values())
    assert found.replicates.failures == expected.replicates.failures
    check_same(found, expected)


def test_an_exact_fit_does_not_vary(mapped: Mapped) -> None:
    exact = X @ [1.0, 2.0, 3.0]
    for name, response in (("linear", exact), ("poisson", np.full(N, 2.0))):
        result = bootstrap(mapped(X, response), MODELS[name])
        assert np.all(np.asarray(result.standard_error) == 0), name
        assert np.all(result.run.influence[0].spread.ranges.largest == 0), name


def test_columns_resting_on_few_rows_and_nearly_dependent_ones_are_reported(mapped: Mapped) -> None:
    t = np.linspace(1, 2, 400)
    rare = np.isin(np.arange(400), [3, 4, 200]).astype(float)
    arrays = np.column_stack([rare, *(t**power for power in range(9))]), np.sin(5 * t) + np.cos(900 * t)
    found, expected = (bootstrap(data, ob.linear_regression) for data in (mapped(*arrays), arrays))
    assert any(isinstance(warning, FitWarning) for warning in expected.warnings)
    assert any("depends on about" in str(warning) for warning in expected.warnings)
    assert [str(warning) for warning in found.warnings] == [str(warning) for warning in expected.warnings]


def test_a_column_that_is_constant_but_for_few_rows_is_reported(mapped: Mapped) -> None:
    # More than two effective rows, and forty rows ask for no more: it is the few that differ which show.
    arrays = np.column_stack([X[:40], 7.0 + np.isin(np.arange(40), [0, 4, 30])]), RESPONSES["linear"][:40]
    found, expected = (bootstrap(data, MODELS["linear"]) for data in (mapped(*arrays), arrays))
    assert any("depends on about" in str(warning) for warning in expected.warnings)
    assert [str(warning) for warning in found.warnings] == [str(warning) for warning in expected.warnings]


# How it is computed


@pytest.mark.parametrize("name", ["linear", "logistic"])
def test_all_work_on_rows_can_be_sent_to_workers(name: str, mapped: Mapped, monkeypatch: pytest.MonkeyPatch) -> None:
    data, each, sizes = mapped(X, RESPONSES[name]), MappedArrays.each, []

    def sent(source: MappedArrays, task: Any) -> Any:
        pickled = cloudpickle.dumps(task)
        sizes.append(len(pickled))
        return each(source, cloudpickle.loads(pickled))

    expected = bootstrap(data, MODELS[name], method="abc")
    monkeypatch.setattr(MappedArrays, "each", sent)
    found = bootstrap(data, MODELS[name], method="abc")
    assert np.array_equal(found.bootstrap_distribution, expected.bootstrap_distribution)
    assert np.array_equal(found.confidence_interval, expected.confidence_interval)
    # The rows themselves are not among what is sent: one column of them would be 160,000 bytes.
    assert 0 < max(sizes) < 30_000


def test_refits_of_a_batch_share_their_passes(mapped: Mapped, monkeypatch: pytest.MonkeyPatch) -> None:
    passes: list[int] = []
    at = losses_in_pieces.LossesInPieces.at

    def counted(self: Any, places: Any, points: Any, **options: Any) -> Any:
        passes.append(len(places))
        return at(self, places, points, **options)

    monkeypatch.setattr(losses_in_pieces.LossesInPieces, "at", counted)
    bootstrap(mapped(X, RESPONSES["logistic"]), MODELS["logistic"], n_resamples=40, method="normal")
    refits = [number for number in passes if number > 2]
    assert refits[0] == 40
    assert len(refits) <= 3


def test_losses_are_computed_for_a_few_resamples_at_a_time(mapped: Mapped, monkeypatch: pytest.MonkeyPatch) -> None:
    data = mapped(X[:9000], RESPONSES["logistic"][:9000])
    expected = bootstrap(data, MODELS["logistic"])
    monkeypatch.setattr(losses_in_pieces, "_NUMBERS_AT_ONCE", 3 * 8192)
    found = bootstrap(data, MODELS["logistic"])
    np.testing.assert_allclose(found.bootstrap_distribution, expected.bootstrap_distribution, rtol=1e-12)
