package org.apache.spark.sql.dovetail.history

import java.time.Instant
import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicReference
import java.util.{Collections, WeakHashMap}

import dovetail.kernel.enumerate.JoinTree
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.group.JoinGroup
import org.apache.spark.sql.dovetail.log.{LoggedRun, QueryLog, RunEnd}
import org.apache.spark.sql.dovetail.report.{GroupIdentity, GroupReport}

/**
 * Writes the results of a query into the history: complete row counts, under the keys by which later queries find them.
 * The query log's thread makes the keys while the query runs, and the history's thread writes the counts after that.
 */
object RunRecorder {

  // The history with which each session planned last: a query runs in threads of another user if the server acts for
  // its clients, and these would find another store. Weak keys, so that sessions can be garbage collected.
  private val watched = Collections.synchronizedMap(new WeakHashMap[SparkSession, AtomicReference[History]])

  /** Starts to record this session's queries, if it has not been started yet. Planning calls it for each query. */
  def watch(session: SparkSession): Unit = {
    val history = History(session)
    val latest  = new AtomicReference(history)
    Option(watched.putIfAbsent(session, latest)) match {
      case Some(known) => known.set(history)
      case None        => QueryLog(session).observe { run =>
          val h = latest.get
          History.later(0L)(if (run.end == RunEnd.Finished) record(h, run) else unfinished(h, run))
          ()
        }
    }
  }

  def isOn(session: SparkSession): Boolean = DovetailConf.HistoryEnabled.get(session.sessionState.conf)

  /**
   * The keys by which later queries recognize a group. Callers must not run this in the thread that plans.
   *
   * @param known     what the history knew when the query was planned
   * @param tree      the chosen plan
   * @param planned   rows of the relations, estimated from statistics alone
   * @param reduced   relations that other inputs reduce, so that a run does not show their own row counts
   * @param at        when the query was planned, in milliseconds of the system's clock
   * @param snapshots snapshots that the leaves read then ([[IcebergSnapshot]])
   */
  def identity(
      group: JoinGroup,
      forms: HistoryForms,
      known: KnownGroup,
      tree: JoinTree,
      planned: Vector[Double],
      reduced: Set[Int],
      at: Long,
      snapshots: Vector[Vector[Option[String]]]
  ): Option[GroupIdentity] = {
    val relations = new RecognizedGroup(group, forms).relations(at, snapshots)
    val all       = group.leaves.indices.toSet
    val sets      =
      (group.leaves.indices.map(i => Set(i) -> planned(i)) ++ tree.joins.map(j =>
        j.relations.toSet -> j.estimated
      )).filter {
        case (set, _) => set.forall(relations(_).isDefined) && (set == all || !set.exists(reduced))
      }
    val named = for ((set, estimated) <- sets; key <- forms.set(set.toVector.sorted))
      yield set -> GroupIdentity.OfSet(key, estimated)
    val recognized = relations.indices.filter(relations(_).isDefined).toVector
    if (recognized.size == relations.size) {
      val (pattern, shape) = (forms.pattern, Some(tree.shape))
      val template         = pattern.map(forms.template(_))
      val statistics       = pattern.fold("")(forms.statistics(_))
      Some(GroupIdentity(
        forms.whole,
        pattern,
        template,
        statistics,
        at,
        known.errorsOver,
        known.countsOver,
        relations,
        named.toMap,
        shape
      ))
    } else if (recognized.nonEmpty)
      Some(GroupIdentity(forms.part(recognized), None, None, "", at, None, None, relations, named.toMap, None))
    else None
  }

  /** A group of a query that has run. */
  final private class CountedGroup(report: GroupReport, val id: GroupIdentity) {

    /** Complete row counts of sets of relations. */
    val rows: Map[Set[Int], Long] =
      report.counts.collect { case (set, count) if count.complete && id.sets.contains(set) => set -> count.rows }

    /** The order that ran; None if not all rows were read and counted, or if the order changed at run time. */
    def order(of: GroupIdentity.Whole): Option[String] =
      if (report.changedAtRun || !rows.exists(_._1.size == of.order.size)) None
      else id.shape.map(MeasuredOrder.text(_, of.order))

    /** Rows that the plan was made with. */
    val used: Vector[Double] = report.relations.map(_.rows.fold(1.0)(r => math.max(r.value, 1.0)))
  }

