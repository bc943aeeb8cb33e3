package org.apache.spark.sql.dovetail

import org.apache.spark.sql.{Dataset, Row}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.dovetail.leaf.FailingScan
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.execution.joins.BroadcastHashJoinExec
import org.apache.spark.sql.types.StructType

/**
 * Inputs that may fail start after all others, as far as the joins allow it. Another input may turn out to be empty and
 * end the query before.
 */
class StartOrderSuite extends StarSuite {
  private def star(onC: String) =
    s"SELECT f.v, a.w, b.w FROM f JOIN a ON f.k1 = a.k JOIN b ON f.k2 = b.k JOIN c ON f.k3 = c.k WHERE $onC"

  private def tables(sql: String): Seq[String] = {
    val plan = dovetail(on = true) { assert(reordered(sql), sql); optimized(sql) }
    plan.collectLeaves().map(named)
  }

  private def named(plan: LogicalPlan): String = plan match {
    case r: LogicalRelation => r.catalogTable.map(_.identifier.table).getOrElse("?")
    case other              => other.nodeName
  }

  /** The inputs that are broadcast, by the names of their tables. */
  private def broadcast(sql: String): Set[String] = withConf("spark.sql.adaptive.enabled" -> "false") {
    def build(j: BroadcastHashJoinExec): SparkPlan = if (j.buildSide.toString == "BuildLeft") j.left else j.right
    physical(sql).collect { case j: BroadcastHashJoinExec =>
      build(j).collectLeaves().map(_.toString.replaceAll("(?s).*default\\.(\\w+)\\[.*", "$1")).mkString
    }.toSet
  }

  test("an input whose filter may throw is the last one") {
    withConf("spark.sql.ansi.enabled" -> "true") {
      assert(tables(star("c.w < 1")).last != "c")
      Seq(
        "12 div c.w = 3",
        "CAST(c.w AS TINYINT) = 1",
        "assert_true(c.w > -1) IS NULL",
        "'1' RLIKE CAST(c.w AS STRING)"
      ).foreach { filter =>
        assert(tables(star(s"c.w < 1 AND $filter")).last == "c", filter)
      }
    }
  }

  test("of two such inputs, the one that was written first is the first") {
    withConf("spark.sql.ansi.enabled" -> "true") {
      val sql = star("c.w < 1 AND 12 div c.w = 3 AND 12 div b.w > 0")
      assert(tables(sql).filter(Set("b", "c")) == Seq("b", "c"))
      assert(tables(sql).indexOf("b") > tables(sql).indexOf("a"))
    }
  }

  test("scans that may fail: a strict mode of text files, and data of a program unless it is a checkpoint") {
    def failing(data: Dataset[Row]) = data.queryExecution.optimizedPlan.collectLeaves().flatMap(FailingScan(_))
    withDirectory { directory =>
      val path = directory.resolve("text").toString
      spark.range(5).selectExpr("id", "id AS other").write.csv(path)
      for (v1 <- Seq("csv,parquet", ""))
        withConf("spark.sql.sources.useV1SourceList" -> v1) {
          def read(mode: String) = spark.read.schema("id INT, other INT").option("MODE", mode).csv(path)
          assert(failing(read("FailFast")).nonEmpty && failing(read("DROPMALFORMED")).isEmpty, v1)
        }
    }
    val rows   = spark.sparkContext.parallelize(1 to 5).map(i => Row(10 / (6 - i)))
    val filled = spark.createDataFrame(rows, StructType.fromDDL("x INT"))
    assert(failing(filled).nonEmpty && failing(filled.localCheckpoint()).isEmpty)
    assert(failing(spark.range(5).toDF()).isEmpty)
  }

  test("what is broadcast does not depend on the side that it stands on") {
    withConf("spark.sql.ansi.enabled" -> "true") {
      val quiet   = broadcast(star("c.w < 1"))
      val failing = broadcast(star("c.w > 8 AND 12 div c.w > 0"))
      assert(quiet.contains("c") && failing == quiet)
      sameAnswer(star("c.w > 8 AND 12 div c.w > 0"))
    }
  }
}
