package dovetail.kernel.enumerate

import dovetail.kernel.cost.FilterWork
import dovetail.kernel.graph.{JoinGraph, Relation}
import dovetail.kernel.profile.Source

/**
 * Finds the reducers that a graph may have. It combines each relation that may be reduced with each source of keys: a
 * relation that can be read a second time, alone, together with the small restricted relations around it, and together
 * with all small relations from which restrictions or further keys reach it. The key has all columns that the source
 * shares with the reduced relation. Reducers that certainly keep most rows are left out. Of the others, those that drop
 * the most rows come first.
 *
 * Only relations outside all closed sides of operators give keys (`Levels`). The equalities of a class there hold in
 * every row of the result, so a row without a partner is in no row of the result. A relation on the right of an outer,
 * semi or anti join is reduced only by a relation on its left ([[JoinGraph.filters]]).
 */
final class ReducerCandidates(graph: JoinGraph, rules: ReducerRules) {
  import ReducerCandidates._

  /** The reducers, the best first. If time runs out, those that were found until then. */
  def all(inTime: => Boolean): Vector[Reducer] = {
    val found = for {
      reduced <- targets
      source  <- readable if source != reduced && inTime
      by      <- sources(source, reduced)
      r       <- reducer(reduced, by)
    } yield r
    // the sort is stable: in a tie, the first one found
    found.distinct.sortBy(r => -(1.0 - r.kept) * r.work.probed).take(MostReducers)
  }

  /** The relations that may be reduced: the largest ones. */
  private def targets: Vector[Int] = {
    val all   = rules.reducible.map(_._1).toVector.sorted
    val large = all.filter(rowsOf(_) >= LeastRows).sortBy(-rowsOf(_)).take(MostTargets)
    if (rules.forced) all else large
  }

  private def rowsOf(r: Int): Double = graph.relations(r).profile.rows.value

  /** The source relation alone, together with restricted relations next to it, and with all that [[reaching]] adds. */
  private def sources(source: Int, reduced: Int): Vector[Vector[Int]] = {
    val direct = grown(source, reduced, (_, n) => restricted(n) && connected(source, n))
    Vector(Vector(source), direct, reaching(source, reduced)).map(_.take(MostRelations)).distinct
  }

  /** The source with all small relations that restrict it over others, or that add a column to the key. */
  private def reaching(source: Int, reduced: Int): Vector[Int] = {
    val all = grown(source, reduced, (by, n) => by.exists(connected(_, n)))
    without(all, (by, n) => !restricted(n) && keys(reduced, without(by, n)).size == keys(reduced, by).size)
  }

  /** Removes relations that may leave, but not the first one, nor one that connects others. */
  private def without(all: Vector[Int], mayLeave: (Vector[Int], Int) => Boolean): Vector[Int] =
    // the last one first, because the ones before connect it
    all.tail.reverse.foldLeft(all)((by, n) => if (mayLeave(by, n) && inOrder(without(by, n))) without(by, n) else by)

  private def without(by: Vector[Int], n: Int): Vector[Int] = by.filterNot(_ == n)

  /** Whether each relation but the first is connected with one before it. */
  private def inOrder(by: Vector[Int]): Boolean = by.indices.tail.forall(i => by.take(i).exists(connected(_, by(i))))

  /**
   * Relations of a source that only restrict others, so that it is enough to test for partners in them. None if one of
   * them is connected only with such relations.
   */
  private def tested(by: Vector[Int], columns: Vector[(Int, Int)]): Set[Int] = {
    val joined = without(by, (_, n) => !columns.exists(_._2 == n))
    val others = by.filterNot(joined.contains)
    if (others.forall(o => joined.exists(connected(_, o)))) others.toSet else Set.empty
  }

  /** The source with the relations that are only tested behind the first one that each is connected with. */
  private def testedEarly(by: Vector[Int], only: Set[Int]): Vector[Int] = {
    val joined = by.filterNot(only)
    by.sortBy(r => if (only(r)) (joined.indexWhere(connected(_, r)), 1) else (joined.indexOf(r), 0))
  }

