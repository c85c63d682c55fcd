"""The torch engine: derivatives, training in company, minima and refits."""

from __future__ import annotations

import numpy as np
import pytest
from tests import rounding

from orthoboot.draws.resamples import Resamples
from orthoboot.errors import FitError

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from orthoboot.models.torch import training  # noqa: E402
from orthoboot.models.torch.fit import CurvatureOptions, NetworkFit, curvature_at, loss_unit, polished  # noqa: E402
from orthoboot.models.torch.network import Network, NetworkLoss, groups_of, tensor, threads_for  # noqa: E402
from orthoboot.models.torch.training import AdamTraining, layers_without_start, restarted  # noqa: E402

N_ROWS = 80
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N_ROWS, 3))
Y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.2 * RNG.standard_normal(N_ROWS)
LABELS = RNG.integers(0, 3, N_ROWS)
WEIGHTS = RNG.poisson(1.0, (6, N_ROWS)).astype(float)


def squares(output, target):
    return ((output[0] - target) ** 2).sum()


def cross_entropy(output, target):
    return nn.functional.cross_entropy(output[None], target[None])


def tanh_network(n_units=5, n_outputs=1, seed=0, dtype=torch.float32):
    module = nn.Sequential(nn.Linear(3, n_units), nn.Tanh(), nn.Linear(n_units, n_outputs)).to(dtype)
    return restarted(module, seed)


def squares_loss(decay=0.02, **options) -> NetworkLoss:
    network = Network(tanh_network(**options))
    return NetworkLoss(network, squares, tensor(X), tensor(Y), np.full(network.size, decay))


def classes_loss() -> NetworkLoss:
    network = Network(tanh_network(n_outputs=3))
    return NetworkLoss(network, cross_entropy, tensor(X), torch.from_numpy(LABELS), np.full(network.size, 0.02))


LOSSES = {"squares": squares_loss, "classes": classes_loss}


@pytest.fixture(params=LOSSES)
def loss(request) -> NetworkLoss:
    return LOSSES[request.param]()


def gradient_at(loss, point, weights):
    return loss.values_and_gradients(point[np.newaxis], weights[np.newaxis])[1][0]


# Derivatives


def test_gradients_are_those_of_the_value(loss):
    point, direction, step = loss.network.start, np.random.default_rng(1).standard_normal(loss.network.size), 1e-6
    nearby = np.stack([point + step * direction, point - step * direction])
    (up, down), _ = loss.values_and_gradients(nearby, WEIGHTS[[0, 0]])
    np.testing.assert_allclose((up - down) / (2 * step), gradient_at(loss, point, WEIGHTS[0]) @ direction, rtol=1e-6)


def test_the_weighted_mean_of_the_scores_is_the_gradient(loss):
    scores = loss.scores(loss.network.start)
    np.testing.assert_allclose(
        WEIGHTS[0] @ scores / WEIGHTS[0].sum(), gradient_at(loss, loss.network.start, WEIGHTS[0]), atol=1e-14
    )


def test_scores_along_directions_are_the_scores_times_them(loss):
    directions = np.random.default_rng(1).standard_normal((4, loss.network.size))
    expected = loss.scores(loss.network.start) @ directions.T
    np.testing.assert_allclose(loss.scores_along(directions, loss.network.start), expected, atol=1e-12)


def test_the_hessian_is_the_derivative_of_the_gradient(loss):
    point, steps = loss.network.start, 1e-5 * np.eye(loss.network.size)
    weights = np.tile(WEIGHTS[0], (len(steps), 1))
    _, up = loss.values_and_gradients(point + steps, weights)
    _, down = loss.values_and_gradients(point - steps, weights)
    np.testing.assert_allclose(loss.hessian(point, WEIGHTS[0]), (up - down) / 2e-5, atol=1e-8)


