package org.apache.spark.sql.dovetail.plan

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
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.dovetail.base.{DovetailConf, FailOpen}
import org.apache.spark.sql.dovetail.cluster.{ClusterCosts, Executors, TaskMemory}
import org.apache.spark.sql.dovetail.deadline.PlanningTime
import org.apache.spark.sql.dovetail.group.JoinGroup
import org.apache.spark.sql.dovetail.leaf.SparkBroadcast
import org.apache.spark.sql.dovetail.report.DecisionBasis
import org.apache.spark.sql.dovetail.steer.OrderHint
import org.apache.spark.sql.internal.SQLConf

/**
 * The settings and cluster facts of one run of the rule. Taken from configuration alone: the same query must get the
 * same plan while executors come and go.
 */
final class Planner(conf: SQLConf, session: SparkSession) {
  private val context = session.sparkContext

  val histograms: Boolean = DovetailConf.HistogramEnabled.get(conf)
  val minGain: Double     = DovetailConf.MinGain.get(conf)

  /** Largest size in bytes that Spark broadcasts by itself; negative never. */
  val broadcastThreshold: Long = conf.autoBroadcastJoinThreshold

  val sparkReordering: SparkReordering = new SparkReordering(conf)

  /** Of groups that keep the written order: Spark must not undo that. */
  def marksKeptGroups: Boolean = sparkReordering.isOn

  /** Joins may be ordered anew while the query runs. */
  val reordersAtRunTime: Boolean = conf.adaptiveExecutionEnabled && DovetailConf.AdaptiveReorder.get(conf)

  /** An exchange that a query has several times is made once. */
  val reusesExchanges: Boolean = conf.exchangeReuseEnabled

  /**
   * There is an input that Spark does not broadcast, and no other one makes up for it: two relations have only one
   * order, but not only one way.
   */
  def mayBroadcast(group: JoinGroup): Boolean =
    staticBytes > 0.0 && !group.leaves.exists(SparkBroadcast(_, broadcastThreshold))

  /**
   * An input that is broadcast: by Spark itself, or because Dovetail may have it broadcast. The same limits as the
   * search has for a relation.
   */
  def broadcasts(input: LogicalPlan, profile: RelationProfile): Boolean =
    SparkBroadcast(input, broadcastThreshold) || (staticBytes > 0.0 && {
      val columns = input.output.map(_.exprId.id)
      facts.copy(staticBytes =
        staticBytes
      ).mayBroadcast(profile.bytes(columns), BroadcastMemory.bound(profile, columns))
    })

  /** Bytes of memory that a broadcast may take at most. */
  def broadcastMemory: Double = facts.copy(staticBytes = math.max(0L, broadcastThreshold).toDouble).memoryLimit

  /**
   * Spark broadcasts it by itself, and there is the memory for it. What is too heavy is kept from it ([[RebuildPlan]]).
   */
  def sparkBroadcasts(input: LogicalPlan, profile: RelationProfile): Boolean =
    SparkBroadcast(input, broadcastThreshold) && !SparkBroadcast.isHeavy(input, profile, broadcastMemory)

  /** Broadcasts of a plan that are not going to be made, because a query failed with them. */
  def failedBefore(plan: LogicalPlan): Vector[String] =
    if (JoinFailures(session).isEmpty) Vector.empty
    else plan.collect { case j: Join =>
      JoinDecision.broadcast(j).flatMap(s =>
        FailedJoins.reason(ChosenJoin(ChosenJoin.Broadcast, JoinChoice.input(j, s)), session)
      )
    }
      .flatten.distinct.toVector

  /** Only the physical costs know what a grouping is. */
  def reducesGroups: Boolean = DovetailConf.SemiJoins.get(conf) && costs.isInstanceOf[PhysicalCosts]

  /** A semi join below a grouping is worth it. */
  def pays(reduction: GroupReduction): Boolean = {
    val gain = reduction.gain(constants, facts.executors)
    gain > 0.0 && gain >= minGain
  }

