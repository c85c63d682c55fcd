"""Every package gives the derivatives of functions written in it, in double precision."""

from __future__ import annotations

import importlib
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from tests import elsewhere

from orthoboot.autodiff import Autodiff, autodiff, autodiff_for, package_asked, package_named, package_of, selection
from orthoboot.autodiff.base import points_at_once
from orthoboot.errors import ArgumentError, InfluenceError, MissingDependencyError

POINT = np.array([0.5, -1.0, 2.0])
MATRIX = np.random.default_rng(0).normal(size=(4, 3))
DIRECTION = np.array([1.0, 2.0, -0.5])


@pytest.fixture
def package(library: str) -> Autodiff:
    return autodiff(library)


def cubes(point, matrix):
    """No names of any package: runs in all of them."""
    return (matrix @ point) ** 3


def total(point, matrix):
    return cubes(point, matrix).sum()


INNER = MATRIX @ POINT
JACOBIAN = 3 * INNER[:, None] ** 2 * MATRIX
HESSIAN = (MATRIX.T * 6 * INNER) @ MATRIX


@pytest.mark.parametrize(
    ("method", "f", "arguments", "expected"),
    [
        ("function", cubes, (POINT,), INNER**3),
        ("gradient", total, (POINT,), JACOBIAN.sum(axis=0)),
        ("jacobian", cubes, (POINT,), JACOBIAN),
        ("hessian", total, (POINT,), HESSIAN),
        ("along", cubes, (DIRECTION, POINT), JACOBIAN @ DIRECTION),
        ("curvature_along", cubes, (DIRECTION, POINT), 6 * INNER * (MATRIX @ DIRECTION) ** 2),
        ("hessian_product", total, (DIRECTION, POINT), HESSIAN @ DIRECTION),
        ("one_by_one", cubes, (np.stack([POINT, DIRECTION]),), np.stack([INNER**3, (MATRIX @ DIRECTION) ** 3])),
    ],
)
def test_the_derivatives_are_those_of_calculus(package: Autodiff, method, f, arguments, expected):
    found = getattr(package, method)(f)(*arguments, package.array(MATRIX))
    assert isinstance(found, np.ndarray)
    assert found.dtype == np.float64
    # Single precision would be off by 1e-8.
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(
    ("order", "expected"),
    [(0, lambda inner, matrix: (inner**3).sum()), (1, lambda i, m: 3 * i**2 @ m), (2, lambda i, m: (m.T * 6 * i) @ m)],
)
def test_many_points_side_by_side_have_arrays_of_their_own(package: Autodiff, order, expected):
    points, matrices = np.stack([POINT, DIRECTION]), np.stack([MATRIX, 2 * MATRIX])
    found = package.side_by_side(total, order)(points, matrices)
    each = [expected(matrix @ point, matrix) for point, matrix in zip(points, matrices, strict=True)]
    np.testing.assert_allclose(found, np.stack(each), rtol=1e-13)


def test_a_path_that_depends_on_the_numbers_cannot_be_taken_side_by_side(package: Autodiff):
    bent = package.side_by_side(lambda point: point.sum() if point[0] > 0 else -point.sum())
    with pytest.raises(Exception, match="control flow|bool"):
        bent(np.stack([POINT, -POINT]))


def test_operations_that_torch_takes_one_by_one_bring_no_warning(torch):
    """Such as histograms; pytest makes an error of a warning."""
    counts = autodiff("torch").side_by_side(lambda point: torch.histc(point).sum() + point.sum())
    np.testing.assert_allclose(counts(np.stack([POINT, DIRECTION])), 3 + np.array([POINT.sum(), DIRECTION.sum()]))


def weighted(point, weights, matrix):
    return weights @ (matrix @ point) ** 3


def pulled(point, weights, matrix):
    return matrix.T @ (weights * (matrix @ point) ** 3)


