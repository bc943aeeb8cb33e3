package org.apache.spark.sql.dovetail.report

import com.fasterxml.jackson.databind.node.{ArrayNode, JsonNodeFactory, ObjectNode}
import dovetail.kernel.cost.Cost
import dovetail.kernel.profile.Estimate

/**
 * Writes the trace as JSON, with Jackson's tree model. All Spark lines bundle Jackson; json4s changed between them.
 */
object ReportJson {
  private val nodes = JsonNodeFactory.instance

  def apply(
      version: String,
      enabled: Boolean,
      costModel: String,
      of: Vector[GroupReport],
      millis: Vector[(String, Double)],
      notes: Vector[String],
      run: Option[ExecutedRun],
      texts: Seq[(String, String)]
  ): String = {
    val root = nodes.objectNode()
    root.put("version", version).put("enabled", enabled).put("cost_model", costModel)
    val times = root.putObject("planning_ms")
    millis.foreach { case (phase, ms) => times.put(phase, ms) }
    val (remarks, found) = of.partition(_.isRemark)
    val groups           = root.putArray("groups")
    found.zipWithIndex.foreach { case (g, i) => groups.add(group(g, i + 1)) }
    strings(root.putArray("notes"), notes ++ remarks.map(_.reason))
    run.foreach { r =>
      val o     = root.putObject("run").put("ms", r.millis)
      val steps = o.putArray("steps")
      r.steps.foreach { s =>
        val n = steps.addObject().put("kind", s.kind).put("of", s.of)
        s.millis.fold(n.putNull("ms"))(n.put("ms", _))
        s.bytes.fold(n.putNull("bytes"))(n.put("bytes", _))
        n.put("spilled_bytes", s.spilled)
        s.skew.fold(n.putNull("skew"))(n.put("skew", _))
      }
    }
    texts.foreach { case (form, text) => root.put(form, text) }
    root.toString
  }

  private def group(g: GroupReport, id: Int): ObjectNode = {
    val o = nodes.objectNode().put("id", id).put("status", g.status).put("reason", g.reason)
    g.algorithm.fold(o.putNull("algorithm"))(o.put("algorithm", _))
    o.put("pairs", g.pairs)
    val relations = o.putArray("relations")
    g.relations.foreach { r =>
      val n = relations.addObject().put("name", r.name).put("label", r.label)
      r.rows.fold[Any](n.putNull("rows"))(e => n.set[ObjectNode]("rows", estimate(e)))
      r.bytes.fold(n.putNull("bytes"))(b => n.put("bytes", b))
      r.actual.foreach(n.put("actual_rows", _))
    }
    val edges = o.putArray("edges")
    g.edges.foreach { e =>
      val n = edges.addObject()
      strings(n.putArray("relations"), e.relations)
      n.put("condition", e.condition)
    }
    Seq("before" -> g.before, "after" -> g.after).foreach { case (name, t) =>
      t.fold[Any](o.putNull(name))(x => o.set[ObjectNode](name, tree(x)))
    }
    g.runnerUp.foreach { case (order, c) => o.putObject("runner_up").put("order", order).put("cost", c.total) }
    if (g.atRun.nonEmpty) {
      val orders = o.putArray("at_run_time")
      g.atRun.foreach { r =>
        val n = orders.addObject().put("planned", r.planned.orNull).put("order", r.order.orNull).put("reason", r.reason)
        joins(n.putArray("joins"), r.joins)
      }
    }
    val missing = o.putArray("missing_statistics")
    g.missing.foreach { a =>
      val n = missing.addObject().put("table", a.table).put("state", a.state)
      strings(n.putArray("columns"), a.columns)
      strings(n.putArray("guessed"), a.guessed)
      a.costShare.fold(n.putNull("cost_share"))(s => n.put("cost_share", s))
      n.put("reason", a.reason).put("statement", a.statement.orNull)
    }
    o
  }

  private def tree(t: TreeReport): ObjectNode = {
    val o = nodes.objectNode().put("order", t.order).put("cost", t.cost.total)
    joins(o.putArray("joins"), t.joins)
    if (t.reducers.nonEmpty) {
      val reducers = o.putArray("reducers")
      t.reducers.foreach { r =>
        val n = reducers.addObject().put("relation", r.input).put("condition", r.on).put("kept", r.kept)
        strings(n.putArray("by"), r.by)
        r.actual.foreach(n.put("actual_kept", _))
      }
    }
    o
  }

  private def joins(array: ArrayNode, of: Vector[JoinReport]): Unit =
    of.foreach { j =>
      val n = array.addObject()
      strings(n.putArray("relations"), j.relations)
      n.put("kind", j.kind).put("condition", j.condition).set[ObjectNode]("rows", estimate(j.rows))
      n.put("method", j.method).set[ObjectNode]("cost", cost(j.cost))
      j.why.foreach(n.put("why", _))
      j.runnerUp.foreach { case (method, c) => n.putObject("runner_up").put("method", method).put("cost", c) }
      j.actual.foreach { rows => n.put("actual_rows", rows).put("q_error", QError(j.rows.value, rows.toDouble)) }
    }

  private def strings(array: ArrayNode, values: Vector[String]): Unit = values.foreach(array.add(_: String))

  private def estimate(e: Estimate): ObjectNode = {
    val o = nodes.objectNode().put("value", e.value).put("lower", e.lower)
    // an unknown upper bound is null rather than a huge number
    if (e.upper >= Estimate.Ceiling) o.putNull("upper") else o.put("upper", e.upper)
    o.put("source", e.source.name)
  }

  private def cost(c: Cost): ObjectNode =
    Vector(
      "exchange"  -> c.exchange,
      "sort"      -> c.sort,
      "hash"      -> c.hash,
      "broadcast" -> c.broadcast,
      "output"    -> c.output,
      "scan"      -> c.scan,
      "total"     -> c.total
    ).foldLeft(nodes.objectNode()) { case (o, (part, value)) => o.put(part, value) }
}
