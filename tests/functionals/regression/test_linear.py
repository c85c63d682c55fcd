from __future__ import annotations

import hashlib
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

import orthoboot as ob
from orthoboot.data import read
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import (
    ArgumentError,
    ConstantDataWarning,
    DataError,
    FailedReplicatesWarning,
    FitError,
    FitWarning,
    SmallSampleWarning,
)
from orthoboot.functionals import linear_regression
from orthoboot.functionals.regression import linear
from orthoboot.plans import Cluster, Iid, Plan
from orthoboot.solvers.cross_products import CrossProducts
from orthoboot.solvers.refined_least_squares import RefinedLeastSquares

RNG = np.random.default_rng(80)
N = 80
X = RNG.exponential(size=(N, 3))
Y = X @ [1.0, -2.0, 0.5] + X[:, 0] * RNG.normal(size=N)
CASE_WEIGHTS = RNG.uniform(0.2, 5.0, size=N)
WITH_INTERCEPT = linear_regression.replace(intercept=True)


def jackknife_covariance(functional, *arrays):
    influence = functional.at(read(arrays, paired=True)).influence()[0]
    return influence.T @ influence / len(influence) ** 2


def polynomial(degree, n=40):
    """Powers of 1..2: columns whose condition grows by more than ten with each."""
    t = np.linspace(1, 2, n)
    return np.column_stack([t**power for power in range(degree + 1)]), np.sin(5 * t) + np.cos(900 * t)


# Values of others


def test_the_infinitesimal_jackknife_is_the_hc0_covariance_of_statsmodels():
    expected = sm.OLS(Y, sm.add_constant(X)).fit(cov_type="HC0").cov_params()
    np.testing.assert_allclose(jackknife_covariance(WITH_INTERCEPT, X, Y), expected, rtol=1e-8)


def test_with_case_weights_it_is_that_of_weighted_least_squares():
    fit = sm.WLS(Y, X, weights=CASE_WEIGHTS).fit(cov_type="HC0")
    np.testing.assert_allclose(linear_regression(X, Y, CASE_WEIGHTS), fit.params, rtol=1e-12)
    np.testing.assert_allclose(jackknife_covariance(linear_regression, X, Y, CASE_WEIGHTS), fit.cov_params(), rtol=1e-8)


def test_the_nuclear_plants_have_the_coefficients_of_the_literature(load):
    cost, date, _, _, cap, _, ne, ct, _, cum_n, pt = load("nuclear").T
    columns = np.column_stack([date, np.log(cap), ne, ct, np.log(cum_n), pt])
    # R 4.2.2: lm(log(cost) ~ date + log(cap) + ne + ct + log(cum.n) + pt, data = boot::nuclear)
    expected = [-13.26031434, 0.21241460, 0.72340795, 0.24902491, 0.14039305, -0.08757642, -0.22610341]
    np.testing.assert_allclose(WITH_INTERCEPT(columns, np.log(cost)), expected, rtol=0, atol=0.6e-8)


def test_few_replicates_give_the_standard_error_of_two_thousand():
    rng = np.random.default_rng(85)
    columns = rng.normal(size=(400, 3))
    data = (columns, columns @ [1.0, -2.0, 0.5] + (1 + columns[:, 0] ** 2) * rng.normal(size=400))
    orthogonal = ob.bootstrap(data, WITH_INTERCEPT, paired=True, n_resamples=25, rng=1)
    standard = ob.bootstrap(data, WITH_INTERCEPT, paired=True, n_resamples=2000, estimator="standard", rng=2)
    assert np.all(orthogonal.r_squared > 0.9)
    # Both errors are standard deviations; five of them are exceeded once in a million runs for each coefficient.
    error = np.hypot(orthogonal.simulation_error.standard_error, standard.simulation_error.standard_error)
    assert np.all(np.abs(orthogonal.standard_error - standard.standard_error) < 5 * error)


# Accuracy


