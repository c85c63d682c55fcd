"""Put what `benchmarks.peers` and `benchmarks.scaling` found on the page docs/benchmarks.md.

    python -m benchmarks.tables build/peers.json build/scaling.json

Each file is kept in docs/benchmarks/, for the next run to be held against, with its plot if there is one; its table
goes between the comments ``<!-- peers -->`` and ``<!-- end of peers -->``, or those of scaling.
"""

from __future__ import annotations

import pathlib
import re
import shutil
import sys
from collections.abc import Sequence

from benchmarks.record import Contender, Fit, Record, Row, read

PAGE = pathlib.Path(__file__).parents[1] / "docs" / "benchmarks.md"
KEPT = PAGE.with_suffix("")

PEERS_HEAD = """\
| work | ours, s | fastest peer | its time, s | ratio | quartiles | goal | met | peak memory, MB, ours / peer | \
relative error of the s.e., ours / peer |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"""

SCALING_HEAD = """\
| work | ours, s | beside | its time, s | ratio | quartiles | goal | met | peak memory, MB |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |"""


# Rows


def peers_row(row: Row) -> str:
    """Return the line of a work beside its fastest peer."""
    rival = row.rival or Contender("none")
    memory = f"{_number(row.ours.peak_mb)} / {_number(rival.peak_mb)}"
    errors = f"{_percent(row.ours.error)} / {_percent(rival.error)}"
    return _line(*_comparison(row, rival), memory, errors)


def scaling_row(row: Row) -> str:
    """Return the line of a size."""
    return _line(*_comparison(row, row.rival or Contender("")), _number(row.ours.peak_mb))


def _comparison(row: Row, rival: Contender) -> list[str]:
    times = [_number(row.ours.seconds), rival.name, _number(rival.seconds)]
    return [row.name, *times, *_ratio(row), _number(row.goal), _met(row)]


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _ratio(row: Row) -> list[str]:
    if row.ratio is None:
        return ["", ""]
    lower, middle, upper = row.ratio
    return [_number(middle), f"{_number(lower)} to {_number(upper)}"]


def _met(row: Row) -> str:
    if row.failure:
        return "failed"
    return {None: "", True: "yes", False: "no"}[row.is_met]


def _number(value: float | None) -> str:
    """Return three digits, without an exponent."""
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{_number(100 * value)}%"


# Notes below a table


def machine_note(record: Record) -> str:
    """Return where and with what a run was made."""
    machine = record.machine
    versions = ", ".join(f"{name} {number}" for name, number in machine.packages.items())
    kernels = "compiled kernels" if machine.compiled else "no compiled kernels"
    quick = " Small sizes, to try the program: not to be judged by." if record.quick else ""
    threads = f"BLAS threads: {record.n_blas_threads}"
    return (
        f"{machine.processor}, {machine.cores} cores; Python {machine.python}, {versions}; {kernels}; {threads}.{quick}"
    )


def peers_notes(record: Record) -> str:
    """Return the machine, and what the table leaves out: the slower peers, those not timed, extrapolated times."""
    told = [f"- {row.name}: {note}." for row in record.rows if (note := _peers_of(row))]
    return "\n".join([machine_note(record), "", *told]) if told else machine_note(record)


def _peers_of(row: Row) -> str:
    if row.failure:
        return f"ours failed, {row.failure}"
    others = [_described(each) for each in row.contenders[1:] if each is not row.rival or each.note]
    return "; ".join(others)


def _described(peer: Contender) -> str:
    time = "" if peer.seconds is None or peer.ratio is None else f"{_number(peer.seconds)} s, {_number(peer.ratio[1])}"
    return f"{peer.name} " + ", ".join(part for part in (time, peer.note) if part)


def scaling_notes(record: Record) -> str:
    """Return the machine and the fitted exponents."""
    return "\n".join([machine_note(record), "", *map(_fit_note, record.fits)])


def _fit_note(fit: Fit) -> str:
    beyond = ""
    if fit.growth is not None and fit.fixed is not None:
        beyond = f"; beyond a fixed {1000 * fit.fixed:.1f} ms, {fit.growth:.3f} over all sizes"
    return f"- {fit.name}: exponent {fit.exponent:.3f} from {fit.smallest:,} on{beyond}."


# The page


def table(record: Record) -> str:
    """Return the table of a record with its notes."""
    head, line, notes = {
        "peers": (PEERS_HEAD, peers_row, peers_notes),
        "scaling": (SCALING_HEAD, scaling_row, scaling_notes),
    }[record.benchmark]
    return "\n".join([head, *map(line, record.rows), "", notes(record)])


def filled(page: str, record: Record, plot: str = "") -> str:
    """Return the page with the table of a record in its place, and the plot below it."""
    name = record.benchmark
    place = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)", flags=re.DOTALL)
    picture = f"![{name}]({plot})\n\n" if plot else ""
    text, places = place.subn(lambda found: f"{found[1]}\n{table(record)}\n\n{picture}{found[2]}", page)
    if places != 1:
        raise ValueError(f"the page must have one place for the table `{name}`; it has {places}.")
    return text


def kept(file: pathlib.Path, record: Record, folder: pathlib.Path) -> str:
    """Keep a record's file in a folder, and its plot; return where the plot is, as the page beside the folder says."""
    folder.mkdir(exist_ok=True)
    shutil.copyfile(file, folder / f"{record.benchmark}.json")
    drawing = file.with_suffix(".svg")
    if not drawing.exists():
        return ""
    shutil.copyfile(drawing, folder / f"{record.benchmark}.svg")
    return f"{folder.name}/{record.benchmark}.svg"


def main(files: Sequence[str], page: pathlib.Path = PAGE, folder: pathlib.Path = KEPT) -> None:
    """Fill the page with the records of some files."""
    for file in map(pathlib.Path, files):
        record = read(file)
        if record.quick:
            raise SystemExit(f"{file} comes from a run with --quick, which the page must not show.")
        text = page.read_text(encoding="utf-8")
        page.write_text(filled(text, record, kept(file, record, folder)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
