"""What `benchmarks.peers` and `benchmarks.scaling` found, as one JSON file: the machine, and a row for each work.

A row has contenders, ours first: seconds, peak memory, relative simulation error of the standard error, and the row's
ratio of each. `regressions` names the rows whose ratio is worse than in an older file by more than a fifth.
"""

from __future__ import annotations

import json
import os
import pathlib
import platform
from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

SCHEMA = 1

OURS = "orthoboot"

PACKAGES = (
    "orthoboot", "numpy", "scipy", "numba", "arch", "resample", "foostrap", "scikit-learn", "matplotlib", "joblib",
)  # fmt: skip

LARGEST_FALL = 0.2
"""How far a ratio may fall from run to run on a quiet machine."""

Quartiles = tuple[float, float, float]
"""Lower, median, upper."""


@dataclass(frozen=True)
class Machine:
    """Where a run was made, and with which releases."""

    processor: str
    cores: int
    system: str
    python: str
    packages: dict[str, str]
    """Versions of what is installed."""
    compiled: bool
    """Whether our kernels are the compiled ones."""


@dataclass(frozen=True)
class Contender:
    """One way to do the work of a row."""

    name: str
    n_resamples: int | None = None
    seconds: float | None = None
    """The median over rounds; None where it was not timed, and `note` says why."""
    ratio: Quartiles | None = None
    """The row's ratio with this contender; None for ours."""
    peak_mb: float | None = None
    """Memory beyond the data and what was loaded before, at its peak, in millions of bytes."""
    error: float | None = None
    """Of the standard error, relative, by simulation alone."""
    note: str = ""


@dataclass(frozen=True)
class Row:
    """A work, ours first among its contenders."""

    name: str
    n_rows: int
    contenders: tuple[Contender, ...]
    goal: float | None = None
    lower_is_better: bool = False
    """Whether the ratio is a cost, ours over the other; otherwise it is how many times faster ours is."""
    n_rounds: int = 0
    failure: str = ""
    """What ours raised."""
    series: str = ""
    """Which rows belong together, where a size grows from row to row."""
    n_threads: int | None = None

    @property
    def ours(self) -> Contender:
        """Our own."""
        return self.contenders[0]

    @property
    def rival(self) -> Contender | None:
        """The fastest of the others that were timed: the one that ours is least ahead of, call beside call."""
        timed = [each for each in self.contenders[1:] if each.ratio is not None]
        return min(timed, key=self._lead, default=None)

    def _lead(self, contender: Contender) -> float:
        """Return the median ratio against one of the others, turned so that more is better."""
        assert contender.ratio is not None
        return 1 / contender.ratio[1] if self.lower_is_better else contender.ratio[1]

    @property
    def ratio(self) -> Quartiles | None:
        """The quartiles against the fastest."""
        return None if self.rival is None else self.rival.ratio

    @property
    def is_met(self) -> bool | None:
        """Whether the median reaches the goal; None without one or the other."""
        if self.ratio is None or self.goal is None:
            return None
        return self.ratio[1] <= self.goal if self.lower_is_better else self.ratio[1] >= self.goal

    @property
    def lead(self) -> float | None:
        """The median, turned so that more is better; None where nothing was timed."""
        return None if self.rival is None else self._lead(self.rival)


@dataclass(frozen=True)
class Fit:
    """The exponent of time, by least squares of its logarithm on that of a size.

    A fixed cost makes it smaller than one, however linear the rest is. So ``seconds = fixed + slope size^growth`` is
    fitted too, to all sizes, where these are enough.
    """

    name: str
    exponent: float
    smallest: int
    """The least size that the exponent is fitted to."""
    fixed: float | None = None
    growth: float | None = None


@dataclass(frozen=True)
class Record:
    """One run."""

    benchmark: str
    machine: Machine
    rows: tuple[Row, ...]
    quick: bool = False
    """Whether sizes were cut to try the program: nothing can be judged by it."""
    fits: tuple[Fit, ...] = ()
    n_blas_threads: int = 1
    schema: int = SCHEMA


# The machine


def machine(*, compiled: bool) -> Machine:
    """Return a description of this one."""
    return Machine(
        processor=_processor(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        packages={name: found for name in PACKAGES if (found := _version(name))},
        compiled=compiled,
    )


def _processor() -> str:
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


# The file


def write(record: Record, file: pathlib.Path) -> None:
    """Write a record, and the folder it lies in."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(asdict(record), indent=1) + "\n", encoding="utf-8")


def read(file: pathlib.Path) -> Record:
    """Return the record of a file."""
    found = json.loads(file.read_text(encoding="utf-8"))
    if found.get("schema") != SCHEMA:
        raise ValueError(f"{file} must have schema {SCHEMA}; it has {found.get('schema')!r}. Run the benchmark again.")
    return Record(
        **found
        | {
            "machine": Machine(**found["machine"]),
            "rows": tuple(_row(each) for each in found["rows"]),
            "fits": tuple(Fit(**each) for each in found["fits"]),
        }
    )


def _row(found: dict[str, Any]) -> Row:
    return Row(**found | {"contenders": tuple(_contender(each) for each in found["contenders"])})


def _contender(found: dict[str, Any]) -> Contender:
    contender = Contender(**found)
    return contender if contender.ratio is None else replace(contender, ratio=tuple(contender.ratio))


# The regression check


def regressions(old: Record, new: Record) -> list[str]:
    """Return a line for each row whose ratio fell by more than a fifth; rows of one record alone are left out."""
    if _kind(old) != _kind(new):
        raise ValueError(f"a run of {_kind(new)} cannot be held against one of {_kind(old)}.")
    before = {row.name: row for row in old.rows}
    pairs = [(before[row.name], row) for row in new.rows if row.name in before]
    return [_fall(*pair) for pair in pairs if _fell(*pair)]


def _kind(record: Record) -> str:
    threads = f" with {record.n_blas_threads} BLAS threads" if record.n_blas_threads > 1 else ""
    return f"`{record.benchmark}`" + (" with --quick" if record.quick else "") + threads


def _fell(old: Row, new: Row) -> bool:
    if old.lead is None or new.lead is None:
        return False
    return new.lead < (1 - LARGEST_FALL) * old.lead


def _fall(old: Row, new: Row) -> str:
    assert old.ratio is not None
    assert new.ratio is not None
    return f"{new.name}: {old.ratio[1]:.3g} before, {new.ratio[1]:.3g} now"
