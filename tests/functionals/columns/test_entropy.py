from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import orthoboot as ob
from orthoboot.data import read
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import DataError
from orthoboot.functionals import entropy, function_of_means
from orthoboot.plans import Cluster

LABELS = np.random.default_rng(90).choice([-2.0, 0.5, 3.0, 7.0], p=[0.1, 0.2, 0.3, 0.4], size=60)


def indicators(labels):
    return (labels[:, np.newaxis] == np.unique(labels)).astype(float)


as_function_of_means = function_of_means(indicators, lambda m: -np.sum(m * np.log(m), axis=0))


@given(st.lists(st.integers(0, 5), min_size=2, max_size=40))
def test_it_is_scipys_entropy_of_the_counts(labels):
    expected = stats.entropy(np.bincount(labels))
    assert entropy(labels) == pytest.approx(expected, abs=1e-12)
    assert -1e-15 <= entropy(labels) <= np.log(len(set(labels))) + 1e-12


def test_a_category_that_a_resample_misses_adds_nothing():
    weights = np.array([[2.0, 2.0, 0.0, 0.0], [4.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]])
    phi_b = entropy.at(read([1.0, 2.0, 3.0, 4.0])).values(Resamples((weights,)))
    np.testing.assert_allclose(phi_b[:, 0], [np.log(2), 0, np.log(4)], atol=1e-15)


def test_rare_categories_have_the_largest_influence():
    (influence,) = entropy.at(read(LABELS)).influence()
    shares = {label: np.mean(label == LABELS) for label in np.unique(LABELS)}
    by_share = sorted(shares, key=lambda label: shares[label])
    values = [influence[label == LABELS][0, 0] for label in by_share]
    assert values == sorted(values, reverse=True)
    assert values[0] > 0 > values[-1]


def test_influence_and_bias_are_those_of_the_function_of_the_indicator_means():
    groups = np.repeat(np.arange(9), [1, 2, 3, 4, 5, 6, 8, 13, 18])
    plan = Cluster(groups)
    data = read(LABELS)
    np.testing.assert_allclose(entropy.at(data).influence()[0], as_function_of_means.at(data).influence()[0], atol=1e-8)
    bias, expected = (
        functional.at(data).second_order_bias(lambda parts: plan.covariance(parts[0]))
        for functional in (entropy, as_function_of_means)
    )
    np.testing.assert_allclose(bias, expected, rtol=1e-5)


@pytest.mark.parametrize("n_categories", [2, 31, 32, 33, 100])
def test_the_bias_of_independent_rows_is_millers(n_categories, iid_covariance):
    labels = np.r_[np.arange(n_categories), np.random.default_rng(91).integers(0, n_categories, size=200)]
    bias = entropy.at(read(labels)).second_order_bias(iid_covariance)
    assert bias[0] == pytest.approx(-(n_categories - 1) / (2 * len(labels)), rel=1e-10)


def test_the_jackknife_debiases_as_miller_did():
    result = ob.bootstrap(LABELS, entropy, estimator="jackknife", n_resamples=0)
    assert result.bias == pytest.approx(-3 / 120, rel=1e-10)
    assert result.debiased == pytest.approx(entropy(LABELS) + 3 / 120, rel=1e-10)


@pytest.mark.parametrize(
    "options",
    [{}, {"strata": np.arange(60) % 3}, {"groups": np.arange(60) // 4}, {"block_length": 7}],
    ids=["rows", "strata", "groups", "blocks"],
)
@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_the_bias_is_that_of_the_indicators_under_every_plan(options):
    result = ob.bootstrap(LABELS, entropy, estimator="jackknife", **options)
    covariance = result.run.plan.covariance  # a plain function of the indicators
    expected = result.run.prepared.second_order_bias(covariance) + result.run.linear_mean
    assert result.bias == pytest.approx(expected[0], rel=1e-9)


@pytest.mark.parametrize("options", [{}, {"strata": 3}, {"groups": 4}, {"block_length": 50}], ids=str)
@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_as_many_categories_as_rows_take_no_table_of_all_pairs(options):
    n = 100_000
    labels = {name: value if name == "block_length" else np.arange(n) // value for name, value in options.items()}
    # Indicators of all categories would be 80 GB, and took an hour.
    start = time.process_time()
    result = ob.bootstrap(np.arange(n), entropy, estimator="jackknife", **labels)
    assert time.process_time() - start < 20
    assert -0.5 < result.bias < 0


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_the_difference_of_entropies_takes_no_table_either():
    x = np.arange(100_000)
    start = time.process_time()
    result = ob.bootstrap((x, x[:50_000]), ob.difference(entropy), estimator="jackknife")
    assert time.process_time() - start < 20
    assert result.bias == pytest.approx(0.5 / 100_000 - 0.5 / 50_000, rel=1e-4)


def test_one_category_has_neither_entropy_nor_influence(iid_covariance):
    data = read(np.full(5, 2.0))
    assert entropy.at(data).estimate == 0
    np.testing.assert_array_equal(entropy.at(data).influence()[0], 0)
    np.testing.assert_array_equal(entropy.at(data).second_order_bias(iid_covariance), 0)


def test_a_frame_of_one_column_is_read_as_its_column():
    assert entropy(pd.DataFrame({"species": LABELS})) == entropy(LABELS)
    assert entropy.at(read(LABELS)).output.names == ("entropy",)


def test_indicator_columns_are_refused_with_the_way_out():
    with pytest.raises(DataError, match=r"`entropy` takes one column of labels; got 4 columns.*np\.argmax"):
        entropy(indicators(LABELS))
    assert entropy(np.argmax(indicators(LABELS), axis=1)) == entropy(LABELS)


def test_several_samples_are_refused_with_the_way_out():
    with pytest.raises(DataError, match=r"`entropy` takes one sample; got 2 .*`difference\(entropy\)`"):
        entropy([1.0, 2.0], [3.0, 4.0])
