package org.apache.spark.sql.dovetail.history

import java.util.{Locale, TreeMap}

import org.apache.spark.sql.catalyst.expressions.{
  Expression,
  InSet,
  Literal,
  TimeZoneAwareExpression,
  UserDefinedExpression
}
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LogicalPlan}
import org.apache.spark.sql.dovetail.group.JoinGroup
import org.apache.spark.sql.dovetail.leaf.LeafNames
import org.apache.spark.sql.dovetail.predicates.JoinPredicates
import org.apache.spark.sql.dovetail.report.GroupIdentity
import org.apache.spark.sql.dovetail.steer.{GroupForm, PlanForm, SetForm}
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.TimestampType

/**
 * A group by the keys under which the history knows it. A key is a hash of a canonical form, in which NOT NULL counts:
 * Spark takes rows without a join key out of an input, which changes its number of rows.
 *
 * What a form does not say is in the key beside it: how files are read (format, options, and the schema that is laid
 * over them), and the session's time zone where an expression depends on it. A number of rows that was counted is taken
 * for a fact, also by broadcasts.
 */
final class HistoryForms(group: JoinGroup, predicates: JoinPredicates, form: Boolean => GroupForm) {
  import HistoryForms._

  private lazy val exact = form(true)

  /** By number; none where the relation may be another one next time. */
  lazy val relations: Vector[Option[String]] = group.leaves.indices.toVector.map(i =>
    if (stable(i)) Some(exact.relations(i)).filterNot(hasNoName).map(text => keyOf(text + how(i))) else None
  )

  lazy val whole: Option[GroupIdentity.Whole] = if (joins) key(exact.whole, group.leaves.indices) else None

  /** Without constants; none where there are none. */
  lazy val template: Option[GroupIdentity.Whole] = if (joins) {
    val without = form(false).whole
    if (without.text == exact.whole.text) None
    else key(without, group.leaves.indices).map(w => w.copy(key = s"$Template${w.key}"))
  } else None

  /** Of a set of relations, where all of them and all that joins them can be recognized. */
  def set(of: Vector[Int]): Option[String] =
    if (of.size == 1) relations(of.head) else if (joins) key(exact.formOf(of), of).map(_.key) else None

  private def key(form: SetForm, of: Seq[Int]): Option[GroupIdentity.Whole] =
    if (form.nameless || of.exists(relations(_).isEmpty)) None
    else Some(GroupIdentity.Whole(keyOf(form.text + of.map(how).sorted.mkString + zone(joining)), form.order))

  private lazy val joining =
    predicates.members.flatten.map(_.expression) ++ predicates.complex.map(_.expression) ++
      group.operators.flatMap(_.condition)

  private lazy val joins = joining.forall(repeatable)

  private def stable(leaf: Int): Boolean = !group.leaves(leaf).exists(_.expressions.exists(!repeatable(_))) &&
    besides(leaf).forall(repeatable)

  /** What is done to the rows of a leaf beside what its plan does. */
  private def besides(leaf: Int): Vector[Expression] =
    predicates.local.collect { case (`leaf`, e) => e } ++ group.computed.collect { case (`leaf`, a) => a.child }

  private lazy val how: Vector[String] = group.leaves.indices.toVector.map { i =>
    val plan = group.leaves(i)
    plan.collectLeaves().map(reading).mkString + zone(plan.collect { case p => p.expressions }.flatten ++ besides(i))
  }
}

object HistoryForms {

  /** Relations of a group beyond which its form takes longer than planning should wait for a look-up. */
  val MostRelations = 40

  /** What a plan reads, by names under which people know it. */
  def tables(plan: LogicalPlan): Vector[String] =
    plan.collectLeaves().toVector.collect { case l: LeafNode => l }.map(l =>
      LeafNames.identity(l).getOrElse(LeafNames.name(l))
    ).distinct

  /** The same input has the same answer, in every session. */
  private def repeatable(e: Expression): Boolean =
    e.deterministic && !e.exists(_.isInstanceOf[UserDefinedExpression])

  /** Of Parquet and ORC, columns are found by their names, and a schema changes no rows. */
  private def reading(leaf: LogicalPlan): String = leaf match {
    case r: LogicalRelation => r.relation match {
        case f: HadoopFsRelation =>
          val byName = f.fileFormat.isInstanceOf[ParquetFileFormat] || f.fileFormat.isInstanceOf[OrcFileFormat]
          s"\n${f.fileFormat.getClass.getName} ${options(asked(f.options))} ${if (byName) "" else f.schema.catalogString}"
        case _ => ""
      }
    case v: DataSourceV2ScanRelation =>
      val columns = v.relation.output.map(a => s"${a.name} ${a.dataType.catalogString}")
      s"\n${v.scan.getClass.getName} ${options(v.relation.options.asCaseSensitiveMap)} ${columns.mkString(", ")}"
    case _ => ""
  }

  private def asked(options: Map[String, String]): TreeMap[String, String] = {
    val all = new TreeMap[String, String]
    options.foreach { case (name, value) => all.put(name, value) }
    all
  }

  /** In an order of their own. */
  private def options(all: java.util.Map[String, String]): String = {
    val some = new TreeMap[String, String](all)
    some.keySet.removeIf(name => Places(name.toLowerCase(Locale.ROOT)))
    some.toString
  }

  /** Options that say where the files are, which the form says, too. */
  private val Places = Set("path", "paths")

  /** Also of a constant, which a text writes as its day and hour there. */
  private def zone(of: Seq[Expression]): String =
    if (of.exists(_.exists(isZoned))) s"\n${SQLConf.get.sessionLocalTimeZone}" else ""

  private def isZoned(e: Expression): Boolean = e match {
    case l: Literal                 => l.dataType == TimestampType
    case i: InSet                   => i.child.dataType == TimestampType
    case t: TimeZoneAwareExpression => t.timeZoneId.isDefined
    case _                          => false
  }

  private def hasNoName(text: String): Boolean = text.contains(PlanForm.Nameless)

  /** Keys of groups without constants begin with it. */
  private val Template = "~"

  def keyOf(text: String): String = f"${DataStamps.hash(text)}%016x"
}
