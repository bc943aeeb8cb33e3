"""`advise`: tables, columns and groups of columns to analyze for some queries, with the statements.

The session advises on one query (`dovetail_advise`); this module combines the advice on several queries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from dovetail import _sql
from dovetail._analyze_dovetail import analyze_statement
from dovetail._analyze_mode import names
from dovetail._display import Display, Table
from dovetail._error_text import did_you_mean, got, kind_of, listing
from dovetail._identifiers import parse_name
from dovetail._query import query_text
from dovetail.analysis import analyze
from dovetail.errors import StatementError
from dovetail.statistics import TableStats

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# States in the output of `dovetail_advise` of tables that should be analyzed, the most urgent first.
_WORTH = ("unknown", "stale", "incomplete")
_REFUSED = "not analyzable"

# The end of Spark's own ANALYZE begins with these words.
_FOR_COLUMNS = " FOR COLUMNS "


@dataclass(frozen=True)
class TableAdvice:
    """A table that should be analyzed, or that DOVETAIL ANALYZE does not read.

    Attributes:
        table: Name of the table, as `dovetail.analyze` accepts it: a table, or a path such as ``parquet.`/data/t` ``.
        state: "unknown" (never analyzed), "stale" (files were added or changed since), "incomplete" (analyzed without
            some of the columns or groups), or "not analyzable" (`reason` says why).
        columns: Columns on which sizes of joins depend, in the order of the table.
        groups: Columns that are joined or filtered together.
        queries: Positions in the list of the queries that would benefit, from 0.
        cost_share: Share of the predicted cost of these queries' joins that belongs to joins with the table, 0 to 1;
            None if no query has joins to order.
        rows: Estimated number of rows.
        source: Source of that number, e.g. "footer".
        reason: Why the table should be analyzed, or why DOVETAIL ANALYZE does not read it.
        statement: The statement that analyzes the table; for a Hive table whose files Spark does not read itself ("not
            analyzable"), Spark's own ANALYZE; None if there is none.
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


@dataclass(frozen=True, repr=False)
class Advice(Display):
    """What to analyze for some queries. `print` shows it; `run` does it.

    Attributes:
        queries: Number of queries.
        tables: Tables to analyze, most useful first: by cost share, number of queries that benefit, and rows.
        refused: Tables on which the queries' joins depend but which DOVETAIL ANALYZE does not read, with the reason.
    """

    queries: int
    tables: tuple[TableAdvice, ...]
    refused: tuple[TableAdvice, ...] = ()

    def __iter__(self) -> Iterator[TableAdvice]:
        return iter(self.tables)

    def __contains__(self, table: object) -> bool:
        """Whether there is advice on a table of this name, with or without catalog and database."""
        return bool(self._named(table)) if isinstance(table, str) else table in self.tables

    def __getitem__(self, table: str) -> TableAdvice:
        """Advice on one table by its name, with or without catalog and database.

        Raises:
            KeyError: There is no advice on the table, or two tables have this name.
        """
        if not isinstance(table, str):
            raise KeyError(f"the name of a table is expected, got {kind_of(table)}")
        matches = self._named(table)
        if len(matches) == 1:
            return matches[0]
        names = [one.table for one in matches or self.tables]
        if matches:
            raise KeyError(f"several tables have the name '{table}': {listing(names)}")
        raise KeyError(f"no advice on '{table}'.{did_you_mean(table, names)} Tables to analyze: {listing(names)}")

    def _named(self, table: str) -> list[TableAdvice]:
        wanted = parse_name(table)
        return [one for one in self.tables if parse_name(one.table)[-len(wanted) :] == wanted]

    def groups_of(self, table: str) -> tuple[tuple[str, ...], ...]:
        """Groups of columns of a table, for the argument `groups` of `dovetail.analyze`; may be empty."""
        try:
            return self[table].groups
        except KeyError:
            return ()

    @property
    def statements(self) -> tuple[str, ...]:
        """The statements to run, in order, without those for `refused`."""
        return tuple(one.statement for one in self.tables if one.statement is not None)

    def run(self, spark: SparkSession, progress: bool = True) -> tuple[TableStats, ...]:
        """Analyzes the tables in order, with the advised columns and groups; returns the statistics of each table."""
        found = (
            analyze(spark, one.table, columns=list(one.columns), groups=one.groups, progress=progress)
            for one in self.tables
        )
        return tuple(stats for stats in found if isinstance(stats, TableStats))

    def to_dict(self) -> dict[str, Any]:
        """The advice as plain dictionaries, lists, strings and numbers (JSON-ready)."""
        return {
            "queries": self.queries,
            "tables": [_plain(one) for one in self.tables],
            "refused": [_plain(one) for one in self.refused],
        }

    def _blocks(self) -> list[str | Table]:
        parts: list[str | Table]
        if not self.tables:
            parts = [f"{_queries(self.queries)}: nothing to analyze."]
        else:
            header = ("table", "state", "queries", "cost", "rows", "source", "columns", "groups")
            parts = [
                f"{_queries(self.queries)}: {_tables(len(self.tables))} should be analyzed.",
                Table(header, [_cells(one) for one in self.tables], right={2, 3, 4}, paths={0}),
                "",
                *(f"{statement};" for statement in self.statements),
            ]
        if self.refused:
            parts += ["", "Not analyzable by Dovetail:"]
            for one in self.refused:
                parts.append(f"  {one.table}: {one.reason}")
                if one.statement is not None:
                    parts.append(f"    {one.statement};")
        return parts


def advise(spark: SparkSession, queries: Sequence[DataFrame | str] | DataFrame | str) -> Advice:
    """Finds the tables, columns and groups of columns to analyze for these queries. The queries are not run.

    Sizes of joins depend on join keys and filtered columns. The advice lists tables without Dovetail's statistics of
    these columns, and tables whose files have changed since they were analyzed. It does not list other tables.

    Args:
        spark: A session with Dovetail, classic or Connect.
        queries: SQL text or a DataFrame, or a list of these.

    Raises:
        NotEnabledError: The session does not have Dovetail.
        StatementError: An argument is neither a DataFrame nor text.
        pyspark.errors.AnalysisException: A query is wrong; this is Spark's own error.

    Example::

        advice = dovetail.advise(spark, queries)
        print(advice)
        advice.run(spark)
        dovetail.analyze(spark, "db.sales", groups=advice.groups_of("db.sales"))
    """
    every = queries if isinstance(queries, Sequence) and not isinstance(queries, str) else [queries]
    if not isinstance(queries, Sequence) and not hasattr(queries, "createOrReplaceTempView"):
        raise StatementError(f"advise takes SQL text, a DataFrame of Spark, or a list of these, {got(queries)}")
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
    """Combines the advice of several queries on one table; the most urgent one gives the state and the reason."""
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
        statement=(
            _statement_of_spark(rows, columns)
            if main["state"] == _REFUSED
            else _statement(main["statement"], table, columns, groups)
        ),
    )


def _statement(one: str, table: str, columns: tuple[str, ...], groups: tuple[tuple[str, ...], ...]) -> str:
    """The statement of one query, with the columns of all queries."""
    kind = "PATH" if one.startswith("DOVETAIL ANALYZE PATH") else "TABLE"
    return analyze_statement(kind, table, columns=columns, groups=groups)


def _statement_of_spark(rows: list[dict[str, Any]], columns: tuple[str, ...]) -> str | None:
    """Spark's own ANALYZE for a table that Dovetail does not read, with the columns of all queries."""
    one = next((row for row in rows if row["statement"]), None)
    if one is None:
        return None
    statement: str = one["statement"]
    before, words, _ = statement.partition(_FOR_COLUMNS)
    return statement if not words or tuple(one["columns"]) == columns else f"{before}{words}{names(columns)}"


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


def _tables(number: int) -> str:
    return "1 table" if number == 1 else f"{number} tables"
