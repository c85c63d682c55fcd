# Writes what boot::control() says of the ratio of the city data on 25 of R's own resamples.
# Usage: Rscript control.R city.csv > control.json
# Each line of the output is one JSON array; `counts` is row by row, one resample after the other.
library(boot)
city <- read.csv(commandArgs(trailingOnly = TRUE)[1])
ratio <- function(d, w) sum(d$x * w) / sum(d$u * w)
set.seed(20240607)
resampled <- boot(city, ratio, R = 25, stype = "w")
exact <- (city$x - resampled$t0 * city$u) / mean(city$u) # the influence values in closed form
answer <- control(resampled, L = exact, alpha = c(0.05, 0.5, 0.95))
numbers <- function(x) paste0("[", paste(format(x, digits = 17, trim = TRUE), collapse = ", "), "]")
cat("{\n")
cat('"counts": ', numbers(as.vector(t(boot.array(resampled)))), ",\n", sep = "")
cat('"values": ', numbers(resampled$t[, 1]), ",\n", sep = "")
cat('"linear": ', numbers(answer$tL - resampled$t0), ",\n", sep = "")
cat('"bias": ', numbers(answer$bias), ",\n", sep = "")
cat('"variance": ', numbers(answer$var), ",\n", sep = "")
cat('"third_cumulant": ', numbers(k3.linear(exact)), "\n", sep = "")
cat("}\n")
