"""Simulation models: how the user's function is called, and what it may return."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from orthoboot.errors import ArgumentError, ModelError, first_line
from orthoboot.functionals.output import Output
from orthoboot.simulators.inputs import Input, Positions
from orthoboot.typing import FloatArray, IntArray, Key

_FIRST_DRAWS = 64
"""Draws that a model which asks for them one by one gets at once, and twice as many each time they run out."""

_NUMBERS_AT_ONCE = 1 << 19
_MOST_RUNS_AT_ONCE = 250
_RUNS_ONE_BY_ONE = 10
"""Of models that are called once for each run: few, since such runs may be slow, and are kept together."""

_EMPTY = "`run` must return at least one number; got an empty dict."

_OWN_STREAM = 1
"""What tells the key of the model's own random numbers from that of the draws."""


@dataclass(frozen=True, eq=False)
class RunDraws:
    """The draws of some runs: functions of the key, the input, the run and the number of the draw.

    Attributes
    ----------
    inputs
        All of them.
    key
        The seed.
    runs
        Numbers of the runs.
    capacities
        By input the number of draws for which the counter is laid out.
    resamples
        For each run the number of the resample of the data it is to draw from; None to draw from the data.
    """

    inputs: tuple[Input, ...]
    key: Key
    runs: Sequence[int]
    capacities: tuple[int, ...]
    resamples: Sequence[int] | None = None

    def positions(self, i: int, size: int) -> Positions:
        """Return where the first `size` draws of input `i` fall, shape ``(runs, size)``."""
        return self.inputs[i].positions(self.key, i, self.runs, size, self.capacities[i])

    def values(self, i: int, size: int) -> Any:
        """Return the first `size` draws of input `i`."""
        positions = self.positions(i, size)
        if self.resamples is None:
            return self.inputs[i].values(positions)
        return self.inputs[i].resampled_values(self.key, self.resample_stream(i), self.resamples, positions)

    def resample_stream(self, i: int) -> int:
        """Return the stream of the resamples of input `i`."""
        return len(self.inputs) + i

    def one(self, place: int) -> RunDraws:
        """Return the draws of the run at `place` alone."""
        resamples = None if self.resamples is None else self.resamples[place : place + 1]
        return RunDraws(self.inputs, self.key, self.runs[place : place + 1], self.capacities, resamples)

    def generator(self) -> np.random.Generator:
        """Return the model's own random numbers, the same whichever data the draws are from."""
        own = np.random.SeedSequence([*self.key, _OWN_STREAM]).generate_state(2, np.uint64)
        return np.random.Generator(np.random.Philox(key=own, counter=[0, 0, 0, int(self.runs[0])]))


class Returned(NamedTuple):
    """What a model returned for c runs.

    Attributes
    ----------
    outputs
        Shape ``(c, k)``.
    used
        How many draws of each input, shape ``(c, m)``.
    example
        The value of the first run, for the shape and the names of the output.
    """

    outputs: FloatArray
    used: IntArray
    example: Any


@dataclass(frozen=True, eq=False)
class Model(ABC):
    """A function of the user's that simulates runs.

    Attributes
    ----------
    function
        The function.
    names
        Of the inputs.
    horizon
        By input the number of draws that a run may use; None without a limit.
    takes_rng
        Whether it wants random numbers of its own.
    """

    function: Callable[..., Any]
    names: tuple[str, ...]
    horizon: tuple[int | None, ...]
    takes_rng: bool

    @property
    def name(self) -> str:
        """Return the name of the function."""
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    @property
    @abstractmethod
    def runs_at_once(self) -> int:
        """Return how many runs are simulated together."""

    @property
    @abstractmethod
    def capacities(self) -> tuple[int, ...]:
        """Return by input the number of draws for which the counter is laid out."""

    @abstractmethod
    def returned(self, draws: RunDraws, keys: Sequence[Any] | None = None) -> Returned:
        """Return what the model gives for these runs; raise a `ModelError` where that is of no use.

        Entries of a dict are put in the order of `keys`, whatever the order in which a run made them.
        """

    def outputs(self, draws: RunDraws, output: Output) -> Returned:
        """Return what the model gives, checked to be finite and of the same shape as in the first run."""
        returned = self.returned(draws, output.keys)
        first = output.shapes[0] if output.keys is None else dict(zip(output.keys, output.shapes, strict=True))
        _check_layout(first, _layout(returned.example), draws.runs[0])
        finite = np.isfinite(returned.outputs).all(axis=1)
        if not finite.all():
            place = int(np.argmin(finite))
            raise ModelError(
                f"`run` must return finite numbers; run {draws.runs[place]} gave {returned.outputs[place].tolist()}. "
                "Return a number for every run: leaving some out would change what is estimated."
            )
        return returned

    def _called(self, draws: RunDraws, arguments: Mapping[str, Any]) -> Any:
        if self.takes_rng:
            arguments = {**arguments, "rng": draws.generator()}
        try:
            return self.function(**arguments)
        except ModelError:
            raise
        except Exception as error:  # the user's model may raise anything
            raise ModelError(
                f"`run` raised in {_runs(draws.runs)}: {type(error).__name__}: {first_line(error)}. Every run must "
                f"give a value.{self._hint}"
            ) from error

    @property
    def _hint(self) -> str:
        """Return what else may be wrong with a model that raises."""
        return ""

    def _whole_horizon(self, c: int) -> IntArray:
        return np.tile(np.array([size or 0 for size in self.horizon], dtype=np.int64), (c, 1))


