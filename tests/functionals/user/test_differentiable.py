"""Functions that a user writes in jax or torch: the catalogue's answers, the same bits, and helpful refusals."""

from __future__ import annotations

import pathlib
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.jax_statistics import IN_JAX

import orthoboot as ob
from orthoboot.autodiff import autodiff
from orthoboot.data import read
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import (
    ArgumentError,
    ConstantDataWarning,
    FallbackWarning,
    InfluenceError,
    InfluenceMismatchWarning,
    MissingDependencyError,
    SmallSampleWarning,
    StatisticError,
)
from orthoboot.functionals import compose, function_of_means
from orthoboot.functionals.user.callables import WeightedCallable, as_functional
from orthoboot.functionals.user.differentiable import DifferentiableCallable, differentiable

RNG = np.random.default_rng(21)
X = RNG.exponential(size=200)
Y = RNG.gamma(2.0, size=150)
PAIRS = RNG.gamma(3.0, size=(200, 2)) @ [[1.0, 0.5], [0.0, 1.0]]


@pytest.fixture
def xp(library: str) -> Any:
    """The functions of the package under test, under the names that both packages share."""
    return pytest.importorskip("jax.numpy" if library == "jax" else "torch")


@pytest.fixture
def gini(library: str, xp: Any) -> Any:
    """A Gini coefficient as a user writes it."""

    def in_five_lines(x, weights):
        order = xp.argsort(x)
        x, shares = x[order], weights[order] / weights.sum()
        below = xp.cumsum(shares, 0)[:-1]
        return xp.sum(below * (1 - below) * xp.diff(x)) / xp.sum(shares * x)

    return in_five_lines


@pytest.fixture
def average() -> Any:
    """No names of any package: it runs on the arrays of all."""
    return lambda x, weights: (weights * x).sum() / weights.sum()


# The answers


@pytest.mark.parametrize("scale", [1.0, 1e-8, 1e8])
def test_a_gini_coefficient_in_five_lines_gives_the_catalogues_answer(library, gini, scale):
    # The paper's estimator: ours trusts a derivative of the user's function less than the catalogue's.
    written = ob.bootstrap(scale * X, gini, influence=library, rng=0, estimator="paper")
    catalogue = ob.bootstrap(scale * X, ob.gini, rng=0, estimator="paper")
    assert written.influence_source == f"{library}, automatic differentiation (as asked)"
    assert written.estimate == pytest.approx(catalogue.estimate, rel=1e-12)
    assert np.abs(written.influence - catalogue.influence).max() < 1e-8 * np.abs(catalogue.influence).max()
    np.testing.assert_allclose(written.bootstrap_distribution, catalogue.bootstrap_distribution, rtol=1e-12)
    assert written.standard_error == pytest.approx(catalogue.standard_error, rel=1e-8)
    assert written.confidence_interval == pytest.approx(catalogue.confidence_interval, rel=1e-8)


def test_a_function_written_in_the_package_is_taken_as_one(library, gini):
    result = ob.bootstrap(X, gini, rng=0)
    assert (
        result.influence_source
        == f"{library}, automatic differentiation (automatic for a function written in {library})"
    )
    assert result.standard_error == ob.bootstrap(X, gini, influence=library, rng=0).standard_error


def test_a_function_that_only_returns_jax_arrays_is_taken_as_one(jax):
    # Its own code names a dict of this module, and not JAX.
    result = ob.bootstrap(X, lambda x, weights: IN_JAX["gini"](x, weights), rng=0)
    assert result.influence_source.startswith("jax, automatic differentiation (automatic")
    assert result.estimate == pytest.approx(ob.gini(X), rel=1e-12)


def test_ten_thousand_rows_are_no_limit(library, average):
    x = RNG.exponential(size=20_000)
    result = ob.bootstrap(x, average, influence=library, rng=0)
    assert result.n_resamples == 10
    np.testing.assert_allclose(result.influence, x - x.mean(), rtol=0, atol=1e-12)


