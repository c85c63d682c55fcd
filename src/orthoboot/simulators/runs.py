"""Runs of a simulation model: the loop that records what they gave and how many draws they used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from orthoboot.errors import IgnoredInputWarning, ModelError, OrthobootWarning
from orthoboot.execution.execution import Execution
from orthoboot.execution.progress import ProgressBar
from orthoboot.functionals.evaluation import Evaluation
from orthoboot.functionals.output import Output, output_like
from orthoboot.simulators.inputs import Input, Positions
from orthoboot.simulators.models import ArrayModel, DrawModel, Model, RunDraws
from orthoboot.typing import BoolArray, FloatArray, IntArray, Key

_TRIAL_RUNS = 4
_TRIAL_CALLS = 2
"""Of models that are called once for each run: what the first leaves behind shows when it is simulated again."""
_PROBE_RUNS = 32
_MOST_PROBE_RUNS = 1000
"""Of an input that seems to be ignored: an output that is a rare event changes in few runs."""
_LARGEST = 1e70
"""Fourth powers of outputs, which errors of variances are made of, stay within the range of numbers."""
_ROUNDING = 1e-9
"""Relative difference up to which two simulations of a run count as the same."""


class Block(NamedTuple):
    """Consecutive base runs that are repeated under resamples of their own.

    Attributes
    ----------
    start, stop
        The first of the runs, and the one after the last: an even number of them.
    first_resample
        The number of the first of their resamples.
    """

    start: int
    stop: int
    first_resample: int

    @property
    def size(self) -> int:
        """Return the number of runs."""
        return self.stop - self.start

    def resamples(self, sweep: int, runs: Sequence[int]) -> IntArray:
        """Return the resample that each of some runs draws from in a sweep."""
        return self.first_resample + resamples_of(sweep, self.size, np.array(runs) - self.start)


class Task(NamedTuple):
    """Consecutive runs to simulate, from the data or, in a sweep over a block of base runs, from resamples of them."""

    start: int
    stop: int
    sweep: int = 0
    block: Block | None = None

    @property
    def runs(self) -> range:
        """Return the numbers of the runs."""
        return range(self.start, self.stop)

    @property
    def numbers(self) -> range:
        """Return the numbers under which what they give is kept."""
        first = 0 if self.block is None else self.sweep * self.block.size - self.block.start
        return range(first + self.start, first + self.stop)

    @property
    def resamples(self) -> list[int] | None:
        """Return the number of each run's resample."""
        return None if self.block is None else self.block.resamples(self.sweep, self.runs).tolist()


def resamples_of(sweep: int, n_base: int, runs: IntArray) -> IntArray:
    """Return the resample that each base run draws from in a sweep.

    Every resample has two runs, one of either half of the base runs. Each sweep shifts the second half by one, so that
    no two runs meet twice.
    """
    half = n_base // 2
    within = np.where(runs < half, runs, (runs - half - sweep) % half)
    found: IntArray = sweep * half + within
    return found


def partners(sweep: int, n_base: int) -> tuple[IntArray, IntArray]:
    """Return the two runs of each resample of a sweep, in the order of the resamples."""
    half = n_base // 2
    first = np.arange(half)
    return first, half + (first + sweep) % half


@dataclass(frozen=True, eq=False)
class Runs:
    """What R runs at the data gave.

    Attributes
    ----------
    outputs
        Shape ``(R, k)``.
    used
        Draws of each input, shape ``(R, m)``.
    """

    outputs: FloatArray
    used: IntArray

    def __len__(self) -> int:
        return len(self.outputs)


@dataclass(frozen=True, eq=False)
class Reruns:
    """What base runs gave under resamples of the data.

    Attributes
    ----------
    pairs
        Outputs of the two runs of each of B resamples, shape ``(B, 2, k)``.
    base
        Numbers of these base runs, shape ``(B, 2)``.
    resamples
        Numbers of the resamples, shape ``(B,)``.
    covered
        The base runs before this one have been repeated.
    """

    pairs: FloatArray
    base: IntArray
    resamples: IntArray
    covered: int

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def next_resample(self) -> int:
        """Return the first number that no resample has."""
        return int(self.resamples.max(initial=-1)) + 1

    def joined(self, more: Reruns) -> Reruns:
        """Return both."""
        return Reruns(
            np.concatenate([self.pairs, more.pairs]),
            np.concatenate([self.base, more.base]),
            np.concatenate([self.resamples, more.resamples]),
            more.covered,
        )


