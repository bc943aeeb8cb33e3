package org.apache.spark.sql.dovetail.history

import java.time.Instant
import java.util.concurrent.TimeUnit
import java.util.{Collections, WeakHashMap}

import scala.ref.WeakReference

import dovetail.kernel.enumerate.{JoinTree, Shape}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.group.JoinGroup
import org.apache.spark.sql.dovetail.log.{LoggedQuery, LoggedRun, QueryLog}
import org.apache.spark.sql.dovetail.report.{GroupIdentity, GroupReport}

/**
 * Writes the results of a query into the history: complete row counts, under the keys by which later queries find them.
 * It runs in the history's thread, after the query.
 */
object RunRecorder {

  // weak keys, so that sessions can be garbage collected
  private val watched = Collections.synchronizedMap(new WeakHashMap[SparkSession, java.lang.Boolean])

  /** Starts to record this session's queries, if it has not been started yet. */
  def watch(session: SparkSession): Unit = if (watched.put(session, true) == null) {
    // when a query has run, the session may have another store, or be gone
    val weak = new WeakReference(session)
    QueryLog(session).observe(run =>
      weak.get.map(History(_)).foreach(h =>
        History.later(0L)(if (run.finished) record(h, run) else unfinished(h, run.query))
      )
    )
  }

  def isOn(session: SparkSession): Boolean = DovetailConf.HistoryEnabled.get(session.sessionState.conf)

  /**
   * The keys by which later queries recognize a group. Callers must not run this in the thread that plans.
   *
   * @param tree    the chosen plan
   * @param planned rows of the relations, estimated from statistics alone
   * @param reduced relations that other inputs reduce, so that a run does not show their own row counts
   * @param at      when the query was planned, in milliseconds of the system's clock: files that are newer were written
   *                after that, and the query may not have read them
   */
  def identity(
      group: JoinGroup,
      forms: HistoryForms,
      tree: JoinTree,
      planned: Vector[Double],
      reduced: Set[Int],
      at: Long
  ): Option[GroupIdentity] = if (group.leaves.size > HistoryForms.MostRelations) None
  else {
    val stamps    = new DataStamps
    val relations = group.leaves.indices.toVector.map { i =>
      for (key <- forms.relations(i); data <- stamps(group.leaves(i)) if data.newest <= at)
        yield GroupIdentity.OfRelation(key, HistoryForms.tables(group.leaves(i)), data)
    }
    val all  = group.leaves.indices.toSet
    val sets =
      (group.leaves.indices.map(i => Set(i) -> planned(i)) ++ tree.joins.map(j =>
        j.relations.toSet -> j.estimated
      )).filter {
        case (set, _) => set.forall(relations(_).isDefined) && (set == all || !set.exists(reduced))
      }
    val named = for ((set, estimated) <- sets; key <- forms.set(set.toVector.sorted))
      yield set -> GroupIdentity.OfSet(key, estimated)
    val recognized = relations.indices.filter(relations(_).isDefined).toVector
    if (recognized.size == relations.size)
      Some(GroupIdentity(forms.whole, forms.template, relations, named.toMap, Some(tree.shape)))
    else if (recognized.nonEmpty)
      Some(GroupIdentity(forms.part(recognized), None, relations, named.toMap, None))
    else None
  }

  private def record(history: History, run: LoggedRun): Unit = {
    val at     = Instant.now().getEpochSecond
    val groups = run.query.groups.flatMap(g => g.identity.map(g -> _))
    val runs   = for ((g, id) <- groups; whole <- id.form)
      yield whole.key -> ((before: Option[HistoryEntry]) => runsOf(g, id, whole, before, run, at))
    val errors = for ((g, id) <- groups; whole <- id.template)
      yield whole.key -> ((before: Option[HistoryEntry]) => errorsOf(g, id, whole, before, at))
    val all = (runs ++ errors).toMap
    if (all.nonEmpty) history.add(all.keys.toVector.sorted)((key, before) => all(key)(before))
  }

  /**
   * Notes the orders of a query that failed or was cancelled. It does so only for groups of which another order has
   * run: the other groups have no other choice.
   */
  private def unfinished(history: History, query: LoggedQuery): Unit = {
    val index = history.now
    val tried = for {
      g     <- query.groups if !g.changedAtRun
      id    <- g.identity
      whole <- id.form
      shape <- id.shape
      known <- index.runs(whole.key)
      if sameData(known, whole.order.map(id.relations(_).get)) && known.orders.exists(_.finished)
    } yield whole.key -> ((known, MeasuredOrder(text(shape, whole.order.zipWithIndex.toMap), 0, "", 0L)))
    val byKey = tried.toMap
    if (byKey.nonEmpty) history.add(byKey.keys.toVector.sorted) { (key, before) =>
      val (known, order) = byKey(key)
      val runs           = before.collect { case r: GroupRuns => r }.getOrElse(known)
      runs.copy(orders = MeasuredOrder.added(runs.orders, order))
    }
  }

