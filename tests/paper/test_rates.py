"""The rates of the theorems: what is simulated, what is fitted to it, and the finite-horizon example."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import orthoboot as ob
from orthoboot.paper.experiment import Settings, seed_of
from orthoboot.paper.rates.examples import ESTIMATORS, EXAMPLES, FEW_RESAMPLES, GROUPS, QUANTITIES, PresentValue
from orthoboot.paper.rates.experiment import SETTINGS, Rates
from orthoboot.paper.rates.report import SWEEPS, fitted
from orthoboot.presentation.style import WORDS

SMOOTH = [name for name, example in EXAMPLES.items() if example.smooth and example.control == "linear"]
OVER_ROWS, OVER_RESAMPLES = SWEEPS
GROWTH, SALES = np.array([0.9, 1.2, 1.1]), np.array([3.0, 5.0])


def found_in(case: str, repetitions: int) -> dict[str, np.ndarray]:
    each = [Rates().repetition(case, seed_of(Settings(), "rates", case, r), Settings()) for r in range(repetitions)]
    return {quantity: np.stack([one[quantity] for one in each]) for quantity in QUANTITIES}


@pytest.fixture
def by_theory():
    """What all cases would give if every variance were exactly as theory says, in two repetitions."""

    def at(sweep, name, values):
        exponents = {
            quantity: np.array([sweep.exponent(EXAMPLES[name], quantity, estimator) for estimator in ESTIMATORS])
            for quantity in QUANTITIES
        }
        return {
            quantity: np.array([0.5, 2.0])[:, np.newaxis, np.newaxis] * np.power.outer(values, exponents[quantity])
            for quantity in QUANTITIES
        }

    rows = {f"{name}, n={n}": at(OVER_ROWS, name, [float(n)]) for name in EXAMPLES for n in OVER_ROWS.values}
    resamples = {f"{name}, B": at(OVER_RESAMPLES, name, np.array(OVER_RESAMPLES.values, float)) for name in EXAMPLES}
    return rows | resamples


def test_the_finite_sum_is_the_expectation_over_all_paths():
    present_value = PresentValue(periods=3, discount=0.8)
    paths = itertools.product(itertools.product(GROWTH, repeat=3), itertools.product(SALES, repeat=3))
    values = [present_value.path(np.array(growth), np.array(sales)) for growth, sales in paths]
    assert len(values) == 3**3 * 2**3
    assert present_value(GROWTH, SALES) == pytest.approx(np.mean(values), rel=1e-13)


def test_one_path_is_discounted_sales_at_grown_prices():
    value = PresentValue(periods=2, discount=0.5).path(np.array([2.0, 3.0]), np.array([10.0, 20.0]))
    assert value == 0.5 * 10 * 2 + 0.25 * 20 * 2 * 3


def test_weights_of_the_present_value_count_the_rows():
    counts = (np.array([2, 0, 1]), np.array([1, 1]))
    repeated = [np.repeat(rows, times) for rows, times in zip((GROWTH, SALES), counts, strict=True)]
    assert PresentValue()(GROWTH, SALES, weights=counts) == pytest.approx(PresentValue()(*repeated), rel=1e-14)


@pytest.mark.parametrize(("sample", "row"), [(0, 0), (0, 2), (1, 1)])
def test_the_influence_of_the_present_value_is_its_derivative_towards_a_row(sample, row):
    present_value = PresentValue()
    samples, step = (GROWTH, SALES), 1e-5

    def moved(by):
        weights = [np.full(len(rows), 1 / len(rows)) for rows in samples]
        weights[sample] = (1 - by) * weights[sample] + by * (np.arange(len(samples[sample])) == row)
        return present_value(*samples, weights=tuple(weights))

    # Central differences: truncation and rounding are both about 1e-10 of the value.
    slope = (moved(step) - moved(-step)) / (2 * step)
    assert present_value.influence(*samples)[sample][row] == pytest.approx(slope, rel=1e-8)


def test_the_example_with_two_inputs_passes_the_check_of_its_influence():
    example = EXAMPLES["finite-horizon"]
    data = example.draw(np.random.default_rng(1), 200)
    assert ob.check_influence(example.statistic, data, example.influence).passed


def test_a_power_law_is_fitted_exactly_and_without_error():
    at = (50, 500, 5000)
    fit = fitted(at, np.outer([1.0, 7.0, 0.2], np.array(at, float) ** -2.5))
    assert fit.slope == pytest.approx(-2.5, abs=1e-12)
    assert fit.error == pytest.approx(0, abs=1e-12)
    assert fit.line == pytest.approx(fit.means, rel=1e-12)
    assert fit.beyond(500).slope == pytest.approx(-2.5, abs=1e-12)
    assert fit.beyond(500).at.tolist() == [500, 5000]


def test_the_error_of_a_slope_is_that_of_least_squares():
    at, noise, repetitions = OVER_ROWS.values, 0.3, 400
    logarithms = -np.log(at) + noise * np.random.default_rng(2).standard_normal((repetitions, len(at)))
    spread = np.sqrt(np.sum((np.log(at) - np.mean(np.log(at))) ** 2))
    # A standard deviation of 400 is known to 1 / sqrt(800) = 3.5%: four of these, odds 1 in 15,000.
    assert fitted(at, np.exp(logarithms)).error == pytest.approx(noise / spread / np.sqrt(repetitions), rel=0.14)


@pytest.mark.parametrize(
    ("name", "standard", "others"),
    [(name, (-1, -2), (-2, -3)) for name in SMOOTH] + [("median", (-1, -2), (-1.5, -2.5))],
)
def test_the_exponents_are_those_of_the_theorems_and_of_bahadur(name, standard, others):
    for estimator in ESTIMATORS:
        found = tuple(OVER_ROWS.exponent(EXAMPLES[name], quantity, estimator) for quantity in QUANTITIES)
        assert found == (standard if estimator == "standard" else others)
        assert OVER_RESAMPLES.exponent(EXAMPLES[name], "variance", estimator) == -1


def test_the_quadratic_part_gains_an_order_of_rows():
    expected = {"standard": (-1, -2), "paper": (-2, -3), "orthogonal": (-3, -4)}
    for estimator in ESTIMATORS:
        found = tuple(OVER_ROWS.exponent(EXAMPLES["ratio"], quantity, estimator) for quantity in QUANTITIES)
        assert found == expected[estimator]


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_the_simulation_variance_of_a_squared_mean_is_the_exact_one():
    case, repetitions = "squared-mean, n=500", 6
    found, n = found_in(case, repetitions)["debiased"][:, 0, :2], 500
    exact = []
    for r in range(repetitions):
        of_data = seed_of(Settings(), "rates", case, r).spawn(2)[0]
        x = EXAMPLES["squared-mean"].draw(np.random.default_rng(of_data), n)
        second, third, fourth = (np.mean((x - x.mean()) ** power) for power in (2, 3, 4))
        # The mean of a resample is x.mean() + d with d of these moments; the remainder is d**2.
        remainder = (fourth - 3 * second**2) / n**3 + 2 * second**2 / n**2
        linear, product = 4 * x.mean() ** 2 * second / n, 2 * x.mean() * third / n**2
        exact.append([linear + 2 * product + remainder, remainder])
    ratios = found / (np.array(exact) / FEW_RESAMPLES)
    # The mean of ten squares d**2 has kurtosis 4.2, so a ratio over 50 groups an error of 0.25 and their mean of 0.1:
    # four of these, odds 1 in 15,000.
    assert GROUPS == 50
    assert ratios.mean(axis=0) == pytest.approx([1, 1], abs=0.4)


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
@pytest.mark.parametrize("name", SMOOTH)
def test_smooth_statistics_have_the_rates_of_the_theorems(name):
    rows = (50, 5000)
    found = [found_in(f"{name}, n={n}", 4) for n in rows]
    for quantity, (number, estimator) in itertools.product(QUANTITIES, enumerate(ESTIMATORS)):
        fit = fitted(rows, np.column_stack([one[quantity][:, 0, number] for one in found]))
        theory = OVER_ROWS.exponent(EXAMPLES[name], quantity, estimator)
        # A logarithm over 50 groups has an error of about 0.3, and the data sets of n = 50 differ by 0.6: a slope over
        # two decades has one of 0.17 and the mean of four of 0.08. Four of these, odds 1 in 15,000 each.
        assert abs(fit.slope - theory) < 0.33


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_each_group_is_what_a_run_of_its_size_would_give():
    case = "variance, n=50"
    found = found_in(case, 1)["variance"][0, 0]
    of_data, of_resamples = seed_of(Settings(), "rates", case, 0).spawn(2)
    x = SETTINGS[case].example.draw(np.random.default_rng(of_data), 50)
    values = ob.bootstrap(x, np.var, n_resamples=GROUPS * FEW_RESAMPLES, rng=of_resamples).bootstrap_distribution
    groups = values.reshape(GROUPS, FEW_RESAMPLES).var(axis=1, ddof=1)
    assert found[ESTIMATORS.index("standard")] == pytest.approx(groups.var(ddof=1), rel=1e-12)


def test_a_quick_run_is_the_beginning_of_a_full_one():
    quick, full = (Rates().cases(Settings(quick=quick)) for quick in (True, False))
    assert [case.name for case in quick] == [case.name for case in full] == list(SETTINGS)
    for some, all_of_them in zip(quick, full, strict=True):
        assert some.together == all_of_them.together
        assert some.repetitions < all_of_them.repetitions
        assert some.repetitions % some.together == 0  # so that what a quick run kept, a full one need not repeat


def test_variances_as_in_theory_are_reported_to_agree(by_theory):
    report = Rates().report(by_theory, Settings())
    assert [table.name for table in report.tables] == ["rates-n", "rates-B"]
    for table in report.tables:
        assert len(table.rows) == len(EXAMPLES) * len(QUANTITIES) * len(ESTIMATORS)
        for *_, slope, theory, difference in table.rows:
            assert slope.value == pytest.approx(theory, abs=1e-12)
            assert difference.value == pytest.approx(0, abs=1e-12)
    assert report.tables[1].columns[3:5] == ("slope", "slope from B = 50")


def test_a_slope_that_is_not_as_in_theory_is_told(by_theory):
    values = np.array(OVER_RESAMPLES.values, float)
    by_theory["variance, B"]["debiased"] *= (values**0.2)[:, np.newaxis]
    first = Rates().report(by_theory, Settings()).tables[1].rows[0]
    assert first[0] == EXAMPLES["variance"].title
    assert first[-1].value == pytest.approx(0.2)


def test_the_figures_have_a_panel_for_each_example_and_quantity(by_theory):
    matplotlib = pytest.importorskip("matplotlib.figure")
    for picture in Rates().report(by_theory, Settings()).figures:
        figure = matplotlib.Figure(figsize=picture.size)
        picture.draw(figure)
        assert len(figure.axes) == len(EXAMPLES) * len(QUANTITIES)
        assert "assumption fails" in figure.axes[len(EXAMPLES) - 1].get_title()
        labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
        assert [label.partition(":")[0] for label in labels] == [WORDS[estimator] for estimator in ESTIMATORS]
