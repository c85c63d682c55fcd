"""What a result tells about units that dominate, outputs that do not vary, and errors that are not known."""

from __future__ import annotations

import itertools
import re
from itertools import count

import numpy as np
import pytest

import orthoboot as ob
from orthoboot import errors
from orthoboot.draws.random_counts import key_from, multinomial_counts

pytestmark = pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")


def first_seed(n, n_resamples, wanted):
    """Return the first seed with which the counts of all resamples, shape ``(n_resamples, n)``, are as wanted."""
    seeds = (seed for seed in count() if wanted(multinomial_counts(key_from(seed), 0, range(n_resamples), n)))
    return next(seeds)


def told(kind, *arguments, **options):
    return [str(w) for w in ob.bootstrap(*arguments, rng=0, **options).warnings if isinstance(w, kind)]


def grouped(share, seed, n_groups=30):
    """Return rows in groups of five, but one group with `share` of all rows, and their labels."""
    largest = round(share / (1 - share) * (n_groups - 1) * 5)
    labels = np.repeat(np.arange(n_groups), [largest, *[5] * (n_groups - 1)])
    generator = np.random.default_rng(seed)
    return generator.normal(size=n_groups)[labels] + generator.normal(size=len(labels)), labels


@pytest.mark.parametrize("estimator", ["jackknife", "orthogonal", "standard"])
def test_a_group_with_nearly_all_rows_is_told(estimator):
    x, labels = grouped(0.97, seed=1)
    [message] = told(errors.DominantRowWarning, x, ob.mean, groups=labels, estimator=estimator)
    assert message.startswith("the largest of 30 groups has 97% of the rows")


@pytest.mark.parametrize("seed", range(100, 105))
def test_where_unequal_groups_are_told(seed):
    """The rule was chosen on seeds 0 to 9: at a share of 0.4 the jackknife is a tenth too small, at 0.25 it is not."""
    for share, is_told in [(0.2, False), (0.55, True)]:
        x, labels = grouped(share, seed)
        jackknife, standard = (
            ob.bootstrap(x, ob.mean, groups=labels, estimator=estimator, n_resamples=2000, rng=seed).standard_error
            for estimator in ("jackknife", "standard")
        )
        # The standard error of 2000 replicates is known to 2%; the ratio is about 0.99 and 0.76.
        assert bool(jackknife / standard < 0.9) is is_told
        assert bool(told(errors.DominantRowWarning, x, ob.mean, groups=labels)) is is_told


def test_a_group_that_carries_the_variance_is_told_though_none_of_its_rows_does():
    x = np.random.default_rng(0).normal(size=300)
    x[:10] += 40
    assert told(errors.DominantRowWarning, x, ob.mean) == []
    [message] = told(errors.DominantRowWarning, x, ob.mean, groups=np.repeat(np.arange(30), 10))
    assert message.startswith("one group carries 96% of the variance")


def test_equal_groups_are_not_told():
    x = np.random.default_rng(0).normal(size=300)
    assert told(errors.DominantRowWarning, x, ob.mean, groups=np.repeat(np.arange(30), 10)) == []


# Outputs that do not vary


PAIR = np.array([[1.0, 5.0], [2.0, 3.0]])
TIES = np.repeat([0.0, 1, 2, 3, 4, 5, 6], [4, 10, 11, 8, 12, 10, 7])


@pytest.mark.parametrize("n_resamples", [None, 4])
def test_the_jackknife_tells_that_nothing_varies_whatever_replicates_are_kept(n_resamples):
    options = {} if n_resamples is None else {"n_resamples": n_resamples}
    [message] = told(errors.ConstantDataWarning, PAIR, ob.covariance, estimator="jackknife", **options)
    assert "does not vary with the weights" in message


def test_one_output_among_several_is_named():
    table = np.column_stack([np.r_[np.zeros(12), 1e3], np.arange(13.0)])
    for statistic in (ob.median, lambda x: np.median(x, 0)):
        [message] = told(errors.EqualReplicatesWarning, table, statistic, estimator="standard", n_resamples=20)
        assert re.match(r"all 20 replicates of `\w+\[0\]` are equal: the statistic is constant, or", message)
    constant = np.column_stack([np.ones(30), np.arange(30.0)])
    [message] = told(errors.ConstantDataWarning, constant, ob.mean)
    assert message.startswith("`mean[0]` does not vary")


def test_few_equal_replicates_are_told():
    result = ob.bootstrap(TIES, ob.median, n_resamples=4, rng=7)
    assert result.standard_error == 0
    assert [w for w in result.warnings if isinstance(w, errors.EqualReplicatesWarning)]


def test_linear_parts_that_differ_by_rounding_alone_do_not_make_the_standard_error_zero():
    """Both resamples hold the one outlier once: they say nothing of the slope, whatever differences leave of zero."""
    x = np.array([0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])

    def variance(x, weights):
        return np.average((x - np.average(x, weights=weights)) ** 2, weights=weights)

    strata = [1, 0, 0, 0, 0, 1, 1, 0]
    results = (ob.bootstrap(x, variance, strata=strata, n_resamples=2, rng=seed) for seed in range(100))
    result = next(r for r in results if np.ptp(r.bootstrap_distribution) == 0 < np.ptp(r.linear_distribution) < 1e-12)
    assert result.standard_error == pytest.approx(np.sqrt(result.jackknife_variance))
    assert np.ravel(result.covariance) == pytest.approx(result.variance)


