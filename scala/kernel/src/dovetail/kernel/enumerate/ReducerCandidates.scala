package dovetail.kernel.enumerate

import dovetail.kernel.cost.FilterWork
import dovetail.kernel.graph.{EquivalenceClass, JoinGraph, Levels, Member, Relation}
import dovetail.kernel.profile.{Assumptions, Source}
import dovetail.kernel.size.CardinalityModel

/**
 * Finds the reducers that a graph may have. For each equivalence class, it combines each relation that may be reduced
 * with each other relation that can be read a second time, alone and together with the small restricted relations
 * around it. Reducers that certainly keep most rows are left out. Of the others, those that drop the most rows come
 * first.
 *
 * Only relations outside all closed sides of operators take part ([[Levels.Top]]). The equalities of a class there hold
 * in every row of the result, so a row without a partner is in no row of the result. A relation on the right of an
 * outer, semi or anti join is neither reduced nor a source of keys.
 */
final class ReducerCandidates(graph: JoinGraph, rules: ReducerRules) {
  import ReducerCandidates._

  def all: Vector[Reducer] = {
    val found = for {
      c       <- graph.classes
      reduced <- c.relations if rules.reducible((reduced, c.index)) && atTop(reduced)
      source  <- c.relations if source != reduced && rules.readable((source, c.index)) && atTop(source)
      by      <- sources(source, reduced)
      r       <- reducer(reduced, by, c)
    } yield r
    // the sort is stable: in a tie, the first one found
    found.sortBy(r => -(1.0 - r.kept) * r.work.probed).take(Most)
  }

  private def atTop(r: Int): Boolean = graph.levels.levelOf(r) == Levels.Top

  /** The source relation alone, and together with the small restricted relations that it is joined with. */
  private def sources(source: Int, reduced: Int): Vector[Vector[Int]] = {
    val around = graph.neighbors(source).filter(n =>
      n != reduced && rules.small(n) && atTop(n) && restricted(graph.relations(n)) &&
        graph.classesOf(n).exists(graph.classesOf(source).contains)
    )
    val several = if (around.isEmpty || !plain(source +: around)) Vector.empty else Vector(source +: around)
    Vector(Vector(source)) ++ several
  }

  /** Whether nothing but classes connects the relations of the set. */
  private def plain(set: Vector[Int]): Boolean = !graph.predicates.exists(_.relations.forall(set.contains))

  private def restricted(r: Relation): Boolean = r.profile.rows.value < r.profile.baseRows * AlmostAll

  private def reducer(reduced: Int, by: Vector[Int], c: EquivalenceClass): Option[Reducer] = {
    val (target, source) = (graph.relations(reduced), graph.relations(by.head))
    val guessed          = (reduced +: by).exists(graph.relations(_).profile.rows.source == Source.Assumed)
    for {
      mine <- c.members.find(_.relation == reduced)
      its  <- c.members.find(_.relation == by.head)
      if rules.forced || !guessed
      ndv <- if (rules.forced) its.column.ndv.orElse(Some(source.profile.rows.value)) else its.column.ndv
      sizes = new Sizes(reduced, by, c)
      keys  = math.max(1.0, Assumptions.distinctAfter(ndv, source.profile.rows.value, sizes.keyRows))
      items = math.min(math.max(keys * Reserve, LeastItems), rules.most.toDouble)
      if keys <= rules.most
      kept = math.min(mine.column.nonNull, sizes.partners / math.max(1.0, sizes.keyRows / keys))
      all  = kept + (1.0 - kept) * Reducer.FalsePositives
      if rules.forced || all <= MostKept
    } yield Reducer(reduced, by, c.index, math.min(1.0, all), items.toLong, work(target, by, sizes.keyRows, items))
  }

  private def work(target: Relation, by: Vector[Int], keys: Double, items: Double): FilterWork = {
    val relations = by.map(graph.relations(_))
    FilterWork(
      probed = target.profile.rows.value,
      read = relations.map(r => math.max(r.profile.baseRows, r.profile.rows.value) * r.width).sum,
      broadcasts = relations.tail.map(r => (r.profile.rows.value, r.profile.rows.value * r.width)),
      joined = relations.head.profile.rows.value,
      keys = keys,
      bytes = items * Reducer.BitsPerItem / 8.0
    )
  }

  /** Rows of the relations that the keys come from, and of their join with the reduced relation by the class alone. */
  final private class Sizes(reduced: Int, by: Vector[Int], c: EquivalenceClass) {
    private val set    = reduced +: by
    private val number = set.zipWithIndex.toMap

    // formulas alone: a sample of some thousand rows says little about how many rows of a large table have no partner
    private val relations = set.map(r => graph.relations(r).copy(index = number(r), sample = None))

    private def numbered(ms: Vector[Member]): Vector[Member] = ms.map(m => m.copy(relation = number(m.relation)))

    private val classes = graph.classes.flatMap { k =>
      val within  = if (k.index == c.index) set else by
      val members = numbered(k.members.filter(m => within.contains(m.relation)))
      if (members.map(_.relation).distinct.size > 1) Some(members) else None
    }.zipWithIndex.map { case (members, i) => EquivalenceClass(i, members) }

    private val model = new CardinalityModel(JoinGraph(relations, classes, Vector.empty))

    val keyRows: Double =
      if (by.size == 1) math.max(1.0, graph.relations(by.head).profile.rows.value)
      else model.estimatedRows(by.map(number).toArray)

    /** Average number of rows of the source that a row of the reduced relation joins with. */
    val partners: Double =
      model.estimatedRows(set.map(number).toArray) / math.max(1.0, graph.relations(reduced).profile.rows.value)
  }
}

object ReducerCandidates {

  /** Maximum number of reducers of one graph that are priced: each takes one search, or one pricing of an order. */
  private val Most = 24

  /**
   * Largest share of rows that a filter may keep. A filter that keeps more saves less than it may cost if the estimate
   * is a bit off.
   */
  private val MostKept = 0.7

  /** A predicate that keeps at least this share of the rows does not count as a predicate. */
  private val AlmostAll = 0.999

  /** Room in a filter, as a multiple of the expected keys: a full filter lets every row pass. */
  private val Reserve = 4.0

  /** Minimum number of keys that a filter has room for: 100 KB, which cost nothing. */
  private val LeastItems = 100000.0
}
