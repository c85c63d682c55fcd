"""Base classes for user functions: first evaluation, shape of the value, and name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, TypeVar

import numpy as np

from orthoboot.autodiff import package_of
from orthoboot.data import Data
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import StatisticError, first_line
from orthoboot.functionals.base import Functional, Prepared
from orthoboot.functionals.output import Output, output_like
from orthoboot.typing import FloatArray

_TRIAL_SEED = 20240607

Wrapper = TypeVar("Wrapper", bound="CallableFunctional")


@dataclass(frozen=True, eq=False)
class CallableFunctional(Functional):
    """A user's function, evaluated once on the data to find the shape of its value.

    Attributes
    ----------
    function
        What the user wrote.
    value_output
        The shape and names of its value.
    value
        Its value on the data, shape ``(k,)``, so that an expensive fit is not repeated.
    name
        What a report calls it.
    weights_refusal
        Why its optional `weights` are not used, where they do not work.
    """

    function: Callable[..., Any]
    value_output: Output = field(repr=False)
    value: FloatArray = field(repr=False, compare=False)
    name: str = "statistic"
    weights_refusal: str = field(default="", repr=False, compare=False)

    releases_gil = False
    by_user = True

    passed: ClassVar[str] = "`weights` of one"
    """What it is called with besides the samples."""
    remedy: ClassVar[str] = (
        "Count each row with its weight, so that weights of one change nothing; or make `weights` a required parameter."
    )
    """What to do where its value with that differs from its value without."""


AnyCallable = TypeVar("AnyCallable", bound=CallableFunctional)


@dataclass(frozen=True, eq=False)
class PreparedCallable(Prepared[AnyCallable]):
    """A user's function at the data on which it was first evaluated."""

    one_by_one = True

    @property
    def output(self) -> Output:
        """Return the shape and the names of its value, known from the first evaluation."""
        return self.functional.value_output

    @property
    def estimate(self) -> FloatArray:
        """Return its value on the data, known from the first evaluation."""
        return self.functional.value

    def plain_value(self) -> FloatArray:
        """Return the value of the user's function called with the samples alone, shape ``(k,)``; it may raise."""
        return self.output.flatten(self.functional.function(*self.data.containers))

    @property
    def centre(self) -> FloatArray:
        """Return the estimate, which was computed like every replicate."""
        return self.functional.value


def value_on_data(statistic: Callable[..., Any], data: Data, samples: Any, *, hint: str = "", **options: Any) -> Any:
    """Return the value of the user's function on the data; raise a `StatisticError` if it raises."""
    try:
        return statistic(*samples, **options)
    except Exception as error:  # the user's function may raise anything
        raise StatisticError(
            f"`statistic` must return a value on the data; it raised {type(error).__name__}: "
            f"{str(error).rstrip('.')}. It was called with "
            f"{_arguments(samples, options)}.{hint or _hint(error, samples, options)}{data.samples_hint}"
        ) from error


def _hint(error: Exception, samples: Any, options: Mapping[str, Any]) -> str:
    if "read-only" in str(error):
        return " It must not change its data in place: copy them first."
    wants_tensors = "Tensor" in str(error) or (isinstance(error, AttributeError) and "numpy." in str(error))
    if wants_tensors and "weights" in options and package_of(samples[0]) is None:
        return ' If it is written in torch pass `influence="torch"`: then it gets tensors.'
    if "weights" not in options and isinstance(error, TypeError) and "required positional argument" in str(error):
        return " Weights are passed only to a parameter called `weights`."
    if "axis" in options:
        return " It has an `axis` parameter, so it got a batch of samples: pass `vectorized=False` if it takes one."
    return ""


def _arguments(samples: Any, options: Mapping[str, Any]) -> str:
    kinds = [f"{type(sample).__name__} of shape {getattr(sample, 'shape', (len(sample),))}" for sample in samples]
    return ", ".join([*kinds, *(_option(*option) for option in options.items())])


