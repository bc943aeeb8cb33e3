package org.apache.spark.sql.dovetail.report

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.ExprId
import org.apache.spark.sql.dovetail.base.Nanoseconds
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, QueryStageExec, ShuffleQueryStageExec}
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeLike, ReusedExchangeExec, ShuffleExchangeLike}
import org.apache.spark.sql.execution.joins.BaseJoinExec

/**
 * Lists the parts of an executed plan with their times and sizes, from Spark's own metrics: scans, joins, sorts,
 * exchanges, broadcasts, in the order in which they ran. Times are summed over all tasks. Operators that Spark compiles
 * into one function share the time of that function. A reused part ran once and is listed once.
 */
object ExecutedSteps {

  /** @param groups join groups that provide the names of the inputs */
  def apply(plan: SparkPlan, groups: Vector[GroupReport]): Vector[ExecutedStep] = {
    val walk = new Walk(groups.flatMap(_.relations).map(r => r.name -> r.columns).distinct)
    walk(plan)
    walk.steps.result()
  }

  final private class Walk(inputs: Vector[(String, Set[ExprId])]) {
    val steps: mutable.Builder[ExecutedStep, Vector[ExecutedStep]] = Vector.newBuilder[ExecutedStep]
    private val compiled                                           = mutable.Set.empty[SparkPlan]

    /** @return columns of the operator and of all operators below it */
    def apply(plan: SparkPlan): Set[ExprId] = plan match {
      case a: AdaptiveSparkPlanExec => apply(a.executedPlan)
      case s: ShuffleQueryStageExec => apply(s.plan, s.mapStats.fold(Array.empty[Long])(_.bytesByPartitionId))
      case q: QueryStageExec        => apply(q.plan)
      case other                    => apply(other, Array.empty[Long])
    }

    private def apply(p: SparkPlan, partitions: Array[Long]): Set[ExprId] = {
      p.subqueries.foreach(apply)
      p match {
        case w: WholeStageCodegenExec => compiled ++= joins(w.child)
        case _                        => ()
      }
      val again   = p.isInstanceOf[ReusedExchangeExec] || p.isInstanceOf[ReusedSubqueryExec]
      val below   = if (again) Vector.empty else p.children.toVector.map(apply)
      val columns = below.foldLeft(p.output.map(_.exprId).toSet)(_ ++ _)
      def names   = called(columns, p)
      p match {
        case w: WholeStageCodegenExec =>
          // a function without a join belongs to a scan, an aggregate or a sort
          if (joins(w.child).nonEmpty)
            add("join", names, millis(w, "pipelineTime"), None, spilled(joins(w.child)), None)
        case j: BaseJoinExec if !compiled(j) =>
          add("join", names, millis(j, "buildTime"), None, spilled(Vector(j)), None)
        case s: SortExec           => add("sort", names, millis(s, "sortTime"), None, spilled(Vector(s)), None)
        case f: DataSourceScanExec =>
          add("scan", names, millis(f, "scanTime"), bytes(f, "filesSize"), 0L, None)
        case e: ShuffleExchangeLike =>
          val plan = e.asInstanceOf[SparkPlan]
          val time = value(plan, "shuffleWriteTime").map(Nanoseconds.toMillis)
          add("exchange", names, time, bytes(plan, "shuffleBytesWritten"), 0L, skew(partitions))
        case b: BroadcastExchangeLike =>
          val plan = b.asInstanceOf[SparkPlan]
          val time = Seq("collectTime", "buildTime", "broadcastTime").flatMap(millis(plan, _))
          add("broadcast", names, if (time.isEmpty) None else Some(time.sum), bytes(plan, "dataSize"), 0L, None)
        case _ => ()
      }
      columns
    }

    private def add(
        kind: String,
        of: String,
        millis: Option[Double],
        bytes: Option[Long],
        spilled: Long,
        skew: Option[Double]
    ): Unit = {
      steps += ExecutedStep(kind, of, millis, bytes, spilled, skew)
      ()
    }

    /** Names of the groups' inputs below an operator; if there are none, the names of the tables. */
    private def called(columns: Set[ExprId], p: SparkPlan): String = {
      val found = inputs.collect { case (name, of) if of.exists(columns) => name }.distinct
      if (found.nonEmpty) found.mkString(", ") else p.collectLeaves().map(table).distinct.mkString(", ")
    }

    private def table(p: SparkPlan): String = ExecutedPlan.operator(p) match {
      case f: FileSourceScanExec =>
        f.tableIdentifier.map(
          _.table
        ).orElse(f.relation.location.rootPaths.headOption.map(_.getName)).getOrElse("files")
      case other if other.children.nonEmpty => other.collectLeaves().map(table).distinct.mkString(", ")
      case other                            => other.nodeName
    }
  }

  /** The joins that are compiled into one function. */
  private def joins(p: SparkPlan): Vector[SparkPlan] = p match {
    case _: InputAdapter => Vector.empty
    case j: BaseJoinExec => j.children.toVector.flatMap(joins) :+ j
    case other           => other.children.toVector.flatMap(joins)
  }

  private def value(p: SparkPlan, metric: String): Option[Long]    = p.metrics.get(metric).map(_.value).filter(_ >= 0L)
  private def millis(p: SparkPlan, metric: String): Option[Double] = value(p, metric).map(_.toDouble)
  private def bytes(p: SparkPlan, metric: String): Option[Long]    = value(p, metric)
  private def spilled(ps: Vector[SparkPlan]): Long                 = ps.flatMap(value(_, "spillSize")).sum

  /** Size of the largest partition divided by the median size: how much longer the slowest task has to work. */
  private def skew(partitions: Array[Long]): Option[Double] = {
    val sorted = partitions.filter(_ > 0L).sorted
    if (sorted.length < 2) None else Some(sorted.last.toDouble / sorted(sorted.length / 2))
  }
}

/**
 * One part of an executed plan.
 *
 * @param kind    scan, join, sort, exchange or broadcast
 * @param of      names of the inputs below it
 * @param millis  time of all tasks together; for a broadcast, time on the driver
 * @param bytes   bytes read from files, written for other tasks, or held in memory by a broadcast
 * @param spilled bytes written to disk because memory was short
 * @param skew    size of the largest partition divided by the median size
 */
final case class ExecutedStep(
    kind: String,
    of: String,
    millis: Option[Double],
    bytes: Option[Long],
    spilled: Long,
    skew: Option[Double]
)

/**
 * One run of a query.
 *
 * @param millis time from the start of the query to its end
 */
final case class ExecutedRun(millis: Double, steps: Vector[ExecutedStep])
