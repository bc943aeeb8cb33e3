"""A report belongs to a commit: a command refuses a tree that differs from its commit, unless --dirty is given."""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from dovetail_bench import commit, report

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git on this machine")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository with one commit, laid out like this one."""
    for place in ("python/dovetail/a.py", "benchmarks/results/old.md", "README.md"):
        file = tmp_path / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("one\n")
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    for words in (("init", "-q"), ("add", "."), (*identity, "commit", "-q", "-m", "one")):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)  # noqa: S607 - git of the tester's PATH
    return tmp_path


@pytest.mark.parametrize("place", ["benchmarks/results/new.md", "README.md"])
def test_what_is_made_from_measurements_may_differ(clone: Path, place: str) -> None:
    (clone / place).write_text("two\n")
    state = commit.read(clone)
    assert not state.dirty
    assert len(state.name) == commit.SHOWN


@pytest.mark.parametrize("place", ["python/dovetail/a.py", "python/dovetail/new.py", "build.sbt"])
def test_what_is_measured_may_not(clone: Path, place: str) -> None:
    (clone / place).write_text("two\n")
    state = commit.read(clone)
    assert state.dirty
    assert state.name.endswith(" with changes")
    assert "differs from its commit in 1 places" in state.reason


def test_outside_of_a_clone_the_commit_is_unknown(tmp_path: Path) -> None:
    assert commit.read(tmp_path) == commit.State("unknown", "the commit is not known, because this is no clone")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser()
    report.add_results_option(parser)
    return parser


def test_a_command_refuses_and_says_why(
    clone: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (clone / "python/dovetail/a.py").write_text("two\n")
    found = commit.read(clone)
    monkeypatch.setattr(commit, "state", lambda: found)
    with pytest.raises(SystemExit):
        report.parse(_parser(), [])
    assert "commit first, or pass --dirty" in capsys.readouterr().err
    results = tmp_path / "results"
    options = report.parse(_parser(), ["--dirty", "--results", str(results)])
    report.Page("trial", "Trial").write(options, {})
    (written,) = results.glob("*.json")
    assert json.loads(written.read_text())["environment"]["commit"] == found.name
    assert report.DIRTY in written.with_suffix(".md").read_text()
