"""Statistics of each column: moments, quantiles, inequality, entropy."""
