"""Plots as parts of a page: SVG in the page's own colours, light or dark, and pictures that stand alone."""

from __future__ import annotations

import re
from base64 import b64encode
from html import escape

from orthoboot.presentation.figures import Figure, files
from orthoboot.presentation.style import ACCENT, GRID, IN_THE_DARK, INK, PLOT_SETTINGS, QUIET, SECOND

_NAMES = {INK: "ink", GRID: "grid", ACCENT: "accent", QUIET: "quiet", SECOND: "second"}

_ON_A_PAGE = {
    **PLOT_SETTINGS,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    # Text that can be searched and read aloud, in the fonts of the page.
    "svg.fonttype": "none",
}

_LEFT_OUT = re.compile(r"<metadata>.*?</metadata>|<style\b.*?</style>|<!--.*?-->", flags=re.DOTALL)
_ROOT = re.compile(r"<svg\b[^>]*?\bviewBox=\"([^\"]*)\"[^>]*>")
_NAMED = re.compile(r'(\bid="|"#|url\(#)')

PLOT_STYLE = (
    f":root {{ {' '.join(f'--plot-{name}: {colour};' for colour, name in _NAMES.items())} }}\n"
    "@media screen and (prefers-color-scheme: dark) {\n"
    f"  :root {{ {' '.join(f'--plot-{name}: {IN_THE_DARK[colour]};' for colour, name in _NAMES.items())} }}\n}}\n"
    ".plot { display: block; width: 100%; max-width: 36rem; height: auto; }\n"
    "@media print { .plot { max-width: 27rem; } figure { margin: 1rem 0; } }\n"
    ".plot * { stroke-linejoin: round; stroke-linecap: butt; }\n"
    ".plot text { font-family: system-ui, -apple-system, 'Segoe UI', Roboto, Arial, sans-serif !important; }\n"
)
"""The CSS that plots on a page need; on paper they are as on a light page."""


def inline_svg(figure: Figure, place: str) -> str:
    """Return a figure as SVG for the middle of a page; `place` makes the names in it unlike those of other figures."""
    text = files(figure, ["svg"], _ON_A_PAGE)["svg"].decode()
    drawing = _LEFT_OUT.sub("", text[text.index("<svg") :])
    label = escape(figure.caption, quote=True)
    drawing = _ROOT.sub(
        lambda root: f'<svg class="plot" role="img" aria-label="{label}" viewBox="{root[1]}">', drawing, count=1
    )
    drawing = _NAMED.sub(lambda start: f"{start[1]}{place}-", drawing.replace("xlink:href", "href"))
    for colour, name in _NAMES.items():
        drawing = drawing.replace(colour, f"var(--plot-{name})")
    return drawing.strip()


def standalone_image(figure: Figure) -> str:
    """Return a figure as an element of HTML that needs no style: black on white, whatever is around it."""
    source = b64encode(files(figure, ["png"], PLOT_SETTINGS)["png"]).decode()
    width = round(96 * figure.size[0])
    return (
        f'<img src="data:image/png;base64,{source}" alt="{escape(figure.caption, quote=True)}" width="{width}" '
        'style="max-width: 100%; height: auto; background: #fff;" />'
    )