@pytest.mark.parametrize("number", [1, 5, 600])
def test_derivatives_side_by_side_are_those_of_each(package: Autodiff, number):
    """Each point with weights of its own; 600 are taken in three chunks."""
    generator = np.random.default_rng(number)
    points, weights = generator.normal(size=(number, 3)), generator.random((number, 4))
    inner, matrix = points @ MATRIX.T, package.array(MATRIX)
    slopes, curvatures = 3 * weights * inner**2, 6 * weights * inner
    found = package.gradients_and_hessians(weighted)(points, weights, matrix)
    assert found.shape == (number, 4, 3)
    np.testing.assert_allclose(found[:, 0], slopes @ MATRIX, rtol=1e-12, atol=1e-12)
    hessians = np.einsum("bn,np,nq->bpq", curvatures, MATRIX, MATRIX)
    np.testing.assert_allclose(found[:, 1:], hessians, rtol=1e-12, atol=1e-12)
    found = package.values_and_jacobians(pulled)(points, weights, matrix)
    np.testing.assert_allclose(found[:, 0], (weights * inner**3) @ MATRIX, rtol=1e-12, atol=1e-12)
    transposed = np.einsum("bn,np,nq->bqp", slopes, MATRIX, MATRIX)
    np.testing.assert_allclose(found[:, 1:], transposed, rtol=1e-12, atol=1e-12)


def test_derivatives_side_by_side_are_held_for_few_points_at_a_time():
    assert points_at_once(10, 2) == 256
    assert points_at_once(5000, 20) == 5
    assert points_at_once(10_000_000, 3) == 1


def test_many_numbers_give_the_same_derivative_as_few(jax):
    """Beyond a size outputs are taken one after the other."""
    numpy = jax.numpy
    wide = np.random.default_rng(1).normal(size=(3, 40_000))
    found = autodiff("jax").jacobian(lambda point: numpy.asarray(wide) @ point**2)(np.arange(40_000.0))
    np.testing.assert_allclose(found, 2 * wide * np.arange(40_000.0), rtol=1e-13)


def test_a_value_does_not_depend_on_the_others_to_the_last_bit(package: Autodiff):
    f = package.one_by_one(lambda point, matrix: matrix @ (point / point.sum()))
    points = np.random.default_rng(2).gamma(2.0, size=(1100, 37))
    matrix = package.array(np.random.default_rng(3).normal(size=(5, 37)))
    together = f(points, matrix)
    for size in (1, 2, 3, 100):
        np.testing.assert_array_equal(f(points[:size], matrix), together[:size])
    np.testing.assert_array_equal(f(points[::-1], matrix), together[::-1])


def test_a_function_whose_path_depends_on_its_numbers_is_evaluated_as_it_is(package: Autodiff):
    def bent(point):
        return point * 2 if point[0] > 0 else -point

    np.testing.assert_array_equal(package.function(bent)(POINT), 2 * POINT)
    np.testing.assert_array_equal(package.one_by_one(bent)(np.stack([POINT, -POINT])), np.stack([2 * POINT, POINT]))
    np.testing.assert_array_equal(package.jacobian(package.traced(bent, POINT))(-POINT), -np.eye(3))


def test_values_in_lists_become_one_vector(package: Autodiff):
    value = [package.array([1.0, 2.0]), (package.array(3.0), 0.1)]
    np.testing.assert_array_equal(package.numbers(package.called(package.flat, value)), [1.0, 2.0, 3.0, 0.1])


def test_a_constant_has_derivative_zero(package: Autodiff):
    np.testing.assert_array_equal(package.jacobian(lambda point, x: x * 1.0)(POINT, np.ones(2)), np.zeros((2, 3)))


# What is compiled is kept


def test_the_same_steps_are_one_program(jax):
    package = autodiff("jax")
    first, second = (package.traced(lambda point: (point**2).sum()[None], POINT) for _ in range(2))
    assert first is second
    assert package.jacobian(first) is package.jacobian(second)


class Derivatives:
    """What a search derives from two functions."""

    def __init__(self, package, first, second, *, order):
        self.package, self.order = package, order
        self.gradient = package.gradient(lambda point: first(point) + (0 if second is None else second(point)))


