"""Checks that no query which plain Spark answers runs out of memory with Dovetail, and that small inputs are broadcast.

    python -m dovetail_bench.memory

The queries join payload tables (every type, Parquet and ORC, compressible or not, dictionary-encoded or not; 50 to 250
MiB in memory) under drivers of 600 MiB and 1 GiB, with static and adaptive planning. Plain Spark and Dovetail run them
in turns. Each driver size has a process, which is restarted after a failure. Exit code 1 if a target is missed. A run
that is stopped (Ctrl-C, SIGTERM) reports the pairs that it has.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from pyspark import __version__ as pyspark_version

from dovetail import _sql
from dovetail.errors import DovetailError
from dovetail_bench import report
from dovetail_bench.memory_cases import DRIVERS, SMALL_DRIVER, SMALL_MIB, Case, cases, small
from dovetail_bench.memory_driver import OK, Driver
from dovetail_bench.memory_report import LEAST_PAIRS, Pair, Run, targets, write_page
from dovetail_bench.memory_tables import CONTENTS, FORMATS, MIB, TYPES, Payload, known, payloads, small_tables
from dovetail_bench.progress import say
from dovetail_bench.session import STORE

# Memory of the driver that makes the tables. It measures whole payloads by broadcasting them: 250 MiB, several times.
MAKER = "4g"

PLAIN = {_sql.ENABLED_KEY: "false"}
OURS = {_sql.ENABLED_KEY: "true"}

# Settings under which a size is measured: it is read from a broadcast that a hint asks for.
MEASURE = {**PLAIN, "spark.sql.adaptive.enabled": "false"}

# Attempts to measure a size. Earlier broadcasts may still fill the maker's memory; it is restarted after a failure.
ATTEMPTS = 2

# Further runs of a query that fails with Dovetail but not with plain Spark.
ASKED_AGAIN = 3

VARIANT_SINCE = 4


class Bench:
    """Tables and drivers of a run. A payload table exists as long as its pairs run."""

    def __init__(self, options: argparse.Namespace, work: Path, stack: ExitStack) -> None:
        self._options, self._work = options, work
        self._tables, self._collected = work / "tables", work / "collected"
        self._stack = stack
        self._drivers: dict[str, Driver] = {}

    def prepare(self, payload: Payload, of_table: Sequence[Case]) -> dict[str, int]:
        """Makes a payload table. Returns the true sizes of the payload inputs of its cases."""
        maker = self._driver(MAKER)
        around = [] if (self._tables / "fact").exists() else small_tables()
        fill = f"INSERT OVERWRITE {payload.name} {payload.rows_query}"
        statements = [*known(payload, self._tables), *around, fill]
        try:
            maker.execute(statements, PLAIN)
        except DovetailError:
            # the system may have killed the driver for lack of memory
            maker.execute(statements, PLAIN)
        if any(case.collected for case in of_table):
            maker.execute([f"DOVETAIL ANALYZE TABLE {payload.name}"], {**OURS, STORE: str(self._collected)})
        return {name: self._size(maker, case) for name, case in {c.measured_as: c for c in of_table}.items()}

    def remove(self, payload: Payload) -> None:
        """Deletes the files of a payload table."""
        shutil.rmtree(self._tables / payload.name)

    def _driver(self, memory: str) -> Driver:
        if memory not in self._drivers:
            driver = Driver(memory, self._options.cores, self._work, quick=self._options.small)
            self._drivers[memory] = self._stack.enter_context(driver)
        return self._drivers[memory]

    def _size(self, maker: Driver, case: Case) -> int:
        tables = known(case.payload, self._tables)
        sql = case.sql("probe", "/*+ BROADCAST(p) */")
        for _ in range(ATTEMPTS):
            run = Run.of_answer(maker.run(sql, MEASURE, tables, self._options.limit))
            if run.state == OK:
                return max(join.bytes for join in run.executed if case.payload.name in join.build)
        raise DovetailError(f"the size of {case.measured_as} cannot be measured: {run.state}: {run.error}")

    def pair(self, case: Case, number: int, true_bytes: int) -> Pair:
        """Runs both sides. The side that goes first changes from pair to pair.

        Every pair has a separate store of statistics: what Dovetail learns from one failure must not hide the next.
        """
        driver = self._driver(case.driver)
        store = self._work / "stores" / str(number)
        if case.collected:
            shutil.copytree(self._collected, store)
        sides = {"plain": PLAIN, "ours": {**OURS, STORE: str(store)}}
        runs = {side: self._run(driver, case, sides[side]) for side in sorted(sides, reverse=number % 2 == 0)}
        pair = Pair(case, runs["plain"], runs["ours"], true_bytes)
        if not pair.differs:
            return pair
        # a separate store for each: what Dovetail learned from the failure must not help
        again = [{**OURS, STORE: f"{store}-{attempt}"} for attempt in range(ASKED_AGAIN)]
        if case.collected:
            for conf in again:
                shutil.copytree(self._collected, conf[STORE])
        return replace(pair, again=tuple(self._run(driver, case, conf) for conf in again))

    def _run(self, driver: Driver, case: Case, conf: Mapping[str, str]) -> Run:
        tables = known(case.payload, self._tables)
        return Run.of_answer(driver.run(case.sql(), {**case.conf, **conf}, tables, self._options.limit))


@contextmanager
def prepared(options: argparse.Namespace) -> Iterator[Bench]:
    """A bench whose drivers and data are removed at the end."""
    with tempfile.TemporaryDirectory(prefix="dovetail-memory-") as work, ExitStack() as stack:
        yield Bench(options, Path(work), stack)


def run(options: argparse.Namespace) -> list[Pair]:
    """Runs the cases that the options choose."""
    chosen = _chosen(options)
    pairs: list[Pair] = []
    with prepared(options) as bench:
        try:
            for payload, of_table in groupby(chosen, key=lambda case: case.payload):
                cases_of_it = list(of_table)
                sizes = bench.prepare(payload, cases_of_it)
                say(f"{payload.name}: inputs of {', '.join(f'{size / MIB:.1f}' for size in sizes.values())} MiB")
                for case in cases_of_it:
                    pair = bench.pair(case, len(pairs), sizes[case.measured_as])
                    pairs.append(pair)
                    say(f"{len(pairs)} of {len(chosen)}: {case.name}: {_outcome(pair.plain)}; {_outcome(pair.ours)}")
                bench.remove(payload)
        except KeyboardInterrupt:
            say(f"stopped after {len(pairs)} pairs; what they showed is reported")
        except DovetailError as failed:
            say(f"{failed}; what {len(pairs)} pairs showed is reported")
    return pairs


def _outcome(run: Run) -> str:
    return f"{run.state}, {run.seconds:.1f} s"


def _chosen(options: argparse.Namespace) -> list[Case]:
    tables: list[Payload] = list(payloads(variant=int(pyspark_version.split(".")[0]) >= VARIANT_SINCE))
    everything = small(tables) if options.small else cases(tables)
    return [
        case
        for case in everything
        if case.payload.kind in options.types
        and case.payload.content in options.contents
        and case.payload.format in options.formats
        and case.driver in options.drivers
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    lines = (__doc__ or "").splitlines()
    parser = argparse.ArgumentParser(prog="python -m dovetail_bench.memory", description=lines[0])
    parser.add_argument("--small", action="store_true", help=f"six pairs of {SMALL_MIB} MiB under {SMALL_DRIVER}")
    for name, values in (("types", TYPES), ("contents", CONTENTS), ("formats", FORMATS), ("drivers", DRIVERS)):
        parser.add_argument(f"--{name}", nargs="+", choices=values, default=values, help="only these (all)")
    parser.add_argument("--limit", type=float, default=120, help="seconds that a query may take (120)")
    parser.add_argument("--cores", type=int, default=2, help="of a driver (2)")
    report.add_results_option(parser)
    options = report.parse(parser, arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    whole = len(_chosen(options)) >= LEAST_PAIRS
    least = LEAST_PAIRS if whole else len(_chosen(options))
    started = time.monotonic()
    pairs = run(options)
    seconds = round(time.monotonic() - started, 1)
    page = report.Page("memory", "Memory of broadcasts and hash tables", f"spark{pyspark_version}")
    write_page(page, pairs, least)
    page.text(f"The run took {seconds:,.0f} s, data included.")
    results = targets(pairs, least)
    page.write(options, {"targets": results, "seconds": seconds, "pairs": [pair.json() for pair in pairs]})
    return 0 if all(target["hit"] for target in results) else 1


if __name__ == "__main__":
    sys.exit(main())
