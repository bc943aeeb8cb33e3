"""The interface of engines of `real_data`, and Spark's engines: plain, with CBO, with Dovetail and its statistics.

The Spark engines take turns in one session. Each has its settings and its tables: external tables in a separate
database or, if nothing is analyzed, views over the paths. Queries are planned, never run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from pyspark.sql import SparkSession

import dovetail
from dovetail import _sql
from dovetail._identifiers import quote
from dovetail.errors import DovetailError
from dovetail_bench.join_order import Order, join, relation
from dovetail_bench.join_query import Relations
from dovetail_bench.query_file import RealQuery
from dovetail_bench.session import DOVETAIL, DOVETAIL_BARE, SPARK, SPARK_CBO, Bench, Mode

HISTOGRAMS = "spark.sql.statistics.histogram.enabled"


class Engine(Protocol):
    """A planner under measurement."""

    @property
    def version(self) -> str:
        """Version of the software, for the report."""

    def order(self, query: RealQuery) -> Order:
        """Join order that the engine picks."""

    def estimate(self, query: RealQuery, relations: Relations) -> float | None:
        """Rows that the engine estimates for a sub-plan; None if it has no estimate."""


@dataclass(frozen=True)
class SparkEngine:
    """One of Spark's planners.

    Attributes:
        spark: Session with the tables.
        mode: Mode with the settings of the planner.
    """

    spark: SparkSession
    mode: Mode

    @property
    def version(self) -> str:
        return str(self.spark.version)

    def order(self, query: RealQuery) -> Order:
        execution = self.spark.sql(query.sql)._jdf.queryExecution()
        return order_of(execution.analyzed().toJSON(), execution.optimizedPlan().toJSON(), query.join.relations)

    def estimate(self, query: RealQuery, relations: Relations) -> float | None:
        text = query.join.sql(relations)
        if self.mode.conf == DOVETAIL.conf:
            return float(_sql.function_rows(self.spark, "dovetail_estimate", text)[0]["value"])
        rows = self.spark.sql(text)._jdf.queryExecution().optimizedPlan().stats().rowCount()
        return float(str(rows.get())) if rows.isDefined() else None


@dataclass(frozen=True)
class TrueSizes(SparkEngine):
    """Dovetail with the true size of every sub-plan: only its search and its cost model can still lose something.

    Attributes:
        folder: Folder for files with true sizes.
    """

    folder: Path

    def order(self, query: RealQuery) -> Order:
        entries = [{"query": query.join.sql(r), "rows": rows} for r, rows in query.sizes.items()]
        told = self.folder / f"{query.name}.json"
        told.write_text(json.dumps(entries), encoding="utf-8")
        dovetail.rows.forget(self.spark)
        dovetail.rows.load(self.spark, str(told))
        return super().order(query)


@contextmanager
def plain(session: Bench, tables: Mapping[str, Path], work: Path) -> Iterator[SparkEngine]:
    """Spark without changes, on paths."""
    with _on_paths(session, SPARK, tables) as engine:
        yield engine


@contextmanager
def bare(session: Bench, tables: Mapping[str, Path], work: Path) -> Iterator[SparkEngine]:
    """Dovetail on paths, with nothing analyzed."""
    with _on_paths(session, DOVETAIL_BARE, tables) as engine:
        yield engine


@contextmanager
def cbo(session: Bench, tables: Mapping[str, Path], work: Path) -> Iterator[SparkEngine]:
    """Spark's cost-based optimizer, with all columns analyzed."""
    yield _with_cbo(session, SPARK_CBO, tables, work)


@contextmanager
def cbo_histograms(session: Bench, tables: Mapping[str, Path], work: Path) -> Iterator[SparkEngine]:
    """The same with histograms, which more often worsen than improve its estimates of joins of filtered tables."""
    mode = replace(SPARK_CBO, name=f"{SPARK_CBO.name}_histograms")
    with _sql.settings(session.spark, {HISTOGRAMS: "true"}):
        yield _with_cbo(session, mode, tables, work)


def _with_cbo(session: Bench, mode: Mode, tables: Mapping[str, Path], work: Path) -> SparkEngine:
    engine = _on_tables(session, mode, tables, work)
    for name in tables:
        engine.spark.sql(f"ANALYZE TABLE {quote(name)} COMPUTE STATISTICS FOR ALL COLUMNS")
    return engine


@contextmanager
def analyzed(session: Bench, tables: Mapping[str, Path], work: Path) -> Iterator[SparkEngine]:
    """Dovetail after it has collected its statistics."""
    engine = _on_tables(session, DOVETAIL, tables, work)
    for name in tables:
        collect(engine.spark, quote(name))
    yield engine