  /** Inputs are kept small by Bloom filters on their keys, where the costs say so. */
  def reduces: Boolean = DovetailConf.Reducers.get(conf) || reducesAlways

  /** The same, whatever the costs say: for tests. */
  def reducesAlways: Boolean = DovetailConf.ReducersAlways.get(conf)

  /** Scans of partitioned tables skip what a broadcast has no keys of. */
  def prunesScans: Boolean = facts.prunesScans

  /** Groupings are done in part below joins, where the costs say so. */
  def groupsEarly: Boolean = (DovetailConf.EarlyGrouping.get(conf) && costs.isInstanceOf[PhysicalCosts]) || groupsAlways

  /** The same, whatever the costs say: for tests. */
  def groupsAlways: Boolean = DovetailConf.EarlyGroupingAlways.get(conf)

  // for both cost models, where there is anything physical to price
  lazy val constants: CostConstants = ClusterCosts(session, conf)
  private lazy val memory           = new TaskMemory(context, conf)
  lazy val facts: ClusterFacts      = {
    val cluster = context.getConf
    ClusterFacts(
      Executors.configured(context.master, context.isLocal, cluster),
      adaptiveBroadcastBytes,
      conf.preferSortMergeJoin,
      hashTable = hashTable,
      staticMemory = memory.broadcast,
      tasks = math.min(Executors.tasks(context, cluster), conf.numShufflePartitions),
      sortMemory = memory.sorts,
      splitBytes =
        if (splits) conf.getConf(SQLConf.SKEW_JOIN_SKEWED_PARTITION_THRESHOLD).toDouble else Double.PositiveInfinity,
      prunesScans = conf.dynamicPartitionPruningEnabled && reusesExchanges
    )
  }

  /** Adaptive execution makes several tasks of a large partition. */
  private def splits: Boolean = conf.adaptiveExecutionEnabled && conf.getConf(SQLConf.SKEW_JOIN_ENABLED)

  /** Prices what Dovetail can have done: broadcasts of its own choice (`JoinChoice`) included. */
  val costs: CostModel = costModel(staticBytes)

  def basis: DecisionBasis = new DecisionBasis(minGain, broadcastThreshold, broadcastMemory, costs.name)

  /** Prices what Spark does with the written order by itself. */
  val costsAsWritten: CostModel = costModel(staticBytes = 0.0)

  private def staticBytes: Double =
    if (DovetailConf.BroadcastEnabled.get(conf)) math.max(0L, broadcastThreshold).toDouble else 0.0

  private def costModel(staticBytes: Double): CostModel = DovetailConf.CostModel.get(conf) match {
    case "cardWeight" => new CardWeightCosts(DovetailConf.CardWeight.get(conf))
    case model        =>
      val weight = DovetailConf.CardWeight
      if (weight.get(conf) != weight.entry.defaultValue.get) FailOpen.warnOnce(
        s"${weight.key} beside $model",
        s"${weight.key} is set but not used: it belongs to the cost model 'cardWeight', but " +
          s"${DovetailConf.CostModel.key} is '$model'."
      )
      new PhysicalCosts(constants, facts.copy(staticBytes = staticBytes))
  }

  /** Whether Spark refuses the plan. */
  def refused(plan: LogicalPlan): Boolean = CrossProducts.refused(plan, conf)

  /** Orders that the user asks for. */
  def ordersFor(group: JoinGroup): Vector[String] = OrderHint.ordersFor(group, conf)

  /**
   * For the search of one group.
   *
   * @param share of the time that is left to planning: half of it each for what the search does exactly or by
   *              improving, and for its greedy step
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
    if (conf.adaptiveExecutionEnabled && DovetailConf.AdaptiveHash.get(conf)) memory.hashTable() else HashTable.none

  private def adaptiveBroadcastBytes: Double =
    if (!conf.adaptiveExecutionEnabled) 0.0
    else
      math.max(0L, conf.getConf(SQLConf.ADAPTIVE_AUTO_BROADCASTJOIN_THRESHOLD).getOrElse(broadcastThreshold)).toDouble
}
