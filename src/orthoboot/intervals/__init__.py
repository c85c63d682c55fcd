"""From the replicates to an interval and the simulation error of its ends."""

from orthoboot.intervals.abc import abc
from orthoboot.intervals.base import Ends, Interval
from orthoboot.intervals.normal import normal, student
from orthoboot.intervals.percentile_family import basic, bca, percentile

INTERVALS: dict[str, Interval] = {
    interval.name: interval for interval in (normal, student, abc, percentile, basic, bca)
}

__all__ = ["INTERVALS", "Ends", "Interval"]
