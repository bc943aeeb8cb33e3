package org.apache.spark.sql.dovetail

import org.apache.spark.sql.catalyst.optimizer.BuildRight
import org.apache.spark.sql.catalyst.plans.logical.Join
import org.apache.spark.sql.dovetail.log.ChosenJoin
import org.apache.spark.sql.dovetail.plan.SparkBuildSide
import org.apache.spark.sql.execution.{QueryExecution, SparkPlan}
import org.apache.spark.sql.execution.joins.{BroadcastHashJoinExec, SortMergeJoinExec}

/**
 * Joins by keys that Spark cannot hash: strings of a collation in which texts of other bytes may be equal. Spark sorts
 * both inputs of such a join, however small they are, unless both keys are columns in the written condition of a join:
 * then it compares their collation keys. Spark 3 has no collations.
 */
class CollatedKeysSuite extends DovetailSuite with SuiteTables {

  override def beforeAll(): Unit = {
    super.beforeAll()
    if (spark.version >= "4.0") {
      // each label has ten runs, and each key of `picked` is that of three labels in lower case
      table(
        "labels",
        "SELECT CAST(id % 10 AS INT) i, concat('K', id % 1000) COLLATE UTF8_LCASE k, concat('n', id % 7) name " +
          "FROM range(3000)"
      )
      table("runs", "SELECT CAST(id % 10 AS INT) i, CAST(id AS INT) c FROM range(100)")
      table("limits", "SELECT CAST(id AS INT) c FROM range(2000)")
      table("picked", "SELECT concat('k', id) COLLATE UTF8_LCASE k FROM range(300)")
    }
  }

  /** Joins of two tables by a key that Spark cannot hash: by WHERE, IN, EXISTS, and an expression. */
  private val sorted = Seq(
    "FROM labels, picked WHERE labels.k = picked.k",
    "FROM labels WHERE labels.k IN (SELECT k FROM picked)",
    "FROM labels WHERE EXISTS (SELECT 1 FROM picked WHERE picked.k = labels.k)",
    "FROM labels JOIN picked ON lower(labels.k) = picked.k"
  )

  private def count(from: String, hint: String = ""): String = s"SELECT $hint count(*) $from"
  private def withRuns(from: String): String = from.replace("FROM labels", "FROM labels JOIN runs USING (i)")

  private def methods(e: QueryExecution): Seq[String] = methods(e.sparkPlan)
  private def methods(plan: SparkPlan): Seq[String]   = plan.collect {
    case _: SortMergeJoinExec     => "sort merge"
    case _: BroadcastHashJoinExec => "broadcast hash"
  }

  test("Spark broadcasts no side of such a join, even if a hint asks for it") {
    assume(spark.version >= "4.0")
    dovetail(on = false) {
      def sides(sql: String) = {
        val execution = spark.sql(sql).queryExecution
        (execution.optimizedPlan.collect { case j: Join => SparkBuildSide(j) }, methods(execution))
      }
      for (sql <- sorted.map(count(_)) :+ count(sorted.head, "/*+ BROADCAST(picked) */"))
        assert(sides(sql) == ((Seq(None), Seq("sort merge"))), sql)
      val keyed = count("FROM labels JOIN picked ON labels.k = picked.k")
      assert(sides(keyed) == ((Seq(Some(BuildRight)), Seq("broadcast hash"))))
    }
  }

  test("the search prices the sorts, explain shows them, and the answer is Spark's") {
    assume(spark.version >= "4.0")
    for (adaptive <- Seq("true", "false"); sql <- sorted.map(from => count(withRuns(from))))
      withConf("spark.sql.adaptive.enabled" -> adaptive, "spark.dovetail.reorder.minGain" -> "0") {
        val (execution, trace) = withoutIdempotenceCheck(traced(sql))
        val shown              = trace.groups.flatMap(_.joins).map(_.method)
        assert(shown.sorted == methods(execution).sorted && shown.count(_ == "sort merge") == 1, s"$sql: $shown")
        val why = spark.sql("SELECT * FROM dovetail_explain(\"" + sql + "\")").head().getString(0)
        assert(why.replaceAll("\\s+", " ").contains("Spark cannot hash strings of this collation"), why)
        sameAnswer(sql, reorders = false)
      }
  }

  test("no broadcast of Dovetail's choice that Spark would not make") {
    assume(spark.version >= "4.0")
    // an equality that NULL satisfies is in no class, and priced as if it could be hashed
    val nullSafe = count("FROM labels JOIN runs USING (i), picked WHERE labels.k <=> picked.k")
    withConf("spark.sql.adaptive.enabled" -> "false", "spark.dovetail.reorder.minGain" -> "0") {
      val plan = physical(nullSafe)
      assert(methods(plan).contains("sort merge"), plan)
      val broadcast = ChosenJoin.in(plan).map(_.tables)
      assert(broadcast.nonEmpty && !broadcast.contains(Vector("picked")), broadcast)
      sameAnswer(nullSafe, reorders = false)
    }
  }

  test("an input that may fail is not read before the broadcast that spares it: such a join sorts, and so reads it") {
    assume(spark.version >= "4.0")
    def counted(filter: String) = "SELECT count(*) FROM labels, runs, picked WHERE labels.i = runs.i AND " +
      s"labels.k = picked.k AND $filter AND runs.c > (SELECT max(c) FROM limits)"
    for (adaptive <- Seq("true", "false"))
      withConf(
        "spark.sql.adaptive.enabled"     -> adaptive,
        "spark.sql.ansi.enabled"         -> "true",
        "spark.dovetail.reorder.minGain" -> "0"
      ) {
        sameAnswer(counted("length(labels.name) = 2"))
        val fails = counted("CAST(labels.name AS INT) = 3")
        sameAnswer(fails, reorders = false)
        val reasons = dovetail(on = true)(traced(fails)._2.groups.map(_.reason))
        assert(reasons.exists(_.contains("reading labels may fail in ")), reasons)
      }
  }
}
