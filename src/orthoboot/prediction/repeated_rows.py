"""Rows that stand in the data more than once, X and y alike: one observation, however often it was copied."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orthoboot.data import Data
from orthoboot.errors import RepeatedRowsWarning
from orthoboot.typing import FloatArray, IntArray

_NOTED_SHARE = 0.05
"""Of the rows: fewer copies change little, and some chance repeats are in any rounded data."""
_SAME_RESPONSE = 0.5
"""Excess agreement in y, over chance, above which rows equal in X are copies."""
_OWN_RESPONSE = 0.5
"""Share of distinct rows that must have distinct responses."""
_BEYOND_CHANCE = 100
"""How many times more rows than by chance agree in all columns before X alone calls them copies."""

_DIGITS = 20
"""Binary digits in which numbers agree that are taken for equal, about a millionth of the number."""
_ROWS_FOR_QUARTILES = 1000
"""About how many rows the quartiles of a column are taken from, which need not be exact."""


@dataclass(frozen=True, eq=False)
class RepeatedRows:
    """Which rows are copies of one another.

    A refit that has seen a copy of a row knows its response, noise included; its residual there says nothing about
    the noise. So copies have to be left out together, and drawn together as they were collected.

    Everything is found when it is asked for: where few responses are repeated, few rows can be, and X is not looked at.

    Attributes
    ----------
    X, y
        The rows and their responses.
    """

    X: Any
    y: Any

    @staticmethod
    def among(data: Data) -> RepeatedRows:
        """Return the repeats among the rows of X and y."""
        return RepeatedRows(*data.containers)

    @cached_property
    def of_columns(self) -> IntArray:
        """Return a label for each row's X, shape ``(n,)``."""
        return _labels(self.X)

    @cached_property
    def of_response(self) -> IntArray:
        """Return a label for each row's y, shape ``(n,)``."""
        return _labels(self.y)

    @cached_property
    def labels(self) -> IntArray:
        """Return a label for each row, the same for copies, shape ``(n,)``."""
        return _labels(np.column_stack([self.of_columns, self.of_response]))

    @property
    def n_different(self) -> int:
        """Return how many different rows there are."""
        return _n_different(self.labels)

    @property
    def share(self) -> float:
        """Return the share of the rows that repeat another one."""
        return _share(self.labels)

    @cached_property
    def are_suspected(self) -> bool:
        """Return whether many rows are repeated and rows alike in X are alike in y beyond chance."""
        if _share(self.of_response) < _NOTED_SHARE or self.share < _NOTED_SHARE:
            return False
        by_chance = _pairs(self.of_response) / _all_pairs(self.of_response)
        alike = _pairs(self.labels) / _pairs(self.of_columns)
        return alike - by_chance > _SAME_RESPONSE * (1 - by_chance)

    @cached_property
    def are_certain(self) -> bool:
        """Return whether, besides, different rows have different responses, or agree in X far beyond chance."""
        if not self.are_suspected:
            return False
        own = _n_different(self.of_response) >= _OWN_RESPONSE * self.n_different
        return own or self._agree_beyond_chance()

    def _agree_beyond_chance(self) -> bool:
        """Return whether far more rows agree in X than would if its columns had nothing to do with one another."""
        found, expected = _pairs(self.of_columns), float(_all_pairs(self.of_columns))
        for column in _table(self.X).T:
            labels = _labels(column)
            expected *= _pairs(labels) / _all_pairs(labels)
            if found > _BEYOND_CHANCE * expected:
                return True
        return False

    @property
    def groups(self) -> IntArray | None:
        """Return the labels to draw by, or None where rows are drawn one by one."""
        return self.labels if self.are_certain else None

    def warnings(self) -> list[RepeatedRowsWarning]:
        """Return what the user has to know of them."""
        if not self.are_suspected:
            return []
        n_rows = len(self.labels)
        found = f"{n_rows - self.n_different:,} of the {n_rows:,} rows repeat another one, X and y alike"
        if self.are_certain:
            return [
                RepeatedRowsWarning(
                    f"{found}. Copies count as one observation: they are drawn and left out together, so that the "
                    f"intervals are those of {self.n_different:,} rows. Drop them (`frame.drop_duplicates()`) if they "
                    "are a mistake."
                )
            ]
        return [
            RepeatedRowsWarning(
                f"{found}. If they are copies of the same observation, the refits have seen the rows at which the "
                "noise is estimated, and the intervals are too narrow: drop them (`frame.drop_duplicates()`). If they "
                "are separate observations that happen to agree, ignore this warning."
            )
        ]


