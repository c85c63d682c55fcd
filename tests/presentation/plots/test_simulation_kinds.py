from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.text import Text
from tests.conftest import REPOSITORY
from tests.simulators.queues import INPUTS, mean_wait, two_waits

import orthoboot as ob
from orthoboot import errors
from orthoboot.presentation.plots.simulation.kinds import KINDS

SIZES = [(3.5, 2.5), (8.0, 5.0)]


def product(x, y, z):
    return x[:, 0] * y[:, 0] * z[:, 0]


def noise(x, rng):
    return rng.normal(size=len(x))


def late(arrival, service):
    return mean_wait(arrival, service) > 1


def quietly(run, inputs, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.OrthobootWarning)
        return ob.input_uncertainty(run, inputs, **{"horizon": 10, "n_runs": 600, "rng": 0, **options})


def unknown_shares():
    x = np.random.default_rng(5).exponential(size=400)
    results = (quietly(noise, {"x": x}, horizon=1, n_runs=500, rng=seed) for seed in range(4))
    return next(result for result in results if np.isnan(result.contributions["x"]))


ONE = quietly(mean_wait, INPUTS)
TWO = quietly(two_waits, INPUTS)
RNG = np.random.default_rng(0)
RESULTS = {
    "one": ONE,
    "two": TWO,
    "probability": quietly(late, INPUTS),
    "interactions": quietly(product, {name: RNG.exponential(size=12) for name in "xyz"}, horizon=1, n_runs=900),
    "fitted": quietly(mean_wait, {**INPUTS, "service": ob.fitted("expon", INPUTS["service"])}),
    "single input": quietly(lambda x: x.sum(axis=1), {"x": RNG.exponential(size=30)}, horizon=2),
    "constant": quietly(lambda x: np.full(len(x), 3.0), {"x": RNG.exponential(size=30)}, horizon=2),
    "unknown": unknown_shares(),
    "many inputs": quietly(
        lambda **draws: sum(one[:, 0] for one in draws.values()),
        {f"input_{i}": np.repeat([0.0, 1.0 + i], 10) for i in range(16)},
        horizon=1,
    ),
}


@pytest.fixture(autouse=True)
def closed_figures():
    plt.switch_backend("agg")  # no window opens
    yield
    plt.close("all")


def axes_of(size=(5.0, 3.0)):
    return Figure(figsize=size, layout="constrained").subplots()


