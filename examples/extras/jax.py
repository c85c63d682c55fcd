"""`orthoboot[jax]`: the influence function of a loss of one's own, by automatic differentiation."""

import jax.numpy as jnp
import numpy as np

import orthoboot as ob

rng = np.random.default_rng(0)
X = np.column_stack([np.ones(300), rng.normal(size=300)])
y = X @ [1.0, 2.0] + rng.standard_t(3, size=300)


def loss(theta, X, y):
    """Return the pseudo-Huber losses of rows."""
    return jnp.sqrt(1 + (y - X @ theta) ** 2) - 1


print(ob.bootstrap((X, y), ob.m_estimator(loss, init=2), paired=True, rng=0))
