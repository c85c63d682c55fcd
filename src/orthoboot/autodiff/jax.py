"""Functions written in jax.numpy, differentiated and compiled by JAX."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager
from functools import lru_cache
from threading import RLock
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from orthoboot.autodiff.base import Autodiff, NumpyFunction, PackageFunction, Programs, equal_chunks, points_at_once
from orthoboot.errors import InfluenceError
from orthoboot.typing import FloatArray

_PROGRAMS_KEPT = 64
"""Programs that stay compiled for the next call; each may hold the arrays that the user's function closes over."""
_GROUPS_KEPT = 32
"""Sets of derivatives of such programs that stay compiled with them."""

_NUMBERS_AT_ONCE = 1 << 20
_POINTS_AT_ONCE = 1024
_NUMBERS_SIDE_BY_SIDE = 1 << 16

_PATH_DEPENDS_ON_NUMBERS = (
    jax.errors.ConcretizationTypeError,
    jax.errors.NonConcreteBooleanIndexError,
    jax.errors.TracerIntegerConversionError,
)
"""What JAX raises where the steps of a function depend on its numbers, so that no one program can hold them."""


def _double_precision() -> AbstractContextManager[Any]:
    """Return a context that enables 64 bits: JAX defaults to 32, and the user's setting must stay."""
    if hasattr(jax, "enable_x64"):
        context: AbstractContextManager[Any] = jax.enable_x64(True)
        return context
    from jax.experimental import enable_x64  # before JAX 0.8

    older: AbstractContextManager[Any] = enable_x64()
    return older


class Jax(Autodiff):
    """JAX, in double precision, compiled where the function allows it."""

    name = "jax"
    compiles = True

    def traced(self, f: PackageFunction, *example: Any) -> PackageFunction:
        """Return `f` traced to a program, cached by its steps."""
        with _double_precision():
            arrays = [_double(array) for array in example]
            try:
                steps = jax.make_jaxpr(f)(*arrays)
            except _PATH_DEPENDS_ON_NUMBERS:
                return f
            except jax.errors.TracerArrayConversionError as error:
                raise InfluenceError(
                    "a function that JAX differentiates must not convert its arrays to numpy arrays, as numpy "
                    "functions do; use `jax.numpy` instead."
                ) from error
            key = _fingerprint(steps)
            if "custom_" in key[0]:
                # The text of a function with a derivative of its own does not tell which derivative that is.
                key += _fingerprint(jax.make_jaxpr(_backwards(f))(*arrays))
            return _kept_program(key, steps)

    def compiled(self, kind: Callable[..., Programs], *traced: PackageFunction | None, **options: Hashable) -> Programs:
        """Return ``kind(self, *traced, **options)``, cached by steps and options."""
        if not all(program is None or isinstance(program, _Program) for program in traced):
            return kind(self, *traced, **options)
        with _PROGRAMS_LOCK:  # of threads that come at once one makes it, and all share it
            kept: Programs = _group(kind, traced, tuple(options.items()))
            return kept

    def called(self, f: PackageFunction, *arguments: Any, **options: Any) -> Any:
        """Return the value of `f`, computed with 64 bits."""
        with _double_precision():
            return f(*arguments, **options)

    def array(self, numbers: Any) -> Any:
        """Return `numbers` as a JAX array."""
        with _double_precision():
            return jnp.asarray(numbers, dtype=jnp.float64)

    def numbers(self, value: Any) -> FloatArray:
        """Return a JAX array as a numpy array."""
        return np.asarray(value, dtype=np.float64)

    def joined(self, values: list[Any]) -> Any:
        """Return the numbers of several arrays in one vector."""
        return jnp.concatenate([jnp.ravel(value) for value in values])

    def is_array(self, value: Any) -> bool:
        """Return whether `value` is a JAX array."""
        return isinstance(value, jax.Array)

    def holds_floats(self, value: Any) -> bool:
        """Return whether an array holds floating-point numbers."""
        return bool(jnp.issubdtype(jnp.result_type(value), jnp.floating))

    def function(self, f: PackageFunction) -> NumpyFunction:
        """Return f itself."""
        return _compiled(f)

    def gradient(self, f: PackageFunction) -> NumpyFunction:
        """Return the gradient of f."""
        return _compiled(jax.grad(f))

    def jacobian(self, f: PackageFunction) -> NumpyFunction:
        """Return the derivative of f in reverse, one output after the other."""
        return _kept(f, "jacobian", lambda: _compiled(_reverse(f)))

    def hessian(self, f: PackageFunction) -> NumpyFunction:
        """Return the second derivative of f, forward over reverse."""
        return _compiled(jax.hessian(f))

    def along(self, f: PackageFunction) -> NumpyFunction:
        """Return the derivative of f along a direction."""
        return _compiled(_along(f))

    def curvature_along(self, f: PackageFunction) -> NumpyFunction:
        """Return the second derivative of f along a direction."""

        def second(direction: Any, point: Any, *rest: Any) -> Any:
            return _along(lambda at: _along(f)(direction, at, *rest))(direction, point)

        return _kept(f, "curvature_along", lambda: _compiled(second))

    def hessian_product(self, f: PackageFunction) -> NumpyFunction:
        """Return the product of the second derivative of f with a direction, forward over reverse."""
        return _compiled(_along(jax.grad(f)))

    def one_by_one(self, f: PackageFunction) -> NumpyFunction:
        """Return f at each of many points: a loop inside one program, or a loop of calls where there is no program."""
        return _kept(f, "one_by_one", lambda: _one_by_one(f))

    def side_by_side(self, f: PackageFunction, order: int = 0) -> NumpyFunction:
        """Return f or its derivative at many points under a vectorising map."""
        derivative = (f, jax.grad(f), jax.hessian(f))[order]
        return _compiled(jax.vmap(derivative))

    def is_traced(self, f: PackageFunction) -> bool:
        """Return whether f is what `traced` returned."""
        return isinstance(f, _Program)

    def gradients_and_hessians(self, f: PackageFunction) -> NumpyFunction:
        """Return both derivatives, forward over reverse."""
        return _in_chunks(_value_and_derivative(jax.grad(f)))

    def values_and_jacobians(self, f: PackageFunction) -> NumpyFunction:
        """Return the value and the derivative, forward."""
        return _in_chunks(_value_and_derivative(f))