def test_gauss_newton_is_the_hessian_of_the_network_made_linear():
    """Of a linear network it is the Hessian itself, and of any network the part without its second derivative."""
    linear = Network(nn.Linear(3, 3))
    for row_loss, target in ((squares, tensor(Y)), (cross_entropy, torch.from_numpy(LABELS))):
        loss = NetworkLoss(linear, row_loss, tensor(X), target, np.full(linear.size, 0.02))
        np.testing.assert_allclose(
            loss.gauss_newton(linear.start, WEIGHTS[0]), loss.hessian(linear.start, WEIGHTS[0]), atol=1e-13
        )


def test_gauss_newton_products_are_those_of_the_matrix(loss):
    vector = np.random.default_rng(1).standard_normal(loss.network.size)
    expected = loss.gauss_newton(loss.network.start, WEIGHTS[0]) @ vector
    found = loss.gauss_newton_product(loss.network.start, WEIGHTS[0], vector)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert np.linalg.eigvalsh(loss.gauss_newton(loss.network.start, WEIGHTS[0]))[0] > 0.019


def test_outputs_and_their_derivative():
    network = Network(tanh_network(n_outputs=2))
    points = network.start + 0.1 * np.random.default_rng(1).standard_normal((3, network.size))
    outputs = network.outputs(points, tensor(X))
    assert outputs.shape == (3, N_ROWS, 2)
    module = network.filled(tanh_network(n_outputs=2), points[1]).double()
    # Filling rounds to the module's own precision.
    np.testing.assert_allclose(module(tensor(X)).detach().numpy(), outputs[1], atol=1e-6)
    jacobian, step, direction = network.output_jacobian(points[0], tensor(X)), 1e-6, points[1]
    up, down = network.outputs(np.stack([points[0] + step * direction, points[0] - step * direction]), tensor(X))
    np.testing.assert_allclose(jacobian @ direction, (up - down) / (2 * step), atol=1e-8)


def test_pieces_of_the_rows_make_the_same(monkeypatch, loss):
    whole = [loss.scores(loss.network.start), loss.hessian(loss.network.start, WEIGHTS[0])]
    whole += [loss.gauss_newton(loss.network.start, WEIGHTS[0]), loss.row_losses(loss.network.start)]
    for constant, few in (("_ROWS_AT_ONCE", 7), ("_HESSIAN_ROWS", 9), ("_ROW_GRADIENTS_AT_ONCE", 300)):
        monkeypatch.setattr(f"orthoboot.models.torch.network.{constant}", few)
    pieces = [loss.scores(loss.network.start), loss.hessian(loss.network.start, WEIGHTS[0])]
    pieces += [loss.gauss_newton(loss.network.start, WEIGHTS[0]), loss.row_losses(loss.network.start)]
    for one, other in zip(whole, pieces, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-14)


def test_many_outputs_do_not_take_more_memory(monkeypatch):
    monkeypatch.setattr("orthoboot.models.torch.network._ROW_GRADIENTS_AT_ONCE", 10_000)
    network = Network(nn.Linear(3, 10))
    assert network.jacobians_at_once(tensor(X)) == 10_000 // (40 * 10)


def test_frozen_parameters_stay_and_have_no_place_among_the_others():
    module = tanh_network()
    module[0].requires_grad_(False)
    network = Network(module)
    assert network.size == 6
    assert network.names == ("2.weight[0, 0]", *(f"2.weight[0, {unit}]" for unit in range(1, 5)), "2.bias[0]")
    np.testing.assert_allclose(
        network.outputs(network.start[np.newaxis], tensor(X))[0], module(tensor(X).float()).detach().numpy(), atol=1e-6
    )


def test_small_work_takes_one_thread_and_gives_the_others_back():
    before = torch.get_num_threads()
    with threads_for(10.0):
        assert torch.get_num_threads() == 1
    with threads_for(1e9):
        assert torch.get_num_threads() == before
    assert torch.get_num_threads() == before


# Training from scratch


