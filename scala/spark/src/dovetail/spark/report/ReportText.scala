package org.apache.spark.sql.dovetail.report

import dovetail.kernel.profile.Estimate

/**
 * The trace as people read it in a terminal of 120 columns: a plan is a table of steps, each naming the steps that it
 * builds on; what does not fit is in JSON.
 */
object ReportText {

  /**
   * Characters of a line, of an order that has a line of its own, of the inputs of a step; and those that a condition
   * has to have left.
   */
  private val (width, longestOrder, widestStep, narrowest) = (120, 90, 40, 12)

  /** Joins of which the reason for the method is told: those that cost most. */
  private val mostReasons = 10

  def apply(
      version: String,
      enabled: Boolean,
      groups: Vector[GroupReport],
      millis: Vector[(String, Double)],
      notes: Vector[String] = Vector.empty
  ): String = {
    val head = s"Dovetail $version${if (enabled) "" else " (switched off: spark.dovetail.enabled=false)"}"
    val time = millis.map { case (phase, ms) => f"$phase $ms%.1f" }.mkString("planning ms: ", ", ", "")
    val body =
      if (groups.isEmpty) Vector("No group of joins has three or more relations: nothing to reorder.")
      else groups.zipWithIndex.flatMap { case (g, i) => group(g, i + 1) }
    ((head +: body) ++ notes.flatMap(wrapped(_, "  ")) :+ time).mkString("\n")
  }

  private def group(g: GroupReport, number: Int): Vector[String] = {
    val search = g.algorithm.fold("")(a => s" [$a, ${g.pairs} pairs, ${g.costModel.getOrElse("")} costs]")
    val title  = s"Group $number: ${g.status.replace('_', ' ')}: ${g.reason}$search"
    val inputs =
      if (g.relations.isEmpty) Vector.empty
      else {
        val width = g.relations.map(_.name.length).max
        "  inputs" +: g.relations.map(r =>
          s"    ${r.name.padTo(width, ' ')}  ${r.rows.fold("?")(rows)}${r.bytes.fold("")(b => s"  ${size(b)}")}"
        )
      }
    val second = g.runnerUp.map { case (order, cost) =>
      f"  runner-up ${if (order.length <= longestOrder) order else "another order"}  cost ${cost.total}%.2e"
    }
    val missing = g.missing.map(a => s"  statistics missing: ${a.table}: ${a.reason}; ${a.statement.getOrElse("")}")
    wrapped(title, "  ") ++ (inputs ++ g.before.toVector.flatMap(tree("written", _)) ++ g.after.toVector.flatMap(tree(
      "chosen",
      _
    )) ++ second ++ missing)
  }

  private def tree(label: String, t: TreeReport): Vector[String] = {
    val inputs =
      t.joins.map(j => cut(j.inputs.mkString(if (j.kind == "inner") " join " else s" ${j.kind} join "), widestStep))
    val (a, b)  = (longest(inputs), longest(t.joins.map(j => rows(j.rows))))
    val reasons = t.joins.indices.sortBy(i => -t.joins(i).cost.total).take(mostReasons).toSet
    val table   = t.joins.indices.toVector.flatMap { i =>
      val j    = t.joins(i)
      val came = j.actual.fold("")(actual(j.rows, _))
      val line = f"    ${i + 1}%2d  ${inputs(i).padTo(a, ' ')}  ${rows(j.rows).padTo(b, ' ')}$came  ${j.method}  " +
        f"cost ${j.cost.total}%.2e  "
      val on  = if (width - line.length < narrowest) "" else cut(j.condition, width - line.length)
      val why = reason(j).filter(_ => reasons(i)).fold(Vector.empty[String])(wrapped(_, " " * 10))
      (line + on).replaceAll("\\s+$", "") +: why
    }
    val order = if (t.order.length <= longestOrder) t.order else s"${t.joins.size} joins"
    f"  $label%-8s $order  cost ${t.cost.total}%.2e" +: table
  }

  private def longest(texts: Seq[String]): Int = texts.iterator.map(_.length).foldLeft(0)(_ max _)

  /** A text in lines, all but the first of them indented. */
  private def wrapped(text: String, indent: String): Vector[String] = if (text.length <= width) Vector(text)
  else {
    val at = text.lastIndexOf(' ', width)
    if (at <= text.indexWhere(_ != ' ')) Vector(text) else text.take(at) +: wrapped(indent + text.drop(at + 1), indent)
  }

  private def cut(text: String, to: Int): String = if (text.length <= to) text else text.take(to - 1) + "…"

  private def reason(j: JoinReport): Option[String] =
    j.why.map(w =>
      s"        ${j.method}: $w${j.runnerUp.fold("") { case (method, cost) => f"; runner-up $method, cost $cost%.2e" }}"
    )

  private def rows(e: Estimate): String = {
    val bounds = if (e.lower == e.upper) ""
    else s" [${count(e.lower)}, ${if (e.upper >= Estimate.Ceiling) "?" else count(e.upper)}]"
    s"${count(e.value)} rows$bounds ${e.source.name}"
  }

  private def actual(e: Estimate, a: Long): String =
    f" actual ${count(a.toDouble)}%-7s off ${QError(e.value, a.toDouble)}%.3gx  "

  private def count(d: Double): String =
    if (d < 1e4) f"$d%.0f"
    else if (d < 1e6) f"${d / 1e3}%.1fk"
    else if (d < 1e9) f"${d / 1e6}%.1fM" else if (d < 1e12) f"${d / 1e9}%.1fG" else f"$d%.1e"

  private[report] def size(bytes: Double): String =
    if (bytes < 1024) f"$bytes%.0f B"
    else if (bytes < 1024 * 1024) f"${bytes / 1024}%.0f KiB"
    else if (bytes < 1024.0 * 1024 * 1024) f"${bytes / 1024 / 1024}%.1f MiB"
    else f"${bytes / 1024 / 1024 / 1024}%.1f GiB"
}
