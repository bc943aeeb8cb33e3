"""No query runs out of memory with Dovetail that plain Spark answers, and small inputs are still broadcast.

    python -m dovetail_bench.memory

Joins of payload tables (every type, Parquet and ORC, compressible or not, dictionary-encoded or not; 50 to 250 MiB in
memory) under drivers of 600 MiB and 1 GiB, with static and adaptive planning: plain Spark and Dovetail in turns, each
driver size in a process of its own, which is started anew after a failure. Exit code 1 if a target is missed. A run
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
from pathlib import Path

from pyspark import __version__ as pyspark_version

from dovetail import _sql
from dovetail_bench import report
from dovetail_bench.memory_cases import DRIVERS, SMALL_DRIVER, SMALL_MIB, Case, cases, small
from dovetail_bench.memory_driver import Driver
from dovetail_bench.memory_report import LEAST_PAIRS, Pair, Run, targets, write_page
from dovetail_bench.memory_tables import CONTENTS, FORMATS, MIB, TYPES, Payload, known, payloads, small_tables
from dovetail_bench.progress import say
from dovetail_bench.session import STORE

# The driver that makes the tables and broadcasts whole payloads to have their size: 250 MiB, several times over.
MAKER = "4g"

PLAIN = {_sql.ENABLED_KEY: "false"}
OURS = {_sql.ENABLED_KEY: "true"}

# A size is read off a broadcast that was asked for.
MEASURE = {**PLAIN, "spark.sql.adaptive.enabled": "false"}

VARIANT_SINCE = 4


class Bench:
    """The tables and the drivers of a run."""

    def __init__(self, options: argparse.Namespace, work: Path, stack: ExitStack) -> None:
        self._options, self._work = options, work
        self._tables, self._collected = work / "tables", work / "collected"
        self._stack = stack
        self._drivers: dict[str, Driver] = {}

    def prepare(self, chosen: Sequence[Case]) -> dict[str, int]:
        """Makes the tables; returns the true size of the payload input of every case."""
        sizes: dict[str, int] = {}
        with self._driver(MAKER) as maker:
            by_table: dict[str, list[Case]] = {}
            for case in chosen:
                by_table.setdefault(case.payload.name, []).append(case)
            for number, of_table in enumerate(by_table.values()):
                payload = of_table[0].payload
                around = [] if number else small_tables()
                fill = f"INSERT OVERWRITE {payload.name} {payload.rows_query}"
                maker.execute([*known(payload, self._tables), *around, fill], PLAIN)
                if any(case.collected for case in of_table):
                    collect = f"DOVETAIL ANALYZE TABLE {payload.name}"
                    maker.execute([collect], {**OURS, STORE: str(self._collected)})
                for case in of_table:
                    if case.measured_as not in sizes:
                        sizes[case.measured_as] = self._size(maker, case)
                say(f"{payload.name}: {', '.join(f'{sizes[c.measured_as] / MIB:.1f}' for c in of_table)} MiB")
        return sizes

    def _driver(self, memory: str) -> Driver:
        return Driver(memory, self._options.cores, self._work, quick=self._options.small)

    def _size(self, maker: Driver, case: Case) -> int:
        run = Run.of_answer(maker.run(case.sql("probe", "/*+ BROADCAST(p) */"), MEASURE, [], self._options.limit))
        return max((join.bytes for join in run.executed if case.payload.name in join.build), default=0)

    def pair(self, case: Case, number: int, true_bytes: int) -> Pair:
        """Runs both sides; which goes first changes from pair to pair.

        Every pair has a store of statistics to itself: what Dovetail learns from a failure must not hide the next one.
        """
        if case.driver not in self._drivers:
            self._drivers[case.driver] = self._stack.enter_context(self._driver(case.driver))
        driver = self._drivers[case.driver]
        store = self._work / "stores" / str(number)
        if case.collected:
            shutil.copytree(self._collected, store)
        sides = {"plain": PLAIN, "ours": {**OURS, STORE: str(store)}}
        runs = {side: self._run(driver, case, sides[side]) for side in sorted(sides, reverse=number % 2 == 0)}
        return Pair(case, runs["plain"], runs["ours"], true_bytes)

    def _run(self, driver: Driver, case: Case, conf: Mapping[str, str]) -> Run:
        tables = known(case.payload, self._tables)
        return Run.of_answer(driver.run(case.sql(), {**case.conf, **conf}, tables, self._options.limit))


@contextmanager
def prepared(options: argparse.Namespace) -> Iterator[Bench]:
    """A bench whose drivers and data are removed at the end."""
    with tempfile.TemporaryDirectory(prefix="dovetail-memory-") as work, ExitStack() as stack:
        yield Bench(options, Path(work), stack)


def run(options: argparse.Namespace) -> list[Pair]:
    """Runs what the options choose."""
    chosen = _chosen(options)
    pairs: list[Pair] = []
    with prepared(options) as bench:
        try:
            sizes = bench.prepare(chosen)
            for number, case in enumerate(chosen):
                pair = bench.pair(case, number, sizes[case.measured_as])
                pairs.append(pair)
                states = f"{pair.plain.state} {pair.plain.seconds:.1f} s, {pair.ours.state} {pair.ours.seconds:.1f} s"
                say(f"{number + 1} of {len(chosen)}: {case.name}: {states}")
        except KeyboardInterrupt:
            say(f"stopped after {len(pairs)} pairs; what they showed is reported")
    return pairs


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
    options = parser.parse_args(arguments)
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
