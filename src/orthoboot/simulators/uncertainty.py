"""The answer of a simulation experiment: estimate, input error, where it comes from, and what more data would do."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from orthoboot.arguments import (
    checked_confidence_level,
    checked_count,
    checked_positive,
    checked_tolerance,
    checked_transform,
)
from orthoboot.errors import ArgumentError, OrthobootWarning
from orthoboot.functionals.output import Output
from orthoboot.intervals.scale import NaturalScale
from orthoboot.presentation import simulation_summary
from orthoboot.presentation.export import jsonable, simulation_frame
from orthoboot.presentation.simulation_answer import Call, Doubled, InputWords, SimulationAnswer
from orthoboot.result import ConfidenceInterval
from orthoboot.simulators.diagnostics import with_warnings
from orthoboot.simulators.estimation import Estimation
from orthoboot.simulators.experiment import Outcome, extended
from orthoboot.typing import FloatArray, Value

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_MOVES = ((1.0, 0.0), (0.0, 1.0))
"""Of the estimate and of the width, by one error each."""


class SimulationErrors(NamedTuple):
    """Simulation errors: what another seed would change, each in the shape of the output."""

    estimate: Value
    bias: Value
    input_error: Value
    low: Value
    high: Value


class MoreData(NamedTuple):
    """The effect of more rows of some inputs, in the shape of the output.

    Attributes
    ----------
    input_error
        The input error with these rows.
    ratio
        That divided by the current input error.
    simulation_error
        Of the input error with these rows.
    ratio_error
        The simulation error of the ratio.
    """

    input_error: Value
    ratio: Value
    simulation_error: Value
    ratio_error: Value


@dataclass(frozen=True, repr=False, eq=False)
class InputUncertainty:
    """The uncertainty of a simulation estimate that comes from estimating its inputs from data.

    Values have the shape of the output of a run: a float, an array, or a dict of these.

    Attributes
    ----------
    estimation
        Estimates from the recorded runs.
    confidence_level
        The level of `confidence_interval`.
    warnings
        The warnings about the result.
    output
        The shape and the names of the outputs.
    interrupted
        Whether Ctrl-C ended the runs early.
    call
        The call that made the result.
    """

    estimation: Estimation
    confidence_level: float
    output: Output
    warnings: tuple[OrthobootWarning, ...] = field(default=())
    interrupted: bool = False
    call: Call = field(default_factory=Call)

    # What was found

    @property
    def estimate(self) -> Value:
        """Return the mean output with inputs distributed as their data."""
        return self._packed(self.estimation.estimate)

    @property
    def bias(self) -> Value:
        """Return the bias: the mean of estimates from other data of the same size, minus the true value."""
        return self._packed(self.estimation.bias)

    @property
    def debiased(self) -> Value:
        """Return ``estimate - bias``."""
        return self._packed(self.estimation.estimate - self.estimation.bias)

    @property
    def input_error(self) -> Value:
        """Return the standard error of the estimate due to the finite data on the inputs."""
        return self._packed(self.estimation.input_error)

    @property
    def run_error(self) -> Value:
        """Return the standard error of the estimate due to the finite number of runs; more runs reduce it."""
        return self._packed(self.estimation.run_error)

    @property
    def standard_error(self) -> Value:
        """Return the total standard error, the root of the sum of the squares of `input_error` and `run_error`."""
        return self._packed(self.estimation.total_error)

    @property
    def confidence_interval(self) -> ConfidenceInterval:
        """Return the interval with both errors, with fields `low` and `high`."""
        return self.interval()

    def interval(self, confidence_level: float | None = None, transform: Any = None) -> ConfidenceInterval:
        """Return the normal interval at another level or on another scale, ``estimate ± z standard_error``.

        If the estimate has limits, the interval is computed on an unbounded scale and stays within them; see
        `transform` of `input_uncertainty`.
        """
        level = self.confidence_level if confidence_level is None else checked_confidence_level(confidence_level)
        limits = checked_transform(transform)
        scaled = self if limits is None else replace(self, estimation=within_limits(self.estimation, limits))
        return ConfidenceInterval(*map(self._packed, scaled._ends(level)))

    def _ends(self, level: float, shift: float = 0.0, stretch: float = 0.0) -> FloatArray:
        """Return both ends, shape ``(2, k)``, with the estimate and the width moved by so many of their errors."""
        found = self.estimation
        total = np.where(found.total_error > 0, found.total_error, 1.0)
        center = found.estimate + shift * found.run_error
        error = found.total_error + stretch * found.variance_error / (2 * total)
        return self._around(center, _quantile(level) * error)

    def _around(self, center: FloatArray, half: FloatArray) -> FloatArray:
        """Return ``center ± half``, shape ``(2, k)``, within the limits of the answer."""
        scale = NaturalScale(*self.estimation.records.limits, center)
        return scale.back(np.stack([center - half, center + half]))

    # Where it comes from

    @property
    def contributions(self) -> dict[str, Value]:
        """Return the share of each input in the input variance, and of pairs of inputs; they sum to one.

        NaN if no part of the variance exceeds its noise: the shares are then unknown.
        """
        return self._by_part(self.estimation.shares)

    @property
    def contribution_errors(self) -> dict[str, Value]:
        """Return the simulation errors of the contributions."""
        return self._by_part(self.estimation.share_errors)

    @property
    def influence(self) -> dict[str, Any]:
        """Return a dict by input of the influence of each row of its data on the output, shape ``(n,)`` or ``(n, k)``.

        Its mean is zero, and ``sum(influence**2) / n**2`` about the input's own part of the variance.
        """
        rows = zip(self._inputs, self._ordered_influence, strict=True)
        return {entry.name: values[:, 0] if self.output.is_scalar else values for entry, values in rows}

    @property
    def _ordered_influence(self) -> tuple[FloatArray, ...]:
        """Return by input the influence of its rows in the order of the data, shape ``(n_i, k)``."""
        rows = zip(self._inputs, self.estimation.sorted_influence, strict=True)
        return tuple(entry.in_data_order(values) for entry, values in rows)

    def more_data(self, **factors: float) -> MoreData:
        """Return the effect of more rows: ``more_data(service=2)`` for twice as many of the input `service`.

        Parameters
        ----------
        **factors
            The number of rows of an input, by name, as a multiple of the current number; at least one input.

        Examples
        --------
        >>> import numpy as np
        >>> import orthoboot as ob
        >>> x = np.random.default_rng(0).exponential(size=100)
        >>> result = ob.input_uncertainty(lambda x: x.sum(axis=1), {"x": x}, horizon=3, n_runs=1000, rng=0)
        >>> round(result.more_data(x=4).ratio, 3)
        0.5
        """
        names = [entry.name for entry in self._inputs]
        unknown = [name for name in factors if name not in names]
        if unknown or not factors:
            raise ArgumentError(
                f"`more_data` takes factors by the name of an input, {', '.join(names)}; got "
                f"{', '.join(unknown) or 'none'}. For twice the rows write `more_data({names[0]}=2)`."
            )
        checked = {name: checked_positive(name, factor) for name, factor in factors.items()}
        found = np.array([checked.get(name, 1.0) for name in names])
        ratio, error = self._error_ratio(found)
        now, estimation = self.estimation.input_error, self.estimation
        after = np.hypot(error * now, ratio * estimation.input_error_error)
        return MoreData(*(self._packed(part) for part in (ratio * now, ratio, after, error)))

    def _error_ratio(self, factors: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return what the input error is multiplied by when inputs have so many times their rows, and its error."""
        ratio, error = self.estimation.variance_ratio(factors)
        root = np.sqrt(np.maximum(ratio, 0.0))
        return root, error / (2 * np.where(root > 0, root, 1.0))

    def difference(self, first: str, second: str) -> InputUncertainty:
        """Return the result for the difference of two outputs, such as two policies on the same draws.

        Parameters
        ----------
        first, second
            Names of outputs, as in `names`; the second is subtracted from the first.
        """
        names = self.names
        for name in (first, second):
            if name not in names:
                raise ArgumentError(f"`difference` takes names of outputs, {', '.join(names)}; got {name!r}.")
        weights = np.zeros((len(names), 1))
        weights[names.index(first)] += 1.0
        weights[names.index(second)] -= 1.0
        estimation = replace(self.estimation, records=self.estimation.records.combined(weights))
        output = Output(((),), None, (f"{first} - {second}",))
        call = self.call.followed(f"difference({first!r}, {second!r})")
        return with_warnings(replace(self, estimation=estimation, output=output, call=call), shown=self.warnings)

    # How far to trust it

    @property
    def simulation_error(self) -> SimulationErrors:
        """Return the simulation errors, with fields `estimate`, `bias`, `input_error`, `low` and `high`."""
        estimation = self.estimation
        parts = (estimation.run_error, estimation.bias_error, estimation.input_error_error, *self._end_errors)
        return SimulationErrors(*(self._packed(part) for part in parts))

    @property
    def _end_errors(self) -> FloatArray:
        """Return the simulation errors of both ends, shape ``(2, k)``."""
        moves = [(self._ends(self.confidence_level, *by) - self._ends(self.confidence_level)) for by in _MOVES]
        return np.asarray(np.hypot(*moves))

    @property
    def regime(self) -> str:
        """Return how the input variance was estimated: "base runs", "resamples" or "two-layer"."""
        return self.estimation.regime.name

    @property
    def regime_reason(self) -> str:
        """Return why this regime was chosen."""
        return self.estimation.regime.reason

    @property
    def n_runs(self) -> int:
        """Return the number of runs of the model."""
        return self.estimation.records.n_runs

    def runs_needed(self, tol: float) -> int:
        """Return the approximate number of runs that reduce the relative simulation error of `input_error` to `tol`.

        It assumes that the error falls with the square root of the runs. For several outputs it is the maximum over
        them; ten times the present number where nothing is above the noise yet.
        """
        tol = checked_tolerance(tol)
        relative = float(np.max(relative_error(self.estimation)))
        if not np.isfinite(relative):
            return 10 * self.n_runs
        needed = min(self.n_runs * (relative / tol) ** 2, float(np.iinfo(np.int64).max // 2))
        return max(int(np.ceil(needed)), self.estimation.least_runs)

    def extend(self, n_runs: int) -> InputUncertainty:
        """Return the result with more runs; the regime is chosen again.

        Parameters
        ----------
        n_runs
            The number of runs to add.
        """
        more = checked_count("n_runs", n_runs, least=1)
        outcome = extended(Outcome(self.estimation, self.interrupted), self.n_runs + more)
        call = self.call.followed(f"extend({more})")
        changed = replace(self, estimation=outcome.estimation, interrupted=outcome.interrupted, call=call)
        return with_warnings(changed, shown=self.warnings)

    # How it is shown

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the k outputs."""
        return self.output.names

    def summary(self) -> str:
        """Return a text summary: estimate, errors, interval, the inputs' shares and warnings."""
        return simulation_summary.text(self._answer)

    def plot(
        self,
        kind: str = "interval",
        ax: Axes | None = None,
        *,
        output: str | int | None = None,
        input: str | None = None,  # noqa: A002 - what the user calls it
    ) -> Axes:
        """Draw the result with matplotlib, and return the axes.

        Parameters
        ----------
        kind
            "interval": the interval, with the simulation errors of its ends, and that from the run error alone.
            "contributions": the shares of inputs and interactions. "more_data": the effect on the input error of twice
            the rows of each input. "influence": the influence of every row of one input, with the ten most influential
            ones labelled. "forest": the intervals of all outputs.
        ax
            The axes to draw into, in their own style; None for a new pyplot figure.
        output
            The name or the number of the output to show, if there are several; the first by default.
        input
            The name of the input for "influence"; that with the largest share by default.

        Examples
        --------
        >>> import numpy as np
        >>> import orthoboot as ob
        >>> x = np.random.default_rng(0).exponential(size=100)
        >>> result = ob.input_uncertainty(lambda x: x.sum(axis=1), {"x": x}, horizon=3, n_runs=1000, rng=0)
        >>> result.plot("influence", input="x").get_xlabel()
        'row of x'
        """
        from orthoboot.presentation.plots.simulation.kinds import plotted_simulation

        axes: Axes = plotted_simulation(self._answer, kind, ax, output, input)
        return axes

    def to_html(
        self, path: str | PathLike[str], *, output: str | int | None = None, command: str | None = None
    ) -> Path:
        """Write a self-contained HTML page about the result, and return its path.

        It has the numbers, the warnings, the sources of the error and the effect of more data, the plots (if matplotlib
        is installed), the most influential rows, the assumptions, and a program that reproduces the result.

        Parameters
        ----------
        path
            The file to write; an existing one is replaced.
        output
            The name or the number of the output to plot, if there are several; the first by default.
        command
            The shell command that made the result, shown before the program that reproduces it.
        """
        from orthoboot.presentation.pages.simulation_page import written_page

        return written_page(self._answer, path, output, command)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as a dict of Python numbers, lists and strings, ready for JSON."""
        fields: dict[str, Any] = {
            "names": self.names,
            "estimate": self.estimate,
            "bias": self.bias,
            "debiased": self.debiased,
            "input_error": self.input_error,
            "run_error": self.run_error,
            "standard_error": self.standard_error,
            "confidence_interval": self.confidence_interval._asdict(),
            "confidence_level": self.confidence_level,
            "contributions": self.contributions,
            "contribution_errors": self.contribution_errors,
            "simulation_error": self.simulation_error._asdict(),
            "regime": self.regime,
            "regime_reason": self.regime_reason,
            "n_runs": self.n_runs,
            "n_rows": {entry.name: entry.n_rows for entry in self._inputs},
            "warnings": [str(warning) for warning in self.warnings],
        }
        return {name: jsonable(value) for name, value in fields.items()}

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas frame with one row per output."""
        return simulation_frame(self._answer)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        rest = f"n_runs={self.n_runs}, regime={self.regime!r})"
        if len(self.names) > 1:
            return f"InputUncertainty({len(self.names)} outputs, {rest}"
        found = self.estimation
        shown = {"estimate": found.estimate, "input_error": found.input_error, "run_error": found.run_error}
        return f"InputUncertainty({', '.join(f'{name}={value[0]:.6g}' for name, value in shown.items())}, {rest}"

    def _repr_html_(self) -> str:
        from orthoboot.presentation.pages.notebook import notebook_html
        from orthoboot.presentation.plots.simulation.interval import INTERVAL

        answer = self._answer
        return notebook_html(answer, simulation_summary.table(answer), INTERVAL)

    @property
    def _inputs(self) -> tuple[Any, ...]:
        return self.estimation.records.experiment.inputs

    @cached_property
    def _parts(self) -> list[str]:
        names = [entry.name for entry in self._inputs]
        return names + [f"{first} x {second}" for first, second in combinations(names, 2)]

    def _by_part(self, values: FloatArray) -> dict[str, Any]:
        return {name: self._packed(row) for name, row in zip(self._parts, values, strict=True)}

    def _packed(self, flat: FloatArray) -> Any:
        return self.output.pack(flat)

    @property
    def _answer(self) -> SimulationAnswer:
        found, records = self.estimation, self.estimation.records
        low, high = self._ends(self.confidence_level)
        run_low, run_high = self._around(found.estimate, _quantile(self.confidence_level) * found.run_error)
        return SimulationAnswer(
            model=records.experiment.model.name,
            inputs=tuple(InputWords(entry.name, entry.n_rows, entry.description) for entry in self._inputs),
            n_runs=self.n_runs,
            names=self.names,
            estimate=found.estimate,
            bias=found.bias,
            input_error=found.input_error,
            run_error=found.run_error,
            standard_error=found.total_error,
            low=low,
            high=high,
            run_low=run_low,
            run_high=run_high,
            bias_error=found.bias_error,
            input_error_error=found.input_error_error,
            end_errors=self._end_errors,
            confidence_level=self.confidence_level,
            parts=self._parts,
            shares=found.shares,
            share_errors=found.share_errors,
            regime=self.regime,
            regime_reason=self.regime_reason,
            warnings=self.warnings,
            beyond_runs=tuple(np.array(self.names)[found.records.never_below_zero & (low < 0)].tolist()),
            call=self.call,
            read_influence=lambda: self._ordered_influence,
            read_doubled=lambda: self._doubled,
        )

    @property
    def _doubled(self) -> tuple[Doubled, ...]:
        """Return what twice the rows of each input, and of all, would do."""
        factors = dict(zip((entry.name for entry in self._inputs), 1.0 + np.eye(len(self._inputs)), strict=True))
        if len(factors) > 1:
            factors["all inputs"] = np.full(len(self._inputs), 2.0)
        return tuple(Doubled(name, *self._error_ratio(row)) for name, row in factors.items())


def _quantile(level: float) -> float:
    """Return z, for which ``±z`` standard errors hold so much of the normal law."""
    return float(ndtri((1 + level) / 2))


def within_limits(estimation: Estimation, limits: tuple[float, float] | None) -> Estimation:
    """Return the estimation with the limits of the answer; raise if an estimate is not within them."""
    low, high = limits or (-np.inf, np.inf)
    outside = ~((estimation.estimate > low) & (estimation.estimate < high))
    if outside.any():
        worst = int(np.argmax(outside))
        raise ArgumentError(
            f"`transform` is for answers between {low:g} and {high:g}, and the estimate"
            f"{estimation.of_output(worst)} is {estimation.estimate[worst]:.6g}. Use other limits, or no transform."
        )
    return replace(estimation, records=replace(estimation.records, given_limits=limits))


def relative_error(estimation: Estimation) -> FloatArray:
    """Return the simulation error of the input error over the input error, shape ``(k,)``; infinite where that is 0."""
    value, error = estimation.input_error, estimation.input_error_error
    return np.where(value > 0, error / np.where(value > 0, value, 1.0), np.where(error > 0, np.inf, 0.0))
