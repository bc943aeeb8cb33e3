"""Progress: lines if stderr is no terminal, a bar in a terminal, nothing if it is not wanted."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from dovetail import progress as module
from dovetail.progress import progress


def test_one_line_per_step(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("analyze", 2) as shown:
        for label in ("a", "b"):
            with shown.step(label):
                pass
    out = capsys.readouterr()
    assert out.out == ""
    assert [line.split(",")[0] for line in out.err.splitlines()] == ["analyze: a (1 of 2", "analyze: b (2 of 2"]


def test_nothing_when_not_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("analyze", 1, show=False) as shown, shown.step("a"):
        pass
    assert capsys.readouterr() == ("", "")


def test_a_step_that_fails_is_not_done(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError), progress("analyze", 1) as shown, shown.step("a"):
        raise RuntimeError
    assert capsys.readouterr().err == ""


def test_a_bar_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(module, "_console", lambda: Console(file=terminal, force_terminal=True, width=100))
    with progress("analyze", 2) as shown:
        with shown.step("db.[a]"):
            pass
        with shown.step("b"):
            pass
    assert "analyze: db.[a]" in terminal.getvalue()
    assert "2/2" in terminal.getvalue()


@pytest.mark.parametrize("widgets", [True, False])
def test_a_notebook_without_widgets_has_lines(monkeypatch: pytest.MonkeyPatch, widgets: bool) -> None:
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setattr(module, "find_spec", lambda name: object() if widgets and name == "ipywidgets" else None)
    assert (module._console() is not None) == widgets


def test_a_bar_moves_within_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_console", lambda: Console(file=io.StringIO(), force_terminal=True, width=100))
    with progress("analyze", 2) as shown:
        bar = shown.bar.tasks[0]  # type: ignore[attr-defined]
        with shown.step("a") as tell:
            tell(0.25)
            assert bar.completed == 0.25
        with shown.step("b") as tell:
            tell(0.5)
            assert bar.completed == 1.5
        assert bar.completed == 2
