package org.apache.spark.sql.dovetail

import java.nio.file.Path
import java.util.Locale

import scala.collection.mutable

import dovetail.kernel.profile.Estimate
import org.apache.spark.sql.catalyst.catalog.CatalogColumnStat
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.group.GroupNames
import org.apache.spark.sql.dovetail.group.{JoinGroup, WrittenJoin}
import org.apache.spark.sql.dovetail.plan.{GroupOrdering, ReorderJoins}
import org.apache.spark.sql.dovetail.predicates.{ExpressionText, JoinPredicates}
import org.apache.spark.sql.dovetail.report.{GroupReport, Trace, TreeReport}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types.{DataType, StructType}

/**
 * Join orders as golden files: tests/golden/join_order/`*`.test.
 *
 * Commands:
 *
 *   - `stats` declares a table in its input: `name rows=… size=…`, then a line per column, `name type ndv=… nulls=…
 *     min=… max=… len=… hist=lo:hi:ndv,…`. All numbers are injected into the catalog; the table itself is empty.
 *     Without `rows` the catalog knows the size only, without `size` not even that.
 *   - `sql` runs statements (views).
 *   - `reorder [expect=status,…] [key=value …]` plans a query under these settings, and prints of every group of three
 *     or more joined inputs what the search saw (inputs, edges) and did (joins with their rows, pairs considered), then
 *     the plan. `expect` holds whatever is written into the file: one of reordered, kept, left_alone for each group.
 *
 * `DOVETAIL_REWRITE_GOLDEN=1` writes the output into the files; review it with git diff.
 */
class JoinOrderGoldenSuite extends DovetailSuite {

  GoldenFile.all("join_order").foreach(file => test(file.getFileName.toString)(run(file)))

