"""Warnings about a simulation experiment."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from orthoboot.errors import (
    ConstantDataWarning,
    FewRunsWarning,
    IgnoredInputWarning,
    InterruptedWarning,
    OrthobootWarning,
    SmallSampleWarning,
    emit,
)
from orthoboot.simulators.estimation import Estimation
from orthoboot.simulators.runs import Experiment
from orthoboot.typing import BoolArray

if TYPE_CHECKING:
    from orthoboot.simulators.uncertainty import InputUncertainty

_FEW_ROWS = 10

_LONG_TAIL = 0.5
"""Share of the squared residuals that one run in a thousand may carry: 1% if they are normal, 3% if exponential."""

_EXACT = 0.05
"""Relative simulation error that is small enough, whatever carries it."""

_STANDING = (IgnoredInputWarning, ConstantDataWarning, SmallSampleWarning)
"""Kinds that stay true however many runs are added."""


def with_warnings(
    result: InputUncertainty, more: tuple[OrthobootWarning, ...] = (), shown: tuple[OrthobootWarning, ...] = ()
) -> InputUncertainty:
    """Return the result with all its warnings, each shown once to the user."""
    standing = tuple(warning for warning in shown if isinstance(warning, _STANDING))
    found = (*more, *_of_runs(result.estimation, result.interrupted))
    for warning in found:
        emit(warning)
    return replace(result, warnings=(*standing, *found))


def input_warnings(experiment: Experiment) -> tuple[OrthobootWarning, ...]:
    """Return warnings about the data of the inputs."""
    found: list[OrthobootWarning] = []
    for entry in experiment.inputs:
        if entry.n_rows < _FEW_ROWS:
            found.append(
                SmallSampleWarning(
                    f"the input {entry.name!r} has {entry.n_rows} rows: so few say little about its distribution "
                    "and its uncertainty. Treat the input error as a lower bound."
                )
            )
        if entry.n_features == 0:
            found.append(
                ConstantDataWarning(f"all rows of the input {entry.name!r} are equal: it adds no uncertainty.")
            )
    return tuple(found)


def _of_runs(estimation: Estimation, interrupted: bool) -> list[OrthobootWarning]:
    found: list[OrthobootWarning] = []
    n_runs, least = len(estimation.records.runs), estimation.least_runs
    if interrupted:
        found.append(
            InterruptedWarning(f"interrupted: the result uses the {estimation.records.n_runs:,} runs done so far.")
        )
    if n_runs < least and estimation.regime.name != "two-layer":
        found.append(
            FewRunsWarning(
                f"{n_runs:,} runs at the data are few for the {estimation.records.design.n_features} features of the "
                f"inputs: estimating their influence needs at least {_wanted(estimation, least):,} runs in total."
            )
        )
    elif (doubtful := _is_doubtful(estimation)).any():
        worst = int(np.argmax(np.where(doubtful, estimation.variance_error - estimation.variance, -np.inf)))
        name = estimation.records.experiment.output.names[worst] if estimation.records.weights is None else "the output"
        found.append(
            FewRunsWarning(
                f"the input variance of {name} cannot be distinguished from zero with {estimation.records.n_runs:,} "
                "runs. Use more; for now its simulation error is an upper bound of the input error."
                f"{_of_shares(estimation, worst)}"
            )
        )
    elif estimation.regime.name == "base runs":
        found.extend(_of_missing_orders(estimation))
    return found if estimation.regime.name == "two-layer" else [*found, *_of_long_tails(estimation)]


def _of_long_tails(estimation: Estimation) -> list[OrthobootWarning]:
    """Return a warning if a few runs carry the noise of an output, as where it is an exponential of its draws."""
    squares = np.sort(estimation.regression.leave_one_out_residuals**2, axis=0)
    few, total = max(len(squares) // 1000, 1), squares.sum(axis=0)
    share = np.where(total > 0, squares[-few:].sum(axis=0) / np.where(total > 0, total, 1.0), 0.0)
    # Of events, outputs of 0 and 1, few runs show that they are rare.
    matters = (estimation.input_error_error > _EXACT * estimation.input_error) & np.isinf(estimation.records.limits[1])
    worst = int(np.argmax(np.where(matters, share, 0.0)))
    if not matters[worst] or share[worst] <= _LONG_TAIL:
        return []
    return [
        FewRunsWarning(
            f"the farthest {few} of {len(squares):,} runs carry {share[worst]:.0%} of the noise"
            f"{estimation.of_output(worst)}: the output has a long tail, so that its simulation errors may be too "
            "small, and the input error with them. Use more runs, or return its logarithm or a bounded function of it."
        )
    ]


def _of_shares(estimation: Estimation, output: int) -> str:
    return " The inputs' shares are unknown." if np.isnan(estimation.shares[:, output]).any() else ""


def _of_missing_orders(estimation: Estimation) -> list[OrthobootWarning]:
    """Return a warning if orders that are not measured may exceed the noise, so that more runs do not help."""
    missing, variance, unmeasured = estimation.missing_orders, estimation.formula_variance, estimation.exceeds_noise
    if not unmeasured.any():
        return []
    relative = np.where(unmeasured, missing / np.where(unmeasured, variance, 1.0), np.inf)
    worst = int(np.argmax(np.where(unmeasured, relative, 0.0)))
    # A third of the runs, at the data, must show what these do; there are as many resamples, of two runs each.
    needed = 3 * (estimation.resample_error(1) / relative) ** 2
    n_runs = _rounded(max(float(needed.max()), 2.0 * estimation.records.n_runs))
    return [
        FewRunsWarning(
            f"effects beyond the third order may be {relative[worst]:.0%} of the input variance"
            f"{estimation.of_output(worst)}, more than its noise. About n_runs={n_runs:,} leaves runs for resamples, "
            "which measure them."
        )
    ]


def _rounded(number: float) -> int:
    """Return a number rounded up to two digits."""
    unit = 10.0 ** max(np.floor(np.log10(max(number, 1.0))) - 1, 0)
    return int(np.ceil(number / unit) * unit)


def _is_doubtful(estimation: Estimation) -> BoolArray:
    """Return which variances may be zero for all that the runs tell; an output that is always the same has none."""
    varies = np.ptp(estimation.records.outputs, axis=0) > 0
    return np.asarray(varies & (estimation.variance <= estimation.variance_error))


def _wanted(estimation: Estimation, least: int) -> int:
    """Return how many runs in all make so many at the data."""
    share = len(estimation.records.runs) / estimation.records.n_runs
    return int(np.ceil(least / share))