@dataclass(frozen=True, eq=False)
class ArrayModel(Model):
    """``run(arrival, service)``: arrays ``(R, T)`` of draws, one row for each run, or arrays ``(T,)`` of one run.

    It returns outputs, or a pair of them and a dict with the number of draws that each run used of an input.

    Attributes
    ----------
    vectorized
        Whether it takes many runs at once.
    """

    vectorized: bool

    @property
    def runs_at_once(self) -> int:
        """Return how many runs are simulated together: a function of the horizon alone."""
        if not self.vectorized:
            return _RUNS_ONE_BY_ONE
        # An even number: runs that share random numbers are repeated in whole batches, and in pairs.
        return int(np.clip(_NUMBERS_AT_ONCE // sum(self.capacities) // 2 * 2, 2, _MOST_RUNS_AT_ONCE))

    @property
    def capacities(self) -> tuple[int, ...]:
        """Return the horizon."""
        return tuple(size or 0 for size in self.horizon)

    def returned(self, draws: RunDraws, keys: Sequence[Any] | None = None) -> Returned:
        """Return what the model gives for these runs."""
        values = {
            name: draws.values(i, size) for i, (name, size) in enumerate(zip(self.names, self.capacities, strict=True))
        }
        if self.vectorized:
            outputs, used = _split(self._called(draws, values))
            flat, example = _of_batch(_ordered(outputs, keys), len(draws.runs))
            return Returned(flat, self._used(used, len(draws.runs)), example)
        return _one_by_one(draws, keys, lambda one, place: self._one(one, values, place))

    def _one(self, draws: RunDraws, values: Mapping[str, Any], place: int) -> tuple[Any, IntArray]:
        arguments = {name: draws.inputs[i].row(values[name], place) for i, name in enumerate(self.names)}
        outputs, used = _split(self._called(draws, arguments))
        return outputs, self._used(used, 1)

    @property
    def _hint(self) -> str:
        return " If it simulates one run at a time pass `vectorized=False`." if self.vectorized else ""

    def _used(self, used: Mapping[str, Any] | None, c: int) -> IntArray:
        """Return the numbers of draws that the model says it used, the whole horizon by default."""
        found = self._whole_horizon(c)
        for name, given in (used or {}).items():
            if name not in self.names:
                raise ModelError(
                    f"`run` may say how many draws it used of {', '.join(self.names)}; got {name!r}. For several "
                    "outputs return one dict."
                )
            numbers, most = np.asarray(given), self.capacities[self.names.index(name)]
            if numbers.dtype.kind not in "iu" or numbers.shape not in ((c,), ()):
                raise ModelError(
                    f"the number of draws used of {name!r} must be a whole number for each of {c} run(s); got "
                    f"{numbers.dtype} of shape {numbers.shape}."
                )
            if numbers.min() < 0 or numbers.max() > most:
                raise ModelError(
                    f"the number of draws used of {name!r} must be between 0 and its horizon, {most}; got "
                    f"{numbers.min()} to {numbers.max()}. Raise `horizon`."
                )
            found[:, self.names.index(name)] = numbers
        return found


@dataclass(frozen=True, eq=False)
class DrawModel(Model):
    """``run(draw, rng)``: a model that asks for its draws one by one, ``draw.service()``, as many as it needs."""

    @property
    def runs_at_once(self) -> int:
        """Return how many runs are simulated together."""
        return _RUNS_ONE_BY_ONE

    @property
    def capacities(self) -> tuple[int, ...]:
        """Return a layout that does not depend on how many draws are taken."""
        return (_FIRST_DRAWS,) * len(self.names)

    def returned(self, draws: RunDraws, keys: Sequence[Any] | None = None) -> Returned:
        """Return what the model gives for these runs, one after the other."""
        return _one_by_one(draws, keys, lambda one, _: self._one(one))

    def _one(self, draws: RunDraws) -> tuple[Any, IntArray]:
        sources = {name: _Source(draws, i, self.horizon[i]) for i, name in enumerate(self.names)}
        outputs = self._called(draws, {"draw": Draw(sources)})
        return outputs, np.array([[source.used for source in sources.values()]], dtype=np.int64)


class Draw:
    """The draws of one run: ``draw.service()`` is the next one of the input `service`."""

    def __init__(self, sources: Mapping[str, _Source]) -> None:
        self.__dict__.update(sources)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"there is no input {name!r}; the inputs are {', '.join(vars(self))}")


class _Source:
    """The draws of one input in one run, made as they are asked for."""

    def __init__(self, draws: RunDraws, number: int, horizon: int | None) -> None:
        self._draws, self._number, self._horizon = draws, number, horizon
        self._drawn: Any = None
        self._size = 0
        self.used = 0

    def __call__(self, *given: Any) -> Any:
        """Return the next draw."""
        if given:
            name = self._draws.inputs[self._number].name
            raise ModelError(f"`draw.{name}()` takes no arguments and returns one draw; call it once for each draw.")
        place = self.used
        if self._horizon is not None and place >= self._horizon:
            raise ModelError(
                f"run {self._draws.runs[0]} asked for more than {self._horizon} draws of "
                f"{self._draws.inputs[self._number].name!r}, its horizon. Raise `horizon`, or leave it out."
            )
        if place >= self._size:
            self._size = max(_FIRST_DRAWS, 2 * self._size)
            self._drawn = self._draws.values(self._number, self._size)
        self.used = place + 1
        return self._draws.inputs[self._number].entry(self._drawn, 0, place)


def model_for(run: Any, inputs: tuple[Input, ...], horizon: Any, vectorized: Any) -> Model:
    """Return the model that the user's function is, by the names of its parameters."""
    if not callable(run):
        raise ArgumentError(f"`run` must be a function that simulates; got {type(run).__name__}.")
    if vectorized is not None and not isinstance(vectorized, (bool, np.bool_)):
        raise ArgumentError(f"`vectorized` must be True, False or None; got {vectorized!r}.")
    names = tuple(entry.name for entry in inputs)
    parameters = _parameters(run)
    sizes = _horizons(horizon, names)
    takes_rng = "rng" in parameters
    if "draw" in parameters:
        others = [name for name in _without_default(parameters) if name not in ("draw", "rng")]
        if others or vectorized:
            raise ArgumentError(
                "a `run` that takes `draw` is called once per run and may also take `rng`; other parameters need a "
                "default, or a value bound by `functools.partial`; got "
                f"{', '.join(parameters)}{' with vectorized=True' if vectorized else ''}."
            )
        return DrawModel(run, names, sizes, takes_rng)
    _check_parameters(run, parameters, names)
    missing = [name for name, size in zip(names, sizes, strict=True) if size is None]
    if missing:
        raise ArgumentError(
            f"`horizon` must give the largest number of draws of {' and '.join(missing)} per run; got {horizon!r}. A "
            "`run(draw)` does not need it."
        )
    return ArrayModel(run, names, sizes, takes_rng, True if vectorized is None else bool(vectorized))


def _parameters(run: Any) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(run).parameters)
    except (TypeError, ValueError) as error:
        raise ArgumentError("`run` must be a Python function whose parameters have names; wrap it in one.") from error


