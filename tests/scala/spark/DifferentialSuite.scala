package org.apache.spark.sql.dovetail

import scala.collection.mutable
import scala.util.Random
import scala.util.control.NonFatal

import org.apache.spark.sql.dovetail.base.DovetailConf

/**
 * Generated queries return the same rows with Dovetail and without it, under wrong statistics that make Dovetail change
 * join orders as often as possible.
 *
 * A query counts only if its plan changed, because comparing equal plans tests nothing. Everything is derived from one
 * seed.
 *
 * System properties: `dovetail.test.queries` (number of queries) and `dovetail.test.seed`. To run one failing query
 * again, set its own seed and 1 query.
 */
class DifferentialSuite extends DovetailSuite {
  private val queries = DovetailSuite.setting("dovetail.test.queries", 120L)
  private val seed    = DovetailSuite.setting("dovetail.test.seed", 20261L)

  /** Smallest share of the queries that must have another plan with Dovetail. */
  private val ChangedShare = 0.3

  /** Largest share of the generated texts that Spark may refuse. */
  private val InvalidShare = 0.05

  /** Number of queries between two sets of statistics. */
  private val PerStatistics = 4

  test("generated queries: same rows, and the plans do change") {
    val random           = new Random(seed)
    var changed, invalid = 0
    val failures         = mutable.ArrayBuffer.empty[String]
    withTables(RandomTables.names: _*) {
      RandomTables.create(spark, random)
      withoutFailures((0L until queries).foreach { i =>
        val own = new Random(seed + i)
        if (i % PerStatistics == 0) RandomTables.misinform(spark, own)
        val sql      = new RandomQueries(own).query()
        val settings = RandomSettings(own)
        withConf(settings: _*) {
          run(sql, on = false) match {
            case Left(_)                   => invalid += 1
            case Right((expected, before)) =>
              run(sql, on = true) match {
                case Right((found, after)) =>
                  if (found != expected)
                    failures += s"$sql\n$settings\nwithout: ${expected.take(20)}\nwith: " +
                      s"${found.take(20)}\n$before\n$after"
                  if (before != after) changed += 1
                case Left(e) => failures += s"$sql\n$settings\nfails with Dovetail: $e"
              }
          }
        }
      })
    }
    info(s"$queries queries, seed $seed: $changed changed (${100 * changed / queries} %), $invalid not valid")
    assert(failures.isEmpty, failures.take(5).mkString(s"${failures.size} of $queries differ:\n", "\n\n", ""))
    assert(changed >= ChangedShare * queries, "too few plans changed for this test to mean anything")
    assert(invalid <= InvalidShare * queries, "too many queries that Spark does not run")
  }

  private def run(sql: String, on: Boolean): Either[String, (Seq[String], String)] =
    withConf(DovetailConf.Enabled.key -> on.toString, "spark.sql.planChangeValidation" -> on.toString) {
      try {
        val execution = spark.sql(sql).queryExecution
        Right((DovetailSuite.answer(execution), PlanText(execution.optimizedPlan)))
      } catch { case NonFatal(e) => Left(e.toString.take(2000)) }
    }

  /** Settings that change how joins are ordered or executed. */
  private object RandomSettings {
    def apply(random: Random): Seq[(String, String)] = {
      def one(values: String*) = values(random.nextInt(values.size))
      val cbo                  = (random.nextInt(8) == 0).toString
      Seq(
        DovetailConf.MinGain.key               -> "0",
        DovetailConf.ReducersAlways.key        -> one("true", "false"),
        DovetailConf.EarlyGroupingAlways.key   -> one("true", "false"),
        DovetailConf.CostModel.key             -> one("physical", "physical", "cardWeight"),
        DovetailConf.ExactPairs.key            -> one("300000", "300000", "0"),
        "spark.sql.adaptive.enabled"           -> one("true", "false", "false", "false"),
        "spark.sql.shuffle.partitions"         -> one("1", "1", "3"),
        "spark.sql.autoBroadcastJoinThreshold" -> one("10485760", "-1"),
        "spark.sql.cbo.enabled"                -> cbo,
        "spark.sql.cbo.joinReorder.enabled"    -> cbo
      )
    }
  }
}
