"""Figures of the pages: this command writes the tables of README.md and the docs from the results files.

    python -m dovetail_bench.figures            # writes tables into the pages, and the picture
    python -m dovetail_bench.figures --check    # exit code 1 if a page and its results file disagree

A page has blocks, `<!-- figures: name -->` … `<!-- /figures -->`. This command writes the text between the comments,
and the whole page of all targets.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dovetail_bench import figures_data as data
from dovetail_bench import figures_history as history
from dovetail_bench import figures_planning as planning
from dovetail_bench import figures_targets, start
from dovetail_bench.figures_data import BYTES, JOIN_ROWS, SECONDS
from dovetail_bench.figures_generated import period
from dovetail_bench.figures_generated import sentences as generated
from dovetail_bench.figures_picture import bars
from dovetail_bench.figures_targets import number
from dovetail_bench.report import GIB, markdown_table, wrapped
from dovetail_bench.session import DOVETAIL, DOVETAIL_BARE, SPARK, SPARK_CBO, Mode
from dovetail_bench.times_report import SLOWER_SECONDS, late, number_of_runs

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    ROOT / "README.md",
    ROOT / "docs" / "benchmarks.md",
    ROOT / "docs" / "faq.md",
    ROOT / "docs" / "internals" / "history.md",
    ROOT / "docs" / "internals" / "search.md",
    ROOT / "docs" / "internals" / "statistics.md",
)
PICTURE = ROOT / "docs" / "images" / "tpcds-sf10.svg"

_BLOCK = re.compile(r"(<!-- figures: (?P<name>[\w-]+) -->\n).*?(<!-- /figures -->)", re.DOTALL)

# Claims for Spark's own cost-based optimizer (Hu et al., "Cost Based Optimizer in Apache Spark 2.2", 2017; scale 1,000,
# four nodes of 40 cores): query → factor of time.
CLAIMS = {"q72": 8.0, "q25": 3.4}
CLAIMED_BEST, CLAIMED_BEST_MEAN = 16, 2.2

# Methods of SketchBenchmark, without the part of the name that says whose sketch they measure ("Ours", "Library").
SKETCHES = {
    "distinctNumbers": "distinct numbers",
    "distinctTexts": "distinct strings",
    "frequentNumbers": "frequent numbers",
    "frequentTexts": "frequent strings",
    "sample": "sample of rows of 120 bytes",
}

MILLION = 1_000_000

# Files of `setting_gains`, and columns of its table: counter, unit and digits behind the point.
SETTINGS = (
    "reducers.enabled-tpcds-bare-sf10",
    "reducers.ranges-tpcds-bare-sf10",
    "grouping.early-tpcds-bare-sf10",
    "reorder.semiJoins-tpch-bare-sf10",
)
COLUMNS = ("seconds", "shuffled GiB", "join rows, millions")
COUNTERS = (("seconds", 1, 1), ("shuffle_bytes", GIB, 2), ("join_rows", MILLION, 1))


def readme_table() -> str:
    """Figures for the landing page: a table, and sentences on how they were measured."""
    ds, h = data.times("tpcds", 10), data.times("tpch", 10)
    modes = (DOVETAIL, DOVETAIL_BARE)
    lines: list[tuple[str, Callable[[Mode], str]]] = [
        (f"TPC-DS scale 10: seconds of {_ran(ds)}", lambda mode: f"{ds.share(mode, SECONDS):.2f}"),
        ("TPC-DS scale 10: bytes shuffled", lambda mode: f"{ds.share(mode, BYTES):.2f}"),
        (f"TPC-DS scale 10: join rows of {_ran(ds)}", lambda mode: f"{ds.share(mode, JOIN_ROWS):.2f}"),
        ("TPC-DS scale 10: join rows, mean of the queries", lambda mode: f"{ds.results.geometric_mean(mode):.2f}"),
        (f"TPC-H scale 10: seconds of {_ran(h)}", lambda mode: f"{h.share(mode, SECONDS):.2f}"),
        *(
            (f"{words} ({', '.join(names)}): join rows, best order = 1", partial(_real_means, names))
            for words, names in (("real data", data.REAL), ("real data, added later", data.MORE_REAL))
        ),
    ]
    rows = [(words, *(cell(mode) for mode in modes)) for words, cell in lines]
    table = markdown_table(("plain Spark = 1, unless noted", "tables analyzed", "nothing analyzed"), rows)
    faster, slower = ds.changed(DOVETAIL_BARE)
    more = f"more than {data.CLEARLY * 100:g} %"
    days = period(date for name in (*data.REAL, *data.MORE_REAL) for date in data.cout_dates(name, modes))
    ran = (
        f"Means are geometric. Runs of each query and mode, on {ds.cores} cores: TPC-DS {_measured(ds)}; TPC-H "
        f"{_measured(h)}. Real data: {days}. Later commits may differ. TPC-DS queries were planned before they ran; "
        f"Dovetail adds {ds.first_planning(DOVETAIL_BARE):.1f} s to the first planning. With nothing analyzed, "
        f"{faster} of {len(ds.results.complete)} TPC-DS queries are {more} faster than with plain Spark, and {slower} "
        f"are {more} slower, {len(late(ds.results, DOVETAIL_BARE))} of them by more than {SLOWER_SECONDS:g} s."
    )
    return f"{table}\n{wrapped(f'{ran} {generated()}')}"


def _measured(times: data.Times) -> str:
    """Number of runs, day and commit."""
    return f"{number_of_runs(times.results)}, on {times.date} (commit {times.commit})"


def _ran(times: data.Times) -> str:
    complete, all_ = len(times.results.complete), len(times.results.measured)
    return "all queries" if complete == all_ else f"{complete} of {all_} queries"


def _real_means(names: Sequence[str], mode: Mode) -> str:
    """Means over the queries of real data sets, of the join rows over those of the best orders."""
    return " / ".join(f"{data.mean(data.cout_ratios(name)[mode.name]):.2f}" for name in names)


def readme_picture() -> str:
    """The link to the picture of TPC-DS, with a text that says what the picture shows."""
    times = data.times("tpcds", 10)
    plain, ours = (times.results.total(mode, SECONDS) for mode in (SPARK, DOVETAIL_BARE))
    words = (
        f"TPC-DS scale 10, {len(times.results.complete)} queries on {times.cores} cores: "
        f"{plain:,.0f} s with plain Spark, {ours:,.0f} s with Dovetail and nothing analyzed"
    )
    return f"![{words}](docs/images/{PICTURE.name})\n"


def generated_queries() -> str:
    """Generated queries, and why not all of them were compared."""
    return wrapped(
        f"{generated()} In the other cases, the plan was plain Spark's and did not run, or plain Spark has no answer."
    )


def totals(suite: str, scale: int) -> Callable[[], str]:
    """Totals of a suite in all modes."""

    def block() -> str:
        times = data.times(suite, scale)
        rows = [
            (
                data.title(mode),
                f"{times.results.total(mode, SECONDS):,.1f}",
                f"{times.share(mode, SECONDS):.2f}",
                f"{times.results.total(mode, BYTES) / GIB:,.1f}",
                f"{times.share(mode, BYTES):.2f}",
                f"{times.results.total(mode, JOIN_ROWS) / MILLION:,.0f}",
                f"{times.share(mode, JOIN_ROWS):.2f}",
            )
            for mode in times.results.modes
        ]
        header = ("mode", "seconds", "of Spark", "shuffled GiB", "of Spark", "join rows, millions", "of Spark")
        return f"{wrapped(times.made)}\n{markdown_table(header, rows)}{_caches(times)}"

    return block


def _caches(times: data.Times) -> str:
    """What the caches had in the runs, and what planning takes without and with that; empty for older results."""
    if not times.planning:
        return ""
    empty, filled = (
        ", ".join(f"{times.planning[mode.name][i]:.1f} s ({data.title(mode)})" for mode in times.results.modes)
        for i in (0, 1)
    )
    return "\n" + wrapped(
        "Every query was planned in every mode before it ran, so Dovetail's caches had the footers and rows that "
        f"planning reads. To plan all queries (EXPLAIN) takes {empty} with empty caches of Dovetail, and {filled} with "
        "filled ones."
    )


def claims() -> str:
    """Speedups claimed for Spark's own optimizer, beside those measured here."""
    times = data.times("tpcds", 10)
    modes = (SPARK_CBO, DOVETAIL, DOVETAIL_BARE)
    rows = [
        (query, f"{claim:g} times", *(f"{times.speedup(query, mode):.1f} times" for mode in modes))
        for query, claim in CLAIMS.items()
    ]
    best = [
        data.mean(sorted((times.speedup(q, mode) for q in times.results.complete), reverse=True)[:CLAIMED_BEST])
        for mode in modes
    ]
    words = f"best {CLAIMED_BEST} queries, geometric mean"
    rows.append((words, f"{CLAIMED_BEST_MEAN} times", *(f"{mean:.1f} times" for mean in best)))
    header = ("faster than plain Spark", "claimed in 2017", *(data.title(mode) for mode in modes))
    return markdown_table(header, rows)


