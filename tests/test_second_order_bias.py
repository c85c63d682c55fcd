"""The infinitesimal jackknife's bias under every plan, against simulation."""

from __future__ import annotations

import numpy as np
import pytest

import orthoboot as ob

RNG = np.random.default_rng(7)
X = RNG.gamma(2.0, size=240)
GROUPS = np.repeat(np.arange(60), RNG.permutation(np.repeat([1, 2, 5, 8], 15)))
X = X[: len(GROUPS)] if len(GROUPS) <= 240 else np.resize(X, len(GROUPS))
# Rows of a group are alike, and large groups have large values: the mean over drawn groups is biased.
X = X + 0.5 * np.bincount(GROUPS)[GROUPS]

PLANS = {
    "rows": {},
    "strata": {"strata": GROUPS % 3},
    "groups": {"groups": GROUPS},
    "circular": {"block_length": 6},
    "moving": {"block_length": 6, "block_kind": "moving"},
    "stationary": {"block_length": 6, "block_kind": "stationary"},
}


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("statistic", [ob.mean, ob.variance, ob.std], ids=lambda f: f.name)
def test_it_is_what_simulation_finds(plan, statistic):
    exact = ob.bootstrap(X, statistic, estimator="jackknife", **PLANS[plan])
    simulated = ob.bootstrap(X, statistic, n_resamples=4000, rng=1, **PLANS[plan])
    # Four simulation errors, and 5% of a standard error squared for what is of third order.
    slack = 4 * simulated.simulation_error.bias + 0.05 * exact.variance / abs(exact.estimate) + 1e-12
    assert abs(exact.bias - simulated.bias) < slack


def test_groups_of_unequal_size_bias_a_mean():
    exact = ob.bootstrap(X, ob.mean, estimator="jackknife", groups=GROUPS)
    assert abs(exact.bias) > 0.01 * exact.standard_error
