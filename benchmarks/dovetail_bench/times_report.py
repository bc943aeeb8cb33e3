"""Results of `times` as tables: totals, targets, queries that are slower with their cause, then all queries.

All tables are made from the JSON of the results, so that `figures` shows the same numbers as the page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields
from statistics import median
from typing import Any

from dovetail_bench import report
from dovetail_bench.join_rows_report import MILLISECONDS, Results, answers_differing, failures, slower, totals
from dovetail_bench.metrics import Profile
from dovetail_bench.rounds import CACHES, LEAST_ROUNDS
from dovetail_bench.session import DOVETAIL, DOVETAIL_BARE, SPARK, SPARK_CBO, Mode

MODES = (SPARK, SPARK_CBO, DOVETAIL, DOVETAIL_BARE)

# Largest total time of Dovetail as a share of another mode's, and largest shuffled bytes as a share of plain Spark's.
MAX_TIME = {SPARK.name: 0.75, SPARK_CBO.name: 0.85}
MAX_SHUFFLED = 0.8

# No query may be slower than with plain Spark by more than this factor and more than these seconds.
SLOWER = 1.10
SLOWER_SECONDS = 0.5

# Most queries that are named because their number of runs is not that of the others.
MOST_NAMED = 3

# Counts of two runs of one plan may differ by up to this factor, because a LIMIT may end them at different rows.
SAME_COUNT = 1.01

MIB = 1 << 20

_COUNTERS = {f.name for f in fields(Profile)}


def read(body: Mapping[str, Any], modes: tuple[Mode, ...] = MODES) -> Results:
    """Results from the JSON of a file, with the runs that count. In files without rounds, all runs count.

    Args:
        body: The JSON of `times` or `join_rows`.
        modes: The modes that ran, plain Spark first.
    """
    measured = {
        query: {
            mode: [_profile(run) for run in runs if run.get("counted", True)]
            for mode, runs in by.items()
            if mode not in body["failures"].get(query, {})
        }
        for query, by in body["runs"].items()
    }
    operators = {
        query: {mode: plans[runs[-1]["plan"]] for mode, runs in body["runs"][query].items()}
        for query, plans in body.get("plans", {}).items()
    }
    analyze, collect = (float(body.get(f"{what} seconds", 0.0)) for what in ("analyze", "collect"))
    return Results(modes, measured, body["failures"], analyze, collect, body.get("equal plans", {}), operators)


def _profile(run: Mapping[str, Any]) -> Profile:
    return Profile(**{key: value for key, value in run.items() if key in _COUNTERS})


def number_of_runs(results: Results) -> str:
    """Number of runs of each query and mode that count, in words: "1 (q3: 2)" or "3 to 4"."""
    numbers = {query: _least_runs(results, query) for query in results.complete}
    [(usual, _)] = Counter(numbers.values()).most_common(1)
    others = {query: number for query, number in numbers.items() if number != usual}
    if len(others) > MOST_NAMED:
        return f"{min(numbers.values())} to {max(numbers.values())}"
    return f"{usual} ({', '.join(f'{query}: {number}' for query, number in others.items())})" if others else f"{usual}"


def _least_runs(results: Results, query: str) -> int:
    return min(len(results.runs(query, mode)) for mode in results.modes)


def stopped_early(results: Results) -> list[str]:
    """Queries that a stopped run timed in too few rounds. Queries of which all plans are equal need no more rounds."""
    return [
        query
        for query in results.complete
        if len(results.equal.get(query, ())) < len(results.modes) - 1 and _least_runs(results, query) < LEAST_ROUNDS
    ]


def targets(results: Results) -> list[dict[str, Any]]:
    """Targets of both of Dovetail's modes, and whether each is hit."""
    found = []
    for mode in (DOVETAIL, DOVETAIL_BARE):
        time = results.total(mode, lambda p: p.seconds)
        for other in (SPARK, SPARK_CBO):
            share = time / results.total(other, lambda p: p.seconds)
            most = MAX_TIME[other.name]
            found.append(report.target(f"{mode.title}: time at most {most} of {other.title}", share, share <= most))
        share = results.total(mode, lambda p: p.shuffle_bytes) / results.total(SPARK, lambda p: p.shuffle_bytes)
        name = f"{mode.title}: shuffled bytes at most {MAX_SHUFFLED} of {SPARK.title}"
        found.append(report.target(name, share, share <= MAX_SHUFFLED))
        behind = [line["query"] for line in late(results, mode)]
        name = f"{mode.title}: no query over {SLOWER - 1:.0%} and {SLOWER_SECONDS} s slower than {SPARK.title}"
        found.append(report.target(name, ", ".join(behind) or "none", not behind))
    return [*found, report.target("all queries run in all modes", len(results.failures) or "yes", not results.failures)]


def late(results: Results, mode: Mode) -> list[dict[str, Any]]:
    """Queries that take longer than with plain Spark, with the cause as far as plans and counts show it."""
    lines = []
    for line in slower(results, mode, SLOWER, SLOWER_SECONDS):
        query = line["query"]
        ours, plain = _middle(results, query, mode), _middle(results, query, SPARK)
        longest, shortest = results.spread(query, SPARK)[1], results.spread(query, mode)[0]
        lines.append(
            {
                **line,
                "cause": _cause(results, query, mode),
                "Spark range s": _range(results, query, SPARK),
                f"{mode.title} range s": _range(results, query, mode),
                "ranges overlap": shortest <= longest,
                "of it Dovetail's planning s": ours["dovetail_ms"] / MILLISECONDS,
                "Spark shuffled MiB": plain["shuffle_bytes"] / MIB,
                f"{mode.title} shuffled MiB": ours["shuffle_bytes"] / MIB,
            }
        )
    return lines


