"""The page docs/paper.md: its numbers are those that the command wrote."""

from __future__ import annotations

import csv
import json
import re
import runpy

import pytest

from orthoboot.paper import EXPERIMENTS
from tests.conftest import REPOSITORY

DOCS = REPOSITORY / "docs"
PAGE = (DOCS / "paper.md").read_text(encoding="utf-8")
filled = runpy.run_path(str(DOCS / "fill_paper.py"))["filled"]


def test_the_tables_of_the_page_are_those_that_the_command_wrote():
    assert filled(PAGE, DOCS / "paper") == PAGE
    names = re.findall(r"<!-- table: (\S+) -->", PAGE)
    assert {name.partition("-")[0] for name in names} == set(EXPERIMENTS), "every experiment is on the page"


def test_the_page_names_the_full_run_that_its_numbers_come_from():
    runs = json.loads((DOCS / "paper" / "run.json").read_text(encoding="utf-8"))
    assert list(runs) == list(EXPERIMENTS)
    assert len({json.dumps(run) for run in runs.values()}) == 1, "one run, of one version of the code"
    run = runs["ci"]
    assert run["quick"] is False
    assert f"orthoboot {run['orthoboot']}, seed {run['seed']}, full." in PAGE


def test_the_figures_of_the_page_are_there():
    figures = re.findall(r"!\[.+\]\((.+)\)", PAGE)
    assert len(figures) == 5
    assert all((DOCS / figure).is_file() for figure in figures)


# What the page says of its tables


def records(name: str) -> list[dict[str, str]]:
    with (DOCS / "paper" / f"{name}.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def marks(name: str) -> set[tuple[str, str, str]]:
    """Rows and columns in which ours is further than three errors from the paper's."""
    return {
        (row["method"], row["B"], heading.removesuffix(": distance in errors"))
        for row in records(name)
        for heading, distance in row.items()
        if heading.endswith(": distance in errors") and distance and abs(float(distance)) > 3
    }


def test_the_first_three_columns_of_confidence_intervals_agree_but_for_one_coverage():
    assert marks("ci-folded-normal") == marks("ci-double-exponential") == set()
    assert marks("ci-lognormal") == {("orthogonal (paper's)", "10", "coverage")}


def test_the_coverages_of_the_regression_agree_and_its_widths_do_not():
    found = marks("ci-regression")
    assert not {mark for mark in found if mark[2] == "coverage"}
    assert len({mark for mark in found if mark[2] == "mean width"}) == 10


def test_our_width_varies_no_more_than_the_papers_from_five_resamples_on():
    for row in records("ci-deviations"):
        if int(row["B"]) >= 5:
            assert float(row["difference"]) <= float(row["difference: error"])


@pytest.mark.parametrize("problem", ["ellipsoidal", "polynomial", "entropy"])
def test_naive_and_the_papers_estimator_agree_in_the_table_of_debiasing(problem):
    assert {method for method, *_ in marks(f"debias-{problem}")} <= {"standard"}


def test_the_sums_of_medians_agree_with_the_papers_table_but_for_one_naive_row():
    found = {
        (row["problem"], row["method"])
        for row in records("debias-medians")
        for measure in ("RMSE", "BIAS")
        if (distance := row[f"{measure}: distance in errors"]) and abs(float(distance)) > 3
    }
    assert found == {("Optimisation", "naive")}


def test_the_standard_bootstrap_of_the_ellipsoid_is_as_in_theory_and_not_as_printed():
    (row,) = [row for row in records("debias-ellipsoidal") if (row["method"], row["B"]) == ("standard", "2")]
    assert float(row["RMSE"]) == pytest.approx(8.5, abs=3 * float(row["RMSE: error"]))
    assert float(row["RMSE: distance in errors"]) > 5


def test_the_influence_functions_are_equal_to_rounding():
    assert all(float(row["largest relative difference"]) < 1e-13 for row in records("influence"))


def test_the_rates_are_those_of_theory():
    for row in records("rates-n"):
        assert float(row["slope"]) == pytest.approx(float(row["theory"]), abs=0.15)
    for row in records("rates-B"):
        assert float(row["slope from B = 50"]) == pytest.approx(float(row["theory"]), abs=0.15)


def test_a_page_takes_tables_by_their_names(tmp_path):
    (tmp_path / "one.md").write_text(
        "# One\n\n## A title\n\n| a |\n| --- |\n| 1 |\n\nIn full: [one-a.csv](one-a.csv)\n\n---\n\n"
        "orthoboot 1.0, seed 3, full. Repetitions: x: 5.\n"
    )
    page = "<!-- run -->\n\northoboot 0.9, seed 1, quick.\n\nText.\n\n<!-- table: one-a -->\n\n| old |\n\nMore.\n"
    table = "<!-- table: one-a -->\n\n| a |\n| --- |\n| 1 |\n"
    expected = f"<!-- run -->\n\northoboot 1.0, seed 3, full.\n\nText.\n\n{table}\nMore.\n"
    assert filled(page, tmp_path) == expected
    assert filled(expected, tmp_path) == expected
    empty = "<!-- table: one-a -->\n\n<!-- table: one-a -->\n"
    assert filled(empty, tmp_path) == f"{table}\n{table}"
    (tmp_path / "two.md").write_text("---\n\northoboot 1.0, seed 4, full. Repetitions: x: 5.\n")
    with pytest.raises(ValueError, match="must come from one run"):
        filled(page, tmp_path)