def _option(name: str, value: Any) -> str:
    return f"`{name}`, a tuple of {len(value)} arrays" if isinstance(value, tuple) else f"`{name}`"


def value_of(argument: str, function: Callable[..., Any], *arguments: Any, hint: str = "") -> Any:
    """Return the value of the function passed as `argument`; its exceptions are raised as a `StatisticError`."""
    try:
        return function(*arguments)
    except StatisticError:
        raise
    except Exception as error:  # the user's function may raise anything
        raise StatisticError(
            f"`{argument}` raised {type(error).__name__}: {first_line(error)}. It was called with "
            f"{', '.join(map(_described, arguments))}{hint}."
        ) from error


def check_takes_many(argument: str, function: Callable[..., Any], *arguments: Any) -> None:
    """Raise if the user's function raises for numbers of two resamples, on the last axis of its arguments."""
    hint = (
        ", for 2 resamples at once: use functions that take arrays, `np.log` and not `math.log`, `np.where` and not "
        "`if`, and leave out `float`"
    )
    value_of(argument, function, *arguments, hint=hint)


def _described(argument: Any) -> str:
    if isinstance(argument, Mapping):
        return "a dict"
    shape = tuple(np.shape(argument))
    return f"an array of shape {shape}" if shape else "a number"


def wrapped(
    kind: Callable[..., Wrapper],
    statistic: Callable[..., Any],
    value: Any,
    labels: tuple[str, ...] | None = None,
) -> Wrapper:
    """Return `statistic` as a functional of the given kind, its value on the data checked and described."""
    name = function_name(statistic)
    output = output_like(value, name, labels)
    flat = output.flatten(value)
    if not np.isfinite(flat).all():
        raise StatisticError(
            f"`statistic` must be finite on the data; got {_first_of(flat, output)}. Check the data for what makes it "
            "undefined."
        )
    return kind(statistic, output, flat, name)


def _first_of(flat: FloatArray, output: Output) -> str:
    """Return the first number that is not finite, with its name where there are several."""
    first = int(np.argmin(np.isfinite(flat)))
    return f"{flat[first]}{named(output, first)}"


def named(output: Output, number: int) -> str:
    """Return the name of one of several outputs for the end of a clause; nothing for a single one."""
    return "" if output.is_scalar else f" for `{output.names[number]}`"


def function_name(statistic: Any) -> str:
    """Return the name of a user's function for tables and messages."""
    if isinstance(statistic, partial):
        return function_name(statistic.func)
    name: str = getattr(statistic, "__name__", type(statistic).__name__)
    return "statistic" if name == "<lambda>" else name


def bound_arguments(statistic: Any) -> dict[str, Any]:
    """Return the arguments that the user has bound: keywords of a `partial`, and a default of `weights`."""
    keywords = dict(statistic.keywords) if isinstance(statistic, partial) else {}
    try:
        parameter = inspect.signature(statistic).parameters.get("weights")
    except (TypeError, ValueError):  # some built-in functions have no signature
        return keywords
    if parameter is not None and parameter.default is not parameter.empty and parameter.default is not None:
        keywords["weights"] = parameter.default
    return keywords


def trial_resamples(data: Data, number: int) -> Resamples:
    """Return a few resamples of independent rows, always the same, to try a user's function on."""
    generator = np.random.default_rng(_TRIAL_SEED)
    return Resamples(
        tuple(generator.multinomial(n, np.full(n, 1 / n), size=number).astype(np.float64) for n in data.sizes)
    )


def weights_argument(weights: Any) -> FloatArray | tuple[FloatArray, ...]:
    """Return copies of the weights, one array or a tuple of them for several samples.

    The linear part is computed from the same weights later; a function that normalises them in place must not spoil it.
    """
    copies = tuple(w.copy() for w in weights)
    return copies[0] if len(copies) == 1 else copies
