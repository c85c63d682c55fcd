"""`orthoboot fit`: the coefficients are those of the library on the columns of the formula."""

from __future__ import annotations

import pytest

pytest.importorskip("typer")
pytest.importorskip("pandas")
pytest.importorskip("formulaic")

import numpy as np
import pandas as pd

import orthoboot as ob
from tests.cli.schema import check_document
from tests.cli.test_ci import same

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"a": RNG.normal(size=60), "b": RNG.normal(size=60), "city": list("BCC") * 20})
FRAME["y"] = 1 + FRAME["a"] + RNG.normal(size=60) * (1 + FRAME["b"] ** 2)
FRAME["yes"] = (RNG.random(60) < 1 / (1 + np.exp(-FRAME["a"]))).astype(int)
FRAME["site"] = np.arange(60) // 4
FRAME["count"] = RNG.poisson(np.exp(0.5 * FRAME["b"]))

pytestmark = pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """The file rows.csv in the current folder."""
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("rows.csv", index=False)


@pytest.mark.parametrize(
    ("formula", "family", "of", "columns"),
    [
        ("y ~ a + b", "gaussian", ob.linear_regression, ["a", "b"]),
        ("yes ~ a", "logistic", ob.logistic_regression, ["a"]),
        ("count ~ b", "poisson", ob.glm("poisson"), ["b"]),
    ],
)
def test_coefficients_are_those_of_the_library(formula, family, of, columns, rows, run):
    code, printed, complaints = run("fit", "rows.csv", "--formula", formula, "--family", family, "--json")
    assert (code, complaints) == (0, "")
    found = check_document(printed)["results"][0]
    design = FRAME[columns].assign(Intercept=1.0)[["Intercept", *columns]]
    expected = ob.bootstrap((design, FRAME[formula.split()[0]].astype(float)), of, paired=True, rng=0)
    assert [output["name"] for output in found["outputs"]] == ["Intercept", *columns]
    for number, output in enumerate(found["outputs"]):
        # The file holds the digits that pandas writes.
        assert output["standard_error"] == pytest.approx(expected.standard_error[number], rel=1e-6)
        same({**output, "bias": expected.bias[number]}, expected, number) if family == "gaussian" else None
    sandwich = list(found["details"]["sandwich_standard_errors"].values())
    assert sandwich == pytest.approx(np.sqrt(expected.jackknife_variance), rel=1e-6)


def test_the_sandwich_is_that_of_statsmodels(rows, run):
    sm = pytest.importorskip("statsmodels.api")
    found = check_document(run("fit", "rows.csv", "-f", "y ~ a + b", "--json")[1])["results"][0]
    fit = sm.OLS(FRAME["y"], sm.add_constant(FRAME[["a", "b"]])).fit(cov_type="HC0")
    assert list(found["details"]["sandwich_standard_errors"].values()) == pytest.approx(fit.bse.tolist(), rel=1e-9)


def test_words_become_columns_and_are_shown(rows, run):
    code, printed, _ = run("fit", "rows.csv", "-f", "y ~ a + C(city)", "--clusters", "site")
    assert code == 0
    assert "C(city)[T.C]" in printed
    assert "Sandwich standard errors, by the linear part alone: Intercept " in printed


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("-f", "y ~ a + bb"), 2, "there is no column 'bb' in rows.csv. Did you mean 'b'?"),
        (("-f", "y ~ a +"), 2, "`--formula` 'y ~ a +' cannot be read"),
        (("-f", "a + b"), 2, '`--formula` must have a response and a tilde, such as "y ~ a + b"'),
        (("-f", "city ~ a"), 1, "must be one column of numbers; it has 2: "),
        (("-f", "y ~ {a / 'b'}"), 2, "cannot be computed"),
        (("-f", "y ~ a", "--family", "gamma"), 2, "'gamma' is not one of"),
        (("-f", "y ~ a", "--family", "logistic"), 1, "logistic_regression"),
        (("-f", "y ~ a + {2 * a}"), 1, "linear_regression"),
    ],
)
def test_errors_name_what_is_wrong(arguments, code, message, rows, run):
    ended, printed, complaints = run("fit", "rows.csv", *arguments)
    assert message in complaints
    assert (ended, printed) == (code, "")