def test_what_is_derived_from_the_same_steps_is_derived_once(jax):
    package = autodiff("jax")

    def derived(factor, second=None, order=1):
        first = package.traced(lambda point: factor * (point**2).sum(), POINT)
        return package.compiled(Derivatives, first, second, order=order)

    assert derived(2.0) is derived(2.0)
    np.testing.assert_array_equal(derived(2.0).gradient(POINT), 4 * POINT)
    others = [derived(3.0), derived(2.0, order=2), derived(2.0, package.traced(lambda point: point.sum(), POINT))]
    assert all(other is not derived(2.0) for other in others)


def test_what_no_program_holds_is_derived_anew(package: Autodiff):
    def bent(point):
        return (point**2).sum() if point[0] > 0 else point.sum()

    first, second = (package.compiled(Derivatives, package.traced(bent, POINT), None, order=1) for _ in range(2))
    assert first is not second
    np.testing.assert_array_equal(first.gradient(POINT), 2 * POINT)
    np.testing.assert_array_equal(first.gradient(-POINT), np.ones(3))


def test_threads_share_what_is_compiled(jax):
    package = autodiff("jax")

    def derived(number):
        program = package.traced(lambda point: 11.5 * (point**2).sum()[None], POINT)
        return package.jacobian(program), package.compiled(Derivatives, program, None, order=1)

    assert len(set(elsewhere.in_threads(derived))) == 1


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("function", (POINT,)),
        ("gradient", (POINT,)),
        ("hessian", (POINT,)),
        ("along", (DIRECTION, POINT)),
        ("curvature_along", (DIRECTION, POINT)),
        ("hessian_product", (DIRECTION, POINT)),
    ],
)
def test_threads_differentiate_at_once(package: Autodiff, method, arguments):
    """Without a lock torch's forward mode ends the process."""
    derivative = getattr(package, method)(total)
    expected = derivative(*arguments, MATRIX)
    for found in elsewhere.in_threads(lambda number: [derivative(*arguments, MATRIX) for _ in range(20)]):
        np.testing.assert_allclose(found, np.stack([expected] * 20), rtol=1e-13)


def test_a_function_whose_surroundings_changed_is_another_program(jax):
    package, numpy = autodiff("jax"), jax.numpy
    found = []
    for factor in (1.0, 1.0 + 1e-15, np.ones(3), np.array([1.0, 1.0, 1.0 + 1e-15])):
        # Inside a compiled function, where the constants are not part of the program's text.
        scaled = jax.jit(lambda point, factor=factor: point * factor)
        found.append(package.traced(lambda point, scaled=scaled: numpy.sum(scaled(point))[None], POINT))
    assert len(set(map(id, found))) == 4


@pytest.mark.parametrize("forwards", [True, False])
def test_a_derivative_that_the_user_brings_is_part_of_the_program(jax, forwards):
    def identity(slope):
        if forwards:
            same = jax.custom_jvp(lambda point: point * 1.0)
            same.defjvp(lambda point, change: (point[0] * 1.0, slope * change[0]))
        else:
            same = jax.custom_vjp(lambda point: point * 1.0)
            same.defvjp(lambda point: (point * 1.0, None), lambda _, change: (slope * change,))
        return same

    package = autodiff("jax")
    for slope in (2.0, 3.0):
        program = package.traced(identity(slope), POINT)
        np.testing.assert_array_equal(package.jacobian(program)(POINT), slope * np.eye(3))
    assert package.traced(identity(3.0), POINT) is program


