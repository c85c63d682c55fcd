"""A column of labels of groups: drawn twice, a group is two groups."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from orthoboot.typing import IntArray

_LARGEST_LABEL = 2.0**52
"""Largest label at which unused whole numbers are still exact floats."""


@dataclass(frozen=True, eq=False)
class GroupColumn:
    """A column of labels, by which whole groups of rows are drawn.

    Attributes
    ----------
    table, position
        Where the column is.
    labels
        What it holds, shape ``(n,)``.
    """

    table: int
    position: int
    labels: np.ndarray[Any, Any]

    def resampled(self, rows: IntArray) -> np.ndarray[Any, Any]:
        """Return labels for drawn rows: the original on a group's first draw, a new one on each repeat.

        Where labels are neither numbers nor text, or numbers too large to find others beyond them, all are numbered
        anew: a column of dates holds no other labels.

        Parameters
        ----------
        rows
            The rows in increasing order, each as often as it is drawn.
        """
        copies = np.arange(rows.size) - np.searchsorted(rows, rows)
        if self._is_text:
            again, texts = copies > 0, self.labels[rows].astype(object)
            texts[again] = [f"{text}{self._mark}{copy}" for text, copy in zip(texts[again], copies[again], strict=True)]
            return texts
        n_groups, codes = self._codes
        numbers = copies * n_groups + codes[rows]
        if self._first_free is not None:
            numbers = np.where(copies > 0, self._first_free + numbers - n_groups, self.labels[rows])
        return numbers.astype(np.float64) if self.labels.dtype.kind == "f" else numbers.astype(np.int64)

    def exchanged(self, seed: int) -> np.ndarray[Any, Any]:
        """Return the labels of the rows with every group under the label of another one."""
        _, codes = self._codes
        _, first_rows = np.unique(codes, return_index=True)
        return self.labels[first_rows[self._other(seed)[codes]]]

    def renewed(self, seed: int) -> np.ndarray[Any, Any]:
        """Return the labels of the rows with every group under a label that is not in the data, in another order.

        Exchanged values of groups of one size have the same mean and spread as before; these have not.
        """
        n_groups, codes = self._codes
        other = self._other(seed)[codes]
        if self._is_text:
            _, first_rows = np.unique(codes, return_index=True)
            return np.array([f"{text}{self._mark}1" for text in self.labels[first_rows[other]]], dtype=object)
        # With a gap, lest consecutive labels are only shifted.
        numbers = (self._first_free or 0) + other + n_groups * (other >= n_groups // 2)
        return numbers.astype(np.float64) if self.labels.dtype.kind == "f" else numbers.astype(np.int64)

    def _other(self, seed: int) -> IntArray:
        """Return the number of another group for that of each."""
        n_groups, _ = self._codes
        order = np.random.default_rng(seed).permutation(n_groups)
        other = np.empty_like(order)
        other[order] = np.roll(order, 1)  # one cycle through all groups, so that none keeps its label
        return other

    @cached_property
    def _is_text(self) -> bool:
        kind = self.labels.dtype.kind
        return kind == "U" or (kind == "O" and all(isinstance(label, str) for label in self.labels.tolist()))

    @cached_property
    def _codes(self) -> tuple[int, IntArray]:
        """Return the number of groups and the number of each row's group: labels may be too large to count on."""
        if self.labels.dtype.kind == "O":  # which may hold what does not sort
            found: dict[Any, int] = {}
            codes = np.array([found.setdefault(label, len(found)) for label in self.labels.tolist()], dtype=np.int64)
            return len(found), codes
        known, codes = np.unique(self.labels, return_inverse=True)
        return known.size, codes.reshape(-1).astype(np.int64)

    @cached_property
    def _first_free(self) -> int | None:
        """Return the first whole number beyond all labels; None where there is none, or no float would hold it."""
        if self.labels.dtype.kind not in "biuf":
            return None
        largest = float(np.abs(self.labels.astype(np.float64)).max())
        return int(np.floor(float(self.labels.max()))) + 1 if largest < _LARGEST_LABEL else None

    @cached_property
    def _mark(self) -> str:
        """Return what stands between a label and the number of its copy, so that no label of the data is made anew."""
        texts, mark = set(self.labels.tolist()), "#"
        while any(mark in text for text in texts):
            mark += "#"
        return mark
