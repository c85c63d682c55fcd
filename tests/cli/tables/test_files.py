"""Files of every format give the same rows; what cannot be read is told."""

from __future__ import annotations

import gzip
import io
import sys
from types import SimpleNamespace

import pytest

pytest.importorskip("typer")
pytest.importorskip("pandas")

import pandas as pd

from orthoboot.cli.tables.files import read_table
from orthoboot.errors import ArgumentError, DataError
from tests.cli.conftest import LAW

FRAME = pd.read_csv(io.StringIO(LAW))


def written(name):
    """Write the rows to a file, in the format that its name tells."""
    match name.partition(".")[2]:
        case "csv" | "txt":
            FRAME.to_csv(name, index=False)
        case "tsv":
            FRAME.to_csv(name, index=False, sep="\t")
        case "jsonl":
            FRAME.to_json(name, orient="records", lines=True)
        case "json":
            FRAME.to_json(name, orient="records")
        case "csv.gz":
            with gzip.open(name, "wt") as stream:
                stream.write(LAW)
        case "parquet":
            FRAME.to_parquet(name)
        case "feather":
            FRAME.to_feather(name)
    return name


NAMES = ["a.csv", "a.txt", "a.tsv", "a.jsonl", "a.json", "a.csv.gz", "a.parquet", "a.feather"]


@pytest.mark.parametrize("name", NAMES)
def test_every_format_gives_the_same_rows(name, tmp_path, monkeypatch):
    if name.endswith(("parquet", "feather")):
        pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    pd.testing.assert_frame_equal(read_table(written(name)).frame, FRAME, check_dtype=False)


@pytest.mark.parametrize("name", [name for name in NAMES if not name.endswith("gz")])
def test_standard_input_is_told_by_how_it_begins(name, tmp_path, monkeypatch):
    if name.endswith(("parquet", "feather")):
        pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    with open(written(name), "rb") as stream:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=stream))
        table = read_table("-")
    assert table.name == "standard input"
    pd.testing.assert_frame_equal(table.frame, FRAME, check_dtype=False)


def test_a_mark_at_the_beginning_and_semicolons_are_read(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"\xef\xbb\xbfx; y\n1;2\n3;4\n")
    assert read_table(str(path)).frame.to_dict("list") == {"x": [1, 3], "y": [2, 4]}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "is empty; the first line must hold the names of the columns."),
        ("a.jsonl", b"\n", "is empty"),
        ("a.csv", b"x,y\n", "has a header, but no rows."),
        ("a.csv", b"x,y\n1,2\n", "has one row; a bootstrap needs two or more."),
        ("a.csv", b"x,y\n1,2,3\n4,5,6\n", "every line must have as many cells as the header, which has 2"),
        ("a.csv", b"x,y\n1,2\n3,4,5\n", "cannot be read"),
        ("a.csv", b"x\n\xff\xfe\n", "is not text in UTF-8"),
        ("a.jsonl", b"{'x'", "cannot be read"),
        ("a.parquet", b"no", "cannot be read"),
        ("a.feather", b"no", "cannot be read"),
    ],
)
def test_what_cannot_be_read_is_told(name, content, message, tmp_path):
    if name.endswith(("parquet", "feather")):
        pytest.importorskip("pyarrow")
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_table(str(path))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "is a folder"),
        ("nowhere/a.csv", "there is no folder"),
        ("b.csv", "there is no"),
        ("a.xlsx", "FILE must be CSV"),
    ],
)
def test_what_is_no_such_file_is_told(name, message, tmp_path):
    (tmp_path / "a.xlsx").write_bytes(b"")
    with pytest.raises(ArgumentError, match=message):
        read_table(str(tmp_path / name))
