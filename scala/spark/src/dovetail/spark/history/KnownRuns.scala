package org.apache.spark.sql.dovetail.history

import java.time.Instant

import dovetail.kernel.enumerate.Shape
import dovetail.kernel.graph.{JoinGraph, KnownSize}
import dovetail.kernel.profile.{Estimate, Source}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.dovetail.base.FailOpen
import org.apache.spark.sql.dovetail.deadline.PlanningTime
import org.apache.spark.sql.dovetail.report.{DataStamp, GroupIdentity}
import org.apache.spark.sql.dovetail.steer.{GroupForm, OrderHint}

/**
 * Looks up a group in the history while it is planned: rows of its relations and joins, estimation errors of similar
 * groups, and join orders that have run.
 *
 * A set of relations that ran over the same data gets the rows that were counted then, even if it was a part of another
 * group. If files were added since, the rows are scaled by the growth of the data ([[SetGrowth]]), without an upper
 * bound.
 * Estimates for sets that have not run with these constants are corrected by the errors of runs with other constants.
 */
final class KnownRuns(session: SparkSession) {
  import KnownRuns._

  private val stamps     = new DataStamps
  private lazy val index = if (RunRecorder.isOn(session)) History(session).now else HistoryIndex.empty

  /**
   * @param leaves  leaf plans of the join group, as written
   * @param reduced relations that other inputs reduce in this plan, so that row counts of earlier runs do not apply
   */
  def apply(
      graph: JoinGraph,
      leaves: Vector[LogicalPlan],
      reduced: Set[Int],
      forms: => HistoryForms
  ): KnownGroup =
    if (leaves.size > HistoryForms.MostRelations || index.isEmpty) KnownGroup.unknown(graph)
    else FailOpen("looking into the history", (_: String) => KnownGroup.unknown(graph))(
      PlanningTime.orNoneInPart(PartOfLookUp)(known(graph, leaves, reduced, forms)).getOrElse {
        PlanningTime.cut("the look-up in the history took too long")
        KnownGroup.unknown(graph)
      }
    )

  private def known(
      graph: JoinGraph,
      leaves: Vector[LogicalPlan],
      reduced: Set[Int],
      named: HistoryForms
  ): KnownGroup = {
    val all                   = leaves.indices.toSet
    def usable(set: Set[Int]) = set == all || !set.exists(reduced)
    val whole                 =
      for (w <- named.whole; runs <- index.runs(w.key) if runs.relations.size == leaves.size) yield (w.order, runs)
    val changes = whole.fold(Vector.empty[Option[Double]]) { case (order, runs) =>
      order.indices.toVector.map(i => change(leaves(order(i)), runs.relations(i)))
    }
    val unchanged = whole.isDefined && changes.forall(_.contains(Same))
    val sets      = whole.filter(_._2.sets.nonEmpty) match {
      case Some((order, runs)) => runs.sets.flatMap { case (set, s) =>
          now(s.rows, graph, set.toVector.map(i => order(i) -> changes(i))).map(size =>
            set.map(order) -> Told(size, runs)
          )
        }
      // no run was complete: other groups may tell more
      case None => parts(named, leaves, graph)
    }
    val refuted = sets.collect { case (set, known) if contradicts(graph, set, known.size) => set.head }.toSet
    // what the statistics know for certain is better than a count that was scaled by bytes
    def isScaled(known: Told) = known.size match { case KnownSize.Rows(rows) => !rows.isExact; case _ => false }
    val counted               = sets.filter { case (set, known) =>
      usable(set) && !set.exists(refuted) && !(isScaled(known) && exact(graph, set))
    }
    // the same group has the same form without constants, which takes as long to compute as the exact one
    lazy val pattern = whole.fold(named.pattern) { case (order, runs) =>
      runs.pattern.map(p => p.copy(order = p.order.map(order(_))))
    }
    val orders     = ordersOf(whole, pattern, unchanged)
    val isComplete = counted.size >= 2 * leaves.size - 1
    val errors     =
      if (isComplete && unchanged && orders.nonEmpty) None
      else for (p <- pattern; e <- errorsOf(named, p, leaves)) yield e -> p.order
    val corrected =
      if (isComplete) Map.empty[Set[Int], KnownSize]
      else errors.fold(Map.empty[Set[Int], KnownSize]) { case (e, order) => factors(e, order) }.filter {
        case (set, _) =>
          usable(set) && !counted.contains(set) && !exact(graph, set)
      }
    val told = counted.values.map(_.by)
    KnownGroup(
      graph.knowing(corrected ++ counted.map { case (set, t) => set -> t.size }),
      orders,
      counted.size,
      corrected.size,
      told.map(_.runs).foldLeft(0)(_ max _),
      told.map(_.at).foldLeft(0L)(_ max _),
      errors.map(_._1.data),
      whole.map(_._2.data).filter(_ => changes.forall(_.isDefined))
    )
  }

