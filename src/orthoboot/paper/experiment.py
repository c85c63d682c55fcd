"""The interface of experiments: cases, their repetitions, and a report."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from orthoboot.presentation.report import Report
from orthoboot.typing import FloatArray

Arrays = dict[str, FloatArray]
"""What one repetition gives, by name; for a whole case with the repetitions on the first axis."""
Outcomes = Mapping[str, Arrays]
"""What all repetitions gave, by the name of the case."""


@dataclass(frozen=True)
class Settings:
    """The settings of a reproduction.

    Attributes
    ----------
    quick
        Fewer repetitions, for minutes instead of an hour. They are the first ones of the full run.
    seed
        Repetition r of a case depends on the seed, the name of the case and r alone.
    data
        A folder with the data sets as CSV files; None fetches them.
    """

    quick: bool = False
    seed: int = 0
    data: Path | None = None


@dataclass(frozen=True)
class Case:
    """One thing that is repeated.

    Attributes
    ----------
    name
        Unique within its experiment.
    repetitions
        How often.
    together
        How many repetitions are computed, and kept, in one go: some seconds of work.
    identity
        What else the outcome depends on, such as a digest of the data.
    """

    name: str
    repetitions: int
    together: int = 1
    identity: str = ""


class Experiment(ABC):
    """One table or figure of the paper: a folder of its name, and one line in `EXPERIMENTS`."""

    name: str
    """As on the command line."""

    @abstractmethod
    def cases(self, settings: Settings) -> Sequence[Case]:
        """Return the cases and their numbers of repetitions; raise early if the experiment cannot run."""

    @abstractmethod
    def repetition(self, case: str, seed: np.random.SeedSequence, settings: Settings) -> Arrays:
        """Return the outcome of one repetition; every random number comes from `seed`.

        Outcomes are kept under the name of the case, the run's seed and the case's `identity`: what else of `settings`
        it depends on belongs into that.
        """

    @abstractmethod
    def report(self, found: Outcomes, settings: Settings) -> Report:
        """Return tables and figures of all outcomes."""


def seed_of(settings: Settings, experiment: str, case: str, repetition: int) -> np.random.SeedSequence:
    """Return the seed of one repetition, the same whatever else is run.

    Examples
    --------
    >>> seed_of(Settings(seed=1), "ci", "variance", 3).entropy == seed_of(Settings(), "ci", "variance", 3).entropy
    False
    """
    digest = hashlib.blake2b(f"{experiment}/{case}".encode(), digest_size=8).digest()
    return np.random.SeedSequence([settings.seed, int.from_bytes(digest, "little"), repetition])
