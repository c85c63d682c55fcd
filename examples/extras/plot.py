"""`orthoboot[plot]`: a picture and a page."""

import tempfile
from pathlib import Path

import matplotlib as mpl
import numpy as np

import orthoboot as ob

mpl.use("Agg")
result = ob.bootstrap(np.random.default_rng(0).lognormal(size=(80, 2)), ob.correlation, rng=0)
with tempfile.TemporaryDirectory() as folder:
    result.plot("influence").figure.savefig(Path(folder, "influence.png"))
    page = result.to_html(Path(folder, "page.html")).read_text(encoding="utf-8")
print(page.count("<svg"), "pictures on a page of", len(page), "characters")
