package dovetail.kernel.profile

import scala.collection.mutable

/**
 * Distinct values of a table, from a uniform sample of its rows: the estimator Duj1 of Haas and Stokes, "Estimating the
 * number of classes in a finite population", JASA 93 (1998), which PostgreSQL's ANALYZE uses too. It is exact on a
 * whole table and for a key, and too low where frequencies vary very much.
 */
object DistinctInSample {

  /**
   * @param values of the rows drawn, equal where the rows' values are
   * @param rows   of the table, at least as many
   */
  def apply(values: Iterator[Long], rows: Double): Double = {
    val counts = new mutable.LongMap[Int]
    var drawn  = 0.0
    values.foreach { v => counts(v) = counts.getOrElse(v, 0) + 1; drawn += 1.0 }
    val (seen, once) = (counts.size.toDouble, counts.valuesIterator.count(_ == 1).toDouble)
    if (drawn == 0.0) 0.0
    else if (drawn >= rows) seen
    else math.max(seen, math.min(rows, drawn * seen / (drawn - once + once * drawn / rows)))
  }
}
