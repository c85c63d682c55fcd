"""What every command has, and what every one says of files that are not as they should be."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("typer")
pytest.importorskip("pandas")
pytest.importorskip("formulaic")
pytest.importorskip("sklearn")

import numpy as np
import pandas as pd

from tests.cli.schema import check_document
from tests.cli.test_ci import orthoboot

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"area": RNG.uniform(40, 200, 30).round(1), "p": RNG.uniform(size=30).round(3)})
FRAME["y"] = (RNG.uniform(size=30) < FRAME["p"]).astype(int)
FRAME["price"] = (3 * FRAME["area"] + RNG.normal(scale=20, size=30)).round(1)
MODEL = """
def total(rows):
    return rows["area"].sum(axis=1)
"""
COMMANDS = {
    "ci": ("ci", "rows.csv", "--columns", "area"),
    "metric": ("metric", "rows.csv", "--truth", "y", "--score", "p"),
    "fit": ("fit", "rows.csv", "--formula", "price ~ area"),
    "compare": ("compare", "rows.csv", "--columns", "area"),
    "predict": ("predict", "rows.csv", "--target", "price", "--columns", "area", "--new", "new.csv"),
    "predict a file": ("predict", "new.csv", "--target", "price", "--columns", "area", "--new", "rows.csv"),
    "simulate": ("simulate", "model.py:total", "--inputs", "rows.csv", "--horizon", "2", "--runs", "200"),
    "demo": ("demo",),
}
"""One call of every command; predict has two files that may be wrong."""

READING = [name for name in COMMANDS if name != "demo"]
"""Those that read rows.csv."""

MISSING = {
    "ci": ("ci", "rows.csv", "--columns", "arae"),
    "metric": ("metric", "rows.csv", "--truth", "y", "--score", "arae"),
    "fit": ("fit", "rows.csv", "--formula", "price ~ arae"),
    "compare": ("compare", "rows.csv", "--columns", "arae"),
    "predict": ("predict", "rows.csv", "--target", "price", "--columns", "arae", "--new", "new.csv"),
    "predict a target": ("predict", "rows.csv", "--target", "arae", "--new", "new.csv"),
    "strata": ("ci", "rows.csv", "--columns", "area", "--strata", "arae"),
}

pytestmark = pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Files for all commands in the current folder."""
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(MODEL)
    for name in ("rows.csv", "new.csv"):
        FRAME.to_csv(name, index=False)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_json_a_file_a_page_and_a_picture(name, files, run):
    pytest.importorskip("matplotlib")
    options = ("--json", "--output", "answer.csv", "--report", "page.html", "--plot", "picture.png")
    code, printed, complaints = run(*COMMANDS[name], *options)
    assert (code, complaints) == (0, "")
    results = check_document(printed)["results"]
    assert len(pd.read_csv("answer.csv")) == sum(len(result["outputs"]) for result in results)
    pages, pictures = list(Path.cwd().glob("page*.html")), list(Path.cwd().glob("picture*.png"))
    assert len(pages) == len(pictures) == len(results)
    assert all(picture.read_bytes().startswith(b"\x89PNG") for picture in pictures)
    typed = " ".join(("orthoboot", *COMMANDS[name], *options))
    for page in pages:
        shown = re.findall(r"<pre[^>]*><code>(.*?)</code></pre>", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert shown[0].replace("&#x27;", "").replace("'", "") == typed.replace("'", "")
        assert "import orthoboot as ob" in shown[1]


@pytest.mark.parametrize("name", READING)
def test_a_file_that_is_missing_is_told_with_the_nearest(name, files, run):
    arguments = [argument.replace("rows.csv", "row.csv") for argument in COMMANDS[name]]
    code, printed, complaints = run(*arguments)
    assert (code, printed) == (2, "")
    assert "FILE must exist; there is no 'row.csv'. Did you mean 'rows.csv'?" in complaints


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "rows.csv is empty; the first line must hold the names of the columns."),
        ("area,p,y,price\n", "rows.csv has a header, but no rows."),
        ("area,p,y,price\n1,0.5,1,2\n", "rows.csv has one row; a bootstrap needs two or more."),
    ],
    ids=["empty", "header", "one row"],
)
@pytest.mark.parametrize("name", READING)
def test_a_file_without_enough_rows_is_told(name, content, message, files, run):
    Path("rows.csv").write_text(content)
    code, printed, complaints = run(*COMMANDS[name])
    if name == "predict a file" and content.count("\n") == 2:  # one row can be predicted
        assert (code, complaints) == (0, "")
    else:
        assert (code, printed, complaints) == (1, "", f"orthoboot: {message}\n")


@pytest.mark.parametrize("name", MISSING)
def test_a_column_that_is_missing_is_told_with_the_nearest(name, files, run):
    code, printed, complaints = run(*MISSING[name])
    assert (code, printed) == (2, "")
    assert complaints.startswith("orthoboot: there is no column 'arae' in rows.csv. Did you mean 'area'")


