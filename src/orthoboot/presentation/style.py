"""The shared style of figures: colours by estimator, legible text, reproducible files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any

from orthoboot.errors import MissingDependencyError

COLOURS = {
    "standard": "#7f7f7f",
    "cheap": "#d08c2f",
    "paper": "#2a6f97",
    "orthogonal": "#c1121f",
    "naive": "#222222",
}
"""Colours by the name of the estimator; naive is the plain estimate."""

WORDS = {
    "standard": "standard",
    "cheap": "cheap",
    "paper": "orthogonal (paper's)",
    "orthogonal": "orthogonal (ours)",
    "naive": "naive",
}
"""Names of the estimators in reports."""

INK = "#222222"
GRID = "#e3e3e3"
ACCENT, QUIET, SECOND = COLOURS["orthogonal"], COLOURS["standard"], COLOURS["paper"]
"""Colours of the plots of a result: the result, what it is compared with, and a third one."""

IN_THE_DARK = {
    INK: "#e4e2dc",
    GRID: "#35373b",
    ACCENT: "#ff8a80",
    QUIET: "#a5a29a",
    SECOND: "#8fc1e6",
}
"""The colours of a plot on a dark page."""

PLOT_SETTINGS: Mapping[str, Any] = MappingProxyType(
    {
        "axes.edgecolor": INK,
        "axes.labelcolor": INK,
        "axes.labelsize": 9,
        "axes.titlecolor": INK,
        "axes.titlesize": 10,
        "figure.constrained_layout.h_pad": 0.05,
        "figure.constrained_layout.w_pad": 0.05,
        "font.size": 9,
        "legend.fontsize": 8.5,
        "lines.linewidth": 1.4,
        "text.color": INK,
        "xtick.color": INK,
        "xtick.labelsize": 8.5,
        "ytick.color": INK,
        "ytick.labelsize": 8.5,
    }
)
"""Further settings for the plots of a result, which are smaller than other figures."""

_SETTINGS = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.labelsize": 11,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 12,
    "figure.constrained_layout.h_pad": 0.08,
    "figure.constrained_layout.w_pad": 0.08,
    "font.size": 11,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "legend.fontsize": 10,
    "legend.framealpha": 0.9,
    "lines.linewidth": 1.6,
    "savefig.dpi": 150,
    "svg.hashsalt": "orthoboot",
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
}


@contextmanager
def figure_style(settings: Mapping[str, Any] = MappingProxyType({})) -> Iterator[None]:
    """Apply the shared style and `settings`, based on matplotlib's defaults rather than the user's own."""
    check_matplotlib()
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({**_SETTINGS, **settings})
        yield


def has_matplotlib() -> bool:
    """Return whether figures can be drawn."""
    return find_spec("matplotlib") is not None


def check_matplotlib(asker: str = "a figure", extra: str = "plot") -> None:
    """Raise if no figure can be drawn."""
    if not has_matplotlib():
        raise MissingDependencyError(f'{asker} needs matplotlib; install it with `pip install "orthoboot[{extra}]"`.')
