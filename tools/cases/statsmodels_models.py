"""Models of statsmodels: least squares, generalised linear, discrete and robust ones, and every kind of target."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import statsmodels.api as sm
import statsmodels.formula.api as smf

import orthoboot as ob
from tools.cases.base import paired_answer

families, links, norms = sm.families, sm.families.links, sm.robust.norms
PRECISE = {"tol_criterion": "params", "tol": 1e-13}
"""statsmodels stops where the deviance stands still, which leaves the coefficients half of their digits."""


def _sample(n: int = 300) -> pd.DataFrame:
    """Return responses of all kinds."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=n), "b": rng.uniform(-1, 1, n), "c": rng.choice(["u", "v", "w"], n)})
    eta = 0.3 + 0.5 * frame["a"] - 0.4 * frame["b"] + 0.3 * (frame["c"] == "v")
    frame["number"] = eta + rng.standard_t(5, n) * (1 + frame["b"] ** 2)
    frame["choice"] = (rng.uniform(size=n) < 1 / (1 + np.exp(-eta))).astype(float)
    frame["count"] = rng.poisson(np.exp(eta) * rng.gamma(3, 1 / 3, n))
    frame["positive"] = rng.gamma(2 + frame["b"], np.exp(eta) / 2)
    frame["weight"], frame["exposure"] = rng.uniform(0.5, 2, n), rng.uniform(1, 5, n)
    frame["times"] = rng.integers(1, 4, n)
    return frame


FRAME = _sample()
ARRAY = sm.add_constant(FRAME[["a", "b"]].to_numpy())


def _columns(names: dict[str, str]) -> dict[str, Any]:
    return {argument: FRAME[name] for argument, name in names.items()}


def generalized(response: str, family: Any, **names: str) -> Any:
    """Return a fitted generalised linear model."""
    return smf.glm(f"{response} ~ a + b + C(c)", FRAME, family=family, **_columns(names)).fit(**PRECISE)


def discrete(kind: str, response: str, **names: str) -> Any:
    """Return a fitted model of choices or counts."""
    return getattr(smf, kind)(f"{response} ~ a + b + C(c)", FRAME, **_columns(names)).fit(disp=0)


def robust(norm: Any, scale: Any = "mad") -> Any:
    """Return a fitted robust regression."""
    model = smf.rlm("number ~ a + b + C(c)", FRAME, M=norm)
    return model.fit(scale_est=scale, conv="coefs", tol=1e-12, maxiter=500)


def least_squares() -> Any:
    """Return fitted least squares."""
    return smf.ols("number ~ a + b + C(c)", FRAME).fit()


def _model(result: Any, target: Any = None, **options: Any) -> ob.Result:
    model = ob.from_statsmodels(result) if target is None else ob.from_statsmodels(result, target=target)
    return paired_answer(model.data, model, **options)


def _compared(result: Any) -> dict[str, Any]:
    """Return the table beside statsmodels' own standard errors."""
    model = ob.from_statsmodels(result)
    table = model.compared(paired_answer(model.data, model))
    return {column: table[column] for column in table} | {"names": ", ".join(table.index)}


def _checked(result: Any) -> ob.InfluenceCheck:
    model = ob.from_statsmodels(result)
    return ob.check_influence(model, model.data, paired=True)


def poisson(**names: str) -> Any:
    """Return a fitted Poisson model."""
    return generalized("count", families.Poisson(), **names)


