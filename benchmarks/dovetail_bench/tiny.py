"""Settings under which many tiny queries do not spend their time in compilers, empty tasks and removing what is old."""

from __future__ import annotations

# Of each query: no code is generated.
QUERY = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}

# Of the session, before `--conf`. A hash table takes at least a page. Spark removes old broadcasts one after the other,
# more slowly than tiny queries make them, and the more are left the longer each takes: 11,000 after 1,500 queries.
# No code runs often enough to be worth the second compiler, nor any data long enough to be worth compressing.
SESSION = (
    "spark.buffer.pageSize=1m",
    "spark.cleaner.referenceTracking.blocking=false",
    "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=512m",
    "spark.broadcast.compress=false",
    "spark.shuffle.compress=false",
)
