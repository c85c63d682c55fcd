"""Statistics of two or more columns together: ratios, correlations, covariance matrices."""
