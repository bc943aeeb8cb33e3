package org.apache.spark.sql.dovetail.plan

import java.util.{Collections, IdentityHashMap}

import org.apache.spark.SparkContext
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, DynamicPruning}
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide}
import org.apache.spark.sql.catalyst.plans.{ExistenceJoin, LeftAnti, LeftSemi}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.cluster.TaskMemory
import org.apache.spark.sql.dovetail.deadline.PlanningTime
import org.apache.spark.sql.dovetail.predicates.{Conjuncts, JoinCondition}
import org.apache.spark.sql.dovetail.steer.Steering
import org.apache.spark.sql.execution.adaptive.{LogicalQueryStage, ShuffleQueryStageExec}
import org.apache.spark.sql.execution.exchange.{ENSURE_REQUIREMENTS, ShuffleExchangeExec}
import org.apache.spark.sql.internal.SQLConf

/**
 * Chooses a hash join for a shuffled join whose two inputs have been exchanged. Their rows and bytes are counted then,
 * so it is certain whether any task can hold a hash table of the smaller input ([[dovetail.kernel.cost.HashTable]]).
 * With a hash table, neither input needs to be sorted. Spark makes the same decision by a fixed size, which is 0 unless
 * a user sets it (spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold), and does not take the available memory into
 * account.
 */
object ExchangedInputs {

  /** Number of joins, in the latest plan of the running query, that may become hash joins. */
  private val Together = TreeNodeTag[Int]("dovetail.joins")

  /**
   * Tags each join of a running query's plan with the number of joins that may become hash joins, because the hash
   * tables of joins that end up in one task add up. Joins with a broadcast input do not count. Joins without a tag
   * remain as Spark plans them: those that the user leaves to Spark, those whose keys Spark cannot hash, those below an
   * operator whose result depends on the place of its rows ([[RowPlaces]]), because a hash join returns the rows of a
   * partition in another order, and those whose order saves a sort ([[OrderAbove]]).
   *
   * @param steering the user's instructions for this query
   */
  def count(plan: LogicalPlan, steering: Steering): Unit = {
    plan.foreach { case j: Join => j.unsetTagValue(Together); case _ => }
    val inOrder = ordered(plan)
    val used    = OrderAbove(plan, _.children.forall(exchanged(_).isDefined))
    val joins   = changeable(plan, steering).filterNot(j =>
      j.children.exists(isBroadcast) || inOrder.contains(j) || used.contains(j) || SparkBuildSide.onlySorts(j)
    )
    // Spark prunes files by a broadcast only as long as the plan of the broadcast stays as it was planned
    val pruned = prunes(plan)
    joins.filter(j => !pruned || prunes(j)).foreach(_.setTagValue(Together, joins.size))
  }

  /** The joins whose rows must stay sorted: a hash table would lose the order in which a join above stops reading. */
  private def ordered(plan: LogicalPlan): java.util.Set[LogicalPlan] = {
    val found  = Collections.newSetFromMap(new IdentityHashMap[LogicalPlan, java.lang.Boolean])
    val inputs = new InputFault.Nested
    def stops(p: LogicalPlan, input: LogicalPlan): Boolean = p match {
      case j: Join => SortedRows(j, input) && inputs.mayFail(input)
      case _       => false
    }
    def walk(p: LogicalPlan, inOrder: Boolean): Unit = {
      PlanningTime.check()
      if (inOrder && p.isInstanceOf[Join]) found.add(p)
      p.children.foreach(input => walk(input, inOrder || stops(p, input)))
    }
    walk(plan, inOrder = false)
    found
  }

  /** Whether the rows of a join prune the files of a scan in the plan. */
  private def prunes(plan: LogicalPlan): Boolean = plan.exists {
    case s: LogicalQueryStage => prunes(s.logicalPlan)
    case p                    => p.expressions.exists(_.exists(_.isInstanceOf[DynamicPruning]))
  }

  private def changeable(plan: LogicalPlan, steering: Steering): Vector[Join] = plan match {
    case RowPlaces(_) => Vector.empty
    case j: Join      =>
      val (joins, inputs) = connected(j)
      val off             = steering.off(j, inputs.flatMap(AdaptiveInput.plannedLeaves)).nonEmpty
      (if (off) Vector.empty else joins) ++ inputs.flatMap(changeable(_, steering))
    case other => other.children.toVector.flatMap(changeable(_, steering))
  }

