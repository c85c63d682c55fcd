"""Modules of PyTorch as statistics: the answers, the two protocols, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from tests import rounding

import orthoboot as ob
from orthoboot.data import read
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import (
    ArgumentError,
    DataError,
    FailedReplicatesWarning,
    FallbackWarning,
    FitError,
    FitWarning,
    MissingDependencyError,
    ReplicationError,
    StatisticError,
)

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from orthoboot.models.torch import FittedTorchModel  # noqa: E402
from orthoboot.models.torch.training import restarted  # noqa: E402

N_ROWS = 150
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N_ROWS, 3))
Y = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.3 * RNG.standard_normal(N_ROWS)
NEW = RNG.standard_normal((4, 3))
QUIET = pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")


def minimised(module, loss, X, y, weight_decay=0.0):
    """Train a module in double precision until nothing moves."""
    module = module.double()
    optimiser = torch.optim.LBFGS(
        module.parameters(), max_iter=2000, tolerance_grad=1e-12, tolerance_change=0.0, line_search_fn="strong_wolfe"
    )

    def closure():
        optimiser.zero_grad()
        penalty = sum((part**2).sum() for part in module.parameters())
        value = loss(module(X), y) + weight_decay / 2 * penalty
        value.backward()
        return value

    optimiser.step(closure)
    return module


@pytest.fixture(scope="module")
def line():
    return minimised(restarted(nn.Linear(3, 1), 0), nn.MSELoss(), torch.tensor(X), torch.tensor(Y)[:, None])


@pytest.fixture(scope="module")
def network():
    module = restarted(nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)), 0)
    return minimised(module, nn.MSELoss(), torch.tensor(X), torch.tensor(Y)[:, None], 0.02)


def prepared(ours):
    """Return a statistic at the data that it carries."""
    return ours.prepared(read(ours.data, paired=True))


def coefficients(module):
    return {"slopes": module.weight[0], "intercept": module.bias[0]}


def regression_rows():
    return np.column_stack([X, np.ones(N_ROWS)])


# Answers that others know


def test_a_linear_module_is_linear_regression(line):
    """Estimate, influence and replicates, against the closed forms of the catalogue."""
    ours = ob.from_torch(line, nn.MSELoss(), X, Y, coefficients)
    result = ob.bootstrap(ours.data, ours, paired=True, rng=0)
    expected = ob.bootstrap((regression_rows(), Y), ob.linear_regression, paired=True, n_resamples=10, rng=0)
    np.testing.assert_allclose([*result.estimate["slopes"], result.estimate["intercept"]], expected.estimate, rtol=1e-6)
    np.testing.assert_allclose(result.replicates.linear, expected.replicates.linear, atol=1e-8)
    np.testing.assert_allclose(result.replicates.values, expected.replicates.values, atol=1e-5)
    np.testing.assert_allclose(result.run.influence[0], expected.run.influence[0], atol=1e-6)
    assert result.names == ("slopes[0]", "slopes[1]", "slopes[2]", "intercept")


def test_a_logistic_module_is_logistic_regression():
    labels = (Y > 0).astype(float)
    loss = nn.BCEWithLogitsLoss()
    module = minimised(restarted(nn.Linear(3, 1), 0), loss, torch.tensor(X), torch.tensor(labels)[:, None])
    ours = ob.from_torch(module, loss, X, labels, coefficients)
    result = ob.bootstrap(ours.data, ours, paired=True, rng=0)
    expected = ob.bootstrap((regression_rows(), labels), ob.logistic_regression, paired=True, n_resamples=10, rng=0)
    np.testing.assert_allclose([*result.estimate["slopes"], result.estimate["intercept"]], expected.estimate, rtol=1e-5)
    scale = expected.run.influence[0].std(axis=0)
    np.testing.assert_allclose(result.run.influence[0] / scale, expected.run.influence[0] / scale, atol=1e-4)
    np.testing.assert_allclose(result.replicates.values, expected.replicates.values, atol=1e-3)


def test_weight_decay_is_ridge(line):
    decay = 0.3
    module = minimised(
        restarted(nn.Linear(3, 1, bias=False), 0), nn.MSELoss(), torch.tensor(X), torch.tensor(Y)[:, None], decay
    )
    ours = ob.from_torch(module, nn.MSELoss(), X, Y, lambda module: module.weight[0], weight_decay=decay)
    weights = np.random.default_rng(1).poisson(1.0, (2, N_ROWS)).astype(float)
    found = prepared(ours).values(Resamples((weights,)))
    for row, w in zip(found, weights / weights.sum(axis=1, keepdims=True), strict=True):
        expected = np.linalg.solve(2 * (X * w[:, None]).T @ X + decay * np.eye(3), 2 * (X * w[:, None]).T @ Y)
        np.testing.assert_allclose(row, expected, atol=1e-5)


def test_classes_have_probabilities():
    """Three classes with whole-number labels; the influence against differences of refits."""
    labels = np.digitize(Y, [-0.5, 0.5])
    loss = nn.CrossEntropyLoss()
    module = minimised(restarted(nn.Linear(3, 3), 0), loss, torch.tensor(X), torch.tensor(labels), 0.05)
    ours = ob.from_torch(
        module, loss, X, labels, lambda module: module(torch.tensor(NEW)).softmax(dim=1), weight_decay=0.05
    )
    at_data = prepared(ours)
    assert at_data.estimate.reshape(4, 3).sum(axis=1) == pytest.approx(np.ones(4))
    direction, step = np.random.default_rng(1).standard_normal(N_ROWS), 1e-3
    direction -= direction.mean()
    up, down = at_data.values(Resamples((np.stack([1 + step * direction, 1 - step * direction]),)))
    expected = direction @ at_data.influence()[0] / N_ROWS
    np.testing.assert_allclose((up - down) / (2 * step), expected, rtol=1e-2, atol=1e-5)


def test_a_network_against_the_standard_bootstrap(network):
    """Ten refits against a thousand: the standard errors agree within the simulation errors of both.

    That of ten is itself uncertain: by Student's law with nine degrees of freedom four outputs fail with odds of 3e-3.
    """
    ours = ob.from_torch(network, nn.MSELoss(), X, Y, NEW, weight_decay=0.02)
    few = ob.bootstrap(ours.data, ours, paired=True, rng=0)
    many = ob.bootstrap(ours.data, ours, paired=True, rng=1, estimator="standard", n_resamples=1000)
    error = np.hypot(few.simulation_error.standard_error, many.simulation_error.standard_error)
    assert (np.abs(few.standard_error - many.standard_error) < 5 * error).all()


# Targets


@QUIET
def test_targets_are_rows_functions_dicts_and_parameters(network):
    data = {}
    for name, target in {
        "rows": NEW,
        "tensor": torch.tensor(NEW),
        "function": lambda module: module(torch.tensor(NEW))[:, 0],
        "parameters": None,
    }.items():
        ours = ob.from_torch(network, nn.MSELoss(), X, Y, target, weight_decay=0.02)
        data[name] = prepared(ours).estimate
    assert np.array_equal(data["rows"], data["tensor"])
    np.testing.assert_allclose(data["rows"], data["function"], atol=1e-14)
    assert data["parameters"].shape == (21,)
    names = prepared(ours).output.names
    assert names[:2] == ("0.weight[0, 0]", "0.weight[0, 1]")


@QUIET
def test_rows_of_any_shape_and_whole_numbers():
    """A convolution takes images, an embedding takes positions; `bootstrap` sees rows of numbers."""
    images = np.random.default_rng(0).standard_normal((60, 1, 4, 4))
    y = images.mean(axis=(1, 2, 3)) + 0.1 * np.random.default_rng(1).standard_normal(60)
    module = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Tanh(), nn.Flatten(), nn.Linear(8, 1))
    convolution = ob.from_torch(module, nn.MSELoss(), images, y, images[:2], weight_decay=0.1)
    assert ob.bootstrap(convolution.data, convolution, paired=True, rng=0).estimate.shape == (2,)
    positions = np.random.default_rng(0).integers(0, 5, (60, 2))
    embedding = nn.Sequential(nn.Embedding(5, 2), nn.Flatten(), nn.Linear(4, 1))
    ours = ob.from_torch(embedding, nn.MSELoss(), positions, y, positions[:3], weight_decay=0.1)
    assert ob.bootstrap(ours.data, ours, paired=True, rng=0).estimate.shape == (3,)


def test_the_module_is_never_changed(network):
    before = [part.clone() for part in network.parameters()]
    ours = ob.from_torch(network, nn.MSELoss(), X, Y, NEW, weight_decay=0.02)
    ob.bootstrap(ours.data, ours, paired=True, rng=0)
    assert all(torch.equal(old, new) for old, new in zip(before, network.parameters(), strict=True))
    assert all(part.requires_grad for part in network.parameters())


def test_a_module_that_is_not_at_its_minimum_is_brought_there_and_the_user_told(network):
    moved = restarted(network, 0)
    with torch.no_grad():
        for new, old in zip(moved.parameters(), network.parameters(), strict=True):
            new.copy_(old * 1.05)
    ours = ob.from_torch(moved, nn.MSELoss(), X, Y, NEW, weight_decay=0.02)
    with pytest.warns(FitWarning, match=r"`module` was up to [\d.]+ standard errors from the minimum of its loss"):
        result = ob.bootstrap(ours.data, ours, paired=True, rng=0)
    expected = network(torch.tensor(NEW)).detach().numpy()[:, 0]
    np.testing.assert_allclose(result.estimate, expected, atol=1e-4)
    np.testing.assert_allclose(ours.fitted_module()(torch.tensor(NEW)).detach().numpy()[:, 0], expected, atol=1e-4)


def test_the_module_may_be_trained_further_meanwhile(line):
    module = restarted(line, 0)
    ours = ob.from_torch(module, nn.MSELoss(), X, Y, NEW, protocol="paper", epochs=1, batch_size=50)
    expected = module(torch.tensor(NEW)).detach().numpy()[:, 0]
    with torch.no_grad():
        module.weight.add_(1.0)
    assert prepared(ours).estimate == pytest.approx(expected)


# Modules and data of many kinds


def squeezed(module):
    return nn.Sequential(module, nn.Flatten(0))


@pytest.mark.parametrize("solver", ["cholesky", "cg"])
def test_outputs_may_have_no_column(network, solver):
    one, other = (
        ob.from_torch(module, nn.MSELoss(), X, Y, NEW, weight_decay=0.02, solver=solver, curvature="gauss-newton")
        for module in (network, squeezed(network))
    )
    (expected,), (found,) = (prepared(ours).influence() for ours in (one, other))
    np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize("as_labels", [lambda y: y, lambda y: y.astype(int), lambda y: torch.tensor(y).bfloat16()])
def test_labels_of_two_classes_may_be_whole_or_not(as_labels):
    labels, loss = Y > 0, nn.BCEWithLogitsLoss()
    module = minimised(restarted(nn.Linear(3, 1), 0), loss, torch.tensor(X), torch.tensor(1.0 * labels)[:, None])
    one, other = (ob.from_torch(module, loss, X, y, NEW) for y in (1.0 * labels, as_labels(labels)))
    assert np.array_equal(*(prepared(ours).influence()[0] for ours in (one, other)))


@QUIET
def test_whole_numbers_are_columns_like_others(line):
    counts = np.random.default_rng(0).integers(0, 4, (N_ROWS, 3))
    one, other = (ob.from_torch(line, nn.MSELoss(), columns, Y, NEW) for columns in (counts, 1.0 * counts))
    assert np.array_equal(*(prepared(ours).estimate for ours in (one, other)))


class OverTime(nn.Module):
    """A layer that goes along rows of five steps, and a line from what it gives."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer
        self.line = nn.Linear(3, 1)

    def forward(self, rows):
        is_attention = isinstance(self.layer, nn.MultiheadAttention)
        # Without the weights torch takes its fused kernel, which has no second derivative.
        given = self.layer(rows, rows, rows, need_weights=False) if is_attention else self.layer(rows)
        return self.line(given[0].mean(dim=1))


