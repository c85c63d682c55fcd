from __future__ import annotations

import re
import sys
import warnings

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.text import Text
from tests.conftest import REPOSITORY

import orthoboot as ob
from orthoboot import errors
from orthoboot.presentation.influential_rows import influential_rows
from orthoboot.presentation.plots.control import explained
from orthoboot.presentation.plots.convergence import convergence
from orthoboot.presentation.plots.kinds import KINDS
from orthoboot.presentation.style import IN_THE_DARK

RNG = np.random.default_rng(0)
X = RNG.lognormal(size=80)
SIZES = [(3.5, 2.5), (8.0, 5.0)]


def quietly(*args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.OrthobootWarning)
        return ob.bootstrap(*args, **{"n_resamples": 20, "rng": 0, **options})


SCALAR = quietly(X, ob.variance)
VECTOR = quietly(RNG.exponential(size=(60, 3)), ob.variance)
RESULTS = {
    "scalar": SCALAR,
    "vector": VECTOR,
    "one-sided": quietly(X, ob.variance, alternative="less"),
    "two samples": quietly((X[:50], X[50:]), ob.difference(ob.mean)),
    "histogram": quietly(X, lambda x: np.ptp(x), estimator="standard", n_resamples=100),
    "surrogate": quietly(
        (RNG.normal(size=(60, 2)), X[:60] > 1), ob.logistic_regression, paired=True, control="surrogate"
    ),
    "constant": quietly(np.full(20, 3.0), ob.mean),
    "large": quietly(1e290 * X, ob.mean),
    "many rows": quietly(RNG.normal(size=3000), ob.mean),
    "jackknife": quietly(X, ob.variance, estimator="jackknife", n_resamples=None),
}


@pytest.fixture(autouse=True)
def closed_figures():
    plt.switch_backend("agg")  # no window opens
    yield
    plt.close("all")


def axes_of(size=(5.0, 3.0)):
    return Figure(figsize=size, layout="constrained").subplots()


def words_of(axes):
    legend = [text.get_text() for text in axes.get_legend().get_texts()] if axes.get_legend() else []
    return [text.get_text() for text in axes.texts] + legend


@pytest.mark.parametrize("name", [name for name in RESULTS if name not in ("scalar", "vector")])
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
def test_the_legend_hides_nothing_and_all_is_within_the_figure(kind, size):
    axes = axes_of(size)
    (VECTOR if kind == "forest" else SCALAR).plot(kind, axes)
    axes.figure.draw_without_rendering()
    legend = axes.get_legend()
    if legend is not None:
        place = legend.get_window_extent()
        assert not overlaps(place, axes.get_window_extent())
        assert not overlaps(place, axes.xaxis.get_tightbbox())
        assert place.x1 <= axes.figure.bbox.x1 + 1
    whole = axes.get_tightbbox()
    assert whole.x0 >= -1
    assert whole.y0 >= -1
    assert whole.x1 <= axes.figure.bbox.x1 + 1
    # What is drawn has most of the figure, however long the legend.
    assert axes.get_window_extent().height > 0.25 * axes.figure.bbox.height


@pytest.mark.parametrize("size", SIZES)
def test_names_of_rows_and_outputs_do_not_cover_one_another(size):
    axes = axes_of(size)
    SCALAR.plot("influence", axes)
    axes.figure.draw_without_rendering()
    places = [Text.get_window_extent(text) for text in axes.texts]  # without their lines
    assert len(places) == 10
    assert not any(overlaps(one, other) for i, one in enumerate(places) for other in places[:i])
    many = quietly(RNG.exponential(size=(40, 30)), ob.mean)
    axes = axes_of(size)
    many.plot("forest", axes)
    axes.figure.draw_without_rendering()
    places = [label.get_window_extent() for label in axes.get_yticklabels()]
    assert 2 < len(places) <= 30
    assert not any(overlaps(one, other) for one, other in zip(places[1:], places[:-1], strict=True))
    if len(places) < 30:
        assert axes.get_title("left") == f"the first {len(places)} of 30 outputs"


def test_what_is_drawn_is_told_apart_without_colours():
    axes = axes_of()
    SCALAR.plot("convergence", axes)
    own, standard = (
        next(line for line in axes.lines if line.get_label().startswith(name)) for name in ("orth", "stand")
    )
    assert own.get_linestyle() != standard.get_linestyle()
    assert own.get_marker() != standard.get_marker()


# The numbers


def test_the_interval_has_the_numbers_of_the_result():
    result = quietly(RNG.lognormal(size=(80, 2)), ob.correlation)
    axes = axes_of()
    result.plot("interval", axes)
    shown = " ".join(words_of(axes))
    estimate, low, high = re.search(r"correlation +(\S+) .* (\S+) to (\S+)", str(result)).groups()
    assert all(number in shown for number in (estimate, low, high, result.interval_method, "95%"))
    ends = result.confidence_interval
    drawn = [line.get_xdata() for line in axes.lines if len(line.get_xdata()) == 2]
    np.testing.assert_allclose(drawn[0], ends)
    bands = [path.get_paths()[0].get_extents() for path in axes.collections]
    np.testing.assert_allclose([band.width / 2 for band in bands], result.simulation_error[2:], rtol=1e-6)


