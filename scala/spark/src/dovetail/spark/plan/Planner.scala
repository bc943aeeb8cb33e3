package org.apache.spark.sql.dovetail.plan

import java.util.{Collections, IdentityHashMap}
import java.util.concurrent.TimeUnit

import dovetail.kernel.cost.{
  BroadcastMemory,
  CardWeightCosts,
  ClusterFacts,
  CostConstants,
  CostModel,
  GroupReduction,
  HashTable,
  PhysicalCosts
}
import dovetail.kernel.enumerate.Budget
import dovetail.kernel.profile.RelationProfile
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.optimizer.ColumnPruning
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.dovetail.base.{DovetailConf, FailOpen}
import org.apache.spark.sql.dovetail.cluster.{ClusterCosts, Executors, NativePlugins, TaskMemory}
import org.apache.spark.sql.dovetail.deadline.PlanningTime
import org.apache.spark.sql.dovetail.group.JoinGroup
import org.apache.spark.sql.dovetail.leaf.SparkBroadcast
import org.apache.spark.sql.dovetail.log.ChosenJoin
import org.apache.spark.sql.dovetail.report.DecisionBasis
import org.apache.spark.sql.dovetail.steer.{OrderHint, QueryHints}
import org.apache.spark.sql.internal.SQLConf

/**
 * The settings and cluster facts of one run of the rule. They come from the configuration alone, because the same query
 * must get the same plan while executors come and go.
 *
 * @param plan plan with subqueries rewritten as joins
 */
final class Planner(conf: SQLConf, session: SparkSession, plan: LogicalPlan) {
  private val context = session.sparkContext

  val minGain: Double = DovetailConf.MinGain.get(conf)

  /** Largest size in bytes that Spark broadcasts by itself. Negative: Spark broadcasts nothing. */
  val broadcastThreshold: Long = conf.autoBroadcastJoinThreshold

  val sparkReordering: SparkReordering = new SparkReordering(conf)

  /** Whether groups that keep the written order are marked, so that Spark does not reorder them. */
  def marksKeptGroups: Boolean = sparkReordering.isOn

  /** Whether joins may be reordered while the query runs. */
  val reordersAtRunTime: Boolean = conf.adaptiveExecutionEnabled && DovetailConf.AdaptiveReorder.get(conf)

  /** Whether joins may get a hash table while the query runs. */
  val hashesAtRunTime: Boolean = conf.adaptiveExecutionEnabled && DovetailConf.AdaptiveHash.get(conf)

  /** Whether Spark removes columns that nothing reads, after this rule. A setting may exclude rules. */
  def prunesColumns: Boolean = !conf.optimizerExcludedRules.exists(_.contains(ColumnPruning.ruleName))

  /** Whether Spark has a hash table for a NOT IN of one column with the join of these inputs. */
  def hashesNotIn(right: Vector[LogicalPlan]): Boolean = conf.optimizeNullAwareAntiJoin &&
    (if (right.size == 1) SparkBuildSide.hashesNotIn(right.head, conf) else SparkBuildSide.notInLimit(conf).isEmpty)

  /** Whether Spark makes an exchange only once if a query has it several times. */
  val reusesExchanges: Boolean = conf.exchangeReuseEnabled

  /**
   * Whether Dovetail may have an input of the group broadcast, while Spark broadcasts none by itself. Then a group of
   * two relations is of interest, too: it has only one order, but several join methods.
   */
  def mayBroadcast(group: JoinGroup): Boolean =
    staticBytes > 0.0 && !group.leaves.exists(SparkBroadcast(_, broadcastThreshold))

  /**
   * Whether a broadcast of an input, in addition to those of the written order, fits into memory for certain and is
   * small enough for Spark or for Dovetail's own choice. Dovetail applies the same limits as in the search.
   */
  def fitsBroadcast(input: LogicalPlan, profile: RelationProfile): Boolean = {
    val memory = roomOf(input, profile)
    memory.most <= broadcastMemory && broadcasts.left.fits(memory) &&
    (SparkBroadcast(input, broadcastThreshold) || profile.bytes(input.output.map(_.exprId.id)) <= staticBytes)
  }

  /** Memory of a broadcast. */
  def roomOf(input: LogicalPlan, profile: RelationProfile): BroadcastRoom = {
    val columns = input.output.map(_.exprId.id)
    val most    = BroadcastMemory.bound(profile, columns)
    BroadcastRoom(most, math.min(most, BroadcastMemory(profile.rows.value, profile.bytes(columns))))
  }

  /** Bytes of memory that a broadcast may take at most. */
  def broadcastMemory: Double = facts.copy(staticBytes = math.max(0L, broadcastThreshold).toDouble).memoryLimit