SERIES = RNG.standard_normal((40, 5, 3))
LEVELS = SERIES.mean(axis=(1, 2)) + 0.1 * RNG.standard_normal(40)


def series_model(layer, **options):
    torch.manual_seed(0)
    return ob.from_torch(OverTime(layer()), nn.MSELoss(), SERIES, LEVELS, SERIES[:2], weight_decay=0.1, **options)


def gradient(value, module):
    return torch.cat([part.reshape(-1) for part in torch.autograd.grad(value, list(module.parameters()))]).numpy()


@pytest.mark.parametrize(
    ("layer", "solver"),
    [
        (lambda: nn.MultiheadAttention(3, 1, batch_first=True), "cholesky"),
        (lambda: nn.GRU(3, 3, batch_first=True), "cg"),
    ],
)
def test_series_are_rows_too(layer, solver):
    """The influence against the Gauss-Newton formula with derivatives by plain backward passes, row by row."""
    ours = series_model(layer, curvature="gauss-newton", solver=solver)
    at_data = prepared(ours)
    module = at_data.fitted_module().double()
    network = at_data.network.filled(module, at_data.fit.point)
    rows, levels = torch.tensor(SERIES), torch.tensor(LEVELS)
    jacobian = np.stack([gradient(network(row[None])[0, 0], network) for row in rows])
    theta = np.concatenate([part.detach().numpy().reshape(-1) for part in network.parameters()])
    residuals = (network(rows)[:, 0] - levels).detach().numpy()
    scores = 2 * residuals[:, None] * jacobian + 0.1 * theta
    matrix = 2 * jacobian.T @ jacobian / 40 + 0.1 * np.eye(len(theta))
    expected = -scores @ np.linalg.solve(matrix, jacobian[:2].T)
    expected -= expected.mean(axis=0)
    np.testing.assert_allclose(at_data.influence()[0], expected, atol=1e-5 * np.abs(expected).max())


