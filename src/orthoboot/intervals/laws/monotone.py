"""Increasing functions, many at once: their inverses and their roots."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from orthoboot.typing import FloatArray, IntArray

_CLOSE = 1e-10
"""A function is zero where it is no larger than this."""

_NARROW = 1e-13
"""An interval is a point where it is no wider than this."""

_QUICK_TURNS = 6
"""False position finds the root of a smooth function in so many turns; where it does not, every other turn halves."""

_MOST_TURNS = 120
"""After so many turns the halvings have made any interval narrow."""


class IncreasingLines:
    """Increasing functions, one to a row, that are straight between their nodes and constant beyond them.

    All rows lie in one table, behind one another: one search in it serves every row.

    Parameters
    ----------
    x, y
        The nodes, neither of which falls along a row, shape ``(k, nodes)``. Where several have the same x the function
        steps: it is the last of their y there, and approaches the first from below.

    Examples
    --------
    >>> lines = IncreasingLines(np.array([[0.0, 1.0, 3.0], [5.0, 6.0, 6.0]]), np.array([[0.0, 2.0, 3.0]] * 2))
    >>> lines.value(np.array([[0.5, 2.0], [5.5, 6.0]]), np.array([0, 1]))
    array([[1. , 2.5],
           [1. , 3. ]])
    """

    def __init__(self, x: FloatArray, y: FloatArray) -> None:
        self._low, width = x[:, :1], x[:, -1:] - x[:, :1]
        self._width = np.where(width > 0, width, 1.0)
        nodes, half = (x - self._low) / self._width, np.full_like(self._low, 0.5)
        # A step at an end must not be taken for what lies beyond it: hence one more node on either side.
        places = np.concatenate([-half, nodes, 1 + half], axis=1) + _offset(np.arange(len(x)))
        self._places, self._y = places.ravel(), np.concatenate([y[:, :1], y, y[:, -1:]], axis=1).ravel()

    def value(self, x: FloatArray, row: IntArray) -> FloatArray:
        """Return the functions of some rows at `x`, shape ``(len(row), m)``."""
        share = np.clip((x - self._low[row]) / self._width[row], -0.5, 1.5)
        return np.asarray(np.interp((share + _offset(row)).ravel(), self._places, self._y)).reshape(x.shape)


def _offset(row: IntArray) -> FloatArray:
    """Return where rows begin in the table: each is 2 long with what is around it."""
    return np.asarray(3.0 * row[:, np.newaxis])


def roots(function: Callable[[FloatArray, IntArray], FloatArray], low: FloatArray, high: FloatArray) -> FloatArray:
    """Return where increasing functions are zero, shape ``(m,)``: by false position (Illinois), and by halving.

    Where one steps over zero it is the step, and where it has no zero the nearer end.

    Parameters
    ----------
    function
        Called with places of shape ``(j,)`` and the numbers of the functions that are asked for.
    low, high
        The ends between which the roots are looked for, shape ``(m,)``.

    Examples
    --------
    >>> roots(lambda x, which: x**3 - np.array([8.0, 27.0])[which], np.zeros(2), np.full(2, 10.0))
    array([2., 3.])
    """
    low, high, root = low.copy(), high.copy(), low.copy()
    going = np.flatnonzero(high - low > _NARROW)
    at_low, at_high, side = np.zeros_like(low), np.zeros_like(low), np.zeros_like(low)
    at_low[going], at_high[going] = function(low[going], going), function(high[going], going)
    root[going] = np.where(at_high[going] <= _CLOSE, high[going], low[going])
    going = going[(at_low[going] < -_CLOSE) & (at_high[going] > _CLOSE)]
    for turn in range(_MOST_TURNS):
        if not len(going):
            break
        start, stop, below, above = low[going], high[going], at_low[going], at_high[going]
        share = 0.5 if turn >= _QUICK_TURNS and turn % 2 else below / (below - above)
        middle = start + share * (stop - start)
        value = function(middle, going)
        rises = value < 0
        # An end that stays for a second time counts half, or false position would creep up on it.
        at_low[going] = np.where(rises, value, np.where(side[going] < 0, below / 2, below))
        at_high[going] = np.where(rises, np.where(side[going] > 0, above / 2, above), value)
        low[going], high[going] = np.where(rises, middle, start), np.where(rises, stop, middle)
        side[going], root[going] = np.where(rises, 1.0, -1.0), middle
        going = going[(np.abs(value) > _CLOSE) & (high[going] - low[going] > _NARROW)]
    return root
