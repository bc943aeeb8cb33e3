package dovetail.kernel.graph

import scala.collection.immutable.BitSet

/**
 * Ordering constraints between the joins of a graph: the conflict detector CD-C of Moerkotte, Fender and Eich, "On the
 * Correct and Complete Enumeration of the Core Search Space", SIGMOD 2013, §5. A join is allowed if its two inputs
 * together contain its total eligibility set and none of its conflict rules `if any of these, then all of those` is
 * broken. The rules come from the tables of [[Reorderings]], for every pair of joins of which one was written below the
 * other.
 *
 * Where we depart:
 *
 *  - Inner joins are not operators. Their predicates are filters, which are applied where their set of relations is
 *    complete. If a predicate and all that it reads belong to one level ([[Levels]]), it commutes with the operators of
 *    that level and has no rules. A predicate that reads a closed side of an operator below it has the rules of an
 *    inner join above that operator.
 *  - The inner joins below an operator count by level. All relations that inner joins bring together inside a closed
 *    side, with or without predicates, must be joined before this operator joins anything that reads from that side,
 *    because no table lets an inner join move out of such a side. This also covers cross products, which read nothing,
 *    and filters, which are inner joins with one row.
 *  - A condition that reads nothing from one side needs that whole side (the paper's degenerate predicates).
 */
final class ConflictRules(graph: JoinGraph) {
  import ConflictRules._

  private val levels = graph.levels
  private val all    = BitSet(graph.relations.indices: _*)
  private val left   = graph.operators.map(o => BitSet(o.left: _*))
  private val right  = graph.operators.map(o => BitSet(o.right: _*))
  private val scopes = graph.predicates.map(_.scope.fold(all)(s => BitSet(s: _*)))

  /** Whether a predicate commutes with all operators of its level. */
  val pure: Vector[Boolean] = graph.predicates.map(p => levels.pure(p.relations, scopes(p.index)))

  /**
   * The items that inner joins may bring together on each level: its relations, and its full outer joins as a whole.
   */
  val items: Map[Int, Vector[BitSet]] = {
    val relations = graph.relations.map(r => levels.levelOf(r.index) -> BitSet(r.index))
    val full      =
      graph.operators.filter(_.kind == JoinKind.FullOuter).map(o =>
        levels.levelOf(o.relations) -> BitSet(o.relations: _*)
      )
    (relations ++ full).groupBy(_._1).map { case (level, found) => level -> found.map(_._2) }
  }

  /**
   * The paper's SES: the relations that each operator's condition reads, or a whole side if it reads nothing from it.
   */
  private val reads: Vector[BitSet] = graph.operators.map { o =>
    val rs                 = BitSet(o.reads: _*)
    def atLeast(s: BitSet) = if ((rs & s).isEmpty) s else rs & s
    atLeast(left(o.index)) | atLeast(right(o.index))
  }

  /** For each predicate, the relations that must be joined before it is applied, and its rules. */
  val predicates: Vector[Needs] = graph.predicates.map { p =>
    if (pure(p.index)) Needs(BitSet(p.relations: _*), Vector.empty)
    else closed(BitSet(p.relations: _*), rulesAbove(scopes(p.index)))
  }

  /**
   * For each operator, the rules of its closed sides: all relations that inner joins bring together there must be
   * joined first. Each is made once, because all operators above have it.
   */
  private val together: Vector[Vector[Rule]] = levels.closedSides.map(_.flatMap { case (level, side) =>
    val found = items.getOrElse(level, Vector.empty)
    if (found.size > 1) Some(Rule(side, found.reduce(_ | _))) else None
  })

  /** For each operator, the relations that must be in its inputs (the paper's TES), and its rules. */
  val operators: Vector[Needs] = graph.operators.map { o =>
    closed(reads(o.index), rulesInside(o) ++ rulesOf(o))
  }