def test_attention_has_a_second_derivative():
    ours = series_model(lambda: nn.MultiheadAttention(3, 1, batch_first=True))
    loss = prepared(ours).loss
    point, direction = loss.network.start, np.random.default_rng(1).standard_normal(loss.network.size)
    nearby = np.stack([point + 1e-5 * direction, point - 1e-5 * direction])
    _, (up, down) = loss.values_and_gradients(nearby, np.ones((2, 40)))
    np.testing.assert_allclose(loss.hessian(point, np.ones(40)) @ direction, (up - down) / 2e-5, atol=1e-7)


def test_a_recurrent_layer_names_the_solver_that_takes_it():
    ours = series_model(lambda: nn.GRU(3, 3, batch_first=True))
    with pytest.raises(FitError, match='cannot differentiate `OverTime` for single rows.*need solver="cg"'):
        ob.bootstrap(ours.data, ours, paired=True, rng=0)


@QUIET
def test_relu_ends_at_a_kink_and_says_so():
    module = restarted(nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 1)), 0)
    ours = ob.from_torch(module, nn.MSELoss(), X, Y, NEW, weight_decay=0.02)
    with pytest.warns(FitWarning, match="ended at a kink"):
        result = ob.bootstrap(ours.data, ours, paired=True, n_resamples=5, rng=0)
    fit = result.run.prepared.fit
    nearby = fit.point + 1e-3 * np.random.default_rng(0).standard_normal((100, len(fit.point)))
    values, _ = fit.loss.values_and_gradients(np.vstack([fit.point, nearby]), np.ones((101, N_ROWS)))
    assert values.argmin() == 0