TRAINING = AdamTraining(epochs=6, batch_size=30, learning_rate=0.01, weight_decay=0.02)
N_STEPS = 6 * 3
ROWS = [np.random.default_rng(seed).integers(0, N_ROWS, N_ROWS) for seed in range(5)]


def one_by_one(module, rows, seed):
    """The training as anyone writes it: one network, torch's own Adam on its own parameters."""
    network = restarted(module, seed)
    optimiser = torch.optim.Adam(network.parameters(), 0.01, weight_decay=0.02)
    shuffle = torch.Generator().manual_seed(seed)
    for _ in range(6):
        order = rows[torch.randperm(N_ROWS, generator=shuffle).numpy()]
        for start in range(0, N_ROWS, 30):
            batch = order[start : start + 30]
            optimiser.zero_grad()
            ((network(tensor(X[batch]))[:, 0] - tensor(Y[batch])) ** 2).mean().backward()
            optimiser.step()
    return np.concatenate([part.detach().numpy().reshape(-1) for part in network.parameters()])


@pytest.mark.parametrize("before", [0, 64], ids=["recorded", "as they come"])
def test_networks_trained_together_are_those_trained_one_by_one(monkeypatch, before):
    monkeypatch.setattr(training, "_BEFORE_RECORDING", before)
    module = tanh_network(dtype=torch.float64)
    together = TRAINING.points(module, squares, tensor(X), tensor(Y), ROWS, range(5))
    alone = np.stack([one_by_one(module, rows, seed) for seed, rows in enumerate(ROWS)])
    np.testing.assert_allclose(together, alone, rtol=1e-9, atol=1e-11)
    assert np.abs(together - np.roll(together, 1, axis=0)).max() > 0.1


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("chosen", [[0], [3], [1, 2], [4, 2, 0]])
def test_a_network_depends_on_its_company_by_rounding_alone(dtype, chosen):
    module = tanh_network(n_units=33, dtype=getattr(torch, dtype))
    together = TRAINING.points(module, squares, tensor(X), tensor(Y), ROWS, range(5))
    some = TRAINING.points(module, squares, tensor(X), tensor(Y), [ROWS[b] for b in chosen], chosen)
    np.testing.assert_allclose(together[chosen], some, rtol=0, atol=rounding.trained(N_STEPS, 0.01, dtype))


def test_the_same_training_has_the_same_bits():
    module = tanh_network(n_units=33)
    one, other = (TRAINING.points(module, squares, tensor(X), tensor(Y), ROWS, range(5)) for _ in range(2))
    assert np.array_equal(one, other)
    # The kernels of MKL round by where an array lies.
    assert {tensor(np.zeros(size)).data_ptr() % 64 for size in range(1, 50)} == {0}


@pytest.mark.parametrize("before", [0, 3])
def test_a_recording_changes_rounding_alone(monkeypatch, before):
    """The first steps of a shape are made without one; MKL rounds alike on some processors, not on all."""
    module = tanh_network(n_units=33)
    never = TRAINING.points(module, squares, tensor(X), tensor(Y), ROWS, range(5))
    monkeypatch.setattr(training, "_BEFORE_RECORDING", before)
    recorded = TRAINING.points(module, squares, tensor(X), tensor(Y), ROWS, range(5))
    np.testing.assert_allclose(recorded, never, rtol=0, atol=rounding.trained(N_STEPS, 0.01, "float32"))


def test_rows_of_other_lengths_change_nothing():
    """As resamples of groups have: those of one length are trained together."""
    shorter = [rows[: N_ROWS - 7 * (b % 3)] for b, rows in enumerate(ROWS)]
    module = tanh_network()
    together = TRAINING.points(module, squares, tensor(X), tensor(Y), shorter, range(5))
    alone = [TRAINING.points(module, squares, tensor(X), tensor(Y), [rows], [b]) for b, rows in enumerate(shorter)]
    tolerance = rounding.trained(N_STEPS, 0.01, "float32")
    np.testing.assert_allclose(together, np.concatenate(alone), rtol=0, atol=tolerance)


