"""The tables that pages may hold, by name: each made of results files, and ending with the files that it is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from dovetail_bench import estimation, figure_generated, figure_real_data, join_rows_report, times_report
from dovetail_bench.accuracy import geometric_mean
from dovetail_bench.figure_generated import lines as generated_lines
from dovetail_bench.join_rows_report import Results
from dovetail_bench.report import GIB, table, target
from dovetail_bench.results_files import ResultsFile, ResultsFiles, sources
from dovetail_bench.session import DOVETAIL, DOVETAIL_BARE, DOVETAIL_ONE_PASS, SPARK, SPARK_CBO, Mode
from dovetail_bench.verdict import PASSED

MILLION = 1e6

# The modes of `times` in the order of tables: what a user has at first, then what costs more.
COLUMNS = (SPARK, SPARK_CBO, DOVETAIL_BARE, DOVETAIL)
ALL_COLUMNS = (SPARK, SPARK_CBO, DOVETAIL_BARE, DOVETAIL_ONE_PASS, DOVETAIL)

# The headline of the article that introduced Spark's CBO: speed-ups at scale 1,000 on a cluster of four machines.
CLAIMS = {"q72": 8.0, "q25": 3.4}
CLAIMED_MOST = 16
CLAIMED_MEAN = 2.2

Block = Callable[[ResultsFiles], str]


def _times(results: ResultsFiles, name: str) -> tuple[ResultsFile, Results]:
    file = results.of(name)
    return file, times_report.read(file.body)


def headlines(results: ResultsFiles) -> str:
    """Five figures: three of TPC-DS at scale 10, orders on real data, generated queries."""
    file, found = _times(results, "times-tpcds-sf10")
    sums: dict[str, Callable[[Mode], str]] = {
        "TPC-DS scale 10, seconds": lambda m: f"{found.total(m, lambda p: p.seconds):,.0f}",
        "TPC-DS scale 10, GiB shuffled": lambda m: f"{found.total(m, lambda p: p.shuffle_bytes) / GIB:,.1f}",
        "TPC-DS scale 10, million rows out of joins": lambda m: f"{found.total(m, lambda p: p.join_rows) / MILLION:,.0f}",
    }
    rows: list[dict[str, Any]] = [
        {"": name, **{mode.title: value(mode) for mode in COLUMNS}} for name, value in sums.items()
    ]
    engines = {SPARK_CBO.title: "spark_cbo", DOVETAIL_BARE.title: "dovetail_bare", DOVETAIL.title: "dovetail"}
    queries = figure_real_data.queries(results)
    means = {title: f"{figure_real_data.mean(results, name):.2f}" for title, name in engines.items()}
    rows.append({"": f"real data, {queries} queries: rows out of joins, best order = 1", SPARK.title: "", **means})
    lines = generated_lines(results).values()
    run, unlike = sum(len(line.run) for line in lines), sum(len(line.unlike_spark) for line in lines)
    rows.append({"": "generated queries with plain Spark's rows", DOVETAIL_BARE.title: f"{run - unlike:,} of {run:,}"})
    pieces = [piece for line in lines for piece in line.files]
    return f"{table(rows)}\n\n{sources(file, *figure_real_data.files(results, *engines.values()), *pieces)}"


def totals(results: ResultsFiles, name: str) -> str:
    """Sums of `times` on a suite and scale, with the shares of plain Spark's."""
    file, found = _times(results, name)
    plain = found.total(SPARK, lambda p: p.seconds)
    rows = [
        {
            "mode": mode.title,
            "seconds": found.total(mode, lambda p: p.seconds),
            "share of Spark": found.total(mode, lambda p: p.seconds) / plain,
            "GiB shuffled": found.total(mode, lambda p: p.shuffle_bytes) / GIB,
            "million rows out of joins": found.total(mode, lambda p: p.join_rows) / MILLION,
            "queries slower by 10 % and 0.5 s": None if mode is SPARK else len(times_report.late(found, mode)),
        }
        for mode in COLUMNS
    ]
    return f"{len(found.complete)} queries, {_runs(found)}.\n\n{table(rows)}\n\n{sources(file)}"


