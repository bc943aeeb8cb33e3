package org.apache.spark.sql.dovetail.predicates

import java.util.IdentityHashMap

import scala.collection.mutable

import dovetail.kernel.graph.{EquivalenceClass, ForeignKeys, Forest, JoinPredicate, Member}
import dovetail.kernel.profile.{Assumptions, ColumnProfile, RelationProfile}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.dovetail.deadline.PlanningTime
import org.apache.spark.sql.types.IntegralType

/**
 * The conjuncts of the inner joins and filters of a join group, sorted by the relations that they connect. The number
 * of a relation is its position in `outputs`.
 *
 * Only a conjunct that is [[PlacedCondition.pure]] belongs to a relation or to an equivalence class. A conjunct over
 * columns that an outer join below it may have filled with NULLs must wait for that join, however few relations it
 * reads.
 *
 * Equalities between expressions of two relations form equivalence classes, if both sides have exactly the same type.
 * So the implied equalities need no cast, and transitivity holds: `=` is an equivalence relation within one type and
 * one collation, but not across types.
 *
 * @param fragile columns that no class may read, because an equality that the class implies between two of them would
 *                become a filter inside an input
 */
final class JoinPredicates(outputs: Vector[AttributeSet], conjuncts: Vector[PlacedCondition], fragile: AttributeSet) {
  import JoinPredicates._

  /** Classifies the conditions of this join group, including those of its outer and semi joins. */
  val classifier = new JoinCondition.Classifier(outputs)

  private val (known, unknown) = conjuncts.partition(_.expression.references.forall(a => outputs.exists(_.contains(a))))

  /** Predicates with columns that belong to no relation of the group (columns of an outer query). */
  val foreign: Vector[Expression] = unknown.map(_.expression)

  private val (everywhere, placed) = known.map(p => p -> classifier(p.expression)).partition(_._2.relations.isEmpty)

  /** Predicates that read no relation. */
  val constant: Vector[PlacedCondition] = everywhere.map(_._1)

  private val (pure, late) = placed.partition { case (p, c) => p.pure(c.relations) }

  private val equalities: Vector[Equality] = pure.flatMap { case (_, c) => equality(c) }

  /** Members of each equivalence class in order of appearance, and its equalities as they were written. */
  val (members, originals): (Vector[Vector[ClassMember]], Vector[Vector[Equality]]) = {
    val ms     = equalities.flatMap(e => Vector(e.left, e.right)).distinct
    val index  = ms.zipWithIndex.toMap
    val forest = new Forest(ms.size)
    equalities.foreach(e => forest.link(index(e.left), index(e.right)))
    val classOf = ms.map(m => forest.find(index(m)))
    val inClass = ms.zip(classOf).groupBy(_._2)
    val written = equalities.groupBy(e => forest.find(index(e.left)))
    classOf.distinct.map(root => (inClass(root).map(_._1), written(root))).unzip
  }

  /** Predicates over two or more relations that belong to no class, and predicates that wait for an outer join. */
  val complex: Vector[Complex] = {
    val inClasses = new IdentityHashMap[Expression, Equality]
    equalities.foreach(e => inClasses.put(e.expression, e))
    pure.collect {
      case (p, c) if c.relations.size >= 2 && !inClasses.containsKey(p.expression) =>
        Complex(p, c.relations, c.sides, late = false)
    } ++
      late.map { case (p, c) => Complex(p, c.relations, c.sides, late = true) }
  }

  /** Predicates over one relation, including those that a class implies between two expressions of one relation. */
  val local: Vector[(Int, Expression)] = {
    val written = pure.collect { case (p, JoinCondition(_, Vector(r), _)) => r -> p.expression }
    val implied = members.flatMap(_.groupBy(_.relation).toVector.sortBy(_._1).flatMap { case (r, ms) =>
      ms.tail.map(m => r -> EqualTo(ms.head.expression, m.expression))
    })
    written ++ implied
  }

  /** @param text renders an expression for people */
  def equivalenceClasses(profiles: Vector[RelationProfile], text: Expression => String): Vector[EquivalenceClass] =
    members.zipWithIndex.map { case (ms, i) =>
      PlanningTime.check()
      EquivalenceClass(
        i,
        ForeignKeys(ms.map(member(_, profiles, text)), profiles),
        ms.forall(m => HashableKeys(m.expression.dataType))
      )
    }

  /**
   * @param text        renders an expression for people
   * @param selectivity share of the row combinations that a predicate keeps
   * @param partnerless index of the left outer join of which a predicate keeps the rows without a partner
   */
  def joinPredicates(
      text: Expression => String,
      selectivity: PredicateSelectivity,
      partnerless: Expression => Option[Int] = _ => None
  ): Vector[JoinPredicate] = {
    val (late, others) = complex.zipWithIndex.partition(_._1.late)
    val shares         = others.map(_._2).zip(selectivity.ofEach(others.map(_._1.expression))) ++
      late.map { case (c, i) =>
        i -> (if (c.relations.size == 1) Assumptions.LateFilter else selectivity.byFormulas(c.expression))
      }
    complex.zip(shares.sortBy(_._1)).map { case (c, (i, kept)) =>
      val e = c.expression
      JoinPredicate(
        i,
        c.relations,
        kept,
        c.sides,
        text(e),
        if (c.placed.scope.size == outputs.size) None else Some(c.placed.scope),
        if (c.late) partnerless(e) else None
      )
    }
  }