  /**
   * Orders of the group that have run or were tried. Orders that were short with other constants are among them, except
   * for those that have finished with these. If the data has changed, the orders count only if one of them was short,
   * and without their times.
   *
   * @param whole   the entry of the group with these constants, and the order in which it numbers the relations
   * @param pattern the group without constants
   */
  private def ordersOf(
      whole: Option[(Vector[Int], GroupRuns)],
      pattern: => Option[GroupIdentity.Whole],
      unchanged: Boolean
  ): Vector[(Shape, MeasuredOrder)] = {
    def numbered(runs: GroupRuns, order: Vector[Int]) =
      for (o <- runs.orders; shape <- OrderHint.numbered(o.shape, order).toOption) yield shape -> o
    val ran   = whole.toVector.flatMap { case (order, runs) => numbered(runs, order) }
    val short = for {
      p              <- pattern.toVector
      runs           <- index.runs(p.key).toVector
      (shape, order) <- numbered(runs, p.order)
      if order.isShort && !ran.exists { case (s, o) => o.runs != MeasuredOrder.Unfinished && s.sameJoins(shape) }
    } yield shape -> order
    if (unchanged) ran ++ short
    else if (ran.exists(_._2.isShort) || short.nonEmpty)
      (ran ++ short).map { case (shape, order) => shape -> order.copy(times = Vector.empty) }
    else Vector.empty
  }

  /**
   * Whether a count is that of one relation and cannot be right: the relation has more rows for certain, or another
   * exact number of rows. Then no set with this relation is trusted. Estimates do not distinguish 0 rows from 1. A
   * count of the catalog contradicts nothing: it is as old as the last ANALYZE.
   */
  private def contradicts(graph: JoinGraph, set: Set[Int], size: KnownSize): Boolean = set.size == 1 && {
    val statistics = graph.relations(set.head).profile.rows
    val counted    = size.rows(statistics)
    val rows       = math.max(counted.upper, 1.0)
    statistics.source != Source.Catalog && (rows < statistics.lower ||
      (statistics.isExact && counted.isExact && rows != math.max(statistics.value, 1.0)))
  }

  /** Whether the set is one relation whose row count the statistics know exactly. */
  private def exact(graph: JoinGraph, set: Set[Int]): Boolean =
    set.size == 1 && graph.relations(set.head).profile.rows.isExact

  /** Rows of sets that occurred in other groups of the history, too. */
  private def parts(
      forms: HistoryForms,
      leaves: Vector[LogicalPlan],
      graph: JoinGraph
  ): Map[Set[Int], Told] = {
    val keys = forms.relations
    val at   = keys.indices.filter(keys(_).isDefined).toVector.groupBy(keys(_).get)
    val all  = at.keys.toVector.sorted.flatMap(index.sets).filter { case (runs, set) =>
      set.forall(r => at.contains(runs.relations(r).key))
    }
    val share                                                           = PlanningTime.left / PartOfPlanning
    val since                                                           = System.nanoTime()
    def found(runs: GroupRuns, set: Set[Int]): Vector[(Set[Int], Told)] = {
      val members = set.toVector.sorted.map(runs.relations(_))
      val before  = members.map(m => m.key -> m).toMap
      // relations of the same key may have read two snapshots of a table, and it is not known which is which here
      val mixed = members.exists(m => before(m.key).data != m.data)
      for {
        place <- if (mixed) Vector.empty else GroupForm.places(members.map(_.key), at, MostPlaces)
        if forms.set(place.sorted).contains(runs.sets(set).key)
        rows <- now(runs.sets(set).rows, graph, place.map(i => i -> change(leaves(i), before(keys(i).get))))
      } yield place.toSet -> Told(rows, runs)
    }
    val looked = all.iterator.take(MostParts).takeWhile(_ => System.nanoTime() - since < share).map {
      case (runs, set) => found(runs, set)
    }.toVector
    if (looked.size < math.min(all.size, MostParts)) PlanningTime.cut("the history was searched only in part")
    // the entries are sorted from new to old, and the last one put into the map wins
    looked.flatten.reverse.toMap
  }

