package org.apache.spark.sql.dovetail

import org.apache.spark.sql.catalyst.plans.logical.Aggregate
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.report.EarlyMark

/** Tables and checks of the suites of early groupings. */
trait EarlyGroupingChecks extends SuiteTables { this: DovetailSuite =>
  override def beforeAll(): Unit = {
    super.beforeAll()
    // NULL keys and values, repeated keys, and keys without a partner
    val numbers =
      "CAST(id % 7 AS TINYINT) AS tiny, CAST(if(id % 5 = 0, NULL, id % 11) AS INT) AS number, id % 13 AS big, " +
        "CAST(if(id % 6 = 0, NULL, id % 9) AS DECIMAL(7, 2)) AS price, CAST(id % 3 AS DECIMAL(38, 2)) AS wide, " +
        "CAST(id % 17 AS DECIMAL(12, 2)) AS cost, " +
        "CAST(id % 9 AS DOUBLE) AS ratio, concat('s', id % 4) AS text, DATE '2020-01-01' + CAST(id % 50 AS INT) AS at"
    table("sold", s"SELECT id, if(id % 31 = 0, NULL, id % 40) AS item, id % 30 AS day, $numbers FROM range(2000)")
    // several items have the same number, so groups have several partners
    table("item", "SELECT id % 45 AS item, concat('i', id % 8) AS name, id % 5 AS class FROM range(60)")
    table("day", "SELECT id AS day, id DIV 7 AS week, id % 12 AS month FROM range(28)")
    table("nothing", "SELECT id AS item, id AS day, 'x' AS name FROM range(10) WHERE id < 0")
  }

  protected def forced[A](body: => A): A = withConf(DovetailConf.EarlyGroupingAlways.key -> "true")(body)

  /** The grouping columns of each early grouping in the plan. */
  protected def keys(sql: String): Seq[String] = optimized(sql).collect {
    case a: Aggregate if EarlyMark.isOn(a) =>
      a.groupingExpressions.flatMap(_.references.map(_.name)).sorted.mkString(" ")
  }

  /** Asserts that early groupings by these columns lie below a join, and that the answer is the same. */
  protected def groups(sql: String, expected: String*): Unit = forced {
    assert(keys(sql).sorted == expected.sorted, told(s"$sql\n${optimized(sql)}"))
    val plain = dovetail(on = false)(answer(sql))
    for ((broadcast, adaptive) <- Seq("10485760" -> "true", "-1" -> "false")) withConf(
      "spark.sql.autoBroadcastJoinThreshold" -> broadcast,
      "spark.sql.adaptive.enabled"           -> adaptive
    )(withoutFailures(assert(answer(sql) == plain, s"broadcast $broadcast, adaptive $adaptive, for $sql")))
  }

  /** Asserts that there is no early grouping, because no place is legal. */
  protected def once(sql: String): Unit = forced { assert(keys(sql).isEmpty, told(s"$sql\n${optimized(sql)}")); () }
}
