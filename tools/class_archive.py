"""Writes an archive of the classes that a Spark session loads, which halves the CPU time of a JVM's start.

    python tools/class_archive.py .build/classes-4.1.jsa          # `make test` does this while the compiler runs

The Python tests start some dozens of JVMs. Each loads and verifies the same 15,000 classes of Spark and its libraries,
unless it maps them from an archive (application class-data sharing of the JVM). The archive belongs to one JDK and one
class path. A JVM that does not fit ignores it.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from pyspark import SparkContext
from pyspark.sql import SparkSession

# Seconds within which the JVM writes the archive and ends.
WRITE_SECONDS = 120

# Statements of which the tests run many: they load the classes of files, commands, joins and aggregates.
STATEMENTS = (
    "CREATE TABLE a USING parquet AS SELECT id, id % 7 AS g, concat('text ', id) AS s FROM range(100)",
    "ANALYZE TABLE a COMPUTE STATISTICS FOR ALL COLUMNS",
    "CREATE VIEW b AS SELECT g, count(*) AS n, max(s) AS s FROM a GROUP BY g",
    "SELECT * FROM a JOIN b USING (g) LEFT JOIN a c ON c.id = b.n WHERE b.s LIKE 'text%' ORDER BY a.id LIMIT 5",
    "SELECT count(DISTINCT s) FROM a WHERE id IN (SELECT g FROM b) OR NOT EXISTS (SELECT 1 FROM b WHERE b.g = a.g)",
    "EXPLAIN SELECT * FROM a JOIN b USING (g)",
    "DROP VIEW b",
    "DROP TABLE a",
)


def main(path: Path) -> None:
    """Runs a session whose JVM writes the archive at its end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    own = os.environ.get("SPARK_SUBMIT_OPTS", "")
    os.environ["SPARK_SUBMIT_OPTS"] = f"{own} -XX:TieredStopAtLevel=1 -XX:ArchiveClassesAtExit={path} -Xlog:cds=off"
    with tempfile.TemporaryDirectory() as warehouse:
        spark = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.warehouse.dir", warehouse)
            .getOrCreate()
        )
        for statement in STATEMENTS:
            spark.sql(statement).collect()
        gateway = SparkContext._gateway
        spark.stop()
        # the JVM ends when its standard input does
        gateway.proc.stdin.close()
        gateway.proc.wait(WRITE_SECONDS)
    if not path.is_file():
        sys.exit(f"the JVM wrote no archive to {path}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