  private def sameData(runs: GroupRuns, relations: Vector[GroupIdentity.OfRelation]): Boolean =
    runs.relations.map(_.data) == relations.map(_.data)

  private def complete(g: GroupReport, id: GroupIdentity): Map[Set[Int], Long] =
    g.counts.collect { case (set, count) if count.complete && id.sets.contains(set) => set -> count.rows }

  private def runsOf(
      g: GroupReport,
      id: GroupIdentity,
      whole: GroupIdentity.Whole,
      before: Option[HistoryEntry],
      run: LoggedRun,
      at: Long
  ): HistoryEntry = {
    val number    = whole.order.zipWithIndex.toMap
    val relations = whole.order.map(id.relations(_).get)
    val counted   = complete(g, id)
    val sets      = counted.map { case (set, rows) =>
      set.map(number) -> GroupRuns.OfSet(id.sets(set).key, rows, id.sets(set).estimated)
    }
    val millis = run.query.nanos.fold(0L)(TimeUnit.NANOSECONDS.toMillis(_))
    // only times of the same action are comparable: one action shows some rows, another one writes all
    val name   = run.query.query.fold("")(sql => HistoryForms.keyOf(s"${run.action}\n$sql"))
    val order  = id.shape.map(shape => MeasuredOrder(text(shape, number), 1, name, millis))
    val known  = before.collect { case r: GroupRuns if sameData(r, relations) => r }
    val orders = known.fold(Vector.empty[MeasuredOrder])(_.orders)
    GroupRuns(
      whole.key,
      relations,
      known.fold(Map.empty[Set[Int], GroupRuns.OfSet])(_.sets) ++ sets,
      // if not all rows were read and counted, or the order changed at run time, the order's cost is not known
      if (g.changedAtRun || run.stops || !counted.exists(_._1.size == whole.order.size)) orders
      else order.fold(orders)(MeasuredOrder.added(orders, _)),
      known.fold(0)(_.runs) + 1,
      at
    )
  }

  /** Text of an order. The side with the smallest relation number comes first, so equal joins have equal texts. */
  private def text(shape: Shape, number: Int => Int): String = {
    def ordered(s: Shape): Shape = s match {
      case Shape.Leaf(r)    => Shape.Leaf(number(r))
      case Shape.Join(l, r) =>
        val (a, b) = (ordered(l), ordered(r))
        if (a.leaves.min < b.leaves.min) Shape.Join(a, b) else Shape.Join(b, a)
    }
    ordered(shape).render(_.toString)
  }

  /**
   * Adds the estimation errors of a run to an entry. Errors of relations are the errors of their statistics. Errors of
   * joins exclude the errors of their relations, because the next query corrects the relations first.
   */
  private def errorsOf(
      g: GroupReport,
      id: GroupIdentity,
      whole: GroupIdentity.Whole,
      before: Option[HistoryEntry],
      at: Long
  ): HistoryEntry = {
    val number                = whole.order.zipWithIndex.toMap
    val data                  = id.relations.flatten.map(_.data).reduce(_ + _)
    val known                 = before.collect { case e: GroupErrors if e.data == data => e }
    val counts                = complete(g, id)
    val used                  = g.relations.map(_.rows.fold(1.0)(r => math.max(r.value, 1.0)))
    def missed(relation: Int) = counts.get(Set(relation)).map(rows => math.max(rows.toDouble, 1.0) / used(relation))
    val found                 = for {
      (set, rows) <- counts.toVector
      base = if (set.size == 1) Vector(Some(1.0)) else set.toVector.map(missed)
      if base.forall(_.isDefined)
    } yield set.map(number) -> ((rows.toDouble, id.sets(set).estimated * base.flatten.product))
    val sets = found.foldLeft(known.fold(Map.empty[Set[Int], EstimateErrors])(_.sets)) {
      case (all, (set, (rows, of))) =>
        all.updated(set, all.getOrElse(set, EstimateErrors.none) + (rows, of))
    }
    GroupErrors(whole.key, id.relations.flatten.flatMap(_.tables).distinct, data, sets, known.fold(0)(_.runs) + 1, at)
  }
}
