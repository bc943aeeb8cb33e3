package org.apache.spark.sql.dovetail.stats

import java.util.IdentityHashMap

import scala.collection.mutable

import dovetail.kernel.profile.{Assumptions, ColumnProfile, Estimate, RelationProfile, Source, UnitedColumn}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Expression, NamedExpression}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.dovetail.base.{DovetailConf, LazyValue}
import org.apache.spark.sql.dovetail.deadline.PlanningTime
import org.apache.spark.sql.dovetail.predicates.{Conditions, ConstantColumn, DistinctValues, Widths}
import org.apache.spark.sql.dovetail.report.Trace
import org.apache.spark.sql.dovetail.sample.PlanSamples
import org.apache.spark.sql.dovetail.table.TableStatisticsSource
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.internal.SQLConf

/**
 * Rows and columns of any logical plan: one method per operator; the leaves come from [[LeafStatistics]].
 *
 * One object serves one run of the rule and remembers the sizes of sub-plans by identity.
 */
final class PlanStatistics(conf: SQLConf, histograms: Boolean, known: TableStatisticsSource) {
  private val leaves = new LeafStatistics(conf, histograms, known)

  private val cached = new CachedSource

  val samples: PlanSamples =
    new PlanSamples(known, leaf => { readNow(); leaves.sample(leaf) }, cached.apply, leaves.pruned.apply)

  val uncertain: UncertainRows = new UncertainRows(this, leaves.filtered)

  val rare: RareRows = new RareRows(this, leaves.filtered)

  private val filters = new FilterStatistics(leaves, samples, apply)

  private val remembered = new IdentityHashMap[LogicalPlan, RelationProfile]
  private val ctes       = mutable.HashMap.empty[Long, CTERelationDef]
  private var unread     = Option.empty[LogicalPlan]

  /**
   * Registers the common table expressions below `plan`, so that references to them have a size, and the statistics of
   * its tables. The plan from before pruning must be passed first.
   */
  def learnFrom(plan: LogicalPlan): Unit = cached.within(plan).foreach {
    case w: WithCTE  => w.cteDefs.foreach(d => ctes(d.id) = d)
    case l: LeafNode => leaves.learnFrom(l)
    case _           =>
  }

  /**
   * Reads the footers of all files of the plan at once, which otherwise happens leaf by leaf, and some rows of the
   * tables that predicates restrict.
   */
  def readAhead(plan: LogicalPlan): Unit = leaves.readAhead(plan, cached.within(plan))

  /** Reads ahead at the first question: a plan without joins to order has none. */
  def readWhenAsked(plan: LogicalPlan): Unit = unread = Some(plan)

  /** Number of row groups that have the rows of a leaf, if all of its files are known. */
  def rowGroups(leaf: LeafNode): Option[Int] = leaves.rowGroups(leaf)

  /** Share of a leaf's rows in row groups that may have values of a column between two numbers, if it is known. */
  def between(leaf: LeafNode, column: Attribute, low: Double, high: Double): Option[Double] =
    leaves.between(leaf, column, low, high)

  /** The smallest and the largest value of a column of a leaf, if the footers of all its files tell. */
  def range(leaf: LeafNode, column: Attribute): Option[(Double, Double)] = {
    readNow()
    leaves.range(leaf, column)
  }

  /** A number that changes if the statistics of a table of the plan are collected anew, and are others then. */
  def version(plan: LogicalPlan): LazyValue[Long] = {
    val all = plan.collectLeaves().toVector.collect { case l: LeafNode => leaves.version(l) }
    new LazyValue(() => all.map(_.value).sum)
  }

  private def readNow(): Unit = unread.foreach { p => unread = None; Trace.timed("footers")(readAhead(p)) }

  def apply(plan: LogicalPlan): RelationProfile = {
    val known = remembered.get(plan)
    if (known != null) known
    else {
      PlanningTime.check()
      readNow()
      val p = estimate(plan)
      remembered.put(plan, p)
      p
    }
  }

  private def estimate(plan: LogicalPlan): RelationProfile = plan match {
    case r: CTERelationRef   => reference(r)
    case r: InMemoryRelation => cached(r).fold(leaves(r))(p => CachedSource.profile(r, leaves(r), apply(p)))
    case l: LeafNode         => leaves(l)
    case f: Filter           => filters(f)
    case p: Project          => project(p.projectList, apply(p.child))
    case a: Aggregate        => aggregate(a)
    case d: Distinct         => distinct(apply(d.child), d.output)
    case j: Join             => JoinStatistics(j, apply(j.left), apply(j.right), samples)
    case l: GlobalLimit      => limited(apply(l.child), l.maxRows)
    case l: LocalLimit       => apply(l.child)
    case u: Union            => union(u)
    case e: Expand           => expand(e)
    case g: Generate         => generate(g)
    case s: Sample           => sampled(s)
    case w: Window           => widened(apply(w.child), w.output)
    case w: WithCTE          => apply(w.plan)
    case u: UnaryNode        =>
      if (addsNoRows(u)) widened(apply(u.child), u.output) else unbounded(widened(apply(u.child), u.output))
    case other => unknown(other)
  }

