package org.apache.spark.sql.dovetail.sample

import dovetail.kernel.profile.{KeyColumn, RelationSample, RowNumbers}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.dovetail.base.BoundedCache
import org.apache.spark.sql.dovetail.base.FailOpen.Survivable
import org.apache.spark.sql.dovetail.deadline.{Aside, PlanningTime, TimeIsUp}
import org.apache.spark.sql.dovetail.predicates.{ExpressionBytes, JoinKeys}
import org.apache.spark.sql.dovetail.table.TableSample

/**
 * Runs a predicate on the rows of a sample, once: the next query with the same predicate on the same table finds the
 * rows it kept, or that it does not work there. It runs aside, for one value may take for ever (a regular expression
 * that goes back and forth), and until time is up.
 */
private[sample] object KeptRows {

  /** Bytes of results that are remembered: of some 2,000 predicates on 20,000 rows. */
  private val Remembered = 16L * 1024 * 1024

  final private case class Key(table: Long, condition: Expression, of: RowNumbers)

  /**
   * @param key   of the result: lists of values make a predicate larger than its rows
   * @param kept  none where it was in vain
   * @param tried nanoseconds that it has had
   */
  final private class Result(key: Key, val kept: Option[RowNumbers], val tried: Long) {
    val bytes: Long = Overhead + ExpressionBytes(key.condition) + key.of.bytes + kept.fold(0L)(_.bytes)
  }

  private val results = new BoundedCache[Key, Result]("predicates on rows", Remembered)(_.bytes)

  /**
   * Those of `rows` for which the condition, bound to the table's rows, is true; None where it throws, as a cast or a
   * user's function may, or where time does not suffice.
   */
  def apply(table: TableSample, rows: RowNumbers, condition: Expression): Option[RowNumbers] = {
    val key   = Key(table.id, condition.canonicalized, rows.packed)
    val known = results.get(key)
    if (known.exists(r => r.kept.isDefined || PlanningTime.left / WorthMore < r.tried))
      known.flatMap(_.kept.map(kept => if (kept == rows) rows else kept.packed))
    else {
      val start = System.nanoTime()
      // not Spark's InterpretedPredicate, which keeps the values of subexpressions in a cache that it clears at each row
      val tried =
        try inTime(condition, until => rows.filter { i => check(until); condition.eval(table.rows(i)) == true })
        catch { case Survivable(_) => None }
      results.put(key, new Result(key, tried.map(_.packed), System.nanoTime() - start))
      tried
    }
  }

  /** The values of an expression in these rows, as keys; None where time does not suffice. It may throw. */
  def keys(table: TableSample, rows: RowNumbers, e: Expression, key: JoinKeys): Option[KeyColumn] =
    SampleKeys.ofColumn(table, e, key).orElse(inTime(
      e,
      until => {
        val values = Array.fill(table.rows.length)(RelationSample.NullKey)
        rows.toArray.foreach { i => check(until); values(i) = key(e.eval(table.rows(i))) }
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

  /** Bytes of a result without its rows and its predicate. */
  private val Overhead = 512L

  /** What was in vain is tried again in so many times the time that it had. */
  private val WorthMore = 16L

  /** Characters of a predicate. */
  private val Shown = 80
}
