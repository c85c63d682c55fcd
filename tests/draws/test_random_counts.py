"""The counter-based generator: reference vectors, two paths with the same bits, and exact distributions."""

from __future__ import annotations

import builtins
import os
import subprocess
import sys
from decimal import Decimal, localcontext
from itertools import pairwise, product
from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats
from tests import literal_draws

import orthoboot as ob
from orthoboot.draws import compiled as compiled_package
from orthoboot.draws import kernels, numpy_kernels
from orthoboot.draws.poisson import LANES, LONG_LANES, OPEN, inversion, open_capacity, poisson_rate, throw_capacity
from orthoboot.draws.random_counts import (
    MAX_ROWS,
    RESTART,
    key_from,
    multinomial_counts,
    poisson_counts,
    thrown_rows,
    uniform_integers,
)
from orthoboot.errors import ArgumentError

KEY = (0xB7E151628AED2A6A, 0xBF7158809CF4F3C7)
WORDS = 2**64
N_DRAWS = 20_000


def compiled():
    return pytest.importorskip("orthoboot.draws.compiled.numba_kernels", exc_type=ImportError)


@pytest.fixture(params=["numpy", "numba"])
def backend(request):
    return numpy_kernels if request.param == "numpy" else compiled()


def drawn_counts(n, n_draws=N_DRAWS, key=KEY, stream=0):
    return multinomial_counts(key, stream, range(n_draws), n)


# Random123, tests/kat_vectors, the three lines "philox4x64 10": counter, key, result.
REFERENCE_VECTORS = [
    (
        "0000000000000000 0000000000000000 0000000000000000 0000000000000000",
        "0000000000000000 0000000000000000",
        "16554d9eca36314c db20fe9d672d0fdc d7e772cee186176b 7e68b68aec7ba23b",
    ),
    (
        "ffffffffffffffff ffffffffffffffff ffffffffffffffff ffffffffffffffff",
        "ffffffffffffffff ffffffffffffffff",
        "87b092c3013fe90b 438c3c67be8d0224 9cc7d7c69cd777b6 a09caebf594f0ba0",
    ),
    (
        "243f6a8885a308d3 13198a2e03707344 a4093822299f31d0 082efa98ec4e6c89",
        "452821e638d01377 be5466cf34e90c6c",
        "a528f45403e61d95 38c72dbd566e9788 a5a1610e72fd18b5 57bd43b5e52b7fe6",
    ),
]


def words_of(text):
    return tuple(int(word, 16) for word in text.split())


def counter_before(words):
    number = sum(word << (64 * i) for i, word in enumerate(words)) - 1
    return tuple((number >> (64 * i)) % WORDS for i in range(4))


@pytest.mark.parametrize(("at", "key", "expected"), REFERENCE_VECTORS)
def test_the_words_of_numpy_are_those_of_the_reference_implementation(at, key, expected):
    words = numpy_kernels.philox_words(words_of(key), counter_before(words_of(at)), 4)
    assert tuple(words.tolist()) == words_of(expected)


@pytest.mark.parametrize(("at", "key", "expected"), REFERENCE_VECTORS)
def test_compiled_words_are_those_of_the_reference_implementation(at, key, expected):
    assert compiled().philox_block(*words_of(at), *words_of(key)) == words_of(expected)


def test_words_can_be_had_from_the_middle():
    words = numpy_kernels.philox_words(KEY, (0, 3, 4, 5), 40)
    np.testing.assert_array_equal(numpy_kernels.philox_words(KEY, (7, 3, 4, 5), 12), words[28:])


# From the definition in tests/literal_draws.py.
PINNED_COUNTS = "2001003230113112012200020101112110100003211122020231112010031100010111"
PINNED_INTEGERS = [335, 184, 690, 900, 100, 925]