  private def addsNoRows(u: UnaryNode): Boolean = u match {
    case _: Sort | _: SubqueryAlias | _: View | _: ResolvedHint | _: Subquery |
        _: RepartitionOperation | _: RebalancePartitions =>
      true
    case _: Deduplicate | _: Offset | _: Tail | _: WindowGroupLimit | _: CollectMetrics | _: EventTimeWatermark => true
    // MapGroups is missing here because flatMapGroups uses it, too
    case _: SerializeFromObject | _: DeserializeToObject | _: MapElements | _: TypedFilter | _: AppendColumns => true
    case _                                                                                                    => false
  }

  /**
   * Estimates an operator that runs user code (flatMap, mapInPandas, TRANSFORM) and may return any number of rows.
   * Without a better number, the estimate is the number of its input rows.
   */
  private def unbounded(child: RelationProfile): RelationProfile =
    multiplied(child).copy(rows = Estimate.guess(child.rows.value, child.rows.source), uniqueKeys = Set.empty)

  /** Sampling with replacement may draw a row any number of times: no bound and no unique key holds any longer. */
  private def sampled(s: Sample): RelationProfile = {
    val (child, fraction) = (apply(s.child), math.max(0.0, s.upperBound - s.lowerBound))
    if (s.withReplacement)
      multiplied(child).copy(
        rows = Estimate.guess(child.rows.value * fraction, child.rows.source),
        uniqueKeys = Set.empty
      )
    else child.scaled(math.min(1.0, fraction))
  }

  private def multiplied(p: RelationProfile): RelationProfile = p.copy(columns = p.columns.map { case (id, c) =>
    id -> c.multiplied
  })

  private def reference(r: CTERelationRef): RelationProfile = ctes.get(r.cteId) match {
    case Some(d) => copied(d.child, r)
    case None    => leaves(r)
  }

  /**
   * Registers a plan that returns the rows of another plan, with its columns in the same order under other names. Both
   * plans have the same size.
   */
  def learnCopy(of: LogicalPlan, copy: LogicalPlan): Unit = learn(copy, copied(of, copy))

  /** Uses this profile for a plan from now on. */
  def learn(plan: LogicalPlan, profile: RelationProfile): Unit = { remembered.put(plan, profile); () }

  private def copied(of: LogicalPlan, copy: LogicalPlan): RelationProfile = {
    val p     = apply(of)
    val names = of.output.zip(copy.output).map { case (from, to) => from.exprId.id -> to.exprId.id }.toMap
    p.copy(
      columns = p.columns.collect { case (id, c) if names.contains(id) => names(id) -> c },
      uniqueKeys = p.uniqueKeys.filter(_.forall(names.contains)).map(_.map(names))
    )
  }

  /**
   * A column keeps its profile, even if it is renamed. A computed column has a width, and at most as many distinct
   * values as the columns that it is computed from. A constant has one value.
   */
  private def project(list: Seq[NamedExpression], child: RelationProfile): RelationProfile = {
    val columns = list.map(e => e.exprId.id -> computed(e, child)).toMap
    val renamed = list.collect {
      case a @ Alias(c: Attribute, _) => c.exprId.id -> a.exprId.id; case a: Attribute => a.exprId.id -> a.exprId.id
    }.toMap
    child.copy(columns = columns, uniqueKeys = child.uniqueKeys.filter(_.forall(renamed.contains)).map(_.map(renamed)))
  }

  private def computed(e: Expression, child: RelationProfile): ColumnProfile = {
    val conditions = new Conditions
    def width      = Widths.ofExpression(e, child.rows.upper, a => child.column(a.exprId.id).width)
    conditions.column(e).flatMap(child.columns.get) match {
      case Some(c) =>
        val column = if (conditions.sameValues(e)) c else c.recoded
        if (PlanStatistics.isColumn(e)) column else column.copy(width = width)
      case None =>
        ConstantColumn(e, width).getOrElse {
          val ndv    = GroupedRows.knownDistinct(e, child)
          val domain = DistinctValues.domain(e, child)
          ColumnProfile(
            ndv = ndv,
            domain = domain.orElse(ndv),
            width = width,
            uncounted = !DistinctValues.isCounted(e, child.column)
          )
        }
    }
  }

  private def aggregate(a: Aggregate): RelationProfile = {
    val child = apply(a.child)
    if (a.groupingExpressions.isEmpty)
      project(
        a.aggregateExpressions,
        child
      ).copy(rows = Estimate.exactly(1.0, child.rows.source), baseRows = 1.0, uniqueKeys = Set(Set.empty))
    else {
      val outputs = a.aggregateExpressions.map(e =>
        (e match { case al: Alias => al.child; case other => other }).canonicalized -> e.exprId.id
      ).toMap
      val keys    = a.groupingExpressions.map(_.canonicalized)
      val unique  = if (keys.forall(outputs.contains)) keys.map(outputs).toSet else Set.empty[Long]
      val output  = project(a.aggregateExpressions, child)
      val all     = output.copy(columns = output.columns ++ PickedValues(child, a.aggregateExpressions))
      val grouped = GroupedRows(child, a.groupingExpressions, unique, all)
      GroupValues(child, a.groupingExpressions, a.aggregateExpressions, grouped)
    }
  }