def test_several_samples_have_their_weights_in_a_tuple(library):
    def difference(x, y, weights):
        u, v = weights
        return (u * x).sum() / u.sum() - (v * y).sum() / v.sum()

    written = ob.bootstrap((X, Y), difference, influence=library, rng=0)
    catalogue = ob.bootstrap((X, Y), ob.difference(ob.mean), rng=0)
    for part, closed in zip(written.influence, catalogue.influence, strict=True):
        np.testing.assert_allclose(part, closed, rtol=0, atol=1e-12)
    assert written.standard_error == pytest.approx(catalogue.standard_error, rel=1e-10)


def test_vectors_lists_and_dicts_keep_their_shape(library):
    def moments(x, weights):
        return {"mean": weights @ x / weights.sum(), "powers": [(weights @ x**p) / weights.sum() for p in (2, 3)]}

    result = ob.bootstrap(X, moments, influence=library, rng=0)
    assert result.estimate["mean"] == pytest.approx(X.mean())
    np.testing.assert_allclose(result.estimate["powers"], [np.mean(X**2), np.mean(X**3)])
    np.testing.assert_allclose(result.influence[:, 2], X**3 - np.mean(X**3), atol=1e-9)


def test_a_data_frame_comes_as_one_array(library):
    frame = pd.DataFrame(PAIRS, columns=["revenue", "visits"])
    options = {"estimator": "paper", "rng": 0}
    result = ob.bootstrap(frame, lambda d, weights: (weights @ d)[0] / (weights @ d)[1], influence=library, **options)
    assert result.standard_error == pytest.approx(ob.bootstrap(PAIRS, ob.ratio, **options).standard_error, rel=1e-9)


def test_a_function_of_the_columns_of_a_frame_stays_what_it_was(jax):
    frame = pd.DataFrame(PAIRS, columns=["revenue", "visits"])
    numpy = jax.numpy
    result = ob.bootstrap(frame, lambda f, weights: numpy.sum(weights * f["revenue"].to_numpy()), rng=0)
    assert result.influence_source.startswith("finite-difference")


def test_paired_samples_share_their_weights(jax):
    x, y = PAIRS.T
    result = ob.bootstrap((x, y), IN_JAX["correlation"], paired=True, influence="jax", rng=0)
    catalogue = ob.bootstrap((x, y), ob.correlation, paired=True, rng=0)
    np.testing.assert_allclose(result.influence, catalogue.influence, atol=1e-11)


# Replicates


def statistics(library: str) -> dict[str, Any]:
    def spread(d, weights):
        shares = weights / weights.sum()
        deviations = d - shares @ d
        return (deviations * shares[:, None]).T @ deviations

    def fit(d, weights):
        solve = pytest.importorskip(library if library == "torch" else "jax.numpy").linalg.solve
        return solve((d * weights[:, None]).T @ d, (d * weights[:, None]).T @ (d[:, 0] + 1))

    return {
        "mean": lambda d, weights: (weights @ d) / weights.sum(),
        "covariance": spread,
        "regression": fit,
        "bent": lambda d, weights: (weights @ d) if (weights @ d)[0] > 0 else -(weights @ d),
    }


@pytest.mark.parametrize("name", ["mean", "covariance", "regression", "bent"])
@pytest.mark.parametrize("n", [2, 23, 200])
def test_a_replicate_does_not_depend_on_the_batch_to_the_last_bit(library, name, n):
    data = read(PAIRS[:n])
    functional = differentiable(statistics(library)[name], data, library)
    weights = 0.25 + np.random.default_rng(1).multinomial(n, np.full(n, 1 / n), size=19)
    together = functional.at(data).values(Resamples((weights,)))
    for batch in (1, 2, 3):
        pieces = [functional.at(data).values(Resamples((weights[i : i + batch],))) for i in range(0, 19, batch)]
        np.testing.assert_array_equal(np.concatenate(pieces), together)


@pytest.mark.parametrize("batch", [1, 2, 3])
def test_the_answer_does_not_depend_on_the_batch(library, gini, batch):
    one, other = (ob.bootstrap(X, gini, influence=library, rng=0, batch=size) for size in (None, batch))
    np.testing.assert_array_equal(one.bootstrap_distribution, other.bootstrap_distribution)
    assert one.standard_error == other.standard_error


