package org.apache.spark.sql.dovetail.footers

/**
 * The numbers below n in an order of which every beginning is spread evenly over all of them: bits reversed (van der
 * Corput, 1935). Files of a table and row groups of a file are looked at in this order, so that any number of them is a
 * fair sample of data that was written in some order; and the next query goes on where this one had to stop.
 */
object Spread {
  def apply(n: Int): Iterator[Int] = {
    val bits = 32 - Integer.numberOfLeadingZeros(math.max(n - 1, 0))
    Iterator.range(0, 1 << math.min(bits, 30)).map(i =>
      if (bits == 0) 0 else Integer.reverse(i) >>> (32 - bits)
    ).filter(_ < n)
  }
}
