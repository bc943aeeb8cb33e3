package org.apache.spark.sql.dovetail.explain

import dovetail.kernel.estimate.Estimate

/** The trace as people read it in a terminal. */
object ReportText {

  def apply(version: String, enabled: Boolean, groups: Vector[GroupReport], millis: Vector[(String, Double)]): String = {
    val head = s"Dovetail $version${if (enabled) "" else " (switched off: spark.dovetail.enabled=false)"}"
    val time = millis.map { case (phase, ms) => f"$phase $ms%.1f" }.mkString("planning ms: ", ", ", "")
    val body =
      if (groups.isEmpty) Vector("No group of three or more relations: nothing to reorder.")
      else groups.zipWithIndex.flatMap { case (g, i) => group(g, i + 1) }
    (head +: body :+ time).mkString("\n")
  }

  private def group(g: GroupReport, number: Int): Vector[String] = {
    val search = g.algorithm.fold("")(a => s" [$a, ${g.pairs} pairs, ${g.costModel.getOrElse("")} costs]")
    val title  = s"Group $number: ${g.status.replace('_', ' ')}: ${g.reason}$search"
    val inputs =
      if (g.relations.isEmpty) Vector.empty
      else {
        val width = g.relations.map(_.name.length).max
        "  inputs" +: g.relations.map(r => s"    ${r.name.padTo(width, ' ')}  ${r.rows.fold("?")(rows)}${r.bytes.fold("")(b => s"  ${size(b)}")}")
      }
    val second  = g.runnerUp.map { case (order, cost) => f"  runner-up $order  cost ${cost.total}%.2e" }
    val missing = g.missing.map(a => s"  statistics missing: ${a.table}: ${a.reason}; ${a.statement.getOrElse("")}")
    title +: (inputs ++ g.before.toVector.flatMap(tree("written", _)) ++ g.after.toVector.flatMap(tree("chosen", _)) ++ second ++ missing)
  }

  private def tree(label: String, t: TreeReport): Vector[String] = {
    val table = t.joins.map(j =>
      f"    ${rows(j.rows)}%-44s${j.actual.fold("")(actual(j.rows, _))} ${j.method}%-24s cost ${j.cost.total}%.2e  {${j.relations.mkString(
          " "
        )}}  ${if (j.kind == "inner") "" else s"${j.kind}: "}${j.condition}"
    )
    f"  $label%-8s ${t.order}  cost ${t.cost.total}%.2e" +: table.zip(t.joins).flatMap { case (line, j) => line +: reason(j).toVector }
  }

  private def reason(j: JoinReport): Option[String] =
    j.why.map(w => s"      ${j.method}: $w${j.runnerUp.fold("") { case (method, cost) => f"; runner-up $method, cost $cost%.2e" }}")

  private def rows(e: Estimate): String = {
    val bounds = if (e.lower == e.upper) "" else s" [${count(e.lower)}, ${if (e.upper >= Estimate.Ceiling) "?" else count(e.upper)}]"
    s"${count(e.value)} rows$bounds ${e.source.name}"
  }

  private def actual(e: Estimate, a: Long): String = f" actual ${count(a.toDouble)}%-7s off ${QError(e.value, a.toDouble)}%.3gx  "

  private def count(d: Double): String =
    if (d < 1e4) f"$d%.0f" else if (d < 1e6) f"${d / 1e3}%.1fk" else if (d < 1e9) f"${d / 1e6}%.1fM" else if (d < 1e12) f"${d / 1e9}%.1fG" else f"$d%.1e"

  private[explain] def size(bytes: Double): String =
    if (bytes < 1024) f"$bytes%.0f B"
    else if (bytes < 1024 * 1024) f"${bytes / 1024}%.0f KiB"
    else if (bytes < 1024.0 * 1024 * 1024) f"${bytes / 1024 / 1024}%.1f MiB" else f"${bytes / 1024 / 1024 / 1024}%.1f GiB"
}
