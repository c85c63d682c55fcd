"""Random counts as a function of (key, replicate, row) alone, and resamples as weights on the rows."""
