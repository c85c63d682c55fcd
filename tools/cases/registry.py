"""Every row of the tree's own `tests.registry`: the orthogonal bootstrap, and the jackknife with its bias and ABC."""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.registry import FUNCTIONALS

import orthoboot as ob
from tools.cases.base import answer

ASKED: dict[str, dict[str, Any]] = {
    "orthogonal": {},
    "jackknife": {"estimator": "jackknife", "n_resamples": 0},
    "abc": {"method": "abc"},
}


def _answer(row: Any, **options: Any) -> ob.Result:
    """Return the answer to a row; of the row only its statistic and its arrays are used."""
    data = row.data()
    arrays, is_paired = data.arrays, len(data.sizes) < len(data.arrays)
    return answer(arrays if len(arrays) > 1 else arrays[0], row.functional, paired=is_paired, **options)


CASES = {
    f"{row.id}, {name}": partial(_answer, row, **options) for row in FUNCTIONALS for name, options in ASKED.items()
}