@QUIET
def test_a_constant_response_has_a_fit(network):
    ours = ob.from_torch(network, nn.MSELoss(), X, np.ones(N_ROWS), NEW, weight_decay=0.05)
    result = ob.bootstrap(ours.data, ours, paired=True, rng=0)
    assert (result.standard_error < 1e-2).all()


# The paper's protocol


def paper_model(network, **options):
    settings = {"epochs": 20, "batch_size": 50, "learning_rate": 0.01, "weight_decay": 0.02} | options
    return ob.from_torch(network, nn.MSELoss(), X, Y, NEW, protocol="paper", **settings)


def test_fresh_training_varies_by_more_than_the_data_and_says_where_it_stands(network):
    ours = paper_model(network, epochs=200)
    result = ob.bootstrap(ours.data, ours, paired=True, rng=0)
    assert result.estimate == pytest.approx(network(torch.tensor(NEW)).detach().numpy()[:, 0])
    diagnostics = ours.diagnostics(result)
    assert diagnostics.n_parameters == 21
    assert 0.3 < diagnostics.variance_reduction < 30
    assert "at the end of the training" in str(result)


@pytest.mark.parametrize("protocol", ["paper", "polished"])
@QUIET
def test_the_answer_depends_on_the_batch_by_rounding_alone(network, protocol):
    ours = (
        paper_model(network)
        if protocol == "paper"
        else ob.from_torch(network, nn.MSELoss(), X, Y, NEW, weight_decay=0.02)
    )
    results = [
        ob.bootstrap(ours.data, ours, paired=True, rng=0, n_resamples=6, estimator="standard", batch=batch)
        for batch in (1, 4, None)
    ]
    # 20 epochs of three batches each; the 21 parameters are of size one, and a prediction adds up what they move.
    trained = 21 * rounding.trained(60, 0.01)
    tolerance = trained if protocol == "paper" else rounding.SEARCH * results[0].standard_error.min()
    for other in results[1:]:
        np.testing.assert_allclose(other.replicates.values, results[0].replicates.values, rtol=0, atol=tolerance)


