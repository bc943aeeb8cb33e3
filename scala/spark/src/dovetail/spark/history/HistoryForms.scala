package org.apache.spark.sql.dovetail.history

import java.util.{Locale, TreeMap}

import dovetail.kernel.profile.Source
import org.apache.spark.sql.catalyst.expressions.{
  Expression,
  InSet,
  Literal,
  TimeZoneAwareExpression,
  UserDefinedExpression
}
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LogicalPlan}
import org.apache.spark.sql.dovetail.base.{LazyValue, TextHash}
import org.apache.spark.sql.dovetail.footers.ColumnMatching
import org.apache.spark.sql.dovetail.group.JoinGroup
import org.apache.spark.sql.dovetail.leaf.{ExtractedVariants, LeafNames, MalformedRecords, SkippedFiles}
import org.apache.spark.sql.dovetail.predicates.JoinPredicates
import org.apache.spark.sql.dovetail.report.GroupIdentity
import org.apache.spark.sql.dovetail.sample.ReaderSettings
import org.apache.spark.sql.dovetail.steer.{GroupForm, PlanForm, SetForm}
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2ScanRelation, FileScan}
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{StructType, TimestampType}

/**
 * The keys under which the history stores a join group and its parts. A key is a hash of a canonical form that includes
 * IS NOT NULL, because Spark removes rows with NULL join keys from an input, which changes its row count.
 *
 * A key also covers what the canonical form leaves out: how files are read (format, options, the schema that is applied
 * to them, the session's settings for readers), and the session's time zone if an expression depends on it. Keys must
 * be this precise because a counted number of rows is treated as a fact, even when Dovetail decides on broadcasts.
 *
 * @param bases    what the estimate of each relation is made from
 * @param settings settings of the session when the query was planned; they may have changed when keys are computed
 */
final class HistoryForms(
    group: JoinGroup,
    predicates: JoinPredicates,
    bases: Vector[HistoryForms.Basis],
    settings: HistoryForms.Settings,
    form: Boolean => GroupForm
) {
  import HistoryForms._

  private lazy val exact = form(true)

  /** Keys of the relations by number; None if the relation may have other rows next time, or cannot be recognized. */
  lazy val relations: Vector[Option[String]] = group.leaves.indices.toVector.map(i =>
    if (stable(i)) Some(exact.relations(i)).filterNot(PlanForm.isNameless(_)).map(text => TextHash.hex(text + how(i)))
    else None
  )

  lazy val whole: Option[GroupIdentity.Whole] = part(group.leaves.indices.toVector)

  /** Key of the group without constants; None if the group has no constants. */
  lazy val pattern: Option[GroupIdentity.Whole] = if (joins) {
    val without = form(false).whole
    if (without.text == exact.whole.text) None else key(without, group.leaves.indices)
  } else None

  /**
   * The key of the errors of estimates for groups of this pattern. Estimates from other sources, or from a sample, have
   * other errors.
   */
  def template(pattern: GroupIdentity.Whole): GroupIdentity.Whole = {
    val known = pattern.order.map(bases(_).text)
    pattern.copy(key = s"$Template${pattern.key}$OfSources${TextHash.hex(known.mkString(" "))}")
  }

  /** The version of the statistics that the estimates for a group of this pattern are made from. */
  def statistics(pattern: GroupIdentity.Whole): String =
    TextHash.hex(pattern.order.map(bases(_).version.value).mkString(" "))

  /** Key of a set of relations, if all of them and all their join predicates can be recognized. */
  def set(of: Vector[Int]): Option[String] =
    if (of.size == 1) relations(of.head) else part(of).map(_.key)

  /** Key of a part of the group as if it were a group, with the order in which its form numbers the relations. */
  def part(of: Vector[Int]): Option[GroupIdentity.Whole] = if (joins && of.nonEmpty) key(exact.formOf(of), of) else None

  private def key(form: SetForm, of: Seq[Int]): Option[GroupIdentity.Whole] =
    if (form.nameless || of.exists(relations(_).isEmpty)) None
    else Some(GroupIdentity.Whole(TextHash.hex(form.text + of.map(how).sorted.mkString + zone(joining)), form.order))

  private lazy val joining =
    predicates.members.flatten.map(_.expression) ++ predicates.complex.map(_.expression) ++
      group.operators.flatMap(_.condition)

  private lazy val joins = joining.forall(repeatable)

  private def stable(leaf: Int): Boolean = !group.leaves(leaf).exists(_.expressions.exists(!repeatable(_))) &&
    besides(leaf).forall(repeatable) &&
    !group.leaves(leaf).collectLeaves().exists(l => MalformedRecords.areDropped(l) || SkippedFiles.possible(l))

  /** Predicates and computed columns that the group applies to a leaf, in addition to the leaf's plan. */
  private def besides(leaf: Int): Vector[Expression] =
    predicates.local.collect { case (`leaf`, e) => e } ++ group.computed.collect { case (`leaf`, a) => a.child }

  private lazy val how: Vector[String] = group.leaves.indices.toVector.map { i =>
    val plan = group.leaves(i)
    plan.collectLeaves().map(reading).mkString + settings.readers +
      zone(plan.collect { case p => p.expressions }.flatten ++ besides(i))
  }

  /** Text of the session's time zone, if an expression depends on it. Texts of timestamp constants do, too. */
  private def zone(of: Seq[Expression]): String =
    if (of.exists(_.exists(isZoned))) s"\n${settings.timeZone}" else ""
}

