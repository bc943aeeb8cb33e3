"""PostgreSQL as an engine of `real_data`: a private cluster in a temporary folder, orders and estimates from EXPLAIN.

The cluster listens only on a socket in that folder. It has default settings, except that parallel plans are off (their
nodes count rows per worker), and no indexes, because Spark has none. psql passes statements to it. DuckDB converts the
Parquet files to CSV for it.
"""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dovetail.errors import DovetailError
from dovetail_bench.join_order import Order, join, relation
from dovetail_bench.join_query import Relations
from dovetail_bench.query_file import RealQuery
from dovetail_bench.tables import views

# Where Debian keeps programs that are not on the PATH.
DEBIAN = Path("/usr/lib/postgresql")

INSTALL = "install it (apt-get install postgresql, brew install postgresql), or leave postgresql out of --engines"

# PostgreSQL does not run as root. If this process does, the cluster belongs to the first of these users that exists.
USERS = ("postgres", "nobody")

# DuckDB's types that have another name in PostgreSQL. Unsigned types need the next larger type.
TYPES = {
    "DOUBLE": "double precision",
    "FLOAT": "real",
    "TINYINT": "smallint",
    "UTINYINT": "smallint",
    "USMALLINT": "integer",
    "UINTEGER": "bigint",
    "UBIGINT": "numeric(20)",
    "HUGEINT": "numeric(39)",
    "TIMESTAMP_S": "timestamp",
    "TIMESTAMP_MS": "timestamp",
    "TIMESTAMP_NS": "timestamp",
}
SAME_TYPES = ("BOOLEAN", "SMALLINT", "INTEGER", "BIGINT", "DATE", "TIME", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE")

NULL = r"\N"


@dataclass(frozen=True)
class PostgresqlEngine:
    """A running cluster.

    Attributes:
        psql: Command line of psql, which runs its standard input.
    """

    psql: tuple[str, ...]

    @property
    def version(self) -> str:
        return _run(self.psql, "SHOW server_version;").split()[0]

    def order(self, query: RealQuery) -> Order:
        aliases = {alias.lower(): alias for alias in query.join.tables}
        found = order_of(self._explain(query.sql), aliases)
        if found.relations != query.join.relations:
            missing = ", ".join(sorted(query.join.relations - found.relations))
            raise DovetailError(f"PostgreSQL's plan has no scan of {missing}")
        return found

    def estimate(self, query: RealQuery, relations: Relations) -> float | None:
        return float(self._explain(query.join.sql(relations))["Plan Rows"])

    def _explain(self, sql: str) -> dict[str, Any]:
        text = f"EXPLAIN (FORMAT JSON) {sql.rstrip().rstrip(';')};"
        plan: dict[str, Any] = json.loads(_run(self.psql, folded(text)))[0]["Plan"]
        return plan


@contextmanager
def cluster(port: int | None = None) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Starts a private cluster with the user `bench`; yields its folder and psql's command line.

    Args:
        port: Port of this machine on which it listens; with None, it listens only on a socket in its folder.
    """
    programs = {name: _program(name) for name in ("initdb", "pg_ctl", "psql")}
    user = next((u for u in USERS if _exists(u)), None) if os.geteuid() == 0 else None
    # A separate folder, because another user must reach it. A short path, because a socket's has at most 107 bytes.
    with tempfile.TemporaryDirectory(prefix="dovetail-pg-") as place:
        if user:
            shutil.chown(place, user)
        data = str(Path(place) / "data")
        _run((programs["initdb"], "-D", data, "-A", "trust", "-E", "UTF8", "--locale=C", "-U", "bench"), user=user)
        address = f"-c listen_addresses=127.0.0.1 -p {port}" if port else "-c listen_addresses=''"
        listen = f"-k {place} {address} -c max_parallel_workers_per_gather=0"
        control = (programs["pg_ctl"], "-D", data, "-w", "-l", str(Path(place) / "log"))
        _run((*control, "-o", listen, "start"), user=user)
        try:
            at = ("-h", place, *(("-p", str(port)) if port else ()))
            yield (
                Path(place),
                (programs["psql"], *at, "-U", "bench", "-d", "postgres", "-XqAt", "-v", "ON_ERROR_STOP=1"),
            )
        finally:
            _run((*control, "-m", "immediate", "stop"), user=user)


@contextmanager
def postgresql_engine(tables: Mapping[str, Path], work: Path) -> Iterator[PostgresqlEngine]:
    """Starts a cluster and loads the tables."""
    with cluster() as (place, psql):
        _load(psql, tables, place)
        yield PostgresqlEngine(psql)


def order_of(plan: Mapping[str, Any], aliases: Mapping[str, str]) -> Order:
    """The join order of a plan.

    Args:
        plan: A node of EXPLAIN (FORMAT JSON).
        aliases: Alias in lower case → alias.
    """
    # scalar subqueries and the like are also below a node, with another relationship
    below = [order_of(p, aliases) for p in plan.get("Plans", []) if p["Parent Relationship"] in ("Outer", "Inner")]
    if not below:
        return relation(aliases[plan["Alias"]])
    if len(below) == 1:
        return below[0]
    conditions = ("Join Filter", "Hash Cond", "Merge Cond", "Recheck Cond", "Index Cond")
    return join(below[0], below[1], crossed=not any(c in plan for c in conditions))


def column_type(duckdb_type: str) -> str:
    """PostgreSQL's type for a type of DuckDB; text for types without a counterpart, such as lists."""
    if duckdb_type.startswith("DECIMAL"):
        return duckdb_type.replace("DECIMAL", "numeric")
    return TYPES.get(duckdb_type, duckdb_type.lower() if duckdb_type in SAME_TYPES else "text")


def folded(sql: str) -> str:
    """A text whose quoted identifiers are double-quoted and in lower case, like PostgreSQL's unquoted ones."""
    parts = sql.split("'")
    # text between single quotes stays as it is
    for i in range(0, len(parts), 2):
        pieces = parts[i].replace('"', "`").split("`")
        parts[i] = "".join(p if j % 2 == 0 else f'"{p.lower()}"' for j, p in enumerate(pieces))
    return "'".join(parts)


def _load(psql: Sequence[str], tables: Mapping[str, Path], place: Path) -> None:
    with views(tables) as connection:
        for name in tables:
            described = connection.execute(f'DESCRIBE "{name}"').fetchall()
            columns = ", ".join(f'"{column.lower()}" {column_type(kind)}' for column, kind, *_ in described)
            csv = place / "table.csv"
            connection.execute(f"COPY \"{name}\" TO '{csv}' (FORMAT csv, HEADER false, NULL '{NULL}')")
            table = f'"{name.lower()}"'
            copy = f"\\copy {table} FROM '{csv}' (FORMAT csv, NULL '{NULL}')"
            _run(psql, f"CREATE TABLE {table} ({columns});\n{copy}\n")
            csv.unlink()
    _run(psql, "ANALYZE;")


def _program(name: str) -> str:
    newest = sorted(
        DEBIAN.glob(f"*/bin/{name}"), key=lambda path: int(path.parts[-3]) if path.parts[-3].isdigit() else 0
    )
    found = str(newest[-1]) if newest else shutil.which(name)
    if found is None:
        raise DovetailError(f"PostgreSQL's {name} is not on this machine: {INSTALL}.")
    return found


def _exists(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True


def _run(command: Sequence[str], text: str = "", user: str | None = None) -> str:
    account: dict[str, Any] = {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []} if user else {}
    run = subprocess.run(command, input=text, capture_output=True, text=True, check=False, cwd="/", **account)
    if run.returncode != 0:
        raise DovetailError(f"{Path(command[0]).name} failed: {(run.stderr or run.stdout).strip()}")
    output: str = run.stdout
    return output
