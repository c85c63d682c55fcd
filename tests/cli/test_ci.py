"""`orthoboot ci`: the numbers are those of the library, whatever the file, the groups and the plan."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("typer")
pytest.importorskip("pandas")

import pandas as pd

import orthoboot as ob
from orthoboot.cli.options import EstimatorName, IntervalName
from orthoboot.cli.statistics import METRICS, STATISTICS
from orthoboot.cli.tables import pieces
from orthoboot.estimators import ESTIMATORS
from orthoboot.intervals import INTERVALS
from tests.cli.conftest import LAW
from tests.cli.schema import check_document

ROOT = Path(__file__).parents[2]
PAIR = ("--statistic", "correlation", "--columns", "LSAT,GPA")
FRAME = pd.read_csv(io.StringIO(LAW))

pytestmark = pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")


def first(document):
    return document["results"][0]["outputs"][0]


def same(found, result, output=0):
    """Whether a document has the numbers of a result."""
    flat = result.run.output.flatten
    for name, value in (
        ("estimate", result.estimate),
        ("bias", result.bias),
        ("standard_error", result.standard_error),
        ("low", result.confidence_interval.low),
        ("high", result.confidence_interval.high),
    ):
        assert found[name] == pytest.approx(flat(value)[output], rel=1e-12, abs=1e-15), name


# The numbers


def test_the_text_is_that_of_the_result(law, run):
    result = ob.bootstrap(FRAME[["LSAT", "GPA"]], ob.correlation, rng=0)
    assert run("ci", "law.csv", *PAIR) == (0, result.summary() + "\n", "")


def test_the_json_has_the_numbers_of_the_result(law, run):
    code, printed, _ = run("ci", "law.csv", *PAIR, "--level", 0.9, "--seed", 3, "--interval", "normal", "--json")
    document = check_document(printed)
    assert code == 0
    assert document["arguments"]["columns"] == "LSAT,GPA"
    assert document["results"][0]["interval"] == "normal"
    options = {"confidence_level": 0.9, "method": "normal", "rng": 3}
    same(first(document), ob.bootstrap(FRAME[["LSAT", "GPA"]], ob.correlation, **options))


@pytest.mark.parametrize("name", STATISTICS)
def test_every_statistic_can_be_asked_for(name, law, run):
    entry = STATISTICS[name]
    written = name if entry.parameter is None else f"{name}:{ {'q': 0.9, 'p': 0.1, 'power': 2}[entry.parameter] }"
    columns = "sex" if entry.columns == "labels" else "LSAT,GPA"
    code, printed, complaints = run("ci", "law.csv", "-s", written, "-c", columns, "--json")
    assert (code, complaints) == (0, "")
    assert check_document(printed)["results"][0]["outputs"]


def test_the_names_are_those_of_the_catalogue():
    later = {"compose", "difference", "function_of_means", "glm", "linear_regression", "logistic_regression"}
    later |= {"m_estimator", "minimize", "paired_difference", "relative_difference", "covariance_factor", "Functional"}
    from orthoboot import functionals

    public = {name for name in functionals.__all__ if name in ob.__all__}
    assert public - later == {*STATISTICS, *METRICS}
    assert {name.value for name in EstimatorName} == set(ESTIMATORS)
    assert {name.value for name in IntervalName} == set(INTERVALS)


def test_several_statistics_columns_and_options(law, run):
    code, printed, _ = run("ci", "law.csv", "-s", "variance,std", "--parameter", "ddof=1", "--json")
    results = check_document(printed)["results"]
    assert code == 0
    assert [result["statistic"] for result in results] == ["variance", "std"]
    assert [output["name"] for output in results[0]["outputs"]] == ["LSAT", "GPA"]
    assert results[0]["outputs"][1]["estimate"] == pytest.approx(FRAME["GPA"].var())
    assert results[1]["outputs"][0]["estimate"] == pytest.approx(FRAME["LSAT"].std())


def test_by_gives_an_interval_for_each_group(law, run):
    code, printed, _ = run("ci", "law.csv", "-c", "GPA", "--by", "sex", "--json")
    results = check_document(printed)["results"]
    assert code == 0
    assert [result["label"] for result in results] == ["sex=f", "sex=m"]
    for result, (_, rows) in zip(results, FRAME.groupby("sex"), strict=True):
        same(result["outputs"][0], ob.bootstrap(rows[["GPA"]], ob.mean, rng=0))
    shown = run("ci", "law.csv", "-c", "GPA", "--by", "sex")[1]
    assert "sex=f GPA" in shown
    assert "Warnings:" in shown


@pytest.mark.parametrize(
    ("options", "of"), [((), ob.difference(ob.mean)), (("--relative",), ob.relative_difference(ob.mean))]
)
def test_compare_gives_differences_to_the_baseline(options, of, law, run):
    f, m = (rows[["GPA"]] for _, rows in FRAME.groupby("sex"))
    code, printed, _ = run("ci", "law.csv", "-c", "GPA", "--compare", "sex", *options, "--json")
    document = check_document(printed)
    assert code == 0
    assert document["results"][0]["label"] == "sex: m against f"
    assert document["results"][0]["n_rows"] == [7, 8]
    same(first(document), ob.bootstrap((m, f), of, rng=0))
    swapped = run("ci", "law.csv", "-c", "GPA", "--compare", "sex", "--baseline", "m", *options, "--json")[1]
    same(first(check_document(swapped)), ob.bootstrap((f, m), of, rng=0))


def test_a_pair_of_columns_can_be_compared_between_groups(law, run):
    f, m = (rows[["LSAT", "GPA"]] for _, rows in FRAME.groupby("sex"))
    document = check_document(run("ci", "law.csv", *PAIR, "--compare", "sex", "--json")[1])
    same(first(document), ob.bootstrap((m, f), ob.difference(ob.correlation), rng=0))


@pytest.mark.parametrize(
    ("options", "plan"),
    [
        (("--strata", "sex"), {"strata": FRAME["sex"]}),
        (("--clusters", "school"), {"groups": FRAME["school"]}),
        (("--blocks", "3"), {"block_length": 3}),
        (("--blocks", "auto"), {"block_length": "auto"}),
        (("--estimator", "standard", "--resamples", "50"), {"estimator": "standard", "n_resamples": 50}),
        (("--tol", "0.2"), {"tol": 0.2}),
    ],
)
def test_plans_and_settings_are_those_of_the_library(options, plan, law, run):
    code, printed, complaints = run("ci", "law.csv", *PAIR, *options, "--json")
    assert (code, complaints) == (0, "")
    same(first(check_document(printed)), ob.bootstrap(FRAME[["LSAT", "GPA"]], ob.correlation, rng=0, **plan))


def test_strata_and_blocks_of_groups_that_are_compared(law, run):
    frame = FRAME.assign(half=[0, 0, 1, 1] * 3 + [0, 1, 0])
    frame.to_csv("law.csv", index=False)
    f, m = (rows for _, rows in frame.groupby("sex"))
    document = check_document(run("ci", "law.csv", "-c", "GPA", "--compare", "sex", "--strata", "half", "--json")[1])
    strata = (m["half"], f["half"])
    same(first(document), ob.bootstrap((m[["GPA"]], f[["GPA"]]), ob.difference(ob.mean), strata=strata, rng=0))
    document = check_document(run("ci", "law.csv", "-c", "GPA", "--compare", "sex", "--blocks", "2", "--json")[1])
    same(first(document), ob.bootstrap((m[["GPA"]], f[["GPA"]]), ob.difference(ob.mean), block_length=(2, 2), rng=0))


# Large files


def test_a_large_parquet_file_is_read_part_by_part_with_the_same_answer(law, run, monkeypatch):
    pytest.importorskip("pyarrow")
    FRAME.to_parquet("law.parquet", row_group_size=4)
    in_memory = run("ci", "law.parquet", *PAIR, "--interval", "abc", "--json")[1]
    monkeypatch.setattr(pieces, "LARGE", 10)
    monkeypatch.setattr("orthoboot.cli.tables.files.read_table", lambda path: pytest.fail("the file was loaded"))
    code, printed, complaints = run("ci", "law.parquet", *PAIR, "--interval", "abc", "--json")
    assert (code, complaints) == (0, "")
    parts, whole = check_document(printed), check_document(in_memory)
    assert parts["results"][0]["n_resamples"] == whole["results"][0]["n_resamples"]
    for name in ("estimate", "bias", "standard_error", "low", "high"):
        # To rounding, of which the slope of 2000 replicates on their control keeps some.
        assert first(parts)[name] == pytest.approx(first(whole)[name], rel=1e-7, abs=1e-9)
    assert [o["name"] for o in check_document(run("ci", "law.parquet", "--json")[1])["results"][0]["outputs"]] == [
        "LSAT",
        "GPA",
    ]
    assert "Did you mean 'LSAT'?" in run("ci", "law.parquet", "-c", "LSTA")[2]


@pytest.mark.parametrize("options", [("-s", "gini"), ("--by", "sex"), ("--interval", "bca"), ("--blocks", "2")])
def test_what_needs_all_rows_loads_a_large_file(options, law, run, monkeypatch):
    pytest.importorskip("pyarrow")
    FRAME.to_parquet("law.parquet")
    monkeypatch.setattr(pieces, "LARGE", 10)
    assert run("ci", "law.parquet", "-c", "GPA", *options)[0] == 0


# What can be wrong


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("lwa.csv",), 2, "FILE must exist; there is no 'lwa.csv'. Did you mean 'law.csv'?"),
        (("law.csv", "-c", "LSTA"), 2, "there is no column 'LSTA' in law.csv. Did you mean 'LSAT'?"),
        (("law.csv", "-c", "gpa"), 2, "Did you mean 'GPA'?"),
        (("law.csv", "-c", "xyzzy"), 2, "It has 'LSAT', 'GPA', 'sex', 'school'."),
        (("law.csv", "--by", "sexe"), 2, "there is no column 'sexe' in law.csv. Did you mean 'sex'?"),
        (("law.csv", "-s", "corelation"), 2, "got 'corelation'. Did you mean 'correlation'"),
        (("law.csv", "-s", "roc_auc"), 2, "'roc_auc' is a metric of predictions: `orthoboot metric"),
        (("law.csv", "-s", ","), 2, "`--statistic` must name a statistic: mean,"),
        (("law.csv", "-s", "quantile"), 2, "needs a number after a colon, such as quantile:0.9"),
        (("law.csv", "-s", "quantile:high"), 2, "'high' in 'quantile:high' must be a number."),
        (("law.csv", "-s", "mean:2"), 2, "takes no number after a colon"),
        (("law.csv", "--parameter", "ddof"), 2, "`--parameter` must be NAME=NUMBER, such as ddof=1"),
        (("law.csv", "-s", "std", "--parameter", "dof=1"), 2, "dof"),
        (("law.csv", "-s", "correlation", "-c", "GPA"), 2, "takes 2 columns; got GPA. Name 2 with `--columns`."),
        (("law.csv", "-s", "entropy"), 2, "takes 1 column; got LSAT, GPA."),
        (("law.csv", "-c", "sex"), 1, "there is text in rows 1 ('f'), 2 ('m'), 3 ('f'), 4 ('m'), 5 ('f') and 10 more."),
        (("law.csv", "--relative"), 2, "need `--compare COLUMN`"),
        (("law.csv", "--by", "sex", "--compare", "sex"), 2, "must be two columns"),
        (("law.csv", "--compare", "sex", "--baseline", "x"), 2, "must be a value of 'sex': 'f', 'm'; got 'x'."),
        (("law.csv", "--level", "95"), 2, "`--level` must lie in (0, 1); got 95.0. For 95% use 0.95."),
        (("law.csv", "--blocks", "two"), 2, "`--blocks` must be"),
        (("law.csv", "--interval", "bcaa"), 2, "is not one of 'auto'"),
        (("law.csv", "--resamples", "0"), 2, "`--resamples` must be"),
        (("law.csv", "--by", "school", "-c", "GPA"), 1, "school=h: "),
        (
            ("law.csv", "--output", "nowhere/x.json"),
            2,
            "`--output` must be a file that can be written; 'nowhere/x.json'",
        ),
        (("law.csv", "--output", "."), 2, "`--output` must be a file that ends in .csv"),
        (("law.csv", "--report", "page.pdf"), 2, "`--report` must be a file that ends in .html"),
        (("law.csv", "--plot", "nowhere/p.png"), 2, "`--plot` must be a file that can be written"),
    ],
)
def test_errors_name_what_is_wrong_and_what_to_do(arguments, code, message, law, run):
    ended, printed, complaints = run("ci", *arguments)
    assert message in complaints
    assert (ended, printed) == (code, "")


def test_an_unwritable_output_is_an_error_before_anything_is_computed(law, run, monkeypatch):
    monkeypatch.setattr("orthoboot.cli.tables.files.read_table", lambda path: pytest.fail("the file was read"))
    assert run("ci", "law.csv", "--output", "law.csv/x.json")[0] == 2
    assert not Path("x.json").exists()


def test_empty_cells_are_refused_with_their_rows_or_left_out(law, run):
    law.write_text(LAW.replace("2.81", "").replace("3.44", ""))
    code, _, complaints = run("ci", "law.csv", "-c", "GPA")
    assert code == 1
    assert "column 'GPA' of law.csv has no value in rows 3, 5." in complaints
    code, printed, _ = run("ci", "law.csv", "-c", "GPA", "--drop-missing", "--json")
    document = check_document(printed)
    assert (code, document["results"][0]["n_rows"]) == (0, [13])
    assert document["notes"] == ["2 row(s) with empty cells are left out."]


def test_text_in_a_column_of_numbers_is_told_with_its_row(law, run):
    law.write_text(LAW.replace("3.03", "three"))
    code, _, complaints = run("ci", "law.csv", "-c", "GPA")
    assert code == 1
    assert "column 'GPA' of law.csv must hold numbers; there is text in row 4 ('three')." in complaints
    assert "Note: left out, since they do not hold numbers alone: GPA, sex, school." in run("ci", "law.csv")[1]


@pytest.mark.parametrize(
    ("content", "arguments", "code", "message"),
    [
        ("a,b\nx,y\nz,w\n", (), 2, "rows.csv has no column of numbers; name one with `--columns`."),
        ("a,g\n1,x\n2,x\n", ("--compare", "g"), 2, "with two or more groups; 'g' has 'x' alone."),
        ("a,b\n1,\n,2\n3,4\n", ("--drop-missing",), 1, "rows.csv has 1 row(s) with a value in every column of a, b."),
    ],
)
def test_rows_that_cannot_be_used_are_told(content, arguments, code, message, law, run):
    Path("rows.csv").write_text(content)
    ended, printed, complaints = run("ci", "rows.csv", *arguments)
    assert message in complaints
    assert (ended, printed) == (code, "")


def test_dates_are_no_numbers_and_truth_values_are(law, run):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=20), "late": [True, False, False, False] * 5})
    frame.assign(amount=pd.array([1, 2] * 10, dtype="Int64")).to_parquet("days.parquet")
    code, printed, _ = run("ci", "days.parquet", "--json")
    found = [output["estimate"] for output in check_document(printed)["results"][0]["outputs"]]
    assert (code, found) == (0, [0.25, 1.5])
    code, _, complaints = run("ci", "days.parquet", "-c", "day")
    assert code == 1
    assert "column 'day' of days.parquet must hold numbers; it holds dates." in complaints


def test_groups_may_be_numbers_and_words_and_many(law, run):
    rows = [{"x": i % 7, "g": "+" if i < 4 else i // 4} for i in range(200)]
    pd.DataFrame(rows).to_json("rows.jsonl", orient="records", lines=True)
    shown = run("ci", "rows.jsonl", "-c", "x", "--by", "g")[1]
    assert "g=+ x" in shown
    assert "- 10 more rows are not shown; `--output` writes them all." in shown


# The terminal


def orthoboot(*arguments, **options):
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-m", "orthoboot", *arguments]
    return subprocess.Popen(command, env=environment, text=True, stderr=subprocess.PIPE, **options)


def test_standard_input_is_read_and_a_reader_that_leaves_is_no_error(law):
    with law.open() as stream:
        running = orthoboot("ci", "-", *PAIR, "--json", stdin=stream, stdout=subprocess.PIPE)
        printed, complaints = running.communicate(timeout=60)
    assert (running.returncode, complaints) == (0, "")
    same(first(check_document(printed)), ob.bootstrap(FRAME[["LSAT", "GPA"]], ob.correlation, rng=0))


@pytest.mark.skipif(os.name != "posix", reason="pipes of a terminal")
def test_a_reader_that_has_gone_is_no_error(law):
    read, write = os.pipe()
    os.close(read)
    running = orthoboot("ci", str(law), *PAIR, stdout=write)
    os.close(write)
    _, complaints = running.communicate(timeout=60)
    assert (running.returncode, complaints) == (0, "")


@pytest.mark.skipif(os.name != "posix", reason="signals of a terminal")
def test_ctrl_c_ends_with_130_and_no_traceback(law):
    running = orthoboot("ci", "-", stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    running.stdin.write("x\n" + "1\n" * 500_000)  # more than a pipe holds: it has begun to read
    running.stdin.flush()
    running.send_signal(signal.SIGINT)
    complaints = running.communicate(timeout=60)[1]
    assert running.returncode == 130
    assert "Traceback" not in complaints


def test_an_interrupted_run_shows_what_it_has_and_ends_with_130(law, run, monkeypatch):
    whole = ob.bootstrap

    def interrupted(*arguments, **options):
        result = whole(*arguments, **options)
        vars(result)["warnings"] = (ob.errors.InterruptedWarning("interrupted"),)
        return result

    monkeypatch.setattr(ob, "bootstrap", interrupted)
    code, printed, _ = run("ci", "law.csv", *PAIR, "--json")
    assert code == 130
    assert check_document(printed)["results"][0]["interrupted"] is True


def test_the_help_imports_nothing_that_takes_long():
    program = (
        "import sys; from orthoboot.cli import main; main(['ci', '--help']);"
        "print([name for name in ('numpy', 'pandas', 'scipy', 'pyarrow', 'orthoboot.api') if name in sys.modules])"
    )
    start = time.perf_counter()
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    print(f"help: {time.perf_counter() - start:.2f} s")  # 0.15 s where nothing else runs
    assert ended.stdout.endswith("[]\n")


def test_shells_complete_the_names_of_statistics():
    environment = os.environ | {
        "_ORTHOBOOT_COMPLETE": "complete_bash",
        "COMP_WORDS": "orthoboot ci -s co",
        "COMP_CWORD": "3",
    }
    program = "from orthoboot.cli import main; main()"
    ended = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert ended.stdout.split() == ["correlation", "covariance", "covariance_matrix"]