@pytest.mark.parametrize("weights", [np.ones(40), np.arange(40.0) % 3], ids=["data", "resample"])
def test_the_error_grows_with_the_condition_of_the_columns_and_not_with_its_square(weights):
    columns, y = polynomial(6)
    assert np.linalg.cond(columns / np.linalg.norm(columns, axis=0)) > 1e6
    roots = np.sqrt(weights)
    expected = np.linalg.lstsq(roots[:, np.newaxis] * columns, roots * y, rcond=None)[0]
    # A relative error of 1e6 times the rounding of some hundred operations; with the square it would be 1e-4.
    np.testing.assert_allclose(linear_regression(columns, y, weights=weights), expected, rtol=1e-8)


def test_a_resample_that_is_nearly_singular_keeps_its_digits():
    """Without its first rows the second column differs from the first by one part in 1e7 only."""
    rng = np.random.default_rng(81)
    first = rng.normal(size=N)
    second = first + np.where(np.arange(N) < 4, 1.0, 1e-7 * rng.normal(size=N))
    y, weights = rng.normal(size=N), np.where(np.arange(N) < 4, 0.0, 1.0)
    # In a basis that is nearly orthogonal.
    difference = second - first
    along = np.linalg.lstsq(np.column_stack([first, difference * 1e7])[4:], y[4:], rcond=None)[0]
    expected = [along[0] - along[1] * 1e7, along[1] * 1e7]
    # The difference of the columns itself is known to 1e-16 / 1e-7.
    np.testing.assert_allclose(
        linear_regression(np.column_stack([first, second]), y, weights=weights), expected, rtol=1e-7
    )


@pytest.mark.parametrize("scale", [1e-150, 1e-8, 1e8, 1e150])
def test_units_change_nothing_but_the_units(scale):
    scaled = X * [scale, 1.0, 1.0]
    np.testing.assert_allclose(linear_regression(scaled, Y) * [scale, 1.0, 1.0], linear_regression(X, Y), rtol=1e-12)
    influence = [linear_regression.at(read(arrays, paired=True)).influence()[0] for arrays in ((scaled, Y), (X, Y))]
    np.testing.assert_allclose(influence[0] * [scale, 1.0, 1.0], influence[1], rtol=1e-9, atol=1e-12)


def test_an_exact_fit_does_not_vary():
    with pytest.warns(ConstantDataWarning):
        result = ob.bootstrap((X, X @ [1.0, 2.0, 3.0]), linear_regression, paired=True, rng=0)
    np.testing.assert_allclose(result.estimate, [1.0, 2.0, 3.0], rtol=1e-14)
    np.testing.assert_array_equal(result.standard_error, np.zeros(3))


# The second-order bias


@pytest.mark.parametrize("scheme", [Iid(N), Cluster(np.repeat(np.arange(20), np.tile([1, 2, 5, 8], 5)))], ids=type)
def test_the_second_order_bias_is_that_of_the_simulation(scheme):
    """The mean of many second-order terms, which are known for each resample; also where groups are drawn whole."""
    data = read((X, Y), paired=True)
    counts = np.array([np.bincount(scheme.indices((1, 2), 0, b), minlength=N) for b in range(4000)]).astype(float)
    fit = linear_regression.at(data).fit
    q, changes = fit.factor.orthonormal, counts - 1
    terms = -np.einsum("bj,jp,jl,bi,il,i->bp", changes, q, q, changes, q, fit.residuals, optimize=True)
    terms = terms @ fit.factor.back_rotation().T
    bias = linear_regression.at(data).second_order_bias(lambda parts: scheme.covariance(parts[0]))
    # Six standard errors: exceeded once in a hundred million runs for each coefficient. Zero would be found out.
    assert np.all(np.abs(bias - terms.mean(axis=0)) < 6 * terms.std(axis=0) / np.sqrt(len(terms)))
    assert np.any(np.abs(bias) > 6 * terms.std(axis=0) / np.sqrt(len(terms)))


