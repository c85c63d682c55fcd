"""The answer depends on the seed and on nothing else, to the last bit."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import orthoboot as ob

RNG = np.random.default_rng(8)
PAIRS = np.exp(RNG.standard_normal((150, 2)))
LABELS = RNG.integers(0, 12, 150)


def same(first, second):
    np.testing.assert_array_equal(first.bootstrap_distribution, second.bootstrap_distribution)
    np.testing.assert_array_equal(first.linear_distribution, second.linear_distribution)
    assert first.standard_error == second.standard_error
    assert first.bias == second.bias


PLANS = {
    "iid": {},
    "strata": {"strata": LABELS},
    "groups": {"groups": LABELS},
    "moving": {"block_length": 7, "block_kind": "moving"},
    "circular": {"block_length": 7},
    "stationary": {"block_length": 7, "block_kind": "stationary"},
}
STATISTICS = {"catalogue": ob.correlation, "plain": lambda d: float(np.corrcoef(d.T)[0, 1])}


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("batch", [1, 3, 20, 1000])
def test_the_batch_does_not_matter(plan, statistic, batch):
    options = {"n_resamples": 20, "rng": 5, **PLANS[plan]}
    same(
        ob.bootstrap(PAIRS, STATISTICS[statistic], **options),
        ob.bootstrap(PAIRS, STATISTICS[statistic], batch=batch, **options),
    )


@pytest.mark.parametrize("plan", PLANS)
def test_ten_more_twice_is_twenty_at_once(plan):
    start = ob.bootstrap(PAIRS, ob.correlation, n_resamples=10, rng=5, **PLANS[plan])
    same(start.extend(10).extend(10), start.extend(20))
    same(start.extend(10), ob.bootstrap(PAIRS, ob.correlation, n_resamples=20, rng=5, **PLANS[plan]))


def test_a_vectorised_statistic_does_not_feel_the_batch():
    def spread(x, axis):
        return np.std(x, axis=axis) / np.mean(x, axis=axis)

    x = PAIRS[:, 0]
    runs = [ob.bootstrap(x, spread, n_resamples=17, batch=batch, rng=2) for batch in (1, 4, 17)]
    same(runs[0], runs[1])
    same(runs[0], runs[2])


def test_another_seed_is_another_answer():
    first, second = (ob.bootstrap(PAIRS, ob.correlation, rng=seed) for seed in (1, 2))
    assert (first.bootstrap_distribution != second.bootstrap_distribution).any()


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")  # of whatever seed comes
def test_seeds_of_every_kind():
    for make in (lambda: 7, lambda: np.random.SeedSequence(7), lambda: np.random.default_rng(7)):
        same(ob.bootstrap(PAIRS, ob.correlation, rng=make()), ob.bootstrap(PAIRS, ob.correlation, rng=make()))
    unseeded = [ob.bootstrap(PAIRS, ob.correlation).bootstrap_distribution for _ in range(2)]
    assert (unseeded[0] != unseeded[1]).any()


def test_a_generator_moves_on_between_calls():
    generator = np.random.default_rng(7)
    first, second = (ob.bootstrap(PAIRS, ob.correlation, rng=generator) for _ in range(2))
    assert (first.bootstrap_distribution != second.bootstrap_distribution).any()


WITHOUT_NUMBA = """
import hashlib, sys
if {hide}:
    sys.modules["numba"] = None
import numpy as np, orthoboot as ob
x = np.random.default_rng(0).gamma(2.0, size=3000)
# So many draws that loading the compiled kernels pays, and later ones come from them.
result = ob.bootstrap((x, x[:70]), ob.difference(ob.variance), n_resamples=60_000, rng=3)
assert ("numba" in sys.modules and sys.modules["numba"] is not None) != {hide}
print(hashlib.sha256(result.bootstrap_distribution.tobytes()).hexdigest())
"""


def test_numba_changes_no_bit():
    pytest.importorskip("numba")
    printed = [
        subprocess.run(
            [sys.executable, "-c", WITHOUT_NUMBA.format(hide=hide)], capture_output=True, text=True, check=True
        ).stdout
        for hide in (True, False)
    ]
    assert printed[0] == printed[1]


def test_the_order_of_independent_rows_does_not_change_what_is_known_exactly():
    order = np.random.default_rng(0).permutation(len(PAIRS))
    first, second = ob.bootstrap(PAIRS, ob.correlation, rng=1), ob.bootstrap(PAIRS[order], ob.correlation, rng=1)
    assert first.estimate == pytest.approx(second.estimate, rel=1e-13)
    assert first.jackknife_variance == pytest.approx(second.jackknife_variance, rel=1e-12)