def _reverse(f: PackageFunction) -> PackageFunction:
    """Return the derivative of f, one pass backwards for each output.

    Small ones go side by side. Of large ones a pass holds as much as the data, and ten at once for 100,000 rows were
    two to three times slower than one after the other.
    """

    def derivative(point: Any, *rest: Any) -> Any:
        value, backwards = jax.vjp(lambda at: f(at, *rest), point)
        outputs = jnp.eye(value.size, dtype=value.dtype).reshape(value.size, *value.shape)
        is_small = value.size * point.size <= _NUMBERS_SIDE_BY_SIDE
        (rows,) = jax.vmap(backwards)(outputs) if is_small else jax.lax.map(backwards, outputs)
        return rows.reshape(*value.shape, *point.shape)

    return derivative


def _value_and_derivative(f: PackageFunction) -> PackageFunction:
    """Return f and, below it, its derivative by each coordinate of the point, in one pass forward."""

    def both(point: Any, *rest: Any) -> Any:
        value, forward = jax.linearize(lambda at: f(at, *rest), point)
        by_coordinate = jax.vmap(forward)(jnp.eye(point.size, dtype=point.dtype))
        return jnp.concatenate([value[jnp.newaxis], by_coordinate])

    return both


def _in_chunks(f: PackageFunction) -> NumpyFunction:
    """Return ``(points, weights, *rest) -> values`` in chunks of one size, the last one padded: one program for all."""

    def program(points: Any, weights: Any, *rest: Any) -> Any:
        return jax.vmap(lambda point, own: f(point, own, *rest))(points, weights)

    compiled = _compiled(program)

    def numpy_function(points: FloatArray, weights: FloatArray, *rest: Any) -> FloatArray:
        chunks = equal_chunks(len(points), points_at_once(weights.shape[1], points.shape[1]))
        found = [compiled(points[chunk], weights[chunk], *rest) for chunk in chunks]
        return np.concatenate(found)[: len(points)]

    return numpy_function


def _along(f: PackageFunction) -> PackageFunction:
    def derivative(direction: Any, point: Any, *rest: Any) -> Any:
        return jax.jvp(lambda at: f(at, *rest), (point,), (direction,))[1]

    return derivative


def _double(numbers: Any) -> Any:
    """Return an array in double precision, unchanged if it is already: JAX takes 0.1 ms to notice."""
    is_double = isinstance(numbers, jax.Array) and numbers.dtype == np.float64
    return numbers if is_double else jnp.asarray(numbers, dtype=jnp.float64)


def _compiled(f: PackageFunction) -> NumpyFunction:
    """Return `f` of numpy arrays, compiled; uncompiled if its control flow depends on the values."""
    program: PackageFunction = jax.jit(f)

    def numpy_function(*arguments: Any) -> FloatArray:
        nonlocal program
        with _double_precision():
            arrays = [_double(argument) for argument in arguments]
            try:
                value = program(*arrays)
            except _PATH_DEPENDS_ON_NUMBERS:
                program = f
                value = program(*arrays)
            return np.array(value, dtype=np.float64)

    return numpy_function


