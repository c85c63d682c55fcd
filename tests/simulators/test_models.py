"""How models are called, and what is said of those that cannot be used."""

from __future__ import annotations

import functools
import itertools
import time

import numpy as np
import pandas as pd
import pytest
from tests.simulators.queues import INPUTS, mean_wait, mean_wait_by_draws, mean_wait_of_one, waits_until_closing

import orthoboot as ob
from orthoboot import errors

X = np.random.default_rng(1).exponential(size=50)


def _result(run, inputs=None, **options):
    options = {"horizon": 64, "n_runs": 500, "rng": 0, **options}
    return ob.input_uncertainty(run, INPUTS if inputs is None else inputs, **options)


def test_one_run_at_a_time_gives_the_numbers_of_many_at_once():
    many, single = _result(mean_wait), _result(mean_wait_of_one, vectorized=False)
    assert single.estimate == pytest.approx(many.estimate, rel=1e-12)
    assert single.input_error == pytest.approx(many.input_error, rel=1e-9)


def test_draws_one_by_one_give_the_numbers_of_arrays():
    # With 64 draws the counter is laid out alike; the last draw of a run is not asked for, and has no influence.
    arrays, draws = _result(mean_wait), _result(mean_wait_by_draws, horizon=None)
    np.testing.assert_allclose(draws.estimation.records.runs.outputs, arrays.estimation.records.runs.outputs)
    assert (draws.estimation.records.runs.used == 63).all()


def test_a_model_may_use_a_random_number_of_draws():
    result = _result(waits_until_closing, horizon=None, n_runs=1000)
    used = result.estimation.records.runs.used
    assert used[:, 0].min() < used[:, 0].max()
    assert result.input_error > 0


def test_an_array_model_says_how_many_draws_it_used():
    def first_above_two(x):
        above = x > 2
        first = np.where(above.any(axis=1), above.argmax(axis=1), x.shape[1] - 1)
        return first + 1.0, {"x": first + 1}

    def first_above_two_by_draws(draw):
        number = 1
        while draw.x() <= 2 and number < 40:
            number += 1
        return number

    x = np.random.default_rng(2).exponential(size=60)
    arrays = _result(first_above_two, {"x": x}, horizon=40, n_runs=2000)
    draws = _result(first_above_two_by_draws, {"x": x}, horizon=40, n_runs=2000)
    p = (x > 2).mean()

    def mean_number(p):
        return (1 - (1 - p) ** 40) / p

    slope = (mean_number(p + 1e-6) - mean_number(p - 1e-6)) / 2e-6
    exact = np.sqrt(p * (1 - p) / 60) * abs(slope)
    for result in (arrays, draws):
        assert result.estimation.first.variances.sum() ** 0.5 == pytest.approx(exact, rel=0.1)
    assert arrays.estimation.records.runs.used.mean() == pytest.approx(mean_number(p), rel=0.1)


def test_the_model_has_random_numbers_of_its_own_in_the_same_places():
    def noisy(x, rng):
        return x.sum(axis=1) + rng.normal(size=len(x))

    def noisy_by_draws(draw, rng):
        return draw.x() + rng.normal()

    for run in (noisy, noisy_by_draws):
        first, second = (_result(run, {"x": X}, horizon=1, n_runs=500) for _ in range(2))
        assert first.estimate == second.estimate
        # The noise of the model is no input uncertainty.
        assert first.input_error == pytest.approx(X.std() / np.sqrt(50), rel=0.25)


def test_rows_of_a_frame_are_drawn_together():
    rows = pd.DataFrame({"size": X, "price": 2 * X})

    def revenue(order):
        assert (order["price"] == 2 * order["size"]).all()
        return order["size"].sum(axis=1) + order["price"].sum(axis=1)

    def revenue_by_draws(draw):
        one = draw.order()
        return one["size"] + one["price"]

    result = _result(revenue, {"order": rows}, horizon=1)
    assert result.input_error == pytest.approx(3 * X.std() / np.sqrt(50))
    assert _result(revenue_by_draws, {"order": rows}, horizon=None).estimate == pytest.approx(result.estimate, rel=0.2)


def test_rows_of_an_array_come_with_their_columns_last():
    rows = np.stack([X, X**2], axis=1)
    result = _result(lambda pair: pair[:, :, 0].sum(axis=1), {"pair": rows}, horizon=2)
    assert result.input_error == pytest.approx(2 * X.std() / np.sqrt(50))


def _in_turn(first, second):
    """A dict whose entries come in an order that depends on the run."""
    return {"a": first, "b": second} if first > second else {"b": second, "a": first}


@pytest.mark.parametrize("of", [lambda pair: lambda draw: pair(draw.x(), draw.x()), lambda pair: lambda x: pair(*x)])
def test_entries_of_a_dict_are_found_by_their_keys(of):
    result = _result(of(_in_turn), {"x": X}, horizon=2, vectorized=False)
    expected = _result(of(lambda first, second: {"a": first, "b": second}), {"x": X}, horizon=2, vectorized=False)
    assert result.estimate == pytest.approx(expected.estimate, rel=1e-9)


