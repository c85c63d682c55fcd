"""Confidence intervals from replicates, with the simulation error of their ends."""

from orthoboot.intervals.abc import Abc
from orthoboot.intervals.auto import Auto
from orthoboot.intervals.base import Ends, Interval
from orthoboot.intervals.normal import Normal, Student
from orthoboot.intervals.percentile_family import Basic, Bca, Percentile
from orthoboot.intervals.studentized import Studentized

INTERVALS: dict[str, Interval] = {
    interval.name: interval
    for interval in (Auto(), Normal(), Student(), Abc(), Percentile(), Basic(), Bca(), Studentized())
}

__all__ = ["INTERVALS", "Ends", "Interval"]
