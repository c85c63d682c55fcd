"""Figures, and their bytes as PNG and SVG files: the same bytes every time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from io import BytesIO
from types import MappingProxyType
from typing import Any

from orthoboot.presentation.style import figure_style

# A date or a version would change the file in every run.
_METADATA = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}


@dataclass(frozen=True)
class Figure:
    """A figure: its name, its caption, and the function that draws it into an empty matplotlib figure."""

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
    return Picture(**files(figure, _METADATA))


def files(figure: Figure, forms: Iterable[str], settings: Mapping[str, Any] = MappingProxyType({})) -> dict[str, bytes]:
    """Return the files of `figure` by format, "png" or "svg"; `settings` override the shared matplotlib style."""
    with figure_style(settings):
        # Not pyplot, whose figures are the user's and stay open.
        from matplotlib.figure import Figure as Canvas

        canvas = Canvas(figsize=figure.size, layout="constrained")
        figure.draw(canvas)
        return {form: file_of(canvas, form) for form in forms}


def file_of(canvas: Any, form: str) -> bytes:
    """Return a matplotlib figure as a file, "png" or "svg"."""
    stream = BytesIO()
    canvas.savefig(stream, format=form, metadata=_METADATA[form])
    return stream.getvalue()