def test_the_second_order_bias_counts_the_total_of_the_weights():
    """Resamples in pairs ``1 + h`` and ``1 - h`` of any totals: first-order terms cancel, and the mean is exact."""
    data = read((X, Y, CASE_WEIGHTS), paired=True)
    changes = np.random.default_rng(86).normal(0.5, 1.0, size=(40, N))
    fit = linear_regression.at(data).fit
    q = fit.factor.orthonormal
    terms = -np.einsum("bj,jp,jl,bi,il,i->bp", changes, q, q, changes, q, fit.residuals, optimize=True)

    def covariance(parts):
        sums = changes @ parts[0] / N
        return sums.T @ sums / len(changes)

    expected = fit.factor.back_rotation() @ terms.mean(axis=0)
    np.testing.assert_allclose(linear_regression.at(data).second_order_bias(covariance), expected, rtol=1e-10)


def test_a_bias_that_would_cost_too_much_is_left_out(monkeypatch):
    monkeypatch.setattr("orthoboot.functionals.regression.linear.LARGEST_TRACE", 10)
    assert linear_regression.at(read((X, Y), paired=True)).second_order_bias(lambda parts: None) is None


# Names and shapes


def test_names_follow_from_the_columns():
    frame = pd.DataFrame(X, columns=["age", "dose", "weight"])
    result = ob.bootstrap((frame, pd.Series(Y)), WITH_INTERCEPT, paired=True, rng=0)
    assert result.names == ("intercept", "age", "dose", "weight")
    unnamed = WITH_INTERCEPT.at(read((X[:, :1], Y), paired=True)).output
    assert unnamed.names == ("intercept", "linear_regression[0]")


def test_one_dimensional_x_is_one_column():
    np.testing.assert_array_equal(linear_regression(X[:, 0], Y), linear_regression(X[:, :1], Y))
    np.testing.assert_allclose(linear_regression(X[:, 0], Y[:, np.newaxis]), [X[:, 0] @ Y / (X[:, 0] @ X[:, 0])])


def test_equal_case_weights_change_nothing():
    np.testing.assert_allclose(linear_regression(X, Y, np.full(N, 7.0)), linear_regression(X, Y), rtol=1e-13)


# What cannot be fitted


def test_dependent_columns_are_named():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    with pytest.raises(DataError, match="column 'd' is a combination of columns 'a', 'c'. Drop"):
        linear_regression(frame.assign(d=frame.a - 3 * frame.c), Y)
    with pytest.raises(DataError, match="column 'd' is zero in every row. Drop"):
        linear_regression(frame.assign(d=0.0), Y)
    with pytest.raises(DataError, match="column 3 is a combination of column 0; column 4 is .* of column 1. Drop"):
        linear_regression(np.column_stack([X, X[:, 0], X[:, 1]]), Y)


@pytest.mark.parametrize("n", [20, 50, 79, 80])
@pytest.mark.parametrize("constant", [1e-7, 0.7, 3.0, 1e9])
def test_of_two_columns_that_say_the_same_the_later_one_is_named(constant, n):
    """Whichever of the two rounding makes the longer one."""
    frame = pd.DataFrame(X[:n], columns=["a", "b", "c"]).assign(d=constant)
    with pytest.raises(DataError, match="column 'd' is a combination of column 'intercept'. Drop"):
        WITH_INTERCEPT(frame, Y[:n])


def test_many_dependent_columns_are_not_all_listed():
    with pytest.raises(DataError, match="and 4 more. Drop"):
        linear_regression(np.column_stack([X, *[X[:, 0]] * 9]), Y)
    wide = RNG.normal(size=(N, 9))
    with pytest.raises(DataError, match="column 9 is a combination of columns 0, 1, 2, 3, 4 and 4 more. Drop"):
        linear_regression(np.column_stack([wide, wide.sum(axis=1)]), Y)


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ((X,), r"takes `\(X, y\)` or `\(X, y, case_weights\)`; got 1 array"),
        ((X, Y, Y, Y), "got 4 array"),
        ((X, X), r"takes the response as one number per row; got shape \(80, 3\)"),
        ((X, Y, X), r"takes the case weights as one number per row; got shape \(80, 3\)"),
        ((X[:, :, np.newaxis], Y), r"takes X with rows and columns; got shape \(80, 3, 1\)"),
        ((X, Y, Y), r"takes positive case weights; got \d+ that are not, the first in row"),
        ((X[:2], Y[:2]), "at least as many rows as coefficients; got 2 rows and 3 columns. Select"),
    ],
)
def test_other_data_are_refused(samples, message):
    with pytest.raises(DataError, match=message):
        linear_regression(*samples)


