"""The figures that the paper prints, as strings, which keep their rounding."""

from __future__ import annotations

from collections.abc import Iterator

PAPER_EXPERIMENTS = 1000
"""How many simulated data sets each of its figures rests on."""

Row = tuple[str, int | None]
"""A method and its number of resamples B, None where it uses none."""

_INTERVALS = """
standard  2  0.591 0.043 0.033  0.580 0.302 0.238  0.566 0.112 0.094  0.632 0.361 0.260
cheap     2  0.956 0.145 0.077  0.952 1.085 0.606  0.936 0.385 0.239  0.955 1.199 0.615
paper     2  0.952 0.076 0.008  0.949 0.552 0.077  0.911 0.194 0.063  0.946 0.615 0.076
standard  5  0.838 0.063 0.024  0.834 0.454 0.180  0.788 0.160 0.079  0.840 0.533 0.191
cheap     5  0.946 0.096 0.032  0.945 0.674 0.240  0.918 0.245 0.111  0.954 0.779 0.250
paper     5  0.954 0.076 0.007  0.950 0.549 0.076  0.913 0.195 0.066  0.950 0.623 0.039
standard  10 0.906 0.069 0.018  0.896 0.510 0.143  0.855 0.178 0.073  0.905 0.576 0.144
cheap     10 0.951 0.084 0.021  0.950 0.610 0.160  0.933 0.215 0.082  0.958 0.693 0.156
paper     10 0.950 0.076 0.007  0.955 0.548 0.074  0.929 0.189 0.058  0.954 0.624 0.028
jackknife -  0.937 0.076 0.008  0.931 0.548 0.075  0.899 0.191 0.058  0.942 1.679 0.150
"""

_DEBIASING = """
standard  2  7.23 197.9   17.57 501.4  0.893 24.23  1.734 49.52
paper     2  6.63 168.9   14.92 395.8  0.836 21.15  1.598 45.44
standard  5  6.80 178.8   15.69 428.7  0.862 22.26  1.404 38.57
paper     5  6.61 167.0   14.79 388.2  0.833 20.92  1.355 36.70
standard  10 6.68 172.3   14.99 404.8  0.840 21.53  1.281 33.96
paper     10 6.61 166.5   14.66 383.3  0.833 20.92  1.246 32.82
naive     -  10.30 271.1  25.84 634.7  1.802 51.18  4.973 153.8
"""

_PREDICTION = """
standard  2  0.86 37.02  0.932 16.29  0.9455 0.6216
cheap     2  1.00 82.26  1.00 36.03   1.00 1.3746
paper     2  0.99 45.88  0.951 15.54  0.9463 0.6224
standard  5  0.86 35.21  0.962 17.27  0.9455 0.6154
cheap     5  0.86 46.42  0.993 22.77  0.9772 0.8110
paper     5  0.97 42.08  0.962 17.40  0.9455 0.6158
"""


def _rows(text: str, per_case: int) -> Iterator[tuple[Row, list[tuple[str, ...]]]]:
    for line in text.strip().splitlines():
        method, size, *figures = line.split()
        cases = [tuple(figures[start : start + per_case]) for start in range(0, len(figures), per_case)]
        yield (method, None if size == "-" else int(size)), cases


INTERVALS = dict(_rows(_INTERVALS, per_case=3))
"""``table: ci``: for each method and B, and each of the four columns, the coverage, the width and its deviation."""

DEBIASING = dict(_rows(_DEBIASING, per_case=2))
"""``table: debias``: for each method and B, and each of the four columns, RMSE and BIAS."""

PREDICTION = dict(_rows(_PREDICTION, per_case=2))
"""The table ``realdata``: for each method and B, and each of the three data sets, coverage and width."""
