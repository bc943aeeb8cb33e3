package org.apache.spark.sql.dovetail.sample

import scala.collection.mutable

import dovetail.kernel.profile.{Alternatives, ImpliedRange, RelationSample, RowNumbers, Sampling}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.dovetail.base.FailOpen.Survivable
import org.apache.spark.sql.dovetail.predicates.{ExpressionSize, JoinKeys, TrialSafe, Values}
import org.apache.spark.sql.dovetail.table.TableSample
import org.apache.spark.sql.types.StructType

/**
 * The rows of a table's sample that pass the filters and projections of a plan. They are held by their numbers and not
 * copied.
 *
 * @param table   the stored sample
 * @param columns the plan's output as expressions over the sample's columns, without columns that cannot be computed
 *                from them
 * @param kept    numbers of the rows that pass
 * @param untried conjuncts that could not be evaluated here, and therefore keep all rows
 * @param fresh   whether the table has not changed since the rows were read, and hides no rows from queries
 * @param cut     places of columns of the table of which a few values are cut: predicates on them are estimated, but
 *                give no bound and no key
 */
final class PlanSample private (
    val table: TableSample,
    base: AttributeSeq,
    columns: AttributeMap[Expression],
    val kept: RowNumbers,
    val untried: Vector[Expression],
    fresh: Boolean,
    cut: Set[Int]
) {

  /** Whether the sample is the whole table in its current state, so that its counts are exact. */
  def complete: Boolean = fresh && table.rows.length.toLong == table.of

  /** Whether a row of the table in its current state passes all filters. */
  def hasRow: Boolean = fresh && untried.isEmpty && kept.size > 0

  /**
   * The same rows for a cached relation. The table may have changed since these rows were read, or the cache may have
   * been filled before such a change.
   */
  def ofThen: PlanSample = new PlanSample(table, base, columns, kept, untried, fresh = false, cut)

  /**
   * Upper bound of the number of rows of the table that pass, for a random sample. None if the sampled rows lay
   * together, or if the table has changed.
   */
  def rowsAtMost: Option[Double] =
    if (fresh && table.clusters.isEmpty)
      Some(table.of * Sampling.atMost(kept.size.toDouble, table.rows.length.toDouble))
    else None

  /**
   * The share of these rows that `after` keeps, and the number of randomly drawn rows that would give the same
   * certainty ([[Sampling.worth]]).
   */
  def left(after: PlanSample): (Double, Double) = {
    val drawn = kept.size.toDouble
    val share = if (drawn == 0.0) 0.0 else after.kept.size / drawn
    val of    = table.parts
    if (of.isEmpty) (share, drawn)
    else {
      val shares = of.map { case (from, to) => (kept.between(from, to), after.kept.between(from, to)) }
        .collect { case (d, k) if d > 0 => k.toDouble / d }
      (share, Sampling.worth(shares, share, drawn))
    }
  }

  /** The rows for which `predicate` is true. */
  def filtered(predicate: Expression): PlanSample =
    (for (condition <- bound(predicate); rows <- KeptRows(table, kept, condition)) yield (condition, rows)) match {
      case Some((c, rows)) => new PlanSample(table, base, columns, rows, untried, fresh && !readsCut(c), cut)
      case None            => new PlanSample(table, base, columns, kept, untried :+ predicate, fresh, cut)
    }

  /** @param e expression that is bound to the columns of the table */
  private def readsCut(e: Expression): Boolean =
    cut.nonEmpty && e.exists { case b: BoundReference => cut(b.ordinal); case _ => false }

  /**
   * Counts which alternatives of an OR these rows satisfy. Unless the sample is the whole table, the counts are mixed
   * with the estimate by formulas. The weight of the counts is the number of randomly drawn rows that they are worth
   * ([[left]]).
   *
   * @param conditions condition of each alternative; all rows satisfy an alternative without a condition
   * @param formula    the estimate by formulas
   * @return the alternatives, or None if a condition cannot be evaluated here, the conditions would take too long, or
   *         no row is left
   */
  def alternatives(conditions: Vector[Option[Expression]], formula: Alternatives): Option[Alternatives] = {
    val work  = conditions.flatten.size.toLong * kept.size
    val tried = if (work == 0L || work > PlanSample.MostTried) Vector.empty else conditions.map(_.map(filtered))
    if (tried.isEmpty || tried.flatten.exists(_.untried.size > untried.size)) None
    else {
      val sets = new Array[Long](table.rows.length)
      tried.zipWithIndex.foreach { case (after, i) =>
        after.getOrElse(this).kept.toArray.foreach(row => sets(row) |= 1L << i)
      }
      val counts = mutable.LongMap.empty[Int]
      kept.toArray.foreach(row => counts(sets(row)) = counts.getOrElse(sets(row), 0) + 1)
      val counted = Alternatives.counted(counts.toMap)
      val sure    = tried.flatten.map(left(_)._2).min
      Some(if (complete) counted else counted.mixed(sure, formula, Sampling.PriorRows))
    }
  }

  /**
   * The range of a column in these rows, if the predicates leave only a part of its range. None if the column is not an
   * unchanged column of the sample or has no order, or if the rows were read in a few places: the rows that the
   * predicates leave may all come from one of them.
   */
  def implied(a: Attribute): Option[ImpliedRange] =
    for {
      i <- columns.get(a).collect { case b: Attribute => base.indexOf(b.exprId) }
      if i >= 0 && Values.ordered(a.dataType) && fresh && table.clusters.isEmpty && leavesPart
      range <- SampleKeys.range(table, i, kept)(ImpliedRange.ofRows(
        table.numbers(i, table.all, PlanSample.MostLooked),
        table.numbers(i, table.all, Int.MaxValue),
        table.numbers(i, kept, PlanSample.MostLooked),
        complete && kept.size <= PlanSample.MostLooked
      ))
    } yield range

  /** Whether the predicates may leave only a part of a column's range: more rows have a larger part of its values. */
  private def leavesPart: Boolean = kept.size <= table.rows.length * ImpliedRange.MostShare

  /** The sample after a projection. */
  def projected(list: Seq[(Attribute, Expression)]): PlanSample = {
    val known = list.flatMap { case (a, e) => substituted(e).filter(_ => e.deterministic).map(a -> _) }
    new PlanSample(table, base, AttributeMap(known), kept, untried, fresh, cut)
  }

  /**
   * The kept rows by their join keys. Keys that cannot be computed are left out; None if there are keys of equivalence
   * classes, and all of them are.
   *
   * @param keys   join keys by index of their equivalence class
   * @param others further keys
   * @param share  this relation is number `_1` of the `_2` relations that read this table. Each gets different rows,
   *               because the same rows on both sides of a join match more often than rows of the table do
   */
  def keyed(keys: Map[Int, Expression], others: Map[Int, Expression], share: (Int, Int)): Option[RelationSample] = {
    // rows that lay together are never joined with rows of the same sample
    val (number, of)                         = if (complete || table.clusters.nonEmpty) (0, 1) else share
    def mine(rows: RowNumbers)               = if (of == 1) rows else rows.filter(_ % of == number)
    val rows                                 = mine(kept)
    def computed(keys: Map[Int, Expression]) = keys.toVector.sortBy(_._1).map { case (c, e) =>
      (c, bound(e), JoinKeys.forType(e.dataType))
    }
    val columns = (computed(keys) ++ computed(others)).collect {
      case (c, Some(e), Some(key)) if !readsCut(e) => (c, e, key)
    }
    def lost(known: Iterable[Int]) = keys.nonEmpty && !known.exists(keys.contains)
    if (table.of <= 0L || lost(columns.map(_._1))) None
    else
      try {
        val values = columns.flatMap { case (c, e, key) => KeptRows.keys(table, rows, e, key).map(c -> _) }.toMap
        if (lost(values.keys)) None
        else
          Some(
            RelationSample(
              complete,
              mine(table.all),
              rows,
              math.min(1.0, table.rows.length.toDouble / of / table.of),
              values,
              columns.collect { case (c, _, key) if key.ordered && values.contains(c) => c }.toSet,
              columns.collect { case (c, e, _) if !SampleKeys.ofAllRows(e) && values.contains(c) => c }.toSet,
              SampleKeys,
              if (complete) Vector.empty else table.clusters,
              fresh
            )
          )
      } catch { case Survivable(_) => None } // a key has a cast that fails on a value: the query will report it
  }

  /**
   * Number of distinct combinations of some of the plan's columns in the table, before all filters. None if one of them
   * is not an unchanged column of the sample.
   */
  def distinct(of: Seq[Attribute]): Option[Double] = {
    val places = of.map(a => columns.get(a).collect { case b: Attribute => base.indexOf(b.exprId) }.filter(_ >= 0))
    if (places.forall(_.isDefined)) table.distinct(places.flatten.sorted.toVector) else None
  }

  /**
   * Rewrites an expression to the sample's columns. The rewrite runs bottom-up, because the replacement of a column
   * refers to the sample's columns already and must not be replaced again.
   *
   * @return None if a column is missing, or if the expression would get too large: in a chain of projections, each may
   *         read the column of the one below it twice
   */
  private def substituted(e: Expression): Option[Expression] = {
    val read  = e.collect { case a: Attribute => a }
    val grown = if (read.forall(columns.contains)) read.iterator.map(sizes(_) - 1L).sum else Long.MaxValue
    if (grown <= PlanSample.MostGrown) Some(e.transformUp { case a: Attribute => columns(a) }) else None
  }

  /** Nodes of the columns' expressions. */
  private lazy val sizes: AttributeMap[Long] = AttributeMap(columns.toSeq.map { case (a, e) => a -> ExpressionSize(e) })

  private def bound(e: Expression): Option[Expression] =
    substituted(e).filter(TrialSafe(_)).map(BindReferences.bindReference(
      _,
      base
    )).filterNot(_.exists(_.isInstanceOf[Unevaluable]))
}

