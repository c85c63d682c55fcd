"""The interface to packages for automatic differentiation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator
from typing import Any, ClassVar, TypeVar

import numpy as np

from orthoboot.typing import FloatArray, IntArray

PackageFunction = Callable[..., Any]
"""A function of a point and further arrays, written in the package: takes and returns its arrays."""

NumpyFunction = Callable[..., FloatArray]
"""The same for everybody else: takes numpy arrays, or arrays of the package, and returns numpy arrays."""

_NUMBERS_OF_A_CHUNK, _MOST_POINTS = 1 << 19, 256
"""Of derivatives taken side by side: numbers of the rows of all points and directions, four megabytes for each of the
few arrays that these take, and the most points."""

Programs = TypeVar("Programs")
"""What is derived from functions written in the package, such as all derivatives that a search needs."""


class Autodiff(ABC):
    """Automatic differentiation by one package, in double precision: its functions become functions of numpy arrays.

    Every method takes a function ``f(point, *rest)`` of a vector `point`, shape ``(p,)``, and of arrays that are not
    differentiated. What it returns is called with the same arguments. Arrays that stay the same from call to call are
    best converted once, with `array`, and passed in `rest`: a closure would make them constants of the program.
    """

    name: ClassVar[str]
    compiles: ClassVar[bool]
    """Whether many points in one call cost less than as many calls."""

    def traced(self, f: PackageFunction, *example: Any) -> PackageFunction:
        """Return f traced at arguments like `example`, or f itself if the package cannot trace it.

        Programs that are equal are one object, whose derivatives are compiled once: a function that the user writes
        anew for every call, as a lambda, is known again, and one whose surroundings have changed is not mistaken.
        f returns one array.
        """
        return f

    def compiled(self, kind: Callable[..., Programs], *traced: PackageFunction | None, **options: Hashable) -> Programs:
        """Return ``kind(self, *traced, **options)``, cached by program where that saves compiling.

        What `kind` makes must not change, since several threads may share it.
        """
        return kind(self, *traced, **options)

    def called(self, f: PackageFunction, *arguments: Any, **options: Any) -> Any:
        """Return what `f` returns for arrays of the package, in double precision."""
        return f(*arguments, **options)

    @abstractmethod
    def array(self, numbers: Any) -> Any:
        """Return `numbers` as an array of the package, in double precision."""

    @abstractmethod
    def numbers(self, value: Any) -> FloatArray:
        """Return an array of the package, or a number, as a numpy array."""

    @abstractmethod
    def joined(self, values: list[Any]) -> Any:
        """Return the numbers of several arrays of the package in one vector, shape ``(k,)``."""

    def flat(self, value: Any) -> Any:
        """Return an array of the package, a number, or a list of these, as one vector of the package."""
        if isinstance(value, (list, tuple)):
            return self.joined([self.flat(entry) for entry in value])
        return self.joined([value if self.is_array(value) else self.array(value)])

    @abstractmethod
    def is_array(self, value: Any) -> bool:
        """Return whether `value` is an array of the package."""

    @abstractmethod
    def holds_floats(self, value: Any) -> bool:
        """Return whether an array of the package holds numbers that can be differentiated."""

    @abstractmethod
    def function(self, f: PackageFunction) -> NumpyFunction:
        """Return f itself."""

    @abstractmethod
    def gradient(self, f: PackageFunction) -> NumpyFunction:
        """Return the gradient ``(p,)`` of f, which is one number."""

    @abstractmethod
    def jacobian(self, f: PackageFunction) -> NumpyFunction:
        """Return the derivative ``(k, p)`` of f, shape ``(k,)``, in reverse: k passes, whatever p."""

    @abstractmethod
    def hessian(self, f: PackageFunction) -> NumpyFunction:
        """Return the second derivative ``(p, p)`` of f, which is one number."""

    @abstractmethod
    def along(self, f: PackageFunction) -> NumpyFunction:
        """Return ``(direction, point, *rest) -> f' direction``, in f's shape: one forward pass."""

    @abstractmethod
    def curvature_along(self, f: PackageFunction) -> NumpyFunction:
        """Return ``(direction, point, *rest) -> direction' f'' direction``, in f's shape."""

    @abstractmethod
    def hessian_product(self, f: PackageFunction) -> NumpyFunction:
        """Return ``(direction, point, *rest) -> f'' direction``, shape ``(p,)``, of f, which is one number."""

    @abstractmethod
    def one_by_one(self, f: PackageFunction) -> NumpyFunction:
        """Return f applied to each of many points, ``(B, p)`` to ``(B, k)``.

        The bits of each value depend on its point alone. Side by side, under a vectorising map, they would depend on
        how many points there are: the products of many are matrix products, which round otherwise.
        """

    @abstractmethod
    def side_by_side(self, f: PackageFunction, order: int = 0) -> NumpyFunction:
        """Return f, which is one number, or its derivative at many points together, each with its own further arrays.

        ``(B, p)`` and arrays whose first axis has length B to ``(B,)``, ``(B, p)`` or ``(B, p, p)`` for the orders 0, 1
        and 2: all points in one call, however many. The bits of a value depend on their number. What it returns raises
        where the steps of f depend on its numbers.
        """

    def is_traced(self, f: PackageFunction) -> bool:
        """Return whether f is a program, whose steps are the same at every point."""
        return False

    @abstractmethod
    def gradients_and_hessians(self, f: PackageFunction) -> NumpyFunction:
        """Return both derivatives of f, which is one number, at many points side by side.

        ``(points, weights, *rest)``, of shapes ``(B, p)`` and ``(B, n)``, gives ``(B, p + 1, p)``: the gradient of
        ``f(point, weights, *rest)`` by the point, and below it the second derivative. Unlike `side_by_side` it takes
        a few points at a time, so that memory is bounded, and all of them share `rest`. The package may raise where the
        steps of f depend on the numbers of the point.
        """

    @abstractmethod
    def values_and_jacobians(self, f: PackageFunction) -> NumpyFunction:
        """Return f, which has shape ``(p,)``, and its derivative at many points, as `gradients_and_hessians` does.

        Row j + 1 is the derivative by coordinate j of the point: the transpose of the Jacobian.
        """


def points_at_once(n: int, p: int) -> int:
    """Return how many points with weights ``(n,)`` to take side by side: their derivatives by p directions are held."""
    return max(min(_NUMBERS_OF_A_CHUNK // max(n * p, 1), _MOST_POINTS), 1)


def equal_chunks(number: int, size: int) -> Iterator[IntArray]:
    """Yield the places below `number` in chunks of one size, for which a package compiles one program.

    The last chunk is filled up with the last place.

    Examples
    --------
    >>> [chunk.tolist() for chunk in equal_chunks(5, 3)]
    [[0, 1, 2], [3, 4, 4]]
    """
    return (np.minimum(np.arange(start, start + size), number - 1) for start in range(0, number, size))