  private def record(history: History, run: LoggedRun): Unit = {
    val at     = Instant.now().getEpochSecond
    val groups =
      run.query.groups.flatMap(g => g.identity.value.map(new CountedGroup(g, _))).filter(_.rows.nonEmpty)
    // a query may have the same group twice
    def byKey(whole: GroupIdentity => Option[GroupIdentity.Whole]) =
      groups.flatMap(g => whole(g.id).map(w => w.key -> ((g, w)))).groupBy(_._1).map { case (k, all) =>
        k -> all.map(_._2)
      }
    val (runs, errors) = (byKey(_.form), byKey(_.template))
    val keys           = (runs.keySet ++ errors.keySet).toVector.sorted
    if (keys.nonEmpty) history.add(keys)((key, told) =>
      runs.get(key).map(runsOf(key, _, told(key), run, at)).getOrElse(errorsOf(key, errors(key), told, at))
    )
  }

  /**
   * Notes the orders of a query that failed or was cancelled. If no order of a group has run yet, it notes the order
   * only if memory, a disk or executors were short: any other failure, and a user who cancels a query, says nothing
   * about its order. What was short once is noted for other constants, too.
   */
  private def unfinished(history: History, run: LoggedRun): Unit = {
    val index = history.now
    val at    = Instant.now().getEpochSecond
    val tried = for {
      g     <- run.query.groups if !g.changedAtRun
      id    <- g.identity.value.toVector
      shape <- id.shape.toVector
      whole <- id.form.toVector ++ id.pattern.filter(_ => run.end == RunEnd.OutOfResources)
      relations = relationsOf(id, whole)
      before    = index.runs(whole.key).filter(sameData(_, relations))
      if run.end == RunEnd.OutOfResources || before.exists(_.orders.exists(_.finished))
    } yield {
      val pattern = if (id.pattern.contains(whole)) None else numbered(id, whole)
      val first   = GroupRuns(whole.key, relations, Map.empty, Vector.empty, pattern, 0, at)
      val mark    = if (run.end == RunEnd.OutOfResources) MeasuredOrder.Short else MeasuredOrder.Unfinished
      val order   = MeasuredOrder(MeasuredOrder.text(shape, whole.order), mark, Vector.empty)
      whole.key -> ((before.getOrElse(first), order))
    }
    // a query may have groups with the same key, with constants or without
    val byKey = tried.groupBy(_._1).map { case (key, all) => key -> all.map(_._2) }
    if (byKey.nonEmpty) history.add(byKey.keys.toVector.sorted) { (key, told) =>
      val (known, tried) = (byKey(key).head._1, byKey(key).map(_._2))
      val runs           = told(key) match {
        case Some(r: GroupRuns) if sameData(r, known.relations) => r
        // the counts of other data may still be scaled, but that an order has finished over it says nothing any more
        case Some(r: GroupRuns) if run.end == RunEnd.OutOfResources =>
          r.copy(orders = r.orders.filterNot(o => tried.exists(_.shape == o.shape)))
        case other => known.copy(orders = MeasuredOrder.merged(shortIn(other), known.orders))
      }
      // what has no counts yet is as old as the last failure
      runs.copy(orders = tried.foldLeft(runs.orders)(MeasuredOrder.added), at = if (runs.runs == 0) at else runs.at)
    }
  }

  /** The orders of an entry that stay when the data changes: with as much data or more, they will not finish either. */
  private def shortIn(entry: Option[HistoryEntry]): Vector[MeasuredOrder] =
    entry.toVector.collect { case r: GroupRuns => r.orders.filter(_.isShort) }.flatten

  private def sameData(runs: GroupRuns, relations: Vector[GroupIdentity.OfRelation]): Boolean =
    runs.relations.map(_.data) == relations.map(_.data)

  private def relationsOf(id: GroupIdentity, whole: GroupIdentity.Whole): Vector[GroupIdentity.OfRelation] =
    whole.order.map(id.relations(_).get)

  /**
   * The entry after a run. A run that did not read the whole group, such as a preview with a LIMIT, leaves an entry
   * that has counted it, if files were only added since: the scaled counts tell more than those of a few inputs.
   */
  private def runsOf(
      key: String,
      same: Vector[(CountedGroup, GroupIdentity.Whole)],
      before: Option[HistoryEntry],
      run: LoggedRun,
      at: Long
  ): GroupRuns = {
    val added   = withRun(key, same, before, run, at)
    val grownOf = same.flatMap(_._1.id.scaledFrom)
    before.collect { case r: GroupRuns if r.isWhole && !added.isWhole && grownOf.contains(r.data) => r }
      .getOrElse(added)
  }

