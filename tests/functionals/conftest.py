from __future__ import annotations

import numpy as np
import pytest

from orthoboot.functionals.base import Covariance
from orthoboot.typing import FloatArray, Influence


@pytest.fixture
def iid_covariance() -> Covariance:
    """The exact covariance of means of centred rows that are drawn independently."""

    def covariance(parts: Influence) -> FloatArray:
        return np.sum([part.T @ part / len(part) ** 2 for part in parts], axis=0)

    return covariance