def test_columns_that_are_nearly_dependent_are_reported():
    columns, y = polynomial(9, n=800)
    with pytest.warns(FitWarning, match=r"nearly dependent \(condition .e\+(09|10)\).* about [56] digits"):
        result = ob.bootstrap((columns, y), linear_regression, paired=True, rng=0)
    assert [warning for warning in result.warnings if isinstance(warning, FitWarning)]
    assert linear_regression.at(read(polynomial(4), paired=True)).findings() == ()


@pytest.mark.parametrize("n_rare", [1, 2, 3])
@pytest.mark.parametrize("centred", [False, True])
def test_a_category_of_few_rows_is_reported(n_rare, centred):
    rare = (np.arange(N) < n_rare).astype(float)
    frame = pd.DataFrame({"age": X[:, 0], "rare": rare - centred * rare.mean()})
    (finding,) = WITH_INTERCEPT.at(read((frame, Y), paired=True)).findings()
    assert isinstance(finding, SmallSampleWarning)
    assert str(finding).startswith(f"the coefficient of `rare` depends on about {n_rare} row(s)")


def test_the_report_comes_with_strata_too():
    rare = np.arange(N) < 2
    frame = pd.DataFrame({"a": X[:, 0], "rare": rare})
    with pytest.warns(SmallSampleWarning) as caught:
        ob.bootstrap((frame, Y), WITH_INTERCEPT, paired=True, strata=rare, rng=0)
    assert [str(one.message)[:20] for one in caught] == ["the coefficient of `", "a stratum has only 2"]


def test_a_row_far_from_the_others_is_reported():
    with_outlier = np.append(X[:, 0], 1e3)
    (finding,) = WITH_INTERCEPT.at(read((with_outlier, np.append(Y, 0.0)), paired=True)).findings()
    assert "depends on about 1 row(s)" in str(finding)


def test_categories_beside_a_rare_first_one_are_reported():
    kinds = np.repeat([0, 1, 2], [2, 100, 98])
    dummies = (kinds[:, np.newaxis] == [1, 2]).astype(float)
    (finding,) = WITH_INTERCEPT.at(read((dummies, np.arange(200.0)), paired=True)).findings()
    assert "`intercept`, `linear_regression[0]`, `linear_regression[1]` depends on about 2 row(s)" in str(finding)


@pytest.mark.parametrize("n", [20, 50, 200])
@pytest.mark.parametrize("distribution", ["standard_normal", "standard_exponential", "random"])
def test_ordinary_columns_are_not_said_to_rest_on_few_rows(distribution, n):
    rng = np.random.default_rng(n)
    found = [
        WITH_INTERCEPT.at(read((getattr(rng, distribution)((n, 2)), rng.normal(size=n)), paired=True)).findings()
        for _ in range(100)
    ]
    # Of pairs of exponential columns fewer than one in a hundred do: more than six have odds of 1 in 10,000.
    assert sum(map(bool, found)) <= 6


def test_constant_columns_and_common_categories_rest_on_enough_rows():
    common = np.arange(N) < 10
    assert WITH_INTERCEPT.at(read((np.column_stack([X[:, 0], common]), Y), paired=True)).findings() == ()
    assert linear_regression.at(read((np.column_stack([np.ones(N), common]), Y), paired=True)).findings() == ()


def test_the_intercept_counts_among_the_columns():
    with pytest.raises(DataError, match="got 3 rows and 4 columns, that of the intercept among them"):
        WITH_INTERCEPT(X[:3], Y[:3])