def _without_default(parameters: Mapping[str, inspect.Parameter]) -> list[str]:
    """Return the parameters that must be given."""
    optional = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return [name for name, entry in parameters.items() if entry.default is entry.empty and entry.kind not in optional]


def _check_parameters(run: Any, parameters: Mapping[str, inspect.Parameter], names: tuple[str, ...]) -> None:
    takes_any = any(entry.kind is entry.VAR_KEYWORD for entry in parameters.values())
    unknown = [name for name in _without_default(parameters) if name not in (*names, "rng")]
    unused = [name for name in names if name not in parameters and not takes_any]
    if unknown or unused:
        raise ArgumentError(
            f"`run` must take one argument for each input, by its name: {', '.join(names)}, and `rng` if it draws "
            f"random numbers of its own; or a single argument of the name `draw`. It takes "
            f"{', '.join(parameters) or 'none'}."
        )


def _horizons(horizon: Any, names: tuple[str, ...]) -> tuple[int | None, ...]:
    given = horizon if isinstance(horizon, Mapping) else dict.fromkeys(names, horizon)
    unknown = [name for name in given if name not in names]
    sizes = [given.get(name) for name in names]
    usable = all(size is None or (isinstance(size, (int, np.integer)) and 0 < size < 2**31) for size in sizes)
    if unknown or not usable or any(isinstance(size, bool) for size in sizes):
        raise ArgumentError(
            "`horizon` must be a positive whole number of draws, or a dict of such by the name of the input "
            f"({', '.join(names)}); got {horizon!r}."
        )
    return tuple(None if size is None else int(size) for size in sizes)


