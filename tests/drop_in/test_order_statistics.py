"""Quantiles of resamples have their exact law."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest

from orthoboot.drop_in.order_statistics import quantile_replicates, quantile_without_each_row


@pytest.mark.parametrize("column", [[1.0, 2.0, 4.0, 8.0], [3.0, 1.0, 3.0, 7.0, 2.0]])
@pytest.mark.parametrize("level", [0.5, 0.3, 0.9])
def test_the_law_is_that_of_all_resamples(column, level):
    x, n_resamples = np.array(column), 40_000
    counted = Counter(np.round(np.quantile(rows, level), 9) for rows in product(x, repeat=len(x)))
    shares = {value: count / len(x) ** len(x) for value, count in counted.items()}
    drawn = Counter(np.round(quantile_replicates(x, level, (1, 2), n_resamples), 9).tolist())
    assert set(drawn) <= set(shares)
    for value, share in shares.items():
        # Five standard errors: odds of one in a million for each of some two hundred.
        tolerance = 5 * (share * (1 - share) / n_resamples) ** 0.5
        assert drawn[value] / n_resamples == pytest.approx(share, abs=tolerance)


@pytest.mark.parametrize("n", [2, 3, 8, 9])
@pytest.mark.parametrize("level", [0.0, 0.1, 0.5, 0.77, 1.0])
def test_without_each_row(n, level):
    x = np.random.default_rng(n).integers(0, 6, size=n).astype(float)
    expected = [np.quantile(np.delete(x, row), level) for row in range(n)]
    np.testing.assert_allclose(quantile_without_each_row(x, level), expected, rtol=1e-14)


def test_the_ends_are_rows_whatever_stands_beside_them():
    x = np.array([-1e17, 1.1])
    assert np.isin(quantile_replicates(x, 1.0, (1, 2), 500), x).all()
