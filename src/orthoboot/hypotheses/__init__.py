"""Tests of hypotheses that resample the data as if these were true."""

from orthoboot.hypotheses.permutation import PermutationTest, permutation_test

__all__ = ["PermutationTest", "permutation_test"]
