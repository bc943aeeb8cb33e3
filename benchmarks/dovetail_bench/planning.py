"""Time of the join-order search on cliques, stars, chains and cycles: Dovetail's rule, and Spark planning with its CBO.

    python -m dovetail_bench.planning

Queries are only planned; they do not run. Dovetail's time is the one that `dovetail_explain` reports, warm. Spark's
time is that of EXPLAIN, with its threshold for dynamic programming raised to the number of relations. If Spark's search
takes minutes, it is measured only with --slow. Exit code 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from statistics import median
from typing import Any

import dovetail
from dovetail_bench import report
from dovetail_bench.progress import say
from dovetail_bench.session import DOVETAIL, SPARK, SPARK_CBO, Bench, Mode, add_session_options, bench
from dovetail_bench.shapes import SHAPES, Shape, create_tables

# Runs before measuring, until the JVM has compiled the search.
WARM_UP = 5

# Largest number of relations whose order Spark's CBO searches; with more, it keeps the written order.
DP_THRESHOLD = "spark.sql.cbo.joinReorder.dp.threshold"

MILLISECONDS = 1000


def run(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Measures every shape."""
    lines = []
    with bench(options) as session:
        say("writing and analyzing the tables")
        create_tables(session.spark)
        for shape in SHAPES:
            if options.shapes and shape.name not in options.shapes:
                continue
            line = _dovetail(session, shape, options.repeat)
            line["Dovetail, EXPLAIN ms"] = _explain_ms(session, DOVETAIL, shape, options.repeat)
            line["Spark, EXPLAIN ms"] = _explain_ms(session, SPARK, shape, options.repeat)
            if shape.spark_search == "quick":
                line["Spark CBO, EXPLAIN ms"] = _explain_ms(session, SPARK_CBO, shape, options.repeat)
            elif shape.spark_search == "slow" and options.slow:
                line["Spark CBO, EXPLAIN ms"] = _explain_ms(session, SPARK_CBO, shape, 1)
            else:
                line["Spark CBO, EXPLAIN ms"] = None
            say(", ".join(f"{k} {v}" for k, v in line.items()))
            lines.append(line)
    return lines


def _dovetail(session: Bench, shape: Shape, repeat: int) -> dict[str, Any]:
    session.switch(DOVETAIL)
    sql = shape.sql()
    for _ in range(WARM_UP):
        dovetail.explain(sql, session.spark)
    found = [dovetail.explain(sql, session.spark).to_dict() for _ in range(repeat)]
    group = max(found[-1]["groups"], key=lambda g: len(g["relations"]))
    total = median(float(f["planning_ms"]["total"]) for f in found)
    verdict = None
    if shape.limit_ms is not None:
        # If the group was left alone, or not seen whole, Dovetail did not plan it: the time would say nothing.
        seen = len(group["relations"]) == shape.relations and group["status"] != "left_alone"
        verdict = "hit" if seen and total <= shape.limit_ms else "MISS"
    return {
        "shape": shape.name,
        "relations": shape.relations,
        "status": group["status"],
        "algorithm": group["algorithm"],
        "pairs": group["pairs"],
        "Dovetail ms": total,
        "slowest ms": max(float(f["planning_ms"]["total"]) for f in found),
        "of it search ms": median(float(f["planning_ms"]["search"]) for f in found),
        "target ms": shape.limit_ms,
        "verdict": verdict,
    }


def _explain_ms(session: Bench, mode: Mode, shape: Shape, repeat: int) -> float:
    session.switch(mode)
    session.spark.conf.set(DP_THRESHOLD, str(shape.relations))
    sql = f"EXPLAIN {shape.sql()}"
    times = []
    for _ in range(repeat):
        started = time.perf_counter()
        session.spark.sql(sql).collect()
        times.append((time.perf_counter() - started) * MILLISECONDS)
    session.spark.conf.unset(DP_THRESHOLD)
    return median(times)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    head = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m dovetail_bench.planning", description=head)
    parser.add_argument("--shapes", nargs="+", default=[], metavar="NAME", help="clique, star, chain, ... (all)")
    parser.add_argument("--repeat", type=int, default=5, help="measured runs, of which the median counts (5)")
    parser.add_argument("--slow", action="store_true", help="Spark's CBO also where it takes minutes")
    report.add_results_option(parser)
    add_session_options(parser)
    options = report.parse(parser, arguments)
    lines = run(options)
    page = report.Page("planning", "Planning time of join graphs")
    page.text(
        "Dovetail ms: its rule alone, from the analyzed plan to the chosen order. EXPLAIN: all that Spark does to plan."
    )
    page.table("Shapes", lines)
    page.write(options, {"shapes": lines})
    return 1 if any(line["verdict"] == "MISS" for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
