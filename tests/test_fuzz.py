"""The fuzzer: two hundred cases pass, and it finds mistakes that are planted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tools.fuzz import catalogue, functions
from tools.fuzz.__main__ import main
from tools.fuzz.cases import Case, drawn
from tools.fuzz.invariances import ALWAYS, SOMETIMES, Questioned
from tools.fuzz.invariances.base import is_singular
from tools.fuzz.outcomes import answer
from tools.fuzz.runner import Summary, checked

import orthoboot as ob
from orthoboot import errors

CHUNK = 20


@pytest.mark.parametrize("chunk", [*range(5), *(pytest.param(chunk, marks=pytest.mark.slow) for chunk in range(5, 10))])
def test_random_calls_pass_every_invariance(chunk):
    summary = Summary()
    for number in range(CHUNK * chunk, CHUNK * (chunk + 1)):
        summary.add(checked(number))
    assert summary.failures == [], summary.report(1.0)


def test_a_case_is_a_function_of_its_number():
    first, second = drawn(7), drawn(7)
    assert first.snippet() == second.snippet()
    for one, other in zip(first.samples, second.samples, strict=True):
        np.testing.assert_array_equal(one, other)


def test_every_statistic_of_the_catalogue_has_a_row():
    # Those of a loss or a problem that jax compiles for each shape would take seconds a case.
    compiled = {"m_estimator", "minimize"}
    combined = {"compose", "difference", "function_of_means", "relative_difference", "glm", "regression_on"}
    statistics = {name for name in ob.functionals.__all__ if hasattr(ob, name)} - {"Functional"} - compiled - combined
    assert statistics <= {row.name for row in catalogue.ROWS}


X = np.random.default_rng(3).exponential(size=30)


def planted(statistic, samples=(X,), **changes):
    """A case of a statistic that is said to be of degree one and to stay when the data are shifted."""
    row = catalogue.Row("planted", None, None, 1, "stays", row_function=True, decades=70)
    options = {"estimator": "orthogonal", "method": "normal", "alternative": "two-sided", "confidence_level": 0.95}
    chosen = catalogue.Chosen(statistic, "planted")
    return Case(0, row, chosen, samples, ("array",) * len(samples), {}, {**options, "rng": 1, **changes})


def found(case, name):
    """What the invariance of that name says to a case, tried a few times with what it draws itself."""
    (check,) = [one.check for one in (*ALWAYS, *SOMETIMES) if one.name == name]
    given = answer(case)
    said = [check(Questioned(case, given, np.random.default_rng(seed))) for seed in range(5)]
    return next((message for message in said if message is not None), None)


@pytest.mark.parametrize(
    ("name", "statistic"),
    [
        # Thresholds that are not relative to the data.
        ("scale", lambda x: np.clip(np.std(x), 1e-3, 1e3)),
        # A range of the rows near zero alone.
        ("shift", lambda x: np.ptp(x[np.abs(x) < 20])),
        # A statistic that looks at the order of the rows.
        ("order of rows", lambda x: np.mean(x * np.arange(len(x)))),
    ],
)
def test_a_planted_mistake_is_found(name, statistic):
    assert found(planted(lambda x: np.std(x)), name) is None
    assert found(planted(statistic), name) is not None


def test_an_influence_function_of_the_wrong_scale_is_found():
    right = ob.bootstrap(X, ob.std, estimator="jackknife").influence
    case = replace(planted(ob.std, estimator="jackknife"), row=replace(planted(ob.std).row, row_function=False))
    assert found(case, "own influence given") is None
    wrong = replace(case, options={**case.options, "influence": 3 * right})
    assert found(wrong, "influence is that of single rows") is not None
    assert found(case, "influence is that of single rows") is None


def test_an_answer_that_is_not_finite_is_found():
    case = planted(lambda x: np.std(x))
    given = answer(case)
    broken = replace(
        given.result, replicates=replace(given.result.replicates, values=given.result.replicates.values * np.nan)
    )
    assert "not finite" in str(_told("finite or told", case, replace(given, result=broken)))
    assert _told("finite or told", case, given) is None


@pytest.mark.parametrize(
    "unrelated",
    [
        errors.FitWarning("scale the columns"),
        errors.FallbackWarning("the closed form is not finite at these data"),
        errors.SlopeWarning('influence="finite-difference" was used; the range of digits is too small'),
    ],
)
def test_a_warning_about_something_else_excuses_nothing(unrelated):
    case = planted(lambda x: np.std(x))
    given = answer(case)
    broken = replace(
        given.result,
        replicates=replace(given.result.replicates, values=given.result.replicates.values * np.nan),
        warnings=(unrelated,),
    )
    assert "not finite" in str(_told("finite or told", case, replace(given, result=broken)))
    assert not replace(given, result=broken).out_of_range


def test_a_statistic_that_is_no_floating_point_number_is_excused():
    case = replace(planted(ob.variance), samples=(X * 1e200,))
    assert answer(case).out_of_range
    # Another error with the same words is not.
    assert not replace(answer(case), error=ValueError(str(answer(case).error))).out_of_range


def test_rounded_numbers_are_excused_by_the_class_of_the_warning():
    given = answer(planted(lambda x: np.std(x)))
    assert replace(given, result=replace(given.result, warnings=(errors.DigitsWarning("lost"),))).out_of_range
    right = errors.DigitsWarning("the standard error and the interval are right")
    assert not replace(given, result=replace(given.result, warnings=(right,))).out_of_range


def _told(name, case, outcome):
    (check,) = [one.check for one in ALWAYS if one.name == name]
    return check(Questioned(case, outcome, np.random.default_rng(0)))


def test_an_error_that_is_not_the_librarys_is_found(monkeypatch):
    monkeypatch.setattr(ob, "bootstrap", lambda *args, **kwargs: 1 / 0)
    assert found(planted(np.std), "only the library's errors") == "ZeroDivisionError: division by zero"


def test_only_a_value_that_rounding_decides_has_no_right_answer():
    (row,) = [row for row in catalogue.ROWS if row.name == "compose: std / mean"]
    case = replace(planted(ob.compose(np.divide, ob.std, ob.mean)), row=row)
    assert not is_singular(case)
    centred = X - X.mean()
    assert is_singular(replace(case, samples=(centred,)))
    assert not is_singular(replace(case, samples=(centred + 1e-9,)))


def test_a_statistic_that_is_refused_for_no_reason_is_found(monkeypatch):
    def refused(*args, **kwargs):
        raise errors.StatisticError("it has no value")

    monkeypatch.setattr(ob, "bootstrap", refused)
    assert "it has no value" in found(planted(lambda x: np.std(x)), "a value is taken")
    assert found(planted(lambda x: np.nan), "a value is taken") is None


def test_a_warning_about_an_order_that_there_is_not_is_found():
    assert found(planted(lambda x: np.std(x)), "no order of rows") is None
    assert "depends on the order" in found(planted(lambda x: x[0], rng=0), "no order of rows")


def test_labels_that_do_not_stay_with_their_rows_are_found():
    pytest.importorskip("pandas")
    (row,) = [row for row in catalogue.ROWS if row.name == "mean of labels"]
    case = replace(planted(functions.mean_of_index), row=row, holders=("labelled",))
    assert found(case, "container") is None
    numbered = lambda x: np.mean(np.arange(len(x)) if hasattr(x, "iloc") else x)  # noqa: E731
    assert found(replace(case, chosen=catalogue.Chosen(numbered, "numbered")), "container") is not None


def test_one_case_is_run_and_shown_by_its_number(capsys):
    main(["--case", "3"])
    printed = capsys.readouterr().out
    assert printed.startswith("case 3: ")
    assert "ob.bootstrap(" in printed


def test_a_run_counts_its_cases(capsys):
    main(["--cases", "3", "--jobs", "1"])
    assert capsys.readouterr().out.startswith("3 cases in ")
