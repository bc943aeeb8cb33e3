package org.apache.spark.sql.dovetail.report

/**
 * Writes the trace as text for a terminal of 120 columns. `dovetail.explain`, `dovetail_explain` and `EXPLAIN
 * FORMATTED` share this layout.
 *
 * The first sentence says what happened and why. A plan is a table of steps, and each step names the steps that it
 * builds on, so a plan of 30 joins is a table of 30 short lines. Costs are relative to the cost of the written order.
 *
 * @param enabled whether Dovetail was on when the query was planned
 * @param verbose whether to show details of the search, absolute costs, all bounds, and the reason for every join
 *                method
 */
final class ReportText(version: String, enabled: Boolean, verbose: Boolean) {
  import ReportNumbers._
  import ReportText._

  def apply(
      reports: Vector[GroupReport],
      millis: Vector[(String, Double)],
      notes: Vector[String] = Vector.empty,
      run: Option[ExecutedRun] = None
  ): String = {
    val (groups, remarks) = apart(reports)

    val bodies = groups.zipWithIndex.map { case (g, i) =>
      val title = if (groups.size == 1) Vector.empty
      else wrapped(s"Group ${i + 1} of ${groups.size}: ${g.status.replace('_', ' ')}: ${g.reason}", "  ")
      title ++ group(g)
    }
    val more =
      Vector((notes ++ remarks).flatMap(wrapped(_, "  ")), run.toVector.flatMap(ran), time(millis)).filter(_.nonEmpty)
    ((wrapped(s"Dovetail $version ${said(groups)}", "  ") +: bodies.filter(_.nonEmpty)) ++ more)
      .map(_.mkString("\n")).mkString("\n\n")
  }

  /**
   * Separates the reports on join groups from the remarks on the query as a whole. Reports without relations become
   * remarks if there are groups; otherwise they stand in for the group that was not found.
   */
  private def apart(reports: Vector[GroupReport]): (Vector[GroupReport], Vector[String]) = {
    val (told, others) = reports.partition(_.isRemark)
    val remarks        = told.map(r => s"${r.reason.capitalize}.").distinct
    others.partition(_.relations.nonEmpty) match {
      case (Vector(), all) => (all, remarks)
      case (groups, cuts)  => (groups, remarks ++ cuts.map(r => s"Cut short: ${r.reason}.").distinct)
    }
  }

  /** The first sentence: what happened to the joins of the query, and why. */
  private def said(groups: Vector[GroupReport]): String = {
    val reordered = groups.count(_.status == "reordered")
    val priced    = groups.filter(_.before.isDefined)
    val whole     = priced.flatMap(_.before).map(_.cost.total).sum
    val now       = priced.flatMap(g => g.after.orElse(g.before)).map(_.cost.total).sum
    if (!enabled) "is switched off (spark.dovetail.enabled=false): Spark plans this query alone."
    else groups match {
      case Vector()                        => Nothing
      case Vector(g) if g.status == "kept" => s"kept the written order: ${g.reason}."
      case Vector(g) if reordered == 1     => s"reordered the joins: ${g.reason}."
      case Vector(g)                       => s"left the joins alone: ${g.reason}."
      case _ if reordered > 0              =>
        s"reordered $reordered of ${groups.size} groups of joins: estimated cost ${percent(now, whole)} of the " +
          "written orders'."
      case _ if priced.isEmpty => s"left all ${groups.size} groups of joins alone."
      case _                   => s"kept the written order of all ${groups.size} groups of joins."
    }
  }

  /** The first sentence and the orders of each group, for places that show much else. */
  def short(reports: Vector[GroupReport]): String = {
    val (groups, _) = apart(reports)

    val orders = groups.flatMap { g =>
      val whole = g.before.fold(0.0)(_.cost.total)
      g.before.toVector.flatMap(tree("written", _, whole).headOption) ++
        g.after.toVector.flatMap(tree("chosen", _, whole).headOption)
    }
    (wrapped(s"Dovetail $version ${said(groups)}", "  ") ++ orders).mkString("\n")
  }

  /** Time and size of each part of the executed query. Unless verbose, a long plan is cut to its longest parts. */
  private def ran(run: ExecutedRun): Vector[String] = {
    val longest = run.steps.indices.sortBy(i => -run.steps(i).millis.getOrElse(0.0)).take(if (verbose) run.steps.size
    else MostSteps)
    val rows = longest.sorted.toVector.map(run.steps(_)).map { s =>
      Vector(
        s.kind,
        cut(s.of, WidestStep),
        s.millis.fold("")(seconds),
        s.bytes.fold("")(b => size(b.toDouble)),
        if (s.spilled > 0L) size(s.spilled.toDouble) else "",
        s.skew.fold("")(factor)
      )
    }
    val head = Vector("part", "of", "task time", "bytes", "spilled", "skew")
    val left = run.steps.size - rows.size
    (s"run: ${seconds(run.millis)}" +: (if (rows.isEmpty) rows.map(_.mkString)
                                        else columns(head, rows, head.drop(2).toSet))) ++
      (if (left > 0) Vector(s"    and $left shorter parts: verbose lists them") else Vector.empty)
  }

