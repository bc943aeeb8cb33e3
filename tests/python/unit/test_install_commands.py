"""Every page installs Dovetail from its wheel, with one form of the command: no package index has the package yet."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "docs").rglob("*.ipynb"))]

WHEEL = "dist/dovetail_spark-*.whl"

# A command in a block of a page, or within a line of text.
PIP = re.compile(r"pip install ([^\n`]+)")


def installed(page: Path) -> list[str]:
    """What the page installs of Dovetail."""
    words = [
        word
        for arguments in PIP.findall(page.read_text(encoding="utf-8"))
        for word in shlex.split(arguments, comments=True)
    ]
    return [word for word in words if "dovetail" in word.lower()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_dovetail_is_installed_from_its_wheel(page: Path) -> None:
    assert set(installed(page)) <= {WHEEL}


def test_the_pages_that_install_it() -> None:
    pages = {page.name for page in PAGES if installed(page)}
    assert pages == {"README.md", "quickstart.md", "index.md", "notebooks.md", "connect.md", "airflow.md", "dbt.md"}
