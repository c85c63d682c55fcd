"""Draw the pictures of the guides to simulations, docs/simulation-*.md.

The results are those that the programs on the pages make.

python -m benchmarks.simulation_pictures [--out docs/simulation]
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import warnings
from pathlib import Path
from typing import Any, NamedTuple

from orthoboot.presentation.figures import files
from orthoboot.presentation.plots.drawing import figure_of
from orthoboot.presentation.plots.simulation.kinds import simulation_kind
from orthoboot.presentation.style import PLOT_SETTINGS

DOCUMENTS = Path(__file__).parents[1] / "docs"


class Picture(NamedTuple):
    """A picture of a page: the name of the result in its programs, the kind of plot, and the input for its rows."""

    page: str
    result: str
    kind: str
    input: str | None = None


PICTURES = (
    Picture("queue", "result", "interval"),
    Picture("inventory", "result", "contributions"),
    Picture("inventory", "result", "influence", "lead"),
    Picture("clinic", "result", "contributions"),
    Picture("clinic", "result", "more_data"),
    Picture("policies", "both", "forest"),
    Picture("policies", "gain", "interval"),
)


def names_of(page: str) -> dict[str, Any]:
    """Return what the programs of a page have defined when all of them have run."""
    text = (DOCUMENTS / f"simulation-{page}.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for program in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
            exec(program, names)
    return names


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=DOCUMENTS / "simulation")
    out = parser.parse_args().out
    out.mkdir(exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for page in dict.fromkeys(picture.page for picture in PICTURES):
            names = names_of(page)
            for picture in PICTURES:
                if picture.page == page:
                    answer = names[picture.result]._answer
                    figure = figure_of(answer, simulation_kind(answer, picture.kind, picture.input), 0)
                    drawing = files(figure, ["svg"], PLOT_SETTINGS)["svg"]
                    (out / f"{page}-{picture.kind}.svg").write_bytes(drawing)


if __name__ == "__main__":
    main()
