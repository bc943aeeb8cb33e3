package org.apache.spark.sql.dovetail.history

import org.apache.spark.sql.dovetail.report.{DataStamp, GroupIdentity}

/** What the history keeps of a group of joins. Relations are numbered as in the form that is the key. */
sealed trait HistoryEntry {
  def key: String

  /** What its relations read. */
  def tables: Vector[String]

  /** Runs that told of it. */
  def runs: Int

  /** The last of them, in seconds since 1970. */
  def at: Long

  /** The same, told by other runs meanwhile. */
  def merged(that: HistoryEntry): HistoryEntry

  /** Characters that it takes in the file, roughly. */
  def size: Long
}

object HistoryEntry {

  /** Sets of relations in an order of their own, small ones first, each with its numbers in order. */
  def sorted[A](sets: Map[Set[Int], A]): Vector[(Vector[Int], A)] =
    sets.toVector.map { case (set, a) => set.toVector.sorted -> a }.sortBy(s => (s._1.size, s._1.mkString(",")))
}

/**
 * Rows that came out of sets of relations of one group, constants included, over one state of its data.
 *
 * @param relations in their order
 * @param sets      by the numbers of their relations
 * @param orders    plans that have run, in the order in which they first did
 */
final case class GroupRuns(
    key: String,
    relations: Vector[GroupIdentity.OfRelation],
    sets: Map[Set[Int], GroupRuns.OfSet],
    orders: Vector[MeasuredOrder],
    runs: Int,
    at: Long
) extends HistoryEntry {

  override def tables: Vector[String] = relations.flatMap(_.tables).distinct

  override def merged(that: HistoryEntry): HistoryEntry = that match {
    case other: GroupRuns if other.relations.map(_.data) == relations.map(_.data) =>
      val (older, newer) = if (at <= other.at) (this, other) else (other, this)
      newer.copy(sets = older.sets ++ newer.sets, orders = MeasuredOrder.merged(older.orders, newer.orders))
    case other => if (at <= other.at) other else this
  }

  override def size: Long =
    GroupRuns.Fixed + relations.map(r => GroupRuns.PerRelation + r.tables.map(_.length).sum).sum +
      sets.size * GroupRuns.PerSet + orders.map(_.shape.length + GroupRuns.PerSet).sum
}

object GroupRuns {

  /** @param key hash of the set's form @param estimated by statistics alone */
  final case class OfSet(key: String, rows: Long, estimated: Double)

  // characters of the texts in a file
  private val Fixed       = 120L
  private val PerRelation = 90L
  private val PerSet      = 50L
}

/**
 * A plan of a group that has run.
 *
 * @param shape  by the numbers of the form
 * @param query  hash of the text of the query that ran last with it; empty where it had none
 * @param millis the fastest run of that query
 */
final case class MeasuredOrder(shape: String, runs: Int, query: String, millis: Long) {
  def again(that: MeasuredOrder): MeasuredOrder =
    copy(
      runs = runs + that.runs,
      query = that.query,
      millis = if (query == that.query) math.min(millis, that.millis) else that.millis
    )
}

object MeasuredOrder {

  /** One more run. */
  def added(to: Vector[MeasuredOrder], run: MeasuredOrder): Vector[MeasuredOrder] =
    to.indexWhere(_.shape == run.shape) match {
      case -1 => to :+ run
      case i  => to.updated(i, to(i).again(run))
    }

  /** Two tellings of the same runs, and some that only one knows. */
  def merged(older: Vector[MeasuredOrder], newer: Vector[MeasuredOrder]): Vector[MeasuredOrder] =
    newer.foldLeft(older)((all, o) =>
      all.indexWhere(_.shape == o.shape) match {
        case -1 => all :+ o
        case i  => all.updated(i, if (all(i).runs > o.runs) all(i) else o)
      }
    )
}

/**
 * How far estimates of sets of a group were off, over runs with all kinds of constants and one state of its data.
 *
 * @param data of the group's relations
 * @param sets by the numbers of their relations
 */
final case class GroupErrors(
    key: String,
    tables: Vector[String],
    data: DataStamp,
    sets: Map[Set[Int], EstimateErrors],
    runs: Int,
    at: Long
) extends HistoryEntry {

  override def merged(that: HistoryEntry): HistoryEntry = that match {
    case other: GroupErrors if other.data == data && other.runs != runs => if (runs > other.runs) this else other
    case other                                                          => if (at <= other.at) other else this
  }

  override def size: Long = GroupErrors.Fixed + tables.map(_.length).sum + sets.size * GroupErrors.PerSet
}

object GroupErrors {

  // characters of the texts in a file
  private val Fixed  = 150L
  private val PerSet = 60L
}

/**
 * The logarithms of true over estimated rows of one kind of set: their number, sum, and sum of squares.
 *
 * A new instance is corrected by their mean, as if one more run had been estimated right: the posterior mean under a
 * prior of one observation (shrinkage, Efron and Morris 1975). Its bounds are the mean and two standard deviations of a
 * new value to both sides; the prior has the spread that estimates of joins have without history.
 */
final case class EstimateErrors(n: Int, sum: Double, squares: Double) {
  import EstimateErrors._

  def +(actual: Double, estimated: Double): EstimateErrors = {
    val error = math.log(math.max(actual, 1.0) / math.max(estimated, 1.0))
    EstimateErrors(n + 1, sum + error, squares + error * error)
  }

  /** Numbers that runs can have told. */
  def possible: Boolean =
    n > 0 && math.abs(sum) <= n * MostError && squares >= 0.0 && squares <= n * MostError * MostError

  /** What to multiply an estimate by: lower bound, value, upper bound. */
  def factor: (Double, Double, Double) = {
    val mean     = sum / (n + 1)
    val variance = math.max(0.0, (squares + Prior * Prior) / (n + 1) - mean * mean)
    val spread   = Deviations * math.sqrt(variance * (1.0 + 1.0 / (n + 1)))
    (math.exp(mean - spread), math.exp(mean), math.exp(mean + spread))
  }
}

object EstimateErrors {
  val none: EstimateErrors = EstimateErrors(0, 0.0, 0.0)

  /** The largest logarithm of an error: estimates end at 1e30. */
  private val MostError = 70.0

  /** Standard deviation of the logarithm of true over estimated rows: a factor of three, as bare tables have it. */
  private val Prior = math.log(3.0)

  /** To both sides of the mean: 95 of 100 values lie within. */
  private val Deviations = 2.0
}