def _middle(results: Results, query: str, mode: Mode) -> dict[str, float]:
    runs = results.runs(query, mode)
    return {key: median(getattr(p, key) for p in runs) for key in ("join_rows", "shuffle_bytes", "dovetail_ms")}


def _cause(results: Results, query: str, mode: Mode) -> str:
    ours, plain = _middle(results, query, mode), _middle(results, query, SPARK)
    if mode.name in results.equal.get(query, ()):
        return "the same plan; planning"
    more = [
        words
        for key, words in (("join_rows", "more join rows"), ("shuffle_bytes", "more bytes shuffled"))
        if ours[key] > SAME_COUNT * plain[key]
    ]
    counts = ", ".join(more) or "neither more join rows nor more bytes shuffled"
    return f"{_other_plan(results, query, mode)}; {counts}"


def _other_plan(results: Results, query: str, mode: Mode) -> str:
    """How a plan differs from plain Spark's."""
    if query not in results.operators:
        return "plans not compared"
    plain, ours = (results.operators[query][m.name] for m in (SPARK, mode))
    names = [name for name in sorted({*plain, *ours}) if plain.get(name) != ours.get(name)]
    changed = ", ".join(f"{name} {plain.get(name, 0)} → {ours.get(name, 0)}" for name in names)
    return f"another plan ({changed or 'the same operators in another order or place'})"


def _range(results: Results, query: str, mode: Mode) -> str:
    return "{:.2f} to {:.2f}".format(*results.spread(query, mode))


def write_page(page: report.Page, body: Mapping[str, Any], verdicts: Sequence[Mapping[str, Any]]) -> None:
    """Fills the page from the JSON of the results."""
    results = read(body)
    page.text(
        f"{len(results.complete)} queries ran in all modes, adaptive execution on. ANALYZE of all columns took "
        f"{results.analyze_seconds:.0f} s."
    )
    page.text(
        "Round 0 plans every query in every mode, then runs it and compares the plans executed. Where a mode's "
        "plan is plain Spark's, it counts as plain Spark's time and Dovetail's own planning. " + _rounds(results)
    )
    page.text(CACHES)
    unbalanced = body["not balanced"]
    page.text(
        "Every mode went first equally often in every query."
        if not unbalanced
        else f"**In {len(unbalanced)} queries a mode went first more often than another:** {', '.join(unbalanced)}."
    )
    page.table("Totals", [totals(results, mode) for mode in results.modes])
    if "planning" in body:
        page.table("Planning", [_planning(results, body, mode) for mode in results.modes])
    page.targets(targets(results))
    page.table("Plans executed", [_plans(results, body, mode) for mode in results.modes[1:]])
    for mode in (DOVETAIL, DOVETAIL_BARE, SPARK_CBO):
        page.table(f"Slower than Spark with {mode.title}", late(results, mode))
    page.table("Answers whose digest is not plain Spark's", answers_differing(results))
    page.table("These answers compared row by row in a separate run", verdicts)
    page.table("Failures", failures(results))
    page.table("All queries", [_line(results, query) for query in results.complete])


def _rounds(results: Results) -> str:
    """What the seconds are, in sentences: medians over rounds or, of a run that was stopped, single runs."""
    few = stopped_early(results)
    if not few:
        return (
            "The others are timed in rounds in which each goes first equally often. Seconds are medians over the "
            "rounds; ranges are the shortest and the longest run."
        )
    return (
        f"**The run was stopped before its rounds were complete:** {len(few)} of {len(results.complete)} queries were "
        f"not timed in {LEAST_ROUNDS} rounds. Runs of each query and mode: {number_of_runs(results)}. Seconds are "
        "those of the single run, or the median of the runs. The mode that goes first changes from query to query."
    )


def planning(results: Results, body: Mapping[str, Any], mode: Mode) -> tuple[float, float]:
    """Seconds of `EXPLAIN` of all queries: with empty caches of Dovetail, and with filled ones."""
    seconds = [body["planning"][query][mode.name] for query in results.complete]
    return sum(of[0] for of in seconds), sum(of[1] for of in seconds)


def _planning(results: Results, body: Mapping[str, Any], mode: Mode) -> dict[str, Any]:
    empty, filled = planning(results, body, mode)
    return {"mode": mode.title, "EXPLAIN of all queries, empty caches, s": empty, "filled caches, s": filled}


def _plans(results: Results, body: Mapping[str, Any], mode: Mode) -> dict[str, Any]:
    changed = [q for q, by in body["runs"].items() if len({run["plan"] for run in by.get(mode.name, ())}) > 1]
    return {
        "mode": mode.title,
        "queries": len(results.complete),
        "plan equal to Spark's": sum(mode.name in results.equal.get(q, ()) for q in results.complete),
        "plan changed between rounds": ", ".join(changed) or "none",
    }


def _line(results: Results, query: str) -> dict[str, Any]:
    line: dict[str, Any] = {"query": query}
    for mode in results.modes:
        equal = mode.name in results.equal.get(query, ())
        line[f"{mode.title} s"] = results.seconds(query, mode)
        line[f"{mode.title} range"] = "plan equal" if equal else _range(results, query, mode)
    middles = {mode.title: _middle(results, query, mode) for mode in results.modes}
    line |= {f"{title} MiB": middle["shuffle_bytes"] / MIB for title, middle in middles.items()}
    return line | {f"{title} rows": int(middle["join_rows"]) for title, middle in middles.items()}