def slower(suite: str, scale: int) -> Callable[[], str]:
    """Queries that are slower than with plain Spark, the worst first."""

    def block() -> str:
        results = data.times(suite, scale).results
        rows = [
            (
                line["query"],
                data.title(mode),
                f"{line['Spark s']:.1f}",
                f"{line[f'{mode.title} s']:.1f}",
                # without the operators of the plan, which the report has
                str(line["cause"]).rpartition("; ")[2],
            )
            for mode in (DOVETAIL, DOVETAIL_BARE)
            for line in late(results, mode)
        ]
        header = ("query", "mode", "Spark s", "Dovetail s", "cause, as far as counts show it")
        return markdown_table(header, rows) if rows else "None.\n"

    return block


def real(names: tuple[str, ...]) -> Callable[[], str]:
    """Join orders on real data sets."""

    def block() -> str:
        found = {name: data.cout_ratios(name) for name in names}
        engines = {engine: title for name in names for engine, title in data.engine_titles(name).items()}
        rows = [
            (title, *(_mean_and_worst(found[name].get(engine, [])) for name in names))
            for engine, title in engines.items()
        ]
        header = (
            "join rows of the order, best order = 1: geometric mean, worst",
            *(f"{n}, {len(data.queries_of(n))} queries" for n in names),
        )
        return markdown_table(header, rows)

    return block


