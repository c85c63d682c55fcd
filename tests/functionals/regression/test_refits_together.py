"""Refits of many resamples at once are those of one after the other: values, bits, failures and warnings."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import orthoboot as ob
from orthoboot.data import read
from orthoboot.draws.resamples import Resamples
from orthoboot.functionals import glm, logistic_regression
from orthoboot.functionals.regression.families import FAMILIES
from orthoboot.functionals.regression.refits_together import RefitsTogether
from orthoboot.typing import FloatArray

RNG = np.random.default_rng(15)
N = 120
X = RNG.uniform(-1.0, 1.0, size=(N, 2))
ETA = 1.5 + X @ [0.5, -0.4]
CLASSES = (RNG.random(N) < 0.3 + 0.2 * X[:, 0]).astype(float)
TIMES = RNG.gamma(4.0, 0.25 / ETA)
RESPONSES = {
    "binomial": CLASSES,
    "poisson": RNG.poisson(np.exp(ETA)).astype(float),
    "gaussian": TIMES,
    "gamma": TIMES,
    "inverse_gaussian": TIMES,
}
PAIRS = [(family, link) for family in FAMILIES for link in FAMILIES[family].links]


def draws(n: int, number: int) -> FloatArray:
    return np.random.default_rng(4).multinomial(n, np.full(n, 1 / n), size=number).astype(float)


def at(statistic: Any, *arrays: Any) -> Any:
    return statistic.prepared(read(arrays, paired=True))


def one_by_one(prepared: Any, weights: FloatArray) -> list[FloatArray | Exception]:
    return [prepared._refitted(own) for own in weights]


@pytest.mark.parametrize(("family", "link"), PAIRS)
def test_values_are_those_of_single_searches(family: str, link: str) -> None:
    prepared, weights = at(glm(family, link, intercept=True), X, RESPONSES[family]), draws(N, 40)
    minima = prepared.together.minima(weights)
    plain = np.isfinite(minima).all(axis=1)
    assert plain.mean() > 0.9
    alone = np.array(one_by_one(prepared, weights))
    np.testing.assert_allclose(prepared.values(Resamples((weights,))), alone, rtol=1e-10, atol=1e-12)


def test_case_weights_and_fractional_weights_count() -> None:
    prepared = at(glm("poisson"), X, RESPONSES["poisson"], RNG.uniform(0.5, 2.0, N))
    weights = RNG.exponential(size=(10, N))
    alone = np.array(one_by_one(prepared, weights))
    np.testing.assert_allclose(prepared.values(Resamples((weights,))), alone, rtol=1e-10)
    np.testing.assert_allclose(prepared.values(Resamples((7 * weights,))), alone, rtol=1e-10)


@pytest.mark.parametrize("family", ["binomial", "poisson", "gamma"])
@pytest.mark.parametrize("size", [1, 3, 8, 20])
def test_the_batch_changes_no_bit(family: str, size: int) -> None:
    prepared, weights = at(glm(family, intercept=True), X, RESPONSES[family]), draws(N, 61)
    together = prepared.values(Resamples((weights,)))
    parts = [prepared.values(Resamples((weights[start : start + size],))) for start in range(0, 61, size)]
    np.testing.assert_array_equal(np.vstack(parts), together)


def broken_draws() -> tuple[Any, FloatArray]:
    """Return a logistic regression and resamples, some of which have no fit for the most various reasons."""
    x = np.linspace(-1.0, 1.0, 60)
    rare = np.isin(np.arange(60), [29, 30]).astype(float)
    response = (x > 0).astype(float)
    flipped = [5, 20, 40, 55]
    response[flipped] = 1 - response[flipped]
    prepared = at(logistic_regression.replace(intercept=True), np.column_stack([x, rare]), response)
    weights = draws(60, 24)
    weights[:, [29, 30]] = 1.0
    weights[3, flipped] = 0.0  # separated
    weights[4, [29, 30]] = 0.0  # the rare column is zero
    weights[5] *= response  # one class
    weights[6] = np.where(np.arange(60) == 2, 60.0, 0.0)  # one row
    return prepared, weights


def test_failures_are_those_of_single_searches() -> None:
    prepared, weights = broken_draws()
    expected = one_by_one(prepared, weights)
    evaluation = prepared.evaluate(Resamples((weights,)))
    assert {3, 4, 5, 6} <= set(np.flatnonzero(~evaluation.succeeded).tolist())
    for failure, value, outcome in zip(evaluation.failures, evaluation.values, expected, strict=True):
        if isinstance(outcome, Exception):
            assert failure is not None
            assert failure.reason == f"FitError: {outcome}".rstrip(".")
        else:
            assert failure is None
            np.testing.assert_allclose(value, outcome, rtol=1e-10)
    first = next(outcome for outcome in expected if isinstance(outcome, Exception))
    with pytest.raises(type(first)) as raised:
        prepared.values(Resamples((weights,)))
    assert str(raised.value) == str(first)


def texts_and_values(monkeypatch: pytest.MonkeyPatch, *, together: bool) -> tuple[list[str], FloatArray, int]:
    monkeypatch.setattr(RefitsTogether, "is_possible", together)
    x = np.random.default_rng(0).standard_normal(25)
    y = (x + np.random.default_rng(1).logistic(size=25) / 3 > 0).astype(float)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = ob.bootstrap((x, y), logistic_regression, paired=True, n_resamples=60, rng=0)
    return [str(one.message) for one in caught], result.bootstrap_distribution, result.n_failed


def test_warnings_are_those_of_single_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    (texts, values, failed), (others, alone, also_failed) = (
        texts_and_values(monkeypatch, together=together) for together in (True, False)
    )
    assert texts
    assert texts == others
    assert failed == also_failed > 0
    np.testing.assert_allclose(values, alone, rtol=1e-9)


def test_many_columns_are_refitted_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared, weights = at(glm("poisson"), X, RESPONSES["poisson"]), draws(N, 5)
    monkeypatch.setattr("orthoboot.functionals.regression.newton_surrogate._LARGEST_TABLE", 1)
    assert not prepared.together.is_possible
    np.testing.assert_array_equal(prepared.values(Resamples((weights,))), np.array(one_by_one(prepared, weights)))


def test_the_products_are_not_pickled() -> None:
    prepared, weights = at(glm("poisson"), X, RESPONSES["poisson"]), draws(N, 5)
    values = prepared.values(Resamples((weights,)))
    copied = pickle.loads(pickle.dumps(prepared))
    assert "_products" not in vars(copied.together)
    np.testing.assert_array_equal(copied.values(Resamples((weights,))), values)