@QUIET
def test_a_seed_changes_the_starts(network):
    one, other = (
        ob.bootstrap(ours.data, ours, paired=True, rng=0, estimator="standard", n_resamples=3)
        for ours in (paper_model(network), paper_model(network, seed=1))
    )
    assert not np.array_equal(one.replicates.values, other.replicates.values)


def test_a_training_that_diverges_is_a_failed_replicate(network):
    """Steps of a million overflow in single precision on the first row, and the text says what to do."""
    single = restarted(network, 0).float()
    ours = paper_model(single, learning_rate=1e30)
    with pytest.raises(ReplicationError, match="the loss diverges in training; lower the learning rate or scale X, y"):
        ob.bootstrap(ours.data, ours, paired=True, rng=0, estimator="standard", n_resamples=4)


@QUIET
def test_a_training_that_diverges_on_one_resample_is_left_out(network, monkeypatch):
    ours = paper_model(network)
    trained = FittedTorchModel._trained

    def diverging(self, training, resamples):
        points = trained(self, training, resamples)
        points[1] = np.inf
        return points

    monkeypatch.setattr(FittedTorchModel, "_trained", diverging)
    with pytest.warns(FailedReplicatesWarning, match="the loss diverges in training"):
        result = ob.bootstrap(ours.data, ours, paired=True, rng=0, estimator="standard", n_resamples=6)
    assert result.n_failed == 1


# Diagnostics


def test_diagnostics_of_a_polished_fit(network):
    ours = ob.from_torch(network, nn.MSELoss(), X, Y, NEW, weight_decay=0.02)
    alone = ours.diagnostics()
    assert alone.curvature == "exact Hessian"
    assert alone.gradient_norm < 1e-4
    assert alone.distance < 1e-2
    assert alone.smallest_eigenvalue > 0
    assert alone.solve_residual < 1e-10
    assert np.isnan(alone.variance_reduction)
    result = ob.bootstrap(ours.data, ours, paired=True, rng=0)
    assert ours.diagnostics(result).variance_reduction > 3
    with pytest.raises(ArgumentError, match="`result` must be from this model"):
        ours.diagnostics(ob.bootstrap(X, ob.mean, rng=0))


def test_many_parameters_are_solved_by_products(network, monkeypatch):
    monkeypatch.setattr("orthoboot.models.torch.fit.DENSE_PARAMETERS", 20)
    ours = ob.from_torch(network, nn.MSELoss(), X, Y, NEW, weight_decay=0.02)
    assert "by conjugate gradients since 21 parameters are too many" in ours.diagnostics().curvature
    result = ob.bootstrap(ours.data, ours, paired=True, rng=0)
    held = ob.from_torch(network, nn.MSELoss(), X, Y, NEW, weight_decay=0.02, curvature="gauss-newton")
    np.testing.assert_allclose(
        result.standard_error, ob.bootstrap(held.data, held, paired=True, rng=0).standard_error, rtol=2e-2
    )