def test_the_counter_layout_never_changes(backend):
    # Pinned: whoever changes these numbers changes every published result.
    counts, integers = np.empty((1, 70)), np.empty((1, 6), dtype=np.int64)
    backend.multinomial_counts(1, 2, 3, 4, inversion(70), counts)
    backend.uniform_integers(1, 2, 3, 4, numpy_kernels.THROW, 6, np.full(6, 1000, dtype=np.uint64), integers)
    assert "".join(str(int(count)) for count in counts[0]) == PINNED_COUNTS
    assert integers[0].tolist() == PINNED_INTEGERS


@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 63, 64, 65, 100, 1000, 1023, 65536, 65537, 200_001])
def test_both_paths_give_the_same_counts(n):
    for stream, first in [(0, 0), (1, 0), (0, 1), (7, 12345), (2, 2**40)]:
        slow, fast = np.empty((3, n)), np.empty((3, n))
        numpy_kernels.multinomial_counts(*KEY, stream, first, inversion(n), slow)
        compiled().multinomial_counts(*KEY, stream, first, inversion(n), fast)
        np.testing.assert_array_equal(slow, fast)


@settings(deadline=None, max_examples=100)
@given(
    n=st.integers(1, 3000),
    stream=st.integers(0, 2**60),
    first=st.integers(0, 2**53 - 1),
    k0=st.integers(0, WORDS - 1),
    k1=st.integers(0, WORDS - 1),
)
def test_both_paths_agree_and_sum_to_n_whatever_the_counter(n, stream, first, k0, k1):
    slow, fast = np.empty((2, n)), np.empty((2, n))
    numpy_kernels.multinomial_counts(k0, k1, stream, first, inversion(n), slow)
    compiled().multinomial_counts(k0, k1, stream, first, inversion(n), fast)
    assert slow.sum(axis=1).tolist() == [n, n]
    np.testing.assert_array_equal(slow, fast)


@pytest.mark.parametrize("n", [100, 9000])
def test_both_paths_redraw_a_poisson_total_above_n_alike(n):
    # At the rate of a thousand million rows the Poisson counts exceed their number in nearly half of all draws.
    law, columns = inversion(10**9), np.random.default_rng(0).normal(size=(2, n))
    first = np.array([poisson_part(numpy_kernels, b, 0, law, n, 0, n).sum() for b in range(40)])
    assert np.count_nonzero(first > n) > 5
    slow, fast = np.empty((40, n)), np.empty((40, n))
    numpy_kernels.multinomial_counts(*KEY, 0, 0, law, slow)
    compiled().multinomial_counts(*KEY, 0, 0, law, fast)
    np.testing.assert_array_equal(slow, fast)
    np.testing.assert_array_equal(slow.sum(axis=1), np.full(40, n))
    slow_sums, fast_sums = np.empty((40, 2)), np.empty((40, 2))
    numpy_kernels.multinomial_sums(*KEY, 0, 0, law, columns, slow_sums)
    compiled().multinomial_sums(*KEY, 0, 0, law, columns, fast_sums)
    np.testing.assert_array_equal(slow_sums, fast_sums)
    np.testing.assert_allclose(slow_sums, slow @ columns.T, rtol=1e-11, atol=1e-10)


def poisson_part(path, replicate, attempt, law, n, start, stop):
    counts = np.empty(stop - start)
    path.poisson_counts(*KEY, 0, replicate, attempt, law, n, start, counts)
    return counts


@pytest.mark.parametrize("bound", [1, 2, 3, 1000, 2**31 + 1, 3 * 2**30, MAX_ROWS])
def test_both_paths_give_the_same_integers(bound):
    bounds = np.full(10_001, bound, dtype=np.uint64)
    for capacity in (10_001, 500):
        slow, fast = np.empty((2, 10_001), dtype=np.int64), np.empty((2, 10_001), dtype=np.int64)
        numpy_kernels.uniform_integers(*KEY, 1, 2, RESTART, capacity, bounds, slow)
        compiled().uniform_integers(*KEY, 1, 2, RESTART, capacity, bounds, fast)
        np.testing.assert_array_equal(slow, fast)
        assert 0 <= slow.min() <= slow.max() < bound