def _mean_and_worst(ratios: list[float]) -> str:
    return f"{data.mean(ratios):.2f}, {max(ratios):.1f}" if ratios else ""


def search_times() -> str:
    """Milliseconds per search, by the shape of the join graph."""
    found = data.load("micro-SearchBenchmark")
    rows = [(row["shape"], f"{row['score']:.1f}", f"{row['± (99.9 %)']:.1f}") for row in found["measured"]]
    return _made(found) + markdown_table(("graph", "ms", "± (99.9 %)"), rows)


def sketches() -> str:
    """Nanoseconds per value: Dovetail's own sketches beside the library's."""
    found = data.load("micro-SketchBenchmark")
    scores = {(row["benchmark"], int(row["distinct"])): float(row["score"]) for row in found["measured"]}
    counts = sorted({distinct for _, distinct in scores})
    rows = [
        (title, *(f"{scores[f'{name}{whose}', n]:.1f}" for n in counts for whose in ("Ours", "Library")))
        for name, title in SKETCHES.items()
    ]
    columns = (f"{whose}, {n:,} values" for n in counts for whose in ("Dovetail", "DataSketches"))
    return _made(found) + markdown_table(("nanoseconds per row", *columns), rows)


def _made(found: Mapping[str, Any]) -> str:
    environment = found["environment"]
    return f"{found['date']}, commit {environment['commit']}, {environment['cores']} cores.\n\n"


def first_steps() -> str:
    """Time that a user waits in a new JVM before anything runs."""
    # the name of this step in results before 2026-11-28
    return _lines("start", "steps", {"next plan": start.STEPS["next_ms"]})


def stars() -> str:
    """Join rows of the Star Schema Benchmark."""
    return _lines("star_schemas-sf1", "rows")