# What is refused


@pytest.mark.parametrize(
    ("layer", "words"),
    [
        (nn.Dropout(0.5), "'1', Dropout, .* is random"),
        (nn.BatchNorm1d(4), "'1', BatchNorm1d, .* depends on the other rows"),
    ],
)
def test_a_module_in_training_mode_is_refused(layer, words):
    module = nn.Sequential(nn.Linear(3, 4), layer, nn.Linear(4, 1))
    with pytest.raises(ArgumentError, match=words):
        ob.from_torch(module, nn.MSELoss(), X, Y, NEW)
    ob.from_torch(module.eval(), nn.MSELoss(), X, Y, NEW)
    with pytest.raises(ArgumentError, match="trains without dropout and batch normalisation; `module` has them in '1'"):
        ob.from_torch(module.eval(), nn.MSELoss(), X, Y, NEW, protocol="paper", epochs=1, batch_size=10)


def linear(**options):
    return lambda: ob.from_torch(
        **{"module": nn.Linear(3, 1), "loss": nn.MSELoss(), "X": X, "y": Y, "target": NEW} | options
    )


def with_nan(module):
    with torch.no_grad():
        module.weight[0, 0] = torch.nan
    return module


class Applied(nn.Linear):
    """A line through rows that something is done to first."""

    def __init__(self, function):
        super().__init__(3, 1)
        self.function = function

    def forward(self, rows):
        return super().forward(self.function(rows))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (linear(module=nn.Linear), ArgumentError, r"`module` must be a trained torch.nn.Module.*Write `Linear\(...\)`"),
        (linear(module=nn.Tanh()), ArgumentError, "parameters that require gradients.*has none"),
        (
            linear(module=nn.Linear(5, 1)),
            ArgumentError,
            r"`module` raised .* of X of shape \(3,\).* cannot be multiplied",
        ),
        (
            linear(module=nn.GRU(3, 2)),
            ArgumentError,
            "`module` must return a tensor with one row for each of X; got tuple",
        ),
        (linear(loss=nn.MSELoss), ArgumentError, r"`loss` must be a loss of torch.*Write `MSELoss\(\)`"),
        (linear(loss=nn.NLLLoss()), ArgumentError, "`loss` raised .* For classes y must hold whole numbers"),
        (
            linear(loss=nn.CrossEntropyLoss(weight=torch.ones(1))),
            ArgumentError,
            "divides by the class weights.*reduction='none'",
        ),
        (linear(y=Y[:-1]), DataError, "X and y must have the same number of rows; got 150 and 149"),
        (linear(X=X.astype(str)), DataError, "X must hold numbers"),
        (linear(y=np.where(Y > 1, np.nan, Y)), DataError, r"y must be finite; \d+ of its numbers are not"),
        (linear(target=NEW[:, :2]), ArgumentError, r"rows of the shape of X's, \(3,\); got rows of shape \(2,\)"),
        (linear(protocol="cold"), ArgumentError, "`protocol` must be one of 'polished', 'paper'"),
        (linear(protocol="paper"), ArgumentError, 'protocol="paper" trains from scratch and needs `epochs`'),
        (
            linear(protocol="paper", epochs=0, batch_size=5),
            ArgumentError,
            "`epochs` must be a whole number of at least 1",
        ),
        (linear(protocol="paper", epochs=5, batch_size=5, learning_rate=0), ArgumentError, "`learning_rate` must be"),
        (linear(epochs=5), ArgumentError, "`epochs` and `batch_size` belong to training from scratch"),
        (linear(weight_decay=-1), ArgumentError, "`weight_decay` must be a finite number not below 0; got -1"),
        (linear(curvature="fisher"), ArgumentError, "`curvature` must be one of 'auto', 'hessian', 'gauss-newton'"),
        (linear(damping=np.inf), ArgumentError, "`damping` must be a finite number not below 0"),
        (linear(curvature="hessian", solver="cg"), ArgumentError, "which conjugate gradients do not store"),
        (linear(X=X[:0], y=Y[:0]), DataError, r"X must hold numbers, with the rows first; got .* shape \(0, 3\)"),
        (linear(module=with_nan(nn.Linear(3, 1))), ArgumentError, "finite parameters; those of 'weight' are NaN"),
        (
            linear(loss=lambda outputs, y: nn.functional.mse_loss(outputs, y).sqrt()),
            ArgumentError,
            "`loss` must return the mean or the sum of the losses of the rows",
        ),
        (
            linear(
                module=nn.Linear(3, 2),
                y=(Y > 0).astype(int),
                loss=lambda outputs, y: nn.functional.cross_entropy(outputs, y, torch.tensor([1.0, 5.0]).double()),
            ),
            ArgumentError,
            "`loss` must return the mean or the sum of the losses of the rows",
        ),
        (
            linear(module=Applied(lambda rows: rows - rows.mean(dim=0))),
            ArgumentError,
            "same output every time, whatever the other rows",
        ),
        (
            linear(module=Applied(nn.functional.dropout)),
            ArgumentError,
            "same output every time, whatever the other rows",
        ),
        (linear(module=Applied(lambda rows: rows.sub_(1.0))), ArgumentError, "must not change X in place"),
    ],
)
def test_bad_arguments(call, error, words):
    with pytest.raises(error, match=f"(?s){words}"):
        call()


