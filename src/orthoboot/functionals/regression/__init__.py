"""Regressions of the catalogue: least squares and generalised linear models."""
