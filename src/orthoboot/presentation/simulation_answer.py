"""The input uncertainty of a simulation as summaries, plots and pages show it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from orthoboot.errors import OrthobootWarning
from orthoboot.presentation.influential_rows import InfluentialRow, largest_changes
from orthoboot.presentation.wording import exponent
from orthoboot.typing import FloatArray

_WAYS = {
    "base runs": "influence functions from the runs at the data",
    "resamples": "influence functions, corrected by runs under resamples of the data",
    "two-layer": "runs under resamples of the data with common random numbers",
}


class Call(NamedTuple):
    """How a result was made.

    Attributes
    ----------
    options
        Names and values of the given options of `input_uncertainty`.
    then
        Methods of the result that were called after it, as code.
    """

    options: tuple[tuple[str, Any], ...] = ()
    then: tuple[str, ...] = ()

    @property
    def seed(self) -> int | None:
        """Return the seed if it was given as a number, or None."""
        return dict(self.options).get("rng")

    def followed(self, call: str) -> Call:
        """Return the call with another method at its end."""
        return self._replace(then=(*self.then, call))


class InputWords(NamedTuple):
    """The name of an input, how many rows it has, and what they are."""

    name: str
    n_rows: int
    description: str


class Doubled(NamedTuple):
    """The effect of twice the rows of an input.

    Attributes
    ----------
    name
        Of the input, or "all inputs".
    ratio, error
        The new input error divided by the present one, and its simulation error, shape ``(k,)``; NaN if unknown.
    """

    name: str
    ratio: FloatArray
    error: FloatArray


@dataclass(frozen=True, eq=False)
class SimulationAnswer:
    """The results for the k outputs of a simulation.

    Attributes
    ----------
    model, inputs, n_runs
        What was simulated, from what, and how often.
    names
        Of the outputs.
    estimate, bias, input_error, run_error, standard_error, low, high
        Shape ``(k,)``.
    run_low, run_high
        Ends of the interval that the run error alone would give, shape ``(k,)``.
    bias_error, input_error_error
        Simulation errors, shape ``(k,)``.
    end_errors
        Those of both ends, shape ``(2, k)``.
    confidence_level
        Of the interval.
    parts
        Names of inputs and of their interactions.
    shares, share_errors
        Of the parts in the input variance, shape ``(parts, k)``.
    regime, regime_reason
        How the input variance was found, and why.
    warnings
        The warnings.
    beyond_runs
        Names of outputs whose interval reaches below zero, though no run did.
    call
        How the result was made.
    read_influence, read_doubled
        Functions for results that take a while and that a summary does not show: the influence of the rows of each
        input, in the order of the data, shape ``(n_i, k)``, and the effect of twice the rows.
    """

    model: str
    inputs: tuple[InputWords, ...]
    n_runs: int
    names: tuple[str, ...]
    estimate: FloatArray
    bias: FloatArray
    input_error: FloatArray
    run_error: FloatArray
    standard_error: FloatArray
    low: FloatArray
    high: FloatArray
    run_low: FloatArray
    run_high: FloatArray
    bias_error: FloatArray
    input_error_error: FloatArray
    end_errors: FloatArray
    confidence_level: float
    parts: Sequence[str]
    shares: FloatArray
    share_errors: FloatArray
    regime: str
    regime_reason: str
    warnings: tuple[OrthobootWarning, ...]
    beyond_runs: tuple[str, ...]
    call: Call
    read_influence: Callable[[], tuple[FloatArray, ...]] = field(repr=False)
    read_doubled: Callable[[], tuple[Doubled, ...]] = field(repr=False)

    simultaneous = False

    @property
    def level_words(self) -> str:
        """Return a description of the interval, such as ``"95% interval"``."""
        return f"{100 * self.confidence_level:g}% interval"

    def decimals(self, j: int) -> int:
        """Return how many decimals of the estimate of output `j` are shown: three digits of the input error."""
        sizes = [self.input_error[j], self.run_error[j], abs(self.estimate[j]), 1.0]
        return 2 - exponent(float(next(size for size in sizes if np.isfinite(size) and size > 0)))

    @property
    def title(self) -> str:
        """Return the title of the summary."""
        return f"Input uncertainty of {self.model}"

    @property
    def heading(self) -> str:
        """Return one line: the model, its inputs and runs."""
        rows = ", ".join(f"{entry.name} ({entry.n_rows:,} rows)" for entry in self.inputs)
        return f"{self.title}: {rows}; {self.n_runs:,} runs"

    @property
    def way(self) -> str:
        """Return how the input variance was found, and why."""
        return f"{_WAYS[self.regime]}, since {self.regime_reason}"

    @property
    def notes(self) -> list[str]:
        """Return notes that explain the numbers."""
        notes = [
            "input error: standard error due to the inputs' data; run error: standard error due to the number of runs.",
            f"Input variance by {self.way}.",
            "± is the simulation error: what another seed would change.",
        ]
        if self.regime != "base runs":
            notes.append("Shares of the inputs leave out effects beyond the third order.")
        if self.beyond_runs:
            of = f" of {', '.join(self.beyond_runs)}" if len(self.names) > 1 else ""
            notes.append(
                f'The interval{of} reaches below 0, but no output did: `interval(transform="log")` has one above 0.'
            )
        return notes

    def row_changes(self, j: int) -> tuple[FloatArray, ...]:
        """Return, for each input, the change of output `j` if a row counted once more, shape ``(n_i,)``."""
        return tuple(values[:, j] / len(values) for values in self.read_influence())

    def influential_rows(self, j: int) -> list[InfluentialRow]:
        """Return up to ten rows of all inputs with the largest influence on output `j`, in decreasing order."""
        return largest_changes(self.row_changes(j), lambda i, row: f"row {row:,} of {self.inputs[i].name}")

    def rows_of_input(self, i: int, j: int) -> tuple[FloatArray, list[InfluentialRow]]:
        """Return the changes of all rows of input `i`, and up to ten with the largest influence on output `j`."""
        changes = self.row_changes(j)[i]
        return changes, largest_changes([changes], lambda _, row: f"row {row:,}")

    def main_input(self, j: int) -> int:
        """Return the number of the input with the largest share; the first if shares are unknown."""
        return int(np.argmax(np.nan_to_num(self.shares[: len(self.inputs), j])))
