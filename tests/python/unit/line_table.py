"""Reads project/lines.txt, the list of Spark lines, for the tests."""

from __future__ import annotations

from pathlib import Path

TABLE = Path(__file__).resolve().parents[3] / "project" / "lines.txt"


def rows() -> list[dict[str, str]]:
    """The rows, oldest line first; `-` stands for none."""
    lines = [line.split() for line in TABLE.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
    return [dict(zip(lines[0], cells, strict=True)) for cells in lines[1:]]


LINES = [row["line"] for row in rows()]

# The lines as messages list them.
LISTED = ", ".join(LINES)