def legend_of(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_drawn_or_refused_with_a_reason(name, kind):
    result = RESULTS[name]
    reason = KINDS[kind].refusal(result._answer)
    if reason:
        with pytest.raises(errors.ArgumentError, match=re.escape(reason)):
            result.plot(kind)
        return
    axes = axes_of()
    assert result.plot(kind, axes) is axes
    axes.figure.draw_without_rendering()  # warnings are errors
    assert KINDS[kind].caption(result._answer, 0).endswith(".")


def overlaps(first, second):
    return first.shrunk(0.98, 0.98).overlaps(second)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_all_is_within_the_figure_and_no_words_cover_others(kind, size):
    axes = axes_of(size)
    (TWO if kind == "forest" else ONE).plot(kind, axes)
    axes.figure.draw_without_rendering()
    whole = axes.get_tightbbox()
    assert whole.x0 >= -1
    assert whole.y0 >= -1
    assert whole.x1 <= axes.figure.bbox.x1 + 1
    legend = axes.get_legend()
    if legend is not None:
        assert not overlaps(legend.get_window_extent(), axes.get_window_extent())
        assert not overlaps(legend.get_window_extent(), axes.xaxis.get_tightbbox())
    places = [Text.get_window_extent(text) for text in axes.texts]
    assert not any(overlaps(one, other) for i, one in enumerate(places) for other in places[:i])
    assert axes.get_window_extent().height > 0.25 * axes.figure.bbox.height


# The numbers


def test_the_interval_stands_beside_the_one_from_runs_alone():
    axes = axes_of()
    ONE.plot("interval", axes)
    drawn = [line.get_xdata() for line in axes.lines if len(line.get_xdata()) == 2]
    np.testing.assert_allclose(drawn[0], ONE.confidence_interval)
    half = 1.959964 * ONE.run_error
    np.testing.assert_allclose(drawn[1], [ONE.estimate - half, ONE.estimate + half], rtol=1e-6)
    bands = [path.get_paths()[0].get_extents() for path in axes.collections]
    np.testing.assert_allclose([band.width / 2 for band in bands], ONE.simulation_error[3:], rtol=1e-6)
    assert legend_of(axes)[-1] == "from runs alone"


def test_both_intervals_of_a_probability_stay_within_its_limits():
    answer = RESULTS["probability"]._answer
    assert 0 < answer.low[0] < answer.run_low[0] < answer.estimate[0] < answer.run_high[0] < answer.high[0] < 1


def test_the_bars_of_contributions_are_the_shares_from_the_largest_down():
    result = RESULTS["interactions"]
    axes = axes_of((8.0, 5.0))
    result.plot("contributions", axes)
    names = [label.get_text() for label in axes.get_yticklabels()]
    heights = {round(bar.get_y() + bar.get_height() / 2): bar.get_width() for bar in axes.patches}
    shares = [heights[place] for place in range(len(names))]
    assert shares == sorted(shares, reverse=True)
    np.testing.assert_allclose(shares, [result.contributions[name] for name in names])
    assert any(" x " in name for name in names)
    assert legend_of(axes) == ["input", "interaction", "± simulation error"]
    whiskers = axes.collections[0].get_segments()
    errors_drawn = [(one[1, 0] - one[0, 0]) / 2 for one in whiskers]
    np.testing.assert_allclose(errors_drawn, [result.contribution_errors[name] for name in names])


@pytest.mark.parametrize("name", ["one", "single input"])
def test_the_bars_of_more_data_are_what_doubling_gives(name):
    result = RESULTS[name]
    axes = axes_of()
    result.plot("more_data", axes)
    names = [label.get_text() for label in axes.get_yticklabels()]
    inputs = [entry for entry in names if entry != "all inputs"]
    assert ("all inputs" in names) == (len(inputs) > 1)
    for one, bar, words in zip(names, axes.patches, axes.texts, strict=True):
        factors = dict.fromkeys(inputs, 2) if one == "all inputs" else {one: 2}
        more = result.more_data(**factors)
        assert bar.get_width() == pytest.approx(more.input_error)
        assert words.get_text().startswith(f"{100 * (more.ratio - 1):+.1f}% ± ")
    now = next(line for line in axes.lines if line.get_label().startswith("now"))
    assert now.get_xdata()[0] == result.input_error


def test_the_rows_are_those_of_the_input_that_is_asked_for():
    for name in ("arrival", "service"):
        axes = axes_of()
        ONE.plot("influence", axes, input=name)
        lines = axes.collections[0].get_segments()
        np.testing.assert_allclose([one[1, 1] for one in lines], ONE.influence[name] / len(INPUTS[name]))
        assert axes.get_xlabel() == f"row of {name}"
        assert axes.texts[0].get_text().startswith("row ")
    largest = max(INPUTS, key=lambda name: ONE.contributions[name])
    assert ONE.plot("influence").get_xlabel() == f"row of {largest}"


def test_the_output_is_chosen():
    axes = axes_of()
    TWO.plot("influence", axes, output="faster", input="arrival")
    lines = axes.collections[0].get_segments()
    np.testing.assert_allclose([one[1, 1] for one in lines], TWO.influence["arrival"][:, 1] / len(INPUTS["arrival"]))
    assert axes.get_title("left") == "faster (output 2 of 2)"
    assert TWO.plot("more_data", output=-1).get_title("left") == "faster (output 2 of 2)"


def test_as_many_bars_as_have_room_are_drawn():
    axes = axes_of((3.5, 2.5))
    RESULTS["many inputs"].plot("contributions", axes)
    axes.figure.draw_without_rendering()
    places = [label.get_window_extent() for label in axes.get_yticklabels()]
    assert 2 < len(places) < 16
    assert not any(overlaps(one, other) for one, other in zip(places[1:], places[:-1], strict=True))
    assert axes.get_title("left").endswith(f"the largest {len(places)} of 16")


# Arguments


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kind": "share"}, "`kind` must be one of 'interval', 'contributions', 'more_data', 'influence', 'forest'"),
        ({"kind": "influence", "input": "servce"}, "Did you mean 'service'?"),
        ({"kind": "interval", "input": "service"}, '`input` must be None for kind="interval", which shows no rows'),
        ({"output": "x"}, "`output` must be one of 'now', 'faster'"),
        ({"kind": "forest", "output": 1}, "which shows all outputs; got 1."),
        ({"ax": 3}, "`ax` must be the Axes of matplotlib"),
    ],
)
def test_bad_arguments_say_what_to_do(options, words):
    with pytest.raises(errors.ArgumentError, match=re.escape(words)):
        TWO.plot(**options)


def test_what_cannot_be_drawn_says_why():
    with pytest.raises(errors.ArgumentError, match="and there is one"):
        ONE.plot("forest")
    for kind in ("contributions", "more_data"):
        with pytest.raises(errors.ArgumentError, match=r"is above its noise, .* `extend` the result"):
            RESULTS["unknown"].plot(kind)


def test_every_kind_stands_in_the_documents():
    page = (REPOSITORY / "docs" / "simulation.md").read_text(encoding="utf-8")
    for kind in KINDS:
        assert f'| `"{kind}"` |' in page
