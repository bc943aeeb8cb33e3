"""Whether the history helps queries with constants it has not seen: instances of templates, one after the other.

    python -m dovetail_bench.constants --tables DIR --queries FILE --templates 10 --instances 10

The queries of the file are the templates. Each instance of a template has other constants (`instances`). Dovetail plans
every instance with nothing analyzed: once without its history, and once with what it learned from earlier instances.
Both orders are compared with the best order by the true sizes, which DuckDB counts. Then the instance runs to its end.
The history is empty before the first instance. Exit code 1 if a query fails, with --gate also if a target is missed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail import _sql
from dovetail.errors import DovetailError
from dovetail_bench import report
from dovetail_bench.accuracy import geometric_mean
from dovetail_bench.instances import can_change, instance
from dovetail_bench.join_order import cout, over_best
from dovetail_bench.learning import run_and_record
from dovetail_bench.progress import say
from dovetail_bench.query_file import RealQuery, add_options, read
from dovetail_bench.random_tables import seeded
from dovetail_bench.real_engines import bare
from dovetail_bench.session import HISTORY, add_session_options, bench
from dovetail_bench.tables import find, views
from dovetail_bench.true_sizes import TrueSizes

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# The target covers the instances after this number, and limits the geometric mean of their C_out over the best.
LEARNED_AFTER = 20
MAX_MEAN = 1.1

# Number of sampled values of a column from which constants are drawn.
DRAWN = 1000

# Seconds that counting the sub-plans of one instance may take. If it takes longer, another instance is drawn.
MOST_SECONDS = 60.0

# Largest number of draws for one instance whose sub-plans can be counted.
ATTEMPTS = 10


@dataclass(frozen=True)
class InstancePlan:
    """One instance of a template, with the C_out of its orders.

    Attributes:
        name: Name of the template, and number of the instance.
        sql: Text of the query.
        best: C_out of the best order.
        without: C_out of the order planned without history.
        learned: C_out of the order planned with the history of the instances before it.
    """

    name: str
    sql: str
    best: float
    without: float
    learned: float

    def ratio(self, cout_of_order: float) -> float:
        """C_out over that of the best order; 0 rows count as 1."""
        return over_best(cout_of_order, self.best)


class Templates:
    """Query templates from which instances are made."""

    def __init__(self, connection: DuckDBPyConnection, queries: Sequence[RealQuery], seed: int) -> None:
        self._connection, self._seed = connection, seed
        self._truth = TrueSizes(connection)
        self._queries = queries
        self._values: dict[tuple[str, str], list[Any]] = {}

    @property
    def truth(self) -> TrueSizes:
        """Counter of the rows of sub-plans."""
        return self._truth

    def instances(self, each: int) -> Iterator[RealQuery]:
        """Yields an instance of every template, then again with other constants, until there are `each` of each."""
        for number in range(each):
            for query in self._queries:
                yield self._counted(query, number)

    def _counted(self, template: RealQuery, number: int) -> RealQuery:
        for attempt in range(ATTEMPTS):
            chance = seeded(f"{self._seed} {template.name} {number} {attempt}")
            join = instance(template.join, self._values_of, chance)
            text = join.sql(join.relations, "count(*)")
            try:
                with _interrupted_after(self._connection, MOST_SECONDS):
                    sizes = {r: self._truth.count(join, r) for r in join.connected_sets()}
            except Exception as failed:
                say(f"{template.name}, instance {number + 1} is drawn again: {str(failed).splitlines()[0]}")
                continue
            return RealQuery(f"{template.name} #{number + 1}", text, join, sizes)
        raise DovetailError(f"{template.name}: the sub-plans of {ATTEMPTS} instances could not be counted.")

    def _values_of(self, table: str, column: str) -> list[Any]:
        key = (table, column)
        if key not in self._values:
            name = column.strip("`").replace('"', '""')
            rows = self._connection.execute(
                f'SELECT "{name}" FROM (SELECT "{name}" FROM {table} WHERE "{name}" IS NOT NULL) '
                f"USING SAMPLE reservoir({DRAWN} ROWS) REPEATABLE ({self._seed})"
            ).fetchall()
            self._values[key] = sorted((value for (value,) in rows), key=str)
        return self._values[key]


@contextmanager
def _interrupted_after(connection: DuckDBPyConnection, seconds: float) -> Iterator[None]:
    timer = threading.Timer(seconds, connection.interrupt)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def run(options: argparse.Namespace) -> list[InstancePlan]:
    """Plans and runs all instances."""
    tables = find(options.tables)
    usable = [q for q in read(options.query_file, tables) if can_change(q.join)]
    if len(usable) < options.templates:
        raise DovetailError(
            f"--queries {options.query_file}: {len(usable)} queries have a constant that can change, and --templates "
            f"asks for {options.templates}."
        )
    chosen = [usable[i * len(usable) // options.templates] for i in range(options.templates)]
    planned: list[InstancePlan] = []
    with views(tables) as connection, tempfile.TemporaryDirectory(prefix="dovetail-constants-") as work:
        # with one thread, DuckDB draws the same sample each time
        connection.execute("SET threads = 1")
        templates = Templates(connection, chosen, options.seed)
        with bench(options) as session, bare(session, tables, Path(work)) as engine:
            for query in templates.instances(options.instances):
                couts = []
                for history in ("false", "true"):
                    with _sql.settings(session.spark, {HISTORY: history}):
                        couts.append(cout(engine.order(query), partial(templates.truth.of_order, query)))
                        if history == "true":
                            run_and_record(engine, query)
                planned.append(InstancePlan(query.name, query.sql, query.best, *couts))
                if len(planned) % options.templates == 0:
                    say(f"{len(planned)} instances: {_means(planned[-options.templates :])}")
    return planned


def _means(planned: Sequence[InstancePlan]) -> dict[str, float]:
    without = [q.ratio(q.without) for q in planned]
    learned = [q.ratio(q.learned) for q in planned]
    return {
        "without history": geometric_mean(without),
        "with history": geometric_mean(learned),
        "worst without": max(without),
        "worst with": max(learned),
    }


def targets(planned: Sequence[InstancePlan]) -> list[dict[str, Any]]:
    """Targets of a run, and whether each is hit."""
    later = planned[LEARNED_AFTER:] or planned
    mean = geometric_mean([q.ratio(q.learned) for q in later])
    return [
        report.target(
            f"C_out over the best after {LEARNED_AFTER} instances, geometric mean at most {MAX_MEAN}",
            mean,
            mean <= MAX_MEAN,
        )
    ]


def write_page(page: report.Page, planned: Sequence[InstancePlan], each: int) -> None:
    """Fills the page. `each` is the number of templates."""
    page.text(
        f"{len(planned)} instances of {each} queries, each with constants of its own. C_out: true rows out of all "
        "joins of the order that Dovetail picks; the ratio is to the best of all orders without cross products. "
        "Nothing is analyzed, and the history is empty before the first instance."
    )
    page.targets(targets(planned))
    pieces = [planned[i : i + each] for i in range(0, len(planned), each)]
    numbers = [f"{i * each + 1} to {i * each + len(piece)}" for i, piece in enumerate(pieces)]
    lines = [{"instances": n} | _means(piece) for n, piece in zip(numbers, pieces, strict=True)]
    page.table("Geometric means of C_out over the best", [*lines, {"instances": "all"} | _means(planned)])
    page.table(
        "Instances whose order the history changed",
        [
            {"instance": q.name, "without history": q.ratio(q.without), "with history": q.ratio(q.learned)}
            for q in planned
            if q.without != q.learned
        ],
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    head = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m dovetail_bench.constants", description=head)
    add_options(parser)
    parser.add_argument("--templates", type=int, default=10, help="queries of the file (10)")
    parser.add_argument("--instances", type=int, default=10, help="of each template (10)")
    parser.add_argument("--seed", type=int, default=2026, help="of the constants (2026)")
    parser.add_argument("--gate", action="store_true", help="exit code 1 if a target is missed")
    report.add_results_option(parser)
    add_session_options(parser)
    options = report.parse(parser, arguments)
    try:
        planned = run(options)
    except DovetailError as error:
        print(error, file=sys.stderr)
        return 2
    page = report.Page("constants", f"Changing constants: {options.query_file.stem}", options.query_file.stem)
    write_page(page, planned, options.templates)
    found = targets(planned)
    lines = [
        {"instance": q.name, "sql": q.sql, "best": q.best, "without": q.without, "learned": q.learned} for q in planned
    ]
    page.write(options, {"targets": found, "instances": lines})
    return 1 if options.gate and not all(target["hit"] for target in found) else 0


if __name__ == "__main__":
    sys.exit(main())
