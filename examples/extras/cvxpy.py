"""`orthoboot[cvxpy]`: the shares of a portfolio."""

import cvxpy as cp
import numpy as np

import orthoboot as ob

returns = np.random.default_rng(0).normal([0.05, 0.1, 0.2], [0.1, 0.2, 0.5], size=(250, 3))
mean, factor, shares = cp.Parameter(3, name="mean"), cp.Parameter((3, 3), name="factor"), cp.Variable(3, name="shares")
risk = cp.sum_squares(factor @ shares)
problem = cp.Problem(cp.Minimize(risk / 2 - mean @ shares / 5), [cp.sum(shares) == 1, shares >= 0])
portfolio = ob.from_cvxpy(problem, parameters={mean: ob.mean, factor: ob.covariance_factor}, target=shares)
print(ob.bootstrap(returns, portfolio, rng=0))