@pytest.mark.parametrize("name", READING)
def test_text_among_numbers_is_told_with_its_rows(name, files, run):
    column = "p" if name == "metric" else "area"
    wrong = FRAME.astype({column: object})
    wrong.loc[2, column], wrong.loc[7, column] = "n/k", "soon"
    wrong.to_csv("rows.csv", index=False)
    code, printed, complaints = run(*COMMANDS[name])
    assert (code, printed) == (1, "")
    assert (
        f"column {column!r} of rows.csv must hold numbers; there is text in rows 3 ('n/k'), 8 ('soon')." in complaints
    )


def test_text_in_the_response_of_a_formula_is_told_and_labels_are_not_text_among_numbers(files, run):
    wrong = FRAME.astype({"price": object})
    wrong.loc[4, "price"] = "sold"
    wrong.to_csv("rows.csv", index=False)
    assert "there is text in row 5 ('sold')." in run(*COMMANDS["fit"])[2]
    labels = FRAME.assign(size=["1"] * 20 + ["large"] * 10)
    labels.to_csv("rows.csv", index=False)
    assert "there is text in rows 21 ('large')" in run("fit", "rows.csv", "-f", "price ~ area + size")[2]
    assert run("fit", "rows.csv", "-f", "price ~ area + C(size)")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ci", "rows.csv", "--statistic", "medain"), "got 'medain'. Did you mean 'median'"),
        (("compare", "rows.csv", "--statistic", "medain"), "got 'medain'. Did you mean 'median'"),
        (("metric", "rows.csv", "--truth", "y", "--score", "p", "-m", "rocauc"), "Did you mean 'roc_auc'"),
        (("compare", "rows.csv", "--estimators", "standart"), "Did you mean 'standard'?"),
        (("reproduce", "debais"), "Did you mean 'debias'?"),
        (("predit",), "Did you mean 'predict'?"),
    ],
)
def test_an_unknown_name_is_told_with_the_nearest(arguments, message, files, run):
    code, printed, complaints = run(*arguments)
    assert (code, printed) == (2, "")
    assert message in complaints


@pytest.mark.parametrize("option", ["--output", "--report", "--plot"])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_file_that_cannot_be_written_is_told_before_anything_is_computed(name, option, files, run, monkeypatch):
    monkeypatch.setattr("orthoboot.cli.tables.files.read_table", lambda *_, **__: pytest.fail("a file was read"))
    path = f"nowhere/a{ {'--output': '.csv', '--report': '.html', '--plot': '.png'}[option] }"
    code, printed, complaints = run(*COMMANDS[name], option, path)
    assert (code, printed) == (2, "")
    assert complaints == (
        f"orthoboot: `{option}` must be a file that can be written; {path!r}: No such file or directory.\n"
    )


@pytest.mark.skipif(os.name != "posix", reason="pipes of a terminal")
@pytest.mark.parametrize("arguments", [("demo",), ("demo", "--json"), COMMANDS["simulate"]])
def test_a_reader_that_leaves_after_a_line_is_no_error(arguments, files):
    read, write = os.pipe()
    with orthoboot(*arguments, stdout=write) as running:
        os.close(write)
        assert os.read(read, 1)  # as `head -1` does, and goes
        os.close(read)
        complaints = running.communicate(timeout=60)[1]
    assert (running.returncode, complaints) == (0, "")


@pytest.mark.skipif(os.name != "posix", reason="signals of a terminal")
def test_ctrl_c_within_a_model_ends_with_130_and_no_traceback(files):
    Path("model.py").write_text(
        "import sys, time\n\n\ndef total(rows):\n"
        "    print('begun', file=sys.stderr, flush=True)\n    time.sleep(60)\n    return rows['area'].sum(axis=1)\n"
    )
    with orthoboot(*COMMANDS["simulate"], stdout=subprocess.DEVNULL) as running:
        assert running.stderr.readline() == "begun\n"
        running.send_signal(signal.SIGINT)
        complaints = running.communicate(timeout=60)[1]
    assert running.returncode == 130
    assert "Traceback" not in complaints


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("orthoboot ", {"ci", "metric", "fit", "compare", "simulate", "predict", "demo", "reproduce"}),
        ("orthoboot metric --metric r", {"roc_auc", "recall", "rmse", "r2"}),
        ("orthoboot predict --model b", {"boosting"}),
        ("orthoboot simulate --re", {"--report"}),
        ("orthoboot predict --pl", {"--plot"}),
    ],
)
@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_shells_complete_commands_options_and_names(typed, expected, shell):
    words = typed.split(" ")
    environment = os.environ | {
        "_ORTHOBOOT_COMPLETE": f"complete_{shell}",
        "_TYPER_COMPLETE_ARGS": typed,
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(words) - 1),
    }
    ended = subprocess.run(
        [sys.executable, "-c", "from orthoboot.cli import main; main()"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    found = ended.stdout.split() if shell == "bash" else re.findall(r'^"?([\w-]+)', ended.stdout, flags=re.MULTILINE)
    assert expected <= {re.sub(r'[":]', "", word) for word in (*found, *re.findall(r'"([^"]+)"', ended.stdout))}