def exact_survival(n):
    """Return ``P(X > k)`` for k = 0, 1, ... to 26."""
    rate = Decimal(poisson_rate(n))
    with localcontext() as context:
        context.prec = 60
        terms = [(-rate).exp() * rate**k / factorial(k) for k in range(80)]
        return np.array([float(sum(terms[k + 1 :])) for k in range(26)])


LAWS = [64, 65, 100, 1000, 8192, 8193, 10**6, 2**32 - 1]


@pytest.mark.parametrize("n", LAWS)
def test_settled_and_open_lanes_make_up_the_poisson_law(n):
    law, survival = inversion(n), exact_survival(n)
    settled = law.table[law.table != OPEN]
    above = (settled[:, np.newaxis] > np.arange(26)).sum(axis=0)
    np.testing.assert_allclose(above + law.rest, LANES * survival, rtol=1e-14)
    assert settled.size == LANES - law.n_open
    # Nothing is open that could be settled, and no count has more lanes than its share.
    shares = np.diff(above + law.rest, prepend=LANES) * -1
    np.testing.assert_array_equal(np.bincount(settled, minlength=26)[:26], np.floor(shares))
    # Relative precision where it is needed: in the tail, which no lane is settled at.
    np.testing.assert_allclose(law.rest[5:], LANES * survival[5:], rtol=1e-13)
    assert (np.diff(law.rest) < 0).all()
    assert law.n_open - 1e-12 < law.rest[0] + shares[0] % 1 < law.n_open + 1e-12


