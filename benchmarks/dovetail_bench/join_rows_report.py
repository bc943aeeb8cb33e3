"""Results of `join_rows` as tables: totals per mode, the targets, every regression by name, then all queries."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from statistics import median
from typing import Any

from dovetail.comparison import differences
from dovetail_bench.metrics import Profile
from dovetail_bench.report import GIB, Page, target
from dovetail_bench.session import DOVETAIL, DOVETAIL_BARE, DOVETAIL_ONE_PASS, SPARK, SPARK_CBO, Mode

# The targets, with all columns analyzed and no histograms. The largest number of join rows was set for one suite at one
# scale and says nothing about another; the others are ratios and hold for all suites.
MAX_TOTAL = 130_000_000
MAX_TOTAL_OF = ("tpcds", 1.0)
MAX_GEOMETRIC_MEAN = 0.45
MAX_WORSE = 1.5

# Largest ratio of the figures without any ANALYZE to those with it. After one pass, the ratio must be at most 1.
MAX_BARE = 1.15

# Rows out of joins above which a query can count as a regression: below it, no join order costs much.
MIN_ROWS = 100_000

# A query counts as slower from this factor and this many seconds on: less is noise of a single run.
SLOWER = 1.25
SLOWER_SECONDS = 0.5

MILLISECONDS = 1000


@dataclass(frozen=True)
class Results:
    """Measurements of all queries in all modes.

    Attributes:
        modes: All modes, plain Spark first.
        measured: Query → mode → its runs. A query that failed in a mode is not there.
        failures: Query → mode → error.
        analyze_seconds: Time that ANALYZE of all columns took.
        collect_seconds: Time that Dovetail's pass over all tables took.
        equal: Query → names of the modes that executed plain Spark's plan and were therefore not timed beside it.
        operators: Query → mode → kinds of joins and exchanges in its plan, with their numbers.
    """

    modes: tuple[Mode, ...]
    measured: Mapping[str, Mapping[str, Sequence[Profile]]]
    failures: Mapping[str, Mapping[str, str]]
    analyze_seconds: float
    collect_seconds: float
    equal: Mapping[str, Collection[str]] = field(default_factory=dict)
    operators: Mapping[str, Mapping[str, Mapping[str, int]]] = field(default_factory=dict)

    def as_dict(self) -> dict[str, dict[str, list[dict[str, Any]]]]:
        """Query → mode → its runs, for JSON."""
        return {q: {m: [asdict(p) for p in runs] for m, runs in by.items()} for q, by in self.measured.items()}

    @property
    def complete(self) -> list[str]:
        """Queries that ran in all modes. Totals cover only these."""
        return [q for q, by in self.measured.items() if all(mode.name in by for mode in self.modes)]

    def runs(self, query: str, mode: Mode) -> Sequence[Profile]:
        """Runs of a mode. If its plan is that of plain Spark: runs of plain Spark plus Dovetail's planning time."""
        own = self.measured[query][mode.name]
        if mode.name not in self.equal.get(query, ()):
            return own
        ms = median(p.dovetail_ms for p in own)
        return [
            replace(p, seconds=p.seconds + ms / MILLISECONDS, planning_ms=p.planning_ms + ms, dovetail_ms=ms)
            for p in self.measured[query][SPARK.name]
        ]

    def rows(self, query: str, mode: Mode) -> int:
        """Rows out of the joins of a query."""
        return self.measured[query][mode.name][-1].join_rows

    def value(self, query: str, mode: Mode, what: Callable[[Profile], float]) -> float:
        """Median of a measure over the runs of a query, in the unit of the measure."""
        return median(what(p) for p in self.runs(query, mode))

    def seconds(self, query: str, mode: Mode) -> float:
        """Median time of a query."""
        return self.value(query, mode, lambda p: p.seconds)

    def spread(self, query: str, mode: Mode) -> tuple[float, float]:
        """The shortest and the longest time of a query."""
        seconds = [p.seconds for p in self.runs(query, mode)]
        return min(seconds), max(seconds)

    def total(self, mode: Mode, what: Callable[[Profile], float]) -> float:
        """Sum, over the complete queries, of the median of the runs."""
        return sum(self.value(q, mode, what) for q in self.complete)

    def geometric_mean(self, mode: Mode) -> float:
        """Geometric mean of the join rows per query over plain Spark's. A query without any counts as one row."""
        logs = [math.log(max(self.rows(q, mode), 1) / max(self.rows(q, SPARK), 1)) for q in self.complete]
        return math.exp(sum(logs) / len(logs)) if logs else math.nan


def targets(results: Results, suite: str, scale: float) -> list[dict[str, Any]]:
    """Targets of a suite at a scale, and whether each is hit."""
    total = sum(results.rows(q, DOVETAIL) for q in results.complete)
    mean = results.geometric_mean(DOVETAIL)
    worse = [line["query"] for line in regressions(results, DOVETAIL)]
    limited = (suite, scale) == MAX_TOTAL_OF
    return [
        *([target(f"sum of join rows at most {MAX_TOTAL:,}", total, total <= MAX_TOTAL)] if limited else []),
        target(
            f"geometric mean per query at most {MAX_GEOMETRIC_MEAN} of plain Spark", mean, mean <= MAX_GEOMETRIC_MEAN
        ),
        target(
            f"no query with over {MIN_ROWS:,} join rows above {MAX_WORSE}x of the better of Spark and Spark CBO",
            ", ".join(worse) or "none",
            not worse,
        ),
        *_without_analyze(results, total, mean),
        target("all queries run in all modes", len(results.failures) or "yes", not results.failures),
    ]


