"""From names to files: what is kept is not computed again, and nothing of another run is mixed in."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("joblib")
pytest.importorskip("matplotlib")
pytest.importorskip("threadpoolctl")

import orthoboot as ob
from orthoboot.errors import ArgumentError, DataError, WorkerError
from orthoboot.execution.store import write_atomically
from orthoboot.paper import EXPERIMENTS
from orthoboot.paper.experiment import Case, Settings, seed_of
from orthoboot.paper.reproduction import reproduce
from orthoboot.paper.run import outcomes
from orthoboot.paper.store import Part, Store, code_digest
from tests.paper.logged_experiment import Logged, fakes_alone

REGISTERED = dict(EXPERIMENTS)

pytestmark = pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")


@pytest.fixture(autouse=True)
def log(monkeypatch, tmp_path):
    monkeypatch.setenv("LOGGED_FILE", str(tmp_path / "log"))
    with fakes_alone():
        yield tmp_path / "log"


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
    described = json.loads((tmp_path / "out" / "run.json").read_text())["logged"]
    assert described["orthoboot"] == ob.__version__
    assert described["numpy"] == np.__version__
    assert (described["seed"], described["quick"], described["code"]) == (3, True, code_digest())
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


def test_what_is_of_another_run_is_told_and_not_on_the_page(tmp_path):
    told = []
    reproduce("logged", out=tmp_path, jobs=1, quick=True, tell=told.append)
    reproduce("other", out=tmp_path, jobs=1, quick=True, tell=told.append)
    assert told == []
    reproduce("other", out=tmp_path, jobs=1, quick=True, seed=1, tell=told.append)
    assert told == [f"{tmp_path} also has logged of another run, which will not be on the page."]
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert 'id="logged"' not in page
    assert "Not reproduced here: logged, unable." in page
    assert [run["seed"] for run in json.loads((tmp_path / "run.json").read_text()).values()] == [0, 1]


@pytest.mark.parametrize("damage", ["", "{", "[1]"])
def test_a_damaged_description_is_as_good_as_none(damage, tmp_path):
    reproduce("logged", out=tmp_path, jobs=1, quick=True)
    (tmp_path / "run.json").write_text(damage)
    (tmp_path / "parts" / "logged.json").write_text(damage)
    reproduce("other", out=tmp_path, jobs=1, quick=True)
    assert list(json.loads((tmp_path / "run.json").read_text())) == ["other"]
    assert "Not reproduced here: logged, unable." in (tmp_path / "index.html").read_text(encoding="utf-8")


# What goes wrong


class Failing(Logged):
    """The third repetition of the small case always fails."""

    def repetition(self, case, seed, settings):
        found = super().repetition(case, seed, settings)
        if case == "small" and seed.entropy[2] == 2:
            raise ZeroDivisionError("no luck")
        return found


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_repetition_that_fails_is_named_and_costs_no_other_part(jobs, log, tmp_path):
    store = Store(tmp_path / "parts", Settings())
    with pytest.raises(ZeroDivisionError, match="no luck") as caught:
        outcomes(Failing(), Settings(), store, jobs=jobs)
    assert caught.value.__notes__ == ["logged, small, repetition 2, seed 0"]
    assert len(computed(log)) == 16, "the one after it in the same part is not tried"
    with pytest.raises(ZeroDivisionError):
        outcomes(Failing(), Settings(), store, jobs=jobs)
    assert computed(log) == ["logged small 0 2"], "all other parts are kept"


def test_an_error_of_any_kind_leaves_out_one_experiment_of_several(tmp_path):
    EXPERIMENTS["logged"] = Failing()
    told = []
    with pytest.raises(ExceptionGroup) as caught:
        reproduce("all", out=tmp_path, jobs=1, tell=told.append)
    assert {type(error) for error in caught.value.exceptions} == {DataError, ZeroDivisionError}
    assert told[0].startswith("unable is left out"), "missing data are told before any work"
    assert told[1] == "logged is left out: ZeroDivisionError: no luck"
    assert 'id="other"' in (tmp_path / "index.html").read_text(encoding="utf-8")


class Killed(Logged):
    """The system ends the process, as for lack of memory."""

    def repetition(self, case, seed, settings):
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_process_that_ends_is_told_with_what_helps(tmp_path):
    with pytest.raises(WorkerError, match="a worker process died.* Use fewer jobs.* What is finished is kept"):
        outcomes(Killed(), Settings(), Store(tmp_path, Settings()), jobs=2)


def test_a_full_disk_leaves_no_half_file_and_ends_the_run(monkeypatch, tmp_path):
    def full(self, content):
        with self.open("wb") as stream:
            stream.write(content[:3])
        raise OSError("no space left")

    file = tmp_path / "kept"
    write_atomically(file, b"before")
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="no space left"):
        write_atomically(file, b"after")
    assert [one.name for one in tmp_path.iterdir()] == ["kept"]
    assert file.read_bytes() == b"before"
    with pytest.raises(OSError, match="no space left"):
        reproduce(["logged", "other"], out=tmp_path / "out", jobs=1)


# What an outcome depends on


@pytest.mark.parametrize(
    ("file", "matters"),
    [
        ("estimators/orthogonal.py", True),
        ("paper/ci/experiment.py", True),
        ("paper/store.py", True),
        ("paper/ci/report.py", False),
        ("paper/published.py", False),
        ("presentation/tables.py", False),
        ("cli/app.py", False),
    ],
)
def test_outcomes_are_of_the_code_that_makes_numbers(file, matters, tmp_path):
    package, changed = tmp_path / "package", tmp_path / "changed"
    for folder in (package, changed):
        (folder / file).parent.mkdir(parents=True)
        (folder / file).write_text("1")
        (folder / "api.py").write_text("2")
    (changed / file).write_text("3")
    assert (code_digest(package) != code_digest(changed)) == matters


def test_outcomes_are_of_their_case_and_its_identity():
    def fingerprint(settings=Settings(), **changes):  # noqa: B008  frozen
        return Part("x", Case(**({"name": "c", "repetitions": 9} | changes)), range(3)).fingerprint(settings)

    others = [fingerprint(name="d"), fingerprint(identity="other data"), fingerprint(Settings(seed=1))]
    assert len({fingerprint(), *others}) == 4
    assert fingerprint(repetitions=1000) == fingerprint(), "more repetitions are those of before, and more"


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
        ({"out": ""}, "`out` must be a folder"),
        ({"data": " "}, "`data` must be an existing folder"),
    ],
)
def test_arguments_are_checked_before_any_work(arguments, message, log, tmp_path):
    with pytest.raises(ArgumentError, match=message):
        reproduce(**({"names": "logged", "out": tmp_path / "out"} | arguments))
    assert computed(log) == []
    assert not (tmp_path / "out").exists()