def test_settings_of_a_model_may_be_bound():
    def clinic(draw, rng, doctors, share=0.5):
        return doctors * share * draw.x()

    plain = _result(lambda draw: draw.x(), {"x": X}, horizon=None)
    bound = _result(functools.partial(clinic, doctors=6), {"x": X}, horizon=None)
    assert bound.input_error == pytest.approx(3 * plain.input_error)


@pytest.mark.parametrize("exponent", [-900, 900])
def test_units_of_an_input_change_no_digit(exponent):
    def maximum(x):
        return x.max(axis=1)

    plain = _result(maximum, {"x": X}, horizon=3)
    scaled = _result(lambda x: np.ldexp(maximum(x), -exponent), {"x": np.ldexp(X, exponent)}, horizon=3)
    assert (scaled.estimate, scaled.input_error) == (plain.estimate, plain.input_error)


def test_an_output_that_is_always_the_same_has_no_input_variance():
    result = _result(lambda x: np.stack([x.sum(axis=1), np.ones(len(x))], axis=1), {"x": X}, horizon=3)
    assert result.warnings == ()
    assert result.input_error[1] == pytest.approx(0, abs=1e-12)


def test_an_input_that_is_ignored_is_named():
    with pytest.warns(errors.IgnoredInputWarning, match="did not change with the draws of 'service'"):
        _result(lambda arrival, service: arrival.sum(axis=1), horizon=3)

    def ignores(draw):
        return draw.arrival()

    with pytest.warns(errors.IgnoredInputWarning, match="service"):
        result = _result(ignores, horizon=None)
    assert result.contributions["service"] == 0


class TestBadModels:
    """What is said of a model that cannot be used names the run and what to do."""

    @staticmethod
    def raised(run, error=errors.ModelError, **options):
        with pytest.raises(error) as caught:
            _result(run, {"x": X}, **{"horizon": 2, "n_runs": 100, **options})
        return str(caught.value)

    def test_raises(self):
        message = self.raised(lambda x: 1 / 0)
        assert "ZeroDivisionError: division by zero" in message
        assert "runs 0 to 3" in message

    def test_raises_in_a_later_run(self):
        def fails(draw):
            if draw.x() == X.max():
                raise ValueError("too long")
            return 1.0

        assert "`run` raised in run " in self.raised(fails, horizon=None, n_runs=1000)

    def test_nan(self):
        assert "gave [nan]" in self.raised(lambda x: np.where(x[:, 0] == X.max(), np.nan, 1.0), n_runs=1000)

    def test_wrong_shape(self):
        assert "vectorized=False" in self.raised(lambda x: x.sum())
        assert "vectorized=False" in self.raised(lambda x: max(x[0], 1.0))
        assert "the runs first" in self.raised(lambda x: x.sum(axis=0))

    def test_changing_shape(self):
        calls = itertools.count()
        message = self.raised(lambda draw: np.ones(1 if next(calls) < 5 else 2) * draw.x(), horizon=None)
        assert "the same number of outputs" in message or "the same shape" in message

    def test_changing_keys(self):
        message = self.raised(lambda draw: {"late" if draw.x() > 1 else "early": 1.0}, horizon=None)
        assert "the same keys" in message
        assert "'late'" in message

    def test_no_numbers(self):
        assert "an empty dict" in self.raised(lambda x: {})
        assert "an empty dict" in self.raised(lambda x: {}, vectorized=False)
        assert "is a `return` missing?" in self.raised(lambda x: None)
        assert "got str" in self.raised(lambda x: "late")
        assert "a tuple of 3" in self.raised(lambda x: (1, 2, 3))

    def test_more_draws_than_the_horizon(self):
        def long(draw):
            return sum(draw.x() for _ in range(3))

        assert "more than 2 draws of 'x'" in self.raised(long, horizon=2)
        assert "its horizon, 2" in self.raised(lambda x: (x[:, 0], {"x": np.full(len(x), 3)}))

    def test_numbers_of_draws_that_are_none(self):
        assert "whole number" in self.raised(lambda x: (x[:, 0], {"x": x[:, 0]}))
        assert "got 'y'" in self.raised(lambda x: (x[:, 0], {"y": np.ones(len(x), dtype=int)}))

    def test_a_model_that_depends_on_earlier_runs(self):
        calls = itertools.count()
        assert "a function of its draws" in self.raised(lambda x: x.sum(axis=1) + next(calls))

    def test_a_model_that_mixes_its_runs(self):
        assert "is `axis=1` missing" in self.raised(lambda x: x.sum(axis=1) / x.mean())
        assert "beside 3 other runs" in self.raised(lambda x: x[:, 0] + np.random.RandomState(0).rand(len(x)))

    def test_a_model_that_uses_more_draws_than_it_says(self):
        def says(number):
            return lambda x: (x.sum(axis=1), {"x": np.full(len(x), number)})

        assert "says 1, but its output changes with later draws" in self.raised(says(1))
        assert "says 0" in self.raised(says(0))
        assert "says 1" in self.raised(lambda x: (x.sum(), {"x": 1}), vectorized=False)
        _result(lambda x: (x[:, 0], {"x": np.ones(len(x), dtype=int)}), {"x": X})

    def test_outputs_whose_variance_is_no_number(self):
        assert "got 1e+200. Return them in other units" in self.raised(lambda x: np.full(len(x), 1e200))
        assert "in other units" in self.raised(lambda x: 1e-200 * x.sum(axis=1))

    def test_a_model_that_looks_at_the_clock(self):
        assert "a clock" in self.raised(lambda draw: draw.x() + time.perf_counter(), horizon=None)

    def test_random_numbers_without_a_seed(self):
        unseeded = np.random.default_rng()
        assert "from an argument `rng`" in self.raised(lambda x: x.sum(axis=1) + unseeded.normal(size=len(x)))

    def test_an_input_that_there_is_not(self):
        assert "there is no input 'y'; the inputs are x" in self.raised(lambda draw: draw.y(), horizon=None)

    @pytest.mark.parametrize(
        ("run", "options", "message"),
        [
            (lambda y: y, {}, "one argument for each input, by its name: x"),
            (lambda draw, y: y, {}, "may also take `rng`"),
            (lambda x: x, {"horizon": None}, "`horizon` must give the largest number of draws of x"),
            (lambda x: x, {"horizon": 0}, "`horizon` must be a positive whole number"),
            (lambda x: x, {"horizon": {"y": 2}}, "`horizon` must be"),
            (lambda x: x, {"n_runs": 10}, "`n_runs` must be"),
            (lambda x: x, {"vectorized": 1}, "`vectorized` must be"),
            (lambda x: x, {"progress": "yes"}, "`progress` must be"),
            (lambda x: x, {"tol": 5}, "`tol` must lie"),
            (3, {}, "`run` must be a function"),
        ],
    )
    def test_arguments(self, run, options, message):
        assert message in self.raised(run, errors.ArgumentError, **options)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([1.0, 2.0], "`inputs` must be a dict"),
        ({}, "`inputs` must be a dict"),
        ({"rng": X}, "names that Python can use"),
        ({"x": [1.0, np.nan]}, "`inputs['x']`"),
        ({"x": [1.0]}, "at least two rows"),
        ({"x": pd.DataFrame({"a": X, "b": "text"})}, "`inputs['x']`"),
        ({"x": np.ones((3, 2, 2))}, "rows of numbers"),
        ({"x": (X, X)}, "one array, series or frame"),
    ],
)
def test_inputs_that_cannot_be_used(inputs, message):
    with pytest.raises((errors.ArgumentError, errors.DataError)) as caught:
        _result(lambda x: x.sum(axis=1), inputs)
    assert message in str(caught.value)


