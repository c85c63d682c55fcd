"""The variance of the output over resamples of the inputs' rows, order by order, from base runs alone."""
