"""Minima and roots, free and constrained, to machine precision and with derivatives."""
