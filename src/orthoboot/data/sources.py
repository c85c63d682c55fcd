"""Rows that are read part by part, so that they need not fit in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, TypeVar

import numpy as np

Result = TypeVar("Result")

Rows = tuple[np.ndarray[Any, Any], ...]
"""Some consecutive rows of a sample: one array for each table, as many rows in each."""

Task = Callable[[int, Iterator[Rows]], Result]
"""Takes the number of a part and its rows, a few at a time in their order; must not keep or change them."""


class Source(ABC):
    """A sample whose rows are read part by part, in their order, as often as they are needed.

    A sample has one table, or several with the same rows. A part is what one worker reads: a partition, a row group, a
    stretch of a file. Reading the same part again gives the same rows.

    Attributes
    ----------
    columns
        The names of the columns of each table, or None where it has none.
    shapes
        The shape of a row of each table: ``()`` for a single column without a table around it, else ``(d,)``.
    n_parts
        How many parts there are.
    """

    in_memory: ClassVar[bool] = False
    """Whether the rows lie in memory, so that any of them is at hand."""
    columns: tuple[tuple[str, ...] | None, ...]
    shapes: tuple[tuple[int, ...], ...]
    n_parts: int

    @abstractmethod
    def each(self, task: Task[Result]) -> Iterator[Result]:
        """Yield what `task` returns for each part, in the order of the parts, wherever and whenever it runs."""

    def part_name(self, part: int) -> str:
        """Return what messages call a part, for example "partition 17 (counted from 0)"."""
        return f"partition {part} (counted from 0)"
