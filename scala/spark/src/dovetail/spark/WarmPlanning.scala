package org.apache.spark.sql.dovetail

import java.io.File
import java.nio.file.Files
import java.util.Base64
import java.util.concurrent.atomic.AtomicBoolean

import scala.util.control.NonFatal

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{EqualTo, Literal}
import org.apache.spark.sql.catalyst.plans.Inner
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, JoinHint, LogicalPlan}
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.deadline.{Aside, PlanningTime}
import org.apache.spark.sql.dovetail.footers.FooterReading
import org.apache.spark.sql.dovetail.plan.ReorderJoins
import org.apache.spark.sql.dovetail.report.Trace
import org.apache.spark.sql.dovetail.store.StatisticsStore
import org.apache.spark.sql.execution.datasources.{DataSource, LogicalRelation}
import org.apache.spark.sql.types.{LongType, StringType, StructType}
import org.apache.spark.util.Utils

/**
 * Plans a small query in its own thread when a program begins to use its first session. Otherwise the first query of a
 * JVM would have to wait until the classes of Dovetail, Parquet and Spark's reader are loaded.
 *
 * The query joins three Parquet files of a kilobyte each in the directory for temporary files. Only [[ReorderJoins]]
 * plans it: no other rule of the session sees it, no job runs, it does not appear in the query log, and nobody opens
 * the session's statistics store. If anything goes wrong, the first query does this work.
 *
 * It does not start earlier: a session's state (its catalog, its configuration of file systems) is made when the
 * program first needs it. A program may set options of Hadoop before that, which this thread must not forestall.
 */
private[dovetail] object WarmPlanning {
  private val started = new AtomicBoolean(false)

  /** Starts the thread, once in a JVM. It waits for the state of the session, which the caller is about to build. */
  def start(session: SparkSession): Unit = if (started.compareAndSet(false, true)) {
    Aside.start("dovetail-warm-up", () => { apply(session); () }).setPriority(Thread.MIN_PRIORITY)
  }

  /** @return whether the query was planned; false if Dovetail is off */
  private[dovetail] def apply(session: SparkSession): Boolean =
    try DovetailConf.Enabled.get(session.sessionState.conf) && planned(session)
    catch { case NonFatal(_) | _: LinkageError => false }

  private def planned(session: SparkSession): Boolean = {
    // deleted at the end of the JVM and not earlier: a read that nobody waits for any more may still access it late
    val home       = Utils.createTempDir(namePrefix = "dovetail")
    val rule       = new ReorderJoins(session)
    val (_, trace) = StatisticsStore.in(home, session)(
      Trace.collecting(detailed = false)(session.withActive(rule(query(session, home))))
    )
    FooterReading.startAgain()
    PlanningTime.startAgain()
    trace.groups.exists(_.algorithm.isDefined)
  }

  private def query(session: SparkSession, home: File): LogicalPlan = {
    val (a, b, c) = (relation(session, home, "a"), relation(session, home, "b"), relation(session, home, "c"))
    val some      = Filter(EqualTo(c.output.last, Literal("t1")), c)
    joined(joined(a, b), some)
  }

  private def joined(left: LogicalPlan, right: LogicalPlan): LogicalPlan =
    Join(left, right, Inner, Some(EqualTo(left.output.head, right.output.head)), JoinHint.NONE)

  private def relation(session: SparkSession, home: File, name: String): LogicalPlan = {
    val file = new File(home, s"$name.parquet")
    Files.write(file.toPath, Base64.getDecoder.decode(Content))
    val source = DataSource(session, "parquet", Seq(file.toURI.toString), userSpecifiedSchema = Some(Schema))
    LogicalRelation(source.resolveRelation())
  }

  // lazy, so that it is not made while the session starts
  private lazy val Schema = new StructType().add("id", LongType).add("text", StringType)

  /**
   * A Parquet file with Snappy and 16 rows: `id` counts from 0, and dictionary-encoded `text` has three distinct
   * values.
   */
  private val Content =
    "UEFSMRUEFYACFZYBTBUgFQASAACAAQAADQEAAQ0IAAINCAADDQgABA0IAAUNCAAGDQgABw0IAAgNCAAJDQgACg0IAAsNCAAMDQgADQ0I" +
      "PA4AAAAAAAAADwAAAAAAAAAVABUgFSQsFSAVEBUGFQYcGAgPAAAAAAAAABgIAAAAAAAAAAAWACgIDwAAAAAAAAAYCAAAAAAAAAAAEREA" +
      "AAAQPAIAAAAgAQQFEDJUdpi63P4VBBUkFShMFQYVABIAABJEAgAAAHQwAgAAAHQxAgAAAHQyFQAVGBUcLBUgFRAVBhUGHDYAKAJ0MhgC" +
      "dDAREQAAAAwsAgAAACABAgUkSZIkFQQZPDUAGAZzY2hlbWEVBAAVBCUCGAJpZAAVDCUCGAR0ZXh0JQBMHAAAABYgGRwZLCYAHBUEGTUA" +
      "BhAZGAJpZBUCFiAWvgMW2AImvgEmCBwYCA8AAAAAAAAAGAgAAAAAAAAAABYAKAgPAAAAAAAAABgIAAAAAAAAAAAREQAZLBUEFQAVAgAV" +
      "ABUQFQIAPCkGGSYAIAAAACYAHBUMGTUABhAZGAR0ZXh0FQIWIBaWARaeASakAybgAhw2ACgCdDIYAnQwEREAGSwVBBUAFQIAFQAVEBUC" +
      "ADwWQBkGGSYAIAAAABbUBBYgJggW9gMAKCBwYXJxdWV0LWNwcC1hcnJvdyB2ZXJzaW9uIDI2LjAuMRksHAAAHAAAABgBAABQQVIx"
}
