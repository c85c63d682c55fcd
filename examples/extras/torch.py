"""`orthoboot[torch]`: the predictions of a small network."""

import numpy as np
import torch
from torch import nn

import orthoboot as ob

rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, (200, 2))
y = X @ [1.0, 0.3] + 0.3 * rng.normal(size=200)
torch.manual_seed(0)
network = nn.Linear(2, 1).double()
model = ob.from_torch(network, nn.MSELoss(), X, y, np.array([[1.5, 0.0]]), weight_decay=0.01)
print(ob.bootstrap(model.data, model, paired=True, rng=0))
