"""`orthoboot[sklearn]`: the coefficients of a model, and prediction intervals."""

import numpy as np
from sklearn.linear_model import Ridge

import orthoboot as ob

rng = np.random.default_rng(0)
X = rng.uniform(size=(300, 2))
y = X @ [3.0, -1.0] + 0.2 * rng.normal(size=300)
print(ob.bootstrap((X, y), ob.from_sklearn(Ridge(alpha=1.0)), paired=True, rng=0))
points, intervals = ob.PredictionIntervalRegressor(Ridge(), rng=0).fit(X, y).predict_interval(X[:2])
print(points.round(2), intervals.round(2))
