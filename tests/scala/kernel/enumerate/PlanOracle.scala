package dovetail.kernel.enumerate

import scala.collection.mutable

import dovetail.kernel.cost.{ClusterFacts, CostConstants}
import dovetail.kernel.estimate.{Assumptions, CardinalityModel}
import dovetail.kernel.graph.{JoinGraph, JoinKind, Member, Operator, RelSet}

/**
 * The cheapest plan of a small graph by looking at all of them: every bushy tree without a needless cross product and, for the physical model, every
 * way of executing it. Nothing is pruned, and sizes and costs are worked out here, from the documentation of the models.
 *
 * @param sizes    rows of a set; if not given, those of graphs in which no two relations share two classes, and all domains are known
 * @param cautious rows that a set should not exceed; if not given, none is too risky to broadcast
 */
final class PlanOracle(graph: JoinGraph, sizes: Option[Vector[Int] => Double] = None, cautious: Vector[Int] => Double = _ => 0.0) {
  import PlanOracle.Plan

  private val n    = graph.size
  private val full = (1L << n) - 1

  private def members(s: Long): Vector[Int] = graph.relations.indices.filter(r => (s >> r & 1L) != 0L).toVector

  private val simple = for (c <- graph.classes; a <- c.relations; b <- c.relations if a < b) yield (1L << a, 1L << b)
  private val others =
    graph.predicates.flatMap(p => p.sides.orElse(if (p.relations.size == 2) Some((Vector(p.relations(0)), Vector(p.relations(1)))) else None))
  private def mask(rs: Vector[Int]) = rs.foldLeft(0L)((m, r) => m | 1L << r)
  private val edges                 =
    if (graph.operators.isEmpty) simple ++ others.map { case (l, r) => (mask(l), mask(r)) } else graph.edges.all.map { case (l, r) => (mask(l), mask(r)) }
  private def step(a: Long, b: Long) = graph.joinable.between(new RelSet(a), new RelSet(b))
  private val csgs                   = new CsgCmpOracle(n, edges, step(_, _).isDefined)

  /** Some tree along edges joins all relations. Without operators that is no question: the oracle leaves out cross products, its graphs are connected. */
  val complete: Boolean = csgs.connected(full)
  require(complete || graph.operators.nonEmpty, "the graph is not connected")

  /** Rows of a set: the product of all rows; of each class the smallest domain over the product of domains; of each predicate its selectivity. */
  def rows(s: Long): Double = known.getOrElseUpdate(s, sizes.fold(byFormula(s))(_(members(s))))

  private val known = mutable.Map.empty[Long, Double]

  private def byFormula(s: Long): Double = {
    val inside  = members(s)
    val crossed = graph.classes.map { c =>
      val domains = c.members.filter(m => inside.contains(m.relation)).map(_.column.domain.get)
      if (domains.size < 2) 1.0 else domains.min / domains.product
    }
    val predicates = graph.predicates.filter(_.relations.forall(inside.contains)).map(_.selectivity)
    math.max(1.0, inside.map(graph.relations(_).profile.rows.value).map(math.max(_, 1.0)).product * crossed.product * predicates.product)
  }

  def bytes(s: Long): Double = rows(s) * width(s)

  private def width(s: Long): Double =
    if (members(s).size == 1) graph.relations(members(s).head).rowBytes
    else {
      val tested = graph.operators.filter(o => o.kind.testsOnly && o.relations.exists(members(s).contains) && applied(o, s))
      val kept   = members(s).filterNot(r => tested.exists(_.right.contains(r)))
      kept.map(graph.relations(_).rowBytes - Assumptions.RowOverhead).sum + Assumptions.RowOverhead + tested.count(_.kind == JoinKind.Existence)
    }

  private def applied(o: Operator, s: Long) = graph.joinable.conflicts.operators(o.index).all.subsetOf(members(s).toSet)

