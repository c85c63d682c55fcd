"""`check_influence`: test whether an influence function is right."""

from orthoboot.checking.check import InfluenceCheck, check_influence

__all__ = ["InfluenceCheck", "check_influence"]