def _without_analyze(results: Results, total: int, mean: float) -> list[dict[str, Any]]:
    found = []
    for mode, most in ((DOVETAIL_BARE, MAX_BARE), (DOVETAIL_ONE_PASS, 1.0)):
        rows = sum(results.rows(q, mode) for q in results.complete)
        ratio = results.geometric_mean(mode)
        word = f"{mode.title}: at most {most:g}x of analyzed tables"
        found.append(target(f"{word}, join rows", rows, rows <= most * total))
        found.append(target(f"{word}, geometric mean", ratio, ratio <= most * mean))
    return found


def regressions(results: Results, mode: Mode) -> list[dict[str, Any]]:
    """Queries in which a mode has many more join rows than the better of plain Spark and Spark's CBO."""
    others = [m for m in (SPARK, SPARK_CBO) if m is not mode]
    found = []
    for query in results.complete:
        rows, best = results.rows(query, mode), min(results.rows(query, m) for m in others)
        if rows > MIN_ROWS and rows > MAX_WORSE * best:
            found.append(
                {
                    "query": query,
                    "times worse": rows / max(best, 1),
                    **{m.title: results.rows(query, m) for m in results.modes},
                }
            )
    return sorted(found, key=lambda line: -float(line["times worse"]))


def slower(
    results: Results, mode: Mode, times: float = SLOWER, seconds: float = SLOWER_SECONDS
) -> list[dict[str, Any]]:
    """Queries in which a mode takes longer than plain Spark by this factor and these seconds: more than noise."""
    found = []
    for query in results.complete:
        ours, plain = results.seconds(query, mode), results.seconds(query, SPARK)
        if ours > times * plain and ours - plain > seconds:
            found.append(
                {
                    "query": query,
                    "times slower": ours / plain,
                    "Spark s": plain,
                    f"{mode.title} s": ours,
                    "Spark rows": results.rows(query, SPARK),
                    f"{mode.title} rows": results.rows(query, mode),
                }
            )
    return sorted(found, key=lambda line: -float(line["times slower"]))


def answers_differing(results: Results) -> list[dict[str, Any]]:
    """Digests that differ from plain Spark's. Ties in ORDER BY ... LIMIT cause this, too; `answers` detects ties."""
    lines = []
    for query in results.complete:
        plain = results.measured[query][SPARK.name][-1].digest
        for mode in results.modes[1:]:
            found = [words for run in results.measured[query][mode.name] for words in differences(plain, run.digest)]
            if found:
                lines.append({"query": query, "mode": mode.title, "differs": "; ".join(dict.fromkeys(found))})
    return lines


def failures(results: Results) -> list[dict[str, Any]]:
    """Errors of each query and mode."""
    return [{"query": q, "mode": m, "error": e} for q, by in results.failures.items() for m, e in by.items()]


def totals(results: Results, mode: Mode) -> dict[str, Any]:
    """Sums of a mode."""
    return {
        "mode": mode.title,
        "join rows": int(results.total(mode, lambda p: p.join_rows)),
        "geometric mean to Spark": results.geometric_mean(mode),
        "seconds": results.total(mode, lambda p: p.seconds),
        "planning s": results.total(mode, lambda p: p.planning_ms) / MILLISECONDS,
        "of it Dovetail s": results.total(mode, lambda p: p.dovetail_ms) / MILLISECONDS,
        "shuffled GiB": results.total(mode, lambda p: p.shuffle_bytes) / GIB,
    }


def write_page(page: Page, results: Results, goals: Sequence[Mapping[str, Any]]) -> None:
    """Fills the page. `goals` are the targets."""
    page.text(
        f"{len(results.complete)} queries ran in all modes. Join rows: rows out of all joins of the plan that ran, "
        f"a reused exchange counted once. ANALYZE of all columns took {results.analyze_seconds:.0f} s, Dovetail's pass "
        f"{results.collect_seconds:.0f} s."
    )
    page.table("Totals", [totals(results, mode) for mode in results.modes])
    page.targets(goals)
    heading = f"more than {MAX_WORSE}x the join rows of the better of the others, over {MIN_ROWS:,} rows"
    for mode in (DOVETAIL, DOVETAIL_BARE, DOVETAIL_ONE_PASS, SPARK_CBO):
        page.table(f"Regressions of {mode.title}: {heading}", regressions(results, mode))
    for mode in (DOVETAIL, DOVETAIL_BARE, DOVETAIL_ONE_PASS, SPARK_CBO):
        page.table(f"Slower with {mode.title} by {SLOWER}x and {SLOWER_SECONDS} s", slower(results, mode))
    page.table("Answers whose digest is not plain Spark's (tie or wrong: see answers)", answers_differing(results))
    page.table("Failures", failures(results))
    page.table("All queries", [_line(results, query) for query in results.complete])


def _line(results: Results, query: str) -> dict[str, Any]:
    line: dict[str, Any] = {"query": query}
    line |= {f"{m.title} rows": results.rows(query, m) for m in results.modes}
    line["Dovetail / Spark"] = results.rows(query, DOVETAIL) / max(results.rows(query, SPARK), 1)
    line |= {f"{m.title} s": results.seconds(query, m) for m in results.modes}
    return line
