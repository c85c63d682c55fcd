"""`IIDBootstrap` with the calls of ``arch.bootstrap.IIDBootstrap``."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from orthoboot.arch_compat.estimates import Estimates, known_to, row_count, taken
from orthoboot.arch_compat.intervals import METHODS, interval_of
from orthoboot.drop_in import KnownStatistic
from orthoboot.typing import FloatArray, IntArray, Key

_SEMIPARAMETRIC = ("semi", "semi-parametric", "semiparametric")
_RESERVED = frozenset({"data", "kw_data", "pos_data", "_estimates", "_index"})
"""Attributes that are set only after names have been compared with those that there are."""


class IIDBootstrap:
    r"""The bootstrap of independent rows, with the interface of ``arch.bootstrap.IIDBootstrap``.

    Names, defaults, formulas and errors are arch's. A function that the catalogue computes, as
    `orthoboot.scipy_compat.bootstrap` explains, is not called on resampled rows, and has other replicates with the same
    distribution. Any other function is called on the resamples that arch would draw with the same seed, and gives the
    same numbers. One thing differs: the acceleration of ``method="bca"`` is computed for each parameter separately,
    where arch subtracts the mean over all parameters.

    Parameters
    ----------
    args, kwargs
        Arrays, series or data frames with the same number of rows, passed to the function by position or by name.
    seed
        A whole number, or a generator of random numbers, which is advanced.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoboot.arch_compat import IIDBootstrap
    >>> x = np.random.default_rng(0).exponential(size=1000)
    >>> resampler = IIDBootstrap(x, seed=1)
    >>> resampler.conf_int(lambda x: x.std() / x.mean(), method="bca").shape
    (2, 1)
    >>> resampler.apply(np.mean, 500).shape
    (500, 1)
    """

    def __init__(self, *args: Any, seed: Any = None, **kwargs: Any) -> None:
        self._args, self._kwargs = args, kwargs
        self._generator = _generator(seed)
        self._start = self.state
        sizes = {row_count(entry, name) for name, entry in [*enumerate(args), *kwargs.items()]}
        if not sizes:
            raise ValueError("No data to resample; got neither positional nor keyword arrays. Pass at least one.")
        if len(sizes) > 1:
            raise ValueError("All inputs must have the same number of elements in axis 0")
        (self._n,) = sizes
        for name in kwargs:
            if name in _RESERVED or hasattr(self, name):
                raise ValueError(f"{name} is a reserved name")
        self._estimates: Estimates | None = None
        self._show(np.arange(self._n))

    def _show(self, rows: IntArray) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return some rows of the data, which become those of the attributes."""
        self._index = rows
        self.pos_data = tuple(taken(entry, rows) for entry in self._args)
        self.kw_data = {name: taken(entry, rows) for name, entry in self._kwargs.items()}
        self.data = (self.pos_data, self.kw_data)
        vars(self).update(self.kw_data)
        return self.data

    def __repr__(self) -> str:
        return f"IID Bootstrap(no. pos. inputs: {len(self._args)}, no. keyword inputs: {len(self._kwargs)})"

    @property
    def generator(self) -> Any:
        """Return the generator of random numbers."""
        return self._generator

    @generator.setter
    def generator(self, value: Any) -> None:
        if not isinstance(value, (np.random.Generator, np.random.RandomState)):
            raise TypeError("Only a Generator or RandomState can be set")
        self._generator = value

    @property
    def state(self) -> Any:
        """Return the state of the generator."""
        generator = self._generator
        return generator.bit_generator.state if isinstance(generator, np.random.Generator) else generator.get_state()

    @state.setter
    def state(self, value: Any) -> None:
        if isinstance(self._generator, np.random.Generator):
            self._generator.bit_generator.state = value
        else:
            self._generator.set_state(value)

    @property
    def index(self) -> IntArray:
        """Return the rows of the last resample."""
        return self._index

    def reset(self, use_seed: bool = True) -> None:
        """Reset to the data and to the first state of the generator."""
        self._show(np.arange(self._n))
        self.state = self._start

    def clone(self, *args: Any, seed: Any = None, **kwargs: Any) -> IIDBootstrap:
        """Return the bootstrap of other data."""
        return type(self)(*args, seed=seed, **kwargs)

    def update_indices(self) -> IntArray:
        """Return the rows of another resample."""
        generator = self._generator
        if isinstance(generator, np.random.Generator):
            return generator.integers(self._n, size=self._n, dtype=np.int64)
        rows: IntArray = generator.randint(self._n, size=self._n, dtype=np.int64)
        return rows

    def bootstrap(self, reps: int) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
        """Yield the positional and the keyword data of each of `reps` resamples."""
        for _ in range(reps):
            yield self._show(self.update_indices())

    def apply(self, func: Any, reps: int = 1000, extra_kwargs: dict[str, Any] | None = None) -> FloatArray:
        """Return the values of a function on `reps` resamples, shape ``(reps, k)``; `reuse` does not use them."""
        return self._found(func, reps, extra_kwargs).values

    def cov(
        self, func: Any, reps: int = 1000, recenter: bool = True, extra_kwargs: dict[str, Any] | None = None
    ) -> FloatArray:
        """Return the covariance matrix of the values, shape ``(k, k)``.

        About their mean, or with ``recenter=False`` about the value on the data; divided by `reps`.
        """
        errors = self._estimated(func, reps, extra_kwargs).errors(recenter)
        covariance: FloatArray = errors.T @ errors / reps
        return covariance

    def var(
        self, func: Any, reps: int = 1000, recenter: bool = True, extra_kwargs: dict[str, Any] | None = None
    ) -> FloatArray:
        """Return the variances of the values, shape ``(k,)``; as `cov`."""
        errors = self._estimated(func, reps, extra_kwargs).errors(recenter)
        variance: FloatArray = np.square(errors).sum(axis=0) / reps
        return variance

    def conf_int(
        self,
        func: Any,
        reps: int = 1000,
        method: str = "basic",
        size: float = 0.95,
        tail: str = "two",
        extra_kwargs: dict[str, Any] | None = None,
        reuse: bool = False,
        sampling: str = "nonparametric",
        std_err_func: Callable[..., Any] | None = None,
        studentize_reps: int = 1000,
    ) -> FloatArray:
        """Return the ends of a confidence interval of every parameter, shape ``(2, k)``.

        Parameters
        ----------
        func
            A function of the data that returns a number or a vector, or a statistic of the catalogue.
        reps
            The number of resamples.
        method
            "basic", "percentile", "norm" (also "var", "cov"), "bc" (also "debiased", "bias-corrected"), "bca" or
            "studentized".
        size
            The confidence level.
        tail
            "two"; "upper" for an upper bound, "lower" for a lower one.
        extra_kwargs
            Further arguments of the function.
        reuse
            Whether to reuse the values of the last call, if it had the same function and number of resamples.
        sampling
            "nonparametric"; or "semi" and "parametric", where the function gets the estimates on the data as `params`,
            and for "parametric" the generator as `state`.
        std_err_func
            A function of the parameters and the data that returns standard errors, for "studentized".
        studentize_reps
            The number of resamples of each resample that give its standard errors, if there is no such function.
        """
        if not 0.0 < size < 1.0:
            raise ValueError("size must be strictly between 0 and 1")
        tail = tail.lower()
        if tail not in ("two", "lower", "upper"):
            raise ValueError("tail must be one of two-sided, lower or upper")
        if method not in METHODS:
            raise ValueError("Unknown method")
        sampling = "semiparametric" if sampling in _SEMIPARAMETRIC else sampling
        if sampling not in ("nonparametric", "parametric", "semiparametric"):
            raise ValueError(
                'sampling must be one of "nonparametric", "parametric", "semi", "semi-parametric", or "semiparametric"'
            )
        last, is_studentized = self._estimates, method == "studentized"
        is_reused = reuse and last is not None and last.is_of(func, reps) and not is_studentized
        if reuse and not is_reused:
            message = (
                "The conditions to reuse the previous bootstrap has not been satisfied. A new bootstrap will be used."
            )
            warnings.warn(message, RuntimeWarning, stacklevel=2)
        if last is None or not is_reused:
            last = self._estimated(func, reps, extra_kwargs, sampling, std_err_func, studentize_reps * is_studentized)
        return interval_of(last, method, size, tail)

    def _estimated(
        self,
        func: Any,
        reps: int,
        extra_kwargs: dict[str, Any] | None,
        sampling: str = "nonparametric",
        std_err_func: Callable[..., Any] | None = None,
        studentize_reps: int = 0,
    ) -> Estimates:
        """Return the values of a function on resamples, which a later call may reuse."""
        self._estimates = self._found(func, reps, extra_kwargs, sampling, std_err_func, studentize_reps)
        return self._estimates

    def _found(
        self,
        func: Any,
        reps: int,
        extra_kwargs: dict[str, Any] | None,
        sampling: str = "nonparametric",
        std_err_func: Callable[..., Any] | None = None,
        studentize_reps: int = 0,
    ) -> Estimates:
        if not isinstance(reps, (int, np.integer)) or reps < 0:
            raise ValueError(f"`reps` must be a whole number of at least 0; got {reps!r}. The default is 1000.")
        extra = dict(extra_kwargs or {})
        if any(name in self._kwargs for name in extra):
            raise ValueError("extra_kwargs contains keys used for variable names in the bootstrap")
        needs_rows = sampling != "nonparametric" or std_err_func is not None or studentize_reps > 0
        known = None if needs_rows else known_to(func, self._args, self._kwargs, extra)
        if known is not None:
            return self._of_known(func, known, reps)
        return self._of_rows(func, reps, extra, sampling, std_err_func, studentize_reps)

    def _of_known(self, func: Any, known: KnownStatistic, reps: int) -> Estimates:
        values = known.replicates(self._key(), reps)
        return Estimates(func, known.estimate, values, lambda: known.without_each_row(0))

    def _key(self) -> Key:
        words = self._generator.bytes(16)
        return int.from_bytes(words[:8], "little"), int.from_bytes(words[8:], "little")

    def _of_rows(
        self,
        func: Callable[..., Any],
        reps: int,
        extra: dict[str, Any],
        sampling: str,
        std_err_func: Callable[..., Any] | None,
        studentize_reps: int,
    ) -> Estimates:
        base = np.atleast_1d(func(*self._args, **self._kwargs, **extra))
        values, studentized = np.zeros((reps, len(base))), np.zeros((reps, len(base)))
        for b, (positional, named) in enumerate(self.bootstrap(reps)):
            given = {**named, **extra}
            if sampling != "nonparametric":
                given["params"] = base
            if sampling == "parametric":
                given["state"] = self._generator
            values[b] = func(*positional, **given)
            if std_err_func is not None:
                studentized[b] = (values[b] - base) / std_err_func(values[b], *positional, **given)
            elif studentize_reps:
                nested = self.clone(*positional, **named, seed=self._integer())
                errors = np.sqrt(np.diag(nested.cov(func, studentize_reps, extra_kwargs=extra)))
                if (errors <= np.finfo(np.float64).eps * np.abs(values[b] - base)).any():
                    raise RuntimeError(
                        f'`method="studentized"` divides by standard errors, and that of resample {b} is zero; got '
                        f"{errors}. The statistic does not vary there. Pass `std_err_func`, or use another method."
                    )
                studentized[b] = (values[b] - base) / errors
        return Estimates(func, base, values, lambda: self._without_each_row(func, extra), studentized)

    def _integer(self) -> int:
        generator, limit = self._generator, 2**31 - 1
        if isinstance(generator, np.random.Generator):
            return int(generator.integers(limit, size=1, dtype=np.int64)[0])
        return int(generator.randint(limit, size=1, dtype=np.int64)[0])

    def _without_each_row(self, func: Callable[..., Any], extra: dict[str, Any]) -> FloatArray:
        found = []
        for row in range(self._n):
            rows = np.delete(np.arange(self._n), row)
            named = {name: taken(entry, rows) for name, entry in self._kwargs.items()}
            found.append(np.atleast_1d(func(*(taken(entry, rows) for entry in self._args), **named, **extra)))
        return np.array(found)


def _generator(seed: Any) -> Any:
    if isinstance(seed, (np.random.Generator, np.random.RandomState)):
        return seed
    if seed is None or isinstance(seed, (int, np.integer)):
        return np.random.default_rng(seed)
    raise TypeError(
        "generator keyword argument must contain a NumPy Generator or RandomState instance or an integer when used."
    )
