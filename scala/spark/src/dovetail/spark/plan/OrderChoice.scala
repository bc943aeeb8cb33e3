package org.apache.spark.sql.dovetail.plan

import dovetail.kernel.enumerate.{Outcome, Search, Shape}
import org.apache.spark.sql.dovetail.report.{Decision, Trace}
import org.apache.spark.sql.dovetail.steer.{AskedOrder, OrderHint, Steering}

/**
 * Chooses the order of a join group: one that the user asks for, by a hint or a pin, or the one that the search finds.
 */
final class OrderChoice(planner: Planner, steering: Steering) {
  import OrderChoice._

  /** The first legal order that the user asks for; otherwise the best order, if it has run or saves enough. */
  def apply(ready: PreparedGroup, search: Search, notes: Vector[String]): Decision = {
    val group  = ready.group
    val hinted = planner.ordersFor(group, steering.hints).map(text =>
      AskedOrder("the requested order", s"the order '$text'", OrderHint.read(text, ready.names.accepted))
    )
    val idle  = steering.hints.idle(group).map { case (hint, why) => AskedOrder("", s"the hint $hint", Left(why)) }
    val asked =
      (hinted ++ idle ++ steering.pins(ready.form)).map(a => a -> a.order.flatMap(legal(ready, search, _)))
    val all = notes ++ asked.collect { case (a, Left(why)) => s"${a.name} is not used: $why" }
    asked.collectFirst { case (a, Right(outcome)) =>
      a.used(); Decision(outcome, taken = true, all, Some(a.whenUsed))
    }.getOrElse {
      val choice  = Trace.timed("search")(new MeasuredOrders(ready, search).choose(search.run(group.shape)))
      val outcome = choice.outcome
      val gain    = Decision.gain(outcome)
      val forced  = planner.reducesAlways && outcome.best.reducers.nonEmpty
      val saves   = gain > 0.0 && gain >= planner.minGain
      val taken   = forced || saves || (planner.minGain < NoOrderSaves && choice.proven && isAccepted(ready, outcome))
      Decision(outcome, taken, all ++ (if (taken || !choice.hasRun) choice.note else None), None)
    }
  }

  /** Whether the order is none that a setting forbids: it may have run in another session. */
  private def isAccepted(ready: PreparedGroup, outcome: Outcome): Boolean =
    !outcome.best.shape.sameJoins(outcome.original.shape) && !planner.refused(ready.rebuild(outcome.best))

  /** The outcome for an order that the user asks for, with its cost, or why the order is not legal. */
  private def legal(ready: PreparedGroup, search: Search, order: Shape): Either[String, Outcome] =
    search.priced(order, ready.group.shape).toRight("outer or semi joins forbid it")
      .filterOrElse(
        o => !planner.refused(ready.rebuild(o.best)),
        "it has a cross product, which spark.sql.crossJoin.enabled=false forbids"
      )
}

private object OrderChoice {

  /** Share of the cost that no order saves: with this setting, no group is reordered. */
  private val NoOrderSaves = 1.0
}