def test_training_in_half_precision():
    points = TRAINING.points(tanh_network(dtype=torch.bfloat16), squares, tensor(X), tensor(Y), ROWS[:2], [0, 1])
    single = TRAINING.points(tanh_network(), squares, tensor(X), tensor(Y), ROWS[:2], [0, 1])
    assert points.dtype == np.float64
    assert np.isfinite(points).all()
    assert points.shape == single.shape


def test_training_leaves_the_module_and_the_global_generator_alone():
    module = tanh_network()
    before, state = [part.clone() for part in module.parameters()], torch.get_rng_state()
    TRAINING.points(module, squares, tensor(X), tensor(Y), ROWS[:2], [0, 1])
    assert all(torch.equal(old, new) for old, new in zip(before, module.parameters(), strict=True))
    assert torch.equal(state, torch.get_rng_state())


def test_no_network_is_alone():
    assert [group.tolist() for group in groups_of(7, 3)] == [[0, 1, 2], [3, 4, 5], [6, 6]]
    assert [group.tolist() for group in groups_of(1, 3)] == [[0, 0]]


def test_a_seed_is_that_of_the_resample():
    assert Resamples((WEIGHTS,)).seeds(0) == Resamples((WEIGHTS.copy(),)).seeds(0)
    assert len({seed for own in (0, 1) for seed in Resamples((WEIGHTS,)).seeds(own)}) == 12


def test_layers_without_a_start_are_named():
    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.factor = nn.Parameter(torch.ones(1))

    assert layers_without_start(nn.Sequential(nn.Linear(3, 2), Scale())) == ["1"]
    assert layers_without_start(tanh_network()) == []


# Minima and refits


@pytest.fixture(scope="module")
def fit() -> NetworkFit:
    loss = squares_loss()
    return polished(loss, loss.network.start, CurvatureOptions())


def test_a_polished_fit_is_at_a_minimum(fit):
    assert fit.gradient_norm < 1e-5
    assert fit.curvature.title == "exact Hessian"
    assert fit.curvature.smallest_eigenvalue > 0
    assert fit.solve_residual < 1e-10


def test_refits_are_minima_at_their_weights(fit):
    """What Newton's step would still gain, in units of the error of estimation, is next to nothing."""
    found = fit.refits(WEIGHTS)
    assert found.converged.all()
    unit = fit.loss.row_losses(fit.point).std() / N_ROWS
    for point, weights in zip(found.points, WEIGHTS, strict=True):
        gradient = gradient_at(fit.loss, point, weights)
        gain = gradient @ np.linalg.solve(fit.loss.gauss_newton(point, weights), gradient)
        assert gain < 1e-4 * unit
        assert gain < 1e-6 * (gradient_at(fit.loss, fit.point, weights) @ (fit.point - point))


@pytest.mark.parametrize("chosen", [[2], [0, 5], [1, 3, 4], [5, 4, 3, 2, 1, 0]])
def test_a_refit_is_the_same_minimum_in_any_company(fit, chosen):
    """In the norm of the curvature, whose unit is a standard error."""
    together, some = fit.refits(WEIGHTS).points[chosen], fit.refits(WEIGHTS[chosen]).points
    unit = loss_unit(fit.loss, fit.point)
    for apart, point, weights in zip(together - some, some, WEIGHTS[chosen], strict=True):
        assert apart @ fit.loss.gauss_newton(point, weights) @ apart < rounding.SEARCH**2 * unit


def test_the_influence_is_the_derivative_of_refits_by_the_weights(fit):
    """Minima at weights tilted to either side of equal ones, against the implicit function theorem."""
    jacobian = fit.loss.network.output_jacobian(fit.point, tensor(X[:5]))[:, 0]
    direction, step = np.random.default_rng(1).standard_normal(N_ROWS), 1e-3
    direction -= direction.mean()
    found = fit.refits(np.stack([1 + step * direction, 1 - step * direction]))
    up, down = fit.loss.network.outputs(found.points, tensor(X[:5]))[..., 0]
    np.testing.assert_allclose(
        (up - down) / (2 * step), direction @ fit.influence(jacobian) / N_ROWS, rtol=2e-3, atol=1e-4
    )


