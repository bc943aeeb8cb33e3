package org.apache.spark.sql.dovetail.sample

import dovetail.kernel.profile.{KeyColumn, RelationSample}
import org.apache.spark.sql.catalyst.expressions.{BasePredicate, Expression}
import org.apache.spark.sql.dovetail.base.BoundedCache
import org.apache.spark.sql.dovetail.base.FailOpen.Survivable
import org.apache.spark.sql.dovetail.deadline.{Aside, PlanningTime, TimeIsUp}
import org.apache.spark.sql.dovetail.predicates.JoinKeys
import org.apache.spark.sql.dovetail.table.TableSample

/**
 * Runs a predicate on the rows of a sample, once: the next query with the same predicate on the same table finds the
 * rows it kept, or that it does not work there. It runs aside, for one value may take for ever (a regular expression
 * that goes back and forth), and until time is up.
 */
private[sample] object KeptRows {

  /** Bytes of results that are remembered: of 400 predicates that keep half of 20,000 rows, and of more that keep less. */
  private val Remembered = 16L * 1024 * 1024

  final private case class Key(table: Long, condition: Expression, of: Int)

  /**
   * @param kept none where it was in vain
   * @param tried nanoseconds that it has had
   */
  final private class Result(val rows: Array[Int], val kept: Option[Array[Int]], val tried: Long) {
    def bytes: Long = Overhead + kept.fold(0L)(k => if (k eq rows) 0L else k.length.toLong * Integer.BYTES)
  }

  private val results = new BoundedCache[Key, Result]("predicates on rows", Remembered)(_.bytes)

  /**
   * Those of `rows` for which the predicate is true; None where it throws, as a cast or a user's function may, or where
   * time does not suffice.
   */
  def apply(
      table: TableSample,
      rows: Array[Int],
      condition: Expression
  )(predicate: => BasePredicate): Option[Array[Int]] = {
    val key   = Key(table.id, condition.canonicalized, java.util.Arrays.hashCode(rows))
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
      val kept = tried.map(k => if (k.length == rows.length) rows else k)
      results.put(key, new Result(rows, kept, System.nanoTime() - start))
      kept
    }
  }

  /** The values of an expression in these rows, as keys; None where time does not suffice. It may throw. */
  def keys(table: TableSample, rows: Array[Int], e: Expression, key: JoinKeys): Option[KeyColumn] =
    SampleKeys.ofColumn(table, e, key).orElse(inTime(
      e,
      until => {
        val values = Array.fill(table.rows.length)(RelationSample.NullKey)
        rows.foreach { i => check(until); values(i) = key(e.eval(table.rows(i))) }
        KeyColumn(values)
      }
    ))

  private def inTime[A](e: Expression, body: Long => A): Option[A] = {
    val what = s"the rows of a sample for ${shortened(e)}"
    try Aside(what)(body)
    catch { case TimeIsUp => Aside.cutOff(what); None }
  }

  private def check(until: Long): Unit = if (System.nanoTime() - until >= 0L) throw TimeIsUp

  private def shortened(condition: Expression): String = {
    val text = condition.toString; if (text.length <= Shown) text else text.take(Shown) + "…"
  }

  /** Bytes of a result without its rows: a predicate's tree, mostly. */
  private val Overhead = 2048L

  /** What was in vain is tried again in so many times the time that it had. */
  private val WorthMore = 16L

  /** Characters of a predicate. */
  private val Shown = 80
}