def test_data_of_another_shape_are_refused(line):
    ours = ob.from_torch(line, nn.MSELoss(), X, Y, NEW)
    with pytest.raises(DataError, match=r"X must have 3 number\(s\) per row, as in `from_torch`; got shape \(150, 2\)"):
        ob.bootstrap((X[:, :2], Y), ours, paired=True)
    with pytest.raises(DataError, match="takes the data `\\(X, y\\)` with `paired=True`"):
        ob.bootstrap((X, Y), ours)


def test_a_loss_without_a_minimum_is_told():
    """Classes that a column separates: the weights grow for ever."""
    labels = (X[:, 0] > 0).astype(float)
    ours = ob.from_torch(nn.Linear(3, 1), nn.BCEWithLogitsLoss(), X, labels, NEW)
    with pytest.raises(FitError, match="`Linear` has no fit on these data: .*(no unique minimum|did not reach)"):
        ob.bootstrap(ours.data, ours, paired=True, rng=0)


def test_a_target_that_hides_from_the_derivative_is_told(line):
    ours = ob.from_torch(line, nn.MSELoss(), X, Y, lambda module: module.weight.detach()[0])
    with pytest.warns(FallbackWarning, match="instead of estimator='orthogonal'.*`target` must depend smoothly"):
        ob.bootstrap(ours.data, ours, paired=True, n_resamples=20, rng=0)


@pytest.mark.parametrize("estimator", ["standard", "cheap"])
def test_an_accuracy_has_a_standard_error_without_an_influence_function(estimator):
    labels = (Y > 0).astype(np.int64)
    rows, own = torch.tensor(X), torch.tensor(labels)
    module = restarted(nn.Linear(3, 2), 0)
    ours = ob.from_torch(
        module,
        nn.CrossEntropyLoss(),
        X,
        labels,
        lambda module: (module(rows).argmax(1) == own).double().mean(),
        weight_decay=0.1,
    )
    result = ob.bootstrap(ours.data, ours, paired=True, estimator=estimator, n_resamples=20, rng=0)
    assert 0.7 < result.estimate < 1
    assert result.standard_error > 0


def test_a_target_that_raises_is_told_before_the_search_for_a_minimum(line, monkeypatch):
    def never(*arguments, **options):
        raise AssertionError("the search must not have begun")

    monkeypatch.setattr("orthoboot.models.torch.fit.polished", never)
    ours = ob.from_torch(line, nn.MSELoss(), X, Y, lambda module: module.weights[0])
    with pytest.raises(StatisticError, match="`target` raised AttributeError"):
        ob.bootstrap(ours.data, ours, paired=True, rng=0)


def test_without_torch_the_extra_is_named(monkeypatch):
    monkeypatch.setattr("orthoboot.models.torch.module.find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"orthoboot\[torch\]"):
        ob.from_torch(None, None, X, Y)