  /**
   * Whether the canonical form of an expression may have another value: it sorts the operands of sums and products, and
   * sums of floating-point numbers depend on their order.
   */
  private def reassociated(e: Expression): Boolean = e.exists {
    case a @ (_: Add | _: Multiply) => !a.dataType.isInstanceOf[IntegralType]
    case _                          => false
  }

  /** The equality, if it can form a class: both sides have the same type and read one relation each. */
  private def equality(c: JoinCondition): Option[Equality] = (c.expression, c.equality) match {
    case (eq: EqualTo, Some(e)) if e.left.expression.dataType == e.right.expression.dataType =>
      (e.left.relations, e.right.relations) match {
        case (Vector(a), Vector(b)) if !eq.references.exists(fragile.contains) && !reassociated(eq) =>
          Some(Equality(eq, ClassMember(a, e.left.expression), ClassMember(b, e.right.expression)))
        case _ => None
      }
    case _ => None
  }
}

/**
 * A condition of an inner join or a filter between joins, with the relations that it sees at its written place.
 *
 * @param scope relations below the written place, ascending
 * @param open  relations of the scope whose rows the condition sees unchanged: no outer join below may have filled them
 *              with NULLs, and they are not the inner side of a semi or anti join below
 */
final case class PlacedCondition(expression: Expression, scope: Vector[Int], open: Set[Int]) {

  /** Whether a predicate over these relations commutes with all outer, semi and anti joins below its written place. */
  def pure(relations: Iterable[Int]): Boolean = relations.forall(open)
}

object JoinPredicates {

  /** An expression over one relation. Two members are equal if they compute the same value. */
  final class ClassMember(val relation: Int, val expression: Expression) {
    private val canonical                   = expression.canonicalized
    override def equals(that: Any): Boolean = that match {
      case m: ClassMember => relation == m.relation && canonical == m.canonical
      case _              => false
    }
    override def hashCode: Int = canonical.hashCode * 31 + relation
  }
  object ClassMember {
    def apply(relation: Int, expression: Expression): ClassMember = new ClassMember(relation, expression)
  }

  /** Converts a class member to the kernel's [[Member]]. */
  def member(m: ClassMember, profiles: Vector[RelationProfile], text: Expression => String): Member = {
    val conditions = new Conditions
    val column     = conditions.column(m.expression)
    val relation   = profiles(m.relation)
    val columnOf   = relation.column(_)
    val profile    = column.map(columnOf).getOrElse(
      // a key of several columns has no more values than there are rows
      ColumnProfile(
        ndv = DistinctValues(m.expression, columnOf).map(math.min(_, math.max(relation.rows.value, 1.0))),
        domain = DistinctValues.domain(m.expression, relation),
        uncounted = !DistinctValues.isCounted(m.expression, columnOf)
      )
    )
    Member(
      m.relation,
      if (conditions.sameValues(m.expression)) profile else profile.recoded,
      column.filter(_ => conditions.keepsApart(m.expression)).toSet,
      text(m.expression)
    )
  }

  final case class Equality(expression: EqualTo, left: ClassMember, right: ClassMember)

  /**
   * @param sides relations of the two sides of an equality, if they are disjoint
   * @param late  whether the predicate waits for an outer join
   */
  final case class Complex(
      placed: PlacedCondition,
      relations: Vector[Int],
      sides: Option[(Vector[Int], Vector[Int])],
      late: Boolean
  ) {
    def expression: Expression = placed.expression
  }

  /** Splits `conditions` into conjuncts, and keeps each conjunct once. */
  def apply(
      outputs: Vector[AttributeSet],
      conditions: Seq[PlacedCondition],
      fragile: AttributeSet = AttributeSet.empty
  ): JoinPredicates = {
    val seen = mutable.LinkedHashMap.empty[(Expression, Set[Int]), PlacedCondition]
    for (p <- conditions; c <- Conjuncts(p.expression)) {
      // pure conjuncts are duplicates wherever they were written, because joins in between do not change what they see;
      // others are duplicates only if they have the same scope
      val sees = outputs.indices.filter(i => c.references.exists(outputs(i).contains)).toSet
      val key  = c.canonicalized -> (if (p.pure(sees)) Set.empty[Int] else p.scope.toSet)
      seen.getOrElseUpdate(key, p.copy(expression = c))
    }
    new JoinPredicates(outputs, seen.values.toVector, fragile)
  }

  /** Predicates of conditions that were all written above all of their inputs. */
  def together(outputs: Vector[AttributeSet], conditions: Seq[Expression]): JoinPredicates =
    JoinPredicates(outputs, conditions.map(PlacedCondition(_, outputs.indices.toVector, outputs.indices.toSet)))
}