  private def time(millis: Vector[(String, Double)]): Vector[String] = {
    def ms(d: Double) = "%.1f".formatLocal(java.util.Locale.ROOT, d)
    val total         = millis.collectFirst { case ("total", t) => t }
    if (verbose) Vector(millis.map { case (phase, t) => s"$phase ${ms(t)}" }.mkString("planning ms: ", ", ", ""))
    else total.map(t => s"planned in ${ms(t)} ms").toVector
  }

  private def group(g: GroupReport): Vector[String] = {
    val search =
      for (a <- g.algorithm; costs <- g.costModel if verbose)
        yield s"  search: $a, ${g.pairs} pairs of sub-plans, $costs costs"
    val whole = g.before.fold(0.0)(_.cost.total)
    val plans =
      g.before.toVector.flatMap(tree("written", _, whole)) ++ g.after.toVector.flatMap(tree("chosen", _, whole))
    val why    = g.after.orElse(g.before).toVector.flatMap(reasons)
    val second = g.runnerUp.map { case (order, cost) =>
      s"  runner-up: ${if (order.length <= LongestOrder) order else "another order"}, cost ${price(cost.total, whole)}"
    }
    search.toVector ++ inputs(g) ++ plans ++ why ++ second ++ g.atRun.flatMap(atRun) ++ missing(g)
  }

  private def inputs(g: GroupReport): Vector[String] =
    if (g.relations.isEmpty) Vector.empty
    else if (g.before.isEmpty) wrapped(s"  inputs: ${g.relations.map(_.label).mkString(", ")}", "    ")
    else {
      val rows = g.relations.map { r =>
        Vector(cut(r.label, WidestInputs), r.rows.fold("?")(e => count(e.value))) ++ r.actual.map(a =>
          count(a.toDouble)
        ) ++
          Vector(r.rows.fold("")(bounds(_, verbose)), r.rows.fold("")(_.source.name), r.bytes.fold("")(size))
      }
      val ran = if (g.relations.exists(_.actual.isDefined)) Vector("actual") else Vector.empty
      columns(
        Vector("input", "rows") ++ ran ++ Vector("bounds", "source", "size"),
        padded(g, rows),
        Set("rows", "actual", "size")
      )
    }

  /** Inserts an empty cell for inputs without an actual row count, if other inputs have one. */
  private def padded(g: GroupReport, rows: Vector[Vector[String]]): Vector[Vector[String]] =
    if (!g.relations.exists(_.actual.isDefined)) rows
    else g.relations.zip(rows).map { case (r, row) => if (r.actual.isDefined) row else row.patch(2, Vector(""), 0) }

  private def tree(label: String, t: TreeReport, whole: Double): Vector[String] = {
    val order = if (t.order.length <= LongestOrder) t.order else s"${t.joins.size} joins"
    (s"  $label  $order  cost ${price(t.cost.total, whole)}" +: steps(t.joins, t.cost.total)) ++
      t.reducers.flatMap(r => wrapped(s"    ${reduced(r)}", "      "))
  }

  private def steps(joins: Vector[JoinReport], whole: Double): Vector[String] = {
    val ran  = joins.exists(_.actual.isDefined)
    val head = Vector("#", "join", "rows") ++ (if (ran) Vector("actual", "off by") else Vector.empty) ++
      Vector("bounds", "source", "method", "share") ++ (if (verbose) Vector("cost") else Vector.empty)
    val rows = joins.zipWithIndex.map { case (j, i) =>
      val came =
        if (!ran) Vector.empty
        else j.actual.fold(Vector("", ""))(a => Vector(count(a.toDouble), factor(QError(j.rows.value, a.toDouble))))
      Vector(s"${i + 1}", cut(step(j), WidestInputs), count(j.rows.value)) ++ came ++
        Vector(bounds(j.rows, verbose), j.rows.source.name, j.method, percent(j.cost.total, whole)) ++
        (if (verbose) Vector(absolute(j.cost.total)) else Vector.empty)
    }
    val table = columns(head, rows, Set("#", "rows", "actual", "off by", "share", "cost"))
    val left  = Width - table.map(_.length).foldLeft(0)(_ max _) - 2
    if (joins.isEmpty) Vector.empty
    else if (left < NarrowestCondition) table
    else
      table.zip("on" +: joins.map(j => cut(j.condition, left))).map { case (line, on) =>
        trimmed(s"${line.padTo(Width - left, ' ')}$on")
      }
  }

