package org.apache.spark.sql.dovetail.plan

import dovetail.kernel.enumerate.JoinTree
import dovetail.kernel.graph.JoinKind
import org.apache.spark.sql.dovetail.report.Decision

/**
 * Finds inputs that a new order would copy to every task, and that may not fit into memory.
 *
 * Spark broadcasts one side of an outer, semi or anti join without an equality whatever its size, because it has no
 * other way to run such a join. The same is true of a NOT IN. In a new order, this side may have more relations than in
 * the written one, and no bound of the search applies to it: the search has no other join method to choose either.
 */
object CopiedInputs {

  /**
   * Why an order must not be taken, or None. An order that the user asked for is not checked.
   *
   * @param memory bytes of memory that a broadcast may take
   * @param names  names of the relations
   */
  def exceeding(decision: Decision, memory: Double, names: Vector[String]): Option[String] =
    if (!decision.taken || decision.asked.nonEmpty) None
    else
      decision.outcome.best.joins.flatMap(copied).find(_.memory > memory).map(input =>
        s"Spark would have to broadcast ${input.relations.map(names).mkString(", ")} for lack of another way to run " +
          "the join, and that may take more memory than there is"
      )

  /** Inputs of a join that Spark broadcasts whatever their size, without those that the written join has, too. */
  private def copied(j: JoinTree.Join): Vector[JoinTree] = j.operator match {
    case Some(o) if o.copies =>
      // in a full outer join, Spark copies the smaller side
      val sides = if (o.kind == JoinKind.FullOuter) Vector(j.left -> o.left, j.right -> o.right)
      else Vector(j.right -> o.right)
      sides.collect { case (input, written) if input.relations != written => input }
    case _ => Vector.empty
  }
}
