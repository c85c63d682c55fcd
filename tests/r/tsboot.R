# Writes what boot::tsboot says of the logarithms of the lynx series, with blocks of 20 years: the estimate, and over
# 100,000 replicates the mean and the standard deviation, of their mean and of their variance with divisor n.
# Usage: Rscript tsboot.R > tsboot.json
# "fixed" is the circular block bootstrap, since tsboot joins the ends of the series by default; "geom" the stationary
# bootstrap of Politis and Romano.
library(boot)
series <- log(lynx)
moments <- function(x) c(mean(x), mean((x - mean(x))^2))
numbers <- function(x) paste0("[", paste(format(x, digits = 17, trim = TRUE), collapse = ", "), "]")
report <- function(sim, end) {
    set.seed(20240607)
    out <- tsboot(series, moments, R = 100000, l = 20, sim = sim)
    cat('"', sim, '": {"estimate": ', numbers(out$t0), ', "mean": ', numbers(colMeans(out$t)), sep = "")
    cat(', "sd": ', numbers(apply(out$t, 2, sd)), "}", end, sep = "")
}
cat("{\n")
report("fixed", ",\n")
report("geom", "\n")
cat("}\n")
