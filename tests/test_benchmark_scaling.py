"""How cost grows, at sizes of a moment: the rows, the fitted exponents, the plot."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from benchmarks import floor, scaling
from benchmarks.record import OURS, Contender, Machine, Record, Row, read
from benchmarks.scaling import Place, fits, rows_in_n, rows_in_resamples, rows_in_threads, sizes_up_to
from benchmarks.tables import scaling_notes

MACHINE = Machine("a processor", 2, "Linux", "3.12.1", {"numpy": "2.0"}, compiled=True)


def rows_of(series: str, sizes, exponent: float) -> list[Row]:
    """Rows whose seconds are a power of a size."""
    return [Row(f"{size}", size, (Contender(OURS, size, 1e-6 * size**exponent),), series=series) for size in sizes]


@pytest.fixture
def place(tmp_path) -> Place:
    return Place(tmp_path, mapped_from=2_000)


@pytest.mark.parametrize("n_columns", [1, 2])
def test_mapped_data_are_those_in_memory(tmp_path, n_columns):
    mapped = Place(tmp_path, mapped_from=0).data(1_000, n_columns)
    assert isinstance(mapped, np.memmap)
    in_memory = Place(tmp_path, mapped_from=10_000).data(1_000, n_columns)
    np.testing.assert_array_equal(mapped, in_memory)
    assert scaling.reading(mapped) == pytest.approx(in_memory.sum())


def test_rows_in_n_stand_beside_reading(place):
    small, mapped, *cold = rows_in_n("correlation", [1_000, 3_000], place, 1)
    assert (small.name, mapped.n_rows) == ("correlation, n = 1e3, B = 10", 3_000)
    assert small.rival.name == "reading"
    assert small.ratio[1] > 1
    assert small.goal is None
    assert (mapped.ours.peak_mb is None) == (sys.platform == "win32")
    assert [row.name for row in cold] == ["correlation, n = 3e3, B = 10, from disc"] * place.can_forget
    assert all(row.series == "" for row in cold), "one exponent is that of files that were read before"


def test_rows_in_resamples_have_their_number():
    found = list(rows_in_resamples([10, 20], 300, 1))
    assert [row.ours.n_resamples for row in found] == [10, 20]
    assert all(row.ours.seconds > 0 for row in found)


def test_a_replicate_stands_beside_its_floor_and_threads_beside_one():
    found = list(rows_in_threads(5_000, [1, 2], 1))
    beside = ["random numbers + reading", "random numbers + reading", "one thread"]
    assert [row.rival.name for row in found] == (beside if floor.kernel() else beside[-1:])
    assert [row.n_threads for row in found][-1] == 2


def test_the_exponent_of_a_power_is_found_from_its_smallest_size_on():
    rows = [*rows_of("variance in n", [1_000, 10_000], 0.1), *rows_of("variance in n", [10**5, 10**6, 10**7], 1.02)]
    rows += [*rows_of("variance in B", [100], 0.1), *rows_of("variance in B", [300, 1_000, 10_000], 0.97)]
    in_n, in_resamples = fits(rows)
    assert (in_n.name, in_n.smallest) == ("variance in n", 100_000)
    assert in_n.exponent == pytest.approx(1.02)
    assert in_resamples.exponent == pytest.approx(0.97)
    assert list(fits(rows[:3])) == [], "a line through two points fits anything"


def test_the_exponent_beyond_a_fixed_cost_is_that_of_the_rest():
    sizes = [10**power for power in range(3, 9)]
    rows = [
        Row(f"{size}", size, (Contender(OURS, size, 4e-3 + 1e-9 * size**1.03),), series="variance in n")
        for size in sizes
    ]
    (found,) = fits(rows)
    assert found.exponent < 0.8, "the fixed cost hides how the rest grows"
    assert found.growth == pytest.approx(1.03)
    assert found.fixed == pytest.approx(4e-3)
    assert "beyond a fixed 4.0 ms, 1.030" in scaling_notes(Record("scaling", MACHINE, (), fits=(found,)))


def test_sizes_are_three_and_ten_times_a_power():
    assert sizes_up_to(30_000) == [1_000, 3_000, 10_000, 30_000]
    assert sizes_up_to(100_000_000)[-1] == 100_000_000


def test_the_plot_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    rows = [*rows_of("variance in n", [10**5, 10**6], 1), *rows_of("variance in B", [10, 100], 1)]
    scaling.draw(Record("scaling", MACHINE, tuple(rows)), tmp_path / "plot.svg")
    assert "<svg" in (tmp_path / "plot.svg").read_text()


def test_the_program_writes_its_record_and_plot(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(scaling, "warm_up", lambda: None)
    out = tmp_path / "scaling.json"
    scaling.main(["--quick", "--rounds", "1", "--largest", "1e3", "--only", "variance in *", "--out", str(out)])
    found = read(out)
    assert (found.benchmark, found.quick) == ("scaling", True)
    assert found.rows[0].name == "variance, n = 1e3, B = 10"
    assert out.with_suffix(".svg").exists()
    assert "| variance, n = 1e3, B = 10 |" in capsys.readouterr().out
