package org.apache.spark.sql.dovetail.sample

import org.apache.spark.sql.catalyst.expressions.{BasePredicate, BoundReference, Expression}
import org.apache.spark.sql.dovetail.base.BoundedCache
import org.apache.spark.sql.dovetail.base.FailOpen.Survivable
import org.apache.spark.sql.dovetail.deadline.{Aside, PlanningTime, TimeIsUp}
import org.apache.spark.sql.dovetail.table.TableSample

/**
 * Runs a predicate on the rows of a sample, once: the next query with the same predicate on the same table finds the
 * rows it kept, or that it does not work there. It runs aside, for one value may take for ever (a regular expression
 * that goes back and forth), and until time is up.
 */
private[sample] object KeptRows {

  /** Results that are remembered: those of a few dozen queries, at most 80 kB each. */
  private val Remembered = 512L

  final private case class Key(table: TableSampleId, condition: Expression, of: Int)

  /** Samples are large: they are the same if they are the same object. */
  final private class TableSampleId(val table: TableSample) {
    override def equals(that: Any): Boolean = that match { case t: TableSampleId => t.table eq table; case _ => false }
    override def hashCode: Int              = System.identityHashCode(table)
  }

  /**
   * @param kept none where it was in vain
   * @param tried nanoseconds that it has had
   */
  final private class Result(val rows: Array[Int], val kept: Option[Array[Int]], val tried: Long)

  private val results = new BoundedCache[Key, Result]("predicates on rows", Remembered)(_ => 1L)

  /**
   * Those of `rows` for which the predicate is true; None where it throws, as a cast or a user's function may, or where
   * time does not suffice.
   */
  def apply(
      table: TableSample,
      rows: Array[Int],
      condition: Expression
  )(predicate: => BasePredicate): Option[Array[Int]] = {
    val key   = Key(new TableSampleId(table), condition.canonicalized, java.util.Arrays.hashCode(rows))
    val known = results.get(key).orNull
    if (
      known != null && java.util.Arrays.equals(
        known.rows,
        rows
      ) && (known.kept.isDefined || PlanningTime.left / WorthMore < known.tried)
    ) known.kept
    else {
      val start = System.nanoTime()
      val tried =
        try {
          val test = predicate
          test.initialize(0)
          inTime(condition, until => rows.filter(i => { check(until); test.eval(table.rows(i)) }))
        } catch { case Survivable(_) => None }
      results.put(key, new Result(rows, tried, System.nanoTime() - start))
      tried
    }
  }

  /** The values of an expression, as keys; None where time does not suffice. It may throw. */
  def values(table: TableSample, rows: Array[Int], e: Expression)(key: Any => Long): Option[Array[Long]] = e match {
    case _: BoundReference => Some(rows.map(i => key(e.eval(table.rows(i)))))
    case _                 => inTime(e, until => rows.map(i => { check(until); key(e.eval(table.rows(i))) }))
  }

  private def inTime[A](e: Expression, body: Long => A): Option[A] = {
    val what = s"the rows of a sample for ${shortened(e)}"
    try Aside(what)(body)
    catch { case TimeIsUp => Aside.cutOff(what); None }
  }

  private def check(until: Long): Unit = if (System.nanoTime() - until >= 0L) throw TimeIsUp

  private def shortened(condition: Expression): String = {
    val text = condition.toString; if (text.length <= Shown) text else text.take(Shown) + "…"
  }

  /** What was in vain is tried again in so many times the time that it had. */
  private val WorthMore = 16L

  /** Characters of a predicate. */
  private val Shown = 80
}
