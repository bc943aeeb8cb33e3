package org.apache.spark.sql.dovetail.log

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LogicalPlan}
import org.apache.spark.sql.dovetail.base.{FailOpen, TextHash}

/** Names what a query computes, so that runs of equal queries can be compared. */
private[log] object Computation {

  /**
   * Hash of what a query computes, whatever names it uses, and of the action: one shows some rows, another all. It is
   * made of a text, because hash codes of plans differ between JVMs. None for a plan that is too large or too deep.
   */
  def apply(plan: LogicalPlan, action: String): Option[String] =
    FailOpen("naming a query", (_: String) => Option.empty[String]) {
      if (isLarge(plan)) None
      else {
        val text = plan.canonicalized.treeString(verbose = false, maxFields = Int.MaxValue)
        Some(TextHash.hex(s"$action\n$text"))
      }
    }

  private def isLarge(plan: LogicalPlan): Boolean = {
    var (columns, nodes)           = (0L, 0L)
    def count(e: Expression): Unit = { nodes += 1L; e.children.foreach(count) }
    plan.collectWithSubqueries {
      case l: LeafNode => columns += l.output.size.toLong
      case p           => p.expressions.foreach(count)
    }
    columns > MostColumns || nodes > MostNodes
  }

  /**
   * Most columns of all tables of a query: the canonical form of a table takes a time quadratic in its columns. The
   * tables of a star schema have a few hundred.
   */
  private val MostColumns = 1000L

  /** Most nodes of all expressions: the text has some ten characters for each, and long lists of values are data. */
  private val MostNodes = 100000L
}
