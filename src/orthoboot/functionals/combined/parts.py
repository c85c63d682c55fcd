"""What statistics made of other statistics share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np

from orthoboot.data import Data
from orthoboot.errors import ArgumentError
from orthoboot.functionals.base import Functional, Prepared
from orthoboot.functionals.user.recognition import recognized

Known = TypeVar("Known")


class Combined(Functional):
    """A statistic made of other statistics, its parts, from which its properties follow."""

    @property
    @abstractmethod
    def parts(self) -> tuple[Functional, ...]:
        """Return the statistics it is made of."""

    @property
    def smooth(self) -> bool:  # type: ignore[override]
        """Return whether all parts are smooth."""
        return all(part.smooth for part in self.parts)

    @property
    def fractional(self) -> bool:  # type: ignore[override]
        """Return whether all parts take weights that are not whole numbers."""
        return all(part.fractional for part in self.parts)

    @property
    def batched(self) -> bool:  # type: ignore[override]
        """Return whether all parts are faster on many resamples at once."""
        return all(part.batched for part in self.parts)

    @property
    def needs_weights(self) -> bool:  # type: ignore[override]
        """Return whether a part takes the weight of every row."""
        return any(part.needs_weights for part in self.parts)

    @property
    def releases_gil(self) -> bool:  # type: ignore[override]
        """Return whether the work of all parts is done in compiled code."""
        return all(part.releases_gil for part in self.parts)

    @property
    def by_user(self) -> bool:  # type: ignore[override]
        """Return whether a part is a user's function."""
        return any(part.by_user for part in self.parts)

    @property
    def takes_text(self) -> bool:  # type: ignore[override]
        """Return whether a part takes labels that are text."""
        return any(part.takes_text for part in self.parts)

    @property
    def takes_pieces(self) -> bool:  # type: ignore[override]
        """Return whether all parts take data that are read part by part."""
        return all(part.takes_pieces for part in self.parts)

    @property
    def counts_rows(self) -> bool:  # type: ignore[override]
        """Return whether a part asks for the counts of rows."""
        return any(part.counts_rows for part in self.parts)

    @property
    def undefined(self) -> str:  # type: ignore[override]
        """Return where a part has no value."""
        return " or ".join(dict.fromkeys(part.undefined for part in self.parts if part.undefined))

    def plan_options(self, data: Data) -> dict[str, Any]:
        """Return how the parts draw the rows; raise an `ArgumentError` if they disagree."""
        options: dict[str, Any] = {}
        for part in self.parts:
            for name, value in part.plan_options(data).items():
                if name in options and not np.array_equal(options[name], value):
                    raise ArgumentError(
                        f"the statistics in `{self.name}` draw rows by different `{name}`; pass `{name}=`."
                    )
                options[name] = value
        return options


def all_known(parts: Iterable[Known | None]) -> list[Known] | None:
    """Return the parts as a list, or None if one of them is None."""
    known = []
    for part in parts:
        if part is None:
            return None
        known.append(part)
    return known


def total_work(parts: Iterable[Prepared[Any]]) -> float | None:
    """Return how many rows added up cost as much as one replicate of all parts, or None if one does not know it."""
    known = all_known(part.work for part in parts)
    return None if known is None else sum(known)


def catalogued(f: Any, argument: str) -> Functional:
    """Return `f` if it is a statistic of the catalogue, else raise an error that names `argument`."""
    functional = recognized(f)
    if functional is None:
        raise ArgumentError(
            f"`{argument}` must be a statistic of the catalogue, such as `mean` or `quantile(0.9)`; got "
            f"{getattr(f, '__name__', type(f).__name__)!r}. For your own function of means use `function_of_means`."
        )
    return functional