  /** The joins that are connected with the top of a plan, and their other inputs. */
  private def connected(plan: LogicalPlan): (Vector[Join], Vector[LogicalPlan]) = plan match {
    case RowPlaces(_) => (Vector.empty, Vector(plan))
    case j: Join      =>
      val (left, right) = (connected(j.left), connected(j.right))
      ((j +: left._1) ++ right._1, left._2 ++ right._2)
    case _: Project | _: Filter => connected(plan.children.head)
    case _                      => (Vector.empty, Vector(plan))
  }

  private def isBroadcast(plan: LogicalPlan): Boolean = plan match {
    case p: Project => isBroadcast(p.child)
    case other      => AdaptiveInput.isBroadcast(other)
  }

  /** The side to hash instead of sorting both sides; None if Spark will broadcast a side. */
  def hashSide(j: Join, context: SparkContext): Option[BuildSide] =
    for {
      left  <- exchanged(j.left)
      right <- exchanged(j.right)
      if DovetailConf.AdaptiveHash.get(j.conf) && !smallEnoughToBroadcast(j)
      side <- Seq(BuildLeft, BuildRight).filter(s =>
        JoinChoice.builds(j.joinType, s) && needsOneRowPerKey(j, s)
      ).sortBy(s => if (s == BuildLeft) left.bytes else right.bytes).headOption
      (build, other) = if (side == BuildLeft) (left, right) else (right, left)
      joins <- j.getTagValue(Together)
      table = new TaskMemory(context, j.conf).hashTable(joins)
      if table.pays(build.bytes, other.bytes) && table.fits(build.rows, build.bytes)
    } yield side

  /**
   * Whether one row per key answers a semi, anti or existence join, if Spark keeps only one. Before 3.5.7 and 4.0.1,
   * Spark keeps one row if the rest of the condition reads only columns that occur in keys, even if a key is computed
   * from the column and so does not determine it (SPARK-52873).
   */
  private def needsOneRowPerKey(j: Join, build: BuildSide): Boolean = j.joinType match {
    case LeftSemi | LeftAnti | ExistenceJoin(_) =>
      val classifier   = new JoinCondition.Classifier(Vector(j.left.outputSet, j.right.outputSet))
      val (keys, rest) = j.condition.toSeq.flatMap(Conjuncts(_)).map(classifier(_)).partition(_.sides.isDefined)
      val determined   =
        AttributeSet(keys.flatMap(_.expression.children).collect { case a: Attribute => a })
      AttributeSet(rest.map(_.expression)).filter(JoinChoice.input(j, build).outputSet.contains).subsetOf(determined)
    case _ => true
  }

  private def smallEnoughToBroadcast(j: Join): Boolean = {
    val limit = math.max(
      j.conf.autoBroadcastJoinThreshold,
      j.conf.getConf(SQLConf.ADAPTIVE_AUTO_BROADCASTJOIN_THRESHOLD).getOrElse(0L)
    )
    Seq(j.left, j.right).exists(_.stats.sizeInBytes <= limit)
  }

  /** @param bytes size of the rows as the exchange wrote them, before compression */
  final private case class InputSize(rows: Double, bytes: Double)

  /**
   * The size of an input, if it is the output of an exchange that the join itself required, and if this exchange has
   * run.
   */
  private def exchanged(plan: LogicalPlan): Option[InputSize] = plan match {
    case p: Project => exchanged(p.child)
    case other      => AdaptiveInput.complete(other) match {
        case Some(q: ShuffleQueryStageExec) if q.shuffle.shuffleOrigin == ENSURE_REQUIREMENTS && isHashed(q) =>
          val stats = q.getRuntimeStatistics
          stats.rowCount.map(rows => InputSize(rows.toDouble, stats.sizeInBytes.toDouble))
        case _ => None
      }
  }

  /** Whether it is Spark's own exchange: in those of native engines, rows have other sizes. */
  private def isHashed(q: ShuffleQueryStageExec): Boolean =
    q.outputPartitioning.isInstanceOf[HashPartitioning] && q.shuffle.isInstanceOf[ShuffleExchangeExec]
}
