"""Modules of PyTorch as statistics, and the network of the paper."""

from orthoboot.models.torch.module import NetworkDiagnostics, TorchModel, from_torch

__all__ = ["NetworkDiagnostics", "TorchModel", "from_torch"]
