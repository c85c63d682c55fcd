"""Distributions of phi over resamples, of its linear part and of other controls."""
