"""``arch.bootstrap.IIDBootstrap`` by another import: the same calls, sooner where the catalogue has the statistic."""

from orthoboot.arch_compat.iid import IIDBootstrap

__all__ = ["IIDBootstrap"]
