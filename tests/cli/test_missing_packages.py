"""Without a package that a command needs, the message names what installs it."""

from __future__ import annotations

import sys

import pytest

pytest.importorskip("typer")
pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

import pandas as pd

import orthoboot as ob


@pytest.mark.parametrize(
    ("package", "arguments", "extra"),
    [
        ("pandas", ("ci", "law.csv"), "cli"),
        ("pyarrow.parquet", ("ci", "law.parquet"), "cli"),
        ("pyarrow.feather", ("ci", "law.feather"), "cli"),
        ("formulaic", ("fit", "law.csv", "--formula", "GPA ~ LSAT"), "cli"),
        ("matplotlib", ("ci", "law.csv", "--plot", "a.png"), "plot"),
    ],
)
def test_the_message_names_the_extra(package, arguments, extra, law, run, monkeypatch):
    frame = pd.read_csv(law)
    frame.to_parquet("law.parquet")
    frame.to_feather("law.feather")
    monkeypatch.setattr(ob.Result, "plot", lambda self: None, raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    code, printed, complaints = run(*arguments)
    assert (code, printed) == (1, "")
    assert complaints.endswith(f'`pip install "orthoboot[{extra}]"`.\n')


def test_without_scikit_learn_predict_names_the_extra(law, run, monkeypatch):
    monkeypatch.delitem(vars(ob), "PredictionIntervalRegressor", raising=False)
    monkeypatch.setitem(sys.modules, "orthoboot.prediction", None)
    code, _, complaints = run("predict", "law.csv", "--target", "GPA", "--new", "law.csv")
    assert code == 1
    assert complaints.endswith('`pip install "orthoboot[sklearn]"`.\n')


@pytest.mark.parametrize(("option", "file", "method"), [("--report", "a.html", "to_html"), ("--plot", "a.png", "plot")])
def test_a_version_without_pages_or_pictures_says_so(option, file, method, law, run, monkeypatch):
    monkeypatch.delattr(ob.Result, method, raising=False)
    code, _, complaints = run("ci", "law.csv", option, file)
    assert code == 1
    assert f"`Result.{method}`" in complaints
