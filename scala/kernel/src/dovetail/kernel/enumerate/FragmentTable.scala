package dovetail.kernel.enumerate

import scala.collection.mutable

import dovetail.kernel.graph.{Hypergraph, RelSet, WideSet}

/** The table of an exact search over fragments instead of relations, as [[PlanTable]] is for a whole graph. */
final class FragmentTable(units: Vector[Fragment], parts: Fragments, meter: Meter) extends Receiver {
  private val table = new mutable.LongMap[Fragment]

  def contains(set: RelSet): Boolean = table.contains(set.bits)
  override def timeLeft: Boolean     = meter.inTime
  def relation(r: Int): Unit         = table(1L << r) = units(r)

  def pair(left: RelSet, right: RelSet): Boolean = {
    val (a, b) = (table.getOrNull(left.bits), table.getOrNull(right.bits))
    val step   = if (a != null && b != null) parts.step(a, b) else None
    if (step.isEmpty) true
    else if (!meter.pair()) false
    else {
      val bits  = left.bits | right.bits
      val known = table.getOrNull(bits)
      val out   = if (known != null) known
      else { val union = parts.union(a, b); meter.estimate(union); table(bits) = union; union }
      parts.join(a, b, out, step.get)
      true
    }
  }

  /** The best plan of all units. None if every plan has a cross product, or if the budget ended before. */
  def best(): Option[Fragment] =
    if (new Dphyp(FragmentTable.graph(units, parts.connections), this).run()) table.get(RelSet.first(units.size).bits)
    else None
}

object FragmentTable {

  /** Whether an exact search over the units finds a plan within `limit` pairs. */
  def within(limit: Long, units: Vector[Fragment], parts: Fragments): Boolean = units.size <= RelSet.MaxSize && {
    val counter = new PartCounter(limit, RelSet.first(units.size))
    new Dphyp(graph(units, parts.connections), counter).run() && counter.complete
  }

  private def graph(units: Vector[Fragment], connections: Connections): Hypergraph = {
    def touched(side: WideSet) = RelSet(units.indices.filter(units(_).relations.overlaps(side)): _*)
    val simple                 = Array.tabulate(units.size)(a =>
      RelSet(units.indices.filter(b => b != a && connections.connected(units(a), units(b))): _*).bits
    )
    val all   = units.map(_.relations).reduce(_ | _)
    val hyper = for {
      (l, r) <- connections.hyperedges if l.isSubsetOf(all) && r.isSubsetOf(all)
      sides = (touched(l), touched(r)) if !sides._1.overlaps(sides._2) && sides._1.size + sides._2.size > 2
    } yield sides
    new Hypergraph(units.size, simple, hyper.toArray, connections.restricted)
  }
}

/** Counts pairs up to a limit, and records whether any of them covers all units. */
final private class PartCounter(limit: Long, all: RelSet) extends Receiver {
  private var count                       = 0L
  var complete                            = false
  def relation(r: Int): Unit              = ()
  def contains(set: RelSet): Boolean      = true
  def pair(a: RelSet, b: RelSet): Boolean = {
    count += 1; if ((a | b).bits == all.bits) complete = true; count <= limit
  }
}
