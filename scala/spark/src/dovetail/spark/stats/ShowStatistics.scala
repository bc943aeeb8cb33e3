package org.apache.spark.sql.dovetail.stats

import dovetail.kernel.profile.{ColumnProfile, RelationProfile, Source}
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LogicalPlan, Project, SubqueryAlias, Union}
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.predicates.ComputedColumns.passedOn
import org.apache.spark.sql.dovetail.predicates.Values
import org.apache.spark.sql.dovetail.table.{
  ColumnStatistics,
  Counting,
  GroupStatistics,
  PrivateColumns,
  TableStatistics
}
import org.apache.spark.sql.types._

/**
 * The rows behind `dovetail_stats`: all statistics of a table, a view or a path (parquet.`/data`). First comes the
 * table, then its columns, then groups of columns.
 *
 * The numbers are those that Dovetail plans with. Collected statistics that a plan has no number for (bounds of
 * strings, frequent values, the sample) are shown only if the target is one unfiltered table.
 */
object ShowStatistics {

  val columns: Seq[(String, DataType)] = Seq(
    "column"          -> StringType,
    "data_type"       -> StringType,
    "rows"            -> LongType,
    "size_bytes"      -> LongType,
    "distinct_count"  -> LongType,
    "null_count"      -> LongType,
    "min"             -> StringType,
    "max"             -> StringType,
    "avg_length"      -> LongType,
    "max_length"      -> LongType,
    "histogram_bins"  -> IntegerType,
    "source"          -> StringType,
    "confidence"      -> StringType,
    "kind"            -> StringType,
    "group_columns"   -> ArrayType(StringType),
    "frequent_values" -> IntegerType,
    "top_values"      -> ArrayType(new StructType().add("value", StringType).add("count", LongType)),
    "sample_rows"     -> LongType,
    "collected_at"    -> TimestampType,
    "fresh"           -> BooleanType,
    "unread_files"    -> IntegerType,
    "distinct_error"  -> DoubleType,
    "top_counts"      -> StringType
  )

  /** Number of frequent values shown per column. */
  val TopValues = 5

  def apply(session: SparkSession, target: String): Seq[Seq[Any]] = {
    val conf       = session.sessionState.conf
    val plan       = session.table(target).queryExecution.optimizedPlan
    val known      = new StoredTables(session)
    val privacy    = PrivateColumns(conf)
    val statistics = new PlanStatistics(conf, DovetailConf.HistogramEnabled.get(conf), known)
    statistics.learnFrom(plan)
    val profile = statistics(plan)
    val tables  = plan.collectLeaves().collect { case l: LeafNode => l }.flatMap(known.find)
    // in a view of several tables, the source of a column is that of its own table
    val ofColumns = plan.output.map { a =>
      val from       = origin(plan, a)
      val stored     = from.flatMap { case (leaf, _) => known.find(leaf) }
      val source     = from.fold(profile.rows.source) { case (leaf, _) => statistics(leaf).rows.source }
      val collection = for (t <- stored if asItIs(plan); (_, name) <- from; c <- t.columns.find(_.name == name)) yield c
      column(a, profile, source, stored, collection, hidden = from.exists { case (leaf, name) => privacy(leaf, name) })
    }
    val groups = if (asItIs(plan)) tables.headOption.toSeq.flatMap(t => t.groups.flatMap(group(plan, t, _))) else Nil
    (table(plan, profile, tables) +: ofColumns) ++ groups
  }

  private def table(plan: LogicalPlan, profile: RelationProfile, tables: Seq[TableStatistics]): Seq[Any] = {
    val rows   = profile.rows
    val sample = if (asItIs(plan)) tables.headOption.flatMap(_.sample) else None
    Seq[Any](
      null,
      null,
      rows.value.toLong,
      size(plan, profile),
      null,
      null,
      null,
      null,
      null,
      null,
      null,
      rows.source.name,
      trust(profile),
      "table",
      null,
      null,
      null
    ) ++
      (sample.map(s => Long.box(s.rows.length.toLong)).orNull +: age(tables)) ++ Seq(null, null)
  }

