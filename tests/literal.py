"""The paper's algorithms, written out loop by loop: slow, literal, and the judge of the fast code.

Samples are lists of 1-D arrays; `phi` takes one array per sample; `influences` holds one function per sample, which
gives the influence of a value. Labels are the paper's.
"""

from __future__ import annotations

import math


def replicate_parts(samples, phi, influences, resamples):
    """The loop that alg:cap, alg:varestimateob and alg:ciconstructioniob share: phi^b and I^b for b = 1..B."""
    phis, linears = [], []
    for indices in resamples:  # for b = 1:B
        drawn = [[samples[i][j] for j in indices[i]] for i in range(len(samples))]  # for i = 1:m
        phis.append(phi(*drawn))
        total = 0.0
        for i in range(len(samples)):
            inner = 0.0
            for x in drawn[i]:
                inner += influences[i](x)
            total += inner / len(drawn[i])
        linears.append(total)
    return phis, linears


def debiased(samples, phi, influences, resamples):
    """eq:debiasestimator of alg:cap."""
    phis, linears = replicate_parts(samples, phi, influences, resamples)
    total = 0.0
    for b in range(len(phis)):
        total += phis[b] - linears[b]
    return 2 * phi(*samples) - total / len(phis)


def exact_linear_variance(samples, influences):
    """The first term of eq:varianceestimator; S_2 of alg:ciconstructioniob."""
    total = 0.0
    for i in range(len(samples)):
        inner = 0.0
        for x in samples[i]:
            inner += influences[i](x) ** 2
        total += inner / len(samples[i]) ** 2
    return total


def variance(samples, phi, influences, resamples):
    """S^2 of alg:varestimateob, eq:varianceestimator."""
    phis, linears = replicate_parts(samples, phi, influences, resamples)
    B = len(phis)
    mean_difference = sum(phis[b] - linears[b] for b in range(B)) / B
    mean_linear = sum(linears) / B
    second = sum((phis[b] - linears[b] - mean_difference) ** 2 for b in range(B)) / B
    third = sum((phis[b] - linears[b] - mean_difference) * (linears[b] - mean_linear) for b in range(B)) * 2 / B
    return exact_linear_variance(samples, influences) + second + third


def improved_variance(samples, phi, influences, resamples):
    """S^2 of alg:ciconstructioniob: S_1^2 unless it is negative, then S_2^2."""
    first = variance(samples, phi, influences, resamples)
    return first if first >= 0 else exact_linear_variance(samples, influences)


def confidence_interval(samples, phi, influences, resamples, z):
    """The interval of alg:ciconstructionob with the improved variance; z is the normal quantile."""
    centre = phi(*samples)
    half = z * math.sqrt(improved_variance(samples, phi, influences, resamples))
    return centre - half, centre + half
