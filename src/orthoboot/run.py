"""The inputs of a simulation: everything a replicate depends on besides its number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from orthoboot.arrays.units import power_of_two
from orthoboot.controls.base import Control
from orthoboot.controls.selection import ControlSearch
from orthoboot.data import Data
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import OrthobootWarning
from orthoboot.execution.execution import Execution
from orthoboot.functionals.base import Functional, Prepared
from orthoboot.functionals.evaluation import Convergence, Evaluation, evaluated_one_by_one
from orthoboot.functionals.output import Output
from orthoboot.functionals.units import PreparedInUnits
from orthoboot.functionals.user.callables import VectorizedCallable
from orthoboot.functionals.user.differentiable import DifferentiableCallable
from orthoboot.functionals.user.user_function import CallableFunctional
from orthoboot.influence import FINITE_DIFFERENCE_ROWS, InfluenceFunction, finite_difference_bias, influence_for
from orthoboot.plans import Cluster, Iid, Plan, PlanCovariance, Scheme, Stratified
from orthoboot.typing import BoolArray, FloatArray, Influence, Key

_EPSILON = float(np.finfo(np.float64).eps)
_ROUNDING = 8 * _EPSILON
"""A relative difference that rounding makes."""

_MOST_EVALUATIONS = 1000
"""Evaluations one by one that a second-order bias may take, as many as the standard bootstrap."""

_FEW_PRODUCTS = 1 << 16
"""Products of influence values up to which a bias in closed form costs less than ten replicates."""

_PRODUCTS_OF_A_STEP = 1 << 22
"""The same where replicates are searches, each step of which takes as many products as the bias; beyond, with 10,000
rows of 20 columns, the linear part explains nearly all."""

COUNTS_AT_ONCE = 1 << 21
"""Counts held at once: 16 MB, or those of one resample where the data are larger."""

_ROWS_AT_ONCE = 1 << 26
"""Rows drawn at once where no counts are held, in a tenth of a second or less than a second without a compiler."""

_FEWEST_SUMS, _MOST_SUMS = 16, 4096
"""Resamples added up at once: enough that the data are read once for many, and few enough that their sums are small."""

_MOST_OF_A_COLUMN = 1 << 14
"""The same for one column, whose sums are few: every batch costs a third of a millisecond."""


_NO_INFLUENCE = "the influence function is not finite there"
"""Why a resample has no variance of its own."""


class ReplicateBatch(NamedTuple):
    """The results of some resamples: the statistic's values, and the linear part if there is an influence function."""

    evaluation: Evaluation
    linear: FloatArray | None


_OF_INFLUENCE = (
    "size",
    "unit",
    "linear_mean",
    "linear_variance",
    "_is_flat",
    "_plan_variance",
    "acceleration",
    "has_no_remainder",
)
"""What `Run` derives from its influence function, whatever its control: known once it was computed."""


