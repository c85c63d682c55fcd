"""Plots of a result, one file for each kind."""
