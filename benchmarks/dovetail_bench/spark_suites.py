"""Checks that Spark's own SQL suites give the same rows and the same errors with Dovetail as without.

    python -m dovetail_bench.spark_suites

All files with joins or subqueries of the Spark line in use run once with Dovetail off and once with it on, under equal
settings: broadcasts on and off, tables as they are and with wrong statistics of two kinds, under which Dovetail
reorders more groups.

Exit code 1 if a statement's rows or its error condition differ, or if too few groups were reordered. A run that is
stopped (Ctrl-C, SIGTERM) reports what it has checked so far, and fails.
"""

from __future__ import annotations

import argparse
import atexit
import multiprocessing
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pyspark.version import __version__ as pyspark_version

from dovetail_bench import report, suite_files, tiny
from dovetail_bench.progress import say
from dovetail_bench.queries import Query
from dovetail_bench.rows import SAME_ENGINE, Row
from dovetail_bench.session import add_session_options, bench, without_errors
from dovetail_bench.suite_files import SuiteFile
from dovetail_bench.suite_runner import Outcome, SuiteRunner
from dovetail_bench.verdict import FAILED, PASSED, SAME, SAME_ERROR, judge

# Smallest number of groups that a run must reorder.
LEAST_REORDERED = 300

ANOTHER_ERROR = "another error"
ANSWERED = "answered by Dovetail alone"
NOT_CHECKED = "not checked"
NOT_REPEATABLE = "differs between two runs of plain Spark"

# Among others, the time zone of Spark's suite.
BASE = {
    **tiny.QUERY,
    "spark.sql.session.timeZone": "America/Los_Angeles",
    "spark.sql.shuffle.partitions": "2",
    "spark.dovetail.reorder.minGain": "0",
}


@dataclass(frozen=True)
class Pass:
    """One way to run all files.

    Attributes:
        name: Name in the report.
        wrong: Number of the set of wrong statistics that tables get; 0 if they stay as Spark's suite makes them.
        conf: Settings of the pass; a file's own settings come after them.
    """

    name: str
    wrong: int
    conf: dict[str, str]

    def suits(self, own: dict[str, str]) -> bool:
        """Whether a file's own settings keep the broadcasts of this pass; otherwise another pass runs the file."""
        return own.get(_THRESHOLD, self.conf[_THRESHOLD]) == self.conf[_THRESHOLD]


_THRESHOLD = "spark.sql.autoBroadcastJoinThreshold"
_BROADCAST = {_THRESHOLD: "10485760", "spark.sql.adaptive.enabled": "true"}
_NO_BROADCAST = {
    _THRESHOLD: "-1",
    "spark.sql.adaptive.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.enabled": "false",
}

PASSES = (
    Pass("wrong statistics, broadcast", 1, _BROADCAST),
    Pass("wrong statistics, no broadcast", 1, _NO_BROADCAST),
    Pass("other wrong statistics, broadcast", 2, _BROADCAST),
    Pass("other wrong statistics, no broadcast", 2, _NO_BROADCAST),
    Pass("as they are, broadcast", 0, _BROADCAST),
    Pass("as they are, no broadcast", 0, _NO_BROADCAST),
)


@dataclass(frozen=True)
class Statement:
    """A statement whose result is not the same.

    Attributes:
        where: Pass, file, settings of the run and number of the statement.
        sql: Text of the statement.
        verdict: What is not the same.
        detail: How it differs.
    """

    where: str
    sql: str
    verdict: str
    detail: str


@dataclass(frozen=True)
class CheckResult:
    """Results of a file under the settings of one pass and one of its own combinations.

    Attributes:
        of_pass: Name of the pass.
        statements: Number of statements.
        queries: Number of statements that plain Spark answers.
        joins: Number of statements with a join in the optimized plan.
        changed: Number of statements whose tree of joins is different with Dovetail.
        groups: Number of groups of three or more relations.
        reordered: Number of groups whose order Dovetail changed.
        verdicts: Verdict → number of statements.
        found: Statements whose result is not the same.
    """

    of_pass: str
    statements: int
    queries: int
    joins: int
    changed: int
    groups: int
    reordered: int
    verdicts: dict[str, int]
    found: list[Statement]


class _Worker:
    """State that a process keeps between files: its session."""

    runner: SuiteRunner


