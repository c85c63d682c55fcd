"""Smooth functions of means of features, with influence function by the chain rule and bias by a trace."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import ClassVar

import numpy as np

from orthoboot.arrays.passes import pieces
from orthoboot.arrays.row_products import RowProducts
from orthoboot.arrays.units import divided, power_of_two, root_mean_square, times_unit
from orthoboot.data import Data
from orthoboot.data.pieces import RowsInPieces, SampleInPieces, as_array, as_pieces, in_pieces
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import DataError
from orthoboot.functionals.base import Covariance
from orthoboot.functionals.differences import curvature_by_differences, jacobian_by_differences, principal_directions
from orthoboot.functionals.formula import Formula, PreparedFormula
from orthoboot.functionals.means_form import MeansForm
from orthoboot.functionals.product_rows import ProductRows, feature_rows
from orthoboot.typing import BoolArray, FloatArray, Influence, IntArray

_EPSILON = float(np.finfo(np.float64).eps)

_VANISHING = 8 * _EPSILON
"""A mean below this share of the size of its numbers is what rounding leaves of zero."""

_FEW_SLOPES = 64
"""Derivatives of all outputs by all means up to which the linear part is found from the sums of the features."""

_LEAST_DIGITS = 1e-10
"""Moments of a resample that rounding leaves fewer digits about the mean of all rows are taken about its own mean."""


def centred_rows(rows: FloatArray, *, in_place: bool = False) -> tuple[FloatArray, FloatArray]:
    """Return the means ``(p,)`` of the columns of `rows` and their deviations ``(n, p)``, column by column in memory.

    A second pass takes out what rounding left in the mean, so that data far from zero lose no digits. For a constant
    column that rest is a few units in the last place, whose mean is exact: such a column deviates by zero exactly.

    Parameters
    ----------
    in_place
        Whether `rows` may be overwritten, since nobody else needs them; best column by column in memory.
    """
    columns = np.ascontiguousarray(rows.T) if in_place else np.array(rows.T, order="C")
    n = columns.shape[1]
    first = columns.mean(axis=1)
    rest = np.zeros_like(first)
    for piece in pieces(n, len(columns)):
        columns[:, piece] -= first[:, np.newaxis]
        rest += columns[:, piece].sum(axis=1)
    rest /= n
    columns -= rest[:, np.newaxis]
    return first + rest, columns.T


def _with_ones(deviations: FloatArray, units: FloatArray) -> FloatArray:
    """Return the deviations ``(n, p)`` in units, with a column of ones beside them."""
    rows = as_pieces(deviations)
    if rows is not None:
        return as_array(rows.mapped(partial(_with_ones, units=units), rows.width + 1))
    return np.column_stack([divided(deviations, units), np.ones(len(deviations))])


def _held_with_ones(means: FeatureMeans) -> tuple[FloatArray]:
    """Return the deviations in units with a column of ones beside them, as arrays of all rows of one sample."""
    rows = as_pieces(means.deviations)
    held = means.deviations if rows is None else rows.at(np.arange(len(rows)))
    return (_with_ones(held, means.units),)


def sum_of_multiples(slopes: Sequence[FloatArray] | FloatArray, changes: FloatArray) -> FloatArray:
    """Return ``sum_i slopes[i] * changes[:, i]``, shape ``(m, k)``, each row found alike whatever their number.

    Parameters
    ----------
    slopes
        p of them, each of shape ``(k,)``.
    changes
        In columns ``(m, p)``; or in p blocks of k columns ``(m, p k)``, where each output has changes of its own.
    """
    (m, width), k = changes.shape, len(slopes[0])
    parts = changes.T.reshape(len(slopes), width // len(slopes), m)
    total = np.empty((k, m))
    for piece in pieces(m, width + k):
        np.multiply(parts[0][:, piece], slopes[0][:, np.newaxis], out=total[:, piece])
        for part, slope in zip(parts[1:], slopes[1:], strict=True):
            total[:, piece] += part[:, piece] * slope[:, np.newaxis]
    return total.T


def _along_jacobian(jacobian: FloatArray, changes: FloatArray) -> FloatArray:
    return sum_of_multiples(jacobian.T, changes) if jacobian.size <= _FEW_SLOPES else changes @ jacobian.T


def _deviations_from(centre: FloatArray, values: FloatArray) -> FloatArray:
    return values - centre


def _differs_from(centre: FloatArray, values: FloatArray) -> FloatArray:
    return np.where(np.abs(values - centre) > _VANISHING * np.abs(values), 1.0, 0.0)


def _powers_about(
    powers: Callable[[FloatArray], FloatArray],
    centre: FloatArray,
    rest: FloatArray,
    equal: BoolArray,
    values: FloatArray,
) -> FloatArray:
    deviations = values - centre - rest
    deviations[equal & (np.abs(deviations) <= _VANISHING * np.abs(values))] = 0.0
    return powers(deviations)


def _in_units(along: Callable[[FloatArray], FloatArray], unit: FloatArray | float, changes: FloatArray) -> FloatArray:
    return times_unit(along(changes), unit)


@dataclass(frozen=True)
class FeatureMeans:
    """The features of one data set: their means ``(p,)`` and their deviations ``(n, p)`` from them.

    `unit` ``(k,)`` rescales the value to the units of the data.
    """

    centre: FloatArray
    deviations: FloatArray
    unit: FloatArray | float = field(default=1.0, kw_only=True)

    @cached_property
    def scale(self) -> FloatArray:
        """Return the standard deviations of the features, shape ``(p,)``."""
        return root_mean_square(self.deviations)

    @cached_property
    def units(self) -> FloatArray:
        """Return the powers of two in which the features are measured where they are multiplied, shape ``(p,)``."""
        return power_of_two(self.scale)

    @property
    def vanishing(self) -> BoolArray:
        """Return which means are zero but for rounding, as those of centred data are, shape ``(p,)``."""
        vanishing: BoolArray = np.abs(self.centre) <= _VANISHING * self.scale
        return vanishing


class FunctionOfMeans(Formula[FeatureMeans]):
    r"""The statistic :math:`\phi = g(m)`, where m are the weighted means of p features of the rows.

    The influence of row j is :math:`g'(\bar f)\,(f_j - \bar f)` and the second-order bias
    :math:`\tfrac12 \operatorname{tr}(g''(\bar f)\,\operatorname{Cov}(m))`; the function-of-mean model of the paper's
    ``subsection:biascorrection``.

    A subclass gives `features` and `value`; `jacobian` and `curvature` where they have a closed form; `n_variables` and
    `powers` where it is a function of central moments, with `order` the highest of them.
    """

    needs_weights = False
    order: ClassVar[int] = 2
    """The highest of the moments, where it is a function of such."""
    own_features: ClassVar[bool] = False
    """Whether `features` returns a new array each time, column by column in memory, which may be overwritten."""

    @abstractmethod
    def features(self, data: Data) -> FloatArray:
        """Return the features of the rows, shape ``(n, p)``, each row's from itself and `data.frame` alone."""

    @abstractmethod
    def value(self, means: FloatArray) -> FloatArray:
        """Return g at `means`, shape ``(p, ...)``, as shape ``(k, ...)``."""

    def unit(self, data: Data) -> FloatArray | float:
        """Return the factor that rescales the value to the units of the data; one by default."""
        return 1.0

    def n_variables(self, n_features: int) -> int:
        """Return how many features, the first ones, are variables whose shift does not change the value; 0 if none.

        Their squares are the next features.
        """
        return 0

    def powers(self, variables: FloatArray) -> FloatArray:
        """Return the variables ``(n, v)`` and, as further features, what is computed from them, shape ``(n, q)``."""
        return variables

    def jacobian(self, means: FloatArray) -> FloatArray | None:
        """Return g' at one point, shape ``(k, p)``, or None to use finite differences."""
        return None

    def curvature(self, means: FloatArray, directions: FloatArray) -> FloatArray | None:
        """Return ``sum_l u_l' g'' u_l``, shape ``(k,)``, over the columns of `directions`, or None as in `jacobian`."""
        return None

    def check(self, at: PreparedFormula[FeatureMeans]) -> None:
        """Raise unless there is one sample."""
        n_samples = len(at.data.sizes)
        if n_samples > 1:
            raise DataError(
                f"`{self.name}` takes one sample; got {n_samples} independent samples. Compare two samples with "
                f"`difference({self.name})`, or join statistics of the same samples with "
                f"`compose`.{at.data.samples_hint}"
            )

    def values(self, at: PreparedFormula[FeatureMeans], resamples: Resamples) -> FloatArray:
        """Return g at the weighted means, shape ``(B, k)``."""
        means = at.derived
        shifts = resamples.sums(0, means.deviations) / resamples.totals(0)[:, np.newaxis]
        return self.values_at(means, means.centre + shifts, resamples)

    def values_at(self, means: FeatureMeans, points: FloatArray, resamples: Resamples) -> FloatArray:
        """Return g in units of the data at the means of resamples, shape ``(B, p)``, where they have their digits."""
        v = self.n_variables(points.shape[1])
        doubtful = self._doubtful(means, points, v) if v else []
        rows = as_pieces(means.deviations)
        if doubtful and rows is not None:
            self._settle(rows.columns_at(slice(v)), points, doubtful, resamples)
        else:
            for b in doubtful:
                own = self._about_own_mean(means.deviations[:, :v], resamples.one(b).weights[0][0])
                points[b, : len(own)] = own
        return means.unit * self.value(points.T).T

    def _doubtful(self, means: FeatureMeans, points: FloatArray, v: int) -> list[int]:
        """Return the resamples that lack the outliers of the data, or more, so that the others seem to be equal.

        Central moments are differences of powers of the distance to the mean of all rows, and their rounding grows
        with these powers.
        """
        least = self._least_share * means.centre[v : 2 * v]
        spread = points[:, v : 2 * v] - np.square(points[:, :v])
        doubtful: list[int] = np.flatnonzero((spread < least).any(axis=1)).tolist()
        return doubtful

    @property
    def _least_share(self) -> float:
        """Return the share of the second moments that central ones must have to have their digits."""
        return float((_EPSILON / _LEAST_DIGITS) ** (2 / self.order))

    def _settle(self, variables: RowsInPieces, points: FloatArray, doubtful: list[int], resamples: Resamples) -> None:
        """Write the moments of doubtful resamples about means of their own into `points`, by passes over the rows.

        Resamples without the same outliers have about the same mean: that of one of them mostly serves for all.
        """
        v, left = variables.width, doubtful
        width = self.powers(np.zeros((1, v))).shape[1]
        while left:
            first = resamples.one(left[0])
            total = first.totals(0)[0]
            centre = first.sums(0, as_array(variables))[0] / total
            near = variables.mapped(partial(_deviations_from, centre))
            rest = first.sums(0, as_array(near))[0] / total
            differing = variables.mapped(partial(_differs_from, centre + rest))
            # Rows that are all the same differ from their mean by its rounding.
            equal = resamples.sums(0, as_array(differing)) == 0
            about = variables.mapped(partial(_powers_about, self.powers, centre, rest, equal[left[0]]), width)
            moments = resamples.sums(0, as_array(about)) / resamples.totals(0)[:, np.newaxis]
            second = moments[:, v : 2 * v]
            spread = second - np.square(moments[:, :v])
            settled = np.all((spread >= self._least_share * second) & (equal == equal[left[0]]), axis=1)
            settled[left[0]] = True
            done = [b for b in left if settled[b]]
            points[done, :width] = moments[done]
            left = [b for b in left if not settled[b]]

    def _about_own_mean(self, variables: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the weighted means of the powers of variables ``(n, v)`` about their own weighted means."""
        drawn = weights != 0
        rows, shares = variables[drawn], weights[drawn] / weights.sum()
        deviations = rows - np.einsum("j,jv->v", shares, rows)
        deviations -= np.einsum("j,jv->v", shares, deviations)
        # Rows that are all the same differ from their mean by its rounding.
        deviations[:, np.abs(deviations).max(axis=0) <= _VANISHING * np.abs(rows).max(axis=0)] = 0.0
        means: FloatArray = np.einsum("j,jq->q", shares, self.powers(deviations))
        return means

    def influence(self, at: PreparedFormula[FeatureMeans]) -> Influence:
        """Return ``g' . (f_j - mean f)`` for every row."""
        means = at.derived
        rows = as_pieces(means.deviations)
        if rows is not None:
            if isinstance(rows, ProductRows):
                return (as_array(rows.multiples(np.array(self.slopes(means)), means.unit)),)
            along = partial(_in_units, self._along(means), means.unit)
            return (as_array(rows.mapped(along, at.output.size, is_centred=True)),)
        return (times_unit(self.derivative_along(means, means.deviations), means.unit),)

    def at_rows(
        self, at: PreparedFormula[FeatureMeans], rows: tuple[IntArray, ...]
    ) -> PreparedFormula[FeatureMeans] | None:
        """Return the statistic at some rows from their features; None where these lack digits or are not held."""
        means = at.derived
        if as_pieces(means.deviations) is not None:
            return None
        shift, deviations = centred_rows(means.deviations[rows[0]])
        centre = means.centre + shift
        v = self.n_variables(len(centre))
        if v and self._doubtful(means, centre[np.newaxis], v):
            return None
        prepared = PreparedFormula[FeatureMeans](self, at.data)
        own = FeatureMeans(centre, deviations, unit=means.unit)
        # What is derived from a sample is known here without reading its rows.
        vars(prepared).update(derived=own, estimate=means.unit * self.value(centre))
        return prepared

    def _along(self, means: FeatureMeans) -> Callable[[FloatArray], FloatArray]:
        """Return `derivative_along` as a function of the changes alone, which does not hold the rows."""
        if type(self).derivative_along is FunctionOfMeans.derivative_along:
            return partial(_along_jacobian, self._jacobian_at(means))
        return partial(self.derivative_along, replace(means, deviations=np.empty((0, len(means.centre)))))

    def linear(self, at: PreparedFormula[FeatureMeans], resamples: Resamples) -> FloatArray | None:
        """Return ``g' . sum_j weights_j (f_j - mean f) / n``: the sums that the values need, and no others."""
        means = at.derived
        if len(means.centre) * at.output.size > _FEW_SLOPES:
            return None
        return times_unit(self.derivative_along(means, self.mean_changes(means, resamples)), means.unit)

    def mean_changes(self, means: FeatureMeans, resamples: Resamples) -> FloatArray:
        """Return ``sum_j weights_j (f_j - mean f) / n``, shape ``(B, p)``."""
        changes: FloatArray = resamples.sums(0, means.deviations) / len(means.deviations)
        return changes

    def derivative_along(self, means: FeatureMeans, changes: FloatArray) -> FloatArray:
        """Return ``g' . change`` for changes of the means in the rows ``(m, p)``, shape ``(m, k)``.

        Where `linear` uses it, each row must be found alike whatever their number.
        """
        return _along_jacobian(self._jacobian_at(means), changes)

    def second_order_bias(self, at: PreparedFormula[FeatureMeans], covariance: Covariance) -> FloatArray:
        """Return ``(1/2) tr(g'' C) - g' c``, C the covariance of the mean features under the plan.

        c is their covariance with the total weight, which is not zero where groups of unequal size are drawn whole: a
        mean is then a quotient of two random sums.
        """
        means = at.derived
        p, units = means.deviations.shape[1], means.units
        joint = covariance((_with_ones(means.deviations, units),))
        quotient = self.derivative_along(means, units * joint[np.newaxis, :p, p]).reshape(-1)
        if self.is_linear:
            return means.unit * (0.0 - quotient)  # not minus zero
        directions = units[:, np.newaxis] * principal_directions(joint[:p, :p])
        return means.unit * (self._trace(means, directions) / 2 - quotient)

    def _trace(self, means: FeatureMeans, directions: FloatArray) -> FloatArray:
        """Return ``sum_l u_l' g'' u_l`` over the columns of `directions`, shape ``(k,)``."""
        closed = self.curvature(means.centre, directions)
        if closed is not None:
            return closed
        return curvature_by_differences(self.value, means.centre, directions, len(means.deviations))

    def means_form(self, at: PreparedFormula[FeatureMeans]) -> MeansForm | None:
        """Return g as a function of the sums of the deviations and of the total weight, both divided by n.

        Where groups of unequal size are drawn whole the total varies, and a mean is a quotient of two random sums.
        """
        if not self.smooth:
            return None
        means = at.derived
        point = np.append(np.zeros(len(means.centre)), 1.0)
        features, value = partial(_held_with_ones, means), partial(self._at_sums, means)
        n = len(means.deviations)
        return MeansForm(n, features, point, value, unit=means.unit, is_linear=self.is_linear)

    def _at_sums(self, means: FeatureMeans, points: FloatArray) -> FloatArray:
        """Return g at sums of deviations and totals, both divided by n, shape ``(p + 1, ...)``."""
        sums, total, units = points[:-1], points[-1], means.units
        shape = (-1, *(1,) * (points.ndim - 1))
        with np.errstate(all="ignore"):  # what is not finite is no second derivative
            return self.value(means.centre.reshape(shape) + units.reshape(shape) * sums / total)

    def derived(self, data: Data) -> FeatureMeans:
        """Return the features of `data` as means and deviations."""
        # A user's function may read other rows, against the rule, and is not cut into pieces unless it must.
        sample = None if self.by_user and not data.is_in_pieces else in_pieces(data)
        if sample is None:
            return FeatureMeans(*centred_rows(self.features(data), in_place=self.own_features), unit=self.unit(data))
        known = self._product_rows(data, sample)
        if known is not None:
            centre, rows = known.deviations()
            return FeatureMeans(centre, as_array(rows), unit=self.unit(data))
        features = self.features_in_pieces(sample)
        near = self.n_variables(features.width) > 0
        centre, deviations = features.centred(in_place=self.own_features, near=near)
        return FeatureMeans(centre, as_array(deviations), unit=self.unit(data))

    def _product_rows(self, data: Data, sample: SampleInPieces) -> ProductRows | None:
        """Return the features of the rows where kernels compute them and their means are near zero."""
        products = self.products(data if sample.source.in_memory else sample.example)
        if products is None or not self.n_variables(products.n_features):
            return None
        return feature_rows(sample, products)

    def products(self, data: Data) -> RowProducts | None:
        """Return how `features` are computed, where these are deviations and products of them; else None.

        The slopes are then few, or each output has features of its own.
        """
        return None

    def slopes(self, means: FeatureMeans) -> Sequence[FloatArray] | FloatArray:
        """Return the derivatives of the outputs by each mean, or by each block of means; see `sum_of_multiples`."""
        return self._jacobian_at(means).T

    def features_in_pieces(self, sample: SampleInPieces) -> RowsInPieces:
        """Return the features of the rows, computed block by block."""
        return RowsInPieces(sample, self.features, self.features(sample.example).shape[1])

    def _jacobian_at(self, means: FeatureMeans) -> FloatArray:
        closed_form = self.jacobian(means.centre)
        if closed_form is not None:
            return closed_form
        return jacobian_by_differences(self.value, means.centre, means.scale, len(means.deviations))
