package org.apache.spark.sql.dovetail.database

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.LeafNode
import org.apache.spark.sql.connector.expressions.{Expression => V2Expression, Literal => V2Literal, NamedReference}
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2ScanRelation, FileScan, V1ScanWrapper}

/**
 * Finds predicates that Spark has pushed into the scan of a JDBC catalog's table. Spark has removed them from the plan,
 * so estimates must apply them to the scan.
 */
object PushedPredicates {

  /**
   * Whether a scan returns fewer rows than its table has, because it has taken over predicates or a LIMIT that the plan
   * does not show any more. Scans other than Spark's own do not tell.
   */
  def mayBe(leaf: LeafNode): Boolean = leaf match {
    case s: DataSourceV2ScanRelation => s.scan match {
        case w: V1ScanWrapper => w.pushedDownOperators.pushedPredicates.nonEmpty || !onlyFilters(w)
        case f: FileScan      => f.partitionFilters.nonEmpty
        case _                => false
      }
    case _ => false
  }

  /** Each pushed predicate as an expression on the scan's output; None for a predicate that cannot be translated. */
  def apply(scan: DataSourceV2ScanRelation): Seq[Option[Expression]] = scan.scan match {
    case w: V1ScanWrapper => w.pushedDownOperators.pushedPredicates.map(condition(_, scan.output))
    case _                => Nil
  }

  /** Whether Spark has pushed only predicates, so that the scan returns all rows of the table that satisfy them. */
  def onlyFilters(scan: V1ScanWrapper): Boolean = {
    val pushed = scan.pushedDownOperators
    pushed.aggregation.isEmpty && pushed.sample.isEmpty && pushed.limit.isEmpty && pushed.offset.isEmpty
  }

  private def condition(e: V2Expression, output: Seq[Attribute]): Option[Expression] = {
    val children                                                                                   = e.children.toSeq
    def both(make: (Expression, Expression) => Expression, of: V2Expression => Option[Expression]) =
      if (children.size != 2) None
      else for (l <- of(children.head); r <- of(children(1))) yield make(l, r)
    def values(make: (Expression, Expression) => Expression) = both(make, value(_, output))
    name(e) match {
      case "AND"                               => both(And(_, _), condition(_, output))
      case "OR"                                => both(Or(_, _), condition(_, output))
      case "NOT" if children.size == 1         => condition(children.head, output).map(Not(_))
      case "="                                 => values(EqualTo(_, _))
      case "<>"                                => values((l, r) => Not(EqualTo(l, r)))
      case "<"                                 => values(LessThan(_, _))
      case "<="                                => values(LessThanOrEqual(_, _))
      case ">"                                 => values(GreaterThan(_, _))
      case ">="                                => values(GreaterThanOrEqual(_, _))
      case "STARTS_WITH"                       => values(StartsWith(_, _))
      case "ENDS_WITH"                         => values(EndsWith(_, _))
      case "CONTAINS"                          => values(Contains(_, _))
      case "IS_NULL" if children.size == 1     => value(children.head, output).map(IsNull(_))
      case "IS_NOT_NULL" if children.size == 1 => value(children.head, output).map(IsNotNull(_))
      case "IN" if children.size > 1           =>
        val list = children.tail.map(value(_, output))
        value(children.head, output).filter(_ => list.forall(_.isDefined)).map(In(_, list.flatten))
      case _ => None
    }
  }

  private def name(e: V2Expression): String = e match {
    case p: org.apache.spark.sql.connector.expressions.GeneralScalarExpression => p.name
    case _                                                                     => ""
  }

  private def value(e: V2Expression, output: Seq[Attribute]): Option[Expression] = e match {
    case l: V2Literal[_]                               => Some(Literal(l.value, l.dataType))
    case n: NamedReference if n.fieldNames.length == 1 => output.find(_.name == n.fieldNames.head)
    case _                                             => None
  }
}
