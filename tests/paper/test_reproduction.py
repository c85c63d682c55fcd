"""From names to files: what is kept is not computed again, and nothing of another run is mixed in."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("joblib")
pytest.importorskip("matplotlib")
pytest.importorskip("threadpoolctl")

import orthoboot as ob
from orthoboot.errors import ArgumentError, DataError
from orthoboot.paper import EXPERIMENTS
from orthoboot.paper.experiment import Case, Settings, seed_of
from orthoboot.paper.reproduction import kept_repetitions, reproduce
from orthoboot.paper.run import outcomes
from orthoboot.paper.store import Part, Store
from tests.paper.logged_experiment import FAKES, Logged

REGISTERED = dict(EXPERIMENTS)

pytestmark = pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")


@pytest.fixture(autouse=True)
def log(monkeypatch, tmp_path):
    for name in list(EXPERIMENTS):
        monkeypatch.delitem(EXPERIMENTS, name)
    for name, fake in FAKES.items():
        monkeypatch.setitem(EXPERIMENTS, name, fake)
    monkeypatch.setenv("LOGGED_FILE", str(tmp_path / "log"))
    return tmp_path / "log"


def computed(log: Path) -> list[str]:
    """Return which repetitions were computed since the last time."""
    lines = log.read_text().splitlines() if log.exists() else []
    log.unlink(missing_ok=True)
    return lines


def test_the_experiments_of_the_paper_are_all_there_under_their_names():
    assert list(REGISTERED) == ["ci", "debias", "influence", "prediction", "rates"]
    assert [experiment.name for experiment in REGISTERED.values()] == list(REGISTERED)


def test_what_is_finished_is_not_computed_again(log, tmp_path):
    first = reproduce("logged", out=tmp_path / "out", jobs=1)
    assert len(computed(log)) == 17
    again = reproduce("logged", out=tmp_path / "out", jobs=1)
    assert computed(log) == []
    assert first[0].tables == again[0].tables


def test_repetitions_are_stacked_in_order_on_the_first_axis(tmp_path):
    settings = Settings()
    found = outcomes(Logged(), settings, Store(tmp_path, settings), jobs=1)
    assert found["small"]["mean"].shape == (11,)
    assert found["small"]["variances"].shape == (11, 2)
    for r in range(11):
        alone = Logged().repetition("small", seed_of(settings, "logged", "small", r), settings)
        np.testing.assert_array_equal(found["small"]["variances"][r], alone["variances"])


def test_another_seed_starts_anew_and_leaves_the_first_as_it_was(log, tmp_path):
    first = reproduce("logged", out=tmp_path / "out", jobs=1)
    computed(log)
    other = reproduce("logged", out=tmp_path / "out", jobs=1, seed=1)
    assert len(computed(log)) == 17
    assert other[0].tables != first[0].tables
    assert reproduce("logged", out=tmp_path / "out", jobs=1)[0].tables == first[0].tables
    assert computed(log) == []


def test_quick_and_full_share_repetitions_and_no_tables(log, tmp_path):
    quick = reproduce("logged", out=tmp_path / "both", jobs=1, quick=True)
    assert len(computed(log)) == 10
    full = reproduce("logged", out=tmp_path / "both", jobs=1)
    assert len(computed(log)) == 7
    assert full[0].tables == reproduce("logged", out=tmp_path / "full", jobs=1)[0].tables
    assert [row[1] for row in quick[0].tables[0].rows] == [4, 6]
    assert [row[1] for row in full[0].tables[0].rows] == [11, 6]


def test_a_damaged_part_is_computed_again(log, tmp_path):
    whole = reproduce("logged", out=tmp_path / "out", jobs=1)
    computed(log)
    emptied, cut, changed, *_ = sorted((tmp_path / "out" / "parts" / "logged").iterdir())
    emptied.write_bytes(b"")
    cut.write_bytes(cut.read_bytes()[:-10])
    content = bytearray(changed.read_bytes())
    content[len(content) // 2] ^= 1
    changed.write_bytes(content)
    assert reproduce("logged", out=tmp_path / "out", jobs=1)[0].tables == whole[0].tables
    assert 3 <= len(computed(log)) <= 6


def test_no_damage_of_one_bit_is_taken_for_an_outcome(tmp_path):
    store, part = Store(tmp_path, Settings()), Part("x", Case("c", 3), range(3))
    store.save(part, {"value": np.arange(3.0)})
    (file,) = (tmp_path / "x").iterdir()
    content = file.read_bytes()
    for position in range(len(content)):
        file.write_bytes(content[:position] + bytes([content[position] ^ 4]) + content[position + 1 :])
        assert store.load(part) is None


class Interrupted(Logged):
    """Ctrl-C comes in the middle of a bootstrap that answers from the replicates it has."""

    def repetition(self, case, seed, settings):
        evaluations = iter(range(10**6))

        def statistic(x):
            if next(evaluations) == 60:
                raise KeyboardInterrupt
            return x.mean()

        result = ob.bootstrap(np.arange(20.0), statistic, n_resamples=100, influence="jackknife", rng=seed, batch=1)
        return {"variance": result.variance}


def test_a_bootstrap_that_was_cut_short_is_not_kept(tmp_path):
    with pytest.warns(ob.errors.InterruptedWarning):
        Interrupted().repetition("small", np.random.SeedSequence(0), Settings())
    store = Store(tmp_path, Settings())
    with pytest.raises(KeyboardInterrupt):
        outcomes(Interrupted(), Settings(), store, jobs=1)
    assert list(tmp_path.rglob("*.part")) == []


def test_the_page_has_all_that_is_complete_under_the_same_settings(log, tmp_path):
    out = tmp_path / "out"
    reproduce("other", out=out, jobs=1, quick=True)
    reproduce("logged", out=out, jobs=1, quick=True)
    page = (out / "index.html").read_text(encoding="utf-8")
    assert page.index('id="logged"') < page.index('id="other"')
    reproduce("logged", out=out, jobs=1)
    assert 'id="other"' not in (out / "index.html").read_text(encoding="utf-8")


def test_files_say_which_run_they_are_of(tmp_path):
    reproduce(["logged"], out=tmp_path / "out", jobs=1, quick=True, seed=3)
    described = json.loads((tmp_path / "out" / "run.json").read_text())
    assert described["orthoboot"] == ob.__version__
    assert described["numpy"] == np.__version__
    assert (described["seed"], described["quick"], described["names"]) == (3, True, ["logged"])
    for file in ("logged.md", "index.html"):
        assert "seed 3, quick" in (tmp_path / "out" / file).read_text(encoding="utf-8")


def test_several_run_without_the_one_that_cannot(tmp_path):
    with pytest.raises(ExceptionGroup) as caught:
        reproduce("all", out=tmp_path / "out", jobs=1, quick=True)
    (left_out,) = caught.value.exceptions
    assert isinstance(left_out, DataError)
    assert left_out.__notes__ == ["unable"]
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert 'id="logged"' in page
    assert 'id="other"' in page
    assert 'id="unable"' not in page


def test_one_that_cannot_run_raises_its_own_error(tmp_path):
    with pytest.raises(DataError, match="the data set is not there"):
        reproduce("unable", out=tmp_path / "out")


def test_each_is_shown_as_it_is_done(tmp_path):
    shown = []
    reproduce(["other", "logged"], out=tmp_path / "out", jobs=1, quick=True, show=lambda one: shown.append(one.name))
    assert shown == ["logged", "other"]


def test_kept_repetitions_are_counted_as_far_as_they_can_be(tmp_path):
    assert kept_repetitions("all", tmp_path, Settings(quick=True)) == (0, 20)
    reproduce("logged", out=tmp_path, jobs=1, quick=True)
    assert kept_repetitions("all", tmp_path, Settings(quick=True)) == (10, 20)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"names": "unknown"}, "`names` must be one of"),
        ({"names": []}, "`names` must name at least one"),
        ({"seed": 1.5}, "`seed` must be a whole number"),
        ({"seed": -1}, "`seed` must be a whole number"),
        ({"jobs": 0}, "`jobs` must be a whole number"),
        ({"data": "no-such-folder"}, "`data` must be an existing folder"),
        ({"out": __file__}, "`out` must be a folder"),
        ({"out": Path(__file__) / "below"}, "`out` must be a folder"),
    ],
)
def test_arguments_are_checked_before_any_work(arguments, message, log, tmp_path):
    with pytest.raises(ArgumentError, match=message):
        reproduce(**({"names": "logged", "out": tmp_path / "out"} | arguments))
    assert computed(log) == []
    assert not (tmp_path / "out").exists()