def _one_by_one(f: PackageFunction) -> NumpyFunction:
    """Return ``(points, *rest) -> values``, evaluated in chunks of one size, the last one padded.

    The number of points is an argument of the loop and not a part of the program: the same instructions run for any.
    """

    def values(count: Any, points: Any, *rest: Any) -> Any:
        def place(b: Any, found: Any) -> Any:
            return found.at[b].set(f(points[b], *rest))

        like = jax.eval_shape(f, points[0], *rest)
        return jax.lax.fori_loop(0, count, place, jnp.zeros((len(points), *like.shape)))

    program = jax.jit(values)
    single = _compiled(f)
    traceable = True

    def numpy_function(points: Any, *rest: Any) -> FloatArray:
        nonlocal traceable
        if traceable:
            try:
                with _double_precision():
                    # Cut in numpy: JAX would compile a program for every length.
                    found = [np.asarray(program(*piece, *map(_double, rest)))[: piece[0]] for piece in _pieces(points)]
                    return np.concatenate(found)
            except _PATH_DEPENDS_ON_NUMBERS:
                traceable = False
        return np.stack([single(point, *rest) for point in points])

    return numpy_function


def _pieces(points: Any) -> Iterator[tuple[int, FloatArray]]:
    """Yield chunks of points and the number of points in each; the chunk size depends on the size of a point alone."""
    p = points.shape[1]
    size = max(min(_NUMBERS_AT_ONCE // max(p, 1), _POINTS_AT_ONCE), 1)
    for start in range(0, len(points), size):
        piece = points[start : start + size]
        filled = np.zeros((size, p))
        filled[: len(piece)] = piece
        yield len(piece), filled


class _Program:
    """A traced function; its derivatives are compiled once."""

    def __init__(self, steps: Any) -> None:
        self._steps = _as_function(steps)
        self.derived: dict[str, NumpyFunction] = {}

    def __call__(self, *arguments: Any) -> Any:
        return self._steps(*arguments)[0]


_PROGRAMS: OrderedDict[tuple[str, ...], _Program] = OrderedDict()
_PROGRAMS_LOCK = RLock()


def _kept_program(key: tuple[str, ...], steps: Any) -> _Program:
    with _PROGRAMS_LOCK:
        program = _PROGRAMS.setdefault(key, _Program(steps))
        _PROGRAMS.move_to_end(key)
        while len(_PROGRAMS) > _PROGRAMS_KEPT:
            _PROGRAMS.popitem(last=False)
    return program


def _kept(f: PackageFunction, what: str, made: Callable[[], NumpyFunction]) -> NumpyFunction:
    """Return what is derived from `f`, cached on it if it is a program."""
    if not isinstance(f, _Program):
        return made()
    with _PROGRAMS_LOCK:
        if what not in f.derived:
            f.derived[what] = made()
        return f.derived[what]


@lru_cache(maxsize=_GROUPS_KEPT)
def _group(
    kind: Callable[..., Any], traced: tuple[PackageFunction | None, ...], options: tuple[tuple[str, Any], ...]
) -> Any:
    """Return ``kind`` of the programs; equal programs are one object, so this caches by value."""
    return kind(Jax(), *traced, **dict(options))


def _constants(steps: Any) -> Iterator[Any]:
    """Yield the constant arrays of a program and of those it calls; its text gives only their names."""
    yield from getattr(steps, "consts", ())
    inner_steps = getattr(steps, "jaxpr", steps)
    yield from _literals(inner_steps.outvars)
    for step in inner_steps.eqns:
        yield from _literals(step.invars)
        for parameter in step.params.values():
            for inner in parameter if isinstance(parameter, (tuple, list)) else (parameter,):
                if hasattr(inner, "eqns") or hasattr(inner, "jaxpr"):
                    yield from _constants(inner)


def _literals(arguments: Any) -> Iterator[Any]:
    """Yield the literal arguments, which under some settings are arrays that the text abbreviates to "[...]"."""
    return (argument.val for argument in arguments if hasattr(argument, "val"))


def _fingerprint(steps: Any) -> tuple[str, ...]:
    """Return what identifies a program: its text, and a digest of each constant."""
    return (str(steps), *map(_digest, _constants(steps)))


def _digest(constant: Any) -> str:
    if jnp.issubdtype(jnp.result_type(constant), jax.dtypes.prng_key):
        return f"{constant.dtype}{_digest(jax.random.key_data(constant))}"
    array = np.ascontiguousarray(constant)
    return f"{array.dtype}{array.shape}{hashlib.blake2b(array.tobytes()).hexdigest()}"


def _backwards(f: PackageFunction) -> PackageFunction:
    """Return one pass backwards through f, from all its outputs."""

    def passed(point: Any, *rest: Any) -> Any:
        value, backwards = jax.vjp(lambda at: f(at, *rest), point)
        return backwards(jnp.ones_like(value))

    return passed


def _as_function(steps: Any) -> PackageFunction:
    try:
        from jax.extend.core import jaxpr_as_fun
    except ImportError:  # before JAX 0.4.36
        from jax.core import jaxpr_as_fun
    function: PackageFunction = jaxpr_as_fun(steps)
    return function
