"""Refits of a generalised linear model on many resamples at once, as far as full Newton steps lead to a minimum."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from orthoboot.arrays.products import product_alike
from orthoboot.functionals.regression.families import Family, PredictorLosses
from orthoboot.functionals.regression.newton_surrogate import CrossProductsOfMany, in_cache, times_drawn
from orthoboot.functionals.regression.search_limits import RUNNING_AWAY, STEP
from orthoboot.optimisation.newton import FLATTENED, NOISE, SUFFICIENT
from orthoboot.solvers.side_by_side import positive_solutions
from orthoboot.typing import BoolArray, FloatArray, IntArray

_MOST_STEPS = 8
"""Steps by which a refit has ended that starts at the fit of all rows, unless something is the matter with it."""
_REGULAR = 1e-10
"""Share of a column's square that must be left of it: less is for the search that looks closer."""


class _Searches(NamedTuple):
    """Resamples on their way to a minimum, every array with one entry for each of them.

    Attributes
    ----------
    places
        Which of the resamples.
    shares
        The weights of the rows, which sum to one.
    tolerance
        Of the decrement, as in `WeightedLoss.tolerance`.
    point, step
        Where they are, and the step that led there.
    value, decrement
        The loss where that step began, and what it promised.
    """

    places: IntArray
    shares: FloatArray
    tolerance: FloatArray
    point: FloatArray
    step: FloatArray
    value: FloatArray
    decrement: FloatArray

    def some(self, chosen: BoolArray) -> _Searches:
        """Return some of them."""
        return self if chosen.all() else _Searches._make(part[chosen] for part in self)


@dataclass(frozen=True, eq=False)
class RefitsTogether:
    """The coefficients of many resamples in the orthonormal basis, by the rules of `newton_minimum`.

    Every step is a few matrix products for all resamples that are still on their way. A resample whose search is not
    plain, since a full step does not bring its share, a Hessian is nearly singular, or its coefficients run away, is
    left to a search of its own.

    Each resample is computed alike whatever the others, to the last bit: products go by `product_alike`, and all else
    is element by element or a sum over the rows of one resample.

    Attributes
    ----------
    family, link
        The loss of a row.
    basis
        The orthonormal columns, shape ``(n, d)``.
    response, case_weights
        Shape ``(n,)``.
    start
        The fit of all rows, shape ``(d,)``.
    """

    family: Family
    link: str
    basis: FloatArray
    response: FloatArray
    case_weights: FloatArray
    start: FloatArray

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the products of columns, which are made again faster than they are sent."""
        return {name: value for name, value in vars(self).items() if name != "_products"}

    @property
    def is_possible(self) -> bool:
        """Return whether the products of all pairs of columns can be held."""
        return self._products.has_table

    def minima(self, weights: FloatArray) -> FloatArray:
        """Return the coefficients for weights ``(B, n)``, shape ``(B, d)``; NaN where they take their own search."""
        with np.errstate(all="ignore"):  # what overflows is for another search
            return np.concatenate([self._searched(part) for part in in_cache(weights)])

    def _searched(self, weights: FloatArray) -> FloatArray:
        """Return the minima of plain searches, NaN for the others."""
        found = np.full((len(weights), len(self.start)), np.nan)
        searches, losses = self._started(weights), self._at_start
        for _ in range(_MOST_STEPS):
            searches = self._further(searches, losses, found)
            if not searches.places.size:
                break
            losses = self._losses(product_alike(searches.point, self.basis.T))
        return found

    def _started(self, weights: FloatArray) -> _Searches:
        shares = weights * self.case_weights
        shares /= shares.sum(axis=1, keepdims=True)
        size = self._at_start.information * (self.basis @ self.start) ** 2
        number, d = len(weights), len(self.start)
        return _Searches(
            places=np.arange(number),
            shares=shares,
            tolerance=STEP**2 * np.einsum("bj,j->b", shares, size),
            point=np.tile(self.start, (number, 1)),
            step=np.zeros((number, d)),
            value=np.full(number, np.inf),
            decrement=np.zeros(number),
        )

    def _further(self, searches: _Searches, losses: PredictorLosses, found: FloatArray) -> _Searches:
        """Return the searches that go on, one step further; those that end here are written into `found`."""
        shares = searches.shares
        value = times_drawn(shares, losses.value).sum(axis=1)
        gradient = product_alike(times_drawn(shares, losses.slope), self.basis)
        hessian = self._products(times_drawn(shares, losses.curvature))
        step = -positive_solutions(hessian, gradient, least_pivot=_REGULAR)
        decrement = -np.einsum("bd,bd->b", step, gradient)
        plain = (decrement >= 0) & _is_acceptable(searches, value, gradient)
        ends = decrement <= searches.tolerance
        # No row has moved further than the longest; where that is far, the coefficients may be running away.
        stays = self._longest_row * np.sqrt(np.einsum("bd,bd->b", step, step)) <= RUNNING_AWAY
        done = plain & ends & stays
        point = searches.point + step
        found[searches.places[done]] = point[done]
        return searches._replace(point=point, step=step, value=value, decrement=decrement).some(plain & ~ends)

    def _losses(self, eta: FloatArray) -> PredictorLosses:
        return self.family.losses(self.response, eta, self.link)

    @cached_property
    def _at_start(self) -> PredictorLosses:
        """Return the losses at the fit of all rows, where every search begins."""
        return self._losses(self.basis @ self.start)

    @cached_property
    def _products(self) -> CrossProductsOfMany:
        return CrossProductsOfMany(self.basis, self.basis)

    @cached_property
    def _longest_row(self) -> float:
        return float(np.sqrt(np.einsum("jd,jd->j", self.basis, self.basis).max()))


def _is_acceptable(searches: _Searches, value: FloatArray, gradient: FloatArray) -> BoolArray:
    """Return which of the last steps `newton_minimum` would have taken in full."""
    falls = value <= searches.value - SUFFICIENT * searches.decrement
    flattens = np.abs(np.einsum("bd,bd->b", gradient, searches.step)) <= FLATTENED * searches.decrement
    return np.asarray(falls | (flattens & (value <= searches.value + NOISE * np.abs(searches.value))))
