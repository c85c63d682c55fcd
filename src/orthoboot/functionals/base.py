"""The interfaces of a statistic, without data and at its data."""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Generic, NoReturn, Protocol, Self, TypeVar, runtime_checkable

import numpy as np

from orthoboot.data import Data, read
from orthoboot.draws.resamples import Resamples, UnitResamples
from orthoboot.errors import ArgumentError, OrthobootWarning
from orthoboot.functionals.evaluation import NO_FITS, Convergence, Evaluation, evaluated_one_by_one, evaluated_together
from orthoboot.functionals.given_weights import given_weights
from orthoboot.functionals.means_form import MeansForm
from orthoboot.functionals.output import Output
from orthoboot.functionals.surrogate import Surrogate
from orthoboot.typing import BoolArray, FloatArray, Influence, IntArray

Covariance = Callable[[Influence], FloatArray]
"""The exact covariance of ``sum_i (1/n_i) weights_i . values_i`` under the plan in force."""


@runtime_checkable
class KnowsCategories(Protocol):
    """A covariance that gives the variances of the shares of many categories without their indicators."""

    def category_variances(self, sample: int, codes: IntArray) -> FloatArray | None:
        """Return the variance of each category's share of a sample, shape ``(d,)``; None where it is not known."""


@runtime_checkable
class KnowsCounts(Protocol):
    """A covariance that gives those of a linear part with the count of every row."""

    def with_counts(self, sample: int, influence: FloatArray) -> FloatArray | None:
        """Return ``Cov(counts) @ influence / n`` for the rows of a sample, ``(n, k)``; None where it is not known."""