def _start(options: argparse.Namespace, suites: Path) -> None:
    stack = ExitStack()
    session = stack.enter_context(bench(options))
    without_errors(session.spark)
    directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dovetail-suites-")))
    _Worker.runner = SuiteRunner(session.spark, suites, directory)
    atexit.register(stack.close)


def _check(file: SuiteFile, chosen: Pass, own: dict[str, str]) -> CheckResult:
    """Checks a file. An error of this program counts as one statement that was not checked."""
    try:
        return _compared(file, chosen, own)
    except Exception as failed:
        found = Statement(f"{chosen.name}; {file.name}", "", NOT_CHECKED, repr(failed))
        return CheckResult(chosen.name, len(file.statements), 0, 0, 0, 0, 0, {NOT_CHECKED: 1}, [found])


def _compared(file: SuiteFile, chosen: Pass, own: dict[str, str]) -> CheckResult:
    """Runs a file without Dovetail and with it. If the results differ, it runs once more without."""
    settings = {**BASE, **chosen.conf, **own}

    def run(dovetail: bool) -> Any:
        return _Worker.runner.run(file.name, file.statements, settings, dovetail=dovetail, wrong=chosen.wrong)

    plain, ours = run(False), run(True)
    queries = [Query("sql-tests", f"{file.name}:{i}", text) for i, text in enumerate(file.statements)]
    verdicts = [_verdict(*three) for three in zip(queries, plain.outcomes, ours.outcomes, strict=True)]
    if any(verdict not in PASSED for verdict, _ in verdicts):
        again = run(False)
        for i, (query, first, second) in enumerate(zip(queries, plain.outcomes, again.outcomes, strict=True)):
            if verdicts[i][0] not in PASSED and _verdict(query, first, second)[0] not in PASSED:
                verdicts[i] = (NOT_REPEATABLE, verdicts[i][1])
    pairs = list(zip(plain.outcomes, ours.outcomes, strict=True))
    where = f"{chosen.name}; {file.name}"
    return CheckResult(
        chosen.name,
        len(queries),
        sum(p.answer is not None for p, _ in pairs),
        sum(bool(p.tree) for p, _ in pairs),
        sum(p.tree != o.tree for p, o in pairs if p.tree and o.tree),
        ours.groups,
        ours.reordered,
        dict(Counter(verdict for verdict, _ in verdicts)),
        [
            Statement(f"{where}:{i}{f' {own}' if own else ''}", query.text, verdict, detail)
            for i, (query, (verdict, detail)) in enumerate(zip(queries, verdicts, strict=True))
            if verdict not in (SAME, SAME_ERROR)
        ],
    )


def _verdict(query: Query, expected: Outcome, actual: Outcome) -> tuple[str, str]:
    if expected.error or actual.error:
        if expected.error == actual.error:
            return SAME_ERROR, expected.error
        verdict = FAILED if not expected.error else ANOTHER_ERROR if actual.error else ANSWERED
        return (
            verdict,
            f"{expected.error or 'an answer'} expected, {actual.error or 'an answer'} came: {actual.message}",
        )
    if expected.answer is None or actual.answer is None:
        return SAME, ""

    def unlimited() -> tuple[list[Row], list[Row]]:
        return expected.unlimited, actual.unlimited

    return judge(query, expected.answer, actual.answer, unlimited, SAME_ENGINE)


def run(options: argparse.Namespace) -> tuple[list[CheckResult], int]:
    """Runs all files in all passes, in separate processes (a process has one Spark). Returns also how many runs."""
    suites = suite_files.directory()
    files = suite_files.load(suites, options.files)
    passes = [PASSES[number - 1] for number in options.passes]
    tasks = [(f, chosen, own) for chosen in passes for f in files for own in f.runs if chosen.suits(own)]
    say(f"{len(files)} files, {len(tasks)} runs")
    checked: list[CheckResult] = []
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.processes, context, initializer=_start, initargs=(options, suites)) as pool:
        try:
            for (file, chosen, _), done in zip(tasks, [pool.submit(_check, *task) for task in tasks], strict=True):
                checked.append(done.result())
                for found in checked[-1].found:
                    if _wrong(found):
                        say(f"{found.verdict}: {found.where}: {found.detail}\n{found.sql}")
                say(f"{len(checked)} of {len(tasks)}: {chosen.name}; {file.name}: {checked[-1].reordered} reordered")
        except KeyboardInterrupt:
            say(f"stopped after {len(checked)} runs; what they showed is reported")
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    return checked, len(tasks)


