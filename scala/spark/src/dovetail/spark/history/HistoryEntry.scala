package org.apache.spark.sql.dovetail.history

import dovetail.kernel.enumerate.Shape
import org.apache.spark.sql.dovetail.report.{DataStamp, GroupIdentity}

/**
 * An entry of the history on one join group. Relations are numbered as in the canonical form that the key is made of.
 */
sealed trait HistoryEntry {
  def key: String

  /** Tables that the group's relations read. */
  def tables: Vector[String]

  /** Number of runs that contributed to the entry. */
  def runs: Int

  /** Time of the last run, in seconds since 1970. */
  def at: Long

  /** Merges this entry with another one of the same key, from other runs. */
  def merged(that: HistoryEntry): HistoryEntry

  /** Approximate number of characters in the file. */
  def size: Long
}

object HistoryEntry {

  /** Sets of relations in a fixed order, small sets first, each with its numbers in ascending order. */
  def sorted[A](sets: Map[Set[Int], A]): Vector[(Vector[Int], A)] =
    sets.toVector.map { case (set, a) => set.toVector.sorted -> a }.sortBy(s => (s._1.size, s._1.mkString(",")))
}

/**
 * Rows that sets of relations of one group returned, for fixed constants and one state of the data.
 *
 * @param relations relations of the group by number
 * @param sets      row counts by the numbers of the relations
 * @param orders    plans that have run or were tried, in the order of their first runs
 * @param pattern   the group without constants, with the numbers of this entry's relations; None if it has no constants
 */
final case class GroupRuns(
    key: String,
    relations: Vector[GroupIdentity.OfRelation],
    sets: Map[Set[Int], GroupRuns.OfSet],
    orders: Vector[MeasuredOrder],
    pattern: Option[GroupIdentity.Whole],
    runs: Int,
    at: Long
) extends HistoryEntry {

  override def tables: Vector[String] = relations.flatMap(_.tables).distinct

  /** State of the data of all relations. */
  def data: DataStamp = relations.map(_.data).foldLeft(DataStamp.none)(_ + _)

  /** Whether the joined rows of the whole group were counted. */
  def isWhole: Boolean = sets.keys.exists(_.size == relations.size)

  override def merged(that: HistoryEntry): HistoryEntry = that match {
    case other: GroupRuns if other.relations.map(_.data) == relations.map(_.data) =>
      val (older, newer) = if (at <= other.at) (this, other) else (other, this)
      newer.copy(
        sets = older.sets ++ newer.sets,
        orders = MeasuredOrder.merged(older.orders, newer.orders),
        pattern = newer.pattern.orElse(older.pattern)
      )
    case other: GroupRuns =>
      val (older, newer) = if (at <= other.at) (this, other) else (other, this)
      newer.copy(orders = MeasuredOrder.merged(older.orders.filter(_.isShort), newer.orders))
    case other => if (at <= other.at) other else this
  }

  override def size: Long =
    GroupRuns.Fixed + relations.map(r => GroupRuns.PerRelation + r.tables.map(_.length).sum).sum +
      sets.size * GroupRuns.PerSet + orders.map(o =>
        o.shape.length + GroupRuns.PerSet + o.times.size * GroupRuns.PerTime
      ).sum +
      (if (pattern.isDefined) GroupRuns.PerRelation else 0L)
}

object GroupRuns {

  /**
   * @param key       hash of the set's canonical form
   * @param rows      rows that the set returned
   * @param estimated rows estimated from statistics alone
   */
  final case class OfSet(key: String, rows: Long, estimated: Double)

  // characters in the file
  private val Fixed       = 120L
  private val PerRelation = 90L
  private val PerSet      = 50L
  private val PerTime     = 50L
}

/**
 * A plan of a group that has run, with its number of runs and its times.
 *
 * @param shape join order, written with the numbers of the canonical form
 * @param runs  number of complete runs, or one of the marks [[MeasuredOrder.Unfinished]] and [[MeasuredOrder.Short]]
 * @param times times of the queries that last ran with this plan, the latest query last
 */
final case class MeasuredOrder(shape: String, runs: Int, times: Vector[MeasuredOrder.QueryTime]) {
  import MeasuredOrder._

  def finished: Boolean = runs > 0

  /** Whether it has run only without the memory, the disk or the executors that it needed. */
  def isShort: Boolean = runs == Short

  def again(that: MeasuredOrder): MeasuredOrder =
    if (!finished && !that.finished) if (isShort) this else that
    else if (!that.finished) this
    else if (!finished) that
    else copy(runs = runs + that.runs, times = that.times.foldLeft(times)(added).takeRight(MostQueries))

  /**
   * Milliseconds that the queries took which ran with both plans: with this one, and with the other one. The first run
   * of a query in an application may have been slow for other reasons, so it does not show that the other plan is slow.
   */
  def compared(that: MeasuredOrder): (Long, Long) = {
    val both = for (mine <- times; theirs <- that.times if theirs.query == mine.query && theirs.warm)
      yield (mine.millis, theirs.millis)
    (both.map(_._1).sum, both.map(_._2).sum)
  }
}

object MeasuredOrder {

  /** In place of a number of runs: the order was tried, and its run failed or was cancelled. */
  val Unfinished = 0

  /**
   * In place of a number of runs: the order was tried, and memory, a disk or executors were short. Unlike other
   * failures, this one comes again with other data and other constants, so it is kept for them.
   */
  val Short: Int = -1

