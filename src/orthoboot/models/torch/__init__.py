"""Modules of PyTorch as statistics, and the network of the paper."""

from orthoboot.models.torch.module import FittedTorchModel, NetworkDiagnostics, TorchModel, from_torch

__all__ = ["FittedTorchModel", "NetworkDiagnostics", "TorchModel", "from_torch"]
