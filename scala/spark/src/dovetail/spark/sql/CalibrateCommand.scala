package org.apache.spark.sql.dovetail.sql

import dovetail.kernel.cost.{CostConstants, CostText}
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference}
import org.apache.spark.sql.dovetail.base.ErrorCondition.InvalidArgument
import org.apache.spark.sql.dovetail.cluster.ClusterCosts
import org.apache.spark.sql.dovetail.store.StatisticsStore
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.types.{DoubleType, StringType}
import org.apache.spark.sql.{Row, SparkSession}

/**
 * `DOVETAIL CALIBRATE [n ROWS]`: measures the constants of the cost model on this cluster, and saves them in the
 * store's directory. `DOVETAIL CALIBRATE RESET` restores the built-in constants. Returns one row per constant, in
 * nanoseconds of one core.
 *
 * @param rows rows of the larger inputs; None restores the built-in constants
 */
case class CalibrateCommand(rows: Option[Long]) extends LeafRunnableCommand {
  override val output: Seq[Attribute] =
    Seq("constant" -> StringType, "default" -> DoubleType, "measured" -> DoubleType, "used" -> DoubleType).map {
      case (name, dataType) =>
        AttributeReference(name, dataType)()
    }

  override def run(session: SparkSession): Seq[Row] = {
    val measured = rows match {
      case None    => ClusterCosts.forget(session); Map.empty[String, Double]
      case Some(n) =>
        StatisticsStore(session).files.checkWritable()
        val found = new MicroQueries(session, n).measured()
        ClusterCosts.keep(session, MicroQueries.constants(found))
        found
    }
    val used = ClusterCosts(session, session.sessionState.conf)
    CostText.constants.map { case (name, get, _) =>
      Row(name, get(CostConstants()), measured.get(name).map(Double.box).orNull, get(used))
    }
  }
}

object CalibrateCommand {

  /** Default number of rows of the larger inputs: about a minute of work in total on two cores. */
  val Default: Statement.Calibrate = Statement.Calibrate(Some(2000000L))

  /** Least number of rows. Fewer rows give no useful result, because Spark measures task times in milliseconds. */
  private val Fewest = 100000L

  /**
   * Largest number of rows: hours of work. The keys of the inputs are products of the row's number and a factor of 32
   * bits, which overflow with three times as many rows.
   */
  private val Most = 1000000000L

  def apply(rows: Option[Long]): CalibrateCommand = {
    rows.filter(n => n < Fewest || n > Most).foreach(n =>
      throw InvalidArgument(
        s"DOVETAIL CALIBRATE takes $Fewest to $Most rows, not $n. More rows take hours and measure the same.",
        "argument" -> n.toString
      )
    )
    new CalibrateCommand(rows)
  }
}
