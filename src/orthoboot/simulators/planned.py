"""`input`: an input whose rows are not independent, with the plan by which they are resampled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from orthoboot.data import read
from orthoboot.errors import ArgumentError
from orthoboot.plans import Iid, Plan, Scheme, plan_for
from orthoboot.plans.construction import DEFAULT_BLOCK_KIND
from orthoboot.simulators.inputs import (
    DrawSums,
    EmpiricalInput,
    Input,
    Positions,
    UnnamedInput,
    empirical_input,
    uniform_levels,
)
from orthoboot.typing import FloatArray, IntArray, Key


def input(  # noqa: A001 - what the user writes is `ob.input`
    data: Any,
    plan: Scheme | Plan | None = None,
    *,
    strata: Any = None,
    groups: Any = None,
    block_length: Any = None,
    block_kind: str = DEFAULT_BLOCK_KIND,
) -> UnnamedInput:
    """Return an input of `input_uncertainty` with strata, groups or a time series, and its own resampling plan.

    A run still draws rows uniformly; the plan says how other data would differ. With C the covariance of the rows'
    counts under the plan, the input variance is ``influence' C influence / n^2``. The second order is estimated through
    the features of the rows. The third order, and third moments of blocks, are left out; runs under resamples, where
    there are any, include them.

    Parameters
    ----------
    data
        Numbers, a series, an array, or a frame whose rows are drawn together.
    plan
        A scheme of `ob.plans` for these rows, such as ``ob.plans.Cluster(labels)``, in place of the options below.
    strata, groups
        One label per row: rows were sampled within strata, or as whole groups.
    block_length
        The number of rows of a block, for rows in time order, or "auto" to estimate it from the data.
    block_kind
        "circular", "moving" or "stationary".

    Examples
    --------
    Ten days with ten service times each, which are alike on a day:

    >>> import numpy as np
    >>> import orthoboot as ob
    >>> rng = np.random.default_rng(0)
    >>> day = np.repeat(np.arange(10), 10)
    >>> x = rng.gamma(2.0, size=10)[day] + rng.exponential(size=100)
    >>> inputs = {"rows": {"x": x}, "days": {"x": ob.input(x, groups=day)}}
    >>> runs = {"horizon": 3, "n_runs": 2000, "rng": 0}
    >>> found = {name: ob.input_uncertainty(lambda x: x.sum(axis=1), given, **runs) for name, given in inputs.items()}
    >>> bool(found["days"].input_error > 1.5 * found["rows"].input_error)
    True
    """
    if isinstance(data, UnnamedInput):
        raise ArgumentError(
            "`input` takes data, not a fitted distribution or another input: the rows that a distribution is fitted to "
            "are resampled one by one."
        )
    if plan is not None and any(option is not None for option in (strata, groups, block_length)):
        raise ArgumentError("`input` takes a `plan`, or one of `strata`, `groups` and `block_length`; got both.")
    if plan is not None and not isinstance(plan, (Scheme, Plan)):
        raise ArgumentError(
            f"`plan` must be a scheme of `ob.plans`, such as `ob.plans.Cluster(labels)`; got {type(plan).__name__}."
        )
    options = {"strata": strata, "groups": groups, "block_length": block_length, "block_kind": block_kind}
    return _Described(data, plan, options)


@dataclass(frozen=True, eq=False)
class _Described(UnnamedInput):
    """Data and how they are resampled, before the input has a name."""

    data: Any
    plan: Scheme | Plan | None
    options: dict[str, Any]

    def named(self, name: str) -> Input:
        """Return the input with its plan."""
        entry = empirical_input(name, self.data)
        plan = self.plan
        if plan is None:
            plan = plan_for([entry.n_rows], data=read(self.data), **self.options)
        schemes = plan.schemes if isinstance(plan, Plan) else (plan,)
        if len(schemes) != 1 or schemes[0].n != entry.n_rows:
            rows = " and ".join(f"{scheme.n:,}" for scheme in schemes)
            raise ArgumentError(
                f"`inputs[{name!r}]`: the plan must be for its {entry.n_rows:,} rows; it is for {rows} rows."
            )
        if isinstance(schemes[0], Iid):
            return entry
        return PlannedInput(name, entry.rows, entry.order, entry.columns, entry.is_single, schemes[0])


@dataclass(frozen=True, eq=False)
class PlannedInput(EmpiricalInput):
    """Rows that are resampled by a scheme.

    Attributes
    ----------
    scheme
        For the rows in the order of the data.
    """

    scheme: Scheme

    rows_are_independent = False

    @property
    def description(self) -> str:
        """Return what is resampled, for example "100 rows in 20 groups"."""
        return self.scheme.description

    @cached_property
    def covariance(self) -> FloatArray:
        """Return n times the covariance of the features' means over resamples, shape ``(p, p)``."""
        if self.n_features == 0:
            return np.zeros((0, 0))
        return np.asarray(self.n_rows * self.scheme.covariance(self.in_data_order(self.loadings)))

    @cached_property
    def bias(self) -> FloatArray:
        """Return how far resamples move the means of the features on average, shape ``(p,)``.

        Groups of other sizes make resamples of other sizes N: ``- cov(mean, N/n)`` to leading order.
        """
        if self.n_features == 0:
            return np.zeros(0)
        loadings = self.in_data_order(self.loadings)
        moved = self.scheme.mean(loadings)
        if self.scheme.unit_sizes is None:
            return np.asarray(moved)
        with_size = np.concatenate([loadings, np.ones((self.n_rows, 1))], axis=1)
        return np.asarray(moved - self.scheme.covariance(with_size)[:-1, -1])

    @cached_property
    def unit_loadings(self) -> FloatArray:
        """Return the sums of loadings over groups, or the loadings within strata, shape ``(units, p)``.

        Zero for blocks, which overlap and are not independent.
        """
        loadings = self.in_data_order(self.loadings)
        if self.n_features == 0:
            return loadings
        if self.scheme.group_codes is not None:
            totals = self.scheme.unit_totals(loadings)
            return np.asarray(totals - totals.mean(axis=0))
        if self.scheme.stratum_codes is not None:
            codes = self.scheme.stratum_codes
            means = np.stack([np.bincount(codes, column) for column in loadings.T], axis=1)
            return np.asarray(loadings - (means / np.bincount(codes)[:, np.newaxis])[codes])
        return np.zeros_like(loadings)

    @property
    def n_units(self) -> int:
        """Return how many rows, groups or blocks are resampled independently."""
        return self.scheme.n_units

    # Resamples may have more or fewer rows than the data, so that a draw is a level, which is a rank among any number
    # of rows.

    def positions(self, key: Key, stream: int, runs: Sequence[int], size: int, capacity: int) -> Positions:
        """Return levels, uniform in (0, 1)."""
        return uniform_levels(key, stream, runs, size)

    def values(self, positions: Positions) -> Any:
        """Return the rows at these levels."""
        return super().values(_ranks(positions, self.n_rows))

    def sums(self, positions: Positions, used: IntArray) -> DrawSums:
        """Return sums over the draws."""
        return super().sums(_ranks(positions, self.n_rows), used)

    def excess_counts(self, positions: Positions, used: IntArray) -> FloatArray:
        """Return ``n N - T`` of the sorted rows for every run."""
        return super().excess_counts(_ranks(positions, self.n_rows), used)

    def resampled_values(self, key: Key, stream: int, resamples: Sequence[int], positions: Positions) -> Any:
        """Return the rows at the same levels among the sorted rows of each resample."""
        moved = np.empty(positions.shape, dtype=np.int64)
        for place, resample in enumerate(resamples):
            counts = self.scheme.counts(key, stream, [resample])[0][self.order].astype(np.int64)
            rows = np.repeat(np.arange(self.n_rows), counts)
            moved[place] = rows[_ranks(positions[place], len(rows))]
        return super().values(moved)

    def resampled_means(self, key: Key, stream: int, resamples: Sequence[int], values: FloatArray) -> FloatArray:
        """Return ``(1/n) sum of counts times values`` less its mean, shape ``(B, k)``."""
        ordered = self.in_data_order(values)
        return np.asarray(self.scheme.sums(key, stream, resamples, ordered) / self.n_rows - self.scheme.mean(ordered))

    def linear_covariance(self, values: FloatArray) -> FloatArray:
        """Return the covariance under the scheme of the means of numbers ``(n, k)`` of the sorted rows."""
        return np.array(self.scheme.covariance(self.in_data_order(values)))

    def linear_variance(self, influence: FloatArray) -> FloatArray:
        """Return the variance under the scheme of the mean of the influence of sorted rows, shape ``(k,)``."""
        return self.scheme.variance(self.in_data_order(influence))


def _ranks(levels: FloatArray, number: int) -> IntArray:
    """Return levels in (0, 1) as ranks among a number of rows."""
    return np.minimum((levels * number).astype(np.int64), number - 1)
