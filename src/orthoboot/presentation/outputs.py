"""One of the outputs of an answer, by its name or its number."""

from __future__ import annotations

from typing import Any

from orthoboot.arguments import checked_name
from orthoboot.errors import ArgumentError
from orthoboot.presentation.estimates import Estimates


def output_number(answer: Estimates, output: Any) -> int:
    """Return the number of the output with this name or number, the first by default."""
    names = answer.names
    if output is None:
        return 0
    if isinstance(output, str):
        return names.index(checked_name("output", output, names))
    try:
        number = output.__index__()
    except (AttributeError, TypeError):
        number = None
    if number is None or isinstance(output, bool) or not -len(names) <= number < len(names):
        raise ArgumentError(
            f"`output` must be the name of an output or a number from 0 to {len(names) - 1}; got {output!r}. "
            "`names` lists them."
        )
    return int(number) % len(names)