  /**
   * Text of an order. The side with the smallest number comes first, so equal joins have equal texts.
   *
   * @param order numbers of the group's relations, in the order in which the text numbers them
   */
  def text(shape: Shape, order: Vector[Int]): String = {
    val number                   = order.zipWithIndex.toMap
    def ordered(s: Shape): Shape = s match {
      case Shape.Leaf(r)    => Shape.Leaf(number(r))
      case Shape.Join(l, r) =>
        val (a, b) = (ordered(l), ordered(r))
        if (a.leaves.min < b.leaves.min) Shape.Join(a, b) else Shape.Join(b, a)
    }
    ordered(shape).render(_.toString)
  }

  /**
   * @param query  hash of what the query computes, and of the action
   * @param millis time of the fastest run
   * @param warm   whether one of the runs came after another run of the query in the same application: a first run
   *               compiles code and reads files for the first time
   */
  final case class QueryTime(query: String, millis: Long, warm: Boolean)

  /** Most queries whose times are kept for one plan. */
  private val MostQueries = 4

  private def added(times: Vector[QueryTime], run: QueryTime): Vector[QueryTime] = {
    val all = times.filter(_.query == run.query) :+ run
    times.filterNot(_.query == run.query) :+ run.copy(millis = all.map(_.millis).min, warm = all.exists(_.warm))
  }

  /** Adds a run. */
  def added(to: Vector[MeasuredOrder], run: MeasuredOrder): Vector[MeasuredOrder] =
    to.indexWhere(_.shape == run.shape) match {
      case -1 => to :+ run
      case i  => to.updated(i, to(i).again(run))
    }

  /**
   * Merges two lists that may have runs in common. Of two entries for a plan, the one with more runs is kept; of two
   * that did not finish, the one that was short.
   */
  def merged(older: Vector[MeasuredOrder], newer: Vector[MeasuredOrder]): Vector[MeasuredOrder] =
    newer.foldLeft(older)((all, o) =>
      all.indexWhere(_.shape == o.shape) match {
        case -1                                 => all :+ o
        case i if all(i).finished || o.finished => all.updated(i, if (all(i).runs > o.runs) all(i) else o)
        case i                                  => all.updated(i, all(i).again(o))
      }
    )
}

/**
 * Errors of the estimates for sets of relations of one group, over runs with any constants and one state of the data.
 *
 * @param data       state of the data of the group's relations
 * @param statistics version of the statistics that the estimates were made from ([[HistoryForms.statistics]]); empty if
 *                   an older version of Dovetail wrote the entry
 * @param sets       errors by the numbers of the relations
 */
final case class GroupErrors(
    key: String,
    tables: Vector[String],
    data: DataStamp,
    statistics: String,
    sets: Map[Set[Int], EstimateErrors],
    runs: Int,
    at: Long
) extends HistoryEntry {

  override def merged(that: HistoryEntry): HistoryEntry = that match {
    case other: GroupErrors if other.data == data && other.statistics == statistics && other.runs != runs =>
      if (runs > other.runs) this else other
    case other => if (at <= other.at) other else this
  }

  override def size: Long = GroupErrors.Fixed + tables.map(_.length).sum + sets.size * GroupErrors.PerSet
}

object GroupErrors {

  // characters in the file
  private val Fixed  = 190L
  private val PerSet = 60L
}

/**
 * The estimation errors of one set of relations: number, sum, and sum of squares of the logarithms of actual over
 * estimated rows.
 *
 * A new estimate is corrected by the mean of these logarithms, computed as if one more run had been estimated
 * correctly. This is the posterior mean under a prior of one observation (shrinkage, Efron and Morris 1975). The
 * interval of the new estimate reaches two standard deviations of a new value to both sides of the mean. It is for
 * people: a value may lie outside of it, so it is no bound that a decision may depend on. The prior has the spread that
 * join estimates have without history.
 */
final case class EstimateErrors(n: Int, sum: Double, squares: Double) {
  import EstimateErrors._

  def +(actual: Double, estimated: Double): EstimateErrors = {
    val error = math.log(math.max(actual, 1.0) / math.max(estimated, 1.0))
    EstimateErrors(n + 1, sum + error, squares + error * error)
  }

  /** Whether real runs can have these numbers; checks numbers from a file. */
  def possible: Boolean =
    n > 0 && math.abs(sum) <= n * MostError && squares >= 0.0 && squares <= n * MostError * MostError

  /** Factors for an estimate: lower end of the interval, value, upper end. */
  def factor: (Double, Double, Double) = {
    val mean     = sum / (n + 1)
    val variance = math.max(0.0, (squares + Prior * Prior) / (n + 1) - mean * mean)
    val spread   = Deviations * math.sqrt(variance * (1.0 + 1.0 / (n + 1)))
    (math.exp(mean - spread), math.exp(mean), math.exp(mean + spread))
  }
}

object EstimateErrors {
  val none: EstimateErrors = EstimateErrors(0, 0.0, 0.0)

  /** Largest logarithm of an error, because estimates are at most 1e30. */
  private val MostError = 70.0

  /**
   * Prior standard deviation of the logarithm of actual over estimated rows: a factor of three, as without statistics.
   */
  private val Prior = math.log(3.0)

  /** Standard deviations between the mean and each end of the interval: 95 of 100 values lie within it. */
  private val Deviations = 2.0
}
