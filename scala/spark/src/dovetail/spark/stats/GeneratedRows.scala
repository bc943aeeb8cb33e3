package org.apache.spark.sql.dovetail.stats

import dovetail.kernel.profile.ColumnProfile
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.Generate
import org.apache.spark.sql.catalyst.util.{ArrayData, MapData}
import org.apache.spark.sql.dovetail.predicates.{Values, Widths}
import org.apache.spark.sql.types.ArrayType

/**
 * Rows and columns of a generator whose input is a constant or lists its elements: a series of dates
 * (`explode(sequence(...))`, which Spark computes while it optimizes), salts (`explode(array(0, 1, 2))`), `stack`.
 */
private[stats] object GeneratedRows {

  /** Rows for each row of the input; None if the generator does not tell. */
  def apply(g: Generate): Option[Double] = (g.generator match {
    case e: ExplodeBase => elements(e.child)
    case i: Inline      => elements(i.child)
    case s: Stack       => s.children.headOption.collect { case Literal(n: Int, _) => n.toDouble }
    case _              => None
  }).map(n => if (g.outer) math.max(n, 1.0) else n)

  private def elements(e: Expression): Option[Double] = e match {
    case Literal(null, _)         => Some(0.0)
    case Literal(a: ArrayData, _) => Some(a.numElements().toDouble)
    case Literal(m: MapData, _)   => Some(m.numElements().toDouble)
    case c: CreateArray           => Some(c.children.size.toDouble)
    case c: CreateMap             => Some(c.children.size / 2.0)
    case _                        => None
  }

  /** Profile of the column that holds the elements of a constant array, by column. */
  def columns(g: Generate): Map[Long, ColumnProfile] =
    Some(g.generator).collect { case e: ExplodeBase => e.child } match {
      case Some(Literal(a: ArrayData, ArrayType(of, _))) if a.numElements() <= MostElements =>
        val values  = (0 until a.numElements()).filterNot(a.isNullAt).map(a.get(_, of))
        val numbers =
          if (Values.ordered(of)) values.flatMap(Values.number(_)).filterNot(_.isInfinite) else Vector.empty
        val ndv    = Some(values.distinct.size.toDouble)
        val column = ColumnProfile(
          ndv = ndv,
          domain = ndv,
          nulls = if (a.numElements() == 0) None else Some(1.0 - values.size.toDouble / a.numElements()),
          min = numbers.reduceOption(_ min _),
          max = numbers.reduceOption(_ max _),
          width = Widths.ofType(of)
        )
        g.generatorOutput.lastOption.map(_.exprId.id -> column).toMap
      case _ => Map.empty
    }

  /** Largest array whose values are looked at. */
  private val MostElements = 100000
}
