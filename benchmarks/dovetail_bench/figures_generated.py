"""Counts of generated queries for `figures`, from all results files of `fuzz`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dovetail_bench.fuzz_runner import SAME, WRONG
from dovetail_bench.report import RESULTS


@dataclass(frozen=True)
class Run:
    """A results file of `fuzz`.

    Attributes:
        spark: Spark's version.
        dialect: Dialect of the queries.
        numbers: Numbers of the queries.
        compared: Queries whose answer is the same as plain Spark's, or is not. The others got plain Spark's plan, or
            plain Spark does not answer them.
        changed: Compared queries for which Dovetail changed the tree of joins.
        with_rows: Compared queries whose answer has rows.
        wrong: Queries with another answer, or that fail with Dovetail alone.
        date: Day of the run, as in 2026-11-22.
    """

    spark: str
    dialect: str
    numbers: range
    compared: int
    changed: int
    with_rows: int
    wrong: int
    date: str

    def repeats(self, other: Run) -> bool:
        """Whether the other file has all queries of this one, and more."""
        same = (self.spark, self.dialect) == (other.spark, other.dialect)
        return same and set(self.numbers) < set(other.numbers)


def runs() -> list[Run]:
    """All runs, without those whose queries a larger run checked again on the same line."""
    found = [_run(file) for file in sorted(RESULTS.glob("*-fuzz-*.json"))]
    return [run for run in found if not any(run.repeats(other) for other in found)]


def sentences() -> str:
    """How many generated queries were compared with plain Spark, and how many answers differ."""
    counted = runs()
    numbers: dict[tuple[str, int], set[str]] = {}
    for run in counted:
        for number in run.numbers:
            numbers.setdefault((run.dialect, number), set()).add(run.spark)
    twice = sum(len(lines) > 1 for lines in numbers.values())
    compared, changed, rows, wrong = (
        sum(getattr(run, what) for run in counted) for what in ("compared", "changed", "with_rows", "wrong")
    )
    planned = sum(len(run.numbers) for run in counted)
    return (
        f"In runs {period(run.date for run in counted)}, {len(numbers):,} generated queries were planned {planned:,} "
        f"times ({twice:,} on two Spark lines). {compared:,} answers were compared with plain Spark's: {changed:,} of "
        f"them came from queries that ran with another tree of joins, and {rows:,} are not empty. "
        f"{'No answer differs.' if wrong == 0 else f'**{wrong:,} answers differ.**'}"
    )


def period(dates: Iterable[str]) -> str:
    """The first and the last of some days, in words."""
    days = sorted(dates)
    first, last = days[0], days[-1]
    return f"on {first}" if first == last else f"from {first} to {last}"


def _run(file: Path) -> Run:
    content = json.loads(file.read_text(encoding="utf-8"))
    page = file.with_suffix(".md").read_text(encoding="utf-8")
    options = content["options"]
    first = options.get("first") or 0
    # results before 2026-11-28 lack these tables, their pages have them
    verdicts = content.get("verdicts") or _table(page, "Verdicts")
    kinds = content.get("kinds") or _table(page, "Kinds of queries")
    of_all = next(line for line in kinds if line["with"] == "all")
    return Run(
        spark=content["environment"]["pyspark"],
        dialect=options.get("dialect") or "shared",
        numbers=range(first, first + _number(of_all["queries"])),
        compared=sum(_number(line["queries"]) for line in verdicts if line["against Spark"] in (SAME, *WRONG)),
        changed=_number(of_all["changed"]),
        with_rows=_number(of_all["answers that are not empty"]),
        wrong=sum(query["against_spark"] in WRONG for query in content["not the same"]),
        date=file.name[: len("2026-01-01")],
    )


def _table(page: str, heading: str) -> Sequence[Mapping[str, Any]]:
    """The table below a heading of a page."""
    part = page.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    header, _, *rows = (line.strip("|").split("|") for line in part.splitlines() if line.startswith("|"))
    return [{k.strip(): v.strip() for k, v in zip(header, row, strict=True)} for row in rows]


def _number(cell: Any) -> int:
    return int(str(cell).replace(",", ""))
