"""`orthoboot[statsmodels]`: the coefficients of a logistic regression."""

import numpy as np
import statsmodels.api as sm

import orthoboot as ob

rng = np.random.default_rng(0)
X = sm.add_constant(rng.normal(size=(300, 2)))
y = (X @ [0.2, 1.0, -0.5] + rng.logistic(size=300) > 0).astype(float)
model = ob.from_statsmodels(sm.Logit(y, X).fit(disp=0))
print(ob.bootstrap(model.data, model, paired=True, rng=0))
