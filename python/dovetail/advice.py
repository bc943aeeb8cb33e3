"""`advise`: which tables, columns and groups of columns are worth analyzing for some queries, with the statements.

The session says it of one query (`dovetail_advise`); here the queries are put together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from dovetail import _sql
from dovetail._analyze_dovetail import analyze_statement
from dovetail._identifiers import parse_name
from dovetail._query import query_text
from dovetail._table_text import table_text
from dovetail.analysis import analyze
from dovetail.errors import StatementError
from dovetail.statistics import TableStats

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# What `dovetail_advise` says of a table for which there is something to do, the most urgent first.
_WORTH = ("unknown", "stale", "incomplete")
_REFUSED = "not analyzable"


@dataclass(frozen=True)
class TableAdvice:
    """A table that is worth analyzing, or that cannot be analyzed.

    Attributes:
        table: Its name, as `dovetail.analyze` takes it: a table, or a path such as ``parquet.`/data/t` ``.
        state: "unknown" (never analyzed), "stale" (files came or changed since), "incomplete" (analyzed without some of
            the columns or groups), or "not analyzable".
        columns: Columns on which sizes of joins depend, in the table's order.
        groups: Columns that are joined or filtered together.
        queries: Places in the list of those queries that would gain, from 0.
        cost_share: How much of the predicted cost of these queries' joins lies in joins with the table, 0 to 1; None
            where none of them has joins to be ordered.
        rows: Rows it is taken to have.
        source: Where that number comes from, e.g. "footer".
        reason: Why.
        statement: The statement that analyzes it; None where that cannot be done.
    """

    table: str
    state: str
    columns: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    queries: tuple[int, ...]
    cost_share: float | None
    rows: int
    source: str
    reason: str
    statement: str | None


@dataclass(frozen=True)
class Advice:
    """What to analyze for some queries. `print` shows it; `run` does it.

    Attributes:
        queries: How many queries were looked at.
        tables: What is worth analyzing, the most worthwhile first: by cost share, queries that gain, and rows.
        refused: Tables that the queries' joins depend on and that cannot be analyzed, with the reason.
    """

    queries: int
    tables: tuple[TableAdvice, ...]
    refused: tuple[TableAdvice, ...] = ()

    def __iter__(self) -> Iterator[TableAdvice]:
        return iter(self.tables)

    def __getitem__(self, table: str) -> TableAdvice:
        """Advice on one table by its name, with or without catalog and database.

        Raises:
            KeyError: The table is not worth analyzing, or has a name that two tables share.
        """
        wanted = parse_name(table)
        matches = [one for one in self.tables if parse_name(one.table)[-len(wanted) :] == wanted]
        if len(matches) != 1:
            raise KeyError(f"no advice on '{table}'. Tables worth analyzing: {', '.join(t.table for t in self.tables)}")
        return matches[0]

    def groups_of(self, table: str) -> tuple[tuple[str, ...], ...]:
        """Groups of a table's columns, for the `groups` of `dovetail.analyze`; none where none are advised."""
        try:
            return self[table].groups
        except KeyError:
            return ()

    @property
    def statements(self) -> tuple[str, ...]:
        """The statements to run, in order."""
        return tuple(one.statement for one in self.tables if one.statement is not None)

    def run(self, spark: SparkSession, progress: bool = True) -> tuple[TableStats, ...]:
        """Analyzes the tables, in order, with the columns and groups advised; returns what is known of each then."""
        found = (
            analyze(spark, one.table, columns=list(one.columns), groups=one.groups, progress=progress)
            for one in self.tables
        )
        return tuple(stats for stats in found if isinstance(stats, TableStats))

    def to_dict(self) -> dict[str, Any]:
        """The same as plain dictionaries, lists, strings and numbers (JSON-ready)."""
        return {
            "queries": self.queries,
            "tables": [_plain(one) for one in self.tables],
            "refused": [_plain(one) for one in self.refused],
        }

    def __str__(self) -> str:
        if not self.tables:
            parts = [f"{_queries(self.queries)}: nothing to analyze."]
        else:
            names = ("table", "state", "queries", "cost", "rows", "source", "columns", "groups")
            parts = [
                f"{_queries(self.queries)}: {len(self.tables)} tables are worth analyzing.",
                table_text(names, [_cells(one) for one in self.tables], right={2, 3, 4}),
                "",
                *(f"{statement};" for statement in self.statements),
            ]
        if self.refused:
            parts += ["", "Not analyzable:", *(f"  {one.table}: {one.reason}" for one in self.refused)]
        return "\n".join(parts)


