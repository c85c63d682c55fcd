"""Blocks of Philox made by vector instructions are numpy's, on processors with such vectors and without."""

from __future__ import annotations

import numpy as np
import pytest

from orthoboot.draws.numpy_kernels import philox_words

KEYS = [(0xB7E151628AED2A6A, 0xBF7158809CF4F3C7), (0, 0), (2**64 - 1, 2**64 - 1)]
COUNTERS = [(1, 0, 0, 0), (2**32 - 3, 5, 2**33 + 1, 7), (2**63 + 11, 2**64 - 1, 2**64 - 1, 2**64 - 1)]


@pytest.fixture(scope="module", params=["few", "many"])
def stored(request):
    """Return a compiled function that makes blocks together, and how many it makes."""
    numba = pytest.importorskip("numba")
    blocks = pytest.importorskip("orthoboot.draws.compiled.numba_blocks", exc_type=ImportError)
    pointers = pytest.importorskip("orthoboot.draws.compiled.numba_pointers", exc_type=ImportError)
    if request.param == "few":
        store, number = blocks.store_few_blocks, blocks.FEW
    else:
        store, number = blocks.store_many_blocks, blocks.MANY

    @numba.njit
    def call(words, numbers, counter, key):
        own, some = pointers.pointer(words), pointers.pointer(numbers)
        store(own, some, counter[0], counter[1], counter[2], counter[3], key[0], key[1])

    return call, number


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("counter", COUNTERS)
def test_blocks_made_together_are_those_of_numpy(key, counter, stored):
    store, number = stored
    words, numbers = np.zeros(4 * number + 1, dtype=np.uint64), np.arange(number, dtype=np.uint64)[::-1].copy()
    numbers[0] = 2**40
    store(words, numbers, np.array(counter, dtype=np.uint64), np.array(key, dtype=np.uint64))
    for block, added in zip(words[:-1].reshape(number, 4), numbers.tolist(), strict=True):
        # Numpy begins with the block after its counter.
        before = ((counter[0] + added - 1) % 2**64, *counter[1:])
        np.testing.assert_array_equal(block, philox_words(key, before, 4))
    assert words[-1] == 0
