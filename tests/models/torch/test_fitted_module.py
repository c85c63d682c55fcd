"""A module at its data: in other processes, in threads, and with refits that fail."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from tests import elsewhere

import orthoboot as ob
from orthoboot.data import read
from orthoboot.functionals.evaluation import Convergence
from orthoboot.plans import key_from, plan_for

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from orthoboot.models.torch import FittedTorchModel  # noqa: E402
from orthoboot.models.torch.training import restarted  # noqa: E402

N_ROWS = 40
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N_ROWS, 3))
Y = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.3 * RNG.standard_normal(N_ROWS)
NEW = RNG.standard_normal((4, 3))


def tanh_network():
    return restarted(nn.Sequential(nn.Linear(3, 2), nn.Tanh(), nn.Linear(2, 1)), 0)


def statistic(target=NEW, **options):
    return ob.from_torch(tanh_network(), nn.MSELoss(), X, Y, target, **{"weight_decay": 0.2} | options)


def sum_of_weights(module):
    return {"sum": sum((part**2).sum() for part in module.parameters()), "bias": module[2].bias[0]}


def evenly_placed(module):
    rows = torch.linspace(-1, 1, 12, dtype=torch.float64).reshape(4, 3)
    return module(rows)[:, 0]


CASES = {
    "rows": lambda: statistic(),
    "function": lambda: statistic(evenly_placed),
    "dict": lambda: statistic(sum_of_weights),
    "parameters": lambda: statistic(None),
    "conjugate gradients": lambda: statistic(solver="cg"),
    "paper": lambda: statistic(protocol="paper", epochs=3, batch_size=30),
}
every_case = pytest.mark.parametrize("case", CASES)


def at_data(ours):
    return ours.at(read(ours.data, paired=True))


def resampled(n_resamples=3):
    return plan_for([N_ROWS]).resamples(key_from(5), range(n_resamples))


def numbers(prepared, resamples):
    """Return all that a run asks of a module at its data, as numbers."""
    evaluation = prepared.evaluate(resamples)
    counts = [evaluation.converged.sum(), evaluation.succeeded.sum(), len(prepared.findings())]
    return [prepared.estimate, evaluation.values, *prepared.influence(), np.array(counts, dtype=float)]


TOLERANCE = 1e-5
"""How far apart equal fits may be, relative to the largest number: a search ends where it is good enough."""


# Elsewhere


def test_a_fresh_process_gives_the_same_numbers(tmp_path):
    prepared = [at_data(make()) for make in CASES.values()]
    # Functions of the tests are not known there by their names.
    elsewhere.check_in_fresh_process([], resampled(), tmp_path, unnamed=prepared, tolerance=TOLERANCE)


@every_case
def test_what_was_found_is_pickled_with_it_but_for_the_program_of_the_target(case):
    prepared, resamples = at_data(CASES[case]()), resampled(2)
    expected = numbers(prepared, resamples)
    again = pickle.loads(pickle.dumps(prepared))
    assert vars(prepared).keys() - vars(again).keys() == {"parameter_target"}
    elsewhere.check_equal(expected, numbers(again, resamples), TOLERANCE)


@every_case
def test_threads_give_what_one_gives(case):
    """Where they share an object, and where each prepares its own; what torch has once is left as it was."""
    ours = CASES[case]()
    torch.manual_seed(7)
    n_threads, state = torch.get_num_threads(), torch.get_rng_state()
    elsewhere.check_in_threads(lambda: at_data(ours), resampled(2), used=numbers, tolerance=TOLERANCE)
    assert torch.get_num_threads() == n_threads
    assert torch.equal(torch.get_rng_state(), state)


def test_a_module_at_its_data_has_a_copy_of_its_own():
    ours = statistic()
    one, other = at_data(ours), at_data(ours)
    modules = [ours.module, one.network._module, other.network._module]
    assert len({part.data_ptr() for module in modules for part in module.parameters()}) == 3 * 4


# Refits


def test_a_training_takes_its_seed_from_the_run_and_its_number():
    prepared, plan = at_data(CASES["paper"]()), plan_for([N_ROWS])
    weights = np.ones((1, N_ROWS))

    def trained(key, number):
        resamples = plan.resamples(key_from(key), [number])
        vars(resamples)["_drawn"] = (weights,)  # the rows as they are, so that nothing else can differ
        return prepared.values(resamples)

    np.testing.assert_array_equal(trained(0, 3), trained(0, 3))
    assert not np.array_equal(trained(0, 3), trained(0, 4))
    assert not np.array_equal(trained(0, 3), trained(1, 3))


def test_a_target_that_raises_on_one_refit_is_one_failure(monkeypatch):
    prepared, resamples = at_data(statistic()), resampled(4)
    expected, values, batches = prepared.values(resamples), [], []
    value, refits = FittedTorchModel._value, FittedTorchModel._refits

    def raising(self, point):
        values.append(value(self, point))
        if len(values) == 3:
            raise ArithmeticError("no value here")
        return values[-1]

    def counted(self, resamples):
        batches.append(len(resamples))
        return refits(self, resamples)

    monkeypatch.setattr(FittedTorchModel, "_value", raising)
    monkeypatch.setattr(FittedTorchModel, "_refits", counted)
    evaluation = prepared.evaluate(resamples)
    assert batches == [4]
    assert evaluation.failures[2].reason == "ArithmeticError: no value here"
    assert evaluation.succeeded.tolist() == [True, True, False, True]
    np.testing.assert_array_equal(evaluation.values[evaluation.succeeded], expected[[0, 1, 3]])


def test_refits_that_reach_no_minimum_are_counted_among_the_refits():
    prepared = at_data(statistic())
    told = [str(finding) for finding in prepared.findings(Convergence(10, 2))]
    assert any("2 of 10 refits of `Sequential` did not reach a minimum" in text for text in told)
    assert not any("did not reach a minimum" in str(finding) for finding in prepared.findings(Convergence(10, 0)))