CASES = {
    "OLS": lambda: _model(least_squares()),
    "WLS": lambda: _model(smf.wls("number ~ a + b + C(c)", FRAME, weights=FRAME["weight"]).fit()),
    "Logit": lambda: _model(discrete("logit", "choice")),
    "Probit": lambda: _model(discrete("probit", "choice")),
    "Poisson": lambda: _model(discrete("poisson", "count")),
    "Poisson, exposure": lambda: _model(discrete("poisson", "count", exposure="exposure", offset="weight")),
    "GLM Gaussian": lambda: _model(generalized("number", families.Gaussian())),
    "GLM Poisson": lambda: _model(poisson()),
    "GLM Poisson, exposure": lambda: _model(poisson(exposure="exposure", offset="weight")),
    "GLM Poisson, var_weights": lambda: _model(poisson(var_weights="weight")),
    "GLM Poisson, freq_weights": lambda: _model(poisson(freq_weights="times")),
    "GLM Gamma, log": lambda: _model(generalized("positive", families.Gamma(links.Log()))),
    "GLM inverse Gaussian, log": lambda: _model(generalized("positive", families.InverseGaussian(links.Log()))),
    "GLM binomial, probit": lambda: _model(generalized("choice", families.Binomial(links.Probit()))),
    "GLM binomial, cloglog": lambda: _model(generalized("choice", families.Binomial(links.CLogLog()))),
    "GLM binomial, log-log": lambda: _model(generalized("choice", families.Binomial(links.LogLog()))),
    "GLM negative binomial": lambda: _model(generalized("count", families.NegativeBinomial(alpha=0.4))),
    "GLM Tweedie": lambda: _model(generalized("positive", families.Tweedie(var_power=1.5), var_weights="weight")),
    "RLM Huber": lambda: _model(robust(norms.HuberT())),
    "RLM biweight": lambda: _model(robust(norms.TukeyBiweight())),
    "RLM Hampel, Huber's scale": lambda: _model(
        robust(norms.Hampel(), sm.robust.scale.HuberScale(tol=1e-14, maxiter=500))
    ),
    "RLM, fixed scale": lambda: _model(smf.rlm("number ~ a + b", FRAME).fit(start_scale=1.0, update_scale=False)),
    "not fitted": lambda: _model(sm.OLS(FRAME["number"], ARRAY)),
    "not fitted, Logit": lambda: _model(sm.Logit(FRAME["choice"], ARRAY)),
    "arrays": lambda: _model(sm.OLS(FRAME["number"].to_numpy(), ARRAY).fit()),
    "jackknife": lambda: _model(discrete("logit", "choice"), estimator="jackknife", n_resamples=0),
    "abc": lambda: _model(least_squares(), method="abc"),
    "standard": lambda: _model(poisson(), estimator="standard", n_resamples=20),
    "groups": lambda: _model(least_squares(), groups=np.arange(300) // 5),
    "function": lambda: _model(discrete("logit", "choice"), lambda b: b["a"] / b["b"]),
    "dict": lambda: _model(least_squares(), lambda b: {"ratio": b["a"] / b["b"], "both": b[["a", "b"]]}),
    "predictions": lambda: _model(least_squares(), FRAME.iloc[[4, 11, 200]]),
    "predictions, Logit": lambda: _model(discrete("logit", "choice"), FRAME.iloc[[4, 11, 200]]),
    "predictions, RLM": lambda: _model(robust(norms.HuberT()), FRAME.iloc[[4, 11, 200]]),
    "predictions, arrays": lambda: _model(sm.OLS(FRAME["number"].to_numpy(), ARRAY), ARRAY[:2]),
    "compared, OLS": lambda: _compared(least_squares()),
    "compared, Logit": lambda: _compared(discrete("logit", "choice")),
    "compared, RLM": lambda: _compared(robust(norms.HuberT())),
    "nearly converged": lambda: _model(smf.glm("count ~ a + b", FRAME, family=families.Poisson()).fit(maxiter=3)),
    "not converged": lambda: _model(smf.glm("count ~ a + b", FRAME, family=families.Poisson()).fit(maxiter=1)),
    "regularized": lambda: _model(sm.OLS(FRAME["number"], ARRAY).fit_regularized(alpha=0.1)),
    "GLS": lambda: _model(sm.GLS(FRAME["number"], ARRAY)),
    "offset": lambda: _model(sm.Logit(FRAME["choice"], ARRAY, offset=FRAME["weight"]).fit(disp=0)),
    "no model": lambda: _model("y ~ x"),
    "target raises": lambda: _model(least_squares(), lambda b: b["z"]),
    "not paired": lambda: ob.bootstrap(ob.from_statsmodels(least_squares()).data, ob.from_statsmodels(least_squares())),
    "check_influence": lambda: _checked(discrete("logit", "choice")),
}
