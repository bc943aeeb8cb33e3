package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.dovetail.leaf.{FailingScan, FillingPlan}
import org.apache.spark.sql.execution.columnar.InMemoryRelation

/** Finds operators that may fail although none of their expressions does. */
object FailingOperator {

  /** What may fail in this operator, or None. */
  def apply(operator: LogicalPlan): Option[String] = operator match {
    // the single join of a scalar subquery, from Spark 4 on, fails at a second partner
    case j: Join if !isTotal(j.joinType) => Some("a subquery that must not have several rows")
    case _: ScriptTransformation         => Some("the script of a TRANSFORM")
    case o if o.nodeName == Recursion    => Some("the limit of a recursive query")
    case o if runsFunction(o)            => Some("a function of the program")
    case r: InMemoryRelation             => if (FillingPlan.mayRun(r) && fills(r)) Some(OfCache) else None
    case other                           => FailingScan(other)
  }

  /**
   * Whether the operator runs a function of the user that is none of its expressions, as the typed operations of a
   * Dataset do.
   */
  def runsFunction(operator: LogicalPlan): Boolean = operator match {
    case _: LeafNode | _: SerializeFromObject | _: DeserializeToObject             => false
    case _: ObjectProducer | _: ObjectConsumer | _: TypedFilter | _: AppendColumns => true
    case _                                                                         => false
  }

  private val fills = FillingPlan.remembered(_.forall(FailingPlan(_)))

  private val OfCache = "the plan that fills its cache"

  /** Whether a join of this type returns rows for any input. Types that are not known here may fail. */
  private def isTotal(joinType: JoinType): Boolean = joinType match {
    case Inner | Cross | LeftOuter | RightOuter | FullOuter | LeftSemi | LeftAnti | ExistenceJoin(_) => true
    case _                                                                                           => false
  }

  /** The operator of a recursive common table expression, from Spark 4.1 on. */
  private val Recursion = "UnionLoop"
}
