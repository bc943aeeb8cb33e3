"""`status` and `version` show whether Dovetail is active in a session. Spark also starts if the jar is missing."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from dovetail import _sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Status:
    """Version and state of Dovetail in a session.

    Attributes:
        version: Version of the jar, "0.1.0".
        spark_line: Spark line of the jar, "4.1".
        spark_version: Version of the running Spark, "4.1.3".
        scala_version: Version of the running Scala, "2.13.17".
        enabled: Value of `spark.dovetail.enabled`; if False, Spark plans every query without Dovetail.
    """

    version: str
    spark_line: str
    spark_version: str
    scala_version: str
    enabled: bool

    def to_dict(self) -> dict[str, Any]:
        """The status as a plain dictionary."""
        return asdict(self)

    def __str__(self) -> str:
        switch = "on" if self.enabled else f"off ({_sql.ENABLED_KEY}=false)"
        running = f"on Spark {self.spark_version} (Scala {self.scala_version})"
        return f"Dovetail {self.version} for Spark {self.spark_line}, {running}: {switch}"


def status(spark: SparkSession) -> Status:
    """Returns the version and state of Dovetail in a session.

    Args:
        spark: A session, classic or Connect.

    Raises:
        NotEnabledError: The session does not have Dovetail; the message says how to enable it.

    Example::

        print(dovetail.status(spark))
        # Dovetail 0.1.0 for Spark 4.1, on Spark 4.1.4 (Scala 2.13.17): on
    """
    (found,) = _sql.records(spark, "dovetail_version", Status)
    return found


def version(spark: SparkSession) -> str:
    """Version of the Dovetail jar in a session, "0.1.0". `dovetail.__version__` is the version of the package.

    Raises:
        NotEnabledError: The session does not have Dovetail.
    """
    return status(spark).version
