"""Resamples of a plan, drawn on demand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from orthoboot.draws.resamples import BlockWeights, Found, Resamples, seeds_of
from orthoboot.plans.base import Scheme
from orthoboot.typing import FloatArray, IntArray, Key


class DrawnResamples(Resamples):
    """The resamples of a plan with some numbers; each is a function of the key and its own number alone.

    Nothing is drawn before it is asked for.

    Parameters
    ----------
    schemes
        How the rows of each sample are drawn.
    key
        The seed of the run.
    numbers
        The number of each resample in the run.
    """

    def __init__(self, schemes: tuple[Scheme, ...], key: Key, numbers: Sequence[int]) -> None:
        self.schemes, self.key, self.numbers = schemes, key, numbers
        self._known_sums: list[tuple[int, FloatArray, FloatArray]] = []
        self._remembered: list[tuple[Any, Any]] = []

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def weights(self) -> tuple[FloatArray, ...]:
        """Return how often each row is drawn, one array ``(B, n_i)`` for each sample."""
        return self._drawn

    @cached_property
    def _drawn(self) -> tuple[FloatArray, ...]:
        schemes = enumerate(self.schemes)
        return tuple(scheme.counts(self.key, stream, self.numbers) for stream, scheme in schemes)

    def indices(self, b: int) -> tuple[IntArray, ...]:
        """Return the rows of resample `b`, in drawing order if the order matters."""
        # Without an order the counts say all, and nothing needs to be drawn a second time.
        if not any(scheme.ordered for scheme in self.schemes):
            return super().indices(b)
        schemes = enumerate(self.schemes)
        return tuple(scheme.indices(self.key, stream, self.numbers[b]) for stream, scheme in schemes)

    def some(self, chosen: range) -> DrawnResamples:
        """Return consecutive resamples of the batch; what is already drawn is reused."""
        places = slice(chosen.start, chosen.stop)
        part = DrawnResamples(self.schemes, self.key, self.numbers[places])
        if "_drawn" in vars(self):
            vars(part)["_drawn"] = tuple(w[places] for w in self._drawn)
        part._known_sums = [(sample, values, sums[places]) for sample, values, sums in self._known_sums]
        return part

    def totals(self, sample: int) -> FloatArray:
        """Return the number of rows of each resample, shape ``(B,)``."""
        return self.schemes[sample].totals(self.key, sample, self.numbers)

    def sums(self, sample: int, values: FloatArray) -> FloatArray:
        """Return the sums of `values` over the rows of each resample, shape ``(B, p)``, read-only.

        They are drawn without an array of weights where the scheme can do so, and remembered: a statistic and its
        linear part may ask for the same ones.
        """
        for known, array, sums in self._known_sums:
            if known == sample and array is values:
                return sums
        sums = self._summed(self.schemes[sample], sample, values)
        sums.flags.writeable = False
        self._known_sums.append((sample, values, sums))
        return sums

    def _summed(self, scheme: Scheme, sample: int, values: FloatArray) -> FloatArray:
        return scheme.sums(self.key, sample, self.numbers, scheme.usable(values))

    def remembered(self, find: Callable[[Resamples], Found]) -> Found:
        """Return ``find(self)``, found once."""
        for known, found in self._remembered:
            if known == find:
                result: Found = found
                return result
        result = find(self)
        self._remembered.append((find, result))
        return result

    def counts_at(self, sample: int, rows: IntArray) -> FloatArray:
        """Return how often some rows are drawn, shape ``(B, m)``, without the counts of all others at once."""
        if "_drawn" in vars(self):
            return super().counts_at(sample, rows)
        return self.schemes[sample].counts_at(self.key, sample, self.numbers, rows)

    def block_weights(self, sample: int) -> BlockWeights:
        """Return how often the rows of a block of a sample are drawn, as a function of that block."""
        if "_drawn" in vars(self):
            return super().block_weights(sample)
        return self.schemes[sample].block_weights(self.key, sample, self.numbers)

    def seeds(self, seed: int) -> list[int]:
        """Return a seed for each resample, a function of `seed`, the key and its number."""
        return seeds_of(self.key, self.numbers, seed)
