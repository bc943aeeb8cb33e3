package org.apache.spark.sql.dovetail

import java.nio.file.Path
import java.util.Locale

import scala.collection.immutable.BitSet
import scala.collection.mutable

import dovetail.kernel.graph.JoinGraph
import dovetail.kernel.profile.Estimate
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.catalog.CatalogColumnStat
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.group.JoinGroup
import org.apache.spark.sql.dovetail.plan.{GroupOrdering, ReorderJoins}
import org.apache.spark.sql.dovetail.predicates.ExpressionText
import org.apache.spark.sql.dovetail.report.{GroupReport, Trace}
import org.apache.spark.sql.types.{DataType, StructType}

/**
 * A suite of golden files (tests/golden/`directory`/`*`.test). Each file is a list of commands with their output:
 *
 *   - `stats` declares a table in its input: `name rows=… size=…`, then a line per column, `name type ndv=… nulls=…
 *     min=… max=… len=… hist=lo:hi:ndv,…`. All numbers are injected into the catalog; the table itself is empty.
 *     Without `rows` the catalog knows only the size, and without `size` not even that.
 *   - `include <file>` declares the tables of another file of the directory.
 *   - `sql` runs statements (views).
 *   - the commands of the suite.
 *
 * `DOVETAIL_REWRITE_GOLDEN=1` writes the output into the files; review it with git diff.
 */
abstract class GoldenSuite(directory: String) extends DovetailSuite {

  /** The output of a command, or None if the suite does not have this command; `file` is for messages. */
  protected def output(file: Path, c: GoldenCase): Option[Vector[String]]

  /** Commands of the suite, for messages. */
  protected def commands: Seq[String]

  /** Whether this session can run the files. */
  protected def runs: Boolean = true

  if (runs) GoldenFile.all(directory).foreach(file => test(file.getFileName.toString)(run(file)))

  private def run(file: Path): Unit = {
    val tables = mutable.ArrayBuffer.empty[String]
    try {
      val written = GoldenFile.read(file).map { c =>
        val found = c.command match {
          case "stats"   => tables += declare(c.input); Vector.empty
          case "include" => tables ++= included(file.resolveSibling(c.arguments.head)); Vector.empty
          case "sql"     => spark.sql(c.input.mkString("\n")); Vector.empty
          case other     =>
            val allowed = Seq("stats", "include", "sql") ++ commands
            output(file, c).getOrElse(
              fail(s"$file:${c.line}: unknown command '$other'. Allowed: ${allowed.mkString(", ")}.")
            )
        }
        if (!GoldenFile.rewriting) assert(found.mkString("\n") == c.expected.mkString("\n"), s"\n$file:${c.line}")
        c.render(found)
      }
      if (GoldenFile.rewriting) GoldenFile.write(file, written)
    } finally {
      spark.sql("SHOW VIEWS").where("isTemporary").collect().foreach(v =>
        spark.catalog.dropTempView(v.getAs[String]("viewName"))
      )
      tables.foreach(t => spark.sql(s"DROP TABLE IF EXISTS $t"))
    }
  }

  // stats

  private def included(file: Path): Vector[String] = GoldenFile.read(file).map { c =>
    if (c.command != "stats") fail(s"$file:${c.line}: a file that is included declares tables, by 'stats'.")
    declare(c.input)
  }

  private def declare(lines: Vector[String]): String = {
    val words   = lines.head.split("\\s+").toVector
    val table   = words.head
    val options = keyValues(words.tail)
    val columns = lines.tail.map(_.trim.split("\\s+").toVector)
    MemorySource.create(
      spark,
      table,
      columns.map(c => s"${c(0)} ${c(1)}").mkString(", "),
      Nil,
      // a source that reports no size confirms the row count in the catalog
      options.get("size").filterNot(_ => options.contains("rows")).map(_.toLong)
    )
    val rows = options.get("rows").map(BigInt(_))
    rows.foreach { n =>
      val width =
        StructType.fromDDL(columns.map(c => s"${c(0)} ${c(1)}").mkString(", ")).map(_.dataType.defaultSize).sum
      InjectedStatistics(
        spark,
        table,
        rows,
        options.get("size").fold(n * width)(BigInt(_)),
        columns.filter(_.size > 2).map(c => c.head -> columnStat(DataType.fromDDL(c(1)), keyValues(c.drop(2)))).toMap
      )
    }
    table
  }