@pytest.mark.parametrize("name", ["scalar", "large", "surrogate"])
def test_convergence_ends_at_the_result_and_passes_through_what_fewer_replicates_give(name):
    result = RESULTS[name]
    for estimator in ("orthogonal", "standard"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.OrthobootWarning)
            whole, some = result.with_estimator(estimator), result.with_estimator(estimator, slice(10))
        found = convergence(whole._answer, 0, whole._estimation.estimator)
        assert found.sizes[-1] == 20
        at = found.sizes.tolist().index(10)
        for place, one in ((-1, whole), (at, some)):
            assert found.standard_error[place] == pytest.approx(np.ravel(one.standard_error)[0], rel=1e-12)
            assert found.error[place] == pytest.approx(np.ravel(one.simulation_error.standard_error)[0], rel=1e-9)


@pytest.mark.parametrize("name", ["scalar", "large", "two samples"])
def test_the_control_has_the_slope_and_the_share_of_the_result(name):
    result = RESULTS[name]
    found = explained(result._answer, 0)
    assert found.slope == result.slope
    assert found.r_squared == result.r_squared
    unit = result.standard_error
    correlation = np.corrcoef(found.control / unit, found.changes / unit)[0, 1]
    assert correlation**2 == pytest.approx(result.r_squared, abs=0.05)
    np.testing.assert_array_equal(found.changes, result.bootstrap_distribution - result.estimate)


def test_a_control_beyond_the_linear_part_is_the_one_that_is_drawn():
    ratio = quietly(RNG.exponential(size=(40, 2)), ob.ratio)
    assert ratio.control == "quadratic"
    found = explained(ratio._answer, 0)
    residual = found.changes - found.control
    assert np.var(residual) < np.var(found.changes - ratio.linear_distribution)
    assert "quadratic" in found.name


def test_the_most_influential_rows_are_those_of_the_influence_function():
    rows = influential_rows(SCALAR._answer, 0)
    order = np.argsort(-np.abs(SCALAR.influence))[:10]
    assert [row.row for row in rows] == order.tolist()
    np.testing.assert_allclose([row.change for row in rows], SCALAR.influence[order] / len(X))
    shares = SCALAR.influence**2 / np.sum(SCALAR.influence**2)
    np.testing.assert_allclose([row.share for row in rows], shares[order])
    # About what happens when the row counts twice: an expansion of first order in 1/n.
    twice = ob.variance(np.append(X, X[order[0]])) - ob.variance(X)
    assert rows[0].change == pytest.approx(twice, rel=0.1)


def test_rows_are_called_what_the_user_calls_them():
    labels = [f"shop {i}" for i in range(len(X))]
    named = quietly(pd.Series(X, index=labels), ob.variance)
    first = int(np.argmax(np.abs(SCALAR.influence)))
    assert influential_rows(named._answer, 0)[0].name == f"shop {first}"
    assert influential_rows(SCALAR._answer, 0)[0].name == f"row {first}"
    of_two = influential_rows(RESULTS["two samples"]._answer, 0)[0]
    assert of_two.name == f"row {of_two.row} of sample {of_two.sample + 1}"
    np.testing.assert_allclose(
        of_two.change, RESULTS["two samples"].influence[of_two.sample][of_two.row] / (50, 30)[of_two.sample]
    )


def test_no_row_is_named_where_many_do_the_same():
    assert influential_rows(quietly(X, ob.median)._answer, 0) == []
    one = np.append(np.tile([1.0, -1.0], 20), 9.0)
    assert [row.row for row in influential_rows(quietly(one, ob.mean)._answer, 0)] == [40]
    axes = axes_of()
    quietly(X, ob.median).plot("influence", axes)
    assert len(axes.texts) == 0


def test_every_kind_stands_in_the_documents_with_its_picture():
    page = (REPOSITORY / "docs" / "plots.md").read_text(encoding="utf-8")
    for kind in KINDS:
        assert f'| `"{kind}"` |' in page
        assert f"(plots/{kind}.svg)" in page
        assert (REPOSITORY / "docs" / "plots" / f"{kind}.svg").is_file()


# Arguments


def test_without_axes_a_figure_of_pyplot_is_made_and_the_settings_stay():
    before = dict(matplotlib.rcParams)
    axes = SCALAR.plot()
    assert axes.figure.number in plt.get_fignums()
    assert axes.get_title("left") == "variance"
    assert dict(matplotlib.rcParams) == before


def test_axes_of_a_dark_style_get_light_ink():
    with plt.style.context("dark_background"):
        axes = axes_of()
        SCALAR.plot("distribution", axes)
    estimate = next(line for line in axes.lines if line.get_label() == "estimate")
    assert matplotlib.colors.to_hex(estimate.get_color()) == "#ffffff"


