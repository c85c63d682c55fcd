"""Calls in threads, whose results come in the order of the calls."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from orthoboot.arrays.threads import processors

Result = TypeVar("Result")

_AHEAD = 2
"""Calls that wait for a thread, so that none is idle while the result of another is used."""


def in_order(calls: Iterable[Callable[[], Result]]) -> Iterator[Result]:
    """Yield what each call returns, in their order; calls are taken a few ahead, and what one raises ends them all."""
    threads = processors()
    pool = ThreadPoolExecutor(threads, thread_name_prefix="orthoboot-part")
    waiting: deque[Future[Result]] = deque()
    try:
        for call in calls:
            waiting.append(pool.submit(call))
            if len(waiting) >= threads + _AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        # Calls that run read from what the caller closes next.
        pool.shutdown(wait=True, cancel_futures=True)
