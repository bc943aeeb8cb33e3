"""The figures of generated queries: how many were run on which line, and how many gave plain Spark's rows and DuckDB's.

A long run is made in pieces (`fuzz --first`), so that the figures of a line are in several files.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dovetail_bench.report import table
from dovetail_bench.results_files import ResultsFile, ResultsFiles, sources

_PREFIX = "fuzz-spark"


@dataclass
class Line:
    """A Spark line.

    Attributes:
        run: Numbers of the queries that were run.
        changed: Runs with another tree of joins, of all runs.
        runs: Runs: a query that two files have counts twice.
        unlike_spark: Numbers of the queries whose rows are not plain Spark's in some run.
        unlike_duckdb: The same of DuckDB's rows.
        not_compared: Numbers of the queries that DuckDB does not run.
        files: Where this comes from.
    """

    run: set[int] = field(default_factory=set)
    changed: float = 0.0
    runs: int = 0
    unlike_spark: set[int] = field(default_factory=set)
    unlike_duckdb: set[int] = field(default_factory=set)
    not_compared: set[int] = field(default_factory=set)
    files: list[ResultsFile] = field(default_factory=list)


def lines(results: ResultsFiles) -> dict[str, Line]:
    """Spark version → what was run on it."""
    found: dict[str, Line] = {}
    for file in results.starting(_PREFIX):
        line = found.setdefault(file.body["environment"]["pyspark"], Line())
        number, _, changed, _ = (target["measured"] for target in file.body["targets"])
        first = int(file.body["options"].get("first", 0))
        line.run |= set(range(first, first + number))
        line.runs += number
        line.changed += changed * number
        line.files.append(file)
        for query in file.body["not the same"]:
            if query["against_spark"] != "same":
                line.unlike_spark.add(query["number"])
            if query["against_duckdb"] == "different":
                line.unlike_duckdb.add(query["number"])
            elif query["against_duckdb"] != "same":
                line.not_compared.add(query["number"])
    return dict(sorted(found.items()))


def generated(results: ResultsFiles) -> str:
    """A row per Spark line."""
    found = lines(results)
    rows = [
        {
            "Spark": version,
            "queries": len(line.run),
            "plain Spark's rows": len(line.run - line.unlike_spark),
            "other rows than plain Spark": len(line.unlike_spark),
            "other rows than DuckDB": len(line.unlike_duckdb),
            "not run by DuckDB": len(line.not_compared),
            "another tree of joins": f"{line.changed / line.runs:.0%}",
        }
        for version, line in found.items()
    ]
    return f"{table(rows)}\n\n{sources(*(file for line in found.values() for file in line.files))}"