  private def distinct(child: RelationProfile, output: Seq[Attribute]): RelationProfile =
    GroupedRows(child, output, output.map(_.exprId.id).toSet, child)

  private def limited(child: RelationProfile, limit: Option[Long]): RelationProfile = limit.fold(child) { n =>
    val rows = child.rows.atMost(n.toDouble)
    child.copy(
      rows = rows,
      columns = child.columns.map { case (id, c) =>
        id -> c.copy(ndv = c.ndv.map(Assumptions.distinctAfter(_, child.rows.value, rows.value)), rangeRows = None)
      }
    )
  }

  private def union(u: Union): RelationProfile = {
    val children = u.children.map(apply)
    val outputs  = u.children.map(_.output.toVector)
    val rows     = children.map(_.rows).reduce(_ + _)
    val columns  = u.output.zipWithIndex.map { case (a, i) =>
      a.exprId.id -> UnitedColumn(outputs.zip(children).map { case (out, p) =>
        p.rows.value -> p.column(out(i).exprId.id)
      }.toVector)
    }
    RelationProfile(rows, columns.toMap, math.max(rows.value, children.map(_.baseRows).sum))
  }

  /** Repeats every row once per grouping set. A column has its values, or NULL if the grouping set leaves it out. */
  private def expand(e: Expand): RelationProfile = {
    val child   = apply(e.child)
    val n       = math.max(e.projections.size, 1).toDouble
    val columns = e.output.zipWithIndex.map { case (a, i) =>
      val variants          = e.projections.map(_(i))
      val (literals, known) = variants.partition(_.foldable)
      val parts             = known.map(computed(_, child))
      val constants         = literals.distinct.size.toDouble
      // in UNPIVOT, each copy of a row takes its value from another column
      val widths  = variants.map(computed(_, child).width.multiplied)
      val width   = widths.reduceOption(_ or _).getOrElse(Widths.ofType(a.dataType))
      val profile = parts.reduceOption((x, y) => if (x.ndv.getOrElse(0.0) >= y.ndv.getOrElse(0.0)) x else y) match {
        case Some(p) => p.multiplied.recoded.copy(
            nulls = Some(1.0 - p.nonNull * parts.size / n),
            min = None,
            max = None,
            histogram = None,
            width = width,
            input = None
          )
        case None => ColumnProfile(ndv = Some(constants), domain = Some(constants), width = width)
      }
      a.exprId.id -> profile
    }
    RelationProfile(child.rows * Estimate.exactly(n, child.rows.source), columns.toMap, child.baseRows * n)
  }

  private def generate(g: Generate): RelationProfile = {
    val child = multiplied(widened(apply(g.child), g.output))
    val each  = GeneratedRows(g).fold(Estimate.guess(Assumptions.GeneratorRows, Source.Assumed))(
      Estimate.exactly(_, child.rows.source)
    )
    child.copy(
      rows = child.rows * each,
      columns = child.columns ++ GeneratedRows.columns(g),
      baseRows = child.baseRows * math.max(each.value, 1.0),
      uniqueKeys = Set.empty
    )
  }

  /** The child's profile under an operator that may add columns. */
  private def widened(child: RelationProfile, output: Seq[Attribute]): RelationProfile =
    child.copy(columns =
      child.columns ++ output.filterNot(a => child.columns.contains(a.exprId.id)).map(a =>
        a.exprId.id -> UnknownColumns(a)
      )
    )

  /**
   * Profile of an operator that Dovetail does not know: as many rows as its largest input, but at least
   * [[Assumptions.Rows]], with the lowest confidence.
   */
  private def unknown(p: LogicalPlan): RelationProfile = {
    val children = p.children.map(apply)
    val rows     = Estimate.guess((Assumptions.Rows +: children.map(_.rows.value)).max, Source.Assumed)
    UnknownColumns.profile(p.output, rows)
  }
}

object PlanStatistics {

  /**
   * Statistics of a query for one run of the rule.
   *
   * @param plan     plan as it reached the rule, with everything that Spark knew about its tables
   * @param prepared the same plan with pruned scans
   * @param beside   another look at the store ([[StoredTables]])
   */
  def of(
      session: SparkSession,
      conf: SQLConf,
      plan: LogicalPlan,
      prepared: LogicalPlan,
      beside: () => Unit = () => ()
  ): PlanStatistics = {
    val statistics =
      new PlanStatistics(conf, DovetailConf.HistogramEnabled.get(conf), new StoredTables(session, beside))
    Seq(plan, prepared).foreach(statistics.learnFrom)
    statistics.readWhenAsked(prepared)
    statistics
  }

  /**
   * Whether an expression is an unchanged column. A cast or padded column is not, because its values take other bytes.
   */
  private def isColumn(e: Expression): Boolean = e match {
    case _: Attribute => true
    case a: Alias     => a.child.isInstanceOf[Attribute]
    case _            => false
  }
}
