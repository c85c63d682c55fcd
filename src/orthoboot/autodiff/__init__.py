"""Derivatives of functions written in jax or torch, behind one small interface."""

from orthoboot.autodiff.base import Autodiff, NumpyFunction, PackageFunction
from orthoboot.autodiff.selection import PACKAGES, autodiff, autodiff_for, package_asked, package_named, package_of

__all__ = [
    "PACKAGES",
    "Autodiff",
    "NumpyFunction",
    "PackageFunction",
    "autodiff",
    "autodiff_for",
    "package_asked",
    "package_named",
    "package_of",
]
