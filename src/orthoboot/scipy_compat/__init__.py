"""A drop-in replacement for ``scipy.stats.bootstrap``, faster if the catalogue has the statistic."""

from orthoboot.scipy_compat.replacement import bootstrap

__all__ = ["bootstrap"]