@contextmanager
def true_sizes(session: Bench, tables: Mapping[str, Path], work: Path) -> Iterator[SparkEngine]:
    """Dovetail after it has collected its statistics, with all true sizes."""
    mode = replace(DOVETAIL, name="dovetail_true")
    engine = _on_tables(session, mode, tables, work)
    for name in tables:
        collect(engine.spark, quote(name))
    folder = work / "true"
    folder.mkdir()
    try:
        yield TrueSizes(engine.spark, mode, folder)
    finally:
        dovetail.rows.forget(engine.spark)


def collect(spark: SparkSession, table: str) -> None:
    """Collects all statistics that `dovetail.analyze` offers. The benchmarks of real data collect only here."""
    dovetail.analyze(spark, table, progress=False)


@contextmanager
def _on_paths(session: Bench, mode: Mode, tables: Mapping[str, Path]) -> Iterator[SparkEngine]:
    """Makes temporary views, and drops them at the end, because they hide the tables of a database."""
    session.switch(mode)
    spark = session.spark
    for name, path in tables.items():
        literal = _sql.text_literal(spark, path.as_posix())
        spark.sql(f"CREATE TEMPORARY VIEW {quote(name)} USING parquet OPTIONS (path {literal})")
    try:
        yield SparkEngine(spark, mode)
    finally:
        for name in tables:
            spark.sql(f"DROP VIEW {quote(name)}")


def _on_tables(session: Bench, mode: Mode, tables: Mapping[str, Path], work: Path) -> SparkEngine:
    """Makes external tables. Their location must be a folder, so that a single file gets a folder with a link to it."""
    session.switch(mode)
    spark = session.spark
    spark.sql(f"CREATE DATABASE real_{mode.name}")
    spark.sql(f"USE real_{mode.name}")
    for name, path in tables.items():
        location = path
        if path.is_file():
            location = work / mode.name / name
            location.mkdir(parents=True)
            (location / path.name).symlink_to(path)
        literal = _sql.text_literal(spark, location.as_posix())
        spark.sql(f"CREATE TABLE {quote(name)} USING parquet LOCATION {literal}")
    return SparkEngine(spark, mode)


def order_of(analyzed: str, optimized: str, relations: Relations) -> Order:
    """Join order of an optimized plan.

    An optimized plan has no aliases. Scans are recognized by their column ids, which are below an alias in the analyzed
    plan.

    Args:
        analyzed: Analyzed plan, by `toJSON`: its nodes, parents before children.
        optimized: Optimized plan, likewise.
        relations: Aliases of the query.
    """
    written = {alias.lower(): alias for alias in relations}
    aliases = {column: written.get(alias.lower(), alias) for column, alias in _aliased(json.loads(analyzed))}
    found, _ = _subtree(json.loads(optimized), 0, aliases)
    if found is None or found.relations != relations:
        missing = relations - (found.relations if found else frozenset())
        raise DovetailError(f"the optimized plan has no scan of {', '.join(sorted(missing))}")
    return found


def _aliased(nodes: list[dict[str, Any]]) -> list[tuple[int, str]]:
    """Pairs of a column id and its alias."""
    pairs, alias = [], ""
    for node in nodes:
        if _kind(node) == "SubqueryAlias":
            # the outermost alias: below it is another one with the name of the table or view
            alias = alias or node["identifier"]["name"]
        elif node["num-children"] == 0:
            pairs += [(column, alias) for column in _columns(node)]
            alias = ""
    return pairs


def _subtree(nodes: list[dict[str, Any]], start: int, aliases: Mapping[int, str]) -> tuple[Order | None, int]:
    """Order below a node, and the index after its last descendant."""
    node, end = nodes[start], start + 1
    below = []
    for _ in range(node["num-children"]):
        found, end = _subtree(nodes, end, aliases)
        if found is not None:
            below.append(found)
    if node["num-children"] == 0:
        names = {aliases[column] for column in _columns(node) if column in aliases}
        return (relation(names.pop()) if names else None), end
    if len(below) == 2:
        return join(below[0], below[1], crossed=not node.get("condition")), end
    return (below[0] if below else None), end


def _kind(node: dict[str, Any]) -> str:
    return str(node["class"]).rpartition(".")[2]


def _columns(node: dict[str, Any]) -> list[int]:
    return [field[0]["exprId"]["id"] for field in node.get("output", [])]
