package org.apache.spark.sql.dovetail.history

import java.util.concurrent.TimeUnit

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.dovetail.log.QueryLog
import org.apache.spark.sql.types._

/** The history as a table (`dovetail_history()`), with one row for each set of relations of each group. */
object ShowHistory {

  val columns: Seq[(String, DataType)] = Seq(
    "kind"           -> StringType,
    "query_group"    -> StringType,
    "relations"      -> ArrayType(StringType),
    "rows"           -> LongType,
    "estimated_rows" -> DoubleType,
    "factor"         -> DoubleType,
    "lower_factor"   -> DoubleType,
    "upper_factor"   -> DoubleType,
    "runs"           -> IntegerType,
    "orders"         -> IntegerType,
    "last_run"       -> TimestampType
  )

  def apply(session: SparkSession): Seq[Seq[Any]] = {
    settle(session)
    History(session).now.entries.flatMap {
      case g: GroupRuns =>
        HistoryEntry.sorted(g.sets).map { case (set, s) =>
          val names = set.flatMap(g.relations(_).tables).sorted
          row("counted", g, names, s.rows, s.estimated, null, null, null, g.orders.size)
        }
      case g: GroupErrors =>
        HistoryEntry.sorted(g.sets).map { case (_, e) =>
          val (lower, value, upper) = e.factor
          row("corrected", g, g.tables.sorted, null, null, value, lower, upper, null)
        }
    }
  }

  /** Waits until the history contains all queries that have run. */
  def settle(session: SparkSession): Unit = {
    QueryLog.settle(session)
    History.settle(QueryLog.WaitMillis)
  }

  private def row(kind: String, e: HistoryEntry, names: Vector[String], rest: Any*): Seq[Any] = {
    val numbers = rest.toVector
    Seq[Any](kind, e.key, names) ++ numbers.init ++ Seq[Any](e.runs, numbers.last, TimeUnit.SECONDS.toMicros(e.at))
  }
}
