"""The comparison with other libraries at sizes of a moment: missing peers, the file, the page, the regression check."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
from benchmarks import memory, peers, record, tables
from benchmarks.contests import AS_ACCURATE, FEWEST, WORKS, Contest, correlation_same_accuracy, deviation_same_accuracy
from benchmarks.peers import measured
from benchmarks.record import OURS, Contender, Machine, Record, Row, regressions
from benchmarks.stopwatch import extrapolated, one_more, paired

MACHINE = Machine("a processor", 2, "Linux", "3.12.1", {"numpy": "2.0"}, compiled=True)
PEERS = ("arch", "foostrap", "resample")

needs_peaks = pytest.mark.skipif(sys.platform == "win32", reason="Windows tells of no peak")


def work(name: str, n_rows: int = 300, n_resamples: int = 20):
    (found,) = (each for each in WORKS if each.name == name)
    return replace(found, n_rows=n_rows, n_resamples=n_resamples)


def row(name: str, ratio: float | None, **options) -> Row:
    """A row with one peer, timed or not."""
    if ratio is None:
        return Row(name, 10, (Contender(OURS, 10, 0.5), Contender("arch", note="not installed: arch")), **options)
    quartiles = (0.9 * ratio, ratio, 1.1 * ratio)
    peer = Contender("arch", 10, 0.5 * ratio, quartiles, peak_mb=3.0, error=0.2)
    return Row(name, 10, (Contender(OURS, 10, 0.5, peak_mb=2.0, error=0.001), peer), **options)


def run(*rows: Row, **options) -> Record:
    return Record("peers", MACHINE, rows, **options)


@pytest.fixture
def no_peers(monkeypatch):
    """Without the packages that the extra `bench` brings, whether they are installed or not."""
    # A module of a package that is loaded already would be found without it.
    loaded = [name for name in sys.modules if name.split(".")[0] in PEERS]
    for name in {*PEERS, *loaded}:
        monkeypatch.setitem(sys.modules, name, None)


def test_the_table_has_twelve_rows_of_different_names():
    assert len({each.name for each in WORKS}) == 12


def test_a_missing_peer_is_named_and_the_others_are_timed(no_peers):
    found = measured(work("variance n = 1e6, same B"), 1, with_memory=False)
    assert found.failure == ""
    ours, scipy, arch, resample = found.contenders
    assert (ours.n_resamples, scipy.n_resamples) == (20, 20)
    assert ours.seconds > 0
    assert found.rival == scipy
    assert found.ratio == scipy.ratio
    assert scipy.error == pytest.approx(38**-0.5)
    assert (arch.seconds, arch.note) == (None, "not installed: arch")
    assert resample.note == "not installed: resample"
    assert "arch not installed: arch" in tables.peers_notes(run(found))


def test_a_row_whose_peers_are_all_missing_has_our_time_and_no_ratio(no_peers):
    found = measured(work("std n = 1e6, same B, against foostrap"), 1, with_memory=False)
    assert found.ours.seconds > 0
    assert (found.rival, found.ratio, found.is_met, found.lead) == (None, None, None, None)


@pytest.mark.parametrize("name", [each.name for each in WORKS])
def test_every_work_runs_with_what_is_installed(name):
    found = measured(work(name), 1, with_memory=False)
    assert found.failure == ""
    assert found.ours.seconds > 0
    assert not [each.note for each in found.contenders if each.note.startswith("failed")]


@pytest.mark.parametrize("make", [correlation_same_accuracy, deviation_same_accuracy])
def test_ours_are_as_accurate_as_a_thousand_replicates(make):
    """Over twenty seeds, within a tenth of the 2.2% of a thousand ordinary replicates."""
    ours = make(100_000, AS_ACCURATE).ours
    truth = ours.func(*ours.args, n_resamples=200, rng=100).standard_error
    found = [ours.func(*ours.args, **{**ours.keywords, "rng": seed}).standard_error for seed in range(20)]
    assert np.sqrt(np.mean((np.array(found) / truth - 1) ** 2)) < 0.1 / np.sqrt(2 * (AS_ACCURATE - 1))


def test_extrapolated_times_are_called_so(no_peers):
    found = measured(work("variance n = 1e6, same accuracy"), 1, with_memory=False)
    assert found.contenders[1].note == "extrapolated from B = 10 and 50"
    assert found.ours.n_resamples == FEWEST


def test_what_ours_raises_fails_its_row_and_the_run():
    def broken(n_rows: int, n_resamples: int) -> Contest:
        return Contest(lambda: 1 / 0, {})

    found = measured(replace(WORKS[0], contest=broken), 1)
    assert found.failure == "ZeroDivisionError: division by zero"
    assert peers.verdict(run(found), None) == ["variance n = 1e6, same B: ZeroDivisionError: division by zero"]


def test_what_a_peer_raises_is_told():
    def half_broken(n_rows: int, n_resamples: int) -> Contest:
        return Contest(WORKS[0].contest(n_rows, n_resamples).ours, {"arch": lambda: lambda _: 1 / 0})

    found = measured(replace(work(WORKS[0].name), contest=half_broken), 1, with_memory=False)
    assert found.contenders[1].note == "failed: ZeroDivisionError: division by zero"


@needs_peaks
def test_the_peak_of_a_child_is_that_of_its_call():
    program = "import numpy; from benchmarks.memory import serve; serve(lambda: numpy.ones(5_000_000).sum())"
    found = memory.peak(program)
    assert 38 < found.resident < 60
    assert memory.peak("raise SystemExit(1)") is None


@needs_peaks
def test_memory_is_measured_for_ours_and_for_the_others():
    found = measured(work("ABC n = 1e6, in np.var of the data", n_rows=20_000), 1)
    assert all(each.peak_mb is not None for each in found.contenders)
    assert found.ratio[1] > 1


def test_a_line_through_two_numbers_of_replicates_is_drawn_on(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])

    def call(n_resamples: int) -> None:
        now[0] += 3.0 + 2.0 * n_resamples

    assert extrapolated(call, 10, 50, 1000)() == pytest.approx(2003.0)
    assert one_more(call, 10, 50)() == pytest.approx(2.0)


def test_calls_alternate_and_change_their_order():
    called = []

    def watch(name: str, seconds: float):
        return lambda: called.append(name) or seconds

    pairs = paired("work", watch("ours", 1.0), watch("theirs", 3.0), 1)
    assert set(pairs.seconds) == {(1.0, 3.0)}
    assert called[4:8] == ["ours", "theirs", "theirs", "ours"]


def test_a_record_is_read_as_it_was_written(tmp_path):
    found = run(row("a", 3.0, goal=2.0), row("b", None), row("c", 5.0, lower_is_better=True))
    found = replace(found, fits=(record.Fit("in n", 1.01, 100_000),))
    record.write(found, tmp_path / "new" / "run.json")
    assert record.read(tmp_path / "new" / "run.json") == found


def test_a_record_of_another_schema_is_refused(tmp_path):
    record.write(replace(run(), schema=0), tmp_path / "run.json")
    with pytest.raises(ValueError, match="must have schema 1; it has 0"):
        record.read(tmp_path / "run.json")


def test_the_machine_is_described():
    found = record.machine(compiled=False)
    assert found.cores >= 1
    assert found.processor
    assert {"numpy", "scipy"} <= found.packages.keys()


def test_the_row_is_that_of_the_peer_which_ours_is_least_ahead_of():
    fast, slow = Contender("fast", 1, 9.0, (2.0, 2.0, 2.0)), Contender("slow", 1, 1.0, (5.0, 5.0, 5.0))
    ours = Contender(OURS, 1, 1.0)
    assert Row("faster", 1, (ours, slow, fast)).rival == fast
    assert Row("costs", 1, (ours, slow, fast), lower_is_better=True).rival == slow


@pytest.mark.parametrize(("ratio", "lower_is_better", "is_met"), [(4, False, True), (2, False, False), (2, True, True)])
def test_a_goal_is_met_from_its_own_side(ratio, lower_is_better, is_met):
    assert row("a", ratio, goal=3.0, lower_is_better=lower_is_better).is_met is is_met


def test_an_equal_run_passes_and_a_slower_one_is_named():
    old = run(row("a", 10.0), row("b", 10.0), row("cost", 10.0, lower_is_better=True), row("gone", None))
    assert regressions(old, old) == []
    slower = run(row("a", 8.1), row("b", 7.9), row("cost", 13.0, lower_is_better=True), row("gone", 1.0))
    assert regressions(old, slower) == ["b: 10 before, 7.9 now", "cost: 10 before, 13 now"]
    assert regressions(slower, old) == []


def test_a_run_of_another_kind_is_not_held_against_this_one():
    with pytest.raises(ValueError, match="a run of `peers` with --quick cannot be held against one of `peers`"):
        regressions(run(), run(quick=True))
    with pytest.raises(ValueError, match="a run of `peers` with 2 BLAS threads cannot"):
        regressions(run(), run(n_blas_threads=2))


@pytest.mark.parametrize("factor", [1.0, 1.5])
def test_the_program_ends_with_one_where_a_ratio_fell(factor, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(peers, "warm_up", lambda: None)
    monkeypatch.setattr(peers, "measured", lambda chosen, n_rounds, **_: row(chosen.name, 6.0))
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    record.write(run(row(WORKS[0].name, 6.0 * factor)), old)
    arguments = ["--only", WORKS[0].name, "--out", str(new), "--compare", str(old)]
    if factor == 1.0:
        peers.main(arguments)
    else:
        with pytest.raises(SystemExit, match="variance n = 1e6, same B: 9 before, 6 now") as error:
            peers.main(arguments)
        assert isinstance(error.value.code, str), "Python ends with 1 and prints it"
    assert record.read(new).rows[0].ratio[1] == 6.0
    assert "| variance n = 1e6, same B | 0.5 | arch | 3 | 6 |" in capsys.readouterr().out


def test_a_pattern_without_a_row_is_refused():
    with pytest.raises(SystemExit, match="no row matches 'mean"):
        peers.main(["--only", "mean*"])


def test_quick_cuts_the_sizes():
    full, quick = peers.works("variance*accuracy"), peers.works("variance*accuracy", quick=True)
    assert [each.n_rows for each in full] == [1_000_000]
    assert [each.n_rows for each in quick] == [10_000]


def test_the_table_goes_between_its_two_comments():
    page = "above\n<!-- peers -->\nold\n<!-- end of peers -->\nbelow\n"
    found = run(row("a", 3.0, goal=2.0), row("b", None))
    text = tables.filled(page, found)
    line = "| a | 0.5 | arch | 1.5 | 3 | 2.7 to 3.3 | 2 | yes | 2 / 3 | 0.1% / 20% |"
    assert line in text
    assert "| b | 0.5 | none |" in text
    assert "- b: arch not installed: arch." in text
    assert text.startswith("above\n<!-- peers -->\n\n| work")
    assert text.endswith("<!-- end of peers -->\nbelow\n")
    assert "old" not in text
    assert tables.filled(text, found) == text
    with pytest.raises(ValueError, match="must have one place for the table `peers`; it has 0"):
        tables.filled("nothing", found)


def test_the_page_has_a_place_for_both_tables():
    page = tables.PAGE.read_text(encoding="utf-8")
    for name in ("peers", "scaling"):
        assert tables.table(replace(run(), benchmark=name)) in tables.filled(page, replace(run(), benchmark=name))


def test_the_record_is_kept_beside_the_page_with_its_plot(tmp_path):
    page, file = tmp_path / "page.md", tmp_path / "build" / "run.json"
    page.write_text("<!-- peers -->\n<!-- end of peers -->\n")
    record.write(run(row("a", 3.0)), file)
    file.with_suffix(".svg").write_text("<svg/>")
    tables.main([str(file)], page, tmp_path / "page")
    assert record.read(tmp_path / "page" / "peers.json") == run(row("a", 3.0))
    assert "![peers](page/peers.svg)" in page.read_text()
    assert (tmp_path / "page" / "peers.svg").exists()


def test_a_quick_run_does_not_reach_the_page(tmp_path):
    record.write(run(quick=True), tmp_path / "run.json")
    with pytest.raises(SystemExit, match="comes from a run with --quick"):
        tables.main([str(tmp_path / "run.json")], tmp_path / "page.md", tmp_path)
