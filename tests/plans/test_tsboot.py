"""Blocks of dependent rows against R's tsboot, from `tests/r/tsboot.R`."""

from __future__ import annotations

import json
import pathlib

import numpy as np
import pytest

import orthoboot as ob

STORED = json.loads((pathlib.Path(__file__).parents[1] / "r" / "tsboot.json").read_text())
N_STORED = 100_000
"""Replicates of R."""

# Blocks of 20 rows, as in R's own example, are six to a sample.
pytestmark = pytest.mark.filterwarnings("ignore::orthoboot.errors.SmallSampleWarning")


@pytest.fixture(params=[("circular", "fixed"), ("stationary", "geom")], ids=lambda kinds: kinds[0])
def kinds(request):
    """Our name of a kind of blocks, and what R says of it."""
    return request.param[0], STORED[request.param[1]]


def logarithms(load) -> np.ndarray:
    return np.log(load("lynx")[:, 1])


def test_the_exact_error_of_a_mean_is_the_spread_of_r(kinds, load):
    kind, theirs = kinds
    result = ob.bootstrap(logarithms(load), ob.mean, block_length=20, block_kind=kind, n_resamples=10, rng=0)
    assert result.estimate == pytest.approx(theirs["estimate"][0], rel=1e-12)
    # Theirs has a relative error of 1/sqrt(2 R) = 0.0022: four of them, which fails once in 16,000 seeds of R.
    assert result.standard_error == pytest.approx(theirs["sd"][0], rel=4 / np.sqrt(2 * N_STORED))
    assert abs(theirs["mean"][0] - theirs["estimate"][0]) < 4 * theirs["sd"][0] / np.sqrt(N_STORED)


def test_the_variance_has_the_bias_and_the_spread_of_r(kinds, load):
    kind, theirs = kinds
    result = ob.bootstrap(
        logarithms(load), ob.variance, block_length=20, block_kind=kind, n_resamples=2000, method="normal", rng=0
    )
    assert result.estimate == pytest.approx(theirs["estimate"][1], rel=1e-12)
    # Four errors of both together: one in 16,000 pairs of seeds.
    spread_error = np.hypot(result.simulation_error.standard_error, theirs["sd"][1] / np.sqrt(2 * N_STORED))
    assert result.standard_error == pytest.approx(theirs["sd"][1], abs=4 * spread_error)
    bias_error = np.hypot(result.simulation_error.bias, theirs["sd"][1] / np.sqrt(N_STORED))
    assert result.bias == pytest.approx(theirs["mean"][1] - theirs["estimate"][1], abs=4 * bias_error)
