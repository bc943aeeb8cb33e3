"""Times and shuffled bytes of a query suite, in rounds: plain Spark, Spark's CBO, Dovetail analyzed and bare.

    python -m dovetail_bench.times --scale 10
    python -m dovetail_bench.times --scale 10 --suite tpch

Adaptive execution is on in all modes. `rounds` defines which mode runs when, and what is timed again. Exit code 1 if a
query fails in one of Dovetail's modes, if an answer differs from plain Spark's, or with --gate if a target is missed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from dovetail.demo.data import Dataset, dataset
from dovetail_bench import join_rows, report, rounds
from dovetail_bench.answers import Gate
from dovetail_bench.join_rows_report import Results, answers_differing
from dovetail_bench.queries import FOLDERS, Query, load
from dovetail_bench.session import DOVETAIL, DOVETAIL_BARE, Bench, bench
from dovetail_bench.times_report import MODES, read, targets, write_page
from dovetail_bench.verdict import DIFFERENT, PASSED, SAME, Verdict

OURS = (DOVETAIL, DOVETAIL_BARE)


def run(options: argparse.Namespace) -> tuple[dict[str, Any], list[Verdict]]:
    """All runs as JSON, and verdicts on the answers of Dovetail's modes whose digest is not plain Spark's."""
    queries = load(options.suite, options.queries)[:: options.every]
    data = dataset(FOLDERS[options.suite][1], options.scale, options.data_dir)
    with bench(options) as session:
        session.register(data)
        body = rounds.to_json(rounds.Rounds(session, data, MODES).run(queries))
        body["analyze seconds"] = sum(session.analyze_seconds.values())
        return body, judged(session, data, queries, body)


def judged(session: Bench, data: Dataset, queries: Sequence[Query], body: dict[str, Any]) -> list[Verdict]:
    """Runs queries with different digests again, and compares all rows: a tie under LIMIT may differ and be right."""
    verdicts = []
    differing = answers_differing(read(body))
    for query in queries:
        titles = {line["mode"] for line in differing if line["query"] == query.name}
        modes = [mode for mode in OURS if mode.title in titles]
        if modes:
            found = Gate(session, data, None, modes).check(query)
            verdicts += [seen_once(query, verdict) for verdict in found]
    return verdicts


def seen_once(query: Query, verdict: Verdict) -> Verdict:
    """Judges an answer that was wrong in a timed run: unless a LIMIT cuts it, it is wrong even if it now is right."""
    cut = query.limit is not None and verdict.rows >= query.limit
    if verdict.verdict != SAME or cut:
        return verdict
    changed = asdict(verdict) | {"verdict": DIFFERENT, "detail": "another digest in a timed run, the same rows in this"}
    return Verdict(**changed)


def passed(results: Results, verdicts: Sequence[Verdict]) -> bool:
    """Whether every query ran in Dovetail's modes and gave plain Spark's answer."""
    ours = {mode.name for mode in OURS}
    ran = not any(ours & set(failures) for failures in results.failures.values())
    return ran and all(verdict.verdict in PASSED for verdict in verdicts)


def page(suite: str, scale: float) -> report.Page:
    """The empty page of a suite at a scale."""
    return report.Page("times", f"Times, {suite}, scale {scale:g}", data=suite)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    lines = (__doc__ or "").splitlines()
    parser = argparse.ArgumentParser(prog="python -m dovetail_bench.times", description=lines[0])
    join_rows.add_options(parser)
    options = report.parse(parser, arguments)
    body, verdicts = run(options)
    written = page(options.suite, options.scale)
    write_page(written, body, [asdict(verdict) for verdict in verdicts])
    results = read(body)
    found = targets(results)
    written.write(options, {"targets": found, **body, "answers": [asdict(verdict) for verdict in verdicts]})
    missed = options.gate and not all(target["hit"] for target in found)
    return 1 if missed or not passed(results, verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
