package org.apache.spark.sql.dovetail.history

import dovetail.kernel.graph.{ForeignKeys, JoinGraph, Member}

/**
 * How the rows of a join grow with the data of its relations. [[KnownRuns]] scales the counts of earlier runs by it.
 *
 * A row of a foreign-key join has one partner on the key's side. Rows that are added there have new keys, so they leave
 * the join as it is: it grows with the relations that are no such side. Which tables are larger does not matter.
 */
private[history] object SetGrowth {

  /** @param growth per relation of the joined set, ascending, the factor by which its data has grown */
  def apply(graph: JoinGraph, growth: Vector[(Int, Double)]): Double = {
    val set  = growth.map(_._1).toSet
    val rest = growth.filterNot { case (relation, _) => isKeySide(graph, relation, set) }
    // all are joined by their keys, so it is unknown which of them refers to the others
    if (rest.isEmpty) growth.maxBy { case (relation, _) => graph.relations(relation).profile.baseRows }._2
    else rest.map(_._2).max
  }

  /**
   * Whether the columns by which a relation is joined with others of the set contain a key of it. A column whose values
   * nobody has counted is taken for a key if it looks like one, and none of the columns that it is joined with does.
   */
  private def isKeySide(graph: JoinGraph, relation: Int, set: Set[Int]): Boolean = {
    def rows(r: Int)         = graph.relations(r).profile.baseRows
    def looksLike(m: Member) = m.column.isLikeKey(rows(m.relation))
    val met                  = graph.keys.map(_.members.partition(_.relation == relation)).map {
      case (mine, others) => (mine, others.filter(m => set(m.relation)))
    }.filter { case (mine, others) => mine.nonEmpty && others.nonEmpty }
    val columns = met.flatMap(_._1).flatMap(_.columns).toSet
    met.exists { case (mine, others) =>
      mine.exists(m =>
        ForeignKeys.isCountedKey(m.column, rows(relation)) || (looksLike(m) && !others.exists(looksLike))
      )
    } || (met.nonEmpty && graph.relations(relation).profile.uniqueKeys.exists(_.subsetOf(columns)))
  }
}
