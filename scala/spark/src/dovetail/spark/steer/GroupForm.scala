package org.apache.spark.sql.dovetail.steer

import scala.collection.immutable.BitSet

import dovetail.kernel.graph.{JoinGraph, JoinKind}
import org.apache.spark.sql.catalyst.expressions.ExprId
import org.apache.spark.sql.dovetail.group.{GroupNames, JoinGroup}
import org.apache.spark.sql.dovetail.predicates.JoinPredicates

/**
 * The canonical form of a join group, and of any set of its relations. It is a text that does not depend on aliases or
 * on the order in which the query is written. By this text a query finds its pins and the row counts that the user set
 * for its parts.
 *
 * Relations are numbered by their own texts. Relations with equal texts (a self-join) are distinguished by the
 * relations that they are joined with, round by round (color refinement, Weisfeiler and Leman, 1968), and finally by
 * their position in the query. The text contains all relations and all join predicates, so equal texts mean equal
 * joins. Only if the refinement cannot distinguish some relations may the same join have two texts; then a look-up
 * finds nothing.
 *
 * @param literals see [[PlanForm]]
 * @param nulls    see [[PlanForm]]
 */
final class GroupForm(
    group: JoinGroup,
    predicates: JoinPredicates,
    graph: JoinGraph,
    literals: Boolean,
    nulls: Boolean = false
) {
  private val texts = new PlanForm(literals, nulls)
  group.leaves.zipWithIndex.foreach { case (leaf, i) => texts.learn(i, leaf) }
  group.computed.foreach { case (_, a) => texts.define(a) }
  group.operators.foreach(o => o.flag.foreach(texts.flag(_, o.right.head)))

  private val keys: Set[ExprId] =
    (predicates.members.flatten.map(_.expression) ++ predicates.complex.map(_.expression) ++ group.operators.flatMap(
      _.condition
    )).flatMap(texts.reads(_)).toSet

  // the relations that must be joined before a predicate or an operator can be applied
  private lazy val conflicts        = graph.joinable.conflicts
  private val needs: Vector[BitSet] = predicates.complex.indices.toVector.map { i =>
    if (group.operators.isEmpty) BitSet(predicates.complex(i).relations: _*) else conflicts.predicates(i).all
  }

  /** Names of the relations by table, because aliases differ between queries. */
  lazy val names: Vector[String] = GroupNames(group).tables

  /** Text of each relation with its predicates. */
  val relations: Vector[String] =
    group.leaves.indices.toVector.map(i =>
      texts.input(group.leaves(i), predicates.local.collect { case (`i`, e) => e }, keys)
    )

  lazy val whole: SetForm = formOf(relations.indices.toVector)

  def formOf(set: Vector[Int]): SetForm = {
    val in    = BitSet(set: _*)
    var ranks = ranked(set.map(r => r -> relations(r)))
    var open  = true
    while (open && ranks.values.toSet.size < set.size) {
      val finer = ranked(set.map(r =>
        r -> (f"${ranks(r)}%09d" +: joins(in, q => if (q == r) "self" else s"r${ranks(q)}")).mkString("\n")
      ))
      open = finer.values.toSet.size > ranks.values.toSet.size
      ranks = finer
    }
    val order  = set.sortBy(r => (ranks(r), r))
    val number = order.zipWithIndex.toMap
    SetForm(
      (order.map(r => s"r${number(r)}: ${relations(r)}") ++ joins(in, r => s"r${number(r)}")).mkString("\n"),
      order
    )
  }

  /** Texts of all predicates and operators that join relations of the set, under the given names, sorted. */
  private def joins(in: BitSet, name: Int => String): Vector[String] = {
    def inputs(rs: Iterable[Int]) = rs.filter(in).map(name).toVector.sorted.mkString(" ")
    val equal = predicates.members.map(_.filter(m => in(m.relation))).filter(_.map(_.relation).distinct.size > 1)
      .map(_.map(m => texts.expression(m.expression, name)).distinct.sorted.mkString(" = "))
    // a predicate that depends on an outer join has its position in the text; the position of others does not matter
    val other = predicates.complex.indices.filter(i => needs(i).subsetOf(in)).map { i =>
      texts.expression(predicates.complex(i).expression, name) + (if (group.operators.isEmpty || conflicts.pure(i)) ""
                                                                  else s" over ${inputs(needs(i))}")
    }
    val operators = group.operators.indices.filter(i => conflicts.operators(i).all.subsetOf(in)).map { i =>
      val o    = group.operators(i)
      val left = if (o.kind == JoinKind.FullOuter) o.left else o.left.filter(conflicts.operators(i).all)
      s"${o.kind.name}(${inputs(left)} | ${inputs(o.right)}): ${texts.conjuncts(o.condition.toSeq, name)}"
    }
    (equal ++ other ++ operators).sorted
  }

  private def ranked(keys: Vector[(Int, String)]): Map[Int, Int] = {
    val rank = keys.map(_._2).distinct.sorted.zipWithIndex.toMap
    keys.map { case (r, key) => r -> rank(key) }.toMap
  }
}

object GroupForm {

  /**
   * Finds relations among those of a group by their texts. A self-join may have more than one assignment.
   *
   * @param relations texts of the relations to find
   * @param at        numbers of the group's relations by text
   * @param most      most assignments to return
   */
  def places(relations: Vector[String], at: Map[String, Vector[Int]], most: Int): Vector[Vector[Int]] =
    relations.distinct.foldLeft(Vector(Vector.empty[Int])) { (sets, text) =>
      val chosen = at(text).combinations(relations.count(_ == text)).take(most).toVector
      (for (set <- sets; more <- chosen) yield set ++ more).take(most)
    }
}

/**
 * The canonical form of a set of relations.
 *
 * @param order numbers of the relations in the group, in the order in which the text numbers them
 */
final case class SetForm(text: String, order: Vector[Int]) {
  def nameless: Boolean = text.contains(PlanForm.Nameless)
}