  private def run(file: Path): Unit = {
    val tables = mutable.ArrayBuffer.empty[String]
    try {
      val written = GoldenFile.read(file).map { c =>
        val output = c.command match {
          case "stats"   => tables += declare(c.input); Vector.empty
          case "sql"     => spark.sql(c.input.mkString("\n")); Vector.empty
          case "reorder" => reorder(file, c)
          case other     => fail(s"$file:${c.line}: unknown command '$other'. Allowed: stats, sql, reorder.")
        }
        if (!GoldenFile.rewriting) assert(output.mkString("\n") == c.expected.mkString("\n"), s"\n$file:${c.line}")
        c.render(output)
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
      options.get("size").map(_.toLong)
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

  private def keyValues(words: Vector[String]): Map[String, String] =
    words.map(w => w.takeWhile(_ != '=') -> w.dropWhile(_ != '=').drop(1)).toMap

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

  // reorder

  /** Which joins are hashed depends on the memory and cores of the machine. */
  private lazy val NoHashTables = DovetailConf.AdaptiveHash.key -> "false"

  private def reorder(file: Path, c: GoldenCase): Vector[String] = {
    val (expect, settings) = c.arguments.partition(_.startsWith("expect="))
    val groups             = mutable.ArrayBuffer.empty[JoinGroup]
    class Watching(session: SparkSession) extends ReorderJoins(session) {
      override protected def reorder(group: JoinGroup, ordering: GroupOrdering): LogicalPlan = {
        val plan = super.reorder(group, ordering)
        if (group.leaves.size > 2 && !group.marked) groups += group // as the trace: groups inside of leaves first
        plan
      }
    }
    val (plan, trace) = withConf((Seq(NoHashTables, "spark.sql.ansi.enabled" -> "false") ++ keyValues(settings)): _*) {
      withoutIdempotenceCheck(withRule(new Watching(_))(Trace.collecting(optimized(c.input.mkString("\n")))))
    }
    expect.foreach(e =>
      assert(
        trace.groups.map(_.status).mkString(",") == e.stripPrefix("expect=").stripSuffix("none"),
        s"\n$file:${c.line}"
      )
    )
    assert(groups.size == trace.groups.size, s"\n$file:${c.line}: every group of three or more is reported")
    groups.toVector.zip(trace.groups).flatMap { case (g, r) => describe(g, r) } ++ Vector(
      "plan"
    ) ++ PlanText(plan).split('\n').map("  " + _)
  }

  private def describe(group: JoinGroup, report: GroupReport): Vector[String] = {
    val names  = GroupNames(group)
    val why    = if (report.status == "left_alone" || !report.reason.startsWith("saves")) s": ${report.reason}" else ""
    val head   = s"${report.status}${report.algorithm.fold("")(a => s" [$a, ${report.pairs} pairs]")}$why"
    val inputs = report.relations.zipWithIndex.map { case (r, i) =>
      s"  ${letter(i)} ${names(i)}${r.rows.fold("")(e => s"  ${rows(e)}")}"
    }
    val trees = report.before.toVector.flatMap(tree("written", report, _)) ++ report.after.toVector.flatMap(tree(
      "chosen",
      report,
      _
    ))
    head +: (inputs ++ edges(group.predicates) ++ group.operators.map(operator) ++ trees)
  }

  /** What connects the inputs: written equalities, those that a class of equal columns implies, and all else. */
  private def edges(p: JoinPredicates): Vector[String] = {
    def set(rs: Seq[Int]) = rs.distinct.sorted.map(letter).mkString
    val written           =
      p.originals.flatten.map(e => s"  ${set(Seq(e.left.relation, e.right.relation))}: ${ExpressionText(e.expression)}")
    val implied = for {
      (ms, es) <- p.members.zip(p.originals)
      (a, i)   <- ms.zipWithIndex
      b        <- ms.drop(i + 1) if a.relation != b.relation && !es.exists(e => Set(e.left, e.right) == Set(a, b))
    } yield s"  ${set(Seq(a.relation, b.relation))}: ${ExpressionText(a.expression)} = " +
      s"${ExpressionText(b.expression)}  implied"
    val complex = p.complex.map { c =>
      val hyper = c.sides.filter { case (l, r) => l.size + r.size > 2 }.fold("") { case (l, r) =>
        s"  hyperedge ${set(l)}-${set(r)}"
      }
      s"  ${set(c.relations)}: ${ExpressionText(c.expression)}$hyper"
    }
    val local    = p.local.map { case (r, e) => s"  ${letter(r)}: ${ExpressionText(e)}" }
    val constant = p.constant.map(e => s"  -: ${ExpressionText(e.expression)}")
    "edges" +: (written ++ implied ++ complex ++ local ++ constant)
  }

  private def operator(o: WrittenJoin): String =
    s"  ${o.left.map(letter).mkString}-${o.right.map(letter).mkString}: ${o.kind.name}${o.condition.fold("")(c => s" ${ExpressionText(c)}")}"

  /** Orders by letters, with the rows out of each join: bounds and costs stay out of golden files. */
  private def tree(label: String, report: GroupReport, t: TreeReport): Vector[String] = {
    val letters = report.relations.zipWithIndex.sortBy(-_._1.name.length).map { case (r, i) => r.name -> letter(i) }
    val short   = letters.foldLeft(t.order) { case (text, (name, l)) =>
      text.replaceAll("(?<=[( ])\\Q" + name + "\\E(?=[) ])", l)
    }
    val joins = t.joins.map { j =>
      val set = j.relations.map(n => letter(report.relations.indexWhere(_.name == n))).sorted.mkString
      s"  $set ${rows(j.rows)}  ${j.method}"
    }
    s"$label $short" +: joins
  }

  private def letter(i: Int): String = if (i < 26) ('A' + i).toChar.toString else s"R$i"

  private def rows(e: Estimate): String = {
    val digits =
      if (e.value < 1e6) "%,.0f".formatLocal(Locale.ROOT, e.value) else "%.3e".formatLocal(Locale.ROOT, e.value)
    s"$digits rows ${e.source.name}"
  }
}