  /** What happened to the planned order while the query ran. */
  private def atRun(o: RunTimeOrder): Vector[String] = o.order match {
    case None =>
      if (verbose || o.planned.isEmpty) wrapped(s"  at run time  the planned order: ${o.reason}", "    ")
      else Vector.empty
    case Some(order) =>
      def short(text: String) = if (text.length <= LongestOrder) text else "another order"
      (s"  at run time  ${short(order)}" +: steps(o.joins, o.joins.map(_.cost.total).sum)) ++
        wrapped(s"    in place of ${o.planned.fold("")(short)}: ${o.reason}", "      ")
  }

  private def reduced(r: ReducerReport): String =
    s"${r.input} reduced by ${r.by.mkString(", ")} (Bloom filter on ${r.on}), keeps about ${percent(r.kept, 1.0)}" +
      r.actual.fold("")(a => s"; it kept ${percent(a, 1.0)}")

  private def step(j: JoinReport): String = j.inputs.mkString(if (j.kind == "inner") " join " else s" ${j.kind} join ")

  /** The reasons for the methods of the most expensive joins. Steps with the same reason share a line. */
  private def reasons(t: TreeReport): Vector[String] = {
    val most   = if (verbose) t.joins.size else MostReasons
    val costly = t.joins.indices.sortBy(i => -t.joins(i).cost.total).take(most).sorted.toVector
    val told   = for (i <- costly; j = t.joins(i); why <- j.why) yield {
      val second = j.runnerUp.fold("") { case (method, cost) => s"; runner-up $method, ${times(cost, j.cost.total)}" }
      (i, s"${j.method}: $why$second")
    }
    told.map(_._2).distinct.flatMap { why =>
      wrapped(s"    ${told.collect { case (i, `why`) => s"(${i + 1})" }.mkString(" ")} $why", "      ")
    }
  }

  private def missing(g: GroupReport): Vector[String] = {
    val shown = g.missing.take(MostMissing).flatMap { a =>
      val guessed = if (a.guessed.isEmpty) "" else s"; distinct values guessed for ${a.guessed.mkString(", ")}"
      val share   = a.costShare.fold("")(s => s"; its joins have ${percent(s, 1.0)} of the cost")
      // users copy the statements, so they are never wrapped
      wrapped(s"    ${a.table}: ${a.reason}$guessed$share", "      ") ++ a.statement.map(s => s"      $s;")
    }
    val more = g.missing.size - MostMissing
    if (shown.isEmpty) shown
    else ("  statistics that would help, and the statements that collect them" +: shown) ++
      (if (more > 0) Vector(s"    and $more more tables: dovetail_advise lists them") else Vector.empty)
  }

  /** Formats a cost relative to the cost of the written order. */
  private def price(cost: Double, whole: Double): String =
    s"${percent(cost, whole)}${if (verbose) s" (${absolute(cost)} in the model's unit, about ns of a core)" else ""}"

  private def times(cost: Double, of: Double): String =
    if (verbose) s"cost ${absolute(cost)}" else if (of <= 0.0) "which costs more" else s"${factor(cost / of)} the cost"

  private def absolute(cost: Double): String = "%.2e".formatLocal(java.util.Locale.ROOT, cost)
}

object ReportText {
  private val Nothing = "found nothing to reorder: no group of joins has three or more relations."

  /** Characters per line. */
  private val Width = 120

  /**
   * Characters of the longest order that is shown on one line. The table of steps is easier to read than a longer one.
   */
  private val LongestOrder = 80

  /** Most characters for the inputs of a part of a run, and most parts that are shown (the longest ones). */
  private val WidestStep = 60
  private val MostSteps  = 20

  /**
   * Most characters for the inputs of a step. The condition gets the rest of the line, and is left out if the rest is
   * shorter than `NarrowestCondition`.
   */
  private val WidestInputs       = 40
  private val NarrowestCondition = 12

  /** Most joins with the reason for their method, and most tables with missing statistics (the most expensive ones). */
  private val MostReasons = 10
  private val MostMissing = 10

  /** Formats a table with a header. Columns without any value are left out. */
  private def columns(head: Vector[String], rows: Vector[Vector[String]], right: Set[String]): Vector[String] = {
    val kept   = head.indices.filter(i => rows.exists(_(i).nonEmpty)).toVector
    val widths = kept.map(i => (head(i) +: rows.map(_(i))).map(_.length).max)
    (head +: rows).map { row =>
      val cells = kept.zip(widths).map { case (i, w) =>
        if (right(head(i))) " " * (w - row(i).length) + row(i) else row(i).padTo(w, ' ')
      }
      trimmed(cells.mkString("    ", "  ", ""))
    }
  }

  /** Wraps a text into lines; all lines except the first are indented. */
  private def wrapped(text: String, indent: String): Vector[String] = if (text.length <= Width) Vector(text)
  else {
    val at = text.lastIndexOf(' ', Width)
    if (at <= text.indexWhere(_ != ' ')) Vector(text) else text.take(at) +: wrapped(indent + text.drop(at + 1), indent)
  }

  private def cut(text: String, to: Int): String = if (text.length <= to) text else text.take(to - 1) + "…"
  private def trimmed(line: String): String      = line.replaceAll("\\s+$", "")
}