def test_independent_samples_are_refused():
    with pytest.raises(DataError, match="`paired=True`"):
        ob.bootstrap((X, Y), linear_regression)


def test_the_intercept_is_yes_or_no():
    with pytest.raises(ArgumentError, match="`intercept` must be True or False; got 1"):
        linear_regression.replace(intercept=1)


def test_a_resample_that_loses_a_category_is_a_failed_replicate():
    rare = (np.arange(N) < 2).astype(float)
    weights = np.where(rare == 1, 0.0, 1.0)
    with pytest.raises(FitError, match="column 3 is zero in every row in the rows drawn"):
        linear_regression(np.column_stack([X, rare]), Y, weights=weights)
    with pytest.warns(SmallSampleWarning), pytest.warns(FailedReplicatesWarning, match="not unique"):
        result = ob.bootstrap((np.column_stack([X, rare]), Y), WITH_INTERCEPT, paired=True, n_resamples=60, rng=0)
    # A row is missing from both draws with probability e^-2: 60 replicates fail 8.1 times, with deviation 2.7.
    assert 1 <= result.n_failed <= 20


def test_a_resample_of_few_rows_fails_too():
    with pytest.raises(FitError, match="not unique"):
        linear_regression(X, Y, weights=np.where(np.arange(N) < 2, 40.0, 0.0))


# The guide


def test_the_example_of_the_guide_runs(capsys):
    guide = (pathlib.Path(__file__).parents[3] / "docs" / "guide.md").read_text()
    section = guide.partition("## Regression\n")[2].partition("\n## ")[0]
    (program,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    exec(program, {})
    printed = capsys.readouterr().out
    assert all(name in printed for name in ("intercept", "age", "dose"))


# Threads of the linear algebra library


_PROGRAM = """
import sys
import numpy as np
from orthoboot.data import read
from orthoboot.functionals import linear_regression, logistic_regression
from orthoboot.draws.resamples import Resamples

rng = np.random.default_rng(0)
X = rng.normal(size=(5000, 50))
y = (X[:, 0] + rng.normal(size=5000) > 0).astype(float)
data = read((X, y), paired=True)
resamples = Resamples((rng.poisson(1.0, size=(2, 5000)).astype(float),))
for functional in (linear_regression, logistic_regression):
    prepared = functional.replace(intercept=True).prepared(data)
    sys.stdout.buffer.write(prepared.values(resamples).tobytes() + prepared.influence()[0].tobytes())
"""


def test_the_bits_do_not_depend_on_the_number_of_threads():
    digests = set()
    for threads in ("1", "2", "4"):
        variables = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), threads)
        run = subprocess.run(
            [sys.executable, "-c", _PROGRAM], env={**os.environ, **variables}, capture_output=True, check=True
        )
        assert len(run.stdout) == 2 * 8 * 51 * (2 + 5000)
        digests.add(hashlib.sha256(run.stdout).hexdigest())
    assert len(digests) == 1


def test_one_batch_has_the_same_bits_as_another():
    data = read((X, Y), paired=True)
    weights = np.random.default_rng(84).poisson(1.0, size=(12, N)).astype(float)
    together = WITH_INTERCEPT.at(data).values(Resamples((weights,)))
    np.testing.assert_array_equal(WITH_INTERCEPT.at(data).values(Resamples((weights[5:],))), together[5:])


def wide_data(n=300, d=50):
    rng = np.random.default_rng(86)
    columns = rng.normal(size=(n, d))
    return read((columns, columns[:, 0] + rng.normal(size=n)), paired=True)


