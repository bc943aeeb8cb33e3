package org.apache.spark.sql.dovetail.sample

import java.util.{Collections, LinkedHashMap, Map => JMap}

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.expressions.{BasePredicate, Expression}
import org.apache.spark.sql.dovetail.store.TableSample

/** Runs a predicate on the rows of a sample, once: the next query with the same predicate on the same table finds the rows it kept. */
private[sample] object KeptRows {

  /** Results that are remembered: those of a few dozen queries, at most 80 kB each. */
  private val Remembered = 512

  final private case class Key(table: TableSampleId, condition: Expression, of: Int)

  /** Samples are large: they are the same if they are the same object. */
  final private class TableSampleId(val table: TableSample) {
    override def equals(that: Any): Boolean = that match { case t: TableSampleId => t.table eq table; case _ => false }
    override def hashCode: Int              = System.identityHashCode(table)
  }

  private val results = Collections.synchronizedMap(new LinkedHashMap[Key, (Array[Int], Array[Int])](64, 0.75f, true) {
    override def removeEldestEntry(eldest: JMap.Entry[Key, (Array[Int], Array[Int])]): Boolean = size > Remembered
  })

  /** Those of `rows` for which the predicate is true; None where it throws, as a cast or a user's function may. */
  def apply(table: TableSample, rows: Array[Int], condition: Expression)(predicate: => BasePredicate): Option[Array[Int]] = {
    val key   = Key(new TableSampleId(table), condition.canonicalized, java.util.Arrays.hashCode(rows))
    val known = results.get(key)
    if (known != null && java.util.Arrays.equals(known._1, rows)) Some(known._2)
    else
      try {
        val test = predicate
        test.initialize(0)
        val kept = rows.filter(i => test.eval(table.rows(i)))
        results.put(key, (rows, kept))
        Some(kept)
      } catch { case NonFatal(_) => None }
  }
}
