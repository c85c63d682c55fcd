"""Weights that a part of a statistic ignores, and rows whose values depend on other rows."""

from __future__ import annotations

import numpy as np
import pytest

import orthoboot as ob
from orthoboot.errors import UnweightedRowsWarning

X = np.random.default_rng(0).gamma(2, size=300)
AT_RANDOM = np.random.default_rng(1)


def weighted_median(x, weights):
    order = np.argsort(x)
    total = np.cumsum(weights[order])
    return x[order][np.searchsorted(total, total[-1] / 2)]


def told(result):
    return [warning for warning in result.warnings if isinstance(warning, UnweightedRowsWarning)]


PARTLY = {
    "function": lambda x, weights: np.average(x, weights=weights) / x.std(),
    "features": ob.function_of_means(lambda x: np.c_[x / x.std()], lambda means: means[0]),
}
WHOLLY = {
    "mean": lambda x, weights: np.average(x, weights=weights),
    "median": weighted_median,
    "features": ob.function_of_means(lambda x: np.c_[x, x**2], lambda means: means[1] / means[0]),
    "at random": lambda x, weights: np.average(x, weights=weights) + AT_RANDOM.normal(),
}


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
@pytest.mark.parametrize("estimator", ["orthogonal", "standard"])
@pytest.mark.parametrize("statistic", PARTLY.values(), ids=PARTLY)
def test_a_part_that_ignores_the_weights_is_found(statistic, estimator):
    (warning,) = told(ob.bootstrap(X, statistic, estimator=estimator, n_resamples=20, rng=0))
    assert "ignores the weights: on one resample it is" in str(warning)


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("statistic", WHOLLY.values(), ids=WHOLLY)
def test_a_statistic_that_weights_all_its_parts_is_not(statistic, seed):
    assert not told(ob.bootstrap(X[:40], statistic, n_resamples=20, rng=seed))


def losses():
    jnp = pytest.importorskip("jax.numpy")
    return {
        "neighbour": lambda theta, x: (x - theta[0] * jnp.roll(x, 1)) ** 2,
        "deviation": lambda theta, x: (x / jnp.std(x) - theta[0]) ** 2,
        "own": lambda theta, x: (x - theta[0]) ** 2,
    }


@pytest.mark.parametrize("name", ["neighbour", "deviation", "own"])
@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_a_loss_of_other_rows_is_found(name):
    found = told(ob.bootstrap(X, ob.m_estimator(losses()[name], init=1), rng=0))
    assert bool(found) == (name != "own")
    assert all("`loss` of a row depends on other rows" in str(warning) for warning in found)


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
@pytest.mark.parametrize("together", [True, False])
def test_parameters_of_other_rows_are_found(together):
    pytest.importorskip("jax")
    problem = ob.minimize(
        lambda z, mean: (z[0] - mean[0]) ** 2, init=1, parameters=lambda x: np.c_[x / x.std() if together else x]
    )
    assert bool(told(ob.bootstrap(X, problem, rng=0, influence="auto"))) == together
