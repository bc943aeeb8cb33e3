"""Settings under which many tiny queries do not spend their time in compilers, empty tasks and removing what is old."""

from __future__ import annotations

# Of each query: no code is generated.
QUERY = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}

# Of the session, before `--conf`. A hash table takes at least a page. Spark removes old broadcasts one after the other,
# more slowly than tiny queries make them, and the more are left the longer each takes: 11,000 after 1,500 queries. No
# data is long enough to be worth compressing. G1 would take the pages for humongous objects and mark the heap for each.
_SESSION = (
    "spark.buffer.pageSize=1m",
    "spark.cleaner.referenceTracking.blocking=false",
    "spark.broadcast.compress=false",
    "spark.shuffle.compress=false",
)
_JAVA = "spark.driver.extraJavaOptions=-XX:+UseParallelGC -XX:ReservedCodeCacheSize=512m"

# Queries or files of a JVM after which the second compiler has paid for itself: 3.5 queries of `fuzz` a second without
# it, 6.2 with it from the thousandth on.
LONG = 1000


def session(pieces: int) -> tuple[str, ...]:
    """The settings of a session that runs so many queries."""
    return (*_SESSION, _JAVA if pieces > LONG else f"{_JAVA} -XX:TieredStopAtLevel=1")