def test_replicates_that_are_equal_but_not_to_the_estimate_are_told():
    seed = first_seed(2, 10, lambda counts: (counts != 1).all())
    result = ob.bootstrap(np.array([1.0, 0.015]), lambda x: x.std() / x.mean(), rng=seed)
    assert result.standard_error == 0
    [message] = [str(w) for w in result.warnings if isinstance(w, errors.EqualReplicatesWarning)]
    assert "differ from its value on the data" in message


@pytest.mark.parametrize("estimator", ["cheap", "standard"])
def test_an_unknown_simulation_error_is_told(estimator):
    x = np.random.default_rng(0).normal(size=60)
    result = ob.bootstrap(x, ob.variance, estimator=estimator, n_resamples=2, rng=0)
    assert np.isnan(result.simulation_error.standard_error)
    assert [w for w in result.warnings if isinstance(w, errors.FewReplicatesWarning)]


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_replicates_that_are_all_equal_leave_no_rounding_in_the_standard_error():
    """The squares of the linear part cancel, and the root of what rounding left of them had half of its digits.

    The quadratic control, which is the variance itself, has the exact answer whatever the replicates are.
    """
    x = np.array([-0.3953913974735568, 0.47747435811638383, -0.08208296064282727])
    seed = first_seed(3, 3, lambda counts: (counts == [[0, 1, 2], [0, 1, 2], [0, 2, 1]]).all())
    result = ob.bootstrap(x, ob.variance.replace(ddof=1), method="t", rng=seed, n_resamples=3)
    assert np.ptp(result.bootstrap_distribution) < 1e-15
    every = [np.var(x[list(rows)], ddof=1) for rows in itertools.product(range(3), repeat=3)]
    assert result.standard_error == pytest.approx(np.std(every), rel=1e-9)
    plain = ob.bootstrap(
        x, ob.variance.replace(ddof=1), method="t", rng=seed, n_resamples=3, control="linear", estimator="standard"
    )
    assert plain.standard_error < 1e-14


# Few replicates of few rows


@pytest.mark.parametrize(
    ("n_rows", "n_resamples", "is_told"), [(20, 10, True), (20, 49, True), (20, 50, False), (120, 10, False)]
)
def test_few_replicates_of_few_rows_that_bend_are_told(n_rows, n_resamples, is_told):
    """A ratio of 20 rows has a twentieth of its variance and more beyond the linear part; a hundred are enough."""
    rows = np.random.default_rng(5).exponential(size=(n_rows, 2))
    found = told(errors.FewReplicatesWarning, rows, ob.ratio, n_resamples=n_resamples)
    assert bool(found) is is_told
    if is_told:
        assert f"{n_resamples} replicates may miss part of the variance of `ratio`" in found[0]
        assert "n_resamples=200" in found[0]


@pytest.mark.parametrize(
    ("n_rows", "n_resamples", "enough"), [(30, 10, 1000), (30, 50, 1000), (30, 999, 1000), (30, 1000, None)]
)
def test_hundreds_of_replicates_of_few_rows_that_bend_much_are_told(n_rows, n_resamples, enough):
    rows = np.random.default_rng(5).lognormal(size=n_rows)
    found = told(errors.FewReplicatesWarning, rows, ob.skewness, n_resamples=n_resamples)
    assert [f"n_resamples={enough}" in message for message in found] == [True] * (enough is not None)


@pytest.mark.parametrize(("n_resamples", "is_told"), [(49, True), (50, False)])
def test_few_replicates_of_many_rows_that_bend_are_told(n_resamples, is_told):
    rows = np.random.default_rng(5).exponential(size=150)
    assert bool(told(errors.FewReplicatesWarning, rows, ob.skewness, n_resamples=n_resamples)) is is_told


@pytest.mark.parametrize("options", [{"n_resamples": None}, {"estimator": "standard", "n_resamples": 40}])
def test_free_replicates_and_plain_ones_are_not_told_to_be_few(options):
    assert (
        told(errors.FewReplicatesWarning, np.random.default_rng(5).exponential(size=(20, 2)), ob.ratio, **options) == []
    )


@pytest.mark.parametrize("statistic", [ob.variance, ob.variance.replace(ddof=1), ob.norm_of_mean(2), ob.mean])
def test_what_its_control_has_to_rounding_needs_no_more(statistic):
    """A quadratic function of means bends, but its quadratic control leaves nothing that rare resamples could carry."""
    x = np.random.default_rng(5).exponential(size=20)
    assert told(errors.FewReplicatesWarning, x, statistic, n_resamples=10) == []


@pytest.mark.parametrize("options", [{"control": "linear"}, {"estimator": "paper"}])
def test_without_its_control_a_variance_needs_more(options):
    x = np.random.default_rng(5).exponential(size=20)
    assert len(told(errors.FewReplicatesWarning, x, ob.variance, n_resamples=10, **options)) == 1


def test_a_statistic_that_hardly_bends_needs_no_more():
    x = np.random.default_rng(6).normal(10.0, 1.0, size=30)
    assert told(errors.FewReplicatesWarning, x, lambda x: np.mean(x) ** 2, n_resamples=10) == []


@pytest.mark.parametrize(
    ("size", "n_resamples", "is_told"), [(40, 10, True), (40, 49, True), (40, 50, False), (150, 10, True)]
)
def test_few_replicates_may_miss_what_is_beyond_a_kink(size, n_resamples, is_told):
    """These follow the linear part of a trimmed mean closely, and an outlier may still come in on others."""
    x = np.random.default_rng(3).normal(size=size)
    found = told(errors.FewReplicatesWarning, x, ob.trimmed_mean(0.25), n_resamples=n_resamples)
    assert bool(found) is is_told
