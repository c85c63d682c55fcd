"""Plots of the input uncertainty of a simulation."""