# What a model returns


def _split(returned: Any) -> tuple[Any, Mapping[str, Any] | None]:
    """Return the outputs, and how many draws were used where the model says so."""
    if not isinstance(returned, tuple):
        return returned, None
    if len(returned) == 2 and isinstance(returned[1], Mapping):
        return returned
    raise ModelError(
        "`run` must return numbers, a dict of them, or a pair (outputs, used) with a dict of the draws used; got a "
        f"tuple of {len(returned)}. Return several outputs as an array or a dict."
    )


def _of_batch(outputs: Any, c: int) -> tuple[FloatArray, Any]:
    """Return the outputs of c runs as ``(c, k)``, and those of the first in their own shape."""
    entries = outputs if isinstance(outputs, Mapping) else {"": outputs}
    if not entries:
        raise ModelError(_EMPTY)
    arrays = {key: _numbers(entry) for key, entry in entries.items()}
    for key, array in arrays.items():
        if array.ndim == 0 or len(array) != c:
            of = f" for {key!r}" if key != "" else ""
            raise ModelError(
                f"`run` got arrays of {c} runs and must return {c} numbers{of}, or {c} rows of them, the runs first; "
                f"got shape {array.shape}. If it simulates one run at a time pass `vectorized=False`."
            )
    first = {key: array[0] for key, array in arrays.items()}
    flat = np.concatenate([array.reshape(c, -1) for array in arrays.values()], axis=1)
    return flat, first if isinstance(outputs, Mapping) else first[""]


def _of_one(outputs: Any) -> FloatArray:
    """Return the outputs of one run as ``(1, k)``."""
    entries = list(outputs.values()) if isinstance(outputs, Mapping) else [outputs]
    if not entries:
        raise ModelError(_EMPTY)
    return np.concatenate([_numbers(entry).reshape(-1) for entry in entries])[np.newaxis]


def _layout(outputs: Any) -> Any:
    """Return the shape of what one run returned, or those of the entries of a dict."""
    if isinstance(outputs, Mapping):
        return {key: np.shape(entry) for key, entry in outputs.items()}
    return np.shape(outputs)


def _check_layout(first: Any, here: Any, run: int) -> None:
    if here != first:
        raise ModelError(
            f"`run` must return the same shape in every run; got {here} in run {run} where an earlier run gave "
            f"{first}. Return arrays of fixed length, and the same keys."
        )


def _ordered(outputs: Any, keys: Sequence[Any] | None) -> Any:
    """Return a dict with its entries in the order of the keys, where it has these."""
    is_other = keys is not None and isinstance(outputs, Mapping) and set(outputs) == set(keys)
    return {key: outputs[key] for key in keys or ()} if is_other else outputs


def _one_by_one(
    draws: RunDraws, keys: Sequence[Any] | None, simulated: Callable[[RunDraws, int], tuple[Any, IntArray]]
) -> Returned:
    """Return what single runs give together; each must return what the first one does."""
    flat, counts = [], []
    examples: list[Any] = []
    for place, run in enumerate(draws.runs):
        outputs, used = simulated(draws.one(place), place)
        outputs = _ordered(outputs, keys)
        flat.append(_of_one(outputs))
        counts.append(used)
        if not examples:
            examples.append(outputs)
            keys = tuple(outputs) if isinstance(outputs, Mapping) else None
        _check_layout(_layout(examples[0]), _layout(outputs), run)
    return Returned(np.concatenate(flat), np.concatenate(counts), examples[0])


def _numbers(value: Any) -> FloatArray:
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biuf" or array.size == 0 or np.ma.is_masked(value):
            raise TypeError
    except (TypeError, ValueError) as error:
        what = "None: is a `return` missing?" if value is None else f"{type(value).__name__}: {str(value)[:60]!r}."
        raise ModelError(f"`run` must return a number, an array of numbers, or a dict of these; got {what}") from error
    return array.astype(np.float64)


def _runs(runs: Sequence[int]) -> str:
    return f"run {runs[0]}" if len(runs) == 1 else f"one of the runs {runs[0]} to {runs[-1]}"
