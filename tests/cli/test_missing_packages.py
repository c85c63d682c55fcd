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


def test_a_page_does_without_matplotlib(law, run, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr(ob.Result, "to_html", lambda self, path, command: path.write_text("page"))
    assert run("ci", "law.csv", "--report", "a.html")[0] == 0
    assert (law.parent / "a.html").read_text() == "page"
