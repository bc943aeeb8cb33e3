package org.apache.spark.sql.dovetail.sample

import dovetail.kernel.profile.{KeyColumn, RelationSample, RowNumbers}
import org.apache.spark.sql.catalyst.expressions.{Expression, In, InSet}
import org.apache.spark.sql.dovetail.base.BoundedCache
import org.apache.spark.sql.dovetail.base.FailOpen.Survivable
import org.apache.spark.sql.dovetail.deadline.{Aside, PlanningTime, TimeIsUp}
import org.apache.spark.sql.dovetail.predicates.{ExpressionKey, JoinKeys, LinearTime}
import org.apache.spark.sql.dovetail.table.TableSample
import org.apache.spark.sql.internal.SQLConf

/**
 * Runs a predicate on the rows of a sample and remembers the result: the next query with the same predicate on the same
 * table finds the rows that it keeps, or the fact that it fails. The same holds for a computed join key. Unless its
 * values take a short time each ([[LinearTime]]), the predicate runs in a separate thread until the time is up
 * ([[TrialSlot]]), because one value may take forever (a regular expression with unbounded backtracking).
 */
private[sample] object KeptRows {

  /** Largest number of bytes of remembered results: some 2,000 predicates on 20,000 rows, or 60 computed keys. */
  private val Remembered = 16L * 1024 * 1024

  /**
   * @param asKey  whether the values of the expression are wanted, and not the rows for which it is true
   * @param parser how the session parses times: expressions ask for it when they run
   */
  final private case class Key(table: Long, expression: ExpressionKey, of: RowNumbers, asKey: Boolean, parser: String)

  private object Key {
    def apply(table: TableSample, e: Expression, of: RowNumbers, asKey: Boolean): Key =
      new Key(
        table.id,
        ExpressionKey(e),
        of.packed,
        asKey,
        SQLConf.get.getConf(SQLConf.LEGACY_TIME_PARSER_POLICY).toString
      )
  }

  /**
   * @param key   key of the result; it counts as memory too, because a list of values can make a predicate larger than
   *              its rows
   * @param kept  rows that the predicate keeps; None if it failed or ran out of time, and for a join key
   * @param keys  values of the join key; None if it failed or ran out of time, and for a predicate
   * @param tried nanoseconds that the attempt took
   */
  final private class Result(
      key: Key,
      val kept: Option[RowNumbers],
      val keys: Option[KeyColumn],
      val tried: Long
  ) {
    val bytes: Long =
      Overhead + key.expression.bytes + key.of.bytes + kept.fold(0L)(_.bytes) + keys.fold(0L)(_.bytes)

    /** Whether another attempt is not worth its time. */
    def isFinal: Boolean = kept.isDefined || keys.isDefined || PlanningTime.toRead / WorthMore < tried
  }

  private val results = new BoundedCache[Key, Result]("predicates on rows", Remembered)(_.bytes)

  /**
   * The subset of `rows` for which the condition is true. None if the condition throws, as a cast or a user function
   * may, or if the time does not suffice.
   *
   * @param condition condition that is bound to the columns of the table's sample
   */
  def apply(table: TableSample, rows: RowNumbers, condition: Expression): Option[RowNumbers] = {
    val key   = Key(table, condition, rows, asKey = false)
    val known = results.get(key)
    if (known.exists(_.isFinal))
      known.flatMap(_.kept.map(kept => if (kept == rows) rows else kept.packed))
    else {
      val start = System.nanoTime()
      // Spark's InterpretedPredicate is not used: it caches the values of subexpressions and clears this cache at each
      // row
      val tried =
        try inTime(condition, until => passed(table, rows, condition, until))
        catch { case Survivable(_) => None }
      results.put(key, new Result(key, tried.map(_.packed), None, System.nanoTime() - start))
      tried
    }
  }

  /** The values of an expression in these rows, as join keys; None if the time does not suffice. It may throw. */
  def keys(table: TableSample, rows: RowNumbers, e: Expression, key: JoinKeys): Option[KeyColumn] =
    SampleKeys.ofColumn(table, e, key).orElse {
      val of    = Key(table, e, rows, asKey = true)
      val known = results.get(of)
      if (known.exists(_.isFinal)) known.flatMap(_.keys)
      else {
        val start = System.nanoTime()
        val found = inTime(e, until => computed(table, rows, e, key, until))
        results.put(of, new Result(of, None, found, System.nanoTime() - start))
        found
      }
    }

  private def passed(table: TableSample, rows: RowNumbers, condition: Expression, until: Long): RowNumbers = {
    var tried = 0
    rows.filter { i =>
      if (tried % RowsBetweenLooks == 0) Aside.check(until)
      tried += 1
      condition.eval(table.rows(i)) == true
    }
  }

  private def computed(table: TableSample, rows: RowNumbers, e: Expression, key: JoinKeys, until: Long): KeyColumn = {
    val values = Array.fill(table.rows.length)(RelationSample.NullKey)
    rows.toArray.foreach { i => Aside.check(until); values(i) = key(e.eval(table.rows(i))) }
    KeyColumn(values)
  }

  private def inTime[A](e: Expression, body: Long => A): Option[A] = {
    def what = s"trying ${shortened(e)} on sample rows"
    if (PlanningTime.toRead <= 0L) { PlanningTime.cut(Skipped); None }
    else if (LinearTime(e)) Aside.brief(what)(body)
    else TrialSlot(what)(body)
  }

  /** Text for messages. The text of a long list of constants takes as long as trying it. */
  private def shortened(condition: Expression): String = {
    val isLong = condition.exists {
      case i: InSet => i.hset.size > Shown
      case i: In    => i.list.size > Shown
      case _        => false
    }
    val text = if (isLong) s"a list of values of ${condition.references.mkString(", ")}" else condition.toString
    if (text.length <= Shown) text else text.take(Shown) + "…"
  }

  private val Skipped = s"some predicates were not tried on sample rows: ${TimeIsUp.reason}"

  /** Rows between two looks at the clock: a look takes as long as a simple predicate. */
  private val RowsBetweenLooks = 64

  /** Bytes of a result without its rows and its predicate. */
  private val Overhead = 512L

  /** A failed attempt is repeated if the time left is at least this many times the time that the attempt took. */
  private val WorthMore = 16L

  /** Largest number of characters of a predicate in messages. */
  private val Shown = 80
}
