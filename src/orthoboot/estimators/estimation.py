"""A run, its replicates and an estimator, with the numbers that follow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from orthoboot.arrays.units import power_of_two
from orthoboot.controls.base import ControlValues
from orthoboot.estimators import Estimator, EstimatorError, Moments, Sample, estimator_error, moments_of
from orthoboot.estimators.slopes import PRIOR_REPLICATES, TRUSTED_PRIOR
from orthoboot.execution.execution import batches
from orthoboot.functionals.evaluation import Evaluation
from orthoboot.replicates import Replicates
from orthoboot.run import Run
from orthoboot.typing import FloatArray


@dataclass(frozen=True, eq=False)
class Estimation:
    """A run, its replicates, and the estimator applied to them.

    Squares and sums are taken in units of the statistic's own size, and multiplied by them in the end.
    """

    run: Run
    replicates: Replicates
    estimator: Estimator

    @property
    def in_units(self) -> Estimation:
        """Return the estimation with every output divided by its unit; itself where all units are one."""
        return self if self._in_other_units is None else self._in_other_units

    @cached_property
    def _in_other_units(self) -> Estimation | None:
        # Not itself: that would be a cycle, which only the garbage collector frees, and the data with it.
        if (self.unit == 1).all():
            return None
        run = self.run.divided_by(self.unit)
        return Estimation(run, self.replicates.divided_by(self.unit, run), self.estimator)

    @cached_property
    def unit(self) -> FloatArray:
        """Return the unit of each output, shape ``(k,)``: of the run, or of the replicates where that is not known."""
        if not len(self.replicates) or self.run.size.all():
            return self.run.unit
        largest = np.abs(self.replicates.values).max(axis=0)
        return np.where(self.run.size > 0, self.run.unit, power_of_two(largest))

    @cached_property
    def _settled(self) -> Replicates:
        """Return the replicates without differences that are rounding alone."""
        return self.replicates.settled(self.run)

    @property
    def estimate(self) -> FloatArray:
        """Return phi_hat, shape ``(k,)``."""
        return self.replicates.estimate

    @cached_property
    def moments(self) -> Moments:
        """Return the sums over the replicates, in units."""
        scaled = self.in_units
        sums = moments_of(scaled._informed, scaled.control_values, scaled.prior, scaled.run.linear_mean)
        if not self.estimator.uses_control or scaled.control_values is not None:
            return sums
        if scaled.run.bias_is_exact:
            return replace(sums, bias_is_exact=True)
        return replace(sums, bias_is_rough=True) if scaled.run.bias_may_be_wrong else sums

    @property
    def _informed(self) -> Replicates:
        """Return the replicates with the bias of second order, where the estimator uses it and no control knows it.

        One that another estimator had found by differences is left aside: a run with this one would not know it.
        """
        if not self.estimator.uses_control:
            return self._settled
        known = None if self.control_values is not None else self.run.known_bias
        # Mostly it is so already, and a copy takes longer than to see that.
        if known is self._settled.second_order_bias:
            return self._settled
        return replace(self._settled, second_order_bias=known)

    @cached_property
    def control_values(self) -> ControlValues | None:
        """Return the control beyond the linear part on the replicates, in units; None where the estimator uses none."""
        if self.in_units is not self:
            return self.in_units.control_values
        control, settled = self.run.control, self._settled
        if control is None or not self.estimator.uses_control or settled.linear is None or not len(settled):
            return None
        changes = settled.values - settled.estimate
        return control.on(self.run.resamples(settled.numbers.tolist()), settled.linear, changes)

    @property
    def control_name(self) -> str:
        """Return what each replicate is compared with: "linear", "quadratic" or "surrogate"; "none" without one."""
        if self.run.control is not None and self.estimator.uses_control:
            return self.run.control.name
        return "linear" if self.estimator.needs_influence else "none"

    @cached_property
    def resample_variances(self) -> Evaluation:
        """Return the infinitesimal jackknife's variance on each replicate's resample; see `Run.resample_variances`."""
        run, numbers = self.run, self.replicates.numbers.tolist()
        tasks = batches(numbers, run.execution.task_size(len(numbers), run.counts_batch))
        done = run.execution.completed(run.resample_variances, tasks, in_threads=run.functional.releases_gil)
        found = {some[0]: outcome for some, outcome in done}
        return Evaluation.joined(found[some[0]] for some in tasks)

    @property
    def prior(self) -> float:
        """Return how many replicates with slope one the prior of the slope is worth."""
        return TRUSTED_PRIOR if self.run.trusts_influence else PRIOR_REPLICATES

    @cached_property
    def bias(self) -> FloatArray:
        """Return the bias, shape ``(k,)``."""
        return self.unit * self.estimator.bias(self.moments)

    @cached_property
    def variance(self) -> FloatArray:
        """Return the variance, shape ``(k,)``; zero or infinite where it is out of the range of numbers."""
        with np.errstate(over="ignore", under="ignore"):
            return self.unit * (self.unit * self._variance_in_units)

    @cached_property
    def standard_error(self) -> FloatArray:
        """Return the standard error, shape ``(k,)``."""
        return self.unit * np.sqrt(self._variance_in_units)

    @cached_property
    def _variance_in_units(self) -> FloatArray:
        return self.estimator.variance(self.moments)

    @cached_property
    def covariance(self) -> FloatArray:
        """Return the covariance matrix of the outputs, shape ``(k, k)``."""
        scaled = self.in_units
        control = scaled.control_values
        known = None if control is None else control.covariance()
        linear = scaled.run.linear_covariance()
        sample = Sample(scaled._settled, self.moments, linear, known)
        covariance = self.estimator.covariance(sample)
        with np.errstate(over="ignore", under="ignore"):
            return self.unit * (self.unit * covariance.T).T

    @cached_property
    def error(self) -> EstimatorError:
        """Return the simulation error of bias and variance."""
        error = estimator_error(self.estimator, self.in_units._settled, self.moments, self.in_units.control_values)
        return replace(error, bias=self.unit * error.bias)

    @property
    def standard_error_error(self) -> FloatArray:
        """Return the simulation error of the standard error, shape ``(k,)``."""
        return self.standard_error * self.error.relative_standard_error