def advise(spark: SparkSession, queries: Sequence[DataFrame | str] | DataFrame | str) -> Advice:
    """Says which tables, columns and groups of columns are worth analyzing for these queries. Nothing is run.

    Sizes of joins rest on join keys and filtered columns. Tables of which Dovetail has no statistics of these, or whose
    files have changed since, are advised; those that are known and unchanged are not.

    Args:
        spark: A session with Dovetail, classic or Connect.
        queries: Texts of queries or DataFrames; one, or a list of them.

    Raises:
        NotEnabledError: The session does not have Dovetail.
        StatementError: Something that is neither a DataFrame nor text.
        pyspark.errors.AnalysisException: A query itself is wrong; Spark's own error.

    Example::

        advice = dovetail.advise(spark, queries)
        print(advice)
        advice.run(spark)
        dovetail.analyze(spark, "db.sales", groups=advice.groups_of("db.sales"))
    """
    every = queries if isinstance(queries, Sequence) and not isinstance(queries, str) else [queries]
    if not isinstance(queries, Sequence) and not hasattr(queries, "createOrReplaceTempView"):
        raise StatementError(
            f"advise takes texts of queries or DataFrames, or a list of them, got {type(queries).__name__}."
        )
    found: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for number, query in enumerate(every):
        with query_text(query, spark, "advise") as (session, text):
            for row in _sql.function_rows(session, "dovetail_advise", text):
                if row["state"] in (*_WORTH, _REFUSED):
                    found.setdefault(row["table"], []).append((number, row))
    advices = sorted((_together(table, uses, len(every)) for table, uses in found.items()), key=_order)
    return Advice(
        len(every),
        tuple(one for one in advices if one.state != _REFUSED),
        tuple(one for one in advices if one.state == _REFUSED),
    )


def _together(table: str, uses: list[tuple[int, dict[str, Any]]], queries: int) -> TableAdvice:
    """One table's advice from those of several queries, of which the most urgent gives state and reason."""
    rows = [row for _, row in uses]
    main = min(rows, key=lambda row: (*_WORTH, _REFUSED).index(row["state"]))
    columns = tuple(dict.fromkeys(column for row in rows for column in row["columns"]))
    groups = tuple(dict.fromkeys(tuple(group) for row in rows for group in row["groups"]))
    shares = [row["cost_share"] for row in rows if row["cost_share"] is not None]
    return TableAdvice(
        table=table,
        state=main["state"],
        columns=columns,
        groups=groups,
        queries=tuple(number for number, _ in uses),
        cost_share=sum(shares) / len(shares) if shares else None,
        rows=round(max(row["rows"] for row in rows)),
        source=main["source"],
        reason=f"{main['reason']}; in {len(uses)} of {_queries(queries)}",
        statement=None if main["state"] == _REFUSED else _statement(main["statement"], table, columns, groups),
    )


def _statement(one: str, table: str, columns: tuple[str, ...], groups: tuple[tuple[str, ...], ...]) -> str:
    """The statement of one query, for the columns of all of them."""
    kind = "PATH" if one.startswith("DOVETAIL ANALYZE PATH") else "TABLE"
    return analyze_statement(kind, table, columns=columns, groups=groups)


def _order(one: TableAdvice) -> tuple[float, int, str]:
    return (-(one.cost_share or 0.0) * len(one.queries), -one.rows, one.table)


def _plain(one: TableAdvice) -> dict[str, Any]:
    plain = asdict(one)
    return {
        **plain,
        "columns": list(one.columns),
        "groups": [list(g) for g in one.groups],
        "queries": list(one.queries),
    }


def _cells(one: TableAdvice) -> tuple[str | None, ...]:
    cost = None if one.cost_share is None else f"{one.cost_share:.0%}"
    groups = " ".join(f"({', '.join(group)})" for group in one.groups)
    columns = ", ".join(one.columns)
    return (one.table, one.state, str(len(one.queries)), cost, f"{one.rows:,}", one.source, columns, groups or None)


def _queries(number: int) -> str:
    return "1 query" if number == 1 else f"{number} queries"
