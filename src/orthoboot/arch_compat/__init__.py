"""A drop-in replacement for ``arch.bootstrap.IIDBootstrap``, faster if the catalogue has the statistic."""

from orthoboot.arch_compat.iid import IIDBootstrap

__all__ = ["IIDBootstrap"]
