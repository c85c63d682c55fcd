"""Silence or record the warnings of one thread.

`warnings.catch_warnings` exchanges the filters of the whole process: of two threads inside it, each loses warnings to
the other, and the one that leaves last may leave its filters behind for good. Here one more filter comes first, which
applies to the threads that have a scope open and to no others, and what it lets through goes to the handler of the
thread. If either is left behind, as in a copy of the filters that somebody else brings back, it changes nothing.
"""

from __future__ import annotations

import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any, cast
from warnings import WarningMessage

Handler = Callable[[WarningMessage], None]


class _Scopes(threading.local):
    """The handlers of the scopes that a thread has open, the innermost last."""

    def __init__(self) -> None:
        self.handlers: list[Handler] = []


_SCOPES = _Scopes()


class _InScope(type):
    """The class of a class to which all categories of warnings belong, in threads that have a scope open."""

    def __subclasscheck__(cls, category: type) -> bool:
        return bool(_SCOPES.handlers)


class _Category(metaclass=_InScope):
    """Stands for the category in our filter."""


_FILTER = ("always", None, _Category, None, 0)
_LOCK = threading.Lock()
_n_open = 0
_replaced_filters: deque[Any] = deque(maxlen=256)
"""Filters that another thread may still be reading: the interpreter does not keep them for it."""
_show_elsewhere: Callable[..., None] = warnings.showwarning
"""What shows the warnings of threads that have no scope open."""


def _show(message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None) -> None:
    """Give a warning to the handler of its thread, or have it shown."""
    if _SCOPES.handlers:
        _SCOPES.handlers[-1](WarningMessage(message, category, filename, lineno, file, line))
    else:
        _show_elsewhere(message, category, filename, lineno, file, line)


@contextmanager
def handled(handler: Handler) -> Iterator[None]:
    """Give the warnings of this thread to `handler`, which may raise; nothing is shown."""
    _open()
    _SCOPES.handlers.append(handler)
    try:
        yield
    finally:
        _SCOPES.handlers.pop()
        _close()


@contextmanager
def silenced() -> Iterator[None]:
    """Silence the warnings of this thread."""
    with handled(lambda warning: None):
        yield


@contextmanager
def recorded() -> Iterator[list[WarningMessage]]:
    """Record the warnings of this thread in the list that is returned, whatever the filters say."""
    caught: list[WarningMessage] = []
    with handled(caught.append):
        yield caught


@contextmanager
def filtered(filters: Sequence[Any]) -> Iterator[list[WarningMessage]]:
    """Record the warnings of this thread that pass `filters`; those that are errors by them are raised."""
    caught: list[WarningMessage] = []

    def by_filters(warning: WarningMessage) -> None:
        action = _action(filters, warning)
        if action == "error":
            raise cast(Warning, warning.message)
        if action != "ignore":
            caught.append(warning)

    with handled(by_filters):
        yield caught


def show_again(caught: Iterable[WarningMessage], shown: dict[str, dict[Any, Any]] | None = None) -> None:
    """Give recorded warnings, to be shown as the filters say; `shown` are those of each file that were shown before."""
    for warning in caught:
        registry = None if shown is None else shown.setdefault(warning.filename, {})
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno, registry=registry)


def user_filters() -> list[Any]:
    """Return the filters of the process without ours."""
    return [entry for entry in cast(list[Any], warnings.filters) if entry[2] is not _Category]


def _open() -> None:
    """Let our filter and our way to show warnings come first."""
    global _n_open, _show_elsewhere
    with _LOCK:
        _n_open += 1
        filters = cast(list[Any], warnings.filters)
        if not filters or filters[0] is not _FILTER:
            filters.insert(0, _FILTER)
        if warnings.showwarning is not _show:
            _show_elsewhere, warnings.showwarning = warnings.showwarning, _show
        _forget_what_was_shown()


def _close() -> None:
    global _n_open
    with _LOCK:
        _n_open -= 1
        if not _n_open:
            # A new list: a thread that reads the old one would pass over a filter if one before it were taken out.
            _replaced_filters.append(warnings.filters)
            warnings.filters = user_filters()
            if warnings.showwarning is _show:
                warnings.showwarning = _show_elsewhere
            _forget_what_was_shown()


def _forget_what_was_shown() -> None:
    """Have warnings looked at that were shown before, as `catch_warnings` has it too."""
    getattr(warnings, "_filters_mutated", lambda: None)()


def _action(filters: Sequence[Any], warning: WarningMessage) -> str:
    """Return what the first filter that matches says, as `warnings` itself would."""
    # The name of the module is not known here, but that of its file.
    module = PurePath(warning.filename).stem
    for action, text, category, of_module, lineno in filters:
        if (
            _matches(text, str(warning.message))
            and issubclass(warning.category, category)
            and _matches(of_module, module)
            and lineno in (0, warning.lineno)
        ):
            return str(action)
    return "default"


def _matches(pattern: Any, text: str) -> bool:
    """Return whether a pattern of a filter matches; those that Python starts with may be plain text."""
    return pattern is None or bool(pattern == text if isinstance(pattern, str) else pattern.match(text))
