"""Minima that the user writes: M-estimators and constrained optima."""