  private def columnStat(dataType: DataType, o: Map[String, String]): CatalogColumnStat = {
    val histogram = o.get("hist").map { text =>
      val buckets = text.split(',').map(_.split(':')).map(b => (b(0).toDouble, b(1).toDouble, b(2).toLong))
      InjectedStatistics.histogram(1.0, buckets.toSeq: _*)
    }
    InjectedStatistics.column(
      o.get("ndv").map(BigInt(_)),
      o.get("nulls").map(BigInt(_)).orElse(Some(BigInt(0))),
      o.get("min"),
      o.get("max"),
      o.get("len").map(_.toLong).orElse(Some(dataType.defaultSize.toLong)),
      histogram
    )
  }

  protected def keyValues(words: Vector[String]): Map[String, String] =
    words.map(w => w.takeWhile(_ != '=') -> w.dropWhile(_ != '=').drop(1)).toMap

  // plans

  /** A group as the rule saw it, its ordering, and its report. */
  protected case class PlannedGroup(group: JoinGroup, ordering: GroupOrdering, report: GroupReport) {

    /** The graph of the leaves as written: the graph that the search saw, except for the groups inside leaves. */
    lazy val graph: JoinGraph = ordering.preparation(group, group.leaves).graph
  }

  /**
   * Settings that make plans independent of the machine: whether a join is hashed depends on its memory and cores. In
   * generated code, which the session of the tests switches off, some joins must stay as written.
   */
  private lazy val Stable = Seq(
    DovetailConf.AdaptiveHash.key  -> "false",
    "spark.sql.ansi.enabled"       -> "false",
    "spark.sql.codegen.wholeStage" -> "true"
  )

  /** Plans a query. Returns the plan, and every group of three or more inputs; groups inside leaves come first. */
  protected def planned(sql: String, settings: Map[String, String]): (LogicalPlan, Vector[PlannedGroup]) = {
    val groups = mutable.ArrayBuffer.empty[(JoinGroup, GroupOrdering)]
    class RuleWatcher(session: SparkSession) extends ReorderJoins(session) {
      override protected def reorder(group: JoinGroup, ordering: GroupOrdering): LogicalPlan = {
        val plan = super.reorder(group, ordering)
        if (group.leaves.size > 2 && !group.marked) groups += group -> ordering
        plan
      }
    }
    val (plan, trace) = withConf((Stable ++ settings): _*) {
      withoutIdempotenceCheck(withRule(new RuleWatcher(_))(Trace.collecting(optimized(sql))))
    }
    val reports = trace.groups.filterNot(_.isRemark)
    assert(groups.size == reports.size, "every group of three or more is reported")
    plan -> groups.toVector.zip(reports).map { case ((g, o), r) => PlannedGroup(g, o, r) }
  }

  /** What was done with a group, and the reason if it was not reordered. */
  protected def verdict(report: GroupReport): String = {
    val why = if (report.status == "left_alone" || !report.reason.startsWith("saves")) s": ${report.reason}" else ""
    s"${report.status}${report.algorithm.fold("")(a => s" [$a, ${report.pairs} pairs]")}$why"
  }

  /**
   * Joins that are not inner joins: their sides, the relations that must be joined before (the total eligibility set),
   * and their conflict rules, `if any of these: all of those`.
   */
  protected def operators(p: PlannedGroup): Vector[String] =
    if (p.group.operators.isEmpty) Vector.empty
    else p.group.operators.zip(p.graph.joinable.conflicts.operators).map { case (o, needs) =>
      val condition = o.condition.fold("")(c => s" ${ExpressionText(c)}")
      val rules     = needs.rules.map(r => s", if ${letters(r.ifAny)} then ${letters(r.thenAll)}").mkString
      s"  ${o.left.map(letter).mkString}-${o.right.map(letter).mkString}: ${o.kind.name}$condition" +
        s"  needs ${letters(needs.all)}$rules"
    }

  protected def letters(relations: BitSet): String = relations.toVector.map(letter).mkString

  protected def letter(i: Int): String = if (i < 26) ('A' + i).toChar.toString else s"R$i"

  /** An order with letters instead of names. */
  protected def short(report: GroupReport, order: String): String = {
    val names = report.relations.zipWithIndex.sortBy(-_._1.name.length).map { case (r, i) => r.name -> letter(i) }
    names.foldLeft(order) { case (text, (name, l)) => text.replaceAll("(?<=[( ])\\Q" + name + "\\E(?=[) ])", l) }
  }

  protected def rows(e: Estimate): String = s"${number(e.value)} rows ${e.source.name}"

  protected def number(value: Double): String =
    if (value < 1e6) "%,.0f".formatLocal(Locale.ROOT, value) else "%.3e".formatLocal(Locale.ROOT, value)
}