  private def withRun(
      key: String,
      same: Vector[(CountedGroup, GroupIdentity.Whole)],
      before: Option[HistoryEntry],
      run: LoggedRun,
      at: Long
  ): GroupRuns = {
    val (first, whole) = same.head
    val relations      = relationsOf(first.id, whole)
    val known          = before.collect { case r: GroupRuns if sameData(r, relations) => r }
    val sets           = for ((g, w) <- same; (set, rows) <- g.rows)
      yield set.map(w.order.zipWithIndex.toMap) -> GroupRuns.OfSet(g.id.sets(set).key, rows, g.id.sets(set).estimated)
    val took  = run.query.nanos.fold(0L)(TimeUnit.NANOSECONDS.toMillis(_))
    val times = run.computes.map(MeasuredOrder.QueryTime(_, took, run.warm)).toVector
    val ran   = if (run.stops) Vector.empty else same.flatMap { case (g, w) => g.order(w) }.distinct
    val tried = known.fold(shortIn(before))(_.orders)
    GroupRuns(
      key,
      relations,
      known.fold(Map.empty[Set[Int], GroupRuns.OfSet])(_.sets) ++ sets,
      ran.map(MeasuredOrder(_, 1, times)).foldLeft(tried)(MeasuredOrder.added),
      // a part of a larger group with the same key has none
      same.flatMap { case (g, w) => numbered(g.id, w) }.headOption.orElse(known.flatMap(_.pattern)),
      known.fold(0)(_.runs) + 1,
      at
    )
  }

  /** The group without constants, with the numbers of the relations in the group's entry. */
  private def numbered(id: GroupIdentity, whole: GroupIdentity.Whole): Option[GroupIdentity.Whole] =
    id.pattern.map(p => p.copy(order = p.order.map(whole.order.indexOf(_))))

  /**
   * Adds the estimation errors of a run to an entry. Errors of relations are the errors of their statistics. Errors of
   * joins exclude the errors of their relations, because the next query corrects the relations first. A set that has
   * run with the same constants before says nothing new about other constants.
   *
   * If statistics were collected while the query ran, the entry may tell of the new ones by now, and stays. An entry of
   * the future tells nothing: it was written while the clock was ahead.
   */
  private def errorsOf(
      key: String,
      same: Vector[(CountedGroup, GroupIdentity.Whole)],
      told: String => Option[HistoryEntry],
      at: Long
  ): GroupErrors = told(key) match {
    case Some(e: GroupErrors) if e.at <= at && isNewer(e, same.head._1.id) => e
    case _                                                                 => withErrorsOf(key, same, told, at)
  }

  private def isNewer(e: GroupErrors, than: GroupIdentity): Boolean =
    e.statistics != than.statistics && e.at > TimeUnit.MILLISECONDS.toSeconds(than.planned)

  private def withErrorsOf(
      key: String,
      same: Vector[(CountedGroup, GroupIdentity.Whole)],
      told: String => Option[HistoryEntry],
      at: Long
  ): GroupErrors = {
    val id   = same.head._1.id
    val data = id.relations.flatten.map(_.data).reduce(_ + _)
    // files may have been added since
    val known = told(key).collect {
      case e: GroupErrors if e.statistics == id.statistics && (e.data == data || id.grownFrom.contains(e.data)) => e
    }
    val found = for {
      (g, whole)  <- withOtherConstants(same)
      (set, rows) <- g.rows.toVector
      if !(ranBefore(g.id, set, told) && known.exists(_.sets.contains(set.map(whole.order.indexOf(_)))))
      base = if (set.size == 1) Vector(Some(1.0)) else set.toVector.map(missed(g, _))
      if base.forall(_.isDefined)
    } yield set.map(whole.order.zipWithIndex.toMap) ->
      ((rows.toDouble, g.id.sets(set).estimated * base.flatten.product))
    val sets = found.foldLeft(known.fold(Map.empty[Set[Int], EstimateErrors])(_.sets)) {
      case (all, (set, (rows, of))) =>
        all.updated(set, all.getOrElse(set, EstimateErrors.none) + (rows, of))
    }
    val tables = id.relations.flatten.flatMap(_.tables).distinct
    GroupErrors(key, tables, data, id.statistics, sets, known.fold(0)(_.runs) + 1, at)
  }

  private def withOtherConstants[A](same: Vector[(CountedGroup, A)]): Vector[(CountedGroup, A)] = {
    val keys = same.map(_._1.id.form.map(_.key))
    same.indices.toVector.filter(i => keys.indexOf(keys(i)) == i).map(same(_))
  }

  /** The factor by which a relation has more rows than the plan was made with. */
  private def missed(g: CountedGroup, relation: Int): Option[Double] =
    g.rows.get(Set(relation)).map(rows => math.max(rows.toDouble, 1.0) / g.used(relation))

  private def ranBefore(id: GroupIdentity, set: Set[Int], told: String => Option[HistoryEntry]): Boolean =
    id.form.exists(whole =>
      told(whole.key).exists {
        case r: GroupRuns => sameData(r, relationsOf(id, whole)) && r.sets.contains(set.map(whole.order.indexOf(_)))
        case _            => false
      }
    )
}
