"""The length of blocks by the rule of Politis and White, against the package arch and by hand."""

from __future__ import annotations

import dask.array
import numpy as np
import pandas as pd
import pytest

import orthoboot as ob
from orthoboot.errors import ArgumentError, DataError
from orthoboot.plans.automatic_length import optimal_lengths


def autoregressive(coefficient, n, seed):
    noise = np.random.default_rng(seed).normal(size=n + 100)
    series = np.zeros(n + 100)
    for t in range(1, n + 100):
        series[t] = coefficient * series[t - 1] + noise[t]
    return series[100:]


SERIES = {
    "white noise": autoregressive(0.0, 300, 1),
    "AR(1) of 0.3": autoregressive(0.3, 500, 2),
    "AR(1) of 0.9": autoregressive(0.9, 1000, 3),
    "AR(1) of -0.6": autoregressive(-0.6, 200, 4),
    "trend": np.linspace(0.0, 1.0, 120),
    "trend and noise": np.linspace(0.0, 5.0, 250) + autoregressive(0.5, 250, 5),
    "short": autoregressive(0.5, 11, 6),
    "short and dependent": autoregressive(0.9, 30, 7),
}

# arch 8.0.0, `arch.bootstrap.optimal_block_length(series)`, columns "stationary" and "circular".
BY_ARCH = {
    "white noise": (8.978601911443025, 10.277933486245399),
    "AR(1) of 0.3": (5.771541015079407, 6.606765201442111),
    "AR(1) of 0.9": (32.85181052524023, 37.60593540190595),
    "AR(1) of -0.6": (16.550769328536287, 18.945901375590335),
    "trend": (15.884417603574974, 18.183119065477136),
    "trend and noise": (23.662948667241885, 27.087314360200164),
    "short": (4.0, 4.0),
    "short and dependent": (4.293601130258009, 4.914946365649426),
}
DEPENDENT, NOISE = SERIES["AR(1) of 0.9"], SERIES["white noise"]


@pytest.mark.parametrize("name", SERIES)
def test_it_is_what_arch_has_found(name):
    found = optimal_lengths(SERIES[name])
    np.testing.assert_allclose([found.stationary, found.circular], BY_ARCH[name], rtol=1e-10)


def test_the_longest_lag_of_the_fewest_rows_still_compares_rows():
    found = [optimal_lengths(autoregressive(0.5, n, seed)) for n in (11, 12, 13) for seed in range(20)]
    assert all(np.isfinite([one.stationary, one.circular]).all() for one in found)


def arch_lengths(series):
    """The stationary and the circular length that the package arch finds."""
    bootstrap = pytest.importorskip("arch.bootstrap")
    return bootstrap.optimal_block_length(series).to_numpy()[0]


def close_to_arch(series):
    found = optimal_lengths(np.asarray(series, dtype=float))
    np.testing.assert_allclose([found.stationary, found.circular], arch_lengths(series), rtol=1e-10)


@pytest.mark.parametrize("name", SERIES)
def test_it_is_that_of_arch(name):
    close_to_arch(SERIES[name])


def test_it_is_that_of_arch_for_the_lynx(load):
    trapped = load("lynx")[:, 1]
    close_to_arch(trapped)
    close_to_arch(np.log(trapped))


@pytest.mark.parametrize("coefficient", [-0.5, 0.0, 0.5, 0.95])
@pytest.mark.parametrize("n", [11, 17, 64, 101, 400])
def test_it_is_that_of_arch_for_many_series(coefficient, n):
    for seed in range(10):
        close_to_arch(autoregressive(coefficient, n, 100 + seed))


@pytest.mark.parametrize("unit", [-1.0, 2.0**900, 2.0**-900])
def test_it_does_not_depend_on_the_unit(unit):
    assert optimal_lengths(unit * DEPENDENT) == optimal_lengths(DEPENDENT)


def test_white_noise_has_short_blocks_and_dependence_long_ones():
    """Over many series: one of white noise may have a long one by chance."""
    lengths = [
        np.median([optimal_lengths(autoregressive(coefficient, 400, seed)).circular for seed in range(40)])
        for coefficient in (0.0, 0.5, 0.9)
    ]
    # The rule's own limits for n = 400: (6 (rho / (1 - rho**2))**2 n)**(1/3) = 0, 10.2 and 37.9. Of 40 series the
    # median is off by an eighth or so, and the flat-top window's bias makes it smaller for a strong dependence.
    assert lengths[0] < 3
    assert 6 < lengths[1] < 14
    assert 20 < lengths[2] < 50


# As an argument of `bootstrap`


def automatic(data, statistic=ob.mean, **options):
    return ob.bootstrap(data, statistic, block_length="auto", rng=0, **options)


@pytest.mark.parametrize(("kind", "length"), [("circular", 38), ("moving", 38), ("stationary", 33)])
def test_the_length_is_rounded_to_whole_rows(kind, length):
    found = automatic(DEPENDENT, block_kind=kind)
    assert found.block_length == length
    assert found.to_dict()["block_length"] == length
    given = ob.bootstrap(DEPENDENT, ob.mean, block_length=length, block_kind=kind, rng=0)
    assert found.to_dict() == given.to_dict()


