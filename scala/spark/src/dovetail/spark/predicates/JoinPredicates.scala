package org.apache.spark.sql.dovetail.predicates

import scala.collection.mutable

import dovetail.kernel.estimate.{ColumnProfile, RelationProfile}
import dovetail.kernel.graph.{EquivalenceClass, JoinPredicate, Member}
import org.apache.spark.sql.catalyst.expressions._

/**
 * The conjuncts of a group of joins, sorted by what they connect. Relations are numbered by their place in `outputs`.
 *
 * Equalities between expressions of two relations make equivalence classes; only such of the very same type do, so that the implied equalities need no
 * cast, and transitivity holds (`=` of one type, or one collation, is an equivalence; across types it is not).
 */
final class JoinPredicates(outputs: Vector[AttributeSet], conjuncts: Vector[Expression]) {
  import JoinPredicates._

  private val relationsByConjunct = conjuncts.map(c => c -> relationsOf(c))

  /** Predicates with columns that no relation has (an outer query's). */
  val foreign: Vector[Expression] = conjuncts.filterNot(c => c.references.forall(a => outputs.exists(_.contains(a))))

  /** Predicates over no relation. */
  val constant: Vector[Expression] = relationsByConjunct.collect { case (c, rs) if rs.isEmpty && !foreign.contains(c) => c }

  private val equalities: Vector[Equality] = relationsByConjunct.flatMap { case (c, _) => equality(c) }

  // members of all classes, and the class of each: a union-find over the members in order of appearance
  private val (allMembers, classOf): (Vector[ClassMember], Vector[Int]) = {
    val ms                = equalities.flatMap(e => Vector(e.left, e.right)).distinct
    val parent            = Array.range(0, ms.size)
    def find(i: Int): Int = if (parent(i) == i) i else find(parent(i))
    val index             = ms.zipWithIndex.toMap
    equalities.foreach { e =>
      val (a, b) = (find(index(e.left)), find(index(e.right)))
      parent(math.max(a, b)) = math.min(a, b)
    }
    (ms, ms.indices.map(find).toVector)
  }
  private val roots = classOf.distinct

  /** Per equivalence class its members, in order of appearance. */
  val members: Vector[Vector[ClassMember]] = roots.map(root => allMembers.indices.filter(classOf(_) == root).map(allMembers).toVector)

  /** Per equivalence class the equalities as they were written. */
  val originals: Vector[Vector[Equality]] = members.map(ms => equalities.filter(e => ms.contains(e.left)))

  /** Predicates over two or more relations that belong to no class. */
  val complex: Vector[Complex] = relationsByConjunct.collect {
    case (c, rs) if rs.size >= 2 && !equalities.exists(_.expression eq c) && !foreign.contains(c) => Complex(c, rs, sides(c))
  }

  /** Predicates over one relation; also those that a class implies between two expressions of one relation. */
  val local: Vector[(Int, Expression)] = {
    val written = relationsByConjunct.collect { case (c, rs) if rs.size == 1 && !foreign.contains(c) => rs.head -> c }
    val implied = members.flatMap(_.groupBy(_.relation).toVector.sortBy(_._1).flatMap { case (r, ms) =>
      ms.tail.map(m => r -> EqualTo(ms.head.expression, m.expression))
    })
    written ++ implied
  }

  def equivalenceClasses(profiles: Vector[RelationProfile]): Vector[EquivalenceClass] = members.zipWithIndex.map { case (ms, i) =>
    val conditions = new Conditions
    EquivalenceClass(
      i,
      ms.map { m =>
        val column  = conditions.column(m.expression)
        val profile = column.map(profiles(m.relation).column).getOrElse(ColumnProfile())
        Member(m.relation, if (conditions.sameValues(m.expression)) profile else profile.recoded, column.toSet, ExpressionText(m.expression))
      }
    )
  }

  def joinPredicates(profiles: Vector[RelationProfile]): Vector[JoinPredicate] = {
    val selectivity = new PredicateSelectivity(profiles, relationsOf)
    complex.zipWithIndex.map { case (c, i) => JoinPredicate(i, c.relations, selectivity(c.expression), c.sides, ExpressionText(c.expression)) }
  }

  private def relationsOf(e: Expression): Vector[Int] = outputs.indices.filter(i => e.references.exists(outputs(i).contains)).toVector

  private def equality(e: Expression): Option[Equality] = e match {
    case eq @ EqualTo(l, r) if l.dataType == r.dataType =>
      (relationsOf(l), relationsOf(r)) match {
        case (Vector(a), Vector(b)) if a != b && covered(e) => Some(Equality(eq, ClassMember(a, l), ClassMember(b, r)))
        case _                                              => None
      }
    case _ => None
  }

  private def sides(e: Expression): Option[(Vector[Int], Vector[Int])] = {
    def disjoint(l: Expression, r: Expression) = {
      val (a, b) = (relationsOf(l), relationsOf(r))
      if (a.nonEmpty && b.nonEmpty && a.intersect(b).isEmpty) Some((a, b)) else None
    }
    e match {
      case EqualTo(l, r)       => disjoint(l, r)
      case EqualNullSafe(l, r) => disjoint(l, r)
      case _                   => None
    }
  }

  private def covered(e: Expression): Boolean = e.references.forall(a => outputs.exists(_.contains(a)))
}

object JoinPredicates {

  /** An expression of one relation; equal if it computes the same. */
  final class ClassMember(val relation: Int, val expression: Expression) {
    private val canonical                   = expression.canonicalized
    override def equals(that: Any): Boolean = that match {
      case m: ClassMember => relation == m.relation && canonical == m.canonical
      case _              => false
    }
    override def hashCode: Int = canonical.hashCode * 31 + relation
  }
  object ClassMember { def apply(relation: Int, expression: Expression): ClassMember = new ClassMember(relation, expression) }

  final case class Equality(expression: EqualTo, left: ClassMember, right: ClassMember)

  /** @param sides for an equality, the relations of its two sides if they are disjoint */
  final case class Complex(expression: Expression, relations: Vector[Int], sides: Option[(Vector[Int], Vector[Int])])

  /** The conjuncts of `conditions`, each once. */
  def apply(outputs: Vector[AttributeSet], conditions: Seq[Expression]): JoinPredicates = {
    val seen      = mutable.LinkedHashMap.empty[Expression, Expression]
    val conjuncts = conditions.flatMap(Conjuncts(_))
    conjuncts.foreach(c => seen.getOrElseUpdate(c.canonicalized, c))
    new JoinPredicates(outputs, seen.values.toVector)
  }
}
