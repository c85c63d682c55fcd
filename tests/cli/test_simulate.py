"""`orthoboot simulate`: a model in a file of Python, and a file of rows for each input."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("typer")
pytest.importorskip("pandas")

import numpy as np
import pandas as pd

import orthoboot as ob
from tests.cli.schema import check_document

MODEL = """
def total(arrival, service):
    return (arrival - service).sum(axis=1)


def both(arrival, service):
    return {"first": arrival.sum(axis=1), "second": service.sum(axis=1)}


def of_rows(pairs):
    return (pairs["a"] * pairs["b"]).sum(axis=1)
"""
RNG = np.random.default_rng(0)
ARRIVAL, SERVICE = RNG.exponential(size=60).round(3), RNG.exponential(0.7, 50).round(3)

pytestmark = pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A model and two inputs in the current folder."""
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(MODEL)
    Path("wrong.py").write_text("1 / 0\n")
    pd.DataFrame({"gap": ARRIVAL}).to_csv("arrival.csv", index=False)
    pd.DataFrame({"time": SERVICE}).to_csv("service.csv", index=False)
    pd.DataFrame({"a": ARRIVAL[:50], "b": SERVICE}).to_csv("pairs.csv", index=False)


def expected(function, **inputs):
    space = {}
    exec(MODEL, space)
    return ob.input_uncertainty(space[function], inputs, horizon=3, n_runs=1000, rng=0)


def test_the_numbers_are_those_of_the_library(files, run):
    options = ("--inputs", "arrival.csv,service.csv", "--horizon", "3", "--runs", "1000")
    code, printed, complaints = run("simulate", "model.py:total", *options, "--json")
    found = check_document(printed)["results"][0]
    result = expected("total", arrival=ARRIVAL, service=SERVICE)
    assert (code, complaints) == (0, "")
    assert found["outputs"][0]["estimate"] == pytest.approx(result.estimate)
    assert found["outputs"][0]["low"] == pytest.approx(result.confidence_interval.low)
    assert found["details"]["input_error"] == {"total": pytest.approx(result.input_error)}
    assert found["details"]["contributions"]["service"] == [pytest.approx(result.contributions["service"])]
    assert found["n_rows"] == [60, 50]
    assert found["n_resamples"] == 1000
    assert "Share of the input variance:" in run("simulate", "model.py:total", *options)[1]


def test_inputs_may_be_named_and_rows_may_have_columns(files, run):
    named = ("--inputs", "service=arrival.csv,arrival=service.csv", "--horizon", "3", "--runs", "1000", "--json")
    found = check_document(run("simulate", "model.py:both", *named)[1])["results"][0]
    result = expected("both", service=ARRIVAL, arrival=SERVICE)
    assert [output["estimate"] for output in found["outputs"]] == pytest.approx(list(result.estimate.values()))
    options = ("--inputs", "pairs.csv", "--horizon", "3", "--runs", "1000", "--json")
    found = check_document(run("simulate", "model.py:of_rows", *options)[1])["results"][0]
    result = expected("of_rows", pairs=pd.DataFrame({"a": ARRIVAL[:50], "b": SERVICE}))
    assert found["outputs"][0]["estimate"] == pytest.approx(result.estimate)


@pytest.mark.parametrize(
    ("model", "inputs", "code", "message"),
    [
        ("model.py", "arrival.csv", 2, "MODEL must be a file and a function, such as queue.py:mean_wait"),
        ("modle.py:total", "arrival.csv", 2, "there is no such file 'modle.py'"),
        ("model.py:totl", "arrival.csv", 2, "there is no function 'totl' in model.py; it has total, both, of_rows."),
        ("wrong.py:run", "arrival.csv", 1, "wrong.py cannot be run: ZeroDivisionError: division by zero."),
        ("model.py:total", "arival.csv", 2, "Did you mean 'arrival.csv'?"),
        ("model.py:total", ",", 2, "`--inputs` must name a file for each input."),
        ("model.py:total", "arrival.csv,pairs.csv", 2, "service"),
    ],
)
def test_errors_name_what_is_wrong(model, inputs, code, message, files, run):
    ended, printed, complaints = run("simulate", model, "--inputs", inputs, "--horizon", "3")
    assert message in complaints
    assert (ended, printed) == (code, "")
