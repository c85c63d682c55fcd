"""Bias and variance through the second derivatives of the output."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np

from orthoboot.simulators.inputs import CurvatureMoments, FitCurvature
from orthoboot.simulators.orders.first import FirstOrder
from orthoboot.simulators.orders.pairs import folded_to_upper
from orthoboot.simulators.orders.weights import expected_share, shrinkage_weight, weighted_error
from orthoboot.typing import FloatArray

_CAUTIOUS = 3.0
"""Of rows drawn twice: their noise is many times the bias where the output is smooth in the draws."""

_EXPECTED = 0.2
"""Share of the features' bias that rows drawn twice may add, as where the second derivative has a kink."""


@dataclass(frozen=True, eq=False)
class SecondOrder:
    """Bias and variance from the second derivatives of the output, of all outputs.

    With H the second derivatives along the features, ``bias = sum H_kk / (2 n)``, and the variance of the quadratic
    part is ``(1/2) sum H_kl^2 / (n_k n_l)``, less the noise of H.

    Attributes
    ----------
    first
        The first order.
    loadings
        By input the loadings of what is resampled independently, rows or groups, for their third moments.
    parameter_bias
        How far resamples move the distributions along the features on average, shape ``(p,)``: zero for empirical
        inputs, the bias of the fit for others.
    moments
        By input those of a fitted density's second derivatives, None for empirical inputs.
    fits
        By input the second derivatives of fitted parameters by the rows' weights, None for empirical inputs.
    """

    first: FirstOrder
    loadings: tuple[FloatArray, ...]
    parameter_bias: FloatArray
    moments: tuple[CurvatureMoments | None, ...]
    fits: tuple[FitCurvature | None, ...]

    @cached_property
    def curvature(self) -> tuple[FloatArray, FloatArray]:
        """Return H and the variances of its entries by output, shape ``(k, p, p)`` each."""
        regression = self.first.regression
        design, outputs = regression.design, regression.outputs.shape[1]
        p = design.n_features
        noise = np.zeros((outputs, p, p))
        rows, columns = regression.pairs.T
        variances = np.diagonal(regression.covariance, axis1=1, axis2=2)[:, regression.second]
        noise[:, rows, columns] = noise[:, columns, rows] = variances
        if not (design.is_parametric | design.has_plan).any():
            return self._unrooted, noise
        root = design.root
        return root @ self._unrooted @ root, self._rooted_noise()

    @cached_property
    def _unrooted(self) -> FloatArray:
        """Return H along the features as they are, shape ``(k, p, p)``."""
        regression = self.first.regression
        outputs, p = regression.outputs.shape[1], regression.design.n_features
        h = np.zeros((outputs, p, p))
        rows, columns = regression.pairs.T
        squares = self._pair_moments
        found = regression.pair_coefficients * squares[:, np.newaxis] + regression.pair_rests
        h[:, rows, columns] = h[:, columns, rows] = found.T
        for i, moments in enumerate(self.moments):
            if moments is not None:
                self._store_fitted(i, moments, h)
        return h

    def _rooted_noise(self) -> FloatArray:
        """Return the variances of the entries of ``root H root``, H symmetric, by output, shape ``(k, p, p)``."""
        regression, root = self.first.regression, self.first.regression.design.root
        (first, second), p = regression.pairs.T, len(root)
        covariance = regression.covariance[:, regression.second, regression.second]
        noise = np.zeros((len(covariance), p, p))
        of = regression.design.input_of
        for i, j in combinations_with_replacement(range(len(regression.design.sizes)), 2):
            # The root is zero between inputs, so that only pairs of these two have a part in their entries.
            mine = np.flatnonzero((of[first] == i) & (of[second] == j))
            rows, columns = np.ix_(np.flatnonzero(of == i), np.flatnonzero(of == j))
            k, m = first[mine], second[mine]
            effects = root[rows[:, :, np.newaxis], k] * root[columns[..., np.newaxis], m]
            swapped = root[rows[:, :, np.newaxis], m] * root[columns[..., np.newaxis], k]
            effects = effects + np.where(k == m, 0.0, swapped)
            found = np.einsum("abq,oqr,abr->oab", effects, covariance[:, mine[:, np.newaxis], mine], effects)
            noise[:, rows, columns] = found
            noise[:, columns.T, rows.T] = found.transpose(0, 2, 1)
        return noise

    @cached_property
    def _pair_moments(self) -> FloatArray:
        """Return the second moments of the columns of pairs, shape ``(q,)``."""
        regression = self.first.regression
        return np.array([regression.design.pair_moment(int(k), int(j)) for k, j in regression.pairs])

    def _store_fitted(self, i: int, moments: CurvatureMoments, h: FloatArray) -> None:
        """Write the second derivatives along the parameters of a fitted input into `h`.

        ``E[Y M] + E[Y sum r]``, where r is the second derivative of a draw's density over its density. Columns of
        pairs are correlated with one another through r, by moments that are known.
        """
        regression = self.first.regression
        design = regression.design
        own = np.flatnonzero(design.input_of == i)
        first = int(own[0])
        used = design.used[:, i]
        found = np.einsum("mkl,mo->okl", moments.slopes, regression.slopes[own])
        mine = np.flatnonzero((design.input_of[regression.pairs] == i).all(axis=1))
        for (k, j), b, rest in zip(
            regression.pairs[mine] - first,
            regression.pair_coefficients[mine],
            regression.pair_rests[mine],
            strict=True,
        ):
            second = design.mean_used[i] * moments.rest[:, :, k, j]
            second[k, j] += np.mean(used * (used - 1))
            second[j, k] += np.mean(used * (used - 1))
            found += b[:, np.newaxis, np.newaxis] * second
            found[:, k, j] += rest
            if k != j:
                found[:, j, k] += rest
        h[:, own[:, np.newaxis], own] = found

    @cached_property
    def bias(self) -> FloatArray:
        """Return the bias, shape ``(k,)``: of the features' squares, and of rows drawn twice beyond them."""
        own = self.parameter_bias @ self.first.regression.slopes
        value, error = self._repeated_row_bias
        told = shrinkage_weight(value, error, _CAUTIOUS)
        return np.asarray(self._smooth_bias + own + (1 - (1 - self._expected) * (1 - told)) * value)

    @cached_property
    def _smooth_bias(self) -> FloatArray:
        """Return the bias of the features' squares, shape ``(k,)``."""
        h, _ = self.curvature
        return np.asarray((np.diagonal(h, axis1=1, axis2=2) / self._rows).sum(axis=1) / 2)

    @property
    def _expected(self) -> FloatArray:
        """Return how much rows drawn twice count by the size that they may be expected to have, shape ``(k,)``."""
        return expected_share(_EXPECTED * self._smooth_bias, self._repeated_row_bias[1])

    @cached_property
    def bias_error(self) -> FloatArray:
        """Return the simulation error of the bias, shape ``(k,)``."""
        regression = self.first.regression
        spread = regression.design.root @ regression.design.root
        k, j = regression.pairs.T
        # The derivatives of the bias by the means: of the trace of root H root over 2 n, and of the fits' own bias.
        traced = spread[k, j] * np.where(k == j, 1, 2) / (2 * self._rows[k])
        effects = np.concatenate([[0.0], self.parameter_bias, traced])
        by_features = np.einsum("q,kqr,r->k", effects, regression.covariance, effects)
        value, error = self._repeated_row_bias
        expected = self._expected
        beyond = expected * error + (1 - expected) * weighted_error(value, error, _CAUTIOUS)
        return np.asarray(np.sqrt(by_features + beyond**2))

    @property
    def _rows(self) -> FloatArray:
        design = self.first.regression.design
        return design.sizes[design.input_of]

    @cached_property
    def _repeated_row_bias(self) -> tuple[FloatArray, FloatArray]:
        """Return the bias through rows drawn twice in a run, beyond the features, and its error, shape ``(k,)``.

        ``(1/2) E[e (sum N^2 - T - T (T - 1)/n - sum_k M_kk / n)]``.
        """
        regression = self.first.regression
        design = regression.design
        excess = np.zeros(len(design))
        for i, n in enumerate(design.sizes):
            t, squares = design.used[:, i], design.squared_counts[:, i]
            if not design.has_independent_rows[i] or t.max(initial=0) <= 1:
                continue
            own = np.flatnonzero(design.input_of == i).tolist()
            smooth = np.sum([design.pair(k, k) for k in own], axis=0)
            excess += (squares - t - t * (t - 1) / n - smooth / n) / 2
        terms = regression.unexplained * excess[:, np.newaxis]
        value = terms.mean(axis=0)
        return value, np.sqrt(terms.var(axis=0) / len(design))

    @cached_property
    def parts(self) -> FloatArray:
        """Return the variance of the quadratic part by pairs of inputs, shape ``(m, m, k)``, the upper triangle."""
        h, noise = self.curvature
        found = self._by_inputs((h**2 - noise) / (2 * self._rows[:, np.newaxis] * self._rows))
        for i in self._fitted:
            squares = np.array([np.sum(kernel.product * kernel.product.T) for kernel in self._kernels[i]])
            own = self.first.regression.design.input_of == i
            lost = noise[:, own][:, :, own].sum(axis=(1, 2))
            found[i, i] = (squares - lost) / (2 * len(self.loadings[i]) ** 2)
        return found

    # A fitted distribution moves along its parameters, and these bend with the weights of the rows. The kernel of the
    # quadratic part is l_i' (H + a T) l_j + c_i l_j + c_j l_i, with c = D' a, so that it is of the numbers (l, c) of
    # each row, with the matrix B of H + a T and ones.

    @property
    def _fitted(self) -> list[int]:
        return [i for i, fit in enumerate(self.fits) if fit is not None]

    @cached_property
    def _kernels(self) -> dict[int, list[_Kernel]]:
        """Return the kernels of every fitted input, one for each output."""
        found = {}
        for i in self._fitted:
            fit = self.fits[i]
            assert fit is not None
            own = np.flatnonzero(self.first.regression.design.input_of == i)
            slopes, second = self.first.regression.slopes[own], self._unrooted[:, own[:, np.newaxis], own]
            found[i] = [
                _Kernel.of(self.loadings[i], fit, slope, matrix) for slope, matrix in zip(slopes.T, second, strict=True)
            ]
        return found

    @cached_property
    def part_errors(self) -> FloatArray:
        """Return the simulation errors of `parts`, shape ``(m, m, k)``."""
        h, noise = self.curvature
        scale = 2 * self._rows[:, np.newaxis] * self._rows
        squares = (2 * noise**2 + 4 * np.maximum(h**2 - noise, 0) * noise) / scale**2
        # An entry off the diagonal stands for two that are equal, so that its errors add up, not their squares.
        found = self._by_inputs(squares * (2 - np.eye(len(self._rows))))
        regression = self.first.regression
        covariance = regression.covariance[:, regression.second, regression.second]
        for i in self._fitted:
            own = regression.design.input_of == i
            pure = (2 * noise**2 / scale**2)[:, own][:, :, own].sum(axis=(1, 2))
            effects = self._by_pair(self._own_slopes(i), i)
            found[i, i] = pure + np.einsum("qk,kqr,rk->k", effects, covariance, effects)
        return np.sqrt(found)

    def _own_slopes(self, i: int) -> FloatArray:
        """Return the derivatives of the variance of a fitted input by its entries of H, shape ``(k, p_i, p_i)``."""
        p, n = self.loadings[i].shape[1], len(self.loadings[i])
        return np.array([(kernel.product @ kernel.covariance)[:p, :p].T / n**2 for kernel in self._kernels[i]])

    @property
    def noise_variance(self) -> FloatArray:
        """Return that part of the error's square which falls with the square of the runs, shape ``(k,)``."""
        _, noise = self.curvature
        scale = 2 * self._rows[:, np.newaxis] * self._rows
        return np.asarray((2 * noise**2 / scale**2 * (2 - np.eye(len(self._rows)))).sum(axis=(1, 2)))

    @cached_property
    def run_terms(self) -> FloatArray:
        """Return what each run adds to the error of `parts` and `cross` together, shape ``(R, k)``: ``e c . M``.

        c is the derivative of the variance by ``E[Y M]``.
        """
        regression = self.first.regression
        root, rows = regression.design.root, self._rows
        slopes = root @ (self.curvature[0] / (rows[:, np.newaxis] * rows)) @ root
        for i in self._fitted:
            own = np.flatnonzero(regression.design.input_of == i)
            slopes[:, own[:, np.newaxis], own] = self._own_slopes(i)
        first, second = regression.pairs.T
        by_pair = (slopes[:, first, second] * np.where(first == second, 1, 2)).T + self._cross_slopes
        pairs = regression.columns[:, regression.second] * regression.pair_scales
        return np.asarray(regression.unexplained * (pairs @ by_pair))

    def _by_inputs(self, entries: FloatArray) -> FloatArray:
        """Return the sums of entries ``(k, p, p)`` over pairs of inputs, shape ``(m, m, k)``."""
        design = self.first.regression.design
        is_of = (design.input_of[:, np.newaxis] == np.arange(len(design.sizes))).astype(np.float64)
        return folded_to_upper((is_of.T @ entries @ is_of).transpose(1, 2, 0))

    @cached_property
    def cross(self) -> FloatArray:
        """Return twice the covariance of the linear and the quadratic part, shape ``(m, k)``: mean(l q) / n^2.

        It counts by its size in errors: where rows have long tails, it is mostly noise.
        """
        value, error = self._cross
        return shrinkage_weight(value, error) * value

    @property
    def cross_error(self) -> FloatArray:
        """Return its simulation error, shape ``(m, k)``."""
        return weighted_error(*self._cross)

    @cached_property
    def _cross(self) -> tuple[FloatArray, FloatArray]:
        """Return the covariance as it is, and its error through the second derivatives, shape ``(m, k)`` each."""
        regression = self.first.regression
        design, (h, _) = regression.design, self.curvature
        covariance = regression.covariance[:, regression.second, regression.second]
        values, errors = [], []
        for i, third in enumerate(self._third_moments):
            own = np.flatnonzero(design.input_of == i)
            values.append((third * h[:, own[:, np.newaxis], own]).sum(axis=(1, 2)) + self._cross_of_fit(i))
            effects = self._effects(i)
            errors.append(np.sqrt(np.maximum(np.einsum("qk,kqr,rk->k", effects, covariance, effects), 0.0)))
        return np.stack(values), np.stack(errors)

    @cached_property
    def _third_moments(self) -> list[FloatArray]:
        """Return by input the derivatives of the covariance by H, shape ``(k, p_i, p_i)``."""
        design, found = self.first.regression.design, []
        for i, n in enumerate(design.sizes):
            own = np.flatnonzero(design.input_of == i)
            standard = _standard(self.loadings[i], design.root[np.ix_(own, own)])
            linear = standard @ self.first.slopes[own]
            found.append(np.einsum("nk,np,nq->kpq", linear, standard, standard) / n**3)
        return found

    def _cross_of_fit(self, i: int) -> FloatArray:
        """Return what the bend of a fit adds to the covariance of one input, ``mean(l (2 c l + a T[l, l])) / n^2``."""
        fit, loadings = self.fits[i], self.loadings[i]
        slopes = self.first.regression.slopes[self.first.regression.design.input_of == i]
        if fit is None:
            return np.zeros(slopes.shape[1])
        bent = 2 * np.einsum("nab,nb->na", fit.rows, loadings)
        bent += np.einsum("abc,nb,nc->na", fit.third, loadings, loadings)
        return np.asarray(((loadings @ slopes) * (bent @ slopes)).mean(axis=0) / len(loadings) ** 2)

    def _effects(self, i: int) -> FloatArray:
        """Return the derivatives of the covariance of one input by ``E[Y M]``, shape ``(q, k)``."""
        design = self.first.regression.design
        own = design.input_of == i
        root = design.root[np.ix_(own, own)]
        return self._by_pair(root @ self._third_moments[i] @ root, i)

    def _by_pair(self, slopes: FloatArray, i: int) -> FloatArray:
        """Return derivatives by the entries of H of one input ``(k, p_i, p_i)`` as those by pairs, shape ``(q, k)``."""
        regression = self.first.regression
        pairs, of = regression.pairs, regression.design.input_of
        mine = (of[pairs] == i).all(axis=1)
        found = np.zeros((len(pairs), len(slopes)))
        if mine.any():
            first, second = (pairs[mine] - np.flatnonzero(of == i)[0]).T
            found[mine] = (slopes[:, first, second] * np.where(first == second, 1, 2)).T
        return found

    @property
    def _cross_slopes(self) -> FloatArray:
        """Return the derivatives of `cross` by ``E[Y M]``, its weight included, shape ``(q, k)``."""
        value, error = self._cross
        slopes = self.cross_error / np.where(error > 0, error, 1.0)
        return np.asarray(np.sum([self._effects(i) * slopes[i] for i in range(len(value))], axis=0))


class _Kernel(NamedTuple):
    """The quadratic part of one output along the rows of a fitted input: ``u_i' B u_j``, ``u = (l, c)``.

    Attributes
    ----------
    product
        ``C B``, C the mean of ``u u'`` over the rows.
    covariance
        C.
    """

    product: FloatArray
    covariance: FloatArray

    @classmethod
    def of(cls, loadings: FloatArray, fit: FitCurvature, slopes: FloatArray, second: FloatArray) -> _Kernel:
        """Return the kernel for slopes a ``(p,)`` and second derivatives H ``(p, p)`` of the output."""
        p = len(slopes)
        numbers = np.concatenate([loadings, np.einsum("nab,a->nb", fit.rows, slopes)], axis=1)
        covariance = numbers.T @ numbers / len(numbers)
        matrix = np.zeros((2 * p, 2 * p))
        matrix[:p, :p] = second + np.einsum("a,abc->bc", slopes, fit.third)
        matrix[:p, p:] = matrix[p:, :p] = np.eye(p)
        return cls(covariance @ matrix, covariance)


def _standard(loadings: FloatArray, root: FloatArray) -> FloatArray:
    """Return the loadings of rows in units of their own spread."""
    return np.asarray(loadings @ np.linalg.pinv(root))