object HistoryForms {

  /**
   * Settings of a session that change which rows are read.
   *
   * @param readers  text of those settings for readers that are set
   * @param timeZone time zone, set or not
   */
  final case class Settings(readers: String, timeZone: String)

  object Settings {
    def apply(conf: SQLConf): Settings =
      Settings(
        ReaderSettings(conf).toVector.sorted.map { case (key, value) => s"\n$key=$value" }.mkString,
        conf.sessionLocalTimeZone
      )
  }

  /**
   * What the estimate of a relation is made from.
   *
   * @param source  where its row count comes from
   * @param sampled whether there is a sample, with which its predicates are tried
   * @param version changes with the content of its statistics
   */
  final case class Basis(source: Source, sampled: Boolean, version: LazyValue[Long]) {
    def text: String = source.name + (if (sampled) " sampled" else "")
  }

  /** Most relations of a group in the history. Larger forms take longer than planning should wait for a look-up. */
  val MostRelations = 40

  /** Names of the tables that a plan reads; a path without its folders of partitions, whose names are values. */
  def tables(plan: LogicalPlan): Vector[String] =
    plan.collectLeaves().toVector.collect { case l: LeafNode => l }.map(l =>
      LeafNames.withoutValues(l).getOrElse(LeafNames.name(l))
    ).distinct

  /** Whether an expression returns the same result for the same input in every session. */
  private def repeatable(e: Expression): Boolean =
    e.deterministic && !e.exists(_.isInstanceOf[UserDefinedExpression])

  /**
   * Text of how a leaf reads its data. For Parquet tables of a catalog it leaves out the schema: columns are found by
   * their names and have the types of the table, so the schema does not change the rows, except for the collations of
   * columns, their field ids and the values that they have in older files.
   */
  private def reading(leaf: LogicalPlan): String = leaf match {
    case r: LogicalRelation => r.relation match {
        case f: HadoopFsRelation =>
          val fixed  = ColumnMatching.isByName(f) && r.catalogTable.isDefined
          val schema = if (fixed) collations(f.schema) + special(f.dataSchema) else f.schema.catalogString
          val how    = ColumnMatching.unusual(f).mkString(", ")
          s"\n${f.fileFormat.getClass.getName} ${options(asked(f.options))} $schema${variants(r)} $how"
        case _ => ""
      }
    case v: DataSourceV2ScanRelation =>
      val columns = v.relation.output.map(a => s"${a.name} ${a.dataType.catalogString}")
      s"\n${v.scan.getClass.getName} ${options(v.relation.options.asCaseSensitiveMap)} " +
        columns.mkString(", ") + filesOf(v).fold("")(special) + variants(v)
    case _ => ""
  }

  /** Text of the paths of VARIANT values that a scan extracts. */
  private def variants(leaf: LeafNode): String = ExtractedVariants(leaf).map(" " + _.json).mkString

  /** Text of the columns that are not compared byte by byte. Their types contain the word only from Spark 4.0 on. */
  private def collations(schema: StructType): String =
    schema.fields.filter(_.dataType.catalogString.contains(" collate ")).map(f =>
      s"${f.name} ${f.dataType.catalogString}"
    ).mkString(", ")

  private def filesOf(v: DataSourceV2ScanRelation): Option[StructType] =
    v.scan match { case f: FileScan => Some(f.dataSchema); case _ => None }

  /** Text of the columns whose values depend on more than their names in the files. */
  private def special(schema: StructType): String = {
    val columns = schema.filter(ColumnMatching.isSpecial)
    if (columns.isEmpty) "" else StructType(columns).json
  }

  private def asked(options: Map[String, String]): TreeMap[String, String] = {
    val all = new TreeMap[String, String]
    options.foreach { case (name, value) => all.put(name, value) }
    all
  }

  /** Text of the options in alphabetical order, without the paths. */
  private def options(all: java.util.Map[String, String]): String = {
    val some = new TreeMap[String, String](all)
    some.keySet.removeIf(name => Places(name.toLowerCase(Locale.ROOT)))
    some.toString
  }

  /** Options that name the location of the files, which the canonical form contains already. */
  private val Places = Set("path", "paths")

  private def isZoned(e: Expression): Boolean = e match {
    case l: Literal                 => l.dataType == TimestampType
    case i: InSet                   => i.child.dataType == TimestampType
    case t: TimeZoneAwareExpression => t.timeZoneId.isDefined
    case _                          => false
  }

  /** First character of the keys of groups without constants. */
  private val Template = "~"

  /** Begin of the part of such a key that names the statistics. */
  private val OfSources = "-"

  /** The key of a group with or without constants, whatever statistics it was estimated from. */
  def patternOf(key: String): String = key.stripPrefix(Template).takeWhile(OfSources.head != _)
}
