package org.apache.spark.sql.dovetail.sample

import org.apache.spark.sql.catalyst.expressions.XXH64

/**
 * Decides which of the rows that are read a sample keeps. The choice is the same in each session, so that plans are the
 * same too. One instance serves one thread.
 */
sealed trait RowDraw {

  /** @param row number of the row among the rows that are read */
  def takes(row: Long): Boolean
}

object RowDraw {

  /**
   * Draws each row independently with the same probability (Bernoulli sampling). Each table needs its own seed: joins
   * are counted on such samples, and if two tables are sorted alike, rows with the same numbers would match too often.
   */
  final class AtRandom(share: Double, seed: Long) extends RowDraw {
    private val below = (share * Long.MaxValue).toLong

    override def takes(row: Long): Boolean = share >= 1.0 || (XXH64.hashLong(row, seed) >>> 1) < below
  }

  /** Draws one of every `step` rows, at a random position within them, because data may repeat at regular distances. */
  final class OneOfEvery(step: Long) extends RowDraw {
    private var block = -1L
    private var taken = -1L

    override def takes(row: Long): Boolean = {
      val (asked, place) = (row / step, row % step)
      if (asked != block) { block = asked; taken = Math.floorMod(XXH64.hashLong(asked, Seed), step) }
      place == taken
    }
  }

  /** An arbitrary number. */
  private val Seed = 42L
}