def test_the_arrays_of_a_program_are_part_of_it_under_any_setting(jax):
    if not hasattr(jax.config, "jax_use_simplified_jaxpr_constants"):
        pytest.skip("this version of JAX has one way only to hold constants")
    numpy, before = jax.numpy, jax.config.jax_use_simplified_jaxpr_constants
    package = autodiff("jax")
    jax.config.update("jax_use_simplified_jaxpr_constants", True)
    try:
        one, other = (package.traced(lambda x, a=a: numpy.sum(x * a), POINT) for a in (MATRIX[0], MATRIX[1]))
    finally:
        jax.config.update("jax_use_simplified_jaxpr_constants", before)
    np.testing.assert_allclose(package.function(one)(POINT), POINT @ MATRIX[0])
    np.testing.assert_allclose(package.function(other)(POINT), POINT @ MATRIX[1])


def test_a_random_key_is_part_of_the_program(jax):
    package = autodiff("jax")
    keys = [jax.random.key(seed) for seed in (0, 0, 1)]
    first, same, other = (package.traced(lambda x, key=key: x.sum() + jax.random.normal(key), POINT) for key in keys)
    assert first is same
    assert first is not other


def test_few_programs_are_kept(jax, monkeypatch):
    module = importlib.import_module("orthoboot.autodiff.jax")
    monkeypatch.setattr(module, "_PROGRAMS_KEPT", 3)
    for power in range(2, 9):
        autodiff("jax").traced(lambda point, power=power: (point**power).sum()[None], POINT)
    assert len(module._PROGRAMS) == 3


def test_the_setting_of_64_bits_stays_as_it_was(jax):
    before = jax.config.jax_enable_x64
    autodiff("jax").function(cubes)(POINT, MATRIX)
    assert jax.config.jax_enable_x64 == before


def test_numpy_inside_a_function_of_jax_is_told(jax):
    with pytest.raises(InfluenceError, match="use `jax.numpy` instead"):
        autodiff("jax").traced(lambda point: jax.numpy.sum(np.sqrt(point))[None], POINT)


# Which package


def test_a_package_is_told_by_the_names_in_the_code(jax, torch):
    jnp = jax.numpy

    def imported_inside(x):
        import torch

        return torch.sum(x)

    def neighbour(x):
        return jnp.sum(x)

    class Statistic:
        def __call__(self, x):
            return torch.sum(x)

    assert package_named(neighbour) == "jax"
    assert package_named(imported_inside) == "torch"
    assert package_named(lambda x: neighbour(x)) == "jax"
    assert package_named(partial(neighbour)) == "jax"
    assert package_named(jax.jit(neighbour)) == "jax"
    assert package_named(Statistic()) == "torch"
    assert package_named(lambda x: np.sum(x)) is None
    assert package_named(np.sum) is None
    assert autodiff_for(None, neighbour).name == "jax"
    assert package_of(jnp.ones(2)) == "jax"
    assert package_of(torch.ones(2)) == "torch"
    assert package_of(np.ones(2)) is None


def test_a_name_without_a_value_yet_tells_nothing():
    def function(x):
        return later(x)

    assert package_named(function) is None
    later = abs
    assert function(-1) == 1


def test_only_names_of_packages_ask_for_one():
    assert [package_asked(request) for request in ("jax", "torch", "auto", np.ones(3), None)] == [
        "jax",
        "torch",
        None,
        None,
        None,
    ]


def test_an_unknown_package_is_refused():
    with pytest.raises(ArgumentError, match="`library` must be one of"):
        autodiff("tensorflow")


@pytest.mark.parametrize("name", ["jax", "torch"])
def test_a_package_that_is_not_installed_names_its_extra(name, monkeypatch):
    monkeypatch.setattr("orthoboot.autodiff.selection.find_spec", lambda _: None)
    autodiff.cache_clear()
    with pytest.raises(MissingDependencyError, match=rf'pip install "orthoboot\[{name}\]"'):
        autodiff(name)


def test_a_function_that_names_no_package_runs_in_the_one_that_is_installed(torch, monkeypatch):
    monkeypatch.setattr(selection, "sys", SimpleNamespace(modules={}))
    monkeypatch.setattr(selection, "find_spec", lambda name: name if name == "torch" else None)
    assert autodiff_for(lambda point: point**2).name == "torch"
