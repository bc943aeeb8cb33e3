"""The error for a table, view or path that does not exist, with what its name may mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dovetail import _sql
from dovetail._error_text import did_you_mean, files_hint
from dovetail._identifiers import parse_name, quote_name
from dovetail._spark_errors import is_spark_error
from dovetail.errors import TargetNotFoundError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def target_not_found(spark: SparkSession, target: str) -> TargetNotFoundError:
    """The error for the name of a table, a view or a path that Spark does not find; it proposes similar names."""
    return TargetNotFoundError(
        f"there is no table, view or path '{target}'.{_nearest(spark, target)} Expected db.table, a temporary "
        "view, or a path such as parquet.`/data/sales`; SHOW TABLES lists the tables of the current database."
    )


def _nearest(spark: SparkSession, target: str) -> str:
    """A hint at what an unknown name may mean: files, or a table with a similar name."""
    if "/" in target:
        format, *path = parse_name(target)
        if len(path) == 1 and "/" in path[0] and "/" not in format:
            return (
                f" If {format} is a file format, there is nothing at {path[0]}: check the path, and write its scheme "
                "(s3a://, hdfs://, file:///) if it is not in the default file system."
            )
        return files_hint(target)
    *namespace, last = parse_name(target)
    try:
        found = _sql.rows(spark, f"SHOW TABLES IN {quote_name(tuple(namespace))}" if namespace else "SHOW TABLES")
    except Exception as error:
        if not is_spark_error(error):
            raise
        return ""
    return did_you_mean(last, [row["tableName"] for row in found])
