"""The Spark lines as project/spark-lines.tsv has them, and a release that is newer than all of them."""

from __future__ import annotations

import csv
from pathlib import Path

_TABLE = Path(__file__).resolve().parents[3] / "project" / "spark-lines.tsv"

with _TABLE.open(newline="") as _text:
    SPARK_LINES = {row["line"]: row for row in csv.DictReader(_text, delimiter="\t")}

# As messages list them.
LISTED = ", ".join(SPARK_LINES)

_major, _minor = list(SPARK_LINES)[-1].split(".")
NEWER = f"{_major}.{int(_minor) + 1}.0"
