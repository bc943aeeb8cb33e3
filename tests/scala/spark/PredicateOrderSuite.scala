package org.apache.spark.sql.dovetail

import java.util.concurrent.atomic.AtomicInteger

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.dovetail.plan.PredicateOrder
import org.apache.spark.sql.dovetail.predicates.Conjuncts
import org.apache.spark.sql.functions.{col, udf}

/** Cheap conjuncts come before expensive ones, and no expression sees a row that it does not see as written. */
class PredicateOrderSuite extends StarSuite with SuiteTables {
  override def beforeAll(): Unit = {
    super.beforeAll()
    table("filtered", "SELECT id, CAST(id % 10 AS INT) AS n, concat('t', id % 7) AS s FROM range(1000)")
    PredicateOrderSuite.register(spark)
  }

  /** The conjuncts of all filters but the NULL checks, which Spark adds and tests first. */
  private def conjuncts(plan: LogicalPlan): Seq[String] = plan.collect { case f: Filter => Conjuncts(f.condition) }
    .flatten.map(text).filterNot(_.endsWith("is not null"))

  private def text(e: Expression): String =
    e.sql.replaceAll("[`()]|filtered\\.|spark_catalog\\.\\w+\\.", "").toLowerCase

  private def order(where: String): Seq[String] =
    conjuncts(optimized(s"SELECT id FROM filtered WHERE $where")).map(_.takeWhile(_ != ' '))

  private def both(where: String): (Seq[String], Seq[String]) =
    (dovetail(on = false)(order(where)), dovetail(on = true)(order(where)))

  test("a comparison comes before a pattern and before a function of the user") {
    assert(both("s RLIKE 't[0-4]' AND n = 3") == ((Seq("rlikes,", "n"), Seq("n", "rlikes,"))))
    assert(both("slow(s) AND n = 3 AND id > 5")._2 == Seq("n", "id", "slows"))
    withConf("spark.dovetail.filters.order" -> "false")(assert(order("slow(s) AND n = 3") == Seq("slows", "n")))
  }

  test("conjuncts of similar cost keep their order") {
    for (
      where <-
        Seq("n = 3 AND id > 5", "n = 3 AND s RLIKE 't[0-4]'", "slow(s) AND s RLIKE 't[0-4]'", "s = 't1' AND n = 3")
    )
      assert(both(where)._1 == both(where)._2, where)
  }

  test("a conjunct that may fail stays behind what was written before it") {
    withConf("spark.sql.ansi.enabled" -> "true") {
      assert(order("s RLIKE 't[1-6]' AND 10 / n > 2 AND id > 5").map(_.take(2)) == Seq("id", "rl", "10"))
      // t0 has all multiples of 7, and the guard removes the rows that the division fails on
      val guarded = "n > 0 AND slow(s) AND 10 / n > 2 AND id > 5 AND s <> 't0'"
      val rows    = s"SELECT id FROM filtered WHERE $guarded ORDER BY id"
      assert(dovetail(on = true)(optimized(rows)) != dovetail(on = false)(optimized(rows)))
      assert(dovetail(on = true)(spark.sql(rows).collect().toSeq) == dovetail(on =
        false
      )(spark.sql(rows).collect().toSeq))
    }
  }

  test("a function of the user runs only for the rows that the cheap conjuncts keep") {
    def calls(on: Boolean): Int = {
      PredicateOrderSuite.calls.set(0)
      dovetail(on)(assert(spark.sql("SELECT id FROM filtered WHERE slow(s) AND n = 3").count() == 100L))
      PredicateOrderSuite.calls.get
    }
    assert(calls(on = false) == 1000 && calls(on = true) == 100)
  }

  test("filters that are not deterministic, streams, and conjuncts with subqueries stay as written") {
    val random =
      spark.table("filtered").where(col("s").rlike("t[0-4]") && (org.apache.spark.sql.functions.rand(1) > 0.5) &&
        col("n") === 3).queryExecution.analyzed
    assert(PredicateOrder(random).fastEquals(random))
    val stream = spark.readStream.format("rate").load().where("CAST(value AS STRING) RLIKE '1' AND value > 3")
      .queryExecution.analyzed
    assert(PredicateOrder(stream).fastEquals(stream))
    val subquery = spark.sql("SELECT id FROM filtered WHERE s RLIKE '1' AND id > (SELECT max(k) FROM a)")
      .queryExecution.analyzed
    assert(PredicateOrder(subquery).fastEquals(subquery))
  }
}

object PredicateOrderSuite {
  private val calls = new AtomicInteger

  /** Here, because the function would hold the suite otherwise. */
  private def register(spark: SparkSession): Unit = {
    spark.udf.register("slow", udf((s: String) => { calls.incrementAndGet(); s != null }))
    ()
  }
}