def _n_different(labels: IntArray) -> int:
    """Return how many different labels there are."""
    return int(labels.max()) + 1


def _share(labels: IntArray) -> float:
    """Return the share of the rows whose label repeats another one."""
    return 1 - _n_different(labels) / len(labels)


def _all_pairs(labels: IntArray) -> int:
    """Return the number of ordered pairs of rows."""
    return len(labels) * (len(labels) - 1)


def _pairs(labels: IntArray) -> int:
    """Return the number of ordered pairs of rows with the same label."""
    counts = np.bincount(labels)
    return int((counts * (counts - 1)).sum())


def _table(values: Any) -> NDArray[Any]:
    """Return the values as an array of rows and columns."""
    rows = np.asarray(values)
    return rows.reshape(len(rows), -1)


def _labels(table: Any) -> IntArray:
    """Return for each row the number of its value among the different ones, shape ``(n,)``."""
    rows = _table(table)
    if rows.dtype.kind in "biuf":
        keys = _keys(rows)
        # Whole rows as bytes, which sort faster than numbers column by column; those of one number sort faster still.
        width = keys.itemsize * keys.shape[1]
        whole = keys.view(np.int64 if width == 8 else np.dtype((np.void, width))).reshape(-1)
        labels: IntArray = np.unique(whole, return_inverse=True)[1].reshape(-1)
        return labels
    found: dict[str, int] = {}
    # By what they print, since what a frame holds need neither sort nor hash.
    return np.array([found.setdefault(repr(row), len(found)) for row in rows.tolist()], dtype=np.int64)


def _keys(columns: NDArray[Any]) -> NDArray[np.int64] | NDArray[np.int32]:
    """Return integers that agree where the numbers do, of 8 bytes for each number.

    Whole numbers agree exactly. Others need to agree in their leading digits alone, since a copy may have gone through
    a shorter format: in those of the number, so that no outlier hides a difference, and in those of its distance from
    a point beside the bulk of its column, so that no offset does.
    """
    if columns.dtype.kind != "f":
        return np.ascontiguousarray(columns, dtype=np.int64)
    numbers = np.asarray(columns, dtype=np.float64)
    # A quarter of everything, since the distance of huge numbers is not a number any more.
    distances = numbers / 4 - _quarter_of_point_beside(numbers)
    return np.concatenate([_leading_digits(numbers), _leading_digits(distances)], axis=1)


def _quarter_of_point_beside(columns: FloatArray) -> FloatArray:
    """Return a quarter of the point that lies below the lower quartile by the distance of the quartiles.

    Near the point itself numbers have more digits than a shorter format keeps, so few should lie there.
    """
    some = columns[:: 1 + len(columns) // _ROWS_FOR_QUARTILES]
    lower, upper = np.quantile(some, [0.25, 0.75], axis=0, method="lower")
    point: FloatArray = lower / 2 - upper / 4
    return point


def _leading_digits(numbers: FloatArray) -> NDArray[np.int32]:
    """Return sign, exponent and the first binary digits of numbers, rounded, as integers."""
    cut = 52 - _DIGITS
    bits = np.ascontiguousarray(numbers + 0.0).view(np.int64)  # adding zero makes -0.0 that of 0.0
    return ((bits + (1 << (cut - 1))) >> cut).astype(np.int32)