def test_conjugate_gradients_give_what_the_factor_of_the_same_matrix_gives(fit):
    jacobian = fit.loss.network.output_jacobian(fit.point, tensor(X[:5]))[:, 0]
    held = curvature_at(fit.loss, fit.point, CurvatureOptions("gauss-newton"))
    by_products = curvature_at(fit.loss, fit.point, CurvatureOptions(solver="cg"))
    assert by_products.matrix is None
    expected = NetworkFit(fit.loss, fit.point, held).influence(jacobian)
    found = NetworkFit(fit.loss, fit.point, by_products)
    np.testing.assert_allclose(found.influence(jacobian), expected, atol=1e-5 * np.abs(expected).max())
    assert found.solve_residual < 1e-5
    assert np.isnan(by_products.smallest_eigenvalue)


def test_a_search_without_the_matrix_finds_the_same_minimum():
    loss = squares_loss(n_units=2, decay=0.1)
    held = polished(loss, loss.network.start, CurvatureOptions())
    by_products = polished(loss, loss.network.start, CurvatureOptions(solver="cg"))
    # The units may have changed places and signs.
    one, other = loss.network.outputs(np.stack([held.point, by_products.point]), tensor(X))
    np.testing.assert_allclose(one, other, atol=1e-4)


class Product(nn.Module):
    """``a b`` for every row: at a = b = 0 nothing has a slope, and the loss falls to two sides."""

    def __init__(self):
        super().__init__()
        self.factors = nn.Parameter(torch.zeros(2))

    def forward(self, rows):
        return self.factors.prod().expand(len(rows), 1)


@pytest.mark.parametrize(("kind", "product"), [("auto", 1 - 0.01 / 2), ("gauss-newton", 0.0)])
def test_a_search_leaves_a_saddle_where_the_exact_hessian_shows_it(kind, product):
    """Of ``(a b - 1)**2 + (d/2)(a**2 + b**2)`` the minimum is at ``a b = 1 - d/2``."""
    network = Network(Product())
    loss = NetworkLoss(network, squares, tensor(X), torch.ones(N_ROWS, dtype=torch.float64), np.full(2, 0.01))
    found = polished(loss, network.start, CurvatureOptions(kind))
    assert found.point.prod() == pytest.approx(product, abs=1e-6)


def test_without_a_penalty_damping_makes_the_curvature_regular():
    """More parameters than rows: some directions move no prediction."""
    loss = squares_loss(n_units=30, decay=0.0)
    curvature = curvature_at(loss, loss.network.start, CurvatureOptions("gauss-newton"))
    assert curvature.damping > 0
    with pytest.raises(FitError, match="Gauss-Newton matrix is singular"):
        curvature_at(loss, loss.network.start, CurvatureOptions("gauss-newton", damping=0.0))


def test_an_indefinite_hessian_gives_way_to_gauss_newton_unless_it_is_asked_for():
    loss = squares_loss(n_units=30, decay=0.0)
    assert curvature_at(loss, loss.network.start, CurvatureOptions()).reason.startswith(
        "since the exact Hessian is not"
    )
    with pytest.raises(FitError, match="exact Hessian is (indefinite|singular)"):
        curvature_at(loss, loss.network.start, CurvatureOptions("hessian"))


def test_a_loss_that_is_not_finite_is_told():
    loss = squares_loss()
    with pytest.raises(
        FitError, match="the loss is not finite where the search for the minimum starts, on 80 of 80 rows"
    ):
        polished(loss, np.full(loss.network.size, np.nan), CurvatureOptions())
