package org.apache.spark.sql.dovetail

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import dovetail.kernel.cost.CostConstants
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, QueryStageExec}
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}

/**
 * Costs that depend on keys: partitions that a broadcast prunes, and a key that most rows have. The kernel's
 * `KeyFactsSuite` checks the numbers by hand.
 */
class SkewAndPruningSuite extends DovetailSuite with SuiteTables {
  override def beforeAll(): Unit = {
    super.beforeAll()
    table(
      "sale",
      "SELECT id, id % 3000 AS item, pmod(hash(id), 2000) AS client, CAST(id % 12 AS INT) AS day FROM range(30000)",
      "PARTITIONED BY (day)"
    )
    table("day", "SELECT CAST(id AS INT) AS day, id % 6 AS week FROM range(12)")
    table("item", "SELECT id AS item, id % 50 AS brand FROM range(3000)")
    table("client", "SELECT id AS client, id % 7 AS town FROM range(2000)")
    table("busy", "SELECT id, if(id % 10 < 8, 1, id % 50) AS k FROM range(20000)")
    table("calm", "SELECT id AS k, id % 5 AS w FROM range(20000)")
    tables.foreach(t => spark.sql(s"DOVETAIL ANALYZE TABLE $t").collect())
  }

  private def scans(plan: SparkPlan): Seq[FileSourceScanExec] = plan match {
    case a: AdaptiveSparkPlanExec => scans(a.executedPlan)
    case q: QueryStageExec        => scans(q.plan)
    case s: FileSourceScanExec    => Seq(s)
    case other                    => other.children.flatMap(scans)
  }

  /** Number of files of the partitioned table that the query reads. */
  private def filesRead(sql: String): Long = {
    val execution = spark.sql(sql).queryExecution
    DovetailSuite.answer(execution)
    scans(execution.executedPlan).filter(_.relation.partitionSchema.nonEmpty).map(_.metrics("numFiles").value).sum
  }

  private def joins(sql: String, order: String = "after"): Seq[JsonNode] = {
    val report = spark.sql("SELECT * FROM dovetail_explain(\"" + sql + "\", 'json')").head().getString(0)
    new ObjectMapper().readTree(report).at(s"/groups/0/$order/joins").elements.asScala.toSeq
  }
  private def cost(join: JsonNode, part: String): Double = join.at(s"/cost/$part").asDouble

  private val star =
    "SELECT count(*), sum(sale.id) FROM sale JOIN client ON sale.client = client.client JOIN item ON sale.item = " +
      "item.item " +
      "JOIN day ON sale.day = day.day WHERE day.week = 3 AND item.brand < 40"

  test("partitions that Spark prunes dynamically are pruned in our order too, and the cost model knows") {
    for (adaptive <- Seq("true", "false"))
      withConf("spark.sql.adaptive.enabled" -> adaptive, "spark.dovetail.reorder.minGain" -> "0") {
        withoutIdempotenceCheck {
          val before = dovetail(on = false)(filesRead(star))
          assert(filesRead(star) == before && before < filesRead(star.replace("day.week = 3 AND", "")))
          val saving = joins(star).filter(cost(_, "scan") < 0)
          assert(
            saving.size == 1 && saving.head.get("why").asText.contains("files of sale without its keys are not read"),
            joins(star)
          )
          sameAnswer(star)
        }
        withoutIdempotenceCheck(withConf(
          "spark.sql.optimizer.dynamicPartitionPruning.enabled" -> "false"
        ) {
          val apart = joins(star)
          assert(apart.size == 3 && apart.forall(cost(_, "scan") == 0.0), apart)
        })
      }
  }

  private val skewed =
    "SELECT count(*) FROM busy JOIN calm ON busy.k = calm.k JOIN item ON busy.id = item.item WHERE calm.w < 4"

  test("a key of most rows makes its join as dear as its slowest task, unless adaptive execution splits it") {
    def work(settings: (String, String)*): Double = withoutIdempotenceCheck(withConf(
      Seq(
        "spark.sql.autoBroadcastJoinThreshold" -> "-1",
        "spark.dovetail.reorder.minGain"       -> "0",
        "spark.sql.adaptive.enabled"           -> "true",
        "spark.dovetail.adaptive.shuffledHash" -> "false",
        "spark.dovetail.reorder.order"         -> "((busy calm) item)"
      ) ++ settings: _*
    )(joins(skewed).map(cost(_, "output")).head))
    // the session has two cores: a task with four fifths of the rows takes 1.6 times as long as one with half of them
    val (even, slow) = (work("spark.sql.shuffle.partitions" -> "1"), work("spark.sql.shuffle.partitions" -> "4"))
    assert(math.abs(slow / even - 1.6) < 0.02, s"$slow, $even")
    assert(work(
      "spark.sql.shuffle.partitions"                                -> "4",
      "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes" -> "1000"
    ) == even)
    sameAnswer(skewed)
  }

  test(
    "sorts that tasks have no memory for go to disk: by the partitions of an exchange, and those that adaptive " +
      "execution makes one"
  ) {
    val inputs = Seq("north", "south", "east")
    withTables(inputs: _*) {
      val keys =
        InjectedStatistics.column(ndv = Some(1000000000), nulls = Some(0), min = Some("0"), max = Some("999999999"))
      for (t <- inputs) {
        spark.sql(s"CREATE TABLE $t (k BIGINT, v BIGINT) USING parquet")
        InjectedStatistics(spark, t, Some(1000000000), 24000000000L, Map("k" -> keys))
      }
      def sorts(partitions: Int, settings: (String, String)*): Double = withoutIdempotenceCheck(withConf(Seq(
        "spark.sql.adaptive.enabled"           -> "false",
        "spark.dovetail.adaptive.shuffledHash" -> "false",
        "spark.sql.shuffle.partitions"         -> partitions.toString
      ) ++ settings: _*)(joins(
        "SELECT * FROM north JOIN south ON north.k = south.k JOIN east ON south.k = east.k",
        "before"
      ).map(cost(_, "sort")).sum))
      val (inMemory, onDisk) = (sorts(1000000), sorts(4))
      // three inputs of a billion rows of two long values; the join of the first two is sorted already
      val bytes = (onDisk - inMemory) / CostConstants().spillByte / 3e9
      assert(bytes >= 16 && bytes <= 32, s"$bytes bytes a row")
      assert(sorts(1000000, "spark.sql.adaptive.enabled" -> "true") == inMemory)
      assert(sorts(
        1000000,
        "spark.sql.adaptive.enabled"                      -> "true",
        "spark.sql.adaptive.advisoryPartitionSizeInBytes" -> "8g"
      ) == onDisk)
    }
  }
}