  private def column(
      a: Attribute,
      profile: RelationProfile,
      source: Source,
      stored: Option[TableStatistics],
      collected: Option[ColumnStatistics],
      hidden: Boolean
  ): Seq[Any] = {
    val c: ColumnProfile                         = profile.column(a.exprId.id)
    def long(d: Option[Double])                  = d.map(_.round: java.lang.Long).orNull
    def bound(v: Option[Any], n: Option[Double]) =
      if (hidden) null else v.flatMap(text(_, a.dataType)).orElse(n.map(Values.render(_, a.dataType))).orNull
    val known   = c.ndv.isDefined || c.nulls.isDefined || c.min.isDefined
    val top     = collected.filterNot(_ => hidden).toSeq.flatMap(most(_, a.dataType))
    val error   = collected.flatMap(_.ndvError)
    val sampled = for (t <- stored; s <- t.sample; d <- collected if s.schema.fieldNames.contains(d.name))
      yield s.rows.length.toLong
    Seq[Any](
      a.name,
      a.dataType.sql,
      null,
      null,
      long(c.ndv),
      long(c.nulls.map(_ * profile.rows.value)),
      bound(collected.flatMap(_.min), c.min),
      bound(collected.flatMap(_.max), c.max),
      if (known) c.width.mean.round: java.lang.Long else null,
      collected.map(_.maxWidth: java.lang.Long).orNull,
      c.histogram.map(_.buckets.size: java.lang.Integer).orNull,
      if (known) source.name else Source.Assumed.name,
      if (!known) "guessed" else if (trust(profile) != "exact" || error.contains(0.0)) trust(profile) else "estimated",
      "column",
      null,
      collected.map(_.heavyHitters.size: java.lang.Integer).orNull,
      if (top.isEmpty) null else top,
      sampled.map(Long.box).orNull
    ) ++ (if (known) age(stored.toSeq) else age(Nil)) ++ Seq(
      error.map(Double.box).orNull,
      collected.filter(_ => top.nonEmpty).map(_.counting).map {
        case Counting.Exact      => "exact"
        case Counting.AtLeast(_) => "at least"
        case Counting.About      => "about"
      }.orNull
    )
  }

  /** The most frequent values with their counts. A count that may be too high is shown as its lower bound. */
  private def most(c: ColumnStatistics, dataType: DataType): Seq[Row] = {
    val less = c.counting match { case Counting.AtLeast(n) => n; case _ => 0L }
    c.heavyHitters.flatMap { case (v, n) => text(v, dataType).map(t => (less - n, Values.number(v).getOrElse(0.0), t)) }
      // equally frequent values are sorted by value: 2 comes before 10
      .sortBy(identity).take(TopValues).map { case (n, _, value) => Row(value, -n) }
  }

  private def group(plan: LogicalPlan, t: TableStatistics, g: GroupStatistics): Option[Seq[Any]] = {
    // by the names that the target gives to the columns
    val names = plan.output.flatMap(a => origin(plan, a).map { case (_, name) => name -> a.name }).toMap
    if (!g.columns.forall(names.contains)) None
    else {
      val unknown = Seq.fill[Any](6)(null)
      val trust   = if (t.fresh) "estimated" else "guessed"
      Some(
        (Seq[Any](g.columns.map(names).mkString(", "), null, null, null, g.ndv.round) ++ unknown ++
          Seq[Any](Source.Collected.name, trust, "group", g.columns.map(names), null, null, null)) ++ age(Seq(t)) ++
          Seq(null, null)
      )
    }
  }

  /**
   * Time of the oldest collection, whether the data of all tables is unchanged since, and the number of files that were
   * not read.
   */
  private def age(tables: Seq[TableStatistics]): Seq[Any] =
    if (tables.isEmpty) Seq(null, null, null)
    else Seq(
      tables.map(_.collectedAt).min * MicrosPerMilli,
      tables.forall(_.fresh),
      tables.flatMap(_.unread).map(_.files).sum
    )

  private def trust(profile: RelationProfile): String =
    if (profile.rows.isExact) "exact"
    else if (profile.rows.source.rank <= Source.Sample.rank) "estimated" else "guessed"

  /** Spark's timestamps are microseconds. */
  private val MicrosPerMilli = 1000L

  private def text(value: Any, dataType: DataType): Option[String] = value match {
    case n: Number if dataType.isInstanceOf[IntegralType]         => Some(n.toString)
    case _: Decimal | _: org.apache.spark.unsafe.types.UTF8String => Some(value.toString)
    case other => Values.number(other).map(Values.render(_, dataType))
  }

  /** Whether a plan returns all rows of one leaf. */
  private def asItIs(plan: LogicalPlan): Boolean = plan match {
    case _: LeafNode                   => true
    case _: Project | _: SubqueryAlias => asItIs(plan.children.head)
    case _                             => false
  }

  /** The leaf and the column of it that an output column passes on unchanged. */
  private def origin(plan: LogicalPlan, a: Attribute): Option[(LeafNode, String)] = plan match {
    case leaf: LeafNode       => leaf.output.find(_.exprId == a.exprId).map(c => leaf -> c.name)
    case _: Union             => None
    case Project(list, child) => passedOn(a, list).flatMap(origin(child, _))
    case other                => other.children.find(_.outputSet.contains(a)).flatMap(origin(_, a))
  }

  /**
   * Bytes of the target. For a table, this is its size according to Spark. For a query, it is the number of estimated
   * rows times the bytes of their columns in memory, because Spark multiplies the sizes of joined tables.
   */
  private def size(plan: LogicalPlan, profile: RelationProfile): java.lang.Long =
    if (!asItIs(plan)) profile.bytes(plan.output.map(_.exprId.id)).round
    else {
      val bytes = plan.stats.sizeInBytes
      if (bytes >= BigInt(plan.conf.defaultSizeInBytes)) null else bytes.toLong
    }
}