  /** What an operator's key column is hash partitioned by: its class, or else the column itself. */
  private def column(m: Member): Int = graph.classes
    .find(_.members.exists(x => x.relation == m.relation && x.text == m.text))
    .fold(graph.classes.size + graph.operators.flatMap(o => o.equalities.flatMap(e => Vector(e._1, e._2))).map(x => (x.relation, x.text)).indexOf((
      m.relation,
      m.text
    )))(_.index)

  private def splits(s: Long) = csgs.pairs.filter { case (a, b) => (a | b) == s }

  /** All plans of all trees: `join` makes those of one pair of plans. Equal ones are kept once. */
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
    all((a, p, b, q) => Seq(Plan(p.cost + q.cost + weight * rows(a | b) + (1 - weight) * bytes(a | b), Set.empty))).map(_.cost).min

  /** By the same formula the cheapest plan of every last join, ascending. */
  def lastJoinsByCardWeight(weight: Double): Vector[Double] = {
    val cost                        = mutable.Map.empty[Long, Double]
    def own(s: Long)                = weight * rows(s) + (1 - weight) * bytes(s)
    def by(s: Long): Vector[Double] = splits(s).filter { case (a, b) => a < b }.toVector.map { case (a, b) => least(a) + least(b) + own(s) }
    def least(s: Long): Double      = cost.getOrElseUpdate(s, if (members(s).size == 1) 0.0 else by(s).min)
    by(full).sorted
  }

