"""The surrogates of statsmodels' generalised linear models stand for their refits."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm

import orthoboot as ob
from orthoboot.data import read
from orthoboot.draws.resamples import Resamples

RNG = np.random.default_rng(51)
N = 150
X = sm.add_constant(RNG.standard_normal((N, 2)))
ETA = X @ [0.3, 0.4, -0.4]
CLASSES = (RNG.random(N) < 1 / (1 + np.exp(-ETA))).astype(float)
COUNTS = RNG.poisson(np.exp(ETA))
NUMBERS = ETA + RNG.standard_normal(N)
RESAMPLES = Resamples((RNG.multinomial(N, np.full(N, 1 / N), size=20).astype(float),))
MODELS = {
    "Logit": sm.Logit(CLASSES, X),
    "Probit": sm.Probit(CLASSES, X),
    "Poisson with exposure": sm.Poisson(COUNTS, X, exposure=RNG.uniform(1.0, 2.0, N)),
    "GLM": sm.GLM(COUNTS, X, family=sm.families.Poisson()),
}


def prepared(model: Any, target: Any = None) -> Any:
    functional = ob.from_statsmodels(model, target)
    return functional.prepared(read(functional.data, paired=True))


@pytest.mark.parametrize("target", [None, X[:3]], ids=["coefficients", "predictions"])
@pytest.mark.parametrize("name", MODELS)
def test_steps_end_near_the_refits(name: str, target: Any) -> None:
    at = prepared(MODELS[name], target)
    refits = at.values(RESAMPLES)
    steps = pickle.loads(pickle.dumps(at.surrogate)).values(RESAMPLES)
    assert steps.shape == refits.shape
    assert np.max(np.abs(steps - refits) / refits.std(axis=0)) < 0.01


def test_there_is_none_for_functions_of_the_user_and_least_squares() -> None:
    assert prepared(MODELS["Logit"], lambda params: params.iloc[0]).surrogate is None
    assert prepared(sm.OLS(NUMBERS, X)).surrogate is None
    assert prepared(sm.OLS(NUMBERS, X), X[:2]).surrogate is None
    assert prepared(sm.RLM(NUMBERS, X), lambda params: params.iloc[0]).surrogate is None


@pytest.mark.parametrize("target", [None, X[:3], lambda params: params.iloc[1] ** 2])
def test_refits_together_are_those_of_values(target: Any) -> None:
    at = prepared(MODELS["Logit"], target)
    evaluation = at.evaluate(RESAMPLES)
    assert evaluation.succeeded.all()
    np.testing.assert_array_equal(evaluation.values, at.values(RESAMPLES))


def test_a_target_that_raises_fails_on_its_own_resample_alone() -> None:
    first = prepared(MODELS["Logit"]).values(RESAMPLES)[:, 0]

    def target(params: Any) -> float:
        if params.iloc[0] < np.sort(first)[2]:
            raise ValueError("too small")
        return float(params.iloc[0])

    evaluation = prepared(MODELS["Logit"], target).evaluate(RESAMPLES)
    np.testing.assert_array_equal(evaluation.succeeded, first >= np.sort(first)[2])
    assert evaluation.first_failure is not None
    assert evaluation.first_failure.reason == "ValueError: too small"
