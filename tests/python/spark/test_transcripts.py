"""What a user types and sees is what the transcripts in tests/transcripts say; `make transcripts` writes them anew."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.primary, pytest.mark.slow]

PATHS = sorted(p.stem for p in (Path(__file__).parents[2] / "transcripts").glob("*.txt"))


def test_there_is_one_for_each_path(root: Path) -> None:
    typed = {p.stem for p in (root / "tests" / "transcripts").iterdir() if p.suffix in (".py", ".sh")}
    assert typed - {"tables"} == set(PATHS)


@pytest.mark.parametrize("path", PATHS)
def test_what_comes_is_what_is_written(root: Path, path: str) -> None:
    command = [sys.executable, "tools/transcripts.py", "--check", path]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}\nIf this is meant: make transcripts"
