"""attach: what a running session gets and what it does not get, and refused calls; in separate processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scripts import SAYING, lines

import dovetail
from dovetail import jars

START = (
    SAYING
    + """
import os, sys, tempfile
import dovetail
from chispa import assert_df_equality
from frames import assert_rows
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

home = tempfile.mkdtemp()
builder = (
    SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "2").config("spark.sql.warehouse.dir", home)
    .config("spark.sql.codegen.wholeStage", "false").config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    .config("spark.driver.extraJavaOptions", f"-Dderby.system.home={home}")
    .config("spark.sql.catalog.v2", "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog")
    .config("spark.sql.catalog.v2.url", "jdbc:derby:memory:v2;create=true")
    .config("spark.sql.catalog.v2.driver", "org.apache.derby.jdbc.EmbeddedDriver")
)
"""
)


def test_what_it_says_is_true(run_python: Any) -> None:
    done = run_python(
        START
        + """
spark = builder.getOrCreate()
spark.sparkContext.setLogLevel("OFF")
spark.sql("CREATE TABLE sale USING parquet AS SELECT id, id % 100 AS item, id % 10 AS store FROM range(5000)")
spark.sql("CREATE TABLE item USING parquet AS SELECT id AS item, id % 50 AS kind FROM range(100)")
spark.range(10).withColumnRenamed("id", "store").createOrReplaceTempView("store")
spark.udf.register("twice", lambda x: 2 * x, "bigint")
spark.conf.set("spark.sql.shuffle.partitions", "3")
query = ("SELECT count(*), sum(twice(sale.id)) FROM sale JOIN store ON sale.store = store.store "
         "JOIN item ON sale.item = item.item WHERE kind = 7")
old = spark.sql(query)
want = spark.createDataFrame(old.collect(), old.schema)
before = spark.sql(query)

# in another catalog, Spark's error names the catalog and not the unknown function
spark.sql("USE v2.APP")
refused(lambda: dovetail.status(spark))
attached = dovetail.attach(spark, planning_budget_ms=321)
try:
    dovetail.explain("SELECT * FROM nosuch(1)", spark)
except AnalysisException:
    say("the function of the query")
# the running session stays that of new DataFrames, until someone takes the copy
spark.sparkContext.parallelize([(1,)]).toDF(["a"]).createOrReplaceTempView("one")
say(spark.sql("SELECT a FROM one").first().a)
say(*attached.session.sql("SELECT current_catalog(), current_schema()").first())
for each in (spark, attached.session):
    each.sql("USE spark_catalog.default")

say(attached.status)
say(attached.session is spark, dovetail.status(spark) == attached.status)
say("DOVETAIL ANALYZE" in str(attached), "spark = dovetail.attach(spark).session" in str(attached))

# here: orders (also of a frame made before, which is not planned yet), functions, settings
order = dovetail.explain(query, spark)
say(order.reordered)
assert_df_equality(before, want)
assert_df_equality(spark.sql(query), want)
assert_rows(spark.sql("SELECT count(*) > 0 FROM dovetail_queries() WHERE reordered >= 1"), (True,))
assert_rows(spark.sql("SELECT round(value) FROM dovetail_estimate('SELECT * FROM sale')"), (5000.0,))
say(dovetail.advise(spark, query)["sale"].state, dovetail.stats(spark, "sale").rows)
say(dovetail.Config.from_session(spark).planning_budget_ms)
spark.sql("SET spark.dovetail.enabled=false")
say(dovetail.status(spark).enabled)
spark.sql("SET spark.dovetail.enabled=true")

# not here: statements
refused(lambda: dovetail.analyze(spark, "sale", progress=False))
refused(lambda: dovetail.analyze(attached.session, spark.table("sale"), progress=False))
refused(lambda: dovetail.compare(spark, query))
refused(lambda: dovetail.calibrate(spark, reset=True))
refused(lambda: dovetail.pins.capture(spark, "p", query))
refused(lambda: dovetail.pins.remove(spark, "p"))
refused(lambda: dovetail.rows.tell(spark, 5, table="sale"))
refused(lambda: dovetail.rows.load(spark, "/nosuch.json"))
say(dovetail.pins.all(spark), dovetail.rows.all(spark), len(dovetail.history(spark)) > 0)

