# Writes what boot.ci(type = "stud") says of three statistics on 399 of R's own resamples each: the ratio of the city
# data, the mean of aircondit and the correlation of the head lengths in frets, with the variance of every resample by
# var.linear from the influence values there.
# Usage: Rscript studentized.R > studentized.json
# Each entry of `counts` is one resample, a digit for each row.
library(boot)
values <- function(x) paste(format(x, digits = 17, trim = TRUE), collapse = ", ")
numbers <- function(x) paste0("[", values(x), "]")
ratio <- function(d) {
    t <- mean(d$x) / mean(d$u)
    list(t = t, L = (d$x - t * d$u) / mean(d$u))
}
average <- function(d) list(t = mean(d$hours), L = d$hours - mean(d$hours))
standardised <- function(x) (x - mean(x)) / sqrt(mean((x - mean(x))^2))
correlation <- function(d) {
    u <- standardised(d$l1)
    v <- standardised(d$l2)
    t <- mean(u * v)
    list(t = t, L = u * v - t * (u^2 + v^2) / 2)
}
report <- function(name, data, statistic, end) {
    both <- function(d, i) {
        found <- statistic(d[i, , drop = FALSE])
        c(found$t, var.linear(found$L))
    }
    set.seed(20240607)
    resampled <- boot(data, both, R = 399)
    counts <- boot.array(resampled)
    stopifnot(max(counts) < 10, all(resampled$t[, 2] > 0))
    answer <- boot.ci(resampled, conf = c(0.9, 0.95), type = "stud")$student
    cat('"', name, '": {\n', sep = "")
    cat('"counts": ["', paste(apply(counts, 1, paste, collapse = ""), collapse = '", "'), '"],\n', sep = "")
    cat('"estimate": ', numbers(resampled$t0[1]), ",\n", sep = "")
    cat('"variance": ', numbers(resampled$t0[2]), ",\n", sep = "")
    cat('"first_values": ', numbers(resampled$t[1:10, 1]), ",\n", sep = "")
    cat('"first_variances": ', numbers(resampled$t[1:10, 2]), ",\n", sep = "")
    cat('"ends_90": ', numbers(answer[1, 4:5]), ",\n", sep = "")
    cat('"ends_95": ', numbers(answer[2, 4:5]), "\n}", end, sep = "")
}
cat("{\n")
report("ratio", city, ratio, ",\n")
report("mean", aircondit, average, ",\n")
report("correlation", frets, correlation, "\n")
cat("}\n")