def _runs(found: Results) -> str:
    least = min(len(found.runs(query, SPARK)) for query in found.complete)
    if not found.equal:
        return "one run of each query and mode; plans were not compared" if least == 1 else f"{least} runs or more"
    return "medians of rounds where plans differ from plain Spark's"


def slower(results: ResultsFiles, name: str) -> str:
    """Every query that is slower with Dovetail than with plain Spark, with its cause."""
    file, found = _times(results, name)
    rows = [
        {
            "query": line["query"],
            "mode": mode.title,
            "times slower": line["times slower"],
            "Spark s": line["Spark s"],
            "Dovetail s": line[f"{mode.title} s"],
            "cause": line["cause"],
        }
        for mode in (DOVETAIL_BARE, DOVETAIL)
        for line in times_report.late(found, mode)
    ]
    return f"{table(rows) if rows else 'None.'}\n\n{sources(file)}"


def join_rows(results: ResultsFiles, name: str) -> str:
    """Rows out of joins, of a suite at scale 1, in five modes."""
    file = results.of(name)
    found = times_report.read(file.body, ALL_COLUMNS)
    rows = [
        {
            "mode": mode.title,
            "million rows out of joins": found.total(mode, lambda p: p.join_rows) / MILLION,
            "geometric mean to Spark": found.geometric_mean(mode),
            "seconds": found.total(mode, lambda p: p.seconds),
            "GiB shuffled": found.total(mode, lambda p: p.shuffle_bytes) / GIB,
            "queries over 1.5 times the better of Spark and its CBO": ", ".join(
                line["query"] for line in join_rows_report.regressions(found, mode)
            )
            if mode not in (SPARK, SPARK_CBO)
            else None,
        }
        for mode in ALL_COLUMNS
    ]
    return f"{table(rows)}\n\n{sources(file)}"


def claims(results: ResultsFiles) -> str:
    """What the article on Spark's CBO says of itself, beside what was measured here at scale 10."""
    file, found = _times(results, "times-tpcds-sf10")
    modes = (SPARK_CBO, DOVETAIL_BARE, DOVETAIL)

    def speed_up(query: str, mode: Mode) -> float:
        return found.seconds(query, SPARK) / found.seconds(query, mode)

    rows: list[dict[str, Any]] = [
        {"": f"{query}, times faster", "the article": claim, **{mode.title: speed_up(query, mode) for mode in modes}}
        for query, claim in CLAIMS.items()
    ]
    def most(mode: Mode) -> list[float]:
        return sorted((speed_up(query, mode) for query in found.complete), reverse=True)[:CLAIMED_MOST]

    rows.append(
        {
            "": f"geometric mean of the {CLAIMED_MOST} queries that gain most",
            "the article": CLAIMED_MEAN,
            **{mode.title: geometric_mean(most(mode)) for mode in modes},
        }
    )
    return f"{table(rows)}\n\n{sources(file)}"


def answers(results: ResultsFiles) -> str:
    """How many answers were compared, and how many differ."""
    files = list(results.starting("answers-"))
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for file in files:
        for v in file.body["verdicts"]:
            key = (file.body["options"]["scale"], v["suite"], v["mode"], v["against"])
            groups.setdefault(key, []).append(v)
    rows = [
        {
            "scale": f"{scale:g}",
            "suite": suite,
            "mode": mode,
            "against": against,
            "queries": len(group),
            "the same, ties included": sum(v["verdict"] in PASSED for v in group),
            "different or failed": sum(v["verdict"] not in PASSED for v in group),
            "plans changed": sum(v["plan_changed"] is True for v in group),
        }
        for (scale, suite, mode, against), group in groups.items()
    ]
    return f"{table(rows)}\n\n{sources(*files)}"


