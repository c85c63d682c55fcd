"""Counts and sums as they are defined, row by row in plain Python: what judges the kernels."""

from __future__ import annotations

from functools import lru_cache
from math import ceil, sqrt

from orthoboot.draws.numpy_kernels import POISSON, REFINE, THROW
from orthoboot.draws.poisson import inversion

CHUNK, LANES, WORD, HALF = 8192, 256, 2**64, 2**32


@lru_cache(maxsize=1 << 16)
def philox(c0, c1, c2, c3, k0, k1):
    """Philox4x64-10, as in Salmon and others (2011)."""
    for _ in range(10):
        upper_0, lower_0 = divmod(0xD2E7470EE14C6C93 * c0, WORD)
        upper_1, lower_1 = divmod(0xCA5A826395121157 * c2, WORD)
        c0, c1, c2, c3 = upper_1 ^ c1 ^ k0, lower_1, upper_0 ^ c3 ^ k1, lower_0
        k0, k1 = (k0 + 0x9E3779B97F4A7C15) % WORD, (k1 + 0xBB67AE8584CAA73B) % WORD
    return c0, c1, c2, c3


def piece(key, stream, purpose, attempt, chunk, size, replicate, place, bits):
    """Return the bits at a place of a chunk that has room for `size` of them in every resample."""
    per_block = 256 // bits
    block, position = divmod(place, per_block)
    c0 = 1 + replicate * ceil(size / per_block) + block
    words = philox(c0, chunk, 4 * stream + purpose, attempt, *key)
    number = sum(word << (64 * i) for i, word in enumerate(words))
    return (number >> (bits * position)) % 2**bits


def poisson_count(key, stream, attempt, replicate, row, n):
    chunk, place = divmod(row, CHUNK)
    where = (attempt, chunk, min(CHUNK, n - CHUNK * chunk), replicate, place)
    lane, word = (piece(key, stream, purpose, *where, bits) for purpose, bits in ((POISSON, 16), (REFINE, 64)))
    uniform = (lane + (word + 0.5) * 2.0**-64) / 65536
    return sum(uniform < probability for probability in inversion(n).survival.tolist())


def poisson_counts(key, stream, replicate, n):
    """Return counts of rate ``(n - 6 sqrt(n)) / n`` whose sum is at most n."""
    if n < 64:
        return [0] * n
    counts, attempt = [n + 1], 0
    while sum(counts) > n:
        counts = [poisson_count(key, stream, attempt, replicate, row, n) for row in range(n)]
        attempt += 1
    return counts


def integer(key, stream, purpose, replicate, position, capacity, bound):
    chunk, size = 0, 8 * ceil(min(capacity, CHUNK) / 8)
    while position >= size:
        chunk, position, size = chunk + 1, position - size, CHUNK
    product, attempt = 0, 0
    while attempt == 0 or product % HALF < HALF % bound:
        product = bound * piece(key, stream, purpose, attempt, chunk, size, replicate, position, 32)
        attempt += 1
    return product // HALF


def thrown_rows(key, stream, replicate, n, number):
    capacity = n if n < 64 else min(n, ceil(12 * sqrt(n)))
    return [integer(key, stream, THROW, replicate, position, capacity, n) for position in range(number)]


def multinomial_counts(key, stream, replicate, n):
    counts = poisson_counts(key, stream, replicate, n)
    for row in thrown_rows(key, stream, replicate, n, n - sum(counts)):
        counts[row] += 1
    return counts


def ordered_sum(terms):
    total = 0.0
    for begin in range(0, len(terms), CHUNK):
        lanes = [0.0] * LANES
        for i, term in enumerate(terms[begin : begin + CHUNK]):
            lanes[i % LANES] += term
        while len(lanes) > 1:
            half = len(lanes) // 2
            lanes = [lanes[i] + lanes[i + half] for i in range(half)]
        total += lanes[0]
    return total


def weighted_sum(weights, values):
    return ordered_sum([weight * value for weight, value in zip(weights, values, strict=True)])


def multinomial_sum(key, stream, replicate, values):
    n = len(values)
    if n <= CHUNK:
        return weighted_sum(multinomial_counts(key, stream, replicate, n), values)
    counts = poisson_counts(key, stream, replicate, n)
    thrown = thrown_rows(key, stream, replicate, n, n - sum(counts))
    return weighted_sum(counts, values) + ordered_sum([values[row] for row in thrown])