class Functional(ABC):
    """A statistic: its name and its options, without data.

    As a function of the data and of weights on their rows it must not change when the weights of one sample are all
    multiplied by the same number. Subclasses are frozen dataclasses whose fields are the statistic's options.

    Attributes
    ----------
    name
        The name in tables and messages.
    smooth
        Whether it is differentiable in the weights.
    is_linear
        Whether it is linear in weights whose sum is fixed, as a mean is.
    is_quadratic
        Whether it is quadratic in weights whose sum is fixed, as a variance is: its bias ends with the second order.
    kinked
        Whether its derivative jumps where another row reaches a cut, as for a trimmed mean.
    unbiased
        Whether it has no bias at all under resamples of independent rows, to any order.
    fractional
        Whether it can be evaluated at weights that are not whole numbers.
    paired
        Whether several arrays are columns of the same rows, as for a correlation.
    batched
        Whether it evaluates many resamples at once faster than one by one.
    needs_weights
        Whether it needs the weight of every row, and not only sums over the rows.
    undefined
        Why it has no value on a resample, for the report of a failed replicate.
    releases_gil
        Whether it runs in compiled code that releases the GIL, so that threads can share the work.
    by_user
        Whether it wraps a user's function, whose properties must be tested.
    takes_text
        Whether it takes labels as a series or an array, as classifiers do.
    takes_pieces
        Whether it takes data that are read part by part.
    counts_rows
        Whether it then needs the counts of the rows, and not only sums over them.
    limits
        The lowest and the highest possible value, infinite where there is no limit.
    normal_from
        The number of rows from which on the normal interval on the natural scale covers as well as BCa or better, as
        for a correlation on Fisher's z; None if there is none.
    """

    name: str = "statistic"
    smooth: bool = True
    is_linear: bool = False
    is_quadratic: bool = False
    kinked: bool = False
    unbiased: bool = False
    fractional: bool = True
    paired: bool = False
    batched: bool = True
    needs_weights: bool = True
    undefined: str = ""
    releases_gil: bool = True
    by_user: bool = False
    takes_text: bool = False
    takes_pieces: bool = False
    counts_rows: bool = False
    limits: tuple[float, float] = (-math.inf, math.inf)
    normal_from: int | None = None

    def prepared(self, data: Data) -> Prepared[Any]:
        """Return the statistic at `data`, checked; raise a `DataError` if it does not exist for such data."""
        prepared = self.at(data)
        prepared.check()
        return prepared

    def plan_options(self, data: Data) -> dict[str, Any]:
        """Return the default options of the plan; empty to draw row by row.

        Raise an `ArgumentError` if the rows are dependent and the user must choose the plan.
        """
        return {}

    @abstractmethod
    def at(self, data: Data) -> Prepared[Any]:
        """Return the statistic at `data`, not checked yet."""

    def replace(self, **options: Any) -> Self:
        """Return the same statistic with other options.

        Examples
        --------
        >>> import orthoboot as ob
        >>> ob.variance.replace(ddof=1)([1.0, 2.0, 3.0])
        1.0
        """
        self._check_known(options)
        return dataclasses.replace(self, **options)  # type: ignore[type-var]

    def _check_known(self, options: Mapping[str, Any]) -> None:
        """Raise if the statistic has no such option."""
        known = {field.name for field in dataclasses.fields(self)}  # type: ignore[arg-type]
        unknown = sorted(set(options) - known)
        if unknown:
            has = f"its options are {', '.join(sorted(known))}" if known else "it has none"
            rows_first = " Statistics reduce axis 0: one value per column." if unknown[0] == "axis" else ""
            raise ArgumentError(f"`{self.name}` has no option {unknown[0]!r}; {has}.{rows_first}")

    def _refuse(self, options: Mapping[str, Any]) -> NoReturn:
        """Raise: options are set with `replace`, not in the call."""
        self.replace(**options)
        written = ", ".join(f"{name}={value!r}" for name, value in options.items())
        raise ArgumentError(f"options of `{self.name}` are set beforehand; write `{self.name}.replace({written})`.")

    def __repr__(self) -> str:
        """Return the name with the options that differ from their defaults."""
        options = [
            f"{field.metadata.get('argument', field.name)}={getattr(value, '__name__', repr(value))}"
            for field in dataclasses.fields(self)  # type: ignore[arg-type]
            # By what they print, since arrays are not simply equal or not.
            if field.repr and repr(value := getattr(self, field.name)) != repr(field.default)
        ]
        return f"{type(self).__name__}({', '.join(options)})"

    def __call__(self, *samples: Any, weights: Any = None, **options: Any) -> Any:
        """Return the statistic of the samples, each row counted with its weight.

        Parameters
        ----------
        samples
            One array, series or frame for each argument of the statistic.
        weights
            One number per row, finite, not negative and not all zero; for several independent samples a tuple with one
            array for each. Only their ratios matter.
        options
            None: options are set beforehand, with `replace`.
        """
        if options:
            self._refuse(options)
        data = read(samples, paired=self.paired and len(samples) > 1, text=self.takes_text)
        if weights is None:
            prepared = self.prepared(data)
            return prepared.output.pack(prepared.estimate)
        prepared = self.at(data)
        prepared.check_rows()
        return prepared.output.pack(prepared.values(given_weights(data, weights))[0])


Statistic = TypeVar("Statistic", bound=Functional)


