package org.apache.spark.sql.dovetail.plan

import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide}
import org.apache.spark.sql.catalyst.plans.logical._

/**
 * The stages that adaptive execution starts first, in the order in which it starts them: exchanges of inputs that need
 * no other exchange. Broadcasts come first, then shuffles, each from left to right.
 *
 * All of them start at once, but tasks run in this order. If an early input turns out to be empty, adaptive execution
 * usually ends the query before it notices that a later one has failed.
 *
 * @param of        leaves of the group in a plan
 * @param buildSide side that a join broadcasts; None if it exchanges both
 */
final class FirstStages(of: LogicalPlan => Set[Int], buildSide: Join => Option[BuildSide]) {
  import FirstStages._

  def apply(plan: LogicalPlan): Vector[Stage] = {
    val (broadcasts, shuffles) = walk(plan)._1.partition(_.broadcast)
    broadcasts ++ shuffles
  }

  /** The first stages of a plan, and whether it has any exchange. */
  private def walk(plan: LogicalPlan): (Vector[Stage], Boolean) = plan match {
    case _ if of(plan).size == 1 => (Vector.empty, hasExchange(plan))
    case j: Join                 =>
      val build = buildSide(j)
      val sides = Vector(BuildLeft, BuildRight).map { side =>
        val input          = JoinChoice.input(j, side)
        val (found, below) = walk(input)
        val exchanged      = build.forall(_ == side)
        val own            = if (exchanged && !below) Vector(Stage(of(input), build.isDefined)) else Vector.empty
        (found ++ own, below || exchanged)
      }
      (sides.flatMap(_._1), sides.exists(_._2))
    case _: Project | _: Filter => walk(plan.children.head)
    case other                  => (other.children.toVector.flatMap(walk(_)._1), true)
  }

  private def hasExchange(plan: LogicalPlan): Boolean = plan match {
    case _: LeafNode | _: Project | _: Filter | _: Union | _: Generate => plan.children.exists(hasExchange)
    case s: Sort                                                       => hasExchange(s.child) // removed below joins
    case r: Repartition if !r.shuffle                                  => hasExchange(r.child)
    case _                                                             => true
  }
}

object FirstStages {

  /** @param leaves leaves of the input that is exchanged */
  final case class Stage(leaves: Set[Int], broadcast: Boolean)
}
