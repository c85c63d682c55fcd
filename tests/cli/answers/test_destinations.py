"""What is written to files is what is printed."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

pytest.importorskip("typer")
pytest.importorskip("pandas")

import pandas as pd

from tests.cli.schema import check_document

COMMAND = ("ci", "law.csv", "-c", "GPA", "--by", "sex")


def test_json_and_text_files_are_what_is_printed(law, run):
    _, printed, _ = run(*COMMAND, "--output", "a.json")
    assert run(*COMMAND, "--output", "a.txt")[1] == printed
    assert Path("a.txt").read_text() == printed
    document, shown = check_document(Path("a.json").read_text()), check_document(run(*COMMAND, "--json")[1])
    for one, other in zip(document["results"], shown["results"], strict=True):
        assert one | {"seconds": 0} == other | {"seconds": 0}


def test_tables_have_every_number_in_full(law, run):
    results = check_document(run(*COMMAND, "--json")[1])["results"]
    run(*COMMAND, "--output", "a.csv")
    run(*COMMAND, "--output", "a.md")
    with open("a.csv", newline="") as stream:
        found = list(csv.DictReader(stream))
    assert [row["label"] for row in found] == ["sex=f", "sex=m"]
    for column in ("estimate", "bias", "standard_error", "low", "high"):
        assert [float(row[column]) for row in found] == [result["outputs"][0][column] for result in results]
    assert Path("a.md").read_text().startswith("| statistic | label | output | estimate |")


def test_parquet_files_can_be_written(law, run):
    pytest.importorskip("pyarrow")
    run(*COMMAND, "--output", "a.csv")
    run(*COMMAND, "--output", "a.parquet")
    columns = ["label", "output", "estimate", "low", "high"]
    frames = pd.read_parquet("a.parquet")[columns], pd.read_csv("a.csv")[columns]
    pd.testing.assert_frame_equal(*frames, check_dtype=False)


def test_the_check_leaves_no_file_and_harms_none(law, run):
    Path("kept.json").write_text("[]")
    assert run("ci", "law.csv", "-c", "GAP", "--output", "kept.json")[0] == 2
    assert run("ci", "law.csv", "-c", "GAP", "--output", "new.json")[0] == 2
    assert json.loads(Path("kept.json").read_text()) == []
    assert not Path("new.json").exists()


def test_a_report_for_each_answer(law, run):
    pytest.importorskip("matplotlib")
    assert run("ci", "law.csv", "-c", "GPA", "--report", "page.html")[0] == 0
    assert "<html" in Path("page.html").read_text(encoding="utf-8")
    assert run(*COMMAND, "--report", "page.html")[0] == 0
    assert Path("page-sex-f-mean.html").exists()
    assert Path("page-sex-m-mean.html").exists()


def test_a_picture_of_the_answer(law, run):
    pytest.importorskip("matplotlib")
    assert run("ci", "law.csv", "-c", "GPA", "--plot", "plot.png")[0] == 0
    assert Path("plot.png").read_bytes().startswith(b"\x89PNG")
    assert run("ci", "law.csv", "--plot", "forest.svg")[0] == 0
    assert "<svg" in Path("forest.svg").read_text(encoding="utf-8")