@dataclass(frozen=True, eq=False)
class Prepared(ABC, Generic[Statistic]):
    """A statistic at its data: quantities derived from the data once, and values at any weights.

    Derived quantities, such as features, a factorised matrix or a fitted model, are cached properties: computed on
    first access, kept with this object and pickled with it. Evaluation does not modify the object.

    Attributes
    ----------
    functional
        The statistic.
    data
        The rows.
    """

    functional: Statistic
    data: Data

    one_by_one: ClassVar[bool] = False
    """Whether `values` evaluates the resamples one by one, so that a failed one does not affect the others."""

    @property
    def needs_weights(self) -> bool:
        """Return whether it takes the weight of every row, and not only sums over the rows and a few weights."""
        return self.functional.needs_weights

    @property
    def limits(self) -> tuple[FloatArray, FloatArray]:
        """Return the lowest and the highest value of each output, each of shape ``(k,)``."""
        low, high = self.functional.limits
        return np.full(self.output.size, low), np.full(self.output.size, high)

    @property
    def work(self) -> float | None:
        """Return the cost of one replicate, as the number of rows whose sum costs as much: counted, not measured.

        None where a replicate is a search or a user's function, whose cost is not known.
        """
        return None

    def check(self) -> None:
        """Raise a `DataError` if the statistic does not exist for the data."""

    def check_rows(self) -> None:
        """Raise a `DataError` if the statistic has no value at any weights of the rows; by default as `check`."""
        self.check()

    @property
    @abstractmethod
    def output(self) -> Output:
        """Return the shape and the names of its value."""

    @abstractmethod
    def values(self, resamples: Resamples) -> FloatArray:
        """Return its values on the resamples, shape ``(B, k)``; raise if it is undefined on one of them."""

    def evaluate(self, resamples: Resamples) -> Evaluation:
        """Return its value on each resample, or the reason for its failure; never raise."""
        name, undefined = self.functional.name, self.functional.undefined
        words = f"`{name}` is not defined where {undefined}" if undefined else ""
        if self.one_by_one:
            return evaluated_one_by_one(lambda one: self.values(one)[0], resamples, self.output.size, words)
        return evaluated_together(self.values, resamples, self.output.size, words)

    def own_values(self, resamples: Resamples) -> FloatArray | None:
        """Return output j on resample j alone, shape ``(k,)``; None where that is no cheaper than all of them."""
        return None

    @cached_property
    def estimate(self) -> FloatArray:
        """Return its value on the data, shape ``(k,)``."""
        return self.centre

    @cached_property
    def centre(self) -> FloatArray:
        """Return its value at weights of one, found as on every resample, shape ``(k,)``.

        Differences in the weights are taken about it. The estimate may come another way, as a fit of the user's own
        that stops at its tolerance: second differences would divide that distance by the square of their step.
        """
        return self.values(unit_resamples(self.data)).reshape(-1)

    def value_of_rows(self, rows: tuple[IntArray, ...]) -> FloatArray:
        """Return its value on some rows of each sample, in their order, shape ``(k,)``."""
        taken = self.data.taken(rows)
        value: FloatArray = self.functional.at(taken).values(unit_resamples(taken))[0]
        return value

    def influence(self) -> Influence | None:
        """Return its influence function on the rows, or None if it has none in closed form."""
        return None

    def influence_of_rows(self, rows: tuple[IntArray, ...]) -> Influence | None:
        """Return its influence function on some rows of each sample, taken as data of their own.

        One value for each of these rows, in their order; None where it has no closed form. It may raise where the
        statistic is undefined on such rows.
        """
        influence: Influence | None = self.functional.at(self.data.taken(rows)).influence()
        return influence

    def linear(self, resamples: Resamples) -> FloatArray | None:
        """Return ``sum_i (1/n_i) weights_i . influence_i`` with its own influence function, shape ``(B, k)``.

        None where that takes the sums over the influence values themselves. Each resample is treated alike whatever
        the batch.
        """
        return None

    @property
    def surrogate(self) -> Surrogate | None:
        """Return a cheap approximation of the statistic, or None where it has none or needs none.

        One that is kept must not hold this object: that would be a cycle, which only the garbage collector frees.
        """
        return None

    @property
    def influence_source(self) -> str:
        """Return a description of the source of its influence function."""
        return f"closed form of `{self.functional.name}`"

    @property
    def exact_influence(self) -> bool:
        """Return whether its influence function is its derivative: neither damped, nor that of one side of a kink."""
        functional = self.functional
        return functional.smooth and not (functional.kinked or functional.by_user)

    @property
    def fixed(self) -> BoolArray | None:
        """Return which outputs are constants by definition, shape ``(k,)``; None where none is."""
        return None

    def findings(self, convergence: Convergence = NO_FITS) -> tuple[OrthobootWarning, ...]:
        """Return warnings about the statistic on these data and about its refits."""
        return ()

    def second_order_bias(self, covariance: Covariance) -> FloatArray | None:
        """Return ``(1/2) tr(second derivative . Cov)``, shape ``(k,)``, or None where it has no closed form."""
        return None

    @property
    def bias_is_cheap(self) -> bool:
        """Return whether its bias of second order costs less than a few of its replicates, as with refits by search.

        One step of a refit takes as many products as the whole bias. A bias of a statistic that is refitted one by one
        is looked at beside the replicates only where this is true.
        """
        return False

    def means_form(self) -> MeansForm | None:
        """Return it as a smooth function of means that costs next to nothing, or None where it is not one."""
        return None


def unit_resamples(data: Data) -> Resamples:
    """Return the data as a resample in which every row has weight one."""
    return UnitResamples(data.sizes)