def test_the_output_is_chosen_by_name_or_number():
    by_name, by_number, last = (VECTOR.plot(output=one).get_title("left") for one in ("variance[1]", 1, -1))
    assert by_name == by_number == "variance[1] (output 2 of 3)"
    assert last == "variance[2] (output 3 of 3)"
    assert VECTOR.plot().get_title("left") == "variance[0] (output 1 of 3)"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kind": "hist"}, "`kind` must be one of 'interval', 'convergence', 'control', 'influence', 'forest', 'distr"),
        ({"kind": "distributoin"}, "Did you mean 'distribution'?"),
        ({"kind": None}, "`kind` must be one of"),
        ({"output": "x"}, "`output` must be one of 'variance[0]'"),
        ({"output": 3}, "`output` must be the name of an output or a number from 0 to 2; got 3."),
        ({"output": True}, "got True"),
        ({"output": 1.5}, "got 1.5"),
        ({"kind": "forest", "output": 1}, 'which shows all outputs; got 1. For one of them use kind="interval".'),
        ({"ax": [1, 2]}, "got list; of several take one, such as `axes[0]`."),
        ({"ax": 3}, "`ax` must be the Axes of matplotlib"),
    ],
)
def test_bad_arguments_say_what_to_do(options, words):
    with pytest.raises(errors.ArgumentError, match=re.escape(words)):
        VECTOR.plot(**options)


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("scalar", "forest", 'there is one. Use kind="interval".'),
        ("histogram", "influence", "needs an influence function, and the run has none (not needed by this estimator)."),
        ("histogram", "control", 'Use `with_estimator("orthogonal")` first'),
        ("jackknife", "convergence", 'estimator="jackknife" reads no replicates.'),
        ("jackknife", "control", "it needs two replicates or more, and there are 0. `extend` the result first."),
        ("jackknife", "distribution", "there are no replicates. `extend` the result first."),
    ],
)
def test_what_cannot_be_drawn_says_why_and_what_to_do(name, kind, words):
    with pytest.raises(errors.ArgumentError, match=re.escape(words)):
        RESULTS[name].plot(kind)


def test_rows_that_are_read_in_pieces_have_no_plot_of_their_influence(tmp_path):
    dask = pytest.importorskip("dask.array")
    result = quietly(dask.from_array(X, chunks=20), ob.variance)
    with pytest.raises(errors.ArgumentError, match="the rows are read in pieces. Load them first, if they fit."):
        result.plot("influence")
    assert result.plot("control", axes_of()).get_title("left").startswith("variance")
    assert "read in pieces" in result.to_html(tmp_path / "page.html").read_text(encoding="utf-8")


def test_too_few_replicates_to_converge_are_counted():
    with pytest.raises(errors.ArgumentError, match="needs 4 replicates or more, and there are 3"):
        quietly(X, ob.variance, n_resamples=3).plot("convergence")


def test_names_with_dollars_are_no_mathematics():
    frame = pd.DataFrame({"$x^2$": X[:40], "a$b_{": X[40:]})
    axes = axes_of()
    result = quietly(frame, ob.mean)
    result.plot("forest", axes)
    axes.figure.draw_without_rendering()
    assert [label.get_text().replace("\\", "") for label in axes.get_yticklabels()] == list(result.names)


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(errors.MissingDependencyError, match=re.escape('pip install "orthoboot[plot]"')):
        SCALAR.plot()


def test_many_points_are_thinned():
    axes = axes_of()
    RESULTS["many rows"].plot("influence", axes)
    assert len(axes.collections) == 1
    large = quietly(X, ob.mean, n_resamples=1500)
    axes = axes_of()
    large.plot("control", axes)
    assert "first 1,000 replicates" in words_of(axes)
    assert max(len(line.get_xdata()) for line in axes.lines) == 1000


def contrast(first, second):
    def luminance(colour):
        parts = np.array(matplotlib.colors.to_rgb(colour))
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    low, high = sorted([luminance(first), luminance(second)])
    return (high + 0.05) / (low + 0.05)


def test_the_colours_can_be_seen_on_light_and_on_dark_pages():
    # 3 is what WCAG asks of graphics; the grid is meant to stand back.
    for light, dark in list(IN_THE_DARK.items()):
        if light != "#e3e3e3":
            assert contrast(light, "#fdfdfb") > 3
            assert contrast(dark, "#17181a") > 3


def test_numbers_beyond_what_axes_hold_are_refused():
    huge = quietly(1e301 * X, ob.mean, n_resamples=60)
    for kind in ("interval", "distribution"):
        with pytest.raises(errors.ArgumentError, match=r"cannot be drawn: .*1e\+300 or more.*Divide the data"):
            huge.plot(kind)
    assert "<img" not in huge._repr_html_()


def test_replicates_that_differ_in_their_last_digits_have_no_histogram():
    result = quietly(1e9 + 1e-6 * X, ob.mean, n_resamples=60)
    assert not result.plot("distribution").patches[1:]


def test_the_legend_of_a_forest_names_bands_that_the_first_output_lacks():
    result = quietly(X, lambda x: {"mean": x.mean(), "largest": x.max()}, method="normal")
    view = result.plot("forest")
    assert "± simulation error" in [text.get_text() for text in view.get_legend().get_texts()]
