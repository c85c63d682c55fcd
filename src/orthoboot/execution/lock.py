"""A lock file, released when its process ends."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from pathlib import Path


class FileLock:
    """An exclusive lock on a file, held through a lock file beside it."""

    def __init__(self, file: Path) -> None:
        self._file = file.with_name(f"{file.name}.lock")
        self._descriptor: int | None = None

    def acquire(self) -> bool:
        """Acquire the lock without waiting; return whether that succeeded."""
        while True:
            descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                is_free = _locked(descriptor)
                # Whoever held it before may have removed the file between the two steps: then it guards nothing.
                if is_free and self._is_current(descriptor):
                    self._descriptor, descriptor = descriptor, -1
                    _HELD.add(self._descriptor)
                    return True
            finally:
                if descriptor >= 0:
                    os.close(descriptor)
            if not is_free:
                return False

    def release(self) -> None:
        """Release the lock and remove its file."""
        if self._descriptor is None:
            return
        if sys.platform != "win32":  # a file that is open cannot be removed there
            self._file.unlink(missing_ok=True)
        _HELD.discard(self._descriptor)
        os.close(self._descriptor)
        self._descriptor = None
        if sys.platform == "win32":
            with suppress(PermissionError):  # another process has opened it meanwhile, and will remove it
                self._file.unlink(missing_ok=True)

    def _is_current(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), self._file.stat())
        except FileNotFoundError:
            return False


_HELD: set[int] = set()
"""The descriptors of all locks that this process holds."""


def _leave_to_parent() -> None:
    """Let a forked process have no part in the locks: it may outlive the one that holds them."""
    for descriptor in _HELD:
        os.close(descriptor)
    _HELD.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)


def _locked(descriptor: int) -> bool:
    """Return whether the operating system granted an exclusive lock."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EAGAIN, errno.EDEADLK):
            return False
        raise  # such as that the file system has no locks
    return True