def test_equal_rows_add_no_uncertainty():
    with pytest.warns(errors.ConstantDataWarning, match="adds no uncertainty"):
        result = _result(lambda x, y: x.sum(axis=1) + y.sum(axis=1), {"x": X, "y": np.ones(20)}, horizon=2)
    assert result.contributions["x"] == pytest.approx(1)


def test_a_model_that_keeps_what_earlier_runs_drew_is_found():
    kept = []

    def run(draw):
        kept.extend(draw.service() for _ in range(5))
        return np.mean(kept)

    with pytest.raises(errors.ModelError, match="must be a function of its draws"):
        ob.input_uncertainty(run, {"service": INPUTS["service"]}, n_runs=200, rng=0)


def test_a_model_that_changes_later_is_found_after_the_last_run():
    calls = []

    def run(draw):
        calls.append(0)
        return draw.service() + (len(calls) > 100)

    with pytest.raises(errors.ModelError, match="after all other runs"):
        ob.input_uncertainty(run, {"service": INPUTS["service"]}, n_runs=200, rng=0)


@pytest.mark.parametrize("name", ["draws", "self", "arguments", "function"])
def test_inputs_may_have_any_name(name):
    run = eval(f"lambda {name}: {name}.sum(axis=1)")
    result = ob.input_uncertainty(run, {name: INPUTS["service"]}, horizon=3, n_runs=300, rng=0)
    assert result.input_error > 0


def test_masked_outputs_and_equal_names_of_columns_are_refused():
    rows = INPUTS["service"]
    with pytest.raises(errors.ModelError, match="MaskedArray"):
        ob.input_uncertainty(lambda x: np.ma.array(x.sum(1), mask=x[:, 0] > 0.1), {"x": rows}, horizon=3, rng=0)
    frame = pd.DataFrame(np.stack([rows, 100 * rows], axis=1), columns=["a", "a"])
    with pytest.raises(errors.DataError, match="different names"):
        ob.input_uncertainty(lambda x: x["a"].sum(1), {"x": frame}, horizon=3, rng=0)


def test_an_output_that_grows_too_large_later_is_refused():
    rows = np.r_[np.ones(199), 2.0]
    with pytest.raises(errors.ModelError, match=r"1e\+80"):
        ob.input_uncertainty(lambda x: np.where(x[:, 0] == 2, 1e80, x[:, 0]), {"x": rows}, horizon=1, rng=0)
