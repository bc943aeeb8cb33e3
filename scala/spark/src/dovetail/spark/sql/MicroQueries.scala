package org.apache.spark.sql.dovetail.sql

import dovetail.kernel.cost.{CostConstants, CostText}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.dovetail.base.DovetailConf

/**
 * Measures constants of the cost model on the cluster at hand by three queries in some variants: an exchange, a join
 * with a broadcast, and a join of two exchanged inputs. A constant is what one more row, byte or comparison takes: the
 * difference between two variants that differ in that one thing.
 *
 * @param rows of the larger inputs: 2 million are about half a second of work per variant
 */
final class MicroQueries(session: SparkSession, rows: Long) {
  import MicroQueries._

  private val context    = session.sparkContext
  private val partitions = math.max(1, context.defaultParallelism)

  // a session of its own: the user's settings are neither changed nor in the way
  private val own = session.newSession()
  Seq(
    "spark.sql.adaptive.enabled"           -> "false",
    "spark.sql.shuffle.partitions"         -> partitions.toString,
    "spark.sql.autoBroadcastJoinThreshold" -> "-1",
    DovetailConf.Enabled.key               -> "false"
  ).foreach { case (key, value) => own.conf.set(key, value) }

  /** What was measured, in nanoseconds of one core; constants that came out as nothing, in the noise, are left out. */
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
    val few       = rows / 4
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

    val half      = rows / 2
    val sorts     = time(s"SELECT * FROM (${moved(narrow)}) SORT BY k") - plain - exchanged
    val compare   = sorts / rows / log2(rows.toDouble)
    val inputs    = plain * 1.5 + exchanged * 1.5
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

  /** Rows with a key that is spread, so that nothing is sorted already. */
  private def input(n: Long, more: String = ""): String =
    s"SELECT pmod(id * 2654435761, $n) k, id + 1 v$more FROM range(0, $n, 1, $partitions)"

  private def moved(query: String): String = s"SELECT /*+ REPARTITION($partitions, k) */ * FROM ($query)"

  /**
   * Every row looks for one of few keys; `as` makes it find it or not. What comes out are rows of ten columns, as out
   * of joins in the middle of a query.
   */
  private def broadcast(as: String): String =
    s"SELECT /*+ BROADCAST(b) */ * FROM (${input(rows, Payload)}) a " +
      s"JOIN (SELECT id bk, id + 1 bv FROM range($Keys)) b ON pmod(a.k, $Keys) = ${as.replace("bk", "b.bk")}"

  /** Without a hit. */
  private def joined(hint: String, n: Long): String =
    s"SELECT /*+ $hint(b) */ a.k, a.v, b.v bv FROM (${input(rows)}) a JOIN (${input(n)}) b ON a.k = -b.k - 1"
}

object MicroQueries {
  private val WarmUp = 1
  private val Runs   = 3

  /**
   * Columns of 8 bytes that a wide row has more: what they cost in an exchange is the cost of bytes, which hardly
   * compress.
   */
  private val WideColumns = 30

  /** Bytes of a narrow row in memory: two numbers, and their NULL bits. */
  private val NarrowBytes = 24

  /** Keys of the broadcast input: a hash table that stays in the cache. */
  private val Keys = 1000

  private val Payload = (1 to 6).map(i => s", id + $i p$i").mkString

  private def log2(x: Double): Double = math.log(x) / math.log(2.0)

  /**
   * How far a measurement may lead away from Dovetail's own constants: what is farther off tells more of noise than of
   * the cluster.
   */
  private val Most = 10.0

  /** The constants of a cluster. Those that were not measured keep their ratio to the others. */
  def constants(measured: Map[String, Double]): CostConstants = {
    val ratios =
      for ((name, get, _) <- CostText.constants; v <- measured.get(name))
        yield name -> math.min(Most, math.max(1.0 / Most, v / get(CostConstants())))
    val common = if (ratios.isEmpty) 1.0 else math.exp(ratios.map(r => math.log(r._2)).sum / ratios.size)
    CostText.constants.foldLeft(CostConstants()) { case (found, (name, get, set)) =>
      set(found, get(CostConstants()) * ratios.toMap.getOrElse(name, common))
    }
  }
}
