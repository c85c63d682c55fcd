"""Is an influence function right? `check_influence` and its verdicts."""

from orthoboot.checking.check import InfluenceCheck, check_influence

__all__ = ["InfluenceCheck", "check_influence"]
