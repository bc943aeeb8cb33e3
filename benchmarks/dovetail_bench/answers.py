"""The gate: with Dovetail on, every query returns the rows of plain Spark, with analyzed tables and without.

    python -m dovetail_bench.answers --scale 0.1 --duckdb

Exit code 1 if an answer differs, if a query fails with Dovetail but runs without it, or if Dovetail changed no plan at
all (then nothing was tested). With --duckdb, the answers are also compared with DuckDB's.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Any

from dovetail.demo.data import Dataset, dataset
from dovetail_bench import report
from dovetail_bench.executed_plan import normalized
from dovetail_bench.oracle import Oracle
from dovetail_bench.progress import say
from dovetail_bench.queries import FOLDERS, Query, load
from dovetail_bench.rows import OTHER_ENGINE, SAME_ENGINE, Row
from dovetail_bench.session import DOVETAIL, DOVETAIL_BARE, SPARK, Bench, Mode, add_session_options, bench
from dovetail_bench.verdict import DIFFERENT, FAILED, PASSED, SAME, SAME_ERROR, Answer, Verdict, judge

MODES = {mode.name: mode for mode in (DOVETAIL, DOVETAIL_BARE)}

DUCKDB = "duckdb"

# The error condition in a message of Spark, such as "[DIVIDE_BY_ZERO]".
_CONDITION = re.compile(r"\[([A-Z_0-9.]+)\]")


@dataclass(frozen=True)
class Outcome:
    """One run: the answer and the physical plan it came from, or the error."""

    answer: Answer | None
    plan: str
    error: str = ""


class Gate:
    """Runs the queries of one data set in all modes and judges the answers."""

    def __init__(self, session: Bench, data: Dataset, oracle: Oracle | None, modes: Sequence[Mode]) -> None:
        self.session, self.data, self.oracle, self.modes = session, data, oracle, modes

    def check(self, query: Query) -> list[Verdict]:
        """Judges a query: each mode against plain Spark, and against DuckDB if there is an oracle."""
        reference = self._run(query.text, SPARK)
        verdicts = []
        for mode in self.modes:
            outcome = self._run(query.text, mode)
            verdicts.append(self._against_spark(query, mode, reference, outcome))
            if self.oracle is not None and outcome.answer is not None:
                verdicts.append(self._against_duckdb(query, mode, self.oracle, outcome.answer, verdicts[-1]))
        return verdicts

    def _against_spark(self, query: Query, mode: Mode, expected: Outcome, actual: Outcome) -> Verdict:
        def without_limit() -> tuple[list[Row], list[Row]]:
            text = query.without_limit()
            return self._rows(text, SPARK), self._rows(text, mode)

        changed = expected.plan != actual.plan
        if expected.answer is None or actual.answer is None:
            same = _same_error(expected.error, actual.error)
            verdict = SAME_ERROR if same else FAILED
            detail = f"plain Spark: {expected.error or 'runs'}; here: {actual.error or 'runs'}"
            return Verdict(*query.key, SPARK.name, mode.name, verdict, 0, changed, detail)
        verdict, detail = judge(query, expected.answer, actual.answer, without_limit, SAME_ENGINE)
        return Verdict(*query.key, SPARK.name, mode.name, verdict, len(actual.answer.rows), changed, detail)

    def _against_duckdb(self, query: Query, mode: Mode, oracle: Oracle, actual: Answer, spark: Verdict) -> Verdict:
        def without_limit() -> tuple[list[Row], list[Row]]:
            text = query.without_limit()
            return oracle.answer(query, text), self._rows(text, mode)

        try:
            expected = Answer(actual.columns, oracle.answer(query, query.text))
            verdict, detail = judge(query, expected, actual, without_limit, OTHER_ENGINE)
        except Exception as failed:
            verdict, detail = FAILED, _first_line(failed)
        return Verdict(*query.key, DUCKDB, mode.name, verdict, spark.rows, spark.plan_changed, detail)

    def _run(self, text: str, mode: Mode) -> Outcome:
        self.session.use(mode, self.data)
        plan = io.StringIO()
        try:
            frame = self.session.spark.sql(text)
            # Explain before the run: after it, the plan is that of adaptive execution, which depends on timing.
            with contextlib.redirect_stdout(plan):
                frame.explain()
            answer = Answer(tuple(frame.columns), [tuple(row) for row in frame.collect()])
        except Exception as failed:  # an error of Spark is a finding about this query and does not end the run
            return Outcome(None, normalized(plan.getvalue()), _first_line(failed))
        return Outcome(answer, normalized(plan.getvalue()))

    def _rows(self, text: str, mode: Mode) -> list[Row]:
        self.session.use(mode, self.data)
        return [tuple(row) for row in self.session.spark.sql(text).collect()]


def run(options: argparse.Namespace) -> list[Verdict]:
    """Judges all queries of the chosen suites."""
    modes = [MODES[name] for name in options.modes]
    verdicts: list[Verdict] = []
    with ExitStack() as stack:
        session = stack.enter_context(bench(options))
        prepared: dict[str, tuple[Dataset, Oracle | None]] = {}
        for suite in options.suite:
            queries = load(suite, options.queries)[:: options.every]
            benchmark = FOLDERS[suite][1]
            if benchmark not in prepared:
                data = dataset(benchmark, options.scale, options.data_dir)
                session.register(data, analyze=any(mode.analyzed for mode in modes))
                oracle = stack.enter_context(contextlib.closing(Oracle(data))) if options.duckdb else None
                prepared[benchmark] = data, oracle
            gate = Gate(session, *prepared[benchmark], modes)
            for done, query in enumerate(queries, 1):
                found = gate.check(query)
                verdicts += found
                words = ", ".join(f"{v.mode} vs {v.against} {v.verdict}" for v in found)
                say(f"{suite} {done}/{len(queries)} {query.name}: {words}")
    return verdicts


def summary(verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
    """Counts the verdicts of each suite, mode and reference."""
    groups: dict[tuple[str, str, str], list[Verdict]] = {}
    for verdict in verdicts:
        groups.setdefault((verdict.suite, verdict.mode, verdict.against), []).append(verdict)
    lines = []
    for (suite, mode, against), group in groups.items():
        counts = Counter(v.verdict for v in group)
        line = {"suite": suite, "mode": mode, "against": against, "queries": len(group)}
        line["plans changed"] = sum(v.plan_changed is True for v in group)
        line["empty answers"] = sum(v.verdict in PASSED and v.rows == 0 for v in group)
        lines.append({**line, **{name: counts[name] for name in (*PASSED, DIFFERENT, FAILED)}})
    return lines


def passed(verdicts: Sequence[Verdict]) -> bool:
    """Whether every answer is right and Dovetail changed at least one plan."""
    return all(v.verdict in PASSED for v in verdicts) and any(v.plan_changed for v in verdicts)


def _first_line(failed: Exception) -> str:
    return f"{type(failed).__name__}: {(str(failed).strip() or '?').splitlines()[0]}"


def _same_error(one: str, other: str) -> bool:
    """Whether both runs failed for the same reason: with the same error condition, or else with the same message.

    >>> _same_error("AnalysisException: [DIVIDE_BY_ZERO] here", "ArithmeticException: [DIVIDE_BY_ZERO] there")
    True
    >>> _same_error("", "Py4JJavaError: java.lang.OutOfMemoryError"), _same_error("A: one", "A: another")
    (False, False)
    """
    found, other_found = _CONDITION.search(one), _CONDITION.search(other)
    if found is None or other_found is None:
        return one == other != ""
    return found[1] == other_found[1]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    lines = (__doc__ or "").splitlines()
    parser = argparse.ArgumentParser(prog="python -m dovetail_bench.answers", description=lines[0])
    parser.add_argument("--suite", nargs="+", choices=FOLDERS, default=list(FOLDERS), help="query suites (all)")
    parser.add_argument("--queries", nargs="+", default=[], metavar="NAME", help="only these, of one suite")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each N-th of them (1)")
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES), help="ways to run Dovetail (all)")
    parser.add_argument("--duckdb", action="store_true", help="compare with DuckDB's answers too")
    report.add_options(parser)
    add_session_options(parser)
    options = report.parse(parser, arguments)
    verdicts = run(options)
    part = "" if set(options.suite) == set(FOLDERS) else "-".join(options.suite)
    page = report.Page("answers", f"Answers, scale {options.scale:g}", part)
    if not any(v.plan_changed for v in verdicts):
        page.text("**Dovetail changed no plan: this run proves nothing.**")
    page.table("Summary", summary(verdicts))
    page.table("Answers that are not equal row by row", [asdict(v) for v in verdicts if v.verdict != SAME])
    page.write(options, {"verdicts": [asdict(v) for v in verdicts]})
    return 0 if passed(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
