"""How many replicates a run may draw: as the user says, or as many as cost next to nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from orthoboot.arguments import checked_count, checked_tolerance, too_few_replicates
from orthoboot.errors import ArgumentError
from orthoboot.estimators import ESTIMATORS, Estimator
from orthoboot.influence import Design

FIRST_ROUND = 10
"""Replicates before the simulation error is looked at, and the least that a further round adds."""

_FREE_WORK = 4e6
"""Rows that are added up in a few hundredths of a second, or a few tenths without a compiler."""

_MOST_FREE = 2000
"""Replicates beyond which intervals gain nothing that shows."""

_MOST_BESIDE_ENGINE = 200
"""Replicates beyond which a run that evaluated its statistic for every row gains little."""


def free_evaluations(work: float) -> int:
    """Return how many evaluations of so much work cost next to nothing, at most two thousand."""
    return min(int(_FREE_WORK / work), _MOST_FREE)


class Interval(Protocol):
    """What the budget asks of an interval method."""

    name: str
    why_many: str

    def least_resamples(self, estimator: Estimator) -> int:
        """Return the fewest replicates for which the method is valid with `estimator`."""
        ...

    def default_resamples(self, estimator: Estimator) -> int:
        """Return how many replicates to draw at least where the user does not say."""
        ...


@dataclass(frozen=True)
class Budget:
    """How many replicates may be drawn, checked."""

    n_resamples: int | None
    tol: float | None
    max_resamples: int

    @staticmethod
    def checked(n_resamples: Any, tol: Any, max_resamples: Any, estimator: Estimator) -> Budget:
        """Return the budget, checked: each number alone and all of them together."""
        if n_resamples is not None:
            reason = f"for estimator={estimator.name!r}"
            n_resamples = checked_count("n_resamples", n_resamples, least=estimator.minimum, reason=reason)
        tol = None if tol is None else checked_tolerance(tol)
        max_resamples = checked_count("max_resamples", max_resamples, least=1)
        if not estimator.simulates and tol is not None:
            raise ArgumentError(
                f"`tol` has no meaning for estimator={estimator.name!r}, which simulates nothing; got {tol}."
            )
        if tol is not None and n_resamples is not None and n_resamples > max_resamples:
            raise ArgumentError(
                f"`max_resamples` must be at least `n_resamples`; got {max_resamples} and {n_resamples}."
            )
        return Budget(n_resamples, tol, max_resamples)

    def check_for(self, interval: Interval, estimator: Estimator) -> None:
        """Raise if the interval or the estimator needs more replicates than are allowed."""
        least = max(interval.least_resamples(estimator), estimator.minimum)
        limits = {"n_resamples": self.n_resamples, "max_resamples": self.max_resamples}
        name = "n_resamples" if self.tol is None else "max_resamples"
        most = limits[name]
        if most is not None and most < least:
            asker = f"method={interval.name!r} with estimator={estimator.name!r}"
            advice = " ".join(filter(None, (interval.why_many, 'Use more, or method="normal".')))
            raise ArgumentError(too_few_replicates(asker, least, f"got {name}={most}", advice))

    @property
    def ordinary_replicates(self) -> int:
        """Return how many replicates the standard bootstrap would take in the place of an influence function."""
        most = self.max_resamples if self.tol is not None else self.n_resamples or 0
        return max(ESTIMATORS["standard"].default_resamples, most)

    def first_round(self, interval: Interval, estimator: Estimator, engine_evaluations: int = 0) -> int:
        """Return how many replicates to draw before the first check of the simulation error.

        Parameters
        ----------
        interval, estimator
            Those that are used.
        engine_evaluations
            How often the statistic was evaluated for its influence function, zero where that is in closed form. Such a
            statistic may have kinks, which ten replicates do not show reliably; as many more at most double the work.
        """
        if self.n_resamples is not None:
            return self.n_resamples
        beside_engine = min(engine_evaluations, _MOST_BESIDE_ENGINE) if estimator.takes_free_replicates else 0
        if self.tol is None:
            return max(estimator.default_resamples, interval.default_resamples(estimator), beside_engine)
        start = FIRST_ROUND if estimator.needs_influence else 5 * FIRST_ROUND
        return min(max(start, beside_engine, interval.least_resamples(estimator)), self.max_resamples)

    def free_resamples(self, estimator: Estimator, work: float | None) -> int:
        """Return how many replicates of so much work to draw because they cost next to nothing; zero for none.

        The work is counted and no clock is read, so that a seed has one answer.
        """
        if self.n_resamples is not None or not estimator.takes_free_replicates or work is None:
            return 0
        free = free_evaluations(work)
        return free if self.tol is None else min(free, self.max_resamples)

    def fitting_round(self, interval: Interval, estimator: Estimator, design: Design) -> int:
        """Return how many replicates to fit the influence function to; raise if they are too few for it."""
        if self.n_resamples is not None:
            wanted, got = self.n_resamples, f"n_resamples={self.n_resamples:,}"
        else:
            wanted = max(design.default_resamples, interval.least_resamples(estimator))
            got = f"{wanted:,}, the default"
            if self.tol is not None and self.max_resamples < wanted:
                wanted, got = self.max_resamples, f"max_resamples={self.max_resamples:,}"
        design.check(wanted, got)
        return wanted
