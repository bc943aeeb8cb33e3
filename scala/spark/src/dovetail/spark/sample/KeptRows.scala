package org.apache.spark.sql.dovetail.sample

import java.util.{Arrays, BitSet}

import dovetail.kernel.profile.{KeyColumn, RelationSample}
import org.apache.spark.sql.catalyst.expressions.Expression
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

  /** Bytes of results that are remembered: of some 2,000 predicates on 20,000 rows. */
  private val Remembered = 16L * 1024 * 1024

  final private case class Key(table: Long, condition: Expression, of: Int)

  /**
   * Numbers of rows as bits: a tenth of the bytes of the numbers.
   *
   * @param rows  on which the predicate was tried
   * @param kept  none where it was in vain; `rows` itself where it kept all
   * @param tried nanoseconds that it has had
   */
  final private class Result(val rows: Array[Long], val kept: Option[Array[Long]], val tried: Long) {
    def bytes: Long =
      Overhead + (rows +: kept.filter(_ ne rows).toVector).map(_.length.toLong * java.lang.Long.BYTES).sum
  }

  private val results = new BoundedCache[Key, Result]("predicates on rows", Remembered)(_.bytes)

  /**
   * Those of `rows` for which the condition, bound to the table's rows, is true; None where it throws, as a cast or a
   * user's function may, or where time does not suffice.
   */
  def apply(table: TableSample, rows: Array[Int], condition: Expression): Option[Array[Int]] = {
    val bits  = packed(rows)
    val key   = Key(table.id, condition.canonicalized, Arrays.hashCode(bits))
    val known = results.get(key).filter(r => Arrays.equals(r.rows, bits))
    if (known.exists(r => r.kept.isDefined || PlanningTime.left / WorthMore < r.tried))
      known.flatMap(r => r.kept.map(k => if (k eq r.rows) rows else BitSet.valueOf(k).stream.toArray))
    else {
      val start = System.nanoTime()
      // not Spark's InterpretedPredicate, which keeps the values of subexpressions in a cache that it clears at each row
      val tried =
        try inTime(condition, until => rows.filter { i => check(until); condition.eval(table.rows(i)) == true })
        catch { case Survivable(_) => None }
      val kept  = tried.map(k => if (k.length == rows.length) rows else k)
      val found = kept.map(k => if (k eq rows) bits else packed(k))
      results.put(key, new Result(bits, found, System.nanoTime() - start))
      kept
    }
  }

  private def packed(rows: Array[Int]): Array[Long] = {
    val bits = new BitSet(rows.lastOption.fold(0)(_ + 1))
    rows.foreach(bits.set)
    bits.toLongArray
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
