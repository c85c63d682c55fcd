# Writes what boot::empinf(type = "reg") says of the ratio of the city data on 60 of R's own resamples, of the rows
# and of the rows within two strata (the first four, the last six).
# Usage: Rscript empinf.R city.csv > empinf.json
# Each entry of the output is one JSON array; counts are row by row, one resample after the other.
library(boot)
city <- read.csv(commandArgs(trailingOnly = TRUE)[1])
ratio <- function(d, w) sum(d$x * w) / sum(d$u * w)
numbers <- function(x) paste0("[", paste(format(x, digits = 17, trim = TRUE), collapse = ", "), "]")
report <- function(name, resampled, end) {
    cat('"', name, '_counts": ', numbers(as.vector(t(boot.array(resampled)))), ",\n", sep = "")
    cat('"', name, '_values": ', numbers(resampled$t[, 1]), ",\n", sep = "")
    cat('"', name, '_influence": ', numbers(as.vector(empinf(resampled, type = "reg"))), end, sep = "")
}
cat("{\n")
set.seed(20240607)
report("rows", boot(city, ratio, R = 60, stype = "w"), ",\n")
# With strata R's weights sum to one in each; the ratio of the whole needs them in proportion to the rows.
strata <- rep(1:2, c(4, 6))
stratified <- function(d, w) ratio(d, w * c(4, 6)[strata])
report("strata", boot(city, stratified, R = 60, stype = "w", strata = strata), "\n")
cat("}\n")