@pytest.mark.parametrize("scheme", [Iid(300), Cluster(np.arange(300) // 7 % 40)])
def test_values_and_linear_parts_of_a_resample_do_not_depend_on_the_others(scheme):
    prepared, plan = linear_regression.prepared(wide_data()), Plan((scheme,))
    together = plan.resamples((1, 2), range(9))
    for number in (0, 4, 8):
        alone = plan.resamples((1, 2), [number])
        np.testing.assert_array_equal(prepared.values(alone)[0], prepared.evaluate(together).values[number])
        np.testing.assert_array_equal(prepared.linear(alone)[0], prepared.linear(together)[number])


@pytest.mark.parametrize("scheme", [Iid(300), Cluster(np.arange(300) // 7 % 40)])
def test_the_linear_part_is_that_of_the_influence_values_for_resamples_of_any_size(scheme):
    prepared, resamples = linear_regression.prepared(wide_data()), Plan((scheme,)).resamples((1, 2), range(5))
    influence = prepared.influence()[0]
    expected = resamples.weights[0] @ influence / 300
    # The rounding of sums of 300 numbers.
    np.testing.assert_allclose(prepared.linear(resamples), expected, rtol=0, atol=1e-14 * np.abs(influence).max())


def test_the_rows_of_a_resample_are_multiplied_once_for_its_value_and_its_linear_part(monkeypatch):
    called = []
    products = CrossProducts.__call__
    monkeypatch.setattr(CrossProducts, "__call__", lambda self, w: called.append(None) or products(self, w))
    prepared, resamples = linear_regression.prepared(wide_data()), Plan((Iid(300),)).resamples((1, 2), range(7))
    assert prepared.evaluate(resamples).values.shape == prepared.linear(resamples).shape == (7, 50)
    assert len(called) == 7


def test_a_refit_that_fails_costs_the_others_nothing():
    data = read((np.column_stack([X, np.arange(N) < 2]), Y), paired=True)
    weights = np.random.default_rng(87).poisson(1.0, size=(3, N)).astype(float)
    weights[:, :2] = [[1.0, 0.0], [0.0, 0.0], [0.0, 2.0]]
    prepared = WITH_INTERCEPT.prepared(data)
    evaluation = prepared.evaluate(Resamples((weights,)))
    assert evaluation.succeeded.tolist() == [True, False, True]
    assert "column 3 is zero in every row in the rows drawn" in evaluation.first_failure.reason
    np.testing.assert_array_equal(evaluation.values[[0, 2]], prepared.values(Resamples((weights[[0, 2]],))))
    with pytest.raises(FitError, match="column 3 is zero"):
        prepared.values(Resamples((weights,)))


@pytest.mark.parametrize("estimator", ["orthogonal", "standard"])
def test_an_exact_fit_is_constant_data_and_ignores_no_weights(estimator):
    """The intercept is zero but for rounding, which differs between weights and rows."""
    with pytest.warns(ConstantDataWarning, match="does not vary between resamples"):
        result = ob.bootstrap(
            (X, X @ [1.0, -2.0, 0.5]), WITH_INTERCEPT, paired=True, estimator=estimator, n_resamples=10, rng=0
        )
    assert not result.standard_error.any()


@pytest.mark.parametrize("constant", [3.0, 0.1, -1e6])
@pytest.mark.parametrize("estimator", ["orthogonal", "standard"])
def test_a_constant_response_is_constant_data_and_ignores_no_weights(constant, estimator):
    with pytest.warns(ConstantDataWarning, match="does not vary between resamples"):
        result = ob.bootstrap(
            (X, np.full(N, constant)), WITH_INTERCEPT, paired=True, estimator=estimator, n_resamples=10, rng=0
        )
    assert not result.standard_error.any()


def test_refits_in_threads_have_the_bits_of_those_one_after_the_other(monkeypatch):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(700, 70))
    y = X.sum(axis=1) + rng.normal(size=len(X))
    assert not RefinedLeastSquares.suits(*X.shape)
    assert X.shape[0] * X.shape[1] ** 2 >= linear._WORTH_A_THREAD
    options = {"paired": True, "n_resamples": 40, "estimator": "standard", "method": "normal", "rng": 0}
    together = ob.bootstrap((X, y), ob.linear_regression, **options)
    monkeypatch.setattr(linear, "run_tasks", linear.run_here)
    alone = ob.bootstrap((X, y), ob.linear_regression, **options)
    assert np.array_equal(together.bootstrap_distribution, alone.bootstrap_distribution)