def planning(results: ResultsFiles) -> str:
    """Time of Dovetail's rule on join graphs of one shape."""
    file = results.of("planning")
    names = ("shape", "relations", "algorithm", "Dovetail ms", "slowest ms", "of it search ms", "Spark, EXPLAIN ms")
    rows = [{name: shape[name] for name in names} for shape in file.body["shapes"]]
    return f"{table(rows)}\n\n{sources(file)}"


def operator_gains(results: ResultsFiles) -> str:
    """Rows out of joins where outer, semi and anti joins move."""
    file = results.of("operator_gains-sf0.1")
    titles = {mode.name: mode.title for mode in (SPARK, DOVETAIL_BARE, DOVETAIL_ONE_PASS)}
    rows = [
        {
            "query": query["query"],
            **{f"{title} rows": query["profiles"][name]["join_rows"] for name, title in titles.items()},
            "answer": "differs" if query["differs"] else "the same",
        }
        for query in file.body["queries"]
    ]
    return f"{table(rows)}\n\n{sources(file)}"


def targets(results: ResultsFiles) -> str:
    """Every target that a results file was judged by, with hit or miss; misses first."""
    judged = [line for file in results.newest.values() for line in _judged(file)]
    judged.sort(key=lambda line: line["verdict"] != "MISS")
    missed = sum(line["verdict"] == "MISS" for line in judged)
    return f"{len(judged)} targets, {len(judged) - missed} hit, {missed} missed.\n\n{table(judged)}"


def _judged(file: ResultsFile) -> Iterator[dict[str, Any]]:
    for found in _targets(file):
        engine = f"{found['engine']}: " if "engine" in found else ""
        yield {
            "report": f"`{file.stem}`",
            "target": engine + str(found["target"]),
            "measured": found["measured"],
            "verdict": "hit" if found["hit"] else "MISS",
        }


def _targets(file: ResultsFile) -> list[Mapping[str, Any]]:
    """Those in the file; of files from before they were written, those of the command."""
    body = file.body
    if "targets" in body:
        return list(body["targets"])
    if body["command"] == "estimation":
        return list(estimation.targets(body))
    if body["command"] == "planning":
        judged = [shape for shape in body["shapes"] if shape["verdict"]]
        return [
            target(
                f"{s['shape']} of {s['relations']}: at most {s['target ms']:g} ms", s["Dovetail ms"], s["verdict"] == "hit"
            )
            for s in judged
        ]
    wrong = {
        "answers": lambda: sum(v["verdict"] not in PASSED for v in body["verdicts"]),
        "operator_gains": lambda: sum(bool(query["differs"]) for query in body["queries"]),
    }
    count = wrong[body["command"]]() if body["command"] in wrong else None
    return [] if count is None else [target("answers that differ: none", count, count == 0)]


BLOCKS: Mapping[str, Block] = {
    "headlines": headlines,
    "tpcds-sf10": partial(totals, name="times-tpcds-sf10"),
    "tpch-sf10": partial(totals, name="times-tpch-sf10"),
    "tpch-sf1": partial(totals, name="times-tpch-sf1"),
    "tpcds-sf10-slower": partial(slower, name="times-tpcds-sf10"),
    "tpch-sf10-slower": partial(slower, name="times-tpch-sf10"),
    "tpcds-sf1-rows": partial(join_rows, name="join_rows-sf1"),
    "tpch-sf1-rows": partial(join_rows, name="join_rows-tpch-sf1"),
    "claims": claims,
    "real-data-orders": figure_real_data.orders,
    "real-data-estimates": figure_real_data.estimates,
    "real-data-misses": figure_real_data.misses,
    "generated": figure_generated.generated,
    "answers": answers,
    "planning": planning,
    "operator-gains": operator_gains,
    "targets": targets,
}
