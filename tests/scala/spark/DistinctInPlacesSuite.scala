package org.apache.spark.sql.dovetail.table

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

/** The number of distinct values from rows that were read in eight places: keys, sorted files, and random draws. */
class DistinctInPlacesSuite extends AnyFunSuite {
  private val Places = 8

  /** The estimate for a table of 50 million rows, of which each place has `drawn`. */
  private def estimated(drawn: Int)(value: (Int, Int) => Long): Double =
    DistinctInPlaces(
      Seq.tabulate(Places)(p => Array.tabulate(drawn)(value(p, _))),
      Rows / (Places * drawn),
      1.0,
      halves = false
    )

  private val Rows = 5e7

  private def within(factor: Double, found: Double, truth: Double): Unit =
    assert(found > truth / factor && found < truth * factor, s"$found instead of $truth")

  test("draws from many values share few of them, and are no keys") {
    for ((drawn, values) <- Seq(131 -> 5000, 1092 -> 100000, 131 -> 500); seed <- 1 to 5) {
      val random = new Random(seed.toLong)
      within(2.0, estimated(drawn)((_, _) => random.nextInt(values).toLong), values.toDouble)
    }
  }

  test("keys have as many values as rows, sorted or not, also with a frequent default") {
    within(1.01, estimated(500)((p, i) => p * 1000000L + i), Rows)
    val random = new Random(7L)
    within(1.01, estimated(500)((_, _) => random.nextLong()), Rows)
    within(1.1, estimated(500)((p, i) => if (i % 20 == 0) 7L else p * 1000000L + i), Rows)
  }

  test("a list of values beside texts that never repeat: what occurs twice is of the list") {
    for (codes <- Seq(30, 100, 300); seed <- 1 to 5) {
      val random = new Random(seed.toLong)
      within(
        20.0,
        estimated(500)((p, i) => if (i % 20 == 0) -1L - random.nextInt(codes) else p * 1000000L + i),
        Rows * 0.95
      )
    }
  }

  test("two places tell more of the rest than the two halves of one place") {
    val random = new Random(11L)
    val two    = Seq.fill(2)(Array.fill(10000)(random.nextInt(1000000).toLong))
    // the table has ten million rows, of which a fifth of those that were read in the places are kept
    within(4.0, DistinctInPlaces(two, 500.0, 5.0, halves = false), 1e6)
    within(1.5, DistinctInPlaces(two, 500.0, 5.0, halves = true), 1e7)
  }

  test("sorted values in runs of ten: neighboring places share at most one") {
    within(1.1, estimated(500)((p, i) => p * 50L + (i / 10)), Rows / 10)
  }
}
