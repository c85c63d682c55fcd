"""Tables of simulated figures, next to the figures that the paper prints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

MARK = "≠"
"""Marks a printed figure that ours does not agree with."""
FAR = 3.0
"""Largest difference, in standard errors, that counts as agreement."""
_MORE_DIGITS = 2
"""Decimals that may be added to show a small error."""


@dataclass(frozen=True)
class Simulated:
    """A simulated figure, its Monte Carlo error, and the paper's figure.

    Attributes
    ----------
    value
        Ours.
    error
        Its Monte Carlo error, or NaN where there is none.
    digits
        How many decimals are shown, or a few more where the error would not be seen.
    printed
        The paper's figure as it is printed, such as ``"0.950"``; None where it has none.
    printed_error
        The Monte Carlo error of the paper's, as far as it can be told; that of ours by default.
    """

    value: float
    error: float = math.nan
    digits: int = 3
    printed: str | None = None
    printed_error: float | None = None

    @property
    def distance(self) -> float:
        """Return the difference from the paper's figure in standard errors; NaN if there is nothing to compare.

        The error has three sources: our simulation, the paper's, and the rounding of what it prints.
        """
        if self.printed is None:
            return math.nan
        theirs = self.error if self.printed_error is None else self.printed_error
        unit = 10.0 ** -decimals(self.printed)
        error = math.sqrt(self.error**2 + theirs**2 + unit**2 / 12)
        return (self.value - float(self.printed)) / error

    @property
    def agrees(self) -> bool:
        """Return whether the two are within three errors, or there is nothing to compare.

        Where ours is no number and the paper has one, they do not agree.
        """
        if self.printed is not None and math.isnan(self.value):
            return False
        return not abs(self.distance) > FAR

    @property
    def shown(self) -> str:
        """Return our figure as text."""
        digits = self.digits
        # An error that rounds to zero would look like certainty.
        while digits < self.digits + _MORE_DIGITS and 0 < self.error < 0.5 * 10.0**-digits:
            digits += 1
        # Nothing is a negative zero.
        value = f"{self.value:z.{digits}f}"
        return value if math.isnan(self.error) else f"{value} ± {self.error:.{digits}f}"

    @property
    def shown_printed(self) -> str:
        """Return the paper's figure as text, marked if ours does not agree."""
        if self.printed is None:
            return ""
        return self.printed if self.agrees else f"{self.printed} {MARK}"


def decimals(printed: str) -> int:
    """Return the number of digits after the decimal point.

    Examples
    --------
    >>> decimals("0.950"), decimals("197")
    (3, 0)
    """
    return len(printed.partition(".")[2])


Cell = str | int | float | Simulated


@dataclass(frozen=True)
class ReportTable:
    """A table of words and figures.

    Attributes
    ----------
    name
        Of its files.
    title
        Above it.
    columns
        Headings; a column with figures that the paper prints too is shown as two.
    rows
        As many cells each as there are columns.
    """

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]

    def compared(self, column: int) -> bool:
        """Return whether a column has figures of the paper."""
        cells = [row[column] for row in self.rows]
        return any(isinstance(cell, Simulated) and cell.printed is not None for cell in cells)

    def has_errors(self, column: int) -> bool:
        """Return whether a column has figures with a Monte Carlo error."""
        cells = [row[column] for row in self.rows]
        return any(isinstance(cell, Simulated) and not math.isnan(cell.error) for cell in cells)

    def shown_columns(self) -> list[str]:
        """Return the headings, with separate columns for the paper's figures."""
        shown: list[str] = []
        for number, heading in enumerate(self.columns):
            shown.append(heading)
            if self.compared(number):
                shown.append("paper")
        return shown

    def shown_numbers(self) -> list[bool]:
        """Return which of the shown columns hold numbers."""
        shown: list[bool] = []
        for number in range(len(self.columns)):
            numeric = any(not isinstance(row[number], str) for row in self.rows)
            shown += [numeric] * (1 + self.compared(number))
        return shown

    def shown_rows(self) -> list[list[str]]:
        """Return the cells as text, with separate columns for the paper's figures."""
        return [self._shown(row) for row in self.rows]

    def _shown(self, row: Sequence[Cell]) -> list[str]:
        shown: list[str] = []
        for number, cell in enumerate(row):
            shown.append(cell.shown if isinstance(cell, Simulated) else _word(cell))
            if self.compared(number):
                shown.append(cell.shown_printed if isinstance(cell, Simulated) else "")
        return shown

    def records(self) -> tuple[list[str], list[list[str]]]:
        """Return headings and rows for a CSV file, with all digits of every number in its own column."""
        headings: list[str] = []
        for number, heading in enumerate(self.columns):
            headings.append(heading)
            if self.has_errors(number):
                headings.append(f"{heading}: error")
            if self.compared(number):
                headings += [f"{heading}: paper", f"{heading}: distance in errors"]
        return headings, [self._record(row) for row in self.rows]

    def _record(self, row: Sequence[Cell]) -> list[str]:
        record: list[str] = []
        for number, cell in enumerate(row):
            figure = cell if isinstance(cell, Simulated) else Simulated(math.nan)
            record.append(str(cell) if isinstance(cell, str | int) else _full(_number(cell)))
            if self.has_errors(number):
                record.append(_full(figure.error))
            if self.compared(number):
                record += [figure.printed or "", _full(figure.distance)]
        return record

    @property
    def disagreements(self) -> list[str]:
        """Return descriptions of the cells that differ from the paper's by more than three errors."""
        return [
            f"{self._place(row)}: {heading} {cell.shown}, paper {cell.printed}, {cell.distance:+.1f} errors"
            for row in self.rows
            for heading, cell in zip(self.columns, row, strict=True)
            if isinstance(cell, Simulated) and not cell.agrees
        ]

    def _place(self, row: Sequence[Cell]) -> str:
        """Return a name for a row: the cells before its first figure, numbers with their headings."""
        leading = takewhile(lambda pair: not isinstance(pair[1], Simulated), zip(self.columns, row, strict=True))
        words = [_word(cell) if isinstance(cell, str) else f"{heading} = {_word(cell)}" for heading, cell in leading]
        return ", ".join(filter(None, words))


def _word(cell: Cell) -> str:
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


def _number(cell: float | Simulated) -> float:
    return cell.value if isinstance(cell, Simulated) else cell


def _full(number: float) -> str:
    return "" if math.isnan(number) else repr(float(number))
