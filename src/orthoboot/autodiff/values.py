"""Values that a function of a package returned: its arrays, and lists and dicts of these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orthoboot.autodiff.base import Autodiff
from orthoboot.errors import InfluenceError


def check_package_arrays(name: str, value: Any, package: Autodiff) -> None:
    """Raise unless `value`, returned by the function `name`, consists of floating-point arrays of the package."""
    for entry in _entries(value):
        if entry is None:
            raise InfluenceError(f"`{name}` must return arrays of {package.name}; got None: is a `return` missing?")
        if not package.is_array(entry):
            raise InfluenceError(
                f"`{name}` must return arrays of {package.name}, which differentiates it; got {type(entry).__name__}. "
                f"Use functions of {package.name} instead of numpy's in it, and leave out `float()` and `.item()`."
            )
        if not package.holds_floats(entry):
            raise InfluenceError(
                f"`{name}` must return floating-point numbers, since {package.name} differentiates it and only these "
                f"have a derivative; got {entry.dtype}. Whole numbers come from counting, comparing and ranking: "
                "return a sum or mean of floats, weighted where there are weights."
            )


def numpy_value(value: Any, package: Autodiff) -> Any:
    """Return the same value in numpy arrays."""
    if isinstance(value, Mapping):
        return {key: numpy_value(entry, package) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [numpy_value(entry, package) for entry in value]
    return package.numbers(value)


def _entries(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for entry in value:
            yield from _entries(entry)
    else:
        yield value
