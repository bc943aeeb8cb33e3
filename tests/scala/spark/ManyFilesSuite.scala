package org.apache.spark.sql.dovetail

import org.apache.spark.sql.dovetail.base.DovetailConf

/** Writes of joined rows: no broadcast of ours that would make the tasks of a scan write many small files. */
class ManyFilesSuite extends DovetailSuite with KeyedTables {

  override def beforeAll(): Unit = {
    super.beforeAll()
    keyed("big", 40000)
    keyed("medium", 5000)
    table("kept", "SELECT '' AS t, '' AS u FROM range(1)")
    table("counted", "SELECT '' AS t, 1L AS n FROM range(1)")
  }

  /** The files of `big` are read by a dozen tasks or more; an exchange has two partitions. */
  private val settings = Seq(
    "spark.sql.autoBroadcastJoinThreshold" -> "20000",
    "spark.sql.files.maxPartitionBytes"    -> "200000",
    "spark.sql.files.openCostInBytes"      -> "1000",
    "spark.sql.shuffle.partitions"         -> "2",
    DovetailConf.Reducers.key              -> "false"
  )

  private def joined(hint: String = "") =
    s"SELECT $hint big.t, medium.t AS u FROM big JOIN medium ON big.k = medium.k WHERE medium.w = 7"

  private def planOf(statement: String, more: (String, String)*): String =
    withConf((settings ++ more): _*)(spark.sql(s"EXPLAIN $statement").head().getString(0))

  private def isBroadcast(statement: String, more: (String, String)*): Boolean = {
    val plan = planOf(statement, more: _*)
    assert(plan.contains("BroadcastHashJoin") != plan.contains("SortMergeJoin"), plan)
    plan.contains("BroadcastHashJoin")
  }

  test("joined rows that are written: plain Spark exchanges both inputs, and so few tasks write") {
    val write = s"INSERT INTO kept ${joined()}"
    assert(!dovetail(on = false)(isBroadcast(write)))
    assert(!isBroadcast(write))
    assert(!isBroadcast(s"INSERT OVERWRITE kept SELECT * FROM (${joined()}) SORT BY t"))
    // the join with the hint is in no group, and passes on the rows of the other one
    val above = s"SELECT /*+ BROADCAST(f) */ q.* FROM (${joined()}) q JOIN (VALUES ('a')) f(t) ON q.t = f.t"
    assert(planOf(s"INSERT INTO kept $above").contains("SortMergeJoin"))
  }

  test("a broadcast where nothing is written, or there are few files or large ones, or an exchange is in between") {
    assert(isBroadcast(joined()))
    val write = s"INSERT INTO kept ${joined()}"
    assert(isBroadcast(write, "spark.sql.shuffle.partitions" -> "200"))
    assert(isBroadcast(write, "spark.sql.adaptive.advisoryPartitionSizeInBytes" -> "4b"))
    assert(isBroadcast(s"INSERT INTO kept ${joined("/*+ REBALANCE */")}"))
    assert(isBroadcast(s"INSERT INTO counted SELECT t, count(*) FROM (${joined()}) GROUP BY t"))
  }
}
