"""One holder at a time, and what the file system says is passed on."""

from __future__ import annotations

import errno
import os
import sys

import pytest

import orthoboot as ob
from orthoboot.errors import CheckpointError
from orthoboot.execution.lock import FileLock


def test_a_lock_that_is_held_is_not_given_until_it_is_free(tmp_path):
    first, second = FileLock(tmp_path / "run"), FileLock(tmp_path / "run")
    assert first.acquire()
    assert not second.acquire()
    first.release()
    assert second.acquire()
    second.release()
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(sys.platform == "win32", reason="locks are of another kind there")
def test_a_file_system_without_locks_is_not_taken_for_another_process(tmp_path, monkeypatch):
    import fcntl

    def refused(*arguments):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refused)
    with pytest.raises(CheckpointError, match=f"can be locked and written; got .*: {os.strerror(errno.ENOLCK)}"):
        ob.bootstrap([1.0, 2.0, 3.0, 4.0], ob.mean, checkpoint=tmp_path / "run", rng=1)
