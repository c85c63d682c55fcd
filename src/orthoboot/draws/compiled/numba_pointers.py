"""Pointers into arrays, for what is done for each resample.

Numba counts the references to an array by locked instructions wherever it is cut, seen as another type or handed on: a
third of the time of a resample of a thousand rows. It counts none to where a pointer points, so a pointer is taken
in a function whose caller holds the array.
"""

from __future__ import annotations

from typing import Any

from orthoboot.draws.compiled.compilation import intrinsic
from orthoboot.draws.compiled.compilation import types as _types


def _typed_pointer(context: Any, array: Any) -> Any:
    """Return the place of the first number of an array whose numbers lie one after the other."""
    if array.layout != "C":
        raise TypeError(f"a pointer knows no strides; got {array}.")

    def place(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.make_array(signature.args[0])(context, builder, arguments[0]).data

    return _types.CPointer(array.dtype)(array), place


pointer: Any = intrinsic(_typed_pointer)


def _seen_as(dtype: Any) -> Any:
    """Return a function that takes what a pointer points to for other numbers, as `view` of numpy does."""

    def typed(context: Any, numbers: Any) -> Any:
        def others(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], context.get_value_type(signature.return_type))

        return _types.CPointer(dtype)(numbers), others

    return intrinsic(typed)


as_bytes, as_shorts, as_halves, as_words = (
    _seen_as(dtype) for dtype in (_types.uint8, _types.uint16, _types.uint32, _types.uint64)
)


def _typed_from_place(context: Any, numbers: Any, place: Any) -> Any:
    """Return a pointer to the number at some place."""

    def later(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.gep(arguments[0], [arguments[1]])

    return numbers(numbers, place), later


from_place: Any = intrinsic(_typed_from_place)