  /** The source with small relations, one after the other, as long as one of them may be added. */
  private def grown(source: Int, reduced: Int, mayAdd: (Vector[Int], Int) => Boolean): Vector[Int] = {
    def next(by: Vector[Int]) =
      small.find(n => n != reduced && !by.contains(n) && mayAdd(by, n) && graph.onlyClasses(by :+ n)).map(by :+ _)
    Iterator.iterate(
      Option(Vector(source))
    )(_.flatMap(next)).take(MostTried).takeWhile(_.isDefined).flatten.toVector.last
  }

  private lazy val readable: Vector[Int] = rules.readable.map(_._1).filter(graph.levels.isTop).toVector.sorted

  private lazy val small: Vector[Int] = rules.small.filter(graph.levels.isTop).toVector.sorted

  private def connected(a: Int, b: Int): Boolean = graph.sharedClasses(a, b).nonEmpty

  private def restricted(r: Int): Boolean = graph.relations(r).profile.restricted

  /** Columns that a filter on the reduced relation can look up, with the first relation of `by` that has each. */
  private def keys(reduced: Int, by: Vector[Int]): Vector[(Int, Int)] = for {
    c <- keysOf.getOrElse(reduced, Vector.empty)
    r <- by.find(r => rules.readable((r, c)) && graph.filters(c, reduced, r))
  } yield (c, r)

  private val keysOf: Map[Int, Vector[Int]] =
    rules.reducible.toVector.sorted.groupBy(_._1).map { case (r, all) => r -> all.map(_._2) }

  private def reducer(reduced: Int, by: Vector[Int]): Option[Reducer] = {
    val columns = keys(reduced, by)
    val guessed = (reduced +: by).exists(graph.relations(_).profile.rows.source == Source.Assumed)
    if (columns.isEmpty || (guessed && !rules.forced)) None
    else {
      val size  = new ReducerSize(graph, reduced, by, columns)
      val items = math.min(math.max(size.keys * Reserve, LeastItems), rules.most.toDouble)
      val kept  = math.min(1.0, size.kept + (1.0 - size.kept) * Reducer.FalsePositives)
      val built = work(graph.relations(reduced), by, size.keyRows, items)
      val fits  =
        size.keys <= rules.most && (rules.forced || (size.known && kept <= MostKept && built.merged <= MostMerged))
      if (fits) {
        val only = tested(by, columns)
        Some(Reducer(reduced, testedEarly(by, only), only, columns, kept, items.toLong, built))
      } else None
    }
  }

  private def work(target: Relation, by: Vector[Int], keys: Double, items: Double): FilterWork = {
    val relations = by.map(graph.relations(_))
    FilterWork(
      probed = target.profile.rows.value,
      read = relations.map(_.tableBytes).sum,
      broadcasts = relations.tail.map(r => (r.profile.rows.value, r.profile.rows.value * r.width)),
      joined = relations.head.profile.rows.value,
      keys = keys,
      bytes = items * Reducer.BitsPerItem / 8.0,
      tasks = rules.tasks(by.head),
      parts = rules.parts(by.head)
    )
  }
}

object ReducerCandidates {

  /** Maximum number of reducers of one graph that are priced: each takes one search, or one pricing of an order. */
  private val MostReducers = 24

  /**
   * Rows from which on a relation is reduced. It takes 1 to 2 µs to exchange and sort a row, so fewer rows take less
   * than the time that all cores wait for a filter.
   */
  private val LeastRows = 100000.0

  /** Maximum number of relations that are reduced. Almost all work of a plan is done on the rows of few tables. */
  private val MostTargets = 4

  /** Maximum number of relations that are tried together as a source, so that wide graphs take no longer. */
  private val MostTried = 16

  /** Maximum number of relations that a filter's keys come from: each further one is a broadcast before the filter. */
  private val MostRelations = 8

  /**
   * Largest share of rows that a filter, or of row groups that a key range may keep. One that keeps more saves less
   * than it may cost if the estimate is a bit off.
   */
  val MostKept = 0.7

  /**
   * Maximum bytes of all filters that one task merges to one, about three seconds of work. The number of tasks that
   * make them is no estimate, so a filter never takes longer for this.
   */
  private val MostMerged = 256.0 * 1024 * 1024

  /** Room in a filter, as a multiple of the expected keys: a full filter lets every row pass. */
  private val Reserve = 4.0

  /** Minimum number of keys that a filter has room for: 100 KB, which cost nothing. */
  private val LeastItems = 100000.0
}