  /** Memory that is left for broadcasts of Dovetail's choice in the query, its subqueries included. */
  lazy val broadcasts: BroadcastAllowance = BroadcastAllowance.ofQuery(broadcastMemory, reusesExchanges)

  /** Bytes of memory that an input may take which Spark broadcasts in any case, also with broadcasts off. */
  def copiedMemory: Double = if (broadcastThreshold > 0L) broadcastMemory else facts.staticMemory

  /**
   * Whether Spark broadcasts an input of the group by itself and may do so. If it may not, [[RebuildPlan]] keeps Spark
   * from it. What Spark broadcasts in the written order, too, it may broadcast in any other: without Dovetail, the
   * query has this broadcast in any case. Any other input must fit into memory by its bounds.
   *
   * @param asWritten whether Spark builds its hash table of this input in the written order ([[builtAsWritten]])
   */
  def sparkBroadcasts(input: LogicalPlan, profile: RelationProfile, asWritten: => Boolean): Boolean =
    SparkBroadcast(input, broadcastThreshold) &&
      (SparkBroadcast.bound(input, profile) match {
        case Some(bytes) => bytes <= broadcastMemory || asWritten
        case None        => profile.bytes(input.output.map(_.exprId.id)) <= broadcastMemory && asWritten
      })

  /** The inputs of a plan's joins, as objects, of which Spark builds its hash tables if the plan stays as written. */
  def builtAsWritten(top: LogicalPlan): java.util.Set[LogicalPlan] = {
    val built = Collections.newSetFromMap(new IdentityHashMap[LogicalPlan, java.lang.Boolean])
    top.foreach {
      case j: Join =>
        PlanningTime.check()
        SparkBuildSide(j).foreach(side => built.add(JoinChoice.input(j, side)))
      case _ => ()
    }
    built
  }

  /** Broadcasts of a plan that will not be made, because a query failed with them. */
  def failedBefore(plan: LogicalPlan): Vector[String] =
    if (JoinFailures(session).isEmpty) Vector.empty
    else plan.collect { case j: Join =>
      JoinDecision.broadcast(j).flatMap(s =>
        FailedJoins.reason(ChosenJoin(ChosenJoin.Broadcast, JoinChoice.input(j, s)), session)
      )
    }
      .flatten.distinct.toVector

  /** Whether groupings are reduced by semi joins. Only the physical cost model prices a grouping. */
  def reducesGroups: Boolean = DovetailConf.SemiJoins.get(conf) && costs.isInstanceOf[PhysicalCosts]

  /** Whether a semi join below a grouping saves enough. */
  def pays(reduction: GroupReduction): Boolean = {
    val gain = reduction.gain(constants, facts)
    gain > 0.0 && gain >= minGain
  }

  /** Whether inputs that decide between plans are counted. Only the physical cost model has costs in nanoseconds. */
  def countsInputs: Boolean = DovetailConf.SampleCounts.get(conf) && costs.isInstanceOf[PhysicalCosts]

  /** Whether the cost model has a price for nested loops. */
  def pricesLoops: Boolean = costs.isInstanceOf[PhysicalCosts]

  /** Whether inputs are reduced by Bloom filters on their keys, if the costs favor it. */
  def reduces: Boolean =
    (DovetailConf.Reducers.get(conf) || reducesAlways) && !NativePlugins.mayMixFilters(conf)

  /** For tests: whether inputs are reduced whatever the costs are. */
  def reducesAlways: Boolean = DovetailConf.ReducersAlways.get(conf)

  /** Whether scans are filtered by the smallest and the largest key of other inputs, if the costs favor it. */
  def usesRanges: Boolean = RangeFilters.areOn(conf)

  /** Whether scans of partitioned tables skip partitions for which a broadcast has no keys. */
  def prunesScans: Boolean = facts.prunesScans

  /**
   * Whether Spark may read a part of an input again for a runtime filter of its own: a small one, in a query that has a
   * large scan. Spark computes its filter in a subquery, which would have the filters of that input, too.
   */
  def mayReread(input: LogicalPlan): Boolean =
    filtersLargeScans && input.exists(SparkBroadcast(_, conf.runtimeFilterCreationSideThreshold))

  private lazy val filtersLargeScans: Boolean = conf.runtimeFilterBloomFilterEnabled && {
    val least = conf.getConf(SQLConf.RUNTIME_BLOOM_FILTER_APPLICATION_SIDE_SCAN_SIZE_THRESHOLD)
    // the default size stands for an unknown one, which Spark takes for zero here
    plan.collectLeaves().map(SparkBroadcast.bytes).exists(b => b >= least && b != conf.defaultSizeInBytes.toDouble)
  }

  /** Parts of the query that Spark computes once for several places. */
  lazy val repeated: RepeatedParts = new RepeatedParts(plan)

