package org.apache.spark.sql.dovetail.sample

import org.apache.spark.sql.catalyst.expressions.XXH64

/** Which rows are taken of those that are read: the same in each session, so that plans are. */
sealed trait RowDraw {

  /** @param row its number among those that are read */
  def takes(row: Long): Boolean
}

object RowDraw {

  /**
   * Each row by itself, with the same chance (Bernoulli sampling). Tables need seeds of their own: joins are counted on
   * such samples, and the same numbers of two tables that are sorted alike would meet too often.
   */
  final class AtRandom(share: Double, seed: Long) extends RowDraw {
    private val below = (share * Long.MaxValue).toLong

    override def takes(row: Long): Boolean = share >= 1.0 || (XXH64.hashLong(row, seed) >>> 1) < below
  }

  /** One of every `step` rows: any of them, for data may repeat itself every so many rows. */
  final class OneOfEvery(step: Long) extends RowDraw {
    override def takes(row: Long): Boolean = row % step == Math.floorMod(XXH64.hashLong(row / step, Seed), step)
  }

  /** Any number. */
  private val Seed = 42L
}
