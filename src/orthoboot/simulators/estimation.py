"""What recorded runs say of the output and of its input uncertainty: pure functions of the records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np

from orthoboot.simulators.design import Design, residual_influence
from orthoboot.simulators.orders.first import FirstOrder
from orthoboot.simulators.orders.second import SecondOrder
from orthoboot.simulators.orders.third import ThirdOrder
from orthoboot.simulators.orders.weights import expected_share, shrinkage_weight
from orthoboot.simulators.regression import RUNS_PER_COLUMN, Regression, regression_of
from orthoboot.simulators.resampling import LEAST_PAIRS, ResampledVariance
from orthoboot.simulators.runs import Experiment, Reruns, Runs
from orthoboot.typing import BoolArray, FloatArray

LARGE_SHARE = 0.5
"""Above this share of second order the two-layer bootstrap is used."""

_CERTAIN = 1.5
"""A second order that is no larger than so many of its errors may be noise."""

_CLEAR = 5.0
"""A first order that is larger than so many of its errors is not noise."""

_NOISE_LEFT = 0.2
"""Share of the noise of a run that is left once its value at the data is known."""

_THIRD_ORDER_SIZE = 2.0
"""Assumed size of the third-order covariance, as a multiple of the second-order variance, until it is measured."""

_LITTLE = 0.02
"""What is left out of the variance may be this share of it without a warning."""

_BEYOND = 3.0
"""Orders beyond the third add about so many times the square of the share of the second."""


class Regime(NamedTuple):
    """How the input variance was found, and why.

    Attributes
    ----------
    name
        "base runs", "resamples" or "two-layer".
    reason
        In words.
    """

    name: str
    reason: str


@dataclass(frozen=True, eq=False)
class Records:
    """All that was simulated: base runs, the sums over their draws, and runs under resamples.

    Attributes
    ----------
    experiment
        The model with its inputs.
    runs
        At the data.
    design
        Sums over their draws.
    reruns
        Under resamples, or None.
    weights
        By output of a run; None for the outputs themselves, else a matrix ``(k, new k)``.
    given_limits
        Of the mean outputs, as the user says; None to see from the runs.
    """

    experiment: Experiment
    runs: Runs
    design: Design
    reruns: Reruns | None = None
    weights: FloatArray | None = None
    given_limits: tuple[float, float] | None = None

    @cached_property
    def limits(self) -> tuple[FloatArray, FloatArray]:
        """Return between what the mean outputs lie, infinite where there is no limit, shape ``(k,)`` each.

        Outputs that are 0 in some runs, 1 in others and never beyond are shares or probabilities.
        """
        low, high = self._own_limits
        if self.weights is None:
            return low, high
        ends = [np.where(self.weights == 0, 0.0, self.weights * end[:, np.newaxis]) for end in (low, high)]
        return np.minimum(*ends).sum(axis=0), np.maximum(*ends).sum(axis=0)

    @property
    def _own_limits(self) -> tuple[FloatArray, FloatArray]:
        size = self.runs.outputs.shape[1]
        if self.given_limits is not None:
            return np.full(size, self.given_limits[0]), np.full(size, self.given_limits[1])
        found = self._all_outputs
        is_share = (found.min(axis=0) == 0) & (found.max(axis=0) == 1)
        return np.where(is_share, 0.0, -np.inf), np.where(is_share, 1.0, np.inf)

    @property
    def outputs(self) -> FloatArray:
        """Return the outputs of the base runs, shape ``(R, k)``."""
        return self.runs.outputs if self.weights is None else self.runs.outputs @ self.weights

    @property
    def pairs(self) -> FloatArray:
        """Return the outputs under resamples, shape ``(B, 2, k)``."""
        assert self.reruns is not None
        return self.reruns.pairs if self.weights is None else self.reruns.pairs @ self.weights

    @property
    def vary(self) -> bool:
        """Return whether any output is not the same in all runs."""
        return bool(np.ptp(self._all_outputs, axis=0).any())

    @property
    def never_below_zero(self) -> BoolArray:
        """Return which outputs have no limit that is known, but were below zero in no run, shape ``(k,)``."""
        outputs = self._all_outputs if self.weights is None else self._all_outputs @ self.weights
        return np.asarray((outputs.min(axis=0) >= 0) & np.isinf(self.limits[0]))

    @property
    def _all_outputs(self) -> FloatArray:
        """Return the outputs of all runs, shape ``(runs, k)``."""
        if self.reruns is None:
            return self.runs.outputs
        return np.concatenate([self.runs.outputs, self.reruns.pairs.reshape(-1, self.runs.outputs.shape[1])])

    def combined(self, weights: FloatArray) -> Records:
        """Return the records of weighted sums of the outputs."""
        return replace(self, weights=weights if self.weights is None else self.weights @ weights)

    @property
    def n_runs(self) -> int:
        """Return how often the model was run."""
        return len(self.runs) + (0 if self.reruns is None else 2 * len(self.reruns))


@dataclass(frozen=True, eq=False)
class Estimation:
    """Estimates of all k outputs.

    Attributes
    ----------
    records
        What was simulated.
    regime
        How the variance is found.
    """

    records: Records
    regime: Regime

    def of_output(self, output: int) -> str:
        """Return " of" and the name of an output, where there are several."""
        names = self.records.experiment.output.names
        return f" of {names[output]}" if self.records.weights is None and len(names) > 1 else ""

    # At the data

    @cached_property
    def regression(self) -> Regression:
        """Return the regression of the outputs on the sums over their draws."""
        return regression_of(self.records.design, self.records.outputs)

    @property
    def estimate(self) -> FloatArray:
        """Return phi_hat, the mean output at the data, shape ``(k,)``."""
        return self.regression.intercept

    @property
    def run_error(self) -> FloatArray:
        """Return the standard error of the estimate through the number of runs, shape ``(k,)``."""
        return np.asarray(np.sqrt(np.maximum(self.regression.covariance[:, 0, 0], 0.0)))

    @cached_property
    def first(self) -> FirstOrder:
        """Return the first order."""
        records = self.records
        residuals = self.regression.leave_one_out_residuals
        return FirstOrder(
            self.regression, residual_influence(records.experiment, records.runs, records.design, residuals)
        )

    @cached_property
    def second(self) -> SecondOrder:
        """Return the second order."""
        inputs = self.records.experiment.inputs
        bias = np.concatenate([entry.bias for entry in inputs])
        moments = tuple(entry.curvature_moments for entry in inputs)
        loadings = tuple(entry.unit_loadings for entry in inputs)
        return SecondOrder(self.first, loadings, bias, moments, tuple(entry.fit_curvature for entry in inputs))

    @cached_property
    def third(self) -> ThirdOrder:
        """Return the third order."""
        return ThirdOrder(self.first)

    # The formula

    @cached_property
    def _quadratic_variance(self) -> FloatArray:
        """Return the variance of the quadratic part, as far as it is above its noise, shape ``(k,)``."""
        value, noise = self._curvature
        return np.asarray(shrinkage_weight(value, noise) * np.maximum(value, 0.0))

    @property
    def _curvature(self) -> tuple[FloatArray, FloatArray]:
        """Return the variance of the quadratic part and its error, shape ``(k,)`` each."""
        second = self.second
        return second.parts.sum(axis=(0, 1)), np.sqrt((second.part_errors**2).sum(axis=(0, 1)))

    @cached_property
    def _third_weight(self) -> FloatArray:
        """Return how much the third order counts, shape ``(k,)``: by the size it may be expected to have."""
        noise = (self.third.part_errors**2).sum(axis=(0, 1))
        expected = (_THIRD_ORDER_SIZE * self._quadratic_variance) ** 2
        return np.asarray(expected / np.where(expected > 0, expected + noise, 1.0))

    @cached_property
    def _second_and_third(self) -> FloatArray:
        """Return the variance of second order and the covariance of third by pairs of inputs, shape ``(m, m, k)``."""
        return np.asarray(self.second.parts + self._third_weight * self.third.parts)

    @cached_property
    def parts(self) -> FloatArray:
        """Return the variance by input, then by pair of inputs, shape ``(m + m(m-1)/2, k)``: all of order ``1/n^2``."""
        higher, m = self._second_and_third, len(self.records.experiment.inputs)
        own = self.first.variances + higher[range(m), range(m)] + self.second.cross
        between = [higher[i, j] for i, j in combinations(range(m), 2)]
        return np.concatenate([own, np.reshape(between, (-1, own.shape[1]))])

    @property
    def formula_variance(self) -> FloatArray:
        """Return the variance by the formula, shape ``(k,)``."""
        return np.asarray(self.parts.sum(axis=0))

    @cached_property
    def formula_error(self) -> FloatArray:
        """Return its simulation error, shape ``(k,)``.

        A run with a large output is large in all orders, so that their errors add up run by run.
        """
        first, second = self.first, self.second
        terms = first.run_terms.sum(axis=1) + second.run_terms + self._third_weight * self.third.run_terms
        pure = first.noise_variance.sum(axis=0) + second.noise_variance
        return np.asarray(np.sqrt(terms.var(axis=0) / len(terms) + pure))

    def _error(self, first: FloatArray, higher: FloatArray) -> FloatArray:
        """Return the simulation error of a weighted sum of the parts, shape ``(k,)``.

        Parameters
        ----------
        first
            The weights of the first order, by input, shape ``(m, k)``.
        higher
            Those of the orders beyond, by input, then by pair of inputs, shape ``(parts, k)``.
        """
        terms = np.einsum("rik,ik->rk", self.first.run_terms, first)
        squares = terms.var(axis=0) / len(terms)
        squares += (first**2 * self.first.noise_variance).sum(axis=0)
        squares += (higher**2 * self._squared_higher_errors).sum(axis=0)
        return np.asarray(np.sqrt(squares))

    @cached_property
    def _squared_higher_errors(self) -> FloatArray:
        """Return the variances of the parts beyond the first order, shape ``(parts, k)``."""
        m, second = len(self.records.experiment.inputs), self.second
        squares = second.part_errors**2 + (self._third_weight * self.third.part_errors) ** 2
        own = squares[range(m), range(m)] + second.cross_error**2
        between = [squares[i, j] for i, j in combinations(range(m), 2)]
        return np.concatenate([own, np.reshape(between, (-1, own.shape[1]))])

    @property
    def _squared_part_errors(self) -> FloatArray:
        """Return the variances of the parts beside those of `run_terms`, shape ``(parts, k)``."""
        squares = self._squared_higher_errors.copy()
        squares[: len(self.records.experiment.inputs)] += self.first.noise_variance
        return squares

    @property
    def second_share(self) -> FloatArray:
        """Return f2, the share of the second order in the variance, zero where it may be noise, shape ``(k,)``."""
        curved, noise = self._curvature
        certain = np.where(curved > _CERTAIN * noise, curved, 0.0)
        total = self.first.variances.sum(axis=0) + np.maximum(curved, 0.0)
        return np.asarray(np.where(total > 0, np.minimum(certain / np.where(total > 0, total, 1.0), 1.0), 0.0))

    @property
    def reaches_limit(self) -> BoolArray:
        """Return which outputs have a first order that reaches a limit of the output within one error, shape ``(k,)``.

        An event that nearly always, or hardly ever, happens has a small slope at the data, and another one elsewhere.
        """
        low, high = self.records.limits
        room = np.minimum(self.estimate - low, high - self.estimate)
        variance = self.first.variances.sum(axis=0)
        return np.asarray((variance > 0) & (np.sqrt(np.maximum(variance, 0.0)) > room))

    @property
    def may_have_no_effect(self) -> BoolArray:
        """Return which inputs have no variance that is clearly above its error, in any output, shape ``(m,)``."""
        first = self.first
        error = np.sqrt(first.run_terms.var(axis=0) / len(first.run_terms) + first.noise_variance)
        return np.asarray((first.variances <= _CLEAR * error).all(axis=1))

    @property
    def noise_share(self) -> FloatArray:
        """Return the variance of a run over the input variance, as far as that is above its noise, shape ``(k,)``."""
        first = self.first
        noise = first.run_terms.sum(axis=1).var(axis=0) / len(first.run_terms) + first.noise_variance.sum(axis=0)
        variance = np.maximum(first.variances.sum(axis=0) - np.sqrt(noise), 0.0)
        spread = self.records.outputs.var(axis=0)
        return np.where(variance > 0, spread / np.where(variance > 0, variance, 1.0), np.inf)

    def resample_error(self, n_resamples: int) -> FloatArray:
        """Return about how exactly so many resamples would tell the variance, relative to it, shape ``(k,)``.

        Half of the two runs' noise stays in their mean, which meets the linear part, and all of it in their product.
        """
        noise = _NOISE_LEFT * self.noise_share
        return np.asarray(np.sqrt((2 * noise + noise**2) / n_resamples))

    # Resamples

    @cached_property
    def resampled(self) -> ResampledVariance | None:
        """Return what the runs under resamples say, if there are enough."""
        reruns = self.records.reruns
        if reruns is None or len(reruns) < LEAST_PAIRS:
            return None
        experiment = self.records.experiment
        numbers = reruns.resamples.tolist()
        linear = np.zeros((len(reruns), self.records.outputs.shape[1]))
        exact = np.zeros(linear.shape[1])
        for i, (entry, influence) in enumerate(zip(experiment.inputs, self.sorted_influence, strict=True)):
            stream = experiment.resample_stream(i)
            linear += entry.resampled_means(experiment.key, stream, numbers, influence)
            exact += entry.linear_variance(influence)
        base = self.records.outputs[reruns.base] - self.estimate
        features = self.records.design.features[reruns.base]
        return ResampledVariance(self.records.pairs, base, features, linear, exact, reruns.base)

    @cached_property
    def resample_weight(self) -> FloatArray:
        """Return how much the resamples count beside the formula, shape ``(k,)``."""
        found = self.resampled
        if found is None:
            return np.zeros_like(self.estimate)
        if self.regime.name == "two-layer":
            return np.ones_like(self.estimate)
        return self._weight(found.variance - self.formula_variance, found.variance_error, self._formula_uncertainty)

    @property
    def _formula_uncertainty(self) -> FloatArray:
        """Return the standard error of the formula, with the orders that it leaves out, shape ``(k,)``."""
        return np.asarray(np.hypot(self.missing_orders, self.formula_error))

    @cached_property
    def missing_orders(self) -> FloatArray:
        """Return about how much what the formula leaves out may add to the variance, shape ``(k,)``.

        That is the part of the third order which does not count, and what is beyond.
        """
        curved, total = self._quadratic_variance, self.formula_variance
        beyond = _BEYOND * curved**2 / np.where(total > curved, total, np.where(curved > 0, curved, 1.0))
        unmeasured = 1 - self._third_weight * (1 - self._unmeasured_share)
        return np.asarray(np.hypot(unmeasured * _THIRD_ORDER_SIZE * curved, beyond))

    @property
    def _unmeasured_share(self) -> FloatArray:
        """Return the share of the quadratic part that is of inputs whose third order is not known."""
        unknown = ~self.records.design.has_independent_rows
        parts = np.maximum(self.second.parts, 0.0)
        total, theirs = parts.sum(axis=(0, 1)), parts[unknown | unknown[:, np.newaxis]].sum(axis=0)
        return np.asarray(theirs / np.where(total > 0, total, 1.0))

    @staticmethod
    def _weight(change: FloatArray, noise: FloatArray, doubt: FloatArray) -> FloatArray:
        """Return how much a noisy correction counts: by what it may be expected to be, and by its size in errors."""
        return np.asarray(1 - (1 - expected_share(doubt, noise)) * (1 - shrinkage_weight(change, noise)))

    @cached_property
    def variance(self) -> FloatArray:
        """Return the input variance, shape ``(k,)``; not below zero."""
        total = self.formula_variance
        if self.resampled is not None:
            total = total + self.resample_weight * (self.resampled.variance - total)
        return np.asarray(np.maximum(total, 0.0))

    @cached_property
    def variance_error(self) -> FloatArray:
        """Return its simulation error, shape ``(k,)``."""
        if self.resampled is None:
            return self._formula_uncertainty
        w = self.resample_weight
        left_out = (1 - w) * np.abs(self.resampled.variance - self.formula_variance)
        return np.asarray(
            np.sqrt((w * self.resampled.variance_error) ** 2 + ((1 - w) * self.formula_error) ** 2 + left_out**2)
        )

    @property
    def exceeds_noise(self) -> BoolArray:
        """Return where the orders that the formula leaves out may be larger than its noise, and matter, ``(k,)``."""
        missing = self.missing_orders
        return np.asarray((missing > self.formula_error) & (missing > _LITTLE * self.formula_variance))

    @property
    def input_error(self) -> FloatArray:
        """Return the standard error through the inputs' data, shape ``(k,)``."""
        return np.asarray(np.sqrt(self.variance))

    @property
    def input_error_error(self) -> FloatArray:
        """Return its simulation error, shape ``(k,)``."""
        return _root_error(self.variance, self.variance_error)

    @cached_property
    def bias(self) -> FloatArray:
        """Return the bias through the inputs' data, shape ``(k,)``."""
        value = self.second.bias
        if self.resampled is None:
            return value
        w = self._bias_weight
        return np.asarray(value + w * (self.resampled.bias(self.estimate) - value))

    @cached_property
    def _bias_weight(self) -> FloatArray:
        assert self.resampled is not None
        if self.regime.name == "two-layer":
            return np.ones_like(self.estimate)
        change = self.resampled.bias(self.estimate) - self.second.bias
        return self._weight(change, self._resampled_bias_error, self._bias_uncertainty)

    @property
    def _bias_uncertainty(self) -> FloatArray:
        """Return the standard error of the formula for the bias, with the orders that it leaves out, ``(k,)``."""
        total = np.where(self.formula_variance > 0, self.formula_variance, np.inf)
        missing = np.minimum(self.missing_orders / total, 1.0) * np.abs(self.second.bias)
        return np.asarray(np.hypot(self.second.bias_error, missing))

    @cached_property
    def bias_error(self) -> FloatArray:
        """Return its simulation error, shape ``(k,)``."""
        if self.resampled is None:
            return self.second.bias_error
        w = self._bias_weight
        left_out = (1 - w) * np.abs(self.resampled.bias(self.estimate) - self.second.bias)
        return np.asarray(
            np.sqrt((w * self._resampled_bias_error) ** 2 + ((1 - w) * self.second.bias_error) ** 2 + left_out**2)
        )

    @property
    def _resampled_bias_error(self) -> FloatArray:
        """Return the error of the bias by resamples, shape ``(k,)``; that of the estimate cancels in part."""
        assert self.resampled is not None
        return np.asarray(np.hypot(self.resampled.bias_error, (1 - self.resampled.common) * self.run_error))

    @property
    def total_error(self) -> FloatArray:
        """Return the standard error through data and runs together, shape ``(k,)``."""
        return np.asarray(np.sqrt(self.variance + self.run_error**2))

    # By input and by row

    @cached_property
    def sorted_influence(self) -> tuple[FloatArray, ...]:
        """Return by input the influence of its sorted rows, shape ``(n_i, k)``."""
        slopes, residual = self.first.shrunken_slopes, self.first.influence
        of, inputs = self.records.design.input_of, self.records.experiment.inputs
        return tuple(entry.loadings @ slopes[of == i] + residual[i] for i, entry in enumerate(inputs))

    @cached_property
    def shares(self) -> FloatArray:
        """Return the shares of the parts, not below zero and summing to one, shape ``(parts, k)``; NaN of nothing."""
        parts = np.maximum(self.parts, 0.0)
        total = parts.sum(axis=0)
        return np.asarray(parts / np.where(total > 0, total, np.nan))

    @cached_property
    def share_errors(self) -> FloatArray:
        """Return the simulation errors of the shares, shape ``(parts, k)``."""
        total = np.maximum(self.parts, 0.0).sum(axis=0)
        shares, m = self.shares, len(self.records.experiment.inputs)
        # Of `_error` with weights 1 - share for the part itself and -share for the others, without the matrix of all
        # weights: there are as many parts as pairs of inputs.
        terms = self.first.run_terms
        whole = terms.sum(axis=1)
        squares = shares**2 * whole.var(axis=0)
        both = np.einsum("rik,rk->ik", terms - terms.mean(axis=0), whole - whole.mean(axis=0)) / len(terms)
        squares[:m] += terms.var(axis=0) - 2 * shares[:m] * both
        squares /= len(terms)
        own = self._squared_part_errors
        squares += own * (1 - 2 * shares) + shares**2 * own.sum(axis=0)
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)) / np.where(total > 0, total, np.nan))

    def variance_ratio(self, factors: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return what the variance is multiplied by when inputs have so many times their rows, and its error.

        A part of first order falls as its rows grow, one of second order as the product of those of both inputs. Of a
        part that noise makes negative nothing is left, as in `shares`, and none grows with its rows.

        Parameters
        ----------
        factors
            By input, shape ``(m,)``.
        """
        m, higher = len(factors), self._second_and_third
        grown = factors[:, np.newaxis]
        before = np.maximum(self.parts, 0.0)
        own = self.first.variances / grown + (higher[range(m), range(m)] + self.second.cross) / grown**2
        own = np.clip(own, *np.sort([before[:m], before[:m] / grown**2], axis=0))
        pairs = np.array([factors[i] * factors[j] for i, j in combinations(range(m), 2)]).reshape(-1, 1)
        total = before.sum(axis=0)
        ratio = (own.sum(axis=0) + (before[m:] / pairs).sum(axis=0)) / np.where(total > 0, total, np.nan)
        error = self._error(1 / grown - ratio, np.concatenate([1 / grown**2, 1 / pairs]) - ratio)
        # What the formula does not have falls faster than what it has.
        error = np.hypot(error, self._beyond_formula * (ratio - ratio**2))
        return np.asarray(ratio), np.asarray(error / np.where(total > 0, total, 1.0))

    @property
    def _beyond_formula(self) -> FloatArray:
        """Return how much of the variance the formula may not have, shape ``(k,)``."""
        found = 0.0 if self.resampled is None else np.abs(self.variance - self.formula_variance)
        return np.asarray(np.hypot(self.missing_orders, found))

    @property
    def least_runs(self) -> int:
        """Return how many base runs the features take."""
        return RUNS_PER_COLUMN * (1 + self.records.design.n_features)


def _root_error(variance: FloatArray, error: FloatArray) -> FloatArray:
    """Return the error of a square root; where a variance is no larger than its error, that of its upper end."""
    root = np.sqrt(variance)
    return np.asarray(
        np.where(variance > error, error / (2 * np.where(root > 0, root, 1)), np.sqrt(variance + error) - root)
    )
