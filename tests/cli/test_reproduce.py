"""The command: what it says, its exit codes, and that a run which was stopped goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("joblib")
pytest.importorskip("matplotlib")
pytest.importorskip("rich")
pytest.importorskip("typer")

import orthoboot as ob
from orthoboot.cli import main
from orthoboot.cli.reproduce import EXPERIMENTS as NAMES
from orthoboot.paper.experiment import Settings
from orthoboot.paper.store import Store, parts_of
from tests.paper.logged_experiment import FAKES, Logged, fakes_alone

ROOT = Path(__file__).parents[2]
FILES = ("logged.md", "logged-means.csv", "logged-lines.png", "logged-lines.svg", "index.html", "run.json")
needs_signals = pytest.mark.skipif(os.name != "posix", reason="signals of a terminal")


@pytest.fixture(autouse=True)
def _fakes():
    with fakes_alone():
        yield


def started(out: Path, log: Path, *, jobs: int) -> subprocess.Popen[str]:
    """Start the slow command in a session of its own, as a terminal does, so that a signal reaches its workers too."""
    command = [sys.executable, "-m", "tests.paper.logged_experiment", "reproduce", "logged"]
    environment = os.environ | {"LOGGED_FILE": str(log), "LOGGED_PAUSE": "0.1"}
    environment["PYTHONPATH"] = os.pathsep.join(map(str, (ROOT / "src", ROOT)))
    return subprocess.Popen(
        [*command, "--out", str(out), "--jobs", str(jobs)],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def stopped(out: Path, log: Path, how: signal.Signals, *, jobs: int) -> tuple[int, str]:
    """Run the command, stop it when three parts are kept, and return its exit code and what it complained of."""
    running = started(out, log, jobs=jobs)
    try:
        patience = time.monotonic() + 60
        while len(list(out.glob("parts/logged/*.part"))) < 3:
            assert running.poll() is None, running.communicate()
            assert time.monotonic() < patience
            time.sleep(0.01)
        os.killpg(running.pid, how)
        _, complaints = running.communicate(timeout=60)
    finally:
        running.kill()
    return running.returncode, complaints


def kept(out: Path) -> set[str]:
    settings = Settings()
    store = Store(out / "parts", settings)
    parts = [part for part in parts_of(FAKES["logged"], settings) if store.load(part) is not None]
    return {f"logged {part.case.name} 0 {r}" for part in parts for r in part.repetitions}


def logged(log: Path) -> Counter[str]:
    return Counter(log.read_text().splitlines())


def completed(out: Path, log: Path, *, jobs: int) -> None:
    """Run the command to its end, in this process."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("LOGGED_FILE", str(log))
        assert main(["reproduce", "logged", "--out", str(out), "--jobs", str(jobs)]) == 0


@pytest.fixture(scope="module")
def unstopped(tmp_path_factory):
    """A run from the beginning to the end: its folder, and the log of its repetitions."""
    folder = tmp_path_factory.mktemp("unstopped")
    with fakes_alone():
        completed(folder / "whole", folder / "all", jobs=1)
    return folder / "whole", folder / "all"


@needs_signals
@pytest.mark.parametrize(("how", "jobs"), [(signal.SIGKILL, 2), (signal.SIGINT, 1), (signal.SIGINT, 2)])
def test_a_stopped_run_goes_on_and_ends_as_if_it_had_not_been_stopped(how, jobs, unstopped, tmp_path):
    out, (whole, whole_log) = tmp_path / "out", unstopped
    code, complaints = stopped(out, tmp_path / "first", how, jobs=jobs)
    finished = kept(out)
    assert 3 <= len(finished) < 17
    if how == signal.SIGINT:
        assert code == 130
        assert f"{len(finished)} of 17 repetitions of logged are kept in {out / 'parts'}" in complaints
        assert "the same command goes on" in complaints
        assert "Traceback" not in complaints
    completed(out, tmp_path / "second", jobs=1)
    assert sorted(logged(whole_log).values()) == [1] * 17
    assert logged(tmp_path / "second") == Counter(set(logged(whole_log)) - finished)
    for file in FILES:
        assert (out / file).read_bytes() == (whole / file).read_bytes(), file