class _Recorded(NamedTuple):
    """What consecutive runs gave.

    Attributes
    ----------
    values
        Outputs and numbers of draws, shape ``(runs, k + m)``.
    done
        Which of them were made, shape ``(runs,)``.
    interrupted
        Whether Ctrl-C ended them early.
    """

    values: FloatArray
    done: BoolArray
    interrupted: bool


@dataclass(frozen=True, eq=False)
class Experiment:
    """A model with its inputs: everything that a run depends on besides its number.

    Attributes
    ----------
    inputs
        What is drawn from.
    model
        The user's function.
    key
        The seed.
    output
        The shape and the names of what a run gives.
    execution
        How runs are shared among jobs and kept.
    """

    inputs: tuple[Input, ...]
    model: Model
    key: Key
    output: Output
    execution: Execution

    def simulated(self, task: Task) -> FloatArray:
        """Return outputs and numbers of draws of some runs, shape ``(runs, k + m)``: a pure function of the task."""
        draws = RunDraws(self.inputs, self.key, task.runs, self.model.capacities, task.resamples)
        returned = self.model.outputs(draws, self.output)
        _check_sizes(returned.outputs, smallest=0.0)
        return np.concatenate([returned.outputs, returned.used], axis=1)

    def positions(self, i: int, runs: range, size: int) -> Positions:
        """Return where the draws of input `i` fell."""
        return RunDraws(self.inputs, self.key, runs, self.model.capacities).positions(i, size)

    def resample_stream(self, i: int) -> int:
        """Return the stream of the resamples of input `i`."""
        return len(self.inputs) + i

    @cached_property
    def whole_batches(self) -> bool:
        """Return whether runs must be simulated in the same batches each time: they share random numbers."""
        return self.model.takes_rng and isinstance(self.model, ArrayModel) and self.model.vectorized

    def run_count(self, n_runs: int) -> int:
        """Return the number of runs that is simulated where `n_runs` are asked for."""
        batch = self.model.runs_at_once if self.whole_batches else 1
        return -(-n_runs // batch) * batch

    # The loop

    def base_runs(self, n_runs: int, known: Runs | None = None) -> tuple[Runs, bool]:
        """Return the runs 0 to `n_runs` - 1 at the data, and whether Ctrl-C ended them early."""
        start = 0 if known is None else len(known)
        recorded = self._recorded("runs", self._tasks(start, n_runs))
        # Where other jobs were ahead of one that was interrupted, what comes after its runs is left out.
        missing = np.flatnonzero(~recorded.done)
        values = recorded.values[: missing[0] if len(missing) else None]
        k = self.output.size
        outputs, used = values[:, :k], values[:, k:].astype(np.int64)
        if known is not None:
            outputs, used = np.concatenate([known.outputs, outputs]), np.concatenate([known.used, used])
        return Runs(outputs, used), recorded.interrupted

    def reruns(self, block: Block, sweeps: int) -> tuple[Reruns, bool]:
        """Return `sweeps` sweeps over a block of base runs under resamples, and whether Ctrl-C ended them early."""
        half, k = block.size // 2, self.output.size
        tasks = [task for sweep in range(sweeps) for task in self._tasks(block.start, block.stop, sweep, block)]
        recorded = self._recorded(f"reruns of {block.start} to {block.stop}", tasks)
        pairs, base, resamples = [], [], []
        for sweep in range(sweeps):
            within = np.stack(partners(sweep, block.size), axis=1)
            places = sweep * block.size + within
            whole = recorded.done[places].all(axis=1)
            pairs.append(recorded.values[places[whole], :k])
            base.append(block.start + within[whole])
            resamples.append(block.first_resample + sweep * half + np.flatnonzero(whole))
        made = Reruns(np.concatenate(pairs), np.concatenate(base), np.concatenate(resamples), block.stop)
        return made, recorded.interrupted

    def _tasks(self, start: int, stop: int, sweep: int = 0, block: Block | None = None) -> list[Task]:
        size = self.model.runs_at_once
        cuts = [start, *range(start - start % size + size, stop, size), stop]
        return [Task(a, b, sweep, block) for a, b in pairwise(cuts) if a < b]

    def _recorded(self, section: str, tasks: list[Task]) -> _Recorded:
        """Return what the runs of all tasks gave, as far as Ctrl-C let them; their numbers are consecutive."""
        total = sum(len(task.runs) for task in tasks)
        first = tasks[0].numbers[0] if tasks else 0
        values = np.full((total, self.output.size + len(self.inputs)), np.nan)
        done = np.zeros(total, dtype=bool)
        checkpoint = self.execution.checkpoint
        with checkpoint.opened(), ProgressBar(total, unit="run", shown=self.execution.progress) as bar:

            def record(task: Task, found: FloatArray) -> None:
                places = slice(task.numbers[0] - first, task.numbers[-1] + 1 - first)
                values[places], done[places] = found, True
                bar.advance(len(task.runs))

            try:
                missing = []
                for task in tasks:
                    finished, known = checkpoint.known(section, task.numbers)
                    if known is None or len(finished) < len(task.numbers):
                        missing.append(task)
                    else:
                        record(task, known.values)
                for task, found in self.execution.completed(self.simulated, missing, in_threads=False):
                    record(task, found)
                    self._keep(section, task, found)
            except KeyboardInterrupt:
                return _Recorded(values, done, True)
        return _Recorded(values, done, False)

    def _keep(self, section: str, task: Task, values: FloatArray) -> None:
        """Put runs in the checkpoint, but for those of a batch that has other numbers there already."""
        checkpoint = self.execution.checkpoint
        known = set(checkpoint.known(section, task.numbers)[0])
        new = [place for place, number in enumerate(task.numbers) if number not in known]
        if new:
            checkpoint.add(section, [task.numbers[place] for place in new], Evaluation.of(values[new]))


# Before the first run


def trial(model: Model, inputs: tuple[Input, ...], key: Key) -> tuple[Output, FloatArray]:
    """Return the shape of the outputs, and those of run 0; raise unless a run is a function of its own draws."""
    draws = RunDraws(
        inputs, key, range(_TRIAL_RUNS if isinstance(model, ArrayModel) else _TRIAL_CALLS), model.capacities
    )
    first = model.returned(draws)
    output = output_like(first.example, model.name)
    again = model.outputs(draws, output)
    _check_sizes(again.outputs, smallest=1 / _LARGEST)
    place = _first_change(first.outputs, again.outputs)
    if place is not None:
        raise ModelError(
            f"`run` must be a function of its draws: run {place} gave {first.outputs[place].tolist()}, and with the "
            f"same draws {again.outputs[place].tolist()}. It may use random numbers of its own, a clock, or something "
            "that earlier runs changed. Take random numbers from an argument `rng`, and reset everything at the "
            "start of a run."
        )
    if isinstance(model, ArrayModel):
        _check_batches(model, draws, output, again.outputs)
        if (again.used < model.capacities).any():
            _check_used(model, draws, output)
    return output, first.outputs[0]


def check_unchanged(experiment: Experiment, runs: Runs) -> None:
    """Raise if the first run, simulated once more after all others, gives something else."""
    if experiment.whole_batches:
        return
    again = experiment.simulated(Task(0, 1))[:, : experiment.output.size]
    if _first_change(runs.outputs[:1], again) is not None:
        raise ModelError(
            f"`run` must be a function of its draws: run 0 gave {runs.outputs[0].tolist()} at first, and "
            f"{again[0].tolist()} after all other runs. It keeps something from one run to the next; reset everything "
            "at the start of a run."
        )


def _first_change(first: FloatArray, second: FloatArray) -> int | None:
    """Return the first run that has other outputs in the second array, up to rounding."""
    size = np.abs(first).max(axis=0)
    changed = ~(np.abs(second - first) <= _ROUNDING * size).all(axis=1)
    return int(np.argmax(changed)) if changed.any() else None


def _check_sizes(outputs: FloatArray, smallest: float) -> None:
    """Raise if outputs are so large, or all so small, that the square of a variance is not a floating-point number."""
    size = float(np.abs(outputs).max(initial=0.0))
    if size > _LARGEST or 0 < size < smallest:
        raise ModelError(
            f"`run` must return numbers from {1 / _LARGEST:g} to {_LARGEST:g} in size, since the variance of others "
            f"overflows or underflows; got {size:.3g}. Return them in other units."
        )


def _check_batches(model: ArrayModel, draws: RunDraws, output: Output, outputs: FloatArray) -> None:
    """Raise if a run gives something else beside other runs; those that share random numbers may."""
    if not model.vectorized or model.takes_rng:
        return
    half = len(draws.runs) // 2
    apart = model.outputs(RunDraws(draws.inputs, draws.key, draws.runs[half:], draws.capacities), output)
    place = _first_change(outputs[half:], apart.outputs)
    if place is not None:
        raise ModelError(
            f"`run` must treat every run separately: run {half + place} gave {outputs[half + place].tolist()} beside "
            f"{len(draws.runs) - 1} other runs, and {apart.outputs[place].tolist()} beside fewer. Runs are the first "
            "axis of the arrays: is `axis=1` missing in a mean or a sum?"
        )


def _check_used(model: ArrayModel, draws: RunDraws, output: Output) -> None:
    """Raise if runs give something else with other draws in place of those that they say they did not use."""
    if model.vectorized and model.takes_rng:
        return
    plain = RunDraws(draws.inputs, draws.key, range(_PROBE_RUNS if model.vectorized else _TRIAL_RUNS), draws.capacities)
    first = model.outputs(plain, output)
    for i, entry in enumerate(draws.inputs):
        if (first.used[:, i] == model.capacities[i]).all():
            continue
        other = _ReplacedDraws(plain.inputs, plain.key, plain.runs, plain.capacities, replaced=i, used=first.used[:, i])
        place = _first_change(first.outputs, model.outputs(other, output).outputs)
        if place is not None:
            raise ModelError(
                f"the number of draws used of {entry.name!r} must count every draw that the outputs depend on: run "
                f"{place} says {first.used[place, i]}, but its output changes with later draws. Count the draw at "
                "which a run stops too, or do not return the number."
            )


def ignored_inputs(experiment: Experiment, runs: Runs, suspects: BoolArray) -> tuple[OrthobootWarning, ...]:
    """Return a warning for every input, among those that may have no effect, whose draws never change the outputs."""
    if isinstance(experiment.model, DrawModel):
        never = [entry.name for entry, column in zip(experiment.inputs, runs.used.T, strict=True) if not column.any()]
        return tuple(
            IgnoredInputWarning(
                f"{len(runs):,} runs never drew from {name!r}, so this input adds no uncertainty. Check that `run` "
                "uses it; if it is seldom drawn, use more runs."
            )
            for name in never
        )
    ignored = _are_ignored(experiment, len(runs), suspects)
    return tuple(
        IgnoredInputWarning(
            f"in {min(len(runs), _MOST_PROBE_RUNS):,} runs the output did not change with the draws of {entry.name!r}, "
            "so this input adds no uncertainty. Check that `run` uses it; if the output is a rare event, use more runs."
        )
        for entry, is_ignored in zip(experiment.inputs, ignored, strict=True)
        if is_ignored
    )


def _are_ignored(experiment: Experiment, n_runs: int, suspects: BoolArray) -> list[bool]:
    """Return for each input whether runs give the same with other draws of it."""
    model, inputs = experiment.model, experiment.inputs
    ignored = [bool(suspect) and entry.n_features > 0 for entry, suspect in zip(inputs, suspects, strict=True)]
    for number in (_PROBE_RUNS, min(n_runs, _MOST_PROBE_RUNS)):
        if not any(ignored):
            break
        probe = (inputs, experiment.key, range(number), model.capacities)
        plain = model.returned(RunDraws(*probe)).outputs
        for i in np.flatnonzero(ignored):
            other = model.returned(_ReplacedDraws(*probe, replaced=int(i))).outputs
            ignored[i] = np.array_equal(plain, other)
    return ignored


@dataclass(frozen=True, eq=False)
class _ReplacedDraws(RunDraws):
    """Draws of which those of one input are taken from other runs: all, or those after the first `used` of a run."""

    replaced: int = -1
    used: IntArray | None = None

    def positions(self, i: int, size: int) -> Positions:
        """Return where draws fall, those of another run for the replaced input."""
        positions = super().positions(i, size)
        if i != self.replaced:
            return positions
        moved = np.roll(positions, 1, axis=0)
        if self.used is None:
            return moved
        return np.where(np.arange(size) < self.used[:, np.newaxis], positions, moved)

    def one(self, place: int) -> RunDraws:
        """Return the draws of one run; its inputs are drawn already where models take arrays."""
        return RunDraws(self.inputs, self.key, self.runs[place : place + 1], self.capacities)
