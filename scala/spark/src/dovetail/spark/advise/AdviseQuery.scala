package org.apache.spark.sql.dovetail.advise

import java.util.Locale

import dovetail.kernel.profile.Estimate
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.{CTERelationRef, LeafNode}
import org.apache.spark.sql.dovetail.base.{DovetailConf, ErrorCondition, PlannedStatement}
import org.apache.spark.sql.dovetail.group.Preparation
import org.apache.spark.sql.dovetail.leaf.LeafNames
import org.apache.spark.sql.dovetail.report.{TableAdvice, Trace}
import org.apache.spark.sql.dovetail.sketch.Recipe
import org.apache.spark.sql.dovetail.stats.{PlanStatistics, StoredTables}
import org.apache.spark.sql.dovetail.table.TableStatistics
import org.apache.spark.sql.types._

/**
 * Finds the tables that are worth analyzing for one query: the rows of `dovetail_advise`, one per table below a join.
 * The query is planned, not run.
 *
 * A table is worth analyzing if join sizes depend on columns or groups for which Dovetail has no statistics or stale
 * ones. Its importance is the share of the query's predicted cost that lies in joins with the table.
 */
object AdviseQuery {

  val columns: Seq[(String, DataType)] = Seq(
    "table"      -> StringType,
    "state"      -> StringType,
    "rows"       -> DoubleType,
    "source"     -> StringType,
    "cost_share" -> DoubleType,
    "columns"    -> ArrayType(StringType),
    "groups"     -> ArrayType(ArrayType(StringType)),
    "statement"  -> StringType,
    "reason"     -> StringType
  )

  def apply(session: SparkSession, sql: String): Seq[Seq[Any]] = {
    val (_, trace) = Trace.collecting(PlannedStatement.queryOf(PlannedStatement(session, sql)).optimizedPlan)
    if (trace.input.isEmpty)
      throw ErrorCondition.NotAQuery(
        s"dovetail_advise: Spark does not optimize this statement: $sql",
        "asker" -> "dovetail_advise"
      )
    adviceFor(session, trace).map { a =>
      Seq[Any](
        a.table,
        a.state,
        a.rows.value,
        a.rows.source.name,
        a.costShare.map(Double.box).orNull,
        a.columns,
        a.groups,
        a.statement.orNull,
        a.reason
      )
    }
  }

  /**
   * Advice on each table below a join of the traced query, in order of appearance. Empty if Spark does not optimize the
   * query.
   */
  def adviceFor(session: SparkSession, trace: Trace): Vector[TableAdvice] = trace.input.toVector.flatMap { plan =>
    val conf       = session.sessionState.conf
    val prepared   = Preparation(session, plan)
    val known      = new StoredTables(session)
    val statistics = new PlanStatistics(conf, DovetailConf.HistogramEnabled.get(conf), known)
    Seq(plan, prepared).foreach(statistics.learnFrom)
    val leaves = SizingColumns(prepared).filterNot(l => ofKnownSize(l.node))
    tables(leaves).map { uses =>
      val leaf     = uses.head.node
      val profiles = uses.map(u => u -> statistics(u.node))
      val rows     = profiles.map(_._2.rows).maxBy(_.value)
      val needed = leaf.output.filter(a => Recipe.collects(a.dataType) && uses.exists(_.columns.contains(a.name))).map(
        _.name
      ).toVector
      val groups  = uses.flatMap(_.groups).distinct.filter(_.forall(needed.contains))
      val verdict = judged(AnalyzeTarget(leaf), needed, groups, uses.map(u => known.find(u.node)))
      val guessed = needed.filter(c =>
        profiles.exists { case (u, p) => u.node.output.exists(a => a.name == c && p.column(a.exprId.id).ndv.isEmpty) }
      )
      TableAdvice(
        AnalyzeTarget.name(leaf),
        LeafNames.identity(leaf),
        verdict.state,
        rows,
        costShare(trace, leaf),
        needed,
        groups,
        guessed,
        verdict.statement,
        verdict.reason + s"; ${told(rows)} from ${rows.source.name}"
      )
    }
  }

  /** Whether a leaf is a literal or computed relation whose rows Spark knows. */
  private def ofKnownSize(leaf: LeafNode): Boolean = leaf.maxRows.isDefined || leaf.isInstanceOf[CTERelationRef]

  /** Groups the leaves by table, in order of appearance. */
  private def tables(leaves: Vector[SizingColumns.Leaf]): Vector[Vector[SizingColumns.Leaf]] = {
    val names = leaves.map(l => AnalyzeTarget.name(l.node))
    names.distinct.map(n => leaves.indices.toVector.filter(names(_) == n).map(leaves))
  }

  final private case class Verdict(state: String, reason: String, statement: Option[String] = None)

  private def judged(
      target: AnalyzeTarget,
      columns: Vector[String],
      groups: Vector[Vector[String]],
      known: Vector[Option[TableStatistics]]
  ): Verdict = target match {
    case AnalyzeTarget.Refusal(reason, instead) =>
      Verdict(TableAdvice.Refused, reason, instead.filter(_ => columns.nonEmpty).map(_(columns)))
    case t: AnalyzeTarget.Files =>
      def worth(state: String, reason: String) = Verdict(state, reason, Some(t.statement(columns, groups)))
      val statistics                           = known.flatten
      // all files of a pruned table may have been read, also if its statistics are not the exact ones of these files
      val unread    = statistics.flatMap(_.unread).map(_.files).filter(_ > 0)
      val missing   = columns.filterNot(c => statistics.forall(_.columns.exists(_.name == c)))
      val uncounted = groups.filterNot(g => statistics.forall(_.groups.exists(_.columns.toSet == g.toSet)))
      if (columns.isEmpty) Verdict("fresh", "no join size depends on its columns")
      else if (known.exists(_.isEmpty)) worth("unknown", "never analyzed")
      else if (unread.nonEmpty)
        worth("stale", s"${unread.max} of its files were added or changed since it was analyzed")
      else if (missing.nonEmpty) worth("incomplete", s"analyzed without ${missing.mkString(", ")}")
      else if (uncounted.nonEmpty)
        worth("incomplete", s"analyzed without the groups ${uncounted.map(_.mkString("(", ", ", ")")).mkString(", ")}")
      else Verdict("fresh", "analyzed, and unchanged since")
  }

  /**
   * The share of the predicted cost of all ordered joins that lies in joins with the table. None if no joins were
   * ordered.
   */
  private def costShare(trace: Trace, leaf: LeafNode): Option[Double] = {
    val costs = for (g <- trace.groups; tree <- g.after.orElse(g.before).toVector; j <- tree.joins) yield {
      val tables = g.relations.filter(r => j.relations.contains(r.name)).flatMap(_.tables)
      (j.cost.total, LeafNames.identity(leaf).exists(tables.contains))
    }
    val total = costs.map(_._1).sum
    if (total > 0.0) Some(costs.collect { case (cost, true) => cost }.sum / total) else None
  }

  private def told(e: Estimate): String =
    "%,.0f rows".formatLocal(Locale.ROOT, e.value) + (if (e.isExact) "" else " (estimated)")
}