@pytest.mark.parametrize("n", LAWS)
def test_cuts_are_the_table_in_other_words(n):
    law, lanes = inversion(n), np.arange(LANES)
    above = (lanes[:, np.newaxis] < law.cuts).sum(axis=1)
    np.testing.assert_array_equal(above[law.table != OPEN], law.table[law.table != OPEN])
    np.testing.assert_array_equal(lanes >= LANES - law.n_open, law.table == OPEN)
    np.testing.assert_array_equal(np.floor(law.rest * LONG_LANES)[: law.long_cuts.size], law.long_cuts)
    assert not np.floor(law.rest * LONG_LANES)[law.long_cuts.size - 1 :].any()
    long_lanes = np.arange(LONG_LANES * law.n_open)
    settled = law.long_table[long_lanes // LANES] != OPEN
    above = law.long_cuts.size - np.searchsorted(law.long_cuts[::-1], long_lanes, side="right")
    np.testing.assert_array_equal(above[settled], law.long_table[long_lanes // LANES][settled])
    assert not np.isin(long_lanes[settled], law.long_cuts).any()
    assert settled.mean() > 0.98


def test_no_uniform_reaches_beyond_the_largest_count():
    smallest, law = 0.5 * 2.0**-80, inversion(2**32 - 1)
    reached = int(np.count_nonzero(smallest < law.rest))
    assert 20 <= reached < law.rest.size


def test_open_rows_beyond_the_capacity_are_refined_one_by_one(backend):
    """With room for three deviations less than the mean, nearly every chunk has some."""
    n, deviations = 8192, -3.0
    counts = np.empty(n)
    for replicate in range(3):
        backend.poisson_counts(*KEY, 0, replicate, 0, inversion(n)._replace(deviations=deviations), n, 0, counts)
        literal = literal_draws.poisson_counts_of_chunk(KEY, 0, 0, 0, replicate, n, deviations)
        assert counts.tolist() == literal
        assert literal != literal_draws.poisson_counts_of_chunk(KEY, 0, 0, 0, replicate, n)


@pytest.mark.parametrize("n", [64, 1000])
def test_poisson_counts_follow_the_poisson_law(n):
    counts = np.concatenate([poisson_counts(KEY, 0, b, n, start=0, stop=n) for b in range(400_000 // n)])
    probability = stats.poisson.pmf(np.arange(6), poisson_rate(n))
    observed = np.bincount(np.minimum(counts, 6).astype(int), minlength=7)
    expected = counts.size * np.append(probability, 1 - probability.sum())
    # Odds of a failure at a random seed: 1e-4.
    assert stats.chisquare(observed, expected).pvalue > 1e-4


def test_parts_of_the_rows_have_the_counts_of_the_whole():
    n, edges = 30_000, [0, 16, 17, 100, 555, 8192, 8193, 20_000, 30_000]
    parts = [poisson_counts(KEY, 2, 9, n, start=a, stop=b) for a, b in pairwise(edges)]
    counts = np.concatenate(parts)
    missing = n - int(counts.sum())
    counts += np.bincount(thrown_rows(KEY, 2, 9, n, missing), minlength=n)
    np.testing.assert_array_equal(counts, multinomial_counts(KEY, 2, [9], n)[0])


def test_few_rows_have_no_poisson_part():
    np.testing.assert_array_equal(poisson_counts(KEY, 0, 0, 63, start=3, stop=20), np.zeros(17))


def test_every_resample_of_four_rows_has_its_multinomial_probability():
    vectors = [c for c in product(range(5), repeat=4) if sum(c) == 4]
    probability = np.array([factorial(4) / np.prod([factorial(x) for x in c]) / 4**4 for c in vectors])
    drawn = drawn_counts(4).astype(int)
    place = {c: i for i, c in enumerate(vectors)}
    observed = np.bincount([place[tuple(c)] for c in drawn.tolist()], minlength=len(vectors))
    # Odds of a failure at a random seed: 1e-4.
    assert stats.chisquare(observed, N_DRAWS * probability).pvalue > 1e-4


@pytest.mark.parametrize("n", [50, 64, 100, 1000])
def test_counts_have_the_moments_and_the_law_of_the_multinomial(n):
    counts = drawn_counts(n)
    # One z per claim, about 20 for each n: the odds that any exceeds 4 at a random seed are about 1e-3.
    assert_mean(counts[:, 0], 1.0)
    assert_mean((counts[:, 0] - 1) ** 2, 1 - 1 / n)
    for other in (1, 3, 4, 15, 16, 17, n - 1):
        assert_mean((counts[:, 0] - 1) * (counts[:, other] - 1), -1 / n)
    assert_mean((counts**2).sum(axis=1), 2 * n - 1)
    for value in range(5):
        assert_mean((counts == value).sum(axis=1), n * stats.binom.pmf(value, n, 1 / n))
    direction = np.sin(np.arange(n))
    assert_mean(counts @ direction, direction.sum())
    assert_mean((counts @ direction - direction.sum()) ** 2, n * direction.var())


@pytest.mark.parametrize("n", [50, 64, 100, 1000])
@pytest.mark.parametrize("row", [0, 21, 49])
def test_a_single_count_is_binomial(n, row):
    counts = drawn_counts(n, stream=1)[:, row].astype(int)
    probability = stats.binom.pmf(np.arange(5), n, 1 / n)
    observed = np.bincount(np.minimum(counts, 5), minlength=6)
    # Odds of a failure at a random seed: 1e-4 for each of the twelve.
    assert stats.chisquare(observed, N_DRAWS * np.append(probability, 1 - probability.sum())).pvalue > 1e-4


def assert_mean(values, expected):
    z = (values.mean() - expected) / (values.std(ddof=1) / np.sqrt(len(values)))
    assert abs(z) < 4


def test_resamples_of_different_streams_replicates_and_keys_are_uncorrelated():
    n = 100_000
    base, next_replicate = multinomial_counts(KEY, 0, [0, 1], n)
    others = [multinomial_counts(KEY, 1, [0], n)[0], next_replicate, multinomial_counts((1, 2), 0, [0], n)[0]]
    for other in others:
        # The correlation has a standard error of n^-1/2; odds of a failure at a random seed: 6e-5 each.
        assert abs(np.corrcoef(base, other)[0, 1]) < 4 / np.sqrt(n)


@pytest.mark.parametrize("bound", [2, 3, 10, 97])
def test_integers_are_uniform(bound):
    integers = uniform_integers(KEY, 0, [5], np.full(50_000, bound))
    # Odds of a failure at a random seed: 1e-4.
    assert stats.chisquare(np.bincount(integers[0], minlength=bound)).pvalue > 1e-4


def test_integers_have_no_bias_where_the_bound_does_not_divide_the_range():
    # Of four 32-bit numbers three would go to the three residues and the fourth to one of them again.
    integers = uniform_integers(KEY, 0, [6], np.full(20_000, 3 * 2**30))
    # Odds of a failure at a random seed: 1e-4; without rejection the p-value is below 1e-100.
    assert stats.chisquare(np.bincount(integers[0] % 3)).pvalue > 1e-4


def test_each_integer_has_its_own_bound():
    bounds = np.tile([1, 2, 50], 1000)
    integers = uniform_integers(KEY, 0, [0], bounds).reshape(-1, 3)
    assert integers.max(axis=0).tolist() == [0, 1, 49]


def test_purposes_are_independent_streams():
    bounds = np.full(1000, 1000)
    restarts = uniform_integers(KEY, 0, [0], bounds, purpose=RESTART)
    # A match has odds of 1/1000 per place, so about one is expected; ten have odds below 1e-6.
    assert np.count_nonzero(restarts == uniform_integers(KEY, 0, [0], bounds)) < 10


@pytest.mark.parametrize("n", [0, -1, MAX_ROWS + 1, 2.0, True])
def test_an_impossible_number_of_rows_is_refused(n):
    with pytest.raises(ArgumentError, match="from 1 to 2"):
        multinomial_counts(KEY, 0, [0], n)


@pytest.mark.parametrize("bounds", [[0], [5, MAX_ROWS + 1]])
def test_an_impossible_bound_is_refused(bounds):
    with pytest.raises(ArgumentError, match="`bounds` must lie"):
        uniform_integers(KEY, 0, [0], bounds)


def test_a_seed_gives_one_key():
    assert key_from(7) == key_from(np.int64(7)) == key_from(np.random.SeedSequence(7)) != key_from(8)


def test_no_seed_gives_fresh_keys():
    assert key_from(None) != key_from(None)


def test_a_generator_is_advanced():
    rng = np.random.default_rng(3)
    first, second = key_from(rng), key_from(rng)
    assert first != second
    assert first == key_from(np.random.default_rng(3))


def test_a_key_uses_all_bits_of_both_words():
    keys = np.array([key_from(seed) for seed in range(200)], dtype=np.uint64)
    assert np.bitwise_or.reduce(keys).tolist() == [WORDS - 1, WORDS - 1]


@pytest.mark.parametrize(
    ("rng", "advice"),
    [
        (True, "rng=0"),
        (1.5, "rng=0"),
        (-1, "rng=0"),
        ("seed", "rng=0"),
        (np.random.RandomState(0), "default_rng"),
        (np.random.PCG64(0), "Generator"),
    ],
)
def test_what_is_no_seed_is_refused_with_advice(rng, advice):
    with pytest.raises(ArgumentError, match=rf"`rng` must be None, .*{advice}"):
        key_from(rng)


def test_the_compiled_path_is_loaded_once_it_pays():
    choice = kernels.Choice()
    assert choice.kernels(1000) is numpy_kernels
    assert choice.kernels(kernels.Choice._LOADING_COST) is compiled()
    assert choice.kernels(1000) is compiled()


def test_without_numba_the_kernels_of_numpy_serve(monkeypatch):
    monkeypatch.delattr(compiled_package, "numba_kernels", raising=False)
    monkeypatch.setitem(sys.modules, "orthoboot.draws.compiled.numba_kernels", None)
    assert kernels.fastest_kernels() is numpy_kernels


WITHOUT_COMPILER = """
import numpy as np, orthoboot as ob
from orthoboot.draws import kernels, numpy_kernels
# As after 1e8 rows: the next draw loads the compiled kernels, where there are any.
kernels._choice._left = 1
x = np.random.default_rng(1).gamma(2, size=200)
result = ob.bootstrap(x, ob.variance, n_resamples=50, rng=0)
print(kernels._choice._kernels is numpy_kernels, result.standard_error.hex())
"""


def test_where_numba_may_not_compile_the_kernels_of_numpy_serve():
    pytest.importorskip("numba")
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-c", WITHOUT_COMPILER]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    x = np.random.default_rng(1).gamma(2, size=200)
    here = ob.bootstrap(x, ob.variance, n_resamples=50, rng=0).standard_error
    assert run.stdout.split() == ["True", here.hex()]


def loaded_anew(monkeypatch):
    """Make the next import of the compiled kernels load them again."""
    for module in ("compilation", "numba_kernels"):
        monkeypatch.delattr(compiled_package, module, raising=False)
        monkeypatch.delitem(sys.modules, f"orthoboot.draws.compiled.{module}", raising=False)


@pytest.mark.parametrize("error", [ImportError, NotImplementedError, RuntimeError, SystemError, OSError, ValueError])
def test_whatever_keeps_numba_from_loading_does_not_end_a_run(error, monkeypatch):
    class Refused:
        def find_spec(self, name, path=None, target=None):
            if name == "numba":
                raise error("no compiler here")

    loaded_anew(monkeypatch)
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Refused(), *sys.meta_path])
    assert kernels.fastest_kernels() is numpy_kernels


def raising_njit(monkeypatch, error):
    """Make numba raise where it compiles for a signature."""
    numba = pytest.importorskip("numba")
    compiled()
    njit = numba.njit

    def refusing(*arguments, **options):
        if arguments:
            raise error
        return njit(**options)

    loaded_anew(monkeypatch)
    monkeypatch.setattr(numba, "njit", refusing)


@pytest.mark.parametrize("kind", ["LoweringError", "RuntimeError", "OSError"])
def test_where_numba_cannot_compile_the_kernels_of_numpy_serve(kind, monkeypatch):
    errors = pytest.importorskip("numba.core.errors")
    raising_njit(monkeypatch, (getattr(errors, kind, None) or getattr(builtins, kind))("no compiler here"))
    assert kernels.fastest_kernels() is numpy_kernels


@pytest.mark.parametrize("error", [NameError, TypeError, AttributeError])
def test_a_mistake_in_the_compiled_kernels_is_not_hidden(error, monkeypatch):
    raising_njit(monkeypatch, error("a slip of ours"))
    with pytest.raises(error, match="a slip of ours"):
        kernels.fastest_kernels()


@pytest.mark.parametrize(("n", "odds"), [(64, 1.2e-3), (1000, 1.2e-3), (8192, 1.2e-3), (8193, 3.2e-5), (10**6, 3.2e-5)])
def test_the_poisson_rate_leaves_room_for_the_total(n, odds):
    # Odds that a total exceeds n, so that it is drawn again.
    assert special.gammainc(n + 1, n * poisson_rate(n)) < odds
    # Odds that so many rows are missing that the counter moves on to another chunk.
    assert stats.poisson.cdf(n - throw_capacity(n) - 1, n * poisson_rate(n)) < 2e-9


@pytest.mark.parametrize("rows", [1, 64, 1000, 8192])
def test_open_rows_rarely_exceed_their_capacity(rows):
    room = 16 * -(-open_capacity(rows, 4, 6.0) // 16)
    assert stats.binom.sf(room, rows, 4 / 256) < 1e-8
