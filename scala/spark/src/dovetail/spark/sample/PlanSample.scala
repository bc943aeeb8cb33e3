package org.apache.spark.sql.dovetail.sample

import dovetail.kernel.profile.{Alternatives, RelationSample, RowNumbers, Sampling}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.dovetail.base.FailOpen.Survivable
import org.apache.spark.sql.dovetail.predicates.{JoinKeys, TrialSafe}
import org.apache.spark.sql.dovetail.table.TableSample
import org.apache.spark.sql.types.StructType

/**
 * Rows of a table's sample that come through the filters and projections of a plan, not copied but by their numbers.
 *
 * @param table   the stored sample
 * @param columns the plan's output as expressions over the sample's columns; what cannot be computed from them is
 *                missing
 * @param kept    the rows that are left
 * @param untried conjuncts that could not be computed here, and so kept all rows
 * @param fresh   the table has not changed since, and hides no rows
 */
final class PlanSample private (
    val table: TableSample,
    base: AttributeSeq,
    columns: AttributeMap[Expression],
    val kept: RowNumbers,
    val untried: Vector[Expression],
    fresh: Boolean
) {

  /** The sample is the table as it is now, so that its counts are facts. */
  def complete: Boolean = fresh && table.rows.length.toLong == table.of

  /** The table may have changed since these rows were read, or other rows may have been read before it did. */
  def ofThen: PlanSample = new PlanSample(table, base, columns, kept, untried, fresh = false)

  /**
   * Rows of the table that are left here at most, by a sample that chance has drawn; None where the rows lay together,
   * or the table has changed.
   */
  def rowsAtMost: Option[Double] =
    if (fresh && table.clusters.size < 2)
      Some(table.of * Sampling.atMost(kept.size.toDouble, table.rows.length.toDouble))
    else None

  /**
   * What share of these rows `after` has left, and how many rows drawn at random would say it as surely. Rows that lay
   * together are alike: where they disagree from place to place it is the places that count (the design effect; Kish
   * 1965), and where none is kept, or all, there may be other places.
   */
  def left(after: PlanSample): (Double, Double) = {
    val drawn = kept.size.toDouble
    val share = if (drawn == 0.0) 0.0 else after.kept.size / drawn
    val of    = table.clusters
    if (of.size < 2) (share, drawn)
    else {
      val shares = of.zip(of.drop(1) :+ table.rows.length).map { case (from, to) =>
        (kept.between(from, to), after.kept.between(from, to))
      }
        .collect { case (d, k) if d > 0 => k.toDouble / d }
      val places   = shares.size.toDouble
      val variance = shares.map(s => (s - share) * (s - share)).sum / math.max(places - 1.0, 1.0) / places
      val rows     =
        if (share == 0.0 || share == 1.0) places
        else share * (1.0 - share) / math.max(variance, share * (1.0 - share) / (places * PlanSample.RowsPerPlace))
      (share, math.min(drawn, math.max(1.0, rows)))
    }
  }

  /** The rows for which `predicate` is true. */
  def filtered(predicate: Expression): PlanSample =
    bound(predicate).flatMap(condition => KeptRows(table, kept, condition)) match {
      case Some(rows) => new PlanSample(table, base, columns, rows, untried, fresh)
      case None       => new PlanSample(table, base, columns, kept, untried :+ predicate, fresh)
    }

  /**
   * Which alternatives of an OR these rows satisfy, as counted; and, unless the sample is the table, as formulas say,
   * for as many rows as these count elsewhere.
   *
   * @param conditions of the alternatives; all rows satisfy one without
   * @return None where a condition does not run here, where they would take too long, or where no row is left
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
      val counted = Alternatives.counted(kept.toArray.toVector.groupBy(sets(_)).map { case (s, rows) =>
        s -> rows.size
      })
      val sure = tried.flatten.map(left(_)._2).min
      Some(if (complete) counted else counted.mixed(sure, formula, Sampling.PriorRows))
    }
  }

  /** The output of a projection. */
  def projected(list: Seq[(Attribute, Expression)]): PlanSample = {
    val known = list.flatMap { case (a, e) => substituted(e).filter(_ => e.deterministic).map(a -> _) }
    new PlanSample(table, base, AttributeMap(known), kept, untried, fresh)
  }

  /**
   * The kept rows by their join keys, or None if a key cannot be computed.
   *
   * @param keys   by index of the class
   * @param others keys to leave out where they cannot be computed
   * @param share  this relation is number `_1` of `_2` that read this table: each gets rows of its own, for the same
   *               rows on both sides of a join meet more often than those of a table do
   */
  def keyed(keys: Map[Int, Expression], others: Map[Int, Expression], share: (Int, Int)): Option[RelationSample] = {
    val (number, of)                         = if (complete) (0, 1) else share
    val rows                                 = if (of == 1) kept else kept.filter(_ % of == number)
    def computed(keys: Map[Int, Expression]) = keys.toVector.sortBy(_._1).map { case (c, e) =>
      (c, bound(e), JoinKeys.forType(e.dataType))
    }
    val columns = computed(keys) ++ computed(others).filter { case (_, e, key) => e.isDefined && key.isDefined }
    if (
      !columns.forall { case (_, e, key) =>
        e.isDefined && key.isDefined
      } || table.of <= 0L || !(complete || table.clusters.isEmpty)
    ) None
    else
      try {
        val values = columns.map { case (c, e, key) => KeptRows.keys(table, rows, e.get, key.get).map(c -> _) }
        if (values.exists(_.isEmpty)) None
        else
          Some(
            RelationSample(
              complete,
              rows,
              math.min(1.0, table.rows.length.toDouble / of / table.of),
              values.flatten.toMap,
              columns.collect { case (c, _, Some(key)) if key.ordered => c }.toSet,
              SampleKeys
            )
          )
      } catch { case Survivable(_) => None } // a value that the key's cast does not take: the query will say so
  }

  /**
   * Distinct combinations of some of the plan's columns in the table, before all filters; None where one is not a
   * column of the sample as it stands.
   */
  def distinct(of: Seq[Attribute]): Option[Double] = {
    val places = of.map(a => columns.get(a).collect { case b: Attribute => base.indexOf(b.exprId) }.filter(_ >= 0))
    if (places.forall(_.isDefined)) table.distinct(places.flatten.sorted.toVector) else None
  }

  /** From below: what takes a column's place is made of the sample's columns, which are not to be looked up again. */
  private def substituted(e: Expression): Option[Expression] =
    if (e.references.forall(columns.contains)) Some(e.transformUp { case a: Attribute => columns(a) }) else None

  private def bound(e: Expression): Option[Expression] =
    substituted(e).filter(TrialSafe(_)).map(BindReferences.bindReference(
      _,
      base
    )).filterNot(_.exists(_.isInstanceOf[Unevaluable]))
}

object PlanSample {

  /** Of a table, whose columns are the leaf's of the same name. */
  def apply(table: TableSample, output: Seq[Attribute], fresh: Boolean): PlanSample = {
    val base  = attributes(table.schema)
    val named = base.map(a => a.name -> a).toMap
    new PlanSample(
      table,
      // looks columns up by a table that is made once
      new AttributeSeq(base),
      AttributeMap(output.flatMap(a =>
        named.get(a.name).filter(_.dataType == a.dataType).map(b => a -> (b: Expression))
      )),
      table.all,
      Vector.empty,
      fresh
    )
  }

  /**
   * Rows drawn at random that one place is worth at most, where all places agree: there are places that were not seen.
   */
  private val RowsPerPlace = 20.0

  /**
   * Conditions of an OR times rows that they are tried on: some 10 ms. An OR of more is of a program's making, with
   * hundreds of alternatives, and takes them for each of its tables.
   */
  private val MostTried = 100000L

  private def attributes(schema: StructType): Seq[Attribute] =
    schema.map(f => AttributeReference(f.name, f.dataType, f.nullable)())
}
