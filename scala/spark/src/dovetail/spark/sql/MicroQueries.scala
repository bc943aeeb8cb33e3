package org.apache.spark.sql.dovetail.sql

import dovetail.kernel.cost.{CostConstants, CostText}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.dovetail.base.DovetailConf

/**
 * Measures constants of the cost model on the current cluster. It runs three queries in several variants: an exchange,
 * a broadcast join, and a join of two exchanged inputs. A constant is the time for one more row, byte or comparison, so
 * it is computed from the difference between two variants that differ in this one thing.
 *
 * @param rows rows of the larger inputs; 2 million rows take about half a second of work per variant
 */
final class MicroQueries(session: SparkSession, rows: Long) {
  import MicroQueries._

  private val context    = session.sparkContext
  private val partitions = math.max(1, context.defaultParallelism)

  // a separate session, so that the user's settings have no effect here and do not change
  private val own = session.newSession()
  Seq(
    "spark.sql.adaptive.enabled"           -> "false",
    "spark.sql.shuffle.partitions"         -> partitions.toString,
    "spark.sql.autoBroadcastJoinThreshold" -> "-1",
    DovetailConf.Enabled.key               -> "false"
  ).foreach { case (key, value) => own.conf.set(key, value) }

  /**
   * The measured constants, in nanoseconds of one core. Constants that are lost in the noise (0 or less) are left out.
   */
  def measured(): Map[String, Double] = {
    val meter = new TaskTime(context)
    context.addSparkListener(meter)
    try constants(sql =>
        Iterator.fill(WarmUp + Runs)(
          meter.nanos(own.sql(sql).write.format("noop").mode("overwrite").save())
        ).drop(WarmUp).min
      )
    finally context.removeSparkListener(meter)
  }

  private def constants(time: String => Double): Map[String, Double] = {
    val few       = rows / FewerWide
    val numbers   = (1 to WideColumns).map(i => s"xxhash64(id, $i) x$i").mkString(", ")
    val narrow    = input(rows)
    val wide      = input(few, s", $numbers")
    val plain     = time(narrow)
    val exchanged = time(moved(narrow)) - plain
    val exchange  = exchanged / rows
    val byte      = ((time(moved(wide)) - time(wide)) / few - exchange) / (WideColumns * 8.0)

    val scan  = time(s"SELECT * FROM (${input(rows, Payload)}) WHERE k < 0")
    val probe = (time(broadcast("-bk - 1")) - scan) / rows
    val row   = (time(broadcast("bk")) - scan) / rows - probe

    val half    = rows / 2
    val sorts   = time(s"SELECT * FROM (${moved(narrow)}) SORT BY k") - plain - exchanged
    val compare = sorts / rows / log2(rows.toDouble)
    // a join reads and exchanges the larger input and one of half its size
    val inputs    = (plain + exchanged) * (1.0 + half.toDouble / rows)
    val build     = (time(joined("SHUFFLE_HASH", half)) - inputs - probe * rows) / half
    val sortsHere = compare * (rows * log2(rows.toDouble) + half * log2(half.toDouble))
    val merge     = (time(joined("MERGE", half)) - inputs - sortsHere) / (rows + half)

    Map(
      "rowProduced"  -> row,
      "hashProbe"    -> probe,
      "hashBuild"    -> build,
      "sortCompare"  -> compare,
      "merge"        -> merge,
      "exchangeRow"  -> (exchange - NarrowBytes * byte),
      "exchangeByte" -> byte
    ).filter(_._2 > 0.0)
  }

  /** Query for an input whose keys are scattered, so that it is not sorted already. */
  private def input(n: Long, more: String = ""): String =
    s"SELECT pmod(id * 2654435761, $n) k, id + 1 v$more FROM range(0, $n, 1, $partitions)"

  private def moved(query: String): String = s"SELECT /*+ REPARTITION($partitions, k) */ * FROM ($query)"

  /**
   * Query with a broadcast join in which every row looks up one of few keys; `as` decides whether it finds a match. The
   * result has ten columns, like the results of joins in the middle of a query.
   */
  private def broadcast(as: String): String =
    s"SELECT /*+ BROADCAST(b) */ * FROM (${input(rows, Payload)}) a " +
      s"JOIN (SELECT id bk, id + 1 bv FROM range($BroadcastKeys)) b " +
      s"ON pmod(a.k, $BroadcastKeys) = ${as.replace("bk", "b.bk")}"

  /** Query with a join of two exchanged inputs in which no row finds a match. */
  private def joined(hint: String, n: Long): String =
    s"SELECT /*+ $hint(b) */ a.k, a.v, b.v bv FROM (${input(rows)}) a JOIN (${input(n)}) b ON a.k = -b.k - 1"
}

object MicroQueries {
  private val WarmUp = 1
  private val Runs   = 3

  /**
   * Additional columns of 8 bytes in a wide row. Their cost in an exchange gives the cost per byte. Their values hardly
   * compress.
   */
  private val WideColumns = 30

  /** Divisor of the number of wide rows. They have about ten times the bytes of narrow ones, so fewer take as long. */
  private val FewerWide = 4

  /** Bytes of a narrow row in memory: two numbers and their NULL bits. */
  private val NarrowBytes = 24

  /** Keys of the broadcast input: few enough that the hash table stays in the CPU cache. */
  private val BroadcastKeys = 1000

  private val Payload = (1 to 6).map(i => s", id + $i p$i").mkString

  private def log2(x: Double): Double = math.log(x) / math.log(2.0)

  /**
   * Largest accepted ratio between a measured and a built-in constant. A larger ratio is noise rather than a property
   * of the cluster.
   */
  private val LargestRatio = 10.0

  /**
   * The constants of a cluster from its measurements. Constants that were not measured are scaled by the geometric mean
   * of the ratios of the measured ones.
   */
  def constants(measured: Map[String, Double]): CostConstants = {
    val ratios =
      for ((name, get, _) <- CostText.constants; v <- measured.get(name))
        yield name -> math.min(LargestRatio, math.max(1.0 / LargestRatio, v / get(CostConstants())))
    val common = if (ratios.isEmpty) 1.0 else math.exp(ratios.map(r => math.log(r._2)).sum / ratios.size)
    CostText.constants.foldLeft(CostConstants()) { case (found, (name, get, set)) =>
      set(found, get(CostConstants()) * ratios.toMap.getOrElse(name, common))
    }
  }
}