def test_the_tables_are_printed_and_the_page_is_named(tmp_path, capsys):
    assert main(["reproduce", "logged", "--quick", "--out", str(tmp_path), "--jobs", "1"]) == 0
    printed, complaints = capsys.readouterr()
    assert "A logged <i>experiment</i>" in printed
    assert "mean [units]" in printed
    assert "5.0 ≠" in printed
    assert str(tmp_path / "index.html") in printed
    assert complaints == ""


def test_several_experiments_may_be_named(tmp_path, capsys):
    assert main(["reproduce", "other", "logged", "--quick", "--out", str(tmp_path), "--jobs", "1"]) == 0
    assert (tmp_path / "other.md").is_file()
    assert (tmp_path / "logged.md").is_file()


def test_all_leaves_out_what_cannot_run_and_says_so_first_and_last(tmp_path, capsys):
    assert main(["reproduce", "all", "--quick", "--out", str(tmp_path), "--jobs", "1"]) == 1
    printed, complaints = capsys.readouterr()
    assert complaints.startswith("orthoboot: unable is left out: the data set is not there; give `--data DIR`.")
    assert complaints.endswith("unable: the data set is not there; give `--data DIR`.\n")
    assert "Traceback" not in complaints
    assert str(tmp_path / "index.html") in printed
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert 'id="logged"' in page
    assert 'id="other"' in page


def test_an_error_that_is_not_the_librarys_is_told_with_its_kind_and_place(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(Logged, "report", lambda *_: {}["lost"])
    assert main(["reproduce", "logged", "other", "--quick", "--out", str(tmp_path), "--jobs", "1"]) == 1
    complaints = capsys.readouterr().err
    assert "logged is left out: KeyError: 'lost'" in complaints
    assert complaints.endswith("orthoboot: other: KeyError: 'lost'\n")


def test_one_that_cannot_run_is_an_error_of_code_1(tmp_path, capsys):
    assert main(["reproduce", "unable", "--out", str(tmp_path)]) == 1
    assert capsys.readouterr().err == "orthoboot: the data set is not there; give `--data DIR`.\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["reproduce", "loged"], "Did you mean 'logged'?"),
        (["reproduce", "logged", "--jobs", "0"], "`jobs` must be a whole number of at least 1; got 0."),
        (["reproduce", "logged", "--seed", "-1"], "`seed` must be a whole number of at least 0; got -1."),
        (["reproduce", "logged", "--data", "no-such-folder"], "`data` must be an existing folder"),
        (["reproduce", "logged", "--out", __file__], "`out` must be a folder"),
        (["reproduce", "logged", "--out", ""], "`out` must be a folder"),
        (["reproduce", "logged", "--seed", "one"], "--seed"),
        (["reproduce"], "NAME"),
        (["reproduse"], "reproduse"),
    ],
)
def test_bad_arguments_are_one_message_and_code_2_before_any_work(arguments, message, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Logged, "repetition", lambda *_: pytest.fail("work was done"))
    assert main(arguments) == 2
    complaints = capsys.readouterr().err
    assert message in complaints
    assert "Traceback" not in complaints
    assert list(tmp_path.iterdir()) == []


def test_the_help_names_the_experiments_of_the_paper():
    program = "from orthoboot.paper import EXPERIMENTS; print(*EXPERIMENTS)"
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert tuple(printed.split()) == NAMES


def test_version_and_help(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"orthoboot {ob.__version__}\n"
    assert main(["--help"]) == 0
    assert "reproduce" in capsys.readouterr().out
    assert main(["reproduce", "--help"]) == 0
    shown = capsys.readouterr().out
    for word in ("--quick", "--out", "--jobs", "--seed", "--data", "orthoboot reproduce all --quick"):
        assert word in shown


@pytest.mark.parametrize("package", ["typer", "rich"])
def test_without_its_packages_the_command_names_the_extra(package, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    for module in ("orthoboot.cli.app", "orthoboot.cli.reproduce"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    assert main(["--help"]) == 1
    assert capsys.readouterr().err == (
        f'orthoboot: the command line needs {package}; install it with `pip install "orthoboot[cli]"`.\n'
    )


def test_the_package_runs_as_a_module():
    ended = subprocess.run(
        [sys.executable, "-m", "orthoboot", "--version"], capture_output=True, text=True, cwd=ROOT / "src", timeout=60
    )
    assert (ended.returncode, ended.stdout) == (0, f"orthoboot {ob.__version__}\n")