@dataclass(frozen=True, eq=False)
class Run:
    """The inputs of one bootstrap: the statistic at its data, the plan, the seed and the execution.

    Attributes
    ----------
    prepared
        The statistic at its data.
    plan, key
        How the rows are resampled, and the seed.
    influence_function
        The influence values, where they come from, and what is odd about them.
    batch
        How many resamples are drawn at once; None for what fits in memory.
    execution
        How many jobs, what is shown of the progress, and where finished work is kept.
    trial_warnings
        Warnings about the statistic from trials of it, such as on the rows in another order.
    control_request, control, control_is_found
        Which control the user asks for; what is known of a replicate beyond its linear part, in units of the outputs;
        and whether an estimator has needed it yet, so that None is an answer.
    given_limits
        The lowest and the highest value of each output, each of shape ``(k,)``, where the user says.
    seed
        The number that the user gave as `rng`, for the record; None where it was none. The draws follow from `key`.
    """

    prepared: Prepared[Any]
    plan: Plan
    key: Key
    influence_function: InfluenceFunction
    batch: int | None = None
    execution: Execution = field(default_factory=Execution)
    trial_warnings: tuple[OrthobootWarning, ...] = ()
    control_request: str = "auto"
    control: Control | None = None
    control_is_found: bool = False
    given_limits: tuple[FloatArray, FloatArray] | None = None
    seed: int | None = None

    @property
    def limits(self) -> tuple[FloatArray, FloatArray]:
        """Return the lowest and the highest value of each output, as the user or the statistic has it."""
        return self.prepared.limits if self.given_limits is None else self.given_limits

    @property
    def functional(self) -> Functional:
        """Return the statistic."""
        functional: Functional = self.prepared.functional
        return functional

    @property
    def data(self) -> Data:
        """Return the rows."""
        return self.prepared.data

    @property
    def output(self) -> Output:
        """Return the shape and names of the statistic's value."""
        return self.prepared.output

    @property
    def estimate(self) -> FloatArray:
        """Return phi_hat, shape ``(k,)``."""
        return self.prepared.estimate

    @property
    def influence(self) -> Influence | None:
        """Return one ``(n_i, k)`` array per sample, centred, or None."""
        return self.influence_function.values

    @property
    def influence_source(self) -> str:
        """Return a description of the influence function and its source."""
        return self.influence_function.source

    @cached_property
    def size(self) -> FloatArray:
        """Return how large the numbers of each output are, shape ``(k,)``; zero where that is not known.

        The size of the influence values where they show in the value's digits, else that of the value.
        """
        size = np.abs(self.estimate)
        if self.influence is None:
            return size
        largest = self.influence_function.largest
        return np.where(largest > _EPSILON * size, largest, size)

    @cached_property
    def unit(self) -> FloatArray:
        """Return the power of two in which each output is measured, shape ``(k,)``; one for ordinary numbers."""
        return power_of_two(self.size)

    @property
    def in_units(self) -> Run:
        """Return the run with every output divided by its unit; itself where all units are one."""
        return self if self._in_other_units is None else self._in_other_units

    @cached_property
    def _in_other_units(self) -> Run | None:
        # Not itself: that would be a cycle, which only the garbage collector frees, and the data with it.
        divided = self.divided_by(self.unit)
        return None if divided is self else divided

    def divided_by(self, unit: FloatArray) -> Run:
        """Return the run with every output divided by a unit, shape ``(k,)``; itself where all units are one."""
        if (unit == 1).all():
            return self
        prepared = PreparedInUnits(self.functional, self.data, self.prepared, unit)
        found = self.influence_function.divided_by(unit)
        control = None if self.control is None else self.control.in_unit(unit)
        limits = None if self.given_limits is None else (self.given_limits[0] / unit, self.given_limits[1] / unit)
        return replace(self, prepared=prepared, influence_function=found, control=control, given_limits=limits)

    @cached_property
    def linear_mean(self) -> FloatArray:
        """Return the exact mean of the linear part under the plan, shape ``(k,)``; zero except for moving blocks."""
        if self.influence is None:
            return np.zeros_like(self.estimate)
        if self.in_units is not self:
            return self.unit * self.in_units.linear_mean
        return self.plan.mean(self.influence)

    @cached_property
    def linear_variance(self) -> FloatArray | None:
        """Return the exact variance V of the linear part under the plan, shape ``(k,)``.

        Zero or infinite where it is out of the range of numbers; that of `in_units` is not.
        """
        if self.influence is None:
            return None
        scaled = self.in_units
        if scaled is self:
            return np.where(self._is_flat, 0.0, self._plan_variance)
        with np.errstate(over="ignore", under="ignore"):
            return None if scaled.linear_variance is None else self.unit * (self.unit * scaled.linear_variance)

    def linear_covariance(self) -> FloatArray:
        """Return the exact covariance of the linear part, shape ``(k, k)``; zero without an influence function."""
        k = len(self.estimate)
        return np.zeros((k, k)) if self.influence is None else self.plan.covariance(self.influence)

    @property
    def trusts_influence(self) -> bool:
        """Return whether the influence function is the library's own, of a smooth statistic, and exact."""
        return self.influence_function.own and self.prepared.exact_influence

    @cached_property
    def has_no_remainder(self) -> bool:
        """Return whether every replicate is its linear part: a mean of as many rows as there are."""
        fixed_size = all(isinstance(scheme, Iid) for scheme in self.plan.schemes)
        return self.functional.is_linear and self.influence_function.own and fixed_size

    def resamples(self, numbers: Sequence[int]) -> Resamples:
        """Return the resamples with these numbers."""
        return self.plan.resamples(self.key, numbers)

    def simulated(self, numbers: Sequence[int]) -> ReplicateBatch:
        """Return the results of the resamples with these numbers; a pure function, for any process."""
        resamples = self.resamples(numbers)
        return ReplicateBatch(self.prepared.evaluate(resamples), self.linear(resamples))

    def linear(self, resamples: Resamples) -> FloatArray | None:
        """Return linear_b, centred at its exact mean: ``sum_i (1/n_i) weights_i . influence_i``, shape ``(B, k)``."""
        if self.influence is None:
            return None
        if self.in_units is not self:
            scaled = self.in_units.linear(resamples)
            return None if scaled is None else self.unit * scaled
        total = self.prepared.linear(resamples) if self.influence_function.own else None
        if total is None:
            total = np.sum([resamples.sums(i, part) / len(part) for i, part in enumerate(self.influence)], axis=0)
        return np.where(self._is_flat, 0.0, total - self.linear_mean)

    def resample_variances(self, numbers: Sequence[int]) -> Evaluation:
        r"""Return the infinitesimal jackknife's variance on the resamples with these numbers, ``(B, k)``.

        .. math:: V_b = \frac1{n^2} \sum_j w_{bj} I_j(w_b)^2

        for independent rows, I the influence function at the weights of the resample: the exact variance of the linear
        part under the plan, were the resample the data (Davison and Hinkley 1997, section 2.7.2). NaN, with the reason,
        where there is none. A pure function, for any process; the statistic is not evaluated again.
        """
        drawn = Resamples(self.resamples(numbers).weights)
        with np.errstate(all="ignore"):  # what is not finite is reported
            return evaluated_one_by_one(self._resample_variance, drawn, self.output.size, _NO_INFLUENCE)

    def _resample_variance(self, resample: Resamples) -> FloatArray:
        """Return the variance of the linear part were one resample the data, shape ``(k,)``; NaN where it has none."""
        rows, of_rows = resample.indices(0), self.influence_function.of_rows
        influence = None if of_rows is None else of_rows(self.prepared, rows)
        if influence is None:
            return np.full(self.output.size, np.nan)
        return self.plan.of_rows(rows).variance(influence)

    @property
    def batch_size(self) -> int:
        """Return how many resamples are drawn and evaluated at once."""
        if self.batch is not None:
            return self.batch
        # Each batch is read anew, and whoever works in pieces holds no counts of all rows.
        if self.data.is_in_pieces:
            return self.sums_batch
        if not self.functional.batched:
            return 1
        return self.counts_batch if self.prepared.needs_weights else self.sums_batch

    @property
    def counts_batch(self) -> int:
        """Return how many resamples' counts to hold at once."""
        return max(COUNTS_AT_ONCE // sum(self.data.sizes), 1)

    @property
    def sums_batch(self) -> int:
        """Return how many resamples to add up at once, without their counts."""
        most = max(_MOST_OF_A_COLUMN // self._n_columns, _MOST_SUMS)
        return min(max(_ROWS_AT_ONCE // sum(self.data.sizes), _FEWEST_SUMS), most)

    @property
    def _n_columns(self) -> int:
        """Return how many numbers the rows of all tables have; many where that is not known."""
        if self.data.is_in_pieces:
            return _MOST_OF_A_COLUMN
        return sum(table.n_columns or _MOST_OF_A_COLUMN for table in self.data.tables)

    def findings(self, convergence: Convergence) -> tuple[OrthobootWarning, ...]:
        """Return the warnings about the data, about the statistic on them and about its refits."""
        of_data = self.data.findings if _reads_numbers(self.functional) else ()
        return (*of_data, *self.trial_warnings, *self.prepared.findings(convergence))

    def with_influence(self, found: InfluenceFunction) -> Run:
        """Return the same run with another influence function."""
        return replace(self, influence_function=found, control=None, control_is_found=False)

    @cached_property
    def _is_flat(self) -> BoolArray:
        """Return for which outputs the linear part varies by rounding alone, shape ``(k,)``.

        As where the influence values are equal within each stratum: rounding is nothing to learn a slope from.
        """
        if self.influence is None:
            return np.zeros(len(self.estimate), dtype=bool)
        found = zip(self.influence_function.largest_by_sample, self.influence, strict=True)
        rounding = [_ROUNDING * largest / len(part) ** 0.5 for largest, part in found]
        return np.asarray(self._plan_variance <= np.square(np.max(rounding, axis=0)))

    @cached_property
    def acceleration(self) -> FloatArray:
        """Return ``k3 / (6 sigma**3)`` of the linear part for each output, shape ``(k,)``; zero where it is constant.

        For independent rows this is ``sum I**3 / (6 (sum I**2)**1.5)``, the acceleration of BCa and ABC.
        """
        assert self.influence is not None
        if self.in_units is not self:  # where cubes are in the range of numbers
            return self.in_units.acceleration
        second, third = self._plan_variance, self.plan.third_cumulant(self.influence)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(second > 0, third / (6 * second**1.5), 0.0)

    @cached_property
    def _plan_variance(self) -> FloatArray:
        """Return the variance of the linear part under the plan, rounding included, shape ``(k,)``."""
        assert self.influence is not None
        return self.plan.variance(self.influence)

    def with_control(self) -> Run:
        """Return the same run with the control that is asked for, found once; see `ControlSearch`."""
        if self.control_is_found:
            return self
        answer = replace(self, control=self._found_control(), control_is_found=True)
        known = vars(self)
        vars(answer).update({name: known[name] for name in _OF_INFLUENCE if name in known})
        return answer

    def _found_control(self) -> Control | None:
        if self.control_request == "auto" and self.has_no_remainder:
            return None
        scaled = self.in_units
        search = ControlSearch(
            self.prepared,
            self.plan,
            self.key,
            self.execution,
            scaled.influence_function,
            scaled.linear,
            scaled.linear_covariance,
            self.unit,
        )
        return search.found(self.control_request)

    def find_influence(self, request: Any, replaced: int | None = None) -> InfluenceFunction:
        """Return the influence function that `request` asks for; see `influence_for`."""
        return influence_for(request, self.prepared, self.execution, replaced, self.plan)

    @cached_property
    def second_order_bias(self) -> FloatArray | None:
        """Return the infinitesimal jackknife's bias, shape ``(k,)``, or None at a kink or where it would cost too much.

        In closed form where the statistic has one, else by second differences: two evaluations per row, or group where
        groups are drawn. A nonzero mean of the linear part, as for moving blocks, is a bias too. That of an engine does
        not do where no replicates correct it: without weights a kink cannot be told by steps of other lengths.
        """
        if self._closed_bias is not None:
            return self._closed_bias
        independent = all(isinstance(scheme, (Iid, Stratified, Cluster)) for scheme in self.plan.schemes)
        # Refits, or evaluations of a user's function, cost more than they are worth from where a bootstrap is cheaper.
        most = _MOST_EVALUATIONS // 2 if self.prepared.one_by_one else FINITE_DIFFERENCE_ROWS
        n_units = sum(scheme.n_units for scheme in self.plan.schemes)
        if not (independent and self.functional.fractional and n_units <= most):
            return None
        error = None if self.linear_variance is None else np.sqrt(self.linear_variance)
        return finite_difference_bias(self.prepared, self.execution, error, self.plan)

    @cached_property
    def known_bias(self) -> FloatArray | None:
        """Return the bias of second order where that costs next to nothing, shape ``(k,)``, else None.

        None, too, where the user asks for the linear part alone. NaN for outputs of which an engine cannot tell.
        """
        if self.control_request == "linear":
            return None
        return self.influence_function.second_order_bias if self._cheap_bias is None else self._cheap_bias

    @property
    def bias_may_be_wrong(self) -> bool:
        """Return whether the known bias is that of an engine, which takes a kink for curvature."""
        # A closed form costs something, and where the linear part alone is asked for no bias is known.
        return self.control_request != "linear" and self._cheap_bias is None

    @property
    def bias_is_exact(self) -> bool:
        """Return whether the known bias is the bias to every order, so that replicates can only add noise to it."""
        if self.control_request == "linear":
            return False
        if self.functional.is_quadratic and self.influence_function.own:
            # The expectation of a quadratic function of independent draws, if their number does not vary.
            return self.plan.has_tilt and all(_draws_as_many_rows(scheme) for scheme in self.plan.schemes)
        return self.functional.unbiased and all(isinstance(scheme, Iid) for scheme in self.plan.schemes)

    @property
    def _cheap_bias(self) -> FloatArray | None:
        """Return the bias in closed form, where that costs next to nothing."""
        by_search = self.prepared.bias_is_cheap
        is_plain = self.prepared.exact_influence and (by_search or self.functional.batched)
        most = _PRODUCTS_OF_A_STEP if by_search else _FEW_PRODUCTS
        return self._closed_bias if is_plain and self._products <= most else None

    @property
    def _products(self) -> int:
        """Return how many products of influence values of rows there are, for all pairs of outputs."""
        return sum(self.data.sizes) * len(self.estimate) ** 2

    @cached_property
    def _closed_bias(self) -> FloatArray | None:
        """Return the infinitesimal jackknife's bias where it has a closed form, shape ``(k,)``, else None."""
        if self.has_no_remainder:
            return self.linear_mean
        with np.errstate(all="ignore"):  # a warning reports a bias that is not finite
            closed = self.prepared.second_order_bias(PlanCovariance(self.plan))
        return None if closed is None else closed + self.linear_mean


def _draws_as_many_rows(scheme: Scheme) -> bool:
    """Return whether every resample has as many rows as the sample: groups that are drawn have one size."""
    sizes = scheme.unit_sizes
    return sizes is None or bool((sizes == sizes[0]).all())


def _reads_numbers(functional: Functional) -> bool:
    """Return whether the statistic gets the rows as floating-point numbers, and not as the user gave them."""
    if isinstance(functional, CallableFunctional):
        return isinstance(functional, (VectorizedCallable, DifferentiableCallable))
    return not functional.takes_text
