"""Text, tables and figures that are shown together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from orthoboot.presentation.figures import Figure
from orthoboot.presentation.tables import ReportTable


@dataclass(frozen=True)
class Report:
    """What an experiment found.

    Attributes
    ----------
    title
        Of the section.
    paragraphs
        The description of the experiment, and how to read it.
    tables, figures
        In the order shown, tables first.
    """

    title: str
    paragraphs: Sequence[str]
    tables: Sequence[ReportTable] = field(default=())
    figures: Sequence[Figure] = field(default=())