  /** Whether rows are grouped early, below joins, if the costs favor it. */
  def groupsEarly: Boolean = (DovetailConf.EarlyGrouping.get(conf) && costs.isInstanceOf[PhysicalCosts]) || groupsAlways

  /** Whether the search counts the exchange of the grouping or the window above the joins. */
  def countsGroupings: Boolean = DovetailConf.GroupingExchanges.get(conf) && costs.isInstanceOf[PhysicalCosts]

  /** For tests: whether rows are grouped early whatever the costs are. */
  def groupsAlways: Boolean = DovetailConf.EarlyGroupingAlways.get(conf)

  // for both cost models, if there is physical work to price
  lazy val constants: CostConstants = ClusterCosts(session, conf)
  private lazy val memory           = new TaskMemory(context, conf)

  /** Number of tasks that run at a time. */
  def allTasks: Int = Executors.tasks(context, context.conf)

  lazy val facts: ClusterFacts = {
    val cluster = context.conf
    ClusterFacts(
      Executors.configured(context.master, context.isLocal, cluster),
      adaptiveBroadcastBytes,
      conf.preferSortMergeJoin,
      hashTable = hashTable,
      staticMemory = memory.broadcast,
      tasks = math.min(allTasks, conf.numShufflePartitions),
      sortMemory = memory.sorts,
      splitBytes =
        if (splits) conf.getConf(SQLConf.SKEW_JOIN_SKEWED_PARTITION_THRESHOLD).toDouble else Double.PositiveInfinity,
      prunesScans = conf.dynamicPartitionPruningEnabled && reusesExchanges
    )
  }

  /** Whether adaptive execution splits a large partition into several tasks. */
  private def splits: Boolean = conf.adaptiveExecutionEnabled && conf.getConf(SQLConf.SKEW_JOIN_ENABLED)

  /** Prices what Dovetail can have Spark do, including broadcasts of Dovetail's choice (`JoinChoice`). */
  val costs: CostModel = costModel(staticBytes)

  /** The same without broadcasts that may take more than this number of bytes of memory. */
  def costsWithin(memory: Double): CostModel = costModel(staticBytes, memory)

  /** The same with nested loops at the most rows that their inputs may have. */
  def costsOfLoops: CostModel = costModel(staticBytes, loopsAtMost = true)

  def basis: DecisionBasis = new DecisionBasis(minGain, broadcastThreshold, broadcastMemory, costs.name)

  /** Prices the written order as Spark executes it by itself. */
  val costsAsWritten: CostModel = costModel(staticBytes = 0.0)

  private lazy val staticBytes: Double =
    if (!DovetailConf.BroadcastEnabled.get(conf) || FewTasks(plan, allTasks)) 0.0
    else math.max(0L, broadcastThreshold).toDouble

  private def costModel(
      staticBytes: Double,
      memory: Double = Double.PositiveInfinity,
      loopsAtMost: Boolean = false
  ): CostModel =
    DovetailConf.CostModel.get(conf) match {
      case "cardWeight" => new CardWeightCosts(DovetailConf.CardWeight.get(conf))
      case model        =>
        val weight = DovetailConf.CardWeight
        if (weight.get(conf) != weight.entry.defaultValue.get) FailOpen.warnOnce(
          s"${weight.key} beside $model",
          s"${weight.key} is set but not used: it belongs to the cost model 'cardWeight', but " +
            s"${DovetailConf.CostModel.key} is '$model'."
        )
        val limit = math.min(facts.staticMemory, memory)
        new PhysicalCosts(constants, facts.copy(staticBytes = staticBytes, staticMemory = limit), loopsAtMost)
    }

  /** Whether Spark refuses the plan. */
  def refused(plan: => LogicalPlan): Boolean = CrossProducts.refused(plan, conf)

  /** Orders that the user asks for. */
  def ordersFor(group: JoinGroup, hints: QueryHints): Vector[String] = OrderHint.ordersFor(group, hints, conf)

  /**
   * Budget for the search of one group.
   *
   * @param share share of the remaining planning time for this group: one half is for the exact search, the rest for
   *              the greedy search and the improvement of its plan
   */
  def budget(share: Double): Budget = {
    val left = PlanningTime.left
    val half = (left * share / 2.0).toLong
    Budget.within(
      DovetailConf.ExactPairs.get(conf),
      math.min(TimeUnit.MILLISECONDS.toNanos(DovetailConf.MaxPlanningMs.get(conf)), half),
      left
    )
  }

  private def hashTable: HashTable =
    if (hashesAtRunTime) memory.hashTable() else HashTable.none

  private def adaptiveBroadcastBytes: Double =
    if (!conf.adaptiveExecutionEnabled) 0.0
    else
      math.max(0L, conf.getConf(SQLConf.ADAPTIVE_AUTO_BROADCASTJOIN_THRESHOLD).getOrElse(broadcastThreshold)).toDouble
}
