"""Minima and roots, free and constrained: found to machine precision, and made ready to be differentiated."""
