"""Models of statsmodels as statistics."""

from orthoboot.models.statsmodels.model import StatsmodelsFit, from_statsmodels

__all__ = ["StatsmodelsFit", "from_statsmodels"]
