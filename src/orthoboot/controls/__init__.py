"""Controls: what is known of a replicate without evaluating the statistic on it."""
