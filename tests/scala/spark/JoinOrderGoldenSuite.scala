package org.apache.spark.sql.dovetail

import java.nio.file.Path

import org.apache.spark.sql.dovetail.group.GroupNames
import org.apache.spark.sql.dovetail.predicates.{ExpressionText, JoinPredicates}
import org.apache.spark.sql.dovetail.report.{GroupReport, TreeReport}

/**
 * Join orders of small queries, with everything that the search saw.
 *
 * `reorder [expect=status,…] [key=value …]` plans a query under these settings. For each group of three or more joined
 * inputs it prints what the search saw (inputs, edges, operators with their conflict rules) and did (joins with their
 * rows, pairs considered), then the plan. `expect` is checked whatever the file contains: it has one of reordered,
 * kept, left_alone for each group.
 */
class JoinOrderGoldenSuite extends GoldenSuite("join_order") {

  override protected def commands: Seq[String] = Seq("reorder")

  override protected def output(file: Path, c: GoldenCase): Option[Vector[String]] =
    if (c.command == "reorder") Some(reorder(file, c)) else None

  private def reorder(file: Path, c: GoldenCase): Vector[String] = {
    val (expect, settings) = c.arguments.partition(_.startsWith("expect="))
    val (plan, groups)     = planned(c.input.mkString("\n"), keyValues(settings))
    val statuses           = groups.map(_.report.status).mkString(",")
    expect.foreach(e => assert(statuses == e.stripPrefix("expect=").stripSuffix("none"), s"\n$file:${c.line}"))
    groups.flatMap(describe) ++ Vector("plan") ++ PlanText(plan).split('\n').map("  " + _)
  }

  private def describe(p: PlannedGroup): Vector[String] = {
    val names  = GroupNames(p.group).labels
    val inputs = p.report.relations.zipWithIndex.map { case (r, i) =>
      s"  ${letter(i)} ${names(i)}${r.rows.fold("")(e => s"  ${rows(e)}")}"
    }
    val written = p.report.before.toVector.flatMap(tree("written", p.report, _))
    val chosen  = p.report.after.toVector.flatMap(tree("chosen", p.report, _))
    verdict(p.report) +: (inputs ++ edges(p.group.predicates) ++ operators(p) ++ written ++ chosen)
  }

  /**
   * The edges between the inputs: written equalities, equalities that a class of equal columns implies, and other
   * predicates.
   */
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

  /** An order with letters for the inputs, and the rows of each join. Bounds and costs stay out of golden files. */
  private def tree(label: String, report: GroupReport, t: TreeReport): Vector[String] = {
    val joins = t.joins.map { j =>
      val set = j.relations.map(n => letter(report.relations.indexWhere(_.name == n))).sorted.mkString
      s"  $set ${rows(j.rows)}  ${j.method}"
    }
    s"$label ${short(report, t.order)}" +: joins
  }
}
