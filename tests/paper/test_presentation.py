"""Markdown, CSV, the terminal, pictures and the page: nothing lost, nothing broken, the same bytes every time."""

from __future__ import annotations

import csv
import math
import re
from html.parser import HTMLParser
from io import StringIO

import numpy as np
import pytest

from orthoboot.paper.experiment import Case, Settings
from orthoboot.paper.markdown import markdown_report
from orthoboot.paper.page import excerpt, html_page
from orthoboot.paper.section import Section
from orthoboot.presentation.figures import Figure
from orthoboot.presentation.report import Report
from orthoboot.presentation.tables import MARK, ReportTable, Simulated
from orthoboot.presentation.text import csv_table, markdown_table

TABLE = ReportTable(
    "widths",
    "Widths <of> 95% & more",
    ["method", "B", "width"],
    [
        ["a | b", 2, Simulated(0.1234567, 0.001, printed="0.124")],
        ["<script>alert(1)</script>", "", Simulated(0.5, 0.001, printed="0.4")],
        ["[red]none[/red]", 10, Simulated(2.0)],
    ],
)
PAIRS = [("ours", "0.123 ± 0.001"), ("theirs", "0.124"), ("far", f"0.4 {MARK}")]


def draw(figure):
    panel = figure.subplots()
    panel.fill_between([0, 1, 2], [0, 1, 0], [1, 2, 3], alpha=0.3)
    panel.plot(np.arange(3), marker="o", label="a line")
    panel.legend()


def section(name="ci", tables=(TABLE,), figures=(), quick=False):
    report = Report("Widths <i>", ["Words & `code`."], tables, figures)
    return Section(name, report, [Case("normal", 1000)], Settings(quick=quick, seed=7))


def page_of(*sections, pictures=None, missing=()):
    return html_page([excerpt(one, pictures or {}) for one in sections], "orthoboot 1, seed 7, quick", missing)


FIGURE = Figure("line", 'A "line" <b>', draw, size=(4.0, 3.0))


class Balance(HTMLParser):
    """Checks that every tag is closed in turn, and collects the text and the addresses."""

    VOID = frozenset({"meta", "img"})

    def __init__(self, page):
        super().__init__()
        self.open, self.words, self.tags, self.addresses, self.names = [], [], [], [], set()
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.addresses += [value for name, value in attrs if name in ("href", "src")]
        self.names |= {value for name, value in attrs if name == "id"}
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


@pytest.mark.parametrize(("what", "shown"), PAIRS)
def test_every_kind_of_table_has_ours_and_theirs_with_the_mark(what, shown):
    page = Balance(page_of(section()))
    assert shown in markdown_table(TABLE)
    assert shown in page.words
    assert shown in _on_the_terminal(section())


def test_a_bar_in_a_cell_does_not_break_the_row_of_a_markdown_table():
    lines = markdown_table(TABLE).splitlines()
    assert lines[1] == "| --- | ---: | ---: | ---: |"
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {5}


def test_csv_has_every_number_in_full_and_reads_back():
    headings, *rows = csv.reader(StringIO(csv_table(TABLE)))
    assert headings == ["method", "B", "width", "width: error", "width: paper", "width: distance in errors"]
    assert {len(row) for row in rows} == {6}
    assert float(rows[0][2]) == 0.1234567
    assert float(rows[0][5]) == TABLE.rows[0][2].distance
    assert rows[2] == ["[red]none[/red]", "10", "2.0", "", "", ""]


def test_ours_without_a_number_does_not_agree_with_the_paper():
    assert not Simulated(math.nan, 0.1, printed="0.4").agrees
    assert Simulated(math.nan, 0.1).agrees


def test_an_error_is_seen_however_small_and_a_zero_has_no_sign():
    assert Simulated(0.0758, 0.0002).shown == "0.0758 ± 0.0002"
    assert Simulated(-0.0004, digits=2).shown == "0.00"


def test_the_markdown_file_links_to_the_files_and_says_which_run_it_is():
    text = markdown_report(section(figures=[FIGURE], quick=True))
    for part in ("# Widths <i>", "Words & `code`.", "(ci-widths.csv)", "(ci-line.svg)", "ICML 2024"):
        assert part in text
    assert "seed 7, quick" in text
    assert "normal: 1,000" in text


