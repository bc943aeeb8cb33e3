package dovetail.kernel.enumerate

import scala.collection.mutable

import dovetail.kernel.cost.{BroadcastMemory, ClusterFacts, CostConstants}
import dovetail.kernel.graph.{JoinGraph, JoinKind, Member, Operator, RelSet}
import dovetail.kernel.profile.{Assumptions, Width}
import dovetail.kernel.size.CardinalityModel

/**
 * The cheapest plan of a small graph, found by visiting all plans: every bushy tree without a needless cross product
 * and, for the physical model, every way to execute it. Nothing is pruned. The oracle computes sizes and costs itself,
 * from the documentation of the models.
 *
 * @param sizes    rows of a set of relations; the default formula holds for graphs in which no two relations share two
 *                 classes, and all domains are known
 * @param cautious number of rows that a set should not exceed; by default no set is too risky to broadcast
 */
final class PlanOracle(
    graph: JoinGraph,
    sizes: Option[Vector[Int] => Double] = None,
    cautious: Vector[Int] => Double = _ => 0.0
) {
  import PlanOracle.Plan

  private val n    = graph.size
  private val full = (1L << n) - 1

  private def members(s: Long): Vector[Int] = graph.relations.indices.filter(r => (s >> r & 1L) != 0L).toVector

  private val simple = for (c <- graph.classes; a <- c.relations; b <- c.relations if a < b) yield (1L << a, 1L << b)
  private val others =
    graph.predicates.flatMap(p =>
      p.sides.orElse(if (p.relations.size == 2) Some((Vector(p.relations(0)), Vector(p.relations(1)))) else None)
    )
  private def mask(rs: Vector[Int]) = rs.foldLeft(0L)((m, r) => m | 1L << r)
  private val edges                 =
    if (graph.operators.isEmpty) simple ++ others.map { case (l, r) => (mask(l), mask(r)) }
    else graph.edges.all.map { case (l, r) => (mask(l), mask(r)) }
  private def step(a: Long, b: Long) = graph.joinable.between(new RelSet(a), new RelSet(b))
  private val csgs                   = new CsgCmpOracle(n, edges, step(_, _).isDefined)

  /**
   * Whether some tree joins all relations along edges. Graphs without operators must have such a tree, because the
   * oracle leaves out cross products.
   */
  val complete: Boolean = csgs.connected(full)
  require(complete || graph.operators.nonEmpty, "the graph is not connected")

  /**
   * Rows of a set: the product of the rows of all relations, times for each class the smallest domain over the product
   * of the domains, times the selectivity of each predicate.
   */
  def rows(s: Long): Double = known.getOrElseUpdate(s, sizes.fold(byFormula(s))(_(members(s))))

  private val known = mutable.Map.empty[Long, Double]

  private def byFormula(s: Long): Double = {
    val inside  = members(s)
    val crossed = graph.classes.map { c =>
      val domains = c.members.filter(m => inside.contains(m.relation)).map(_.column.domain.get)
      if (domains.size < 2) 1.0 else domains.min / domains.product
    }
    val predicates = graph.predicates.filter(_.relations.forall(inside.contains)).map(_.selectivity)
    math.max(
      1.0,
      inside.map(graph.relations(_).profile.rows.value).map(math.max(
        _,
        1.0
      )).product * crossed.product * predicates.product
    )
  }

  def bytes(s: Long): Double = rows(s) * width(s)

  private def width(s: Long): Double =
    if (members(s).size == 1) graph.relations(members(s).head).width
    else {
      val kept = members(s).filterNot(r => tested(s).exists(_.right.contains(r)))
      kept.map(graph.relations(_).rowBytes.mean).sum + Assumptions.RowOverhead + flags(s)
    }

  private def tested(s: Long) =
    graph.operators.filter(o => o.kind.testsOnly && o.relations.exists(members(s).contains) && applied(o, s))

  /** Bytes of the flags of existence joins: one byte each. */
  private def flags(s: Long): Int = if (members(s).size == 1) 0 else tested(s).count(_.kind == JoinKind.Existence)

  private def applied(o: Operator, s: Long) = graph.joinable.conflicts.operators(o.index).all.subsetOf(members(s).toSet)

  /**
   * Number that stands for the hash partitioning by an operator's key column: its class, or a number of its own if it
   * has none.
   */
  private def column(m: Member): Int = graph.classes
    .find(_.members.exists(x => x.relation == m.relation && x.text == m.text))
    .fold(graph.classes.size + graph.operators.flatMap(o => o.equalities.flatMap(e => Vector(e._1, e._2))).map(x =>
      (x.relation, x.text)
    ).indexOf((
      m.relation,
      m.text
    )))(_.index)

  private def splits(s: Long) = csgs.pairs.filter { case (a, b) => (a | b) == s }

  /** All plans of all trees. `join` returns the plans that join one pair of plans. Equal plans are kept once. */
  private def all(join: (Long, Plan, Long, Plan) => Seq[Plan]): Set[Plan] = {
    val plans = mutable.Map.empty[Long, Set[Plan]]
    for (s <- csgs.connected.toVector.sorted)
      plans(s) =
        if (members(s).size == 1) Set(Plan(0.0, Set.empty))
        else for ((a, b) <- splits(s); p <- plans(a); q <- plans(b); out <- join(a, p, b, q)) yield out
    plans(full)
  }

  /** weight * rows + (1 - weight) * bytes, summed over the joins. */
  def cheapestByCardWeight(weight: Double): Double =
    all((a, p, b, q) => Seq(Plan(p.cost + q.cost + weight * rows(a | b) + (1 - weight) * bytes(a | b), Set.empty))).map(
      _.cost
    ).min

  /** Cost of the cheapest plan for each last join, by the same formula, ascending. */
  def lastJoinsByCardWeight(weight: Double): Vector[Double] = {
    val cost                        = mutable.Map.empty[Long, Double]
    def own(s: Long)                = weight * rows(s) + (1 - weight) * bytes(s)
    def by(s: Long): Vector[Double] = splits(s).filter { case (a, b) => a < b }.toVector.map { case (a, b) =>
      least(a) + least(b) + own(s)
    }
    def least(s: Long): Double = cost.getOrElseUpdate(s, if (members(s).size == 1) 0.0 else by(s).min)
    by(full).sorted
  }

  /**
   * Upper bound on the share of a set's rows that have the most frequent combination of these keys. Each key column
   * counts with the largest share that one value has in any relation of the set, and the smallest of these shares is
   * the bound.
   */
  private def frequent(in: (Long, Set[Int])): Double = if (in._2.isEmpty) 0.0
  else
    in._2.toVector.map { c =>
      val classes   = graph.classes.filter(_.index == c).flatMap(_.members).map(m => m.relation -> share(m))
      val operators = for (o <- graph.operators; e <- o.equalities; m <- Vector(e._1, e._2) if column(m) == c)
        yield m.relation -> share(m)
      val nulls =
        for (
          o <- graph.operators if o.kind != JoinKind.Semi; e <- o.equalities if column(e._1) == c;
          n <- e._1.column.nulls
        ) yield e._1.relation -> n
      (classes ++ operators ++ nulls).filter(x => members(in._1).contains(x._1)).map(_._2).foldLeft(0.0)(math.max)
    }.min

  private def share(m: Member): Double =
    math.max(m.column.frequent.fold(0.0)(_.values.head.share), m.column.ndv.fold(0.0)(n => 1.0 / math.max(n, 1.0)))

  def cheapestPhysical(k: CostConstants, facts: ClusterFacts): Double = {
    val (r, w) = csgs.connected.iterator.map(s => (s -> rows(s), s -> bytes(s))).toVector.unzip match {
      case (rs, ws) => (rs.toMap, ws.toMap)
    }
    def classes(s: Long)        = graph.classes.filter(_.relations.exists(members(s).contains)).map(_.index).toSet
    val classesOf               = csgs.connected.iterator.map(s => s -> classes(s)).toMap
    def small(a: Long, b: Long) = if (w(a) <= w(b)) (a, b) else (b, a)
    def broadcast(s: Long)      = (r(s) * k.hashBuild + w(s) * k.broadcastByte) * (1 + facts.executors)
    def exchange(s: Long)       = r(s) * k.exchangeRow + w(s) * k.exchangeByte
    // a set of relations, and the key that it is joined by
    type Keyed = (Long, Set[Int])
    def split(in: Keyed)                = math.min(1.0, facts.splitBytes / (frequent(in) * w(in._1)))
    def slow(in: Keyed, inputs: Keyed*) = math.max(1.0, frequent(in) * inputs.map(split).min * facts.tasks)
    def spilled(s: Keyed)               = {
      val (bytes, most) = (w(s._1), frequent(s) * split(s))
      val room          = facts.sortMemory.taskMemory / (bytes + 32 * r(s._1))
      if (1.0 / facts.sortMemory.partitions > room || math.min(1.0, facts.sortMemory.taskInput / bytes) > room)
        bytes * slow(s, s)
      else if (most > room) bytes * most * facts.tasks
      else 0.0
    }
    def sort(s: Keyed) =
      if (facts.preferSortMerge) r(s._1) * k.sortCompare * math.log(math.max(r(s._1), 2.0)) / math.log(2.0) * slow(
        s,
        s
      ) + spilled(s) * k.spillByte
      else 0.0
    def hash(build: Keyed, probe: Keyed) =
      r(build._1) * k.hashBuild * slow(build, build) + r(probe._1) * k.hashProbe * slow(probe, probe)
    def merge(build: Keyed, probe: Keyed) =
      if (facts.preferSortMerge) Seq(build, probe).map(s => r(s._1) * k.merge * slow(s, s)).sum else hash(build, probe)
    def hashed(build: Keyed, probe: Keyed) =
      facts.preferSortMerge && w(build._1) > facts.broadcastBytes && facts.hashTable.pays(w(build._1), w(probe._1)) &&
        facts.hashTable.fits(r(build._1), w(build._1))
    def flagged(s: Long) = members(s).size == 1 && graph.relations(members(s).head).broadcastable
    def atMost(s: Long)  = BroadcastMemory(
      cautious(members(s)),
      cautious(members(s)) * (width(s) - Assumptions.RowOverhead + flags(s) * (Width.Slot - 1.0))
    )
    val safe                   = csgs.connected.filter(s => w(s) <= facts.staticBytes && atMost(s) <= facts.memoryLimit)
    def broadcastable(s: Long) = flagged(s) || safe(s)
    def equality(a: Long, b: Long) = graph.predicates.flatMap(_.sides).exists { case (x, y) =>
      val (l, m) = (mask(x), mask(y))
      ((l & ~a) == 0 && (m & ~b) == 0) || ((l & ~b) == 0 && (m & ~a) == 0)
    }
    // share of the pairs with equal keys that the other predicates within a set keep
    val residual = csgs.connected.iterator.map(s =>
      s -> Assumptions.conjunction(
        graph.predicates.filter(p => p.sides.isEmpty && graph.neededBy(p).subsetOf(members(s).toSet)).map(_.selectivity)
      )
    ).toMap
    val model                     = new CardinalityModel(graph)
    def pairs(n: Double)          = math.max(0.0, n) * k.nestedLoopPair
    def dropped(a: Long, b: Long) = {
      val share = residual(a | b) / (residual(a) * residual(b))
      if (share < 1) pairs(math.min(r(a | b) / share, r(a) * r(b)) - r(a | b)) else 0.0
    }
    def droppedBy(o: Operator, a: Long, b: Long) = {
      val all = r(a) * r(b) * model.shareOfKeys(o)
      if (o.selectivity >= 1) 0.0
      else if (o.kind.testsOnly) pairs(math.min(all, r(a) / o.selectivity) - r(a))
      else pairs(all * (1 - o.selectivity))
    }
    all { (a, p, b, q) =>
      val key    = classesOf(a) & classesOf(b)
      val inputs = p.cost + q.cost
      val output = r(a | b) * k.rowProduced
      val joined = step(a, b).get
      if (joined.operator.isDefined) {
        val o                   = joined.operator.get
        val ((l, lp), (m, mp))  = if (joined.swapped) ((b, q), (a, p)) else ((a, p), (b, q))
        val (leftKey, rightKey) = (o.equalities.map(e => column(e._1)).toSet, o.equalities.map(e => column(e._2)).toSet)
        val copied              = if (o.kind == JoinKind.FullOuter) small(l, m)._1 else m
        def lost(plan: Plan, key: Set[Int]) = key.isEmpty || plan.partitioning != key
        val (lk, mk)                        = (l -> leftKey, m -> rightKey)
        val moved       = Seq(lk).filter(_ => lost(lp, leftKey)) ++ Seq(mk).filter(_ => lost(mp, rightKey))
        val tested      = output + droppedBy(o, l, m)
        val made        = tested * slow((a | b) -> leftKey, lk, mk)
        val byBroadcast = inputs + broadcast(copied) + r(l) * k.hashProbe + tested
        val unsorted    = Seq(lk).filter(_ => !lp.sorted || moved.contains(lk)) ++
          Seq(mk).filter(_ => !mp.sorted || moved.contains(mk))
        if (!o.equi) Seq(Plan(inputs + r(l) * r(m) * k.nestedLoopPair + broadcast(copied) + output, Set.empty))
        else {
          val swapped  = moved.contains(mk) && o.kind != JoinKind.FullOuter && w(m) <= facts.broadcastBytes
          val stays    = if (moved.size == 2) Set.empty[Int] else lp.partitioning
          val shuffled =
            if (swapped) Plan(moved.map(s => exchange(s._1)).sum + byBroadcast, stays)
            else if (moved.size == 2 && o.kind != JoinKind.FullOuter && hashed(mk, lk))
              Plan(inputs + moved.map(s => exchange(s._1)).sum + hash(mk, lk) + made, leftKey)
            else {
              val (build, probe) = if (o.kind == JoinKind.FullOuter && small(l, m)._1 == l) (lk, mk) else (mk, lk)
              val partitioning   = if (o.kind == JoinKind.FullOuter) Set.empty[Int] else leftKey
              Plan(
                inputs + moved.map(s => exchange(s._1)).sum + unsorted.map(sort).sum + merge(build, probe) + made,
                partitioning,
                partitioning.nonEmpty
              )
            }
          val copies =
            if (o.kind != JoinKind.FullOuter && broadcastable(m)) Seq(Plan(byBroadcast, lp.partitioning, lp.sorted))
            else Nil
          if (copies.nonEmpty && flagged(m)) copies else copies :+ shuffled
        }
      } else if (key.isEmpty && !equality(a, b))
        Seq(Plan(inputs + r(a) * r(b) * k.nestedLoopPair + broadcast(small(a, b)._1) + output, Set.empty))
      else {
        val tested     = output + dropped(a, b)
        val broadcasts = Seq((a, p, b), (b, q, a)).collect {
          case (stream, plan, build) if broadcastable(build) =>
            Plan(inputs + broadcast(build) + r(stream) * k.hashProbe + tested, plan.partitioning, plan.sorted)
        }
        val moved =
          Seq((a, p), (b, q)).filter { case (_, plan) => key.isEmpty || plan.partitioning != key }.map(_._1 -> key)
        val unsorted       = Seq((a, p), (b, q)).filter { case (s, plan) => !plan.sorted || moved.contains(s -> key) }
        val (build, probe) = small(a, b)
        val made           = tested * slow((a | b) -> key, a -> key, b -> key)
        val shuffled       =
          if (moved.contains(build -> key) && w(build) <= facts.broadcastBytes)
            Plan(
              inputs + moved.map(s => exchange(s._1)).sum + broadcast(build) + r(probe) * k.hashProbe + tested,
              if (moved.size == 2) Set.empty else if (probe == a) p.partitioning else q.partitioning
            )
          else if (moved.size == 2 && hashed(build -> key, probe -> key))
            Plan(inputs + moved.map(s => exchange(s._1)).sum + hash(build -> key, probe -> key) + made, key)
          else
            Plan(
              inputs + moved.map(s => exchange(s._1)).sum + unsorted.map(u => sort(u._1 -> key)).sum +
                merge(build -> key, probe -> key) + made,
              key,
              key.nonEmpty
            )
        if (flagged(a) || flagged(b)) broadcasts else broadcasts :+ shuffled
      }
    }.map(p => p.cost + exchangedAbove(p)).min
  }

  /**
   * Cost of the exchange for the grouping above, which a plan does not need if it is partitioned by its columns. Not
   * counted if no two relations are joined by these columns alone. For inner joins.
   */
  private def exchangedAbove(plan: Plan): Double = graph.above.fold(0.0) { a =>
    val keys = graph.keys.flatMap(_.members).filter(_.columns.exists(a.columns.contains)).map(column).toSet
    def within(key: Set[Int]) = key.nonEmpty && key.subsetOf(keys)
    val all                   = graph.relations.indices.toVector
    val saved                 = all.exists(x => all.exists(y => x < y && within(shared(x, y))))
    if (!saved || within(plan.partitioning)) 0.0 else a.exchange(rows(full))
  }

  private def shared(a: Int, b: Int) =
    graph.classes.filter(c => c.relations.contains(a) && c.relations.contains(b)).map(_.index).toSet
}

object PlanOracle {

  /**
   * An oracle with the sizes of the model, for graphs whose relations share several classes. CardinalityModelSuite
   * tests composite keys and cautious rows.
   */
  def sizedByModel(graph: JoinGraph): PlanOracle = {
    val model                  = new CardinalityModel(graph)
    def rows(set: Vector[Int]) = if (set.size == 1) math.max(1.0, graph.relations(set.head).profile.rows.value)
    else model.sizeOf(set.toArray, set.size).rows
    def cautiously(set: Vector[Int]) =
      if (set.size == 1) math.max(1.0, graph.relations(set.head).profile.rows.upper)
      else model.sizeOf(set.toArray, set.size).cautious
    new PlanOracle(graph, Some(rows(_)), cautiously(_))
  }

  /**
   * A plan: its cost, the classes that its rows are partitioned by (empty for any other partitioning), and whether the
   * rows of each partition are sorted by them.
   */
  final case class Plan(cost: Double, partitioning: Set[Int], sorted: Boolean = false)
}
