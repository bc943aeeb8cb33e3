"""README.md stays within its size, and every command in it is known to work."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from command import typed

ROOT = Path(__file__).resolve().parents[3]
README = (ROOT / "README.md").read_text(encoding="utf-8")

# The user asked for a landing page.
MOST_LINES = 120
WIDTH = 120

BASH = re.compile(r"```bash\n(.*?)```", re.DOTALL)


def commands() -> list[str]:
    return [line for block in BASH.findall(README) for line in block.splitlines() if line.strip()]


def test_it_is_a_landing_page() -> None:
    assert len(README.splitlines()) <= MOST_LINES
    # tables and pictures cannot be wrapped
    text = [line for line in README.splitlines() if not line.startswith(("|", "!["))]
    assert [line for line in text if len(line) > WIDTH] == []


@pytest.mark.parametrize("command", commands())
def test_every_command_is_known(command: str) -> None:
    words = shlex.split(command)
    if words[0] == "make":
        make = shutil.which("make")
        if make is None:
            pytest.skip("no make on this machine")
        done = subprocess.run([make, "-n", *words[1:]], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    else:
        # the wheel is installed by its own tests, in a new environment (make test-wheel)
        assert command == "pip install dist/dovetail_spark-*.whl"


def test_submit_args_are_what_the_page_says() -> None:
    assert "spark-submit $(dovetail submit-args)" in README
    done = typed("submit-args")
    assert done.code == 0
    assert done.out.startswith("--jars ")


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", README):
        assert (ROOT / target).exists(), target