def test_a_second_call_does_not_compile_again(jax, average):
    compiled = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, *_, **__: compiled.append(event) if "backend_compile" in event else None
    )
    ob.bootstrap(X, lambda x, weights: average(x, weights) ** 2, influence="jax", rng=0)
    assert compiled
    compiled.clear()
    ob.bootstrap(X, lambda x, weights: average(x, weights) ** 2, influence="jax", rng=1, n_resamples=35)
    assert not compiled


def test_a_function_whose_surroundings_change_is_not_mistaken(library):
    power = 2
    statistic = lambda x, weights: (weights * x**power).sum() / weights.sum()  # noqa: E731
    first = ob.bootstrap(X, statistic, influence=library, rng=0)
    power = 3
    second = ob.bootstrap(X, statistic, influence=library, rng=0)
    np.testing.assert_allclose(first.influence, X**2 - np.mean(X**2), atol=1e-10)
    np.testing.assert_allclose(second.influence, X**3 - np.mean(X**3), atol=1e-9)
    np.testing.assert_allclose(second.bootstrap_distribution.mean(), np.mean(X**3), rtol=0.5)


def test_weights_may_be_divided_in_place(torch):
    def average(x, weights):
        weights /= weights.sum()
        return torch.sum(weights * x)

    result = ob.bootstrap(X, average, influence="torch", rng=0)
    assert result.r_squared == pytest.approx(1.0)
    np.testing.assert_allclose(result.influence, X - X.mean(), atol=1e-12)


def test_constant_data_have_no_influence(library, average):
    with pytest.warns(ConstantDataWarning):
        result = ob.bootstrap(np.full(30, 0.1), average, influence=library, rng=0)
    assert not np.any(result.influence)


def test_two_rows_are_enough(library, average):
    with pytest.warns(SmallSampleWarning):
        result = ob.bootstrap([1.0, 2.0], average, influence=library, rng=0)
    np.testing.assert_array_equal(result.influence, [-0.5, 0.5])


# What is refused, and what is said


def test_a_sum_that_grows_with_the_weights_is_told(library):
    with pytest.warns(InfluenceMismatchWarning, match=r"twice the weights gave .*Divide by `weights.sum\(\)`"):
        result = ob.bootstrap(X, lambda x, weights: (weights * x).sum(), influence=library, rng=0)
    np.testing.assert_allclose(result.influence, len(X) * (X - X.mean()), atol=1e-9)


def test_a_sum_of_one_sample_over_another_is_told(library):
    with pytest.warns(InfluenceMismatchWarning, match="all weights of a sample"):
        ob.bootstrap(
            (X, Y), lambda x, y, weights: (weights[0] * x).sum() / (weights[1] * y).sum(), influence=library, rng=0
        )


def test_a_divisor_of_weights_less_one_is_no_offence(library):
    def variance(x, weights):
        return (weights * (x - (weights * x).sum() / weights.sum()) ** 2).sum() / (weights.sum() - 1)

    result = ob.bootstrap(X, variance, influence=library, rng=0)
    assert result.estimate == pytest.approx(np.var(X, ddof=1))


def test_a_function_that_does_not_exist_at_other_weights_is_not_probed(library):
    """Twice the weights are asked for once, and what cannot be had then proves nothing."""

    def counts_of_all_rows(x, weights):
        if weights.sum() != len(x):
            raise ValueError("not a resample")
        return (weights * x).sum() / weights.sum()

    result = ob.bootstrap(X, counts_of_all_rows, influence=library, rng=0)
    assert result.n_failed == 0
    assert not result.warnings


def test_numpy_inside_is_told(jax):
    numpy = jax.numpy
    with pytest.raises(InfluenceError, match=r"use `jax.numpy` instead"):
        ob.bootstrap(X, lambda x, weights: numpy.sum(np.sqrt(weights) * x), influence="jax")


def test_numpy_inside_a_function_of_torch_is_told(torch):
    with pytest.raises(InfluenceError, match="use only differentiable functions of torch, not of numpy"):
        ob.bootstrap(X, lambda x, weights: torch.sum(torch.as_tensor(np.asarray(weights)) * x), influence="torch")


