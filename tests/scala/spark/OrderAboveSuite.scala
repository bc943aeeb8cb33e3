package org.apache.spark.sql.dovetail

import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.execution.SortExec
import org.apache.spark.sql.execution.joins.{ShuffledHashJoinExec, SortMergeJoinExec}

/** Exchanged joins whose order saves a sort above: they get no hash table, unless they drop most rows. */
class OrderAboveSuite extends DovetailSuite with KeyedTables with FinalPlans {
  override def beforeAll(): Unit = {
    super.beforeAll()
    keyed("big", 40000)
    keyed("medium", 5000)
    keyed("other", 6000)
    tables.foreach(t => spark.sql(s"DOVETAIL ANALYZE TABLE $t").collect())
  }

  /** Number of sorts, sort-merge joins and hash joins of the plan that ran. */
  private def counts(sql: String): (Int, Int, Int) = {
    val plan = ran(sql)
    (
      plan.count(_.isInstanceOf[SortExec]),
      plan.count(_.isInstanceOf[SortMergeJoinExec]),
      plan.count(_.isInstanceOf[ShuffledHashJoinExec])
    )
  }

  private def shuffled[A](body: => A): A = withConf(
    "spark.sql.adaptive.enabled"                    -> "true",
    "spark.sql.autoBroadcastJoinThreshold"          -> "1",
    "spark.sql.adaptive.autoBroadcastJoinThreshold" -> "-1",
    DovetailConf.EarlyGrouping.key                  -> "false",
    DovetailConf.Reducers.key                       -> "false"
  )(body)

  private val pair = "big JOIN medium ON big.k = medium.k"

  /** Asserts that a query runs as in plain Spark, with its order and without a hash table. */
  private def keepsOrder(sql: String): Unit = {
    val plain = dovetail(on = false)(counts(sql))
    assert(plain._2 > 0 && counts(sql) == plain, s"$sql: ${counts(sql)}, plain Spark: $plain")
    sameAnswer(sql, reorders = false)
  }

  test("windows, groupings that sort, and sort-merge joins by the key of the join read its rows in their order") {
    shuffled {
      keepsOrder(s"SELECT k, t, count(*) OVER (PARTITION BY k) FROM (SELECT big.k, medium.t FROM $pair)")
      keepsOrder(s"SELECT c, max(t) FROM (SELECT big.k AS c, concat(big.t, medium.t) AS t FROM $pair) GROUP BY c")
      keepsOrder(
        s"SELECT /*+ DOVETAIL_ORDER('((big medium) other)') */ count(*) FROM $pair JOIN other ON big.k = other.k"
      )
      keepsOrder(s"SELECT count(*) FROM $pair FULL JOIN other ON big.k = other.k")
    }
  }

  test("where nothing above needs the order, the smaller input is hashed") {
    shuffled {
      for (
        sql <- Seq(
          s"SELECT count(*) FROM $pair",
          s"SELECT k, sum(w) FROM (SELECT big.k, medium.w FROM $pair) GROUP BY k",
          // sorted by another column, or by more than the key
          s"SELECT i, count(*) OVER (PARTITION BY i) FROM (SELECT big.i, medium.t FROM $pair)",
          s"SELECT k, rank() OVER (PARTITION BY k ORDER BY i) FROM (SELECT big.k, big.i, medium.t FROM $pair)",
          s"SELECT k, i, max(t) FROM (SELECT big.k, big.i, medium.t FROM $pair) GROUP BY k, i"
        )
      ) {
        assert(counts(sql)._3 == 1, s"$sql: ${counts(sql)}")
        sameAnswer(sql, reorders = false)
      }
    }
  }

  test("a join that drops most rows is hashed all the same: sorting what is left costs less") {
    shuffled {
      def counted(where: String) =
        s"SELECT k, t, count(*) OVER (PARTITION BY k) FROM (SELECT big.k, medium.t FROM $pair WHERE $where)"
      assert(counts(counted("medium.w < 50")) == ((1, 0, 1)))
      sameAnswer(counted("medium.w < 50"), reorders = false)
      keepsOrder(counted("medium.w < 450"))
    }
  }
}
