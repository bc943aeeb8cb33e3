"""What moving outer, semi and anti joins gains: rows out of joins before and after, and the orders.

    python -m dovetail_bench.operator_gains

The queries of `operator_queries` run over TPC-DS tables with plain Spark and with Dovetail, with nothing analyzed and
after Dovetail's one pass. The mode that goes first rotates from query to query. Exit code 1 if an answer differs or a
query fails.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import dovetail
from dovetail.comparison import differences
from dovetail.demo.data import dataset
from dovetail_bench import report
from dovetail_bench.metrics import Profile, profile
from dovetail_bench.operator_queries import operator_queries
from dovetail_bench.progress import say
from dovetail_bench.queries import Query
from dovetail_bench.rounds import latin_square
from dovetail_bench.session import DOVETAIL_BARE, DOVETAIL_ONE_PASS, SPARK, Bench, add_session_options, bench

MODES = (SPARK, DOVETAIL_BARE, DOVETAIL_ONE_PASS)

BENCHMARK = "tpcds"


@dataclass(frozen=True)
class Measurement:
    """A query with its runs.

    Attributes:
        query: Name of the query.
        profiles: Mode → its run.
        orders: Mode of Dovetail → the orders of its join groups, as written and as chosen.
    """

    query: str
    profiles: Mapping[str, Profile]
    orders: Mapping[str, Sequence[tuple[str, str]]]

    @property
    def differs(self) -> list[str]:
        """How the answers differ from plain Spark's."""
        plain = self.profiles[SPARK.name].digest
        return [f"{m}: {found}" for m, p in self.profiles.items() for found in differences(plain, p.digest)]


def run(options: argparse.Namespace) -> list[Measurement]:
    """Measures all queries in all modes."""
    data = dataset(BENCHMARK, options.scale, options.data_dir)
    measured = []
    with bench(options) as session:
        session.register(data, analyze=False)
        session.collect(data)
        for number, query in enumerate(operator_queries()):
            profiles: dict[str, Profile] = {}
            orders: dict[str, list[tuple[str, str]]] = {}
            for mode in next(latin_square(MODES, number)):
                session.use(mode, data)
                profiles[mode.name] = profile(session.spark, query.text)
                if mode is not SPARK:
                    orders[mode.name] = _orders(session, query)
            measured.append(Measurement(query.name, profiles, orders))
            say(f"{query.name}: {', '.join(f'{mode} {p.join_rows:,}' for mode, p in profiles.items())}")
    return measured


def _orders(session: Bench, query: Query) -> list[tuple[str, str]]:
    groups = dovetail.explain(query.text, session.spark).to_dict()["groups"]
    searched = [group for group in groups if group.get("before")]
    return [(g["before"]["order"], (g.get("after") or g["before"])["order"]) for g in searched]


def write_page(page: report.Page, measured: Sequence[Measurement]) -> None:
    """Fills the page."""
    page.text(
        "Join rows: rows out of all joins of the plan that ran. “One pass”: after `dovetail.analyze` of every table."
    )
    page.table("Join rows and seconds", [_line(m) for m in measured])
    page.table(
        "Answers that differ", [{"query": m.query, "differs": "; ".join(m.differs)} for m in measured if m.differs]
    )
    page.table(
        "Orders, after one pass",
        [
            {"query": m.query, "as written": before, "Dovetail": after if after != before else "the same"}
            for m in measured
            for before, after in m.orders[DOVETAIL_ONE_PASS.name]
        ],
    )


def _line(measured: Measurement) -> dict[str, Any]:
    plain, bare, one_pass = (measured.profiles[mode.name] for mode in MODES)
    return {
        "query": measured.query,
        "Spark": plain.join_rows,
        "Dovetail, nothing analyzed": bare.join_rows,
        "Dovetail, one pass": one_pass.join_rows,
        "one pass / Spark": one_pass.join_rows / max(plain.join_rows, 1),
        "Spark s": plain.seconds,
        "nothing analyzed s": bare.seconds,
        "one pass s": one_pass.seconds,
        "rows": plain.rows,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    lines = (__doc__ or "").splitlines()
    parser = argparse.ArgumentParser(prog="python -m dovetail_bench.operator_gains", description=lines[0])
    report.add_options(parser)
    add_session_options(parser)
    options = report.parse(parser, arguments)
    measured = run(options)
    page = report.Page("operator_gains", f"Outer, semi and anti joins moved, TPC-DS, scale {options.scale:g}")
    write_page(page, measured)
    page.write(options, {"queries": [{**asdict(m), "differs": m.differs} for m in measured]})
    return 1 if any(m.differs for m in measured) else 0


if __name__ == "__main__":
    sys.exit(main())