  def cheapestPhysical(k: CostConstants, facts: ClusterFacts): Double = {
    val (r, w)                  = csgs.connected.iterator.map(s => (s -> rows(s), s -> bytes(s))).toVector.unzip match { case (rs, ws) => (rs.toMap, ws.toMap) }
    def classes(s: Long)        = graph.classes.filter(_.relations.exists(members(s).contains)).map(_.index).toSet
    val classesOf               = csgs.connected.iterator.map(s => s -> classes(s)).toMap
    def small(a: Long, b: Long) = if (w(a) <= w(b)) (a, b) else (b, a)
    def broadcast(s: Long)      = (r(s) * k.hashBuild + w(s) * k.broadcastByte) * (1 + facts.executors)
    def exchange(s: Long)       = r(s) * k.exchangeRow + w(s) * k.exchangeByte
    def sort(s: Long)           = if (facts.preferSortMerge) r(s) * k.sortCompare * math.log(math.max(r(s), 2.0)) / math.log(2.0) else 0.0
    def hash(build: Long, probe: Long)   = r(build) * k.hashBuild + r(probe) * k.hashProbe
    def merge(build: Long, probe: Long)  = if (facts.preferSortMerge) (r(build) + r(probe)) * k.merge else hash(build, probe)
    def hashed(build: Long, probe: Long) =
      facts.preferSortMerge && w(build) > facts.broadcastBytes && facts.hashTable.pays(w(build), w(probe)) &&
        facts.hashTable.fits(r(build), w(build), w(probe))
    def flagged(s: Long) = members(s).size == 1 && graph.relations(members(s).head).broadcastable
    val safe = csgs.connected.filter(s => w(s) <= facts.staticBytes && cautious(members(s)) * width(s) <= facts.staticBytes * ClusterFacts.RiskFactor)
    def broadcastable(s: Long)     = flagged(s) || safe(s)
    def equality(a: Long, b: Long) = graph.predicates.flatMap(_.sides).exists { case (x, y) =>
      val (l, m) = (mask(x), mask(y))
      ((l & ~a) == 0 && (m & ~b) == 0) || ((l & ~b) == 0 && (m & ~a) == 0)
    }
    all { (a, p, b, q) =>
      val key    = classesOf(a) & classesOf(b)
      val inputs = p.cost + q.cost
      val output = r(a | b) * k.rowProduced
      val joined = step(a, b).get
      if (joined.operator.isDefined) {
        val o                               = joined.operator.get
        val ((l, lp), (m, mp))              = if (joined.swapped) ((b, q), (a, p)) else ((a, p), (b, q))
        val (leftKey, rightKey)             = (o.equalities.map(e => column(e._1)).toSet, o.equalities.map(e => column(e._2)).toSet)
        val copied                          = if (o.kind == JoinKind.FullOuter) small(l, m)._1 else m
        def lost(plan: Plan, key: Set[Int]) = key.isEmpty || plan.partitioning != key
        val moved                           = Seq(l).filter(_ => lost(lp, leftKey)) ++ Seq(m).filter(_ => lost(mp, rightKey))
        val byBroadcast                     = inputs + broadcast(copied) + r(l) * k.hashProbe + output
        if (!o.equi) Seq(Plan(inputs + r(l) * r(m) * k.nestedLoopPair + broadcast(copied) + output, Set.empty))
        else {
          val swapped  = moved.size == 2 && o.kind != JoinKind.FullOuter && w(m) <= facts.broadcastBytes
          val shuffled =
            if (swapped) Plan(moved.map(exchange).sum + byBroadcast, Set.empty)
            else if (moved.size == 2 && o.kind != JoinKind.FullOuter && hashed(m, l)) Plan(inputs + moved.map(exchange).sum + hash(m, l) + output, leftKey)
            else {
              val (build, probe) = if (o.kind == JoinKind.FullOuter) small(l, m) else (m, l)
              Plan(inputs + moved.map(s => exchange(s) + sort(s)).sum + merge(build, probe) + output, if (o.kind == JoinKind.FullOuter) Set.empty else leftKey)
            }
          val copies = if (o.kind != JoinKind.FullOuter && broadcastable(m)) Seq(Plan(byBroadcast, lp.partitioning)) else Nil
          if (copies.nonEmpty && flagged(m)) copies else copies :+ shuffled
        }
      } else if (key.isEmpty && !equality(a, b)) Seq(Plan(inputs + r(a) * r(b) * k.nestedLoopPair + broadcast(small(a, b)._1) + output, Set.empty))
      else {
        val broadcasts = Seq((a, p, b), (b, q, a)).collect {
          case (stream, plan, build) if broadcastable(build) =>
            Plan(inputs + broadcast(build) + r(stream) * k.hashProbe + output, plan.partitioning)
        }
        val moved          = Seq((a, p), (b, q)).filter { case (_, plan) => key.isEmpty || plan.partitioning != key }.map(_._1)
        val (build, probe) = small(a, b)
        val shuffled       =
          if (moved.size == 2 && w(build) <= facts.broadcastBytes)
            Plan(inputs + moved.map(exchange).sum + broadcast(build) + r(probe) * k.hashProbe + output, Set.empty)
          else if (moved.size == 2 && hashed(build, probe)) Plan(inputs + moved.map(exchange).sum + hash(build, probe) + output, key)
          else Plan(inputs + moved.map(s => exchange(s) + sort(s)).sum + merge(build, probe) + output, key)
        if (flagged(a) || flagged(b)) broadcasts else broadcasts :+ shuffled
      }
    }.map(_.cost).min
  }
}

object PlanOracle {

  /** With sizes of the model, for graphs whose relations share several classes: composite keys and cautious rows are CardinalityModelSuite's business. */
  def sizedByModel(graph: JoinGraph): PlanOracle = {
    val model                        = new CardinalityModel(graph)
    def rows(set: Vector[Int])       = if (set.size == 1) math.max(1.0, graph.relations(set.head).profile.rows.value) else model.rowsOf(set.toArray, set.size)
    def cautiously(set: Vector[Int]) =
      if (set.size == 1) math.max(1.0, graph.relations(set.head).profile.rows.upper) else { model.rowsOf(set.toArray, set.size); model.cautiousRows }
    new PlanOracle(graph, Some(rows(_)), cautiously(_))
  }

  /** A plan: its cost, and the classes that its rows are partitioned by (none: any other way). */
  final case class Plan(cost: Double, partitioning: Set[Int])
}