def _wrong(statement: Statement) -> bool:
    return statement.verdict not in PASSED and statement.verdict != NOT_REPEATABLE


def targets(checked: Sequence[CheckResult], runs: int) -> list[dict[str, Any]]:
    """Targets of a run, and whether each is hit."""
    wrong = sum(_wrong(statement) for c in checked for statement in c.found)
    reordered = sum(c.reordered for c in checked)
    return [
        report.target(f"all {runs} runs of files", len(checked), len(checked) == runs),
        report.target("statements whose rows or error conditions differ: none", wrong, wrong == 0),
        report.target(f"at least {LEAST_REORDERED} groups reordered", reordered, reordered >= LEAST_REORDERED),
    ]


def write_page(page: report.Page, checked: Sequence[CheckResult], runs: int, files: int, left_out: int) -> None:
    """Fills the page."""
    page.text(
        f"Spark {pyspark_version}. {files} files; {left_out} further ones call functions of Spark's test classes and "
        "are not run. Commands (SET, CREATE, DESCRIBE, EXPLAIN, …) are compared by their errors alone, queries by "
        "their rows. “Joins” are statements with a join in plain Spark's optimized plan, “changed” those with "
        "another tree of joins in Dovetail's plan; a group has three or more relations."
    )
    page.targets(targets(checked, runs))
    names = [chosen.name for chosen in PASSES]
    counts: dict[str, Callable[[CheckResult], int]] = {
        "runs of files": lambda _: 1,
        "statements": lambda c: c.statements,
        "answered": lambda c: c.queries,
        "joins": lambda c: c.joins,
        "changed": lambda c: c.changed,
        "groups": lambda c: c.groups,
        "reordered": lambda c: c.reordered,
    }
    page.table(
        "Passes",
        [
            {
                "pass": name or "all",
                **{title: sum(map(count, _of(checked, name))) for title, count in counts.items()},
            }
            for name in (*names, "")
        ],
    )
    verdicts: Counter[str] = sum((Counter(c.verdicts) for c in checked), Counter())
    page.table("Verdicts", [{"verdict": verdict, "statements": n} for verdict, n in verdicts.most_common()])
    found = [statement for c in checked for statement in c.found]
    page.table("Wrong", [asdict(statement) for statement in found if _wrong(statement)])
    page.table(
        "Not decided by the text",
        [{k: v for k, v in asdict(s).items() if k != "detail"} for s in found if not _wrong(s)],
    )


def _of(checked: Sequence[CheckResult], name: str) -> list[CheckResult]:
    return [c for c in checked if not name or c.of_pass == name]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    lines = (__doc__ or "").splitlines()
    parser = argparse.ArgumentParser(prog="python -m dovetail_bench.spark_suites", description=lines[0])
    parser.add_argument("--files", nargs="*", default=[], help="paths below sql-tests/inputs (all with joins)")
    numbers = range(1, len(PASSES) + 1)
    parser.add_argument("--passes", nargs="+", type=int, choices=numbers, default=list(numbers), help="by number (all)")
    parser.add_argument("--processes", type=int, default=2, help="files at a time (2)")
    report.add_results_option(parser)
    add_session_options(parser)
    parser.set_defaults(cores=1, memory="2g")
    options = report.parse(parser, arguments)
    options.conf = [*tiny.session(len(options.files) or tiny.LONG + 1), *options.conf]
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    checked, runs = run(options)
    suites = suite_files.directory()
    part = "" if options.passes == list(numbers) else f"-passes{'-'.join(map(str, options.passes))}"
    page = report.Page("spark_suites", "Spark's own SQL suites", f"spark{pyspark_version}{part}")
    write_page(page, checked, runs, len(suite_files.load(suites, options.files)), suite_files.left_out(suites))
    results = targets(checked, runs)
    wrong = [asdict(statement) for c in checked for statement in c.found if _wrong(statement)]
    page.write(options, {"targets": results, "wrong": wrong})
    return 0 if all(target["hit"] for target in results) else 1


if __name__ == "__main__":
    sys.exit(main())
