"""Draw the pictures of the gallery, docs/gallery: what the programs of each page plot.

python -m benchmarks.gallery_pictures [PAGE ...] [--out docs/gallery]
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import warnings
from pathlib import Path

from orthoboot.presentation.figures import file_of
from orthoboot.presentation.style import PLOT_SETTINGS, figure_style

GALLERY = Path(__file__).parents[1] / "docs" / "gallery"


def picture_of(page: str) -> bytes:
    """Return the figure that the programs of a page leave behind, as SVG."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    text = (GALLERY / f"{page}.md").read_text(encoding="utf-8")
    with figure_style(PLOT_SETTINGS), contextlib.redirect_stdout(io.StringIO()):
        exec("\n".join(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)), {})
        (number,) = plt.get_fignums()
        picture = file_of(plt.figure(number), "svg")
        plt.close("all")
    return picture


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", default=sorted({file.stem for file in GALLERY.glob("*.md")} - {"index"}))
    parser.add_argument("--out", type=Path, default=GALLERY)
    arguments = parser.parse_args()
    for page in arguments.pages:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            (arguments.out / f"{page}.svg").write_bytes(picture_of(page))


if __name__ == "__main__":
    main()
