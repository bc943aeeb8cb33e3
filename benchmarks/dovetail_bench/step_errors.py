"""How far estimates of joins are off on the queries of a suite: q-errors of every join, from `explain` after a run.

Bare tables and tables after one pass of Dovetail are compared, and every miss is named. `estimation` prints the result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import dovetail
from dovetail.demo.data import Dataset
from dovetail_bench import report
from dovetail_bench.accuracy import EstimatePair, summary
from dovetail_bench.progress import say
from dovetail_bench.queries import Query
from dovetail_bench.real_data_report import MAX_MEDIAN, MAX_P95, PERCENT
from dovetail_bench.session import DOVETAIL_BARE, DOVETAIL_ONE_PASS, Bench

MODES = (DOVETAIL_BARE, DOVETAIL_ONE_PASS)

Steps = Mapping[str, Sequence[EstimatePair]]


def measure(session: Bench, data: Dataset, queries: Sequence[Query]) -> dict[str, list[EstimatePair]]:
    """Mode → every join of every query of which the run counted the rows, with the true rows."""
    session.collect(data)
    found: dict[str, list[EstimatePair]] = {}
    for mode in MODES:
        session.use(mode, data)
        for query in queries:
            say(f"{query.name}, {mode.title}")
            groups = dovetail.explain(query.text, session.spark, actual=True).to_dict()["groups"]
            found.setdefault(mode.name, []).extend(step for group in groups for step in _steps(query.name, group))
    return found


def _steps(query: str, group: Mapping[str, Any]) -> Iterator[EstimatePair]:
    plan = group.get("after") or group.get("before") or {}
    for join in plan.get("joins", ()):
        if "actual_rows" in join:
            relations = join["relations"]
            rows, actual = float(join["rows"]["value"]), int(join["actual_rows"])
            yield EstimatePair(query, ",".join(relations), len(relations) - 1, rows, actual)


def write(page: report.Page, steps: Steps) -> None:
    """Adds the summaries, then every miss."""
    lines = []
    for mode in MODES:
        if steps.get(mode.name):
            s = summary(steps[mode.name])
            lines.append(
                {
                    "statistics": mode.title,
                    "joins": s.number,
                    "median q-error": s.median,
                    "95th percentile": s.p95,
                    "largest": s.worst,
                    "underestimates": f"{s.under * PERCENT:.0f} %",
                    f"misses, over {MAX_P95:g}": len(misses(steps[mode.name])),
                }
            )
    page.table("Estimates of joins against the actual rows", lines)
    for mode in MODES:
        page.table(
            f"Misses of {mode.title}: every join off by more than {MAX_P95:g} times",
            [
                {
                    "query": step.query,
                    "relations": step.relations.replace(",", ", "),
                    "estimate": step.value,
                    "true": step.true,
                    "q-error": step.q_error,
                }
                for step in misses(steps.get(mode.name, ()))
            ],
        )


def misses(steps: Sequence[EstimatePair]) -> list[EstimatePair]:
    """Estimates that are far off, the worst first."""
    return sorted((step for step in steps if step.q_error > MAX_P95), key=lambda step: -step.q_error)


def targets(steps: Steps) -> list[dict[str, Any]]:
    """Targets of collected statistics. Bare tables have no target; their figures are shown for comparison."""
    collected = steps.get(DOVETAIL_ONE_PASS.name)
    if not collected:
        return []
    s = summary(collected)
    title = DOVETAIL_ONE_PASS.title
    return [
        report.target(f"{title}: median q-error of joins at most {MAX_MEDIAN}", s.median, s.median <= MAX_MEDIAN),
        report.target(f"{title}: 95th percentile of q-errors at most {MAX_P95}", s.p95, s.p95 <= MAX_P95),
    ]
