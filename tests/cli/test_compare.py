"""`orthoboot compare` and `orthoboot demo`: estimators side by side."""

from __future__ import annotations

import pytest

pytest.importorskip("typer")
pytest.importorskip("pandas")

import numpy as np

import orthoboot as ob
from orthoboot.cli.demo import GPA, LSAT
from tests.cli.schema import check_document
from tests.cli.test_ci import FRAME, PAIR, same

pytestmark = pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")


def test_every_estimator_is_that_of_the_library(law, run):
    code, printed, complaints = run("compare", "law.csv", *PAIR, "--json")
    results = check_document(printed)["results"]
    assert (code, complaints) == (0, "")
    assert [result["label"] for result in results] == ["orthogonal", "paper", "standard", "cheap", "jackknife"]
    for result in results:
        expected = ob.bootstrap(FRAME[["LSAT", "GPA"]], ob.correlation, estimator=result["label"], rng=0)
        assert result["n_resamples"] == expected.n_resamples
        assert result["seconds"] > 0
        same(result["outputs"][0], expected)


def test_the_table_has_resamples_and_seconds(law, run):
    code, printed, _ = run("compare", "law.csv", *PAIR, "--estimators", "orthogonal,standard", "--resamples", "20")
    lines = printed.splitlines()
    assert code == 0
    assert "resamples" in lines[2]
    assert lines[2].endswith("seconds")
    assert [line.split()[:2] for line in lines[3:5]] == [["orthogonal", "20"], ["standard", "20"]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--estimators", "best"),
            "`--estimators` must be among orthogonal, paper, standard, cheap, jackknife",
        ),
        (("--estimators", "orthogonl"), "got 'orthogonl'. Did you mean 'orthogonal'?"),
        (("-c", "LSTA"), "Did you mean 'LSAT'?"),
    ],
)
def test_errors_name_what_is_wrong(arguments, message, law, run):
    code, printed, complaints = run("compare", "law.csv", *arguments)
    assert message in complaints
    assert (code, printed) == (2, "")


def test_the_demo_has_the_numbers_of_the_library(run):
    code, printed, complaints = run("demo", "--json")
    results = check_document(printed)["results"]
    assert (code, complaints) == (0, "")
    data, options = np.column_stack([LSAT, GPA]), {"method": "normal", "n_resamples": 50, "rng": 0}
    same(results[0]["outputs"][0], ob.bootstrap(data, ob.correlation, **options))
    assert [result["label"] for result in results] == ["orthogonal, 50", "standard, 50", "standard, 2000"]
    assert "orthoboot ci FILE" in run("demo")[1]
