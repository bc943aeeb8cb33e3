"""Makes the page and the targets of results again, from the runs in their JSON file, after a correction of the code.

    python -m dovetail_bench.again results/2026-11-29-times-tpcds-sf10.json

Knows the results of `times` and `join_rows`. The runs, the machine and the commit stay those of the measurement.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dovetail_bench import join_rows, join_rows_report, times, times_report

_SECONDS = re.compile(r"ANALYZE of all columns took (\d+) s, Dovetail's pass (\d+) s")


def make(file: Path) -> None:
    """Writes the page and the JSON file again.

    Raises:
        KeyError: The results are those of another command.
    """
    body: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    {"times": _times, "join_rows": _join_rows}[body["command"]](file, body)


def _times(file: Path, body: dict[str, Any]) -> None:
    body["targets"] = times_report.targets(times_report.read(body))
    page = times.page(body["options"]["suite"], body["options"]["scale"])
    times_report.write_page(page, body, body["answers"])
    page.write_again(file, body)


def _join_rows(file: Path, body: dict[str, Any]) -> None:
    suite, scale = body["options"]["suite"], body["options"]["scale"]
    if "analyze seconds" not in body:
        # results before 2026-11-28 have these times on their page only
        found = _SECONDS.findall(file.with_suffix(".md").read_text(encoding="utf-8"))
        body["analyze seconds"], body["collect seconds"] = map(float, found[0])
    results = times_report.read(body, join_rows.MODES)
    body["targets"] = join_rows_report.targets(results, suite, scale)
    page = join_rows.page(suite, scale)
    join_rows_report.write_page(page, results, body["targets"])
    page.write_again(file, body)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    head = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m dovetail_bench.again", description=head)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="JSON files of times or join_rows")
    for file in parser.parse_args(arguments).files:
        make(file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