object PlanSample {

  /**
   * The sample of a leaf, or of filters over it if `table` has exactly the rows that they keep. Columns of the table
   * and the leaf are matched by name.
   *
   * @param cut names of columns of which a few values are cut
   */
  def apply(
      table: TableSample,
      output: Seq[Attribute],
      fresh: Boolean,
      cut: Set[String] = Set.empty
  ): PlanSample = {
    val base  = attributes(table.schema)
    val named = base.map(a => a.name -> a).toMap
    new PlanSample(
      table,
      // AttributeSeq builds its lookup table only once
      new AttributeSeq(base),
      AttributeMap(output.flatMap(a =>
        named.get(a.name).filter(_.dataType == a.dataType).map(b => a -> (b: Expression))
      )),
      table.all,
      Vector.empty,
      fresh,
      base.indices.filter(i => cut(base(i).name)).toSet
    )
  }

  /**
   * Limit for the number of conditions of an OR, times the rows that they are tried on: some 10 ms. A larger OR is
   * generated by a program, has hundreds of alternatives, and would take this time for each of its tables.
   */
  private val MostTried = 100000L

  /** Values of a column that tell whether it follows the column of a predicate: some 20 microseconds. */
  private val MostLooked = 512

  /** Maximum number of nodes by which the columns of a projection may make an expression larger. */
  private val MostGrown = 1000L

  private def attributes(schema: StructType): Seq[Attribute] =
    schema.map(f => AttributeReference(f.name, f.dataType, f.nullable)())
}
