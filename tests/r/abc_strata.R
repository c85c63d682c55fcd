# Writes what boot::abc.ci says of the ratio of the city data within two strata (the first four rows, the last six), at
# the levels 0.9 and 0.95: low, high, low, high.
# Usage: Rscript abc_strata.R city.csv > abc_strata.json
library(boot)
city <- read.csv(commandArgs(trailingOnly = TRUE)[1])
strata <- rep(1:2, c(4, 6))
# With strata R's weights sum to one in each; the ratio of the whole needs them in proportion to the rows.
stratified <- function(d, w) sum(d$x * w * c(4, 6)[strata]) / sum(d$u * w * c(4, 6)[strata])
ends <- sapply(c(0.9, 0.95), function(level) abc.ci(city, stratified, strata = strata, conf = level)[2:3])
cat('{"ends": [', paste(format(as.vector(ends), digits = 17, trim = TRUE), collapse = ", "), "]}\n", sep = "")