def test_files_of_two_experiments_do_not_collide_and_no_name_is_doubled():
    one = section("ci")
    assert [one.stem(name) for name in ("ci", "ci-lognormal", "widths", "circle")] == [
        "ci",
        "ci-lognormal",
        "ci-widths",
        "ci-circle",
    ]


def test_a_picture_has_the_same_bytes_whatever_the_user_has_set():
    matplotlib = pytest.importorskip("matplotlib")
    from orthoboot.presentation.figures import drawn

    first = drawn(FIGURE)
    with matplotlib.rc_context({"font.size": 30, "svg.hashsalt": None, "figure.dpi": 30}):
        second = drawn(FIGURE)
        assert matplotlib.rcParams["font.size"] == 30
    assert first == second
    assert first.png.startswith(b"\x89PNG")
    assert b"<svg" in first.svg
    assert not re.search(rb"<dc:date>|matplotlib v", first.svg, flags=re.IGNORECASE)


def test_the_page_is_well_formed_and_escapes_all_that_it_is_given():
    pytest.importorskip("matplotlib")
    from orthoboot.presentation.figures import drawn

    text = page_of(section(figures=[FIGURE]), section("debias"), pictures={"ci-line": drawn(FIGURE)})
    page = Balance(text)
    assert "<script>alert(1)</script>" in page.words
    assert not {"script", "i", "link", "object", "iframe"} & set(page.tags)
    assert 'alt="A &quot;line&quot; &lt;b&gt;"' in text
    assert "<code>code</code>" in text


def test_the_page_needs_nothing_from_elsewhere():
    pytest.importorskip("matplotlib")
    from orthoboot.presentation.figures import drawn

    text = page_of(section(figures=[FIGURE]), section("debias"), pictures={"ci-line": drawn(FIGURE)})
    page = Balance(text)
    for address in page.addresses:
        own = address.startswith("data:image/svg+xml;base64,") or (
            address.startswith("#") and address[1:] in page.names
        )
        assert own or address in ("ci-widths.csv", "debias-widths.csv")
    assert not re.search(r"https?:|@import|url\(", text)


def test_the_page_says_which_run_it_is_and_explains_the_mark():
    words = " ".join(Balance(page_of(section(quick=True), missing=["rates"])).words)
    for part in (
        "seed 7",
        "quick",
        "normal: 1,000",
        "more than three errors",
        "Differences from the paper: 1",
        "Not reproduced here: rates.",
    ):
        assert part in words


@pytest.mark.parametrize("columns", [80, 100])
def test_a_wide_table_fits_a_terminal_and_loses_nothing(columns, monkeypatch):
    headings = ["method", "B", "coverage", "mean width", "its deviation"]
    row = ["the paper's orthogonal", 10, *[Simulated(0.123, 0.011, printed="0.999")] * 3]
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = _on_the_terminal(section(tables=[ReportTable("wide", "Wide", headings, [row])]), terminal=True)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines()
    assert max(map(len, lines)) <= columns
    assert "…" not in shown
    assert "\x1b[1;31m0.999" in shown


def test_a_table_without_rows_is_shown_by_its_headings():
    empty = section(tables=[ReportTable("empty", "Empty", ["method", "B"], [])])
    for shown in (_on_the_terminal(empty), markdown_report(empty), page_of(empty)):
        assert "method" in shown


def test_a_pipe_gets_whole_rows_without_colours():
    shown = _on_the_terminal(
        section(tables=[ReportTable("wide", "Wide", ["word"] * 9, [["a word of some length"] * 9])])
    )
    assert "  ".join(["a word of some length"] * 9) in shown
    assert "\x1b" not in shown


def _on_the_terminal(shown, terminal=False):
    pytest.importorskip("rich")
    from orthoboot.paper.terminal import show
    from orthoboot.presentation.terminal import console

    stream = StringIO()
    stream.isatty = lambda: terminal
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("TERM", "xterm-256color")
        environment.delenv("NO_COLOR", raising=False)
        show(shown, console(stream))
    return stream.getvalue()
