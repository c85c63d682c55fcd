"""Counts and sums as they are defined, row by row in plain Python: what judges the kernels."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from math import ceil, floor, sqrt

from scipy import special

from orthoboot.draws.numpy_kernels import EXTEND, POISSON, REFINE, THROW
from orthoboot.draws.poisson import poisson_rate

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
    words = philox(c0, chunk, 8 * stream + purpose, attempt, *key)
    number = sum(word << (64 * i) for i, word in enumerate(words))
    return (number >> (bits * position)) % 2**bits


def poisson_counts_of_chunk(key, stream, attempt, chunk, replicate, n, deviations=6.0):
    """Return the counts of a chunk's rows: by eight bits each, or if their lane is open by 24, or 72 or 88."""
    size = min(CHUNK, n - CHUNK * chunk)
    counts_of_lanes, rest = law(n)
    n_open = 256 - len(counts_of_lanes)
    room = 16 * ceil(ceil(n_open / 256 * size + deviations * sqrt(n_open / 256 * size)) / 16)
    counts, extended = [], 0
    for row in range(size):
        where = (attempt, chunk, size, replicate, row)
        lane = piece(key, stream, POISSON, *where, 8)
        if lane < len(counts_of_lanes):
            counts.append(counts_of_lanes[lane])
            continue
        lane, parts = lane - len(counts_of_lanes), 1
        if extended < room:
            more = piece(key, stream, EXTEND, attempt, chunk, room, replicate, extended, 16)
            lane, parts = 65536 * lane + more, 65536
        extended += 1
        is_cut = any(lane <= parts * each < lane + 1 for each in rest)
        word = piece(key, stream, REFINE, *where, 64) if is_cut or parts == 1 else 0
        uniform = (lane + (word + 0.5) * 2.0**-64) / parts
        counts.append(sum(uniform < each for each in rest))
    return counts


def law(n):
    """Return the counts of the settled lanes, and what these lack of 256 times the odds of larger counts."""
    survival = special.gammainc(range(1, 27), poisson_rate(n)).tolist()
    settled = [floor(256 * (larger - odds)) for larger, odds in pairwise([1.0, *survival])]
    lanes = [count for count in reversed(range(len(settled))) for _ in range(settled[count])]
    return lanes, [256 * odds - sum(settled[count + 1 :]) for count, odds in enumerate(survival)]


def poisson_counts(key, stream, replicate, n):
    """Return counts whose sum is at most n, of rate ``(n - 3 sqrt(n)) / n``, or 4 for 3 beyond one chunk."""
    if n < 64:
        return [0] * n
    counts, attempt = [n + 1], 0
    while sum(counts) > n:
        chunks = [
            poisson_counts_of_chunk(key, stream, attempt, chunk, replicate, n) for chunk in range(ceil(n / CHUNK))
        ]
        counts = [count for chunk in chunks for count in chunk]
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
    capacity = n if n < 64 else min(n, ceil((9 if n <= CHUNK else 10) * sqrt(n)))
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
