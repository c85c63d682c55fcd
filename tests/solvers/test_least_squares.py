"""Fits without one run, and the choice of columns that a single run has much of."""

from __future__ import annotations

import numpy as np
import pytest

from orthoboot.solvers.least_squares import forward_selected, least_squares


@pytest.fixture
def problem():
    rng = np.random.default_rng(5)
    columns = np.concatenate([np.ones((30, 1)), rng.normal(size=(30, 3))], axis=1)
    return columns, rng.normal(size=(30, 2)) + columns[:, :2]


def test_leave_one_out_residuals_and_coefficients_are_those_of_refits_without_the_row(problem):
    columns, outputs = problem
    found = least_squares(columns, outputs)
    assert found is not None
    refits = [
        np.linalg.lstsq(np.delete(columns, i, axis=0), np.delete(outputs, i, axis=0), rcond=None)[0] for i in range(30)
    ]
    residuals = [outputs[i] - columns[i] @ refit for i, refit in enumerate(refits)]
    np.testing.assert_allclose(found.leave_one_out_residuals, residuals, atol=1e-12)
    some = np.arange(30) < 7
    np.testing.assert_allclose(found.leave_one_out_coefficients(some), np.sum(refits[:7], axis=0), atol=1e-12)


def test_columns_that_depend_on_one_another_have_no_fit(problem):
    columns, outputs = problem
    assert least_squares(np.concatenate([columns, columns[:, :1]], axis=1), outputs) is None


def _with_far_runs(effect):
    """A column with two far runs among two hundred, and outputs that it has an effect on, in all of them."""
    rng = np.random.default_rng(6)
    column = rng.normal(size=200)
    column[:2] = 9.0, -7.0
    return np.ones((200, 1)), rng.normal(size=(200, 1)) + effect * column[:, np.newaxis], column[:, np.newaxis]


def test_a_column_with_far_runs_is_taken_where_it_tells_of_other_runs():
    assert forward_selected(*_with_far_runs(1.0), least=0.1, most=3) == (0,)
    assert forward_selected(*_with_far_runs(0.0), least=0.1, most=3) == ()


def test_a_column_that_tells_of_one_run_alone_is_not_taken():
    fitted, outputs, column = _with_far_runs(0.0)
    column[:, 0] = 0.0
    column[0], outputs[0] = 30.0, 30.0
    assert forward_selected(fitted, outputs, column, least=0.1, most=3) == ()


def test_no_more_columns_are_taken_than_there_is_room_for():
    fitted, outputs, column = _with_far_runs(1.0)
    more = np.random.default_rng(7).normal(size=(200, 1))
    both = np.concatenate([column, more], axis=1)
    assert forward_selected(fitted, outputs + 2 * more, both, least=0.05, most=2) == (0, 1)
    assert forward_selected(fitted, outputs + 2 * more, both, least=0.05, most=1) == (0,)
