"""Figures, and their bytes as PNG and SVG files: the same bytes every time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from orthoboot.presentation.style import figure_style

# A date, or the version of what drew it, would make every run's file another one.
_METADATA = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}


@dataclass(frozen=True)
class Figure:
    """A picture: its name, what it shows, and the function that draws it into an empty matplotlib figure."""

    name: str
    caption: str
    draw: Callable[[Any], None]
    size: tuple[float, float] = (10.0, 7.5)


@dataclass(frozen=True)
class Picture:
    """The two files of a figure."""

    png: bytes
    svg: bytes


def drawn(figure: Figure) -> Picture:
    """Return `figure` as PNG and as SVG."""
    with figure_style():
        # Not pyplot, whose figures are the user's and stay open.
        from matplotlib.figure import Figure as Canvas

        canvas = Canvas(figsize=figure.size, layout="constrained")
        figure.draw(canvas)
        files = {}
        for form, metadata in _METADATA.items():
            stream = BytesIO()
            canvas.savefig(stream, format=form, metadata=metadata)
            files[form] = stream.getvalue()
    return Picture(**files)
