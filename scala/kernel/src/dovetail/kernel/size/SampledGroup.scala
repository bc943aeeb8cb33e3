package dovetail.kernel.size

import dovetail.kernel.graph.{ForeignKeys, JoinGraph}
import dovetail.kernel.profile.SetCounts

/**
 * Identifies a group of joins by all values that the sizes of [[SampleJoins]] depend on. Two groups with equal values
 * have equal sizes, whatever the query calls their columns. So a query that is planned again, or a subquery that occurs
 * twice in a query, finds the earlier counts ([[SetCounts]]).
 */
private[size] object SampledGroup {

  /**
   * The joins of a graph. What is counted for them, [[Rows]], [[Certainty]] or [[Places]], is kept by itself
   * ([[SetCounts.Group.of]]).
   *
   * @param domains domains of the classes, then of the operators' equalities
   */
  def apply(graph: JoinGraph, domains: Array[Double]): SetCounts.Group = {
    val parts                    = Array.newBuilder[Long]
    def number(n: Double): Unit  = parts += java.lang.Double.doubleToLongBits(n)
    def list(ns: Seq[Int]): Unit = { parts += ns.size.toLong; ns.foreach(parts += _.toLong) }
    parts += graph.size.toLong += graph.classes.size.toLong += domains.length.toLong
    domains.foreach(number)
    graph.relations.foreach { r =>
      number(r.profile.rows.value)
      number(r.profile.baseRows)
      list(graph.classesOf(r.index))
      graph.classesOf(r.index).flatMap(graph.classes(_).memberOf(r.index)).map(_.column).foreach { c =>
        number(c.domain.getOrElse(Double.NaN))
        parts += (if (ForeignKeys.isCountedKey(c, r.profile.baseRows)) 1L else 0L)
      }
      r.sample match {
        case None    => parts += Nothing
        case Some(s) =>
          parts += (if (s.complete) Whole else Part) += s.kept.size.toLong += s.kept.hash += s.drawn.hash
          number(s.fraction)
          val keys = s.keys.toVector.sortBy(_._1)
          list(keys.map(_._1))
          keys.foreach(parts += _._2.id)
          list(s.ordered.toVector.sorted)
          list(s.keptOnly.toVector.sorted)
          list(s.places)
      }
      groups(graph, r.index).foreach { case (of, ndv) => list(of); number(ndv) }
    }
    new SetCounts.Group(parts.result())
  }

  /** Joint NDVs of several classes' columns. Columns are numbered in order of appearance. */
  private def groups(graph: JoinGraph, relation: Int): Vector[(Vector[Int], Double)] = {
    val counted = graph.relations(relation).profile.groups
    if (counted.isEmpty) Vector.empty
    else {
      val columns = graph.classesOf(relation).flatMap(c =>
        graph.classes(c).memberOf(relation).filter(_.columns.size == 1).map(_.columns.head)
      )
      val number = columns.distinct.zipWithIndex.toMap
      (columns.map(number) -> 0.0) +: counted.toVector.collect {
        case (of, ndv) if of.forall(number.contains) => of.toVector.map(number).sorted -> ndv
      }.sortBy { case (of, ndv) => (of.mkString(" "), ndv) }
    }
  }

  /** Rows of the joins. */
  val Rows = 0L

  /** How much the places of a join's root vary, or the number of its rows that have partners if they are random. */
  val Certainty = 1L

  /** Number of the root's places that tell anything. */
  val Places = 2L

  // whether a relation has a sample
  private val Nothing = 0L
  private val Part    = 1L
  private val Whole   = 2L
}
