"""The common interface of bootstrap and simulation results, for plots and pages."""

from __future__ import annotations

from typing import Protocol

from orthoboot.typing import FloatArray


class Estimates(Protocol):
    """Estimates of k outputs, each with its interval and the simulation errors of both ends."""

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the outputs."""

    @property
    def estimate(self) -> FloatArray:
        """Return the estimates, shape ``(k,)``."""

    @property
    def bias(self) -> FloatArray:
        """Return their biases, shape ``(k,)``."""

    @property
    def standard_error(self) -> FloatArray:
        """Return their standard errors, shape ``(k,)``."""

    @property
    def low(self) -> FloatArray:
        """Return the lower ends, shape ``(k,)``."""

    @property
    def high(self) -> FloatArray:
        """Return the upper ends, shape ``(k,)``."""

    @property
    def end_errors(self) -> FloatArray:
        """Return the simulation errors of the lower and the upper ends, shape ``(2, k)``."""

    @property
    def level_words(self) -> str:
        """Return a description of the intervals, such as ``"95% interval"``."""

    @property
    def simultaneous(self) -> bool:
        """Return whether the intervals hold jointly."""

    def decimals(self, j: int) -> int:
        """Return how many decimals of the estimate of output `j` are shown."""
