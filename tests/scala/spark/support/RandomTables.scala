package org.apache.spark.sql.dovetail

import java.sql.Date

import scala.util.Random

import org.apache.spark.sql.{Row, SparkSession}

/**
 * Small tables that are difficult for joins: NULLs in every column, duplicates, zeros of both signs and NaN, one table
 * with a single row, one without rows.
 */
object RandomTables {

  /** name → rows; the sizes keep a join of all seven tables small */
  val sizes: Vector[(String, Int)] =
    Vector("t0" -> 12, "t1" -> 9, "t2" -> 7, "t3" -> 13, "t4" -> 5, "t5" -> 1, "t6" -> 0)
  val names: Vector[String] = sizes.map(_._1)

  val columns = "k INT, g BIGINT, s STRING, d DATE, v INT, x DOUBLE, f DECIMAL(6,2)"

  /** @param scale factor of the sizes */
  def create(spark: SparkSession, random: Random, scale: Int = 1): Unit =
    sizes.foreach { case (name, n) => MemorySource.create(spark, name, columns, Seq.fill(n * scale)(row(random))) }

  private def row(random: Random): Row = {
    def orNull[A](share: Double)(value: => A): Any = if (random.nextDouble() < share) null else value
    def one[A](values: A*): A                      = values(random.nextInt(values.size))
    Row(
      orNull(0.15)(random.nextInt(6)),
      orNull(0.1)(random.nextInt(4).toLong),
      orNull(0.2)(one("", "a", "b", "c", "ab")),
      orNull(0.1)(Date.valueOf(one("2020-01-01", "2020-01-02", "2021-06-30"))),
      orNull(0.1)(random.nextInt(10)),
      orNull(0.1)(one(0.0, -0.0, 1.5, Double.NaN)),
      orNull(0.1)(new java.math.BigDecimal(one("1.00", "2.50", "-3.25")))
    )
  }

  /** Injects statistics that are unrelated to the tables, so that any join order may look best. */
  def misinform(spark: SparkSession, random: Random): Unit = names.foreach { name =>
    val rows                           = BigInt(math.pow(10.0, random.nextDouble() * 7).toLong)
    def ndv                            = Some(BigInt(math.max(1L, (rows.toLong * random.nextDouble()).toLong)))
    def stat(min: String, max: String) =
      if (random.nextInt(4) == 0) InjectedStatistics.column()
      else InjectedStatistics.column(
        ndv = ndv,
        nulls = Some(rows / (1 + random.nextInt(20))),
        min = Option(min),
        max = Option(max),
        length = Some(8L)
      )
    InjectedStatistics(
      spark,
      name,
      if (random.nextInt(8) == 0) None else Some(rows),
      rows * 60,
      Map(
        "k" -> stat("0", "5"),
        "g" -> stat("0", "3"),
        "s" -> stat(null, null),
        "d" -> stat("2020-01-01", "2021-06-30"),
        "v" -> stat("0", "9"),
        "x" -> stat("0.0", "1.5")
      )
    )
  }
}
