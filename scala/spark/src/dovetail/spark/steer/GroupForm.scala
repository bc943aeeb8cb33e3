package org.apache.spark.sql.dovetail.steer

import scala.collection.concurrent.TrieMap
import scala.collection.immutable.BitSet

import dovetail.kernel.graph.{JoinGraph, JoinKind}
import org.apache.spark.sql.catalyst.expressions.{Expression, ExprId}
import org.apache.spark.sql.dovetail.deadline.PlanningTime
import org.apache.spark.sql.dovetail.group.{GroupNames, JoinGroup}
import org.apache.spark.sql.dovetail.predicates.{Conjuncts, JoinPredicates}

/**
 * The canonical form of a join group, and of any set of its relations. It is a text that does not depend on aliases or
 * on the order in which the query is written. By this text a query finds its pins and the row counts that the user set
 * for its parts.
 *
 * Relations are numbered by their own texts. Relations with equal texts (a self-join) are distinguished by the
 * predicates that join them with others, round by round (color refinement, Weisfeiler and Leman, 1968), and finally by
 * their position in the query. The text contains all relations and all join predicates, so equal texts mean equal joins
 * as far as equal texts of [[PlanForm]] mean equal inputs and expressions. Only if the refinement cannot distinguish
 * some relations may the same join have two texts; then a look-up finds nothing.
 *
 * A look-up in the history asks for the forms of many sets. So a predicate is written only once for each naming of its
 * relations, and the form of a set only once.
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

  private val known = TrieMap.empty[Vector[Int], SetForm]

  def formOf(set: Vector[Int]): SetForm = known.getOrElseUpdate(set, newForm(set))

  private def newForm(set: Vector[Int]): SetForm = {
    val all   = links(BitSet(set: _*))
    val of    = set.map(r => r -> all.filter(_.relations(r))).toMap
    var ranks = ranked(set.map(r => r -> relations(r)))
    var open  = true
    while (open && ranks.values.toSet.size < set.size) {
      PlanningTime.check()
      val finer = ranked(set.map { r =>
        def name(q: Int) = if (q == r) "self" else s"r${ranks(q)}"
        r -> (f"${ranks(r)}%09d" +: of(r).map(_.text(name)).sorted).mkString("\n")
      })
      open = finer.values.toSet.size > ranks.values.toSet.size
      ranks = finer
    }
    val order  = set.sortBy(r => (ranks(r), r))
    val number = order.zipWithIndex.toMap
    SetForm(
      (order.map(r => s"r${number(r)}: ${relations(r)}") ++ all.map(_.text(r => s"r${number(r)}")).sorted)
        .mkString("\n"),
      order
    )
  }

  /**
   * A predicate or an operator that joins relations.
   *
   * @param relations relations that its text names, and maybe others
   * @param text      its text under the given names of the relations
   */
  final private class Link(val relations: BitSet, val text: (Int => String) => String)

  /** An expression, whose text is kept for each naming of its relations. */
  final private class Term(expression: Expression) {
    val relations: Vector[Int] = texts.inputs(expression).toVector.sorted

    private val written = TrieMap.empty[Vector[String], String]

    def apply(name: Int => String): String =
      written.getOrElseUpdate(relations.map(name), { PlanningTime.check(); texts.expression(expression, name) })
  }

  private lazy val members: Vector[Vector[(Int, Term)]] =
    predicates.members.map(_.map(m => m.relation -> new Term(m.expression)))
  private lazy val complex: Vector[Term]            = predicates.complex.map(p => new Term(p.expression))
  private lazy val conditions: Vector[Vector[Term]] =
    group.operators.map(_.condition.toVector.flatMap(Conjuncts(_)).map(new Term(_))).toVector

  /** All predicates and operators that join relations of the set. */
  private def links(in: BitSet): Vector[Link] = {
    def inputs(rs: Iterable[Int], name: Int => String) = rs.filter(in).map(name).toVector.sorted.mkString(" ")
    val equal = members.map(_.filter(m => in(m._1))).filter(_.map(_._1).distinct.size > 1).map(ms =>
      new Link(BitSet(ms.map(_._1): _*), name => ms.map(_._2(name)).distinct.sorted.mkString(" = "))
    )
    // a predicate that depends on an outer join has its position in the text; the position of others does not matter
    val other = complex.indices.toVector.filter(i => needs(i).subsetOf(in)).map { i =>
      val placed = group.operators.nonEmpty && !conflicts.pure(i)
      new Link(
        needs(i) ++ complex(i).relations,
        name => complex(i)(name) + (if (placed) s" over ${inputs(needs(i), name)}" else "")
      )
    }
    val operators = group.operators.indices.toVector.filter(i => conflicts.operators(i).all.subsetOf(in)).map { i =>
      val o    = group.operators(i)
      val left = if (o.kind == JoinKind.FullOuter) o.left else o.left.filter(conflicts.operators(i).all)
      new Link(
        conflicts.operators(i).all ++ left ++ o.right,
        name => {
          val condition = conditions(i).map(_(name)).distinct.sorted.mkString(" AND ")
          s"${o.kind.name}(${inputs(left, name)} | ${inputs(o.right, name)}): $condition"
        }
      )
    }
    equal ++ other ++ operators
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
  def nameless: Boolean = PlanForm.isNameless(text)
}