def setting_gains() -> str:
    """Seconds, bytes and rows of the queries that a setting changes, one table per setting."""
    parts, planning = [], 0.0
    for setting in SETTINGS:
        found = data.load(f"setting_gains-{setting}")
        compared = [c for c in found["compared"] if all(c["runs"].values())]
        rows = [
            (
                c["query"],
                *(
                    f"{data.middle(c, on, what) / unit:,.{digits}f}"
                    for what, unit, digits in COUNTERS
                    for on in data.ONS
                ),
            )
            for c in compared
        ]
        header = ("query", *(f"{title}, {'on' if on == 'true' else 'off'}" for title in COLUMNS for on in data.ONS))
        planning = max(planning, *(run["dovetail_ms"] for c in compared for on in data.ONS for run in c["runs"][on]))
        words = f"`{found['options']['setting']}`: it changes {len(compared)} of {found['planned']} plans. "
        parts.append(words + _made(found) + markdown_table(header, rows))
    parts.append(f"Dovetail took at most {planning:,.0f} ms to plan one of these runs.\n")
    return "\n".join(parts)


def delta() -> str:
    """Time of the optimizer on Delta tables."""
    return _lines("delta_planning", "summary")


def random_orders() -> str:
    """Seconds of random join orders, with Bloom filters and without."""
    return _lines("order_robustness-tpcds-bare-sf1", "table")


def _lines(command: str, part: str, titles: Mapping[str, str] = MappingProxyType({})) -> str:
    """A table of a results file or, if there is no such file, how to measure it.

    Args:
        command: Name of the file.
        part: Key of the table.
        titles: Other texts for some cells.
    """
    try:
        found = data.load(command)
    except FileNotFoundError:
        return f"Not measured yet: `python -m dovetail_bench.{command.split('-')[0]}`.\n"
    lines = found[part]
    rows = [[titles.get(str(v), number(v)) for v in line.values()] for line in lines]
    return _made(found) + markdown_table(list(lines[0]), rows)


def sources() -> str:
    """The results files behind the page."""
    return markdown_table(("file", "commit", "machine"), data.sources())


BLOCKS: dict[str, Callable[[], str]] = {
    "readme-picture": readme_picture,
    "readme-table": readme_table,
    "generated-queries": generated_queries,
    "tpcds-sf10": totals("tpcds", 10),
    "tpch-sf10": totals("tpch", 10),
    "claims-2017": claims,
    "slower-tpcds": slower("tpcds", 10),
    "slower-tpch": slower("tpch", 10),
    "real": real(data.REAL),
    "more-real": real(data.MORE_REAL),
    "search-times": search_times,
    "stars": stars,
    "first-steps": first_steps,
    "delta": delta,
    "setting-gains": setting_gains,
    "random-orders": random_orders,
    "sketches": sketches,
    "learning": history.learning,
    "repeated-runs": history.repeated_runs,
    "changing-constants": history.changing_constants,
    "false-statistics": history.false_statistics,
    "run-time-orders": history.run_time_orders,
    "run-time-seconds": history.run_time_seconds,
    "published-statistics": history.published_statistics,
    "planning-time": planning.added_time,
    "history-cost": planning.history_lookup,
    "targets": figures_targets.summary,
    "sources": sources,
}


def filled(page: str) -> str:
    """The page with all blocks written again.

    Raises:
        KeyError: A block has an unknown name.
    """
    return _BLOCK.sub(lambda m: f"{m[1]}{BLOCKS[m['name']]()}{m[3]}", page)


def stale() -> dict[Path, str]:
    """Files that differ from what the results say, each with the right text."""
    made = {page: filled(page.read_text(encoding="utf-8")) for page in PAGES if page.is_file()}
    made[PICTURE] = bars(data.times("tpcds", 10).results, (SPARK, DOVETAIL_BARE))
    made[figures_targets.FILE] = figures_targets.page()
    return {p: text for p, text in made.items() if not p.is_file() or p.read_text(encoding="utf-8") != text}


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m dovetail_bench.figures", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--check", action="store_true", help="writes nothing; exit code 1 where something would change")
    options = parser.parse_args(arguments)
    changed = stale()
    for path, text in changed.items():
        print(f"{'differs from its results' if options.check else 'written'}: {path.relative_to(ROOT)}")
        if not options.check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return 1 if options.check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
