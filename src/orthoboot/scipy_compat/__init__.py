"""``scipy.stats.bootstrap`` by another import: the same call, sooner where the catalogue has the statistic."""

from orthoboot.scipy_compat.replacement import bootstrap

__all__ = ["bootstrap"]