  /**
   * Errors of the estimates for the same joins with other constants, by the same statistics, over this data, or over a
   * part of its files.
   */
  private def errorsOf(
      named: HistoryForms,
      pattern: GroupIdentity.Whole,
      leaves: Vector[LogicalPlan]
  ): Option[GroupErrors] = index.errors(named.template(pattern).key).filter(errors =>
    errors.statistics == named.statistics(pattern) && stamps.onlyGrew(leaves, errors.data)
  )

  /** @param order numbers of the group's relations, in the order in which the errors number them */
  private def factors(errors: GroupErrors, order: Vector[Int]): Map[Set[Int], KnownSize] =
    errors.sets.filter(_._1.forall(order.indices.contains)).map { case (set, e) =>
      val (_, value, _) = e.factor
      set.map(order) -> (KnownSize.Factor(value): KnownSize)
    }

  /** The factor by which a relation's data has grown; None if the data has changed otherwise. */
  private def change(leaf: LogicalPlan, before: GroupIdentity.OfRelation): Option[Double] = stamps(leaf).flatMap(now =>
    if (now == before.data) Some(Same) else stamps.growth(leaf, before.data)
  )

  /**
   * The size of a set whose relations' data may have grown since it was counted.
   *
   * @param rows    rows that were counted
   * @param members per relation of the set, the factor by which its data has grown; None if it has changed otherwise
   */
  private def now(rows: Long, graph: JoinGraph, members: Vector[(Int, Option[Double])]): Option[KnownSize] =
    if (members.exists(_._2.isEmpty)) None
    else if (members.forall(_._2.contains(Same))) Some(KnownSize.exactly(rows.toDouble, Source.History))
    else {
      val grown = SetGrowth(graph, members.sortBy(_._1).map { case (i, growth) => i -> growth.getOrElse(Same) })
      Some(KnownSize.Rows(Estimate(rows * grown, 0.0, Estimate.Ceiling, Source.History)))
    }
}

object KnownRuns {

  /** A size, and the entry that it comes from. */
  final private case class Told(size: KnownSize, by: GroupRuns)

  /** Growth factor of data that has not changed. */
  private val Same = 1.0

  /** One part in so many of the planning time that is left may be used for the whole look-up. */
  private val PartOfLookUp = 4L

  /** One part in so many of the planning time that is left may be used to find parts of the group. */
  private val PartOfPlanning = 8L

  /** Most sets of other groups that are compared; each takes some ten microseconds. */
  private val MostParts = 64

  /** Most assignments of the relations of a set to those of the group. A self-join has more than one. */
  private val MostPlaces = 4
}

/**
 * A group with the history's knowledge about it.
 *
 * @param graph     join graph with the known row counts and corrections
 * @param orders    plans that have run or were tried, in the order of their first runs
 * @param counted   number of sets with row counts of earlier runs
 * @param corrected number of sets whose estimates are corrected by the errors of earlier runs
 * @param runs      number of runs behind the row counts
 * @param at        time of the last of these runs, in seconds since 1970
 * @param errorsOver state of the data in the runs whose errors correct the estimates
 * @param countsOver state of the data in the group's own entry, if files were only added since
 */
final case class KnownGroup(
    graph: JoinGraph,
    orders: Vector[(Shape, MeasuredOrder)],
    counted: Int,
    corrected: Int,
    runs: Int,
    at: Long,
    errorsOver: Option[DataStamp],
    countsOver: Option[DataStamp]
) {

  /** A note for explain. */
  def note: Option[String] = {
    val rows = if (counted == 0) None
    else Some(s"rows of $counted sub-plans, counted in $runs ${if (runs == 1) "run" else "runs"}, the last $age ago")
    val factors = if (corrected == 0) None else Some(s"$corrected estimates corrected by runs with other constants")
    if (rows.isEmpty && factors.isEmpty) None else Some((rows ++ factors).mkString("history: ", "; ", ""))
  }

  private def age: String = {
    val seconds = math.max(0L, Instant.now().getEpochSecond - at)
    KnownGroup.Units.collectFirst { case (unit, name) if seconds >= 2 * unit => s"${seconds / unit} $name" }
      .getOrElse(s"$seconds s")
  }
}

object KnownGroup {
  def unknown(graph: JoinGraph): KnownGroup = KnownGroup(graph, Vector.empty, 0, 0, 0, 0L, None, None)

  private val Units = Vector(86400L -> "days", 3600L -> "hours", 60L -> "min")
}