@pytest.mark.filterwarnings("ignore:__array_wrap__:DeprecationWarning")
def test_a_number_that_left_the_package_is_told(library):
    with pytest.raises(InfluenceError, match=f"must return arrays of {library}, .* got float"):
        ob.bootstrap(X, lambda x, weights: float((weights * x).sum()), influence=library)


def test_whole_numbers_are_told(library):
    with pytest.raises(InfluenceError, match="must return floating-point numbers, .* got .*int64"):
        ob.bootstrap(X, lambda x, weights: (weights * x > 1).sum(), influence=library)


def test_a_derivative_that_does_not_exist_is_told(library, xp):
    with pytest.raises(InfluenceError, match="NaN or infinite for 200 of 200 rows"):
        ob.bootstrap(X, lambda x, weights: xp.sqrt((weights * x).sum() * 0), influence=library)


@pytest.fixture
def median(xp: Any) -> Any:
    def ranked(x, weights):
        order = xp.argsort(x)
        below = xp.cumsum(weights[order], 0)
        return x[order][xp.searchsorted(below, below[-1] / 2)]

    return ranked


def test_a_function_that_jumps_is_told(library, median):
    with pytest.raises(InfluenceError, match="the derivative of `ranked` by the weights is zero in every row"):
        ob.bootstrap(X, median, influence=library)


def test_a_count_is_told(library):
    with pytest.raises(InfluenceError, match="zero in every row, although its value changes"):
        ob.bootstrap(X, lambda x, weights: ((weights > 1) * 1.0 * x).sum(), influence=library)


def test_by_itself_a_function_that_jumps_gets_the_standard_bootstrap(library, median):
    with pytest.warns(FallbackWarning, match="zero in every row"):
        result = ob.bootstrap(X, median, n_resamples=50, rng=0)
    assert result.estimator == "standard"


def test_by_itself_a_function_that_returns_numbers_stays_what_it_was(jax):
    numpy = jax.numpy
    for statistic in (
        lambda x, weights: float(numpy.sum(weights * x) / weights.sum()),
        lambda x, weights: numpy.sum(weights * x > 1),
    ):
        assert type(as_functional(statistic, read(X))) is WeightedCallable


def test_a_function_that_ignores_its_weights_is_told(library):
    with pytest.raises(StatisticError, match="`statistic` ignores its `weights`"):
        ob.bootstrap(X, lambda x, weights: x.mean(), influence=library, rng=0)


def test_a_function_without_weights_is_told(library):
    with pytest.raises(InfluenceError, match=f'influence="{library}" needs a statistic with a `weights` parameter'):
        ob.bootstrap(X, lambda x: x.mean(), influence=library)


@pytest.mark.parametrize("statistic", [ob.gini, np.var, ob.difference(ob.mean)], ids=lambda f: f.__class__.__name__)
def test_the_catalogue_needs_no_package(statistic):
    with pytest.raises(InfluenceError, match='has its influence function in closed form. Leave influence="auto"'):
        ob.bootstrap((X, Y), statistic, influence="jax")


def test_the_wrong_package_is_told(jax, torch):
    jnp = jax.numpy
    with pytest.raises(StatisticError, match='It is written in torch: pass `influence="torch"`'):
        ob.bootstrap(X, lambda x, weights: torch.sum(weights * x), influence="jax")
    with pytest.raises(StatisticError, match='It is written in jax: pass `influence="jax"`'):
        ob.bootstrap(X, lambda x, weights: jnp.sum(weights * x), influence="torch")


def test_a_function_of_torch_that_hides_it_is_given_the_hint(torch):
    functions = {"sum": torch.sum}
    with pytest.raises(StatisticError, match='If it is written in torch pass `influence="torch"`'):
        ob.bootstrap(X, lambda x, weights: functions["sum"](weights * x))


def test_a_sample_changed_in_place_is_told(torch):
    def centred(x, weights):
        x -= x.mean()
        return torch.sum(weights * x)

    with pytest.raises(StatisticError, match=r"changed a sample in place. Copy the sample first"):
        ob.bootstrap(X, centred, influence="torch")


def test_batches_are_refused(library, average):
    with pytest.raises(ArgumentError, match=f'`vectorized` must be None or False with influence="{library}"'):
        ob.bootstrap(X, average, influence=library, vectorized=True)