# there: all of it, over the same tables, views, functions and settings
session = attached.session
say(dovetail.compare(session, query).same_answer, session.conf.get("spark.sql.shuffle.partitions"))
say(dovetail.analyze(session, "sale", progress=False)["item"].distinct_count)
say(session.sql(f"SELECT /*+ DOVETAIL_ORDER('((store sale) item)') */ 1 {query[query.index('FROM'):]}").count())
# without the history, which has counted these inputs
for each in (session, spark):
    each.conf.set("spark.dovetail.history.enabled", "false")
say(dovetail.explain(query, session).to_dict()["groups"][0]["relations"][0]["rows"]["source"])

# what was collected there is known here; again changes nothing, and a new session has it too
say(dovetail.explain(query, spark).to_dict()["groups"][0]["relations"][0]["rows"]["source"])
say(dovetail.attach(spark).status == attached.status, dovetail.attach(session).session is session)
say(dovetail.attach(session).needs_new_session)
say(dovetail.compare(spark.newSession(), "SELECT count(*) FROM sale").same_answer)
spark.stop()
refused(lambda: dovetail.attach(spark))
"""
    )
    (
        off,
        unknown,
        one,
        catalog,
        status,
        same,
        said,
        here,
        advised,
        setting,
        switch,
        *refusals,
        lists,
        there,
        analyzed,
        hint,
        source,
        source_here,
        again,
        none_needed,
        new,
        stopped,
    ) = lines(done)
    assert off.startswith("NotEnabledError")
    assert (unknown, one, catalog) == ("the function of the query", "1", "v2 APP")
    assert status.endswith(": on")
    assert (same, said, here) == ("False True", "True True", "True")
    assert (advised, setting, switch) == ("unknown 5000", "321", "False")
    assert len(refusals) == 8
    assert lists == "none none True"
    for refusal in refusals:
        assert refusal.startswith("NotEnabledError")
        assert "dovetail.attach(spark).session" in refusal
    assert (there, analyzed, hint) == ("True 3", "100", "100")
    assert (source, source_here) == ("dovetail", "dovetail")
    assert (again, none_needed, new) == ("True True", "()", "True")
    assert stopped.startswith("SessionStoppedError")
    assert "stopped" in stopped


@pytest.mark.lines
def test_who_is_refused(run_python: Any, spark_line: tuple[int, int], tmp_path: Path) -> None:
    wrong = jars.jar_path("4.0" if spark_line != (4, 0) else "4.1")
    done = run_python(
        START
        + """
wrong = sys.argv[1]
spark = builder.config("spark.jars", wrong).getOrCreate()
spark.sparkContext.setLogLevel("OFF")
refused(lambda: dovetail.attach(spark, jar="/no/such.jar"))
refused(lambda: dovetail.attach(spark, jar=wrong))
refused(lambda: dovetail.attach(spark, card_wait=1))
refused(lambda: dovetail.attach("spark"))
refused(lambda: dovetail.attach(spark))
assert_rows(spark.sql("SELECT count(*) FROM range(3) a JOIN range(3) b USING (id) JOIN range(3) c USING (id)"), (3,))
""",
        wrong,
    )
    missing, other_line, setting, no_session, built = lines(done)
    line = ".".join(map(str, spark_line))
    assert missing.startswith("StatementError")
    assert "/no/such.jar" in missing
    assert other_line.startswith("UnsupportedSparkError")
    assert f"running Spark line {line}" in other_line
    assert setting.startswith("ConfigError")
    assert "card_weight" in setting
    assert no_session.startswith("StatementError")
    assert "got str" in no_session
    assert built.startswith("UnsupportedSparkError")
    assert "switched itself off" in built


def test_the_session_of_the_tests_needs_nothing(spark: Any) -> None:
    attached = dovetail.attach(spark)
    assert attached.session is spark
    assert attached.needs_new_session == ()
    assert "new session" not in str(attached)
