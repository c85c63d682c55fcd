"""Calls on partitions of dask: on a cluster where there is a client, else in this process."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

from orthoboot import errors
from orthoboot.arrays.threads import processors
from orthoboot.errors import ArgumentError, ClusterError, first_line

Result = TypeVar("Result")

_PER_THREAD = 4
"""Partitions for each thread whose results may wait, so that no thread is idle and memory stays bounded."""

_RETRIES = 3
"""How often a partition is tried again that could not be read or whose worker was lost."""

_PATIENCE = 5.0
"""Seconds after which a scheduler that has not answered counts as lost; it is asked while results are waited for."""

Call = Callable[[Any, int, Sequence[Any]], Result]
"""Takes the task, the number of a part and its partitions."""


def computed(call: Call[Result], task: Any, parts: Sequence[Sequence[Any]]) -> Iterator[Result]:
    """Yield `call(task, part, partitions)` for each part, in their order."""
    client = _client()
    return _here(call, task, parts) if client is None else _on_cluster(client, call, task, parts)


def _client() -> Any | None:
    """Return the client of the cluster that dask would use now, or None where it would use this machine."""
    from dask.base import get_scheduler

    client = getattr(get_scheduler(), "__self__", None)
    return client if hasattr(client, "scheduler") else None


def _here(call: Call[Result], task: Any, parts: Sequence[Sequence[Any]]) -> Iterator[Result]:
    import dask

    calls = (_delayed(_Call(call, task), part, tables) for part, tables in enumerate(parts))
    n_done = 0
    while batch := list(islice(calls, _PER_THREAD * processors())):
        with _named(f"one of the partitions {n_done} to {n_done + len(batch) - 1}"):
            results = dask.compute(*batch)
        yield from results
        n_done += len(batch)


@contextmanager
def _named(partitions: str) -> Iterator[None]:
    """Note on errors that are not ours where they were raised: a file that cannot be read, a function of the user's."""
    try:
        yield
    except Exception as error:
        if type(error).__module__ != errors.__name__:
            error.add_note(f"This was raised where {partitions} (counted from 0) of `data` was read.")
        raise


def _on_cluster(client: Any, call: Call[Result], task: Any, parts: Sequence[Sequence[Any]]) -> Iterator[Result]:
    cluster = _Cluster(client)
    sent = _Sent(call, _pickled(task))
    calls = (_delayed(sent, part, tables) for part, tables in enumerate(parts))
    waiting: deque[Any] = deque()
    try:
        limit = _PER_THREAD * cluster.n_threads()
        for part in range(len(parts)):
            waiting.extend(cluster.submitted(one) for one in islice(calls, limit - len(waiting)))
            future = waiting.popleft()
            result = cluster.result(future, part)
            future.release()
            yield result
    finally:
        # Released and not cancelled: that would wait for a scheduler which may be gone.
        for future in waiting:
            future.release()


def _delayed(function: Callable[..., Any], part: int, tables: Sequence[Any]) -> Any:
    import dask

    return dask.delayed(function, pure=False, traverse=False)(part, *tables)


class _Call:
    """A call in this process."""

    def __init__(self, call: Call[Any], task: Any) -> None:
        self.call, self.task = call, task

    def __call__(self, part: int, *tables: Any) -> Any:
        return self.call(self.task, part, tables)


class _Failure:
    """An error of this library, sent back as a result: to try again would not change it."""

    def __init__(self, error: Exception) -> None:
        self.error = error


class _Sent:
    """A call in a worker, with the task pickled once for all parts."""

    def __init__(self, call: Call[Any], pickled: bytes) -> None:
        self.call, self.pickled = call, pickled

    def __call__(self, part: int, *tables: Any) -> Any:
        import cloudpickle

        try:
            return self.call(cloudpickle.loads(self.pickled), part, tables)
        except Exception as error:
            if type(error).__module__ != errors.__name__:
                raise
            return _Failure(error)


def _pickled(task: Any) -> bytes:
    import cloudpickle

    try:
        pickled: bytes = cloudpickle.dumps(task)
    except Exception as error:  # whatever an object of the user's raises when it is pickled
        raise ArgumentError(
            "`data` on a cluster needs a statistic that can be sent to its workers; pickling it raised "
            f"{type(error).__name__}: {first_line(error)}. Leave out what cannot be pickled, such as open files."
        ) from error
    return pickled


class _Cluster:
    """A client, whose scheduler is asked now and then whether it is still there."""

    def __init__(self, client: Any) -> None:
        self._client = client
        # A client that has lost its scheduler forgets the address.
        self._address = getattr(client.scheduler, "address", "an unknown address")

    def n_threads(self) -> int:
        """Return how many tasks the workers run at once."""
        return max(1, sum(map(int, self._asked("ncores").values())))

    def submitted(self, call: Any) -> Any:
        """Return the future of a call."""
        try:
            return self._client.compute(call, retries=_RETRIES)
        except _lost() as error:
            raise self._unreachable(error) from error

    def result(self, future: Any, part: int) -> Any:
        """Return what a future gives, once it is done."""
        from distributed.scheduler import KilledWorker

        self._wait_for(future)
        try:
            with _named(f"partition {part}"):
                result = future.result()
        except KilledWorker as error:
            raise ClusterError(
                f"the cluster lost every worker that read partition {part} (counted from 0): memory ran out, or the "
                "statistic ended them. Make the partitions smaller, or give the workers more memory, and start again."
            ) from error
        except _lost() as error:
            if future.status == "error":  # the task's own
                raise
            raise self._unreachable(error) from error
        if isinstance(result, _Failure):
            raise result.error
        return result

    def _wait_for(self, future: Any) -> None:
        from distributed import TimeoutError as NotYet
        from distributed import wait

        while not future.done():
            try:
                wait([future], timeout=_PATIENCE)
            except NotYet:
                self._asked("identity")
            except _lost() as error:
                raise self._unreachable(error) from error

    def _asked(self, question: str) -> Any:
        """Return the scheduler's answer, or raise if none comes."""
        if self._client.scheduler is None:
            raise self._unreachable(None)
        try:
            return self._client.sync(getattr(self._client.scheduler, question), callback_timeout=_PATIENCE)
        except _lost() as error:
            raise self._unreachable(error) from error

    def _unreachable(self, error: BaseException | None) -> ClusterError:
        cause = "" if error is None else f" ({type(error).__name__}: {first_line(error)})"
        return ClusterError(
            f"the cluster cannot be reached: its scheduler at {self._address} was closed or does not answer{cause}. "
            "What was read so far is lost. Check that the scheduler runs, connect a new `distributed.Client`, and "
            "start again."
        )


def _lost() -> tuple[type[BaseException], ...]:
    """Return what is raised where the scheduler does not answer."""
    from concurrent.futures import CancelledError

    from distributed import TimeoutError as NotInTime
    from distributed.client import ClosedClientError
    from distributed.comm import CommClosedError

    return CancelledError, NotInTime, TimeoutError, ClosedClientError, CommClosedError, OSError
