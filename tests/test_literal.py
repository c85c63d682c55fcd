"""The paper's estimators against the literal transcription of its algorithms, and against R's boot::control."""

from __future__ import annotations

import json
import math
import pathlib
import subprocess

import numpy as np
import pytest

import orthoboot as ob
from orthoboot.draws.resamples import Resamples
from orthoboot.estimators import ESTIMATORS, Sample, moments_of
from orthoboot.replicates import Replicates
from tests import literal

SIZES = {1: (12,), 2: (11, 14), 3: (17, 11, 13)}


def product_of_means(*samples):
    return math.prod(float(np.mean(sample)) for sample in samples)


def product_influences(samples):
    """The influence of the product of the means: (x - mean_i) times the other means."""
    means = [float(np.mean(sample)) for sample in samples]
    product = math.prod(means)
    return [lambda x, mean=mean: (x - mean) * product / mean for mean in means]


@pytest.fixture(params=[1, 2, 3], ids="{} samples".format)
def setting(request):
    rng = np.random.default_rng(request.param)
    samples = [rng.exponential(size=n) + 0.5 for n in SIZES[request.param]]
    influences = product_influences(samples)
    values = tuple(np.array([influence(x) for x in s]) for influence, s in zip(influences, samples, strict=True))
    result = ob.bootstrap(
        tuple(samples),
        product_of_means,
        influence=values if len(values) > 1 else values[0],
        estimator="paper",
        n_resamples=7,
        rng=5,
    )
    resamples = result.run.plan.resamples(result.run.key, range(7))
    indices = [resamples.indices(b) for b in range(7)]
    return samples, influences, indices, result


def test_debiased_value_is_the_literal_one(setting):
    samples, influences, indices, result = setting
    assert result.debiased == pytest.approx(literal.debiased(samples, product_of_means, influences, indices), rel=1e-12)


def test_variance_is_the_literal_one(setting):
    samples, influences, indices, result = setting
    expected = literal.improved_variance(samples, product_of_means, influences, indices)
    assert result.variance == pytest.approx(expected, rel=1e-11)


def test_interval_is_the_literal_one(setting):
    samples, influences, indices, result = setting
    z = 1.959963984540054
    expected = literal.confidence_interval(samples, product_of_means, influences, indices, z)
    np.testing.assert_allclose(result.confidence_interval, expected, rtol=1e-11)


def test_a_negative_variance_becomes_the_infinitesimal_jackknife():
    """With an influence function three times too large the three terms are negative on these replicates."""
    rng = np.random.default_rng(0)
    linear = rng.standard_normal((6, 1))
    replicates = Replicates(
        estimate=np.zeros(1),
        values=0.3 * linear,
        linear=linear,
        linear_variance=np.array([0.1]),
        numbers=np.arange(6),
    )
    sums = moments_of(replicates)
    assert 0.1 + (sums.residual + 2 * sums.cross)[0] / 6 < 0
    assert ESTIMATORS["paper"].variance(sums)[0] == 0.1
    assert ESTIMATORS["paper"].covariance(Sample(replicates, sums, np.array([[0.1]])))[0, 0] == 0.1


# R's boot::control

STORED = pathlib.Path(__file__).parent / "r" / "control.json"
SCRIPT = STORED.with_name("control.R")


def check_against_control(answer, city):
    """The paper's estimators, with (B - 1)/B on the residual terms, are boot::control's on the same replicates."""
    values = np.array(answer["values"])
    B = len(values)
    counts = np.array(answer["counts"], dtype=float).reshape(B, len(city))
    data = ob.bootstrap(city, ob.ratio, rng=0).run
    linear = data.linear(Resamples((counts,)))
    np.testing.assert_allclose(linear[:, 0], answer["linear"], atol=1e-13)
    np.testing.assert_allclose(data.prepared.values(Resamples((counts,)))[:, 0], values, rtol=1e-13)
    replicates = Replicates(
        estimate=data.estimate,
        values=values[:, None],
        linear=linear,
        linear_variance=data.linear_variance,
        numbers=np.arange(B),
    )
    sums = moments_of(replicates)
    assert ESTIMATORS["paper"].bias(sums)[0] == pytest.approx(answer["bias"][0], rel=1e-10)
    exact = data.linear_variance[0]
    ours = exact + (ESTIMATORS["paper"].variance(sums)[0] - exact) * B / (B - 1)
    assert ours == pytest.approx(answer["variance"][0], rel=1e-10)


def test_paper_is_boot_control_on_stored_replicates(city):
    check_against_control(json.loads(STORED.read_text()), city)


def test_paper_is_boot_control_live(city, rscript, data_folder):
    printed = subprocess.run(
        [rscript, str(SCRIPT), str(data_folder / "city.csv")], capture_output=True, text=True, check=True
    ).stdout
    check_against_control(json.loads(printed), city)