def test_an_unknown_name_lists_the_packages(average):
    with pytest.raises(ArgumentError, match="'auto', 'jax', 'torch', 'finite-difference'"):
        ob.bootstrap(X, average, influence="tensorflow")


@pytest.mark.parametrize("name", ["jax", "torch"])
def test_a_package_that_is_not_installed_names_its_extra(name, average, monkeypatch):
    monkeypatch.setattr("orthoboot.autodiff.selection.find_spec", lambda _: None)
    autodiff.cache_clear()
    for call in (
        lambda: ob.bootstrap(X, average, influence=name),
        lambda: compose(np.sqrt, ob.mean, gradient=name),
    ):
        with pytest.raises(MissingDependencyError, match=rf'pip install "orthoboot\[{name}\]"'):
            call()


# Automatic gradients of compose and function_of_means


def squares(x):
    return [x, x**2]


def log_variance(m):
    return np.log(m[1] - m[0] ** 2)


def log_variance_gradient(m):
    return [-2 * m[0] / (m[1] - m[0] ** 2), 1 / (m[1] - m[0] ** 2)]


def same_answers(one, other, data) -> None:
    found, expected = (ob.bootstrap(data, f, rng=0) for f in (one, other))
    np.testing.assert_allclose(found.influence, expected.influence, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.bootstrap_distribution, expected.bootstrap_distribution, rtol=1e-10)
    biases = [ob.bootstrap(data, f, estimator="jackknife").bias for f in (one, other)]
    np.testing.assert_allclose(*biases, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("named", [True, False])
def test_a_function_of_means_has_an_automatic_gradient(library, xp, named):
    automatic = function_of_means(squares, lambda m: xp.log(m[1] - m[0] ** 2), gradient=library if named else None)
    same_answers(automatic, function_of_means(squares, log_variance, gradient=log_variance_gradient), X)


@pytest.mark.parametrize("named", [True, False])
def test_a_composition_has_an_automatic_gradient(library, xp, named):
    automatic = compose(lambda s, m: xp.sqrt(s) / m, ob.variance, ob.mean, gradient=library if named else None)
    same_answers(automatic, compose(lambda s, m: s / m, ob.std, ob.mean, gradient=lambda s, m: [1 / m, -s / m**2]), X)


def test_a_g_without_names_is_differentiated_by_the_package_that_is_asked_for(library):
    same_answers(compose(lambda v: v**0.5, ob.variance, gradient=library), ob.std, X)


def test_a_g_that_only_returns_jax_arrays_is_differentiated(jax):
    functions = {"log": jax.numpy.log}
    for automatic in (
        function_of_means(squares, lambda m: functions["log"](m[1] - m[0] ** 2)),
        compose(lambda v: functions["log"](v), ob.variance),
    ):
        same_answers(automatic, function_of_means(squares, log_variance, gradient=log_variance_gradient), X)


def test_parts_keep_their_own_shape_in_an_automatic_gradient(library, xp):
    columns = compose(lambda v, m: xp.stack([v[0] * m[1], xp.sqrt(v[1] + m[0])]), ob.variance, ob.mean)
    v, m = PAIRS.var(axis=0), PAIRS.mean(axis=0)
    found = ob.bootstrap(PAIRS, columns, rng=0)
    np.testing.assert_allclose(found.estimate, [v[0] * m[1], np.sqrt(v[1] + m[0])], rtol=1e-12)
    changes_v, changes_m = (PAIRS - m) ** 2 - v, PAIRS - m
    np.testing.assert_allclose(found.influence[:, 0], changes_v[:, 0] * m[1] + v[0] * changes_m[:, 1], atol=1e-10)


def test_the_bits_of_an_automatic_g_do_not_depend_on_the_batch(library, xp):
    functional = compose(lambda v: xp.log(v), ob.variance)
    one, other = (ob.bootstrap(X, functional, rng=0, batch=batch) for batch in (None, 3))
    np.testing.assert_array_equal(one.bootstrap_distribution, other.bootstrap_distribution)


def test_a_gradient_that_is_none_is_refused():
    with pytest.raises(ArgumentError, match="`gradient` must be one of 'jax', 'torch'; got 'tensorflow'"):
        compose(np.log, ob.mean, gradient="tensorflow")
    with pytest.raises(ArgumentError, match='`gradient` must be a function, "jax", "torch" or None; got float'):
        function_of_means(squares, log_variance, gradient=2.0)


def test_a_g_of_numpy_cannot_be_differentiated(jax):
    with pytest.raises(InfluenceError, match="`g` must return arrays of jax"):
        ob.bootstrap(X, compose(np.log, ob.mean, gradient="jax"))
    with pytest.raises(StatisticError, match="`g` must return a value for arrays of jax; it raised ZeroDivisionError"):
        ob.bootstrap(X, compose(lambda m: 1 / 0, ob.mean, gradient="jax"))


def test_the_functional_says_where_its_influence_comes_from(library, average):
    functional = differentiable(average, read(X), library)
    assert isinstance(functional, DifferentiableCallable)
    assert functional.at(read(X)).influence_source == (
        f"{library}, automatic differentiation (automatic for a function written in {library})"
    )


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
def test_torch_records_where_the_caller_does_not(torch, mode, average):
    with getattr(torch, mode)():
        within = ob.bootstrap(X, average, influence="torch", rng=0)
    assert within.standard_error == ob.bootstrap(X, average, influence="torch", rng=0).standard_error
    np.testing.assert_allclose(within.influence, X - X.mean(), atol=1e-12)


@pytest.mark.parametrize("influence", ["auto", "torch"])
def test_a_module_of_torch_is_a_statistic(torch, influence):
    class Average(torch.nn.Module):
        def forward(self, x, weights):
            return torch.sum(weights * x) / weights.sum()

    result = ob.bootstrap(X, Average(), influence=influence, rng=0)
    assert result.influence_source.startswith("torch")
    assert result.standard_error == pytest.approx(X.std() / np.sqrt(len(X)))


def test_a_function_that_is_not_differentiable_backwards_gets_finite_differences(jax):
    def root_of_mean(x, weights):
        mean = (weights * x).sum() / weights.sum()
        return jax.lax.while_loop(lambda s: s[1] < 8, lambda s: ((s[0] + mean / s[0]) / 2, s[1] + 1), (mean, 0))[0]

    result = ob.bootstrap(X, root_of_mean, rng=0)
    assert result.influence_source.startswith("finite-difference")
    np.testing.assert_allclose(result.influence, (X - X.mean()) / (2 * np.sqrt(X.mean())), atol=1e-6)
    with pytest.raises(InfluenceError, match="jax cannot differentiate `root_of_mean`: .*lax.while_loop"):
        ob.bootstrap(X, root_of_mean, influence="jax")


def test_a_derivative_that_misses_a_part_is_told(torch):
    def third_moment(x, weights):
        mean = (weights * x).sum().item() / weights.sum().item()
        return torch.sum(weights * (x - mean) ** 3) / weights.sum()

    with pytest.warns(InfluenceMismatchWarning, match=r"derivative of `third_moment` disagrees .* `\.item\(\)`"):
        ob.bootstrap(X, third_moment, rng=0)


def test_what_the_package_refused_is_told_where_numpy_does_not_do_either(torch):
    with pytest.raises(StatisticError, match="It was also refused as a function of torch: .* got torch.int64"):
        ob.bootstrap(X, lambda x, weights: torch.sum(weights > 1))


def test_a_function_of_tensors_that_names_no_package_is_told_of_them():
    with pytest.raises(StatisticError, match='If it is written in torch pass `influence="torch"`'):
        ob.bootstrap(X, lambda x, weights: (weights * x).sum().detach())


# The guide


def test_the_examples_of_the_guide_print_what_it_says(jax, torch, capsys):
    guide = (pathlib.Path(__file__).parents[3] / "docs" / "guide.md").read_text()
    section = guide.partition("## Any statistic you write\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"```(\w*)\n(.*?)```", section, flags=re.DOTALL)
    names: dict[str, Any] = {}
    for language, program in blocks:
        if language == "python":
            exec(program, names)
    assert capsys.readouterr().out == next(text for language, text in blocks if not language)
