"""Numbers and names as the text of a summary shows them."""

from __future__ import annotations

import math
import textwrap

_LONGEST_NAME = 40

LONGEST_IN_TABLE = 36
"""Letters of a name beside estimates, errors and ends, which take up to 83 of the 120 columns of a terminal."""

_LINE = 110

_LEAST_DECIMALS, _MOST_DECIMALS, _LARGEST_PLAIN = -4, 8, 1e12
"""Beyond these a number is written with an exponent; with -4 decimals ten thousands are its last digit."""


def exponent(value: float) -> int:
    """Return the power of ten of the first digit."""
    return int(f"{value:e}".partition("e")[2])


def number_text(value: float, decimals: int) -> str:
    """Return `value` rounded to `decimals`, with an exponent where that would be long."""
    if not math.isfinite(value):
        return str(float(value))
    if _LEAST_DECIMALS <= decimals <= _MOST_DECIMALS and abs(value) < _LARGEST_PLAIN:
        shown = max(decimals, 0)
        # Adding zero turns the "-0.000" of a rounded negative number into "0.000".
        return f"{round(float(value), shown) + 0.0:,.{shown}f}"
    digits = exponent(value) + decimals
    return "0" if value == 0 or digits < 0 else f"{value:.{min(digits, 15)}e}"


def error_text(value: float, decimals: int) -> str:
    """Return a simulation error with one digit; empty for zero, a question mark if it is unknown.

    It is that of a number with so many decimals; one below a tenth of the last of these is shown as that tenth.
    """
    if not math.isfinite(value):
        return "± ?"
    rounded = max(float(f"{value:.1g}"), 10.0 ** -(decimals + 1)) if value else 0.0
    return f"± {number_text(rounded, -exponent(rounded))}" if rounded else ""


def shortened(text: str, longest: int = _LONGEST_NAME) -> str:
    """Return `text` on one line, with the middle left out if it is longer than `longest`."""
    line = " ".join(text.split())
    if len(line) <= longest:
        return line
    half = (longest - 3) // 2
    return f"{line[:half]}...{line[-half:]}"


def wrapped_list(items: list[str]) -> list[str]:
    """Return the lines of a list of sentences."""
    return [line for item in items for line in textwrap.wrap(item, _LINE, initial_indent="- ", subsequent_indent="  ")]
