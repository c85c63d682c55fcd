"""Storage of the finished parts of an experiment, to resume an interrupted run."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from orthoboot.execution.store import load_arrays, save_arrays
from orthoboot.paper.experiment import Arrays, Case, Experiment, Settings

_PACKAGE = Path(__file__).parent.parent
_PRESENTATION = re.compile(
    r"(cli|presentation)/|paper/(markdown|page|published|reproduction|section|shares|terminal)\.py|__main__\.py"
    r"|.*/report\.py"
)
"""What shows numbers and makes none: a change there asks for no new simulation."""
PACKAGES = ("jax", "jaxlib", "numba", "numpy", "scikit-learn", "scipy", "torch")
"""Other versions of these may give other last digits."""
_DIGEST_SIZE = 16


@dataclass(frozen=True)
class Part:
    """Some repetitions of a case, which are computed and kept together."""

    experiment: str
    case: Case
    repetitions: range

    def fingerprint(self, settings: Settings) -> str:
        """Return a digest of all that the outcome depends on: code, seed, case and repetitions."""
        span = (self.repetitions.start, self.repetitions.stop)
        described = repr((code_digest(), settings.seed, self.experiment, self.case.name, self.case.identity, span))
        return hashlib.blake2b(described.encode(), digest_size=_DIGEST_SIZE).hexdigest()


def parts_of(experiment: Experiment, settings: Settings) -> Iterator[Part]:
    """Yield the parts of an experiment in order."""
    for case in experiment.cases(settings):
        for start in range(0, case.repetitions, case.together):
            yield Part(experiment.name, case, range(start, min(start + case.together, case.repetitions)))


@cache
def code_digest(package: Path = _PACKAGE) -> str:
    """Return a digest of the code and of the versions it depends on; a change invalidates stored parts."""
    digest = hashlib.blake2b(repr([version_of(package) for package in PACKAGES]).encode(), digest_size=_DIGEST_SIZE)
    for file in sorted(package.rglob("*.py")):
        name = file.relative_to(package).as_posix()
        if not _PRESENTATION.match(name):
            digest.update(name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def version_of(package: str) -> str | None:
    """Return the version of a package, or None where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


@dataclass(frozen=True)
class Store:
    """A folder with one file for each finished part: a digest of the rest, and plain arrays.

    A file is named after the digest of all that its numbers depend on, and appears in one step when it is complete:
    whatever moment a run is killed at, there is no half of one.
    """

    folder: Path
    settings: Settings

    def load(self, part: Part) -> Arrays | None:
        """Return the stored outcome of a part, or None if it is missing or damaged."""
        try:
            return load_arrays(self._file(part))
        except OSError:
            return None

    def save(self, part: Part, arrays: Arrays) -> None:
        """Store the outcome of a part."""
        file = self._file(part)
        file.parent.mkdir(parents=True, exist_ok=True)
        save_arrays(file, arrays)

    def _file(self, part: Part) -> Path:
        return self.folder / part.experiment / f"{part.fingerprint(self.settings)}.part"
