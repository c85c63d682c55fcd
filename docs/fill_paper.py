"""Put the tables that ``orthoboot reproduce`` wrote into docs/paper/ on the page docs/paper.md: ``make paper``.

A table stands below a comment with its name, ``<!-- table: ci-lognormal -->``, and ends at the next empty line; the
line ``<!-- run -->`` is followed by the version and the seed.
"""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parent
PAGE, RESULTS = DOCS / "paper.md", DOCS / "paper"

_TABLE = re.compile(r"((?:^\|.*\n)+)\nIn full: \[(.+)\.csv\]", re.MULTILINE)
_RUN = re.compile(r"^---\n\n(orthoboot .+?)\. Repetitions", re.MULTILINE)
_PLACE = re.compile(r"(<!-- (?:table: (\S+)|run) -->\n)(?:\n(?:(?:\||orthoboot ).*\n)+)?")


def filled(page: str, results: Path) -> str:
    """Return the page with the tables of the files in a folder."""
    files = [file.read_text(encoding="utf-8") for file in sorted(results.glob("*.md"))]
    tables = {name: table for text in files for table, name in _TABLE.findall(text)}
    runs = {run for text in files for run in _RUN.findall(text)}
    if len(runs) != 1:
        raise ValueError(f"all files must come from one run; got {sorted(runs)}. Run `make paper`.")
    return _PLACE.sub(lambda place: f"{place[1]}\n" + (tables[place[2]] if place[2] else f"{min(runs)}.\n"), page)


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), RESULTS), encoding="utf-8")