def test_it_is_one_row_or_more():
    series = next(x for x in map(np.random.default_rng(0).normal, [0.0] * 50, [1.0] * 50, [100] * 50) if short(x))
    assert automatic(series).block_length == 1


def short(series):
    return optimal_lengths(series).circular < 0.5


def test_the_largest_length_of_the_columns_is_taken():
    columns = np.column_stack([NOISE[:300], DEPENDENT[:300]])
    lengths = [automatic(column).block_length for column in columns.T]
    assert lengths[0] < lengths[1] == automatic(columns).block_length
    paired = automatic((columns[:, :1], columns[:, 1]), lambda x, y: x.mean() - y.mean(), paired=True)
    assert paired.block_length == lengths[1]


def test_every_sample_has_its_own_length():
    samples = (NOISE, DEPENDENT)
    lengths = tuple(automatic(sample).block_length for sample in samples)
    assert lengths[0] != lengths[1]
    assert automatic(samples, ob.difference(ob.mean)).block_length == lengths
    some = ob.bootstrap(samples, ob.difference(ob.mean), block_length=(None, "auto"), rng=0)
    assert some.block_length == (None, lengths[1])
    assert some.to_dict()["block_length"] == [None, lengths[1]]


def test_the_result_has_the_length_that_was_given():
    samples = (NOISE, DEPENDENT)
    assert ob.bootstrap(NOISE, ob.mean, rng=0).block_length is None
    assert ob.bootstrap(samples, ob.difference(ob.mean), rng=0).block_length is None
    assert ob.bootstrap(samples, ob.difference(ob.mean), block_length=7, rng=0).block_length == (7, 7)
    assert ob.bootstrap(NOISE, ob.mean, block_length=np.int64(7), rng=0).to_dict()["block_length"] == 7


def test_the_summary_says_where_the_length_is_from():
    note = "- Block length: 38 rows, found from the data by the rule of Politis and White.\n"
    assert note in automatic(DEPENDENT).summary()
    assert "in circular blocks of 38" in automatic(DEPENDENT).summary()
    assert "Politis" not in ob.bootstrap(DEPENDENT, ob.mean, block_length=38, rng=0).summary()
    both = automatic((NOISE, DEPENDENT), ob.difference(ob.mean)).summary()
    assert "- Block lengths: 10 and 38 rows, found" in both


def test_the_standard_error_of_a_dependent_series_is_near_its_own():
    """Rows drawn one by one give a quarter of it."""
    found = automatic(DEPENDENT)
    truth = 10 / np.sqrt(len(DEPENDENT))  # the long-run standard deviation of AR(1) with 0.9 and unit noise
    # Blocks of b = 38 miss a share 9.5 / b of the variance of such a series, and it varies by sqrt(4 b / (3 n)) = 23%.
    # The bounds are three times that away from what remains.
    assert 0.5 * truth < found.standard_error < 1.3 * truth
    assert found.standard_error > 2.5 * ob.bootstrap(DEPENDENT, ob.mean, rng=0).standard_error


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (NOISE[:10], ArgumentError, "needs at least 11 rows, since it looks at autocorrelations; got 10. Pass `block"),
        (np.full(20, 0.1), DataError, "`data` is 0.1 in every row. Leave it out, or pass `block_length` as a number."),
        (np.column_stack([NOISE, np.ones(300)]), DataError, "column 1 of `data` is 1 in every row. Leave that column"),
        (pd.DataFrame({"x": NOISE, "c": 3.0}), DataError, "column 'c' of `data` is 3 in every row. Leave that column"),
        (
            pd.DataFrame({"x": NOISE, "state": ["a", "b", "c"] * 100}),
            DataError,
            "needs columns of numbers, whose autocorrelations it looks at. Leave others out, or pass `block_length` "
            "as a number: `data` must hold real numbers for this statistic; got column(s) 'state'",
        ),
        (dask.array.from_array(NOISE, chunks=100), ArgumentError, "`block_length='auto'` needs all rows at once"),
    ],
    ids=["few", "constant", "a constant column", "a named constant column", "text", "in parts"],
)
def test_what_has_no_autocorrelations_is_refused(data, error, message):
    with pytest.raises(error) as refusal:
        automatic(data, ob.mean if hasattr(data, "chunks") else len)
    assert message in str(refusal.value)


def test_another_word_is_no_length():
    with pytest.raises(ArgumentError, match=r"must be a whole number .* got 'longest'\. \"auto\" finds one"):
        ob.bootstrap(NOISE, ob.mean, block_length="longest")
    with pytest.raises(ArgumentError, match="At most one of .* got `strata` and `block_length`"):
        ob.bootstrap(NOISE, ob.mean, block_length="auto", strata=np.arange(300) % 2)
