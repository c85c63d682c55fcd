"""Peak memory of a call, beyond what its process held before, in a child process of its own.

The child makes its data and whatever is loaded once, says that it is ready, makes the call when it is told to, and
reports the growth of its resident memory up to the peak: on Linux of the peak that the kernel keeps, set back before
the call; elsewhere of ``ru_maxrss``, which earlier peaks may hide. Pages of mapped files are in these numbers. So the
parent looks, every two milliseconds, at the memory that is not of files: peaks shorter than that it may miss.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import select
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

import orthoboot as ob

REPOSITORY = pathlib.Path(__file__).parents[1]
BETWEEN_LOOKS = 0.002


@dataclass(frozen=True)
class Peak:
    """Growth to the peak, in millions of bytes."""

    resident: float
    without_files: float | None
    """None where the system does not tell."""


def peak(program: str, *arguments: str) -> Peak | None:
    """Return the peak of the call that a child's program hands to `serve`; None where it fails, and on Windows."""
    if sys.platform == "win32":
        return None
    command = [sys.executable, "-c", program, *arguments]
    with subprocess.Popen(
        command, env=_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        if child.stdout.readline().strip() != b"ready":
            return None
        before = highest = _anonymous(child.pid)
        child.stdin.write(b"go\n")
        child.stdin.flush()
        while not select.select([child.stdout], [], [], BETWEEN_LOOKS)[0]:
            highest = max(highest, _anonymous(child.pid))
        answer = child.stdout.readline()
    return Peak(json.loads(answer), (highest - before) if before else None) if answer else None


def serve(call: Callable[[], object]) -> None:
    """Make the call when the parent says so, and tell the growth of the memory."""
    print("ready", flush=True)
    sys.stdin.readline()
    before = _resident_before()
    call()
    print(json.dumps(_highest_resident() - before), flush=True)


def _environment() -> dict[str, str]:
    folders = [str(pathlib.Path(ob.__file__).parents[1]), str(REPOSITORY), os.environ.get("PYTHONPATH", "")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(folder for folder in folders if folder)}


def _resident_before() -> float:
    try:
        pathlib.Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # sets the peak back
    except OSError:
        return _highest_resident()
    return _status("self", "VmRSS")


def _highest_resident() -> float:
    if highest := _status("self", "VmHWM"):
        return highest
    import resource

    found = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return found / 1e6 if sys.platform == "darwin" else found * 1024 / 1e6


def _anonymous(process: int) -> float:
    return _status(str(process), "RssAnon") + _status(str(process), "RssShmem")


def _status(process: str, entry: str) -> float:
    """Return an entry of Linux's account of a process, in millions of bytes; zero where there is none."""
    try:
        account = pathlib.Path("/proc", process, "status").read_text(encoding="utf-8")
    except OSError:
        return 0.0
    found = re.search(rf"^{entry}:\s+(\d+) kB", account, flags=re.MULTILINE)
    return int(found[1]) * 1024 / 1e6 if found else 0.0