  /**
   * The relations that an expression of a predicate needs from one side. All of them must be joined before the
   * predicate can join them with the other side.
   */
  def side(predicate: JoinPredicate, relations: Vector[Int]): BitSet =
    if (pure(predicate.index)) BitSet(relations: _*)
    else closed(BitSet(relations: _*), rulesAbove(scopes(predicate.index))).all

  /** The rules for whatever reads from a closed side of an operator. */
  private def rulesInside(o: Operator): Vector[Rule] =
    levels.closedSides(o.index).flatMap { case (_, side) => joinedInside(side) } ++ together(o.index)

  /** The rules of the closed sides inside a closed side, and all that filters there need. */
  private def joinedInside(side: BitSet): Vector[Rule] = {
    val filtered = graph.predicates.indices.filter(p => !pure(p) && Words.within(scopes(p), side)).toVector
    below(side).flatMap(a => together(a.index)) ++ filtered.map(p => Rule(scopes(p), predicates(p).all))
  }

  private def below(side: BitSet): Vector[Operator] =
    graph.operators.filter(o => Words.within(left(o.index), side) && Words.within(right(o.index), side))

  private def rejects(o: Operator, side: BitSet): Boolean = o.rejectsNulls.exists(side)

  /**
   * The relations of an operator's side that its condition reads. A rule that requires these is as good as one that
   * requires the whole side.
   */
  private def witness(o: Operator, side: BitSet): BitSet = side & reads(o.index)

  private def rulesOf(b: Operator): Vector[Rule] = {
    val underLeft = below(left(b.index)).flatMap { a =>
      val (l, r) = (left(a.index), right(a.index))
      rule(Reorderings.holds(Reorderings.Assoc, a.kind, b.kind, rejects(a, r), rejects(b, r)), r, witness(a, l)) ++
        rule(Reorderings.holds(Reorderings.LeftAsscom, a.kind, b.kind, rejects(a, l), rejects(b, l)), l, witness(a, r))
    }
    val underRight = below(right(b.index)).flatMap { a =>
      val (l, r) = (left(a.index), right(a.index))
      rule(Reorderings.holds(Reorderings.Assoc, b.kind, a.kind, rejects(b, l), rejects(a, l)), l, witness(a, r)) ++
        rule(Reorderings.holds(Reorderings.RightAsscom, b.kind, a.kind, rejects(b, r), rejects(a, r)), r, witness(a, l))
    }
    underLeft ++ underRight
  }

  /**
   * The rules of an inner join above the operators of `scope`. It does not matter on which side of the inner join an
   * operator is, because an inner join has no sides.
   */
  private def rulesAbove(scope: BitSet): Vector[Rule] = below(scope).flatMap { a =>
    val (l, r) = (left(a.index), right(a.index))
    rule(
      Reorderings.holds(Reorderings.Assoc, a.kind, JoinKind.Inner, firstRejects = false, secondRejects = false),
      r,
      witness(a, l)
    ) ++
      rule(
        Reorderings.holds(Reorderings.LeftAsscom, a.kind, JoinKind.Inner, firstRejects = false, secondRejects = false),
        l,
        witness(a, r)
      )
  }

  private def rule(free: Boolean, ifAny: BitSet, thenAll: BitSet): Vector[Rule] =
    if (free) Vector.empty else Vector(Rule(ifAny, thenAll))

  private def closed(start: BitSet, rules: Vector[Rule]): Needs = {
    val grown = rules.foldLeft(start)((set, r) => if ((r.ifAny & set).isEmpty) set else set | r.thenAll)
    if (Words.within(grown, start)) Needs(start, rules.filterNot(r => Words.within(r.thenAll, start)))
    else closed(grown, rules)
  }
}

object ConflictRules {

  /** A set of relations that contains any of `ifAny` must contain all of `thenAll`. */
  final case class Rule(ifAny: BitSet, thenAll: BitSet)

  /**
   * What a predicate or operator needs before it is applied.
   *
   * @param all   relations that must be joined
   * @param rules rules that `all` does not satisfy by itself
   */
  final case class Needs(all: BitSet, rules: Vector[Rule])
}
