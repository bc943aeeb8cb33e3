package dovetail.kernel.cost

import dovetail.kernel.graph.JoinKind

/**
 * Prices joins. The search calls `join` for every pair of sub-plans it considers; the model offers what ways of
 * executing that join it knows.
 */
trait CostModel {
  def name: String

  /** Of reading a relation, as far as it depends on the joins above it. */
  def scan(leaf: SubPlan): Double

  /**
   * Offers the ways of joining `left` and `right` to `out` by an inner join.
   *
   * @param key  classes that the two have in common: the hash key, as a partitioning mask; 0 where there is none or it
   *             has no class
   * @param equi there is an equality to hash or sort by
   */
  def join(left: SubPlan, right: SubPlan, out: SubPlan, key: Long, equi: Boolean): Unit

  /** Of a Bloom filter in front of an input; none: the model does not know such filters, and none is made. */
  def filter(work: FilterWork): Option[Double]

  /** Offers the ways of joining `left` and `right` to `out` by an operator, whose left side `left` is. */
  def join(left: SubPlan, right: SubPlan, out: SubPlan, operator: OperatorJoin): Unit

  /**
   * The parts of the cost of an inner join itself, without its inputs, as `join` added them up for alternative `i` of
   * `out`.
   */
  def parts(out: SubPlan, i: Int): Cost

  /** The same for the join of an operator. */
  def parts(out: SubPlan, i: Int, operator: OperatorJoin): Cost
}

/**
 * The formula of Spark's cost-based optimizer (Hu et al. 2017): `weight * rows + (1 - weight) * bytes`, summed over the
 * joins. Physical properties do not exist.
 *
 * @param weight share of the rows, 0 to 1 (`spark.dovetail.cost.cardWeight`)
 */
final class CardWeightCosts(weight: Double) extends CostModel {
  require(weight >= 0.0 && weight <= 1.0, s"weight $weight is not within 0..1")
  val name = "cardWeight"

  def scan(leaf: SubPlan): Double              = 0.0
  def filter(work: FilterWork): Option[Double] = None

  def join(left: SubPlan, right: SubPlan, out: SubPlan, key: Long, equi: Boolean): Unit =
    out.offer(left.cost(0) + right.cost(0) + own(out), 0L, JoinMethod.Unspecified, left, 0, right, 0, 0.0)

  def join(left: SubPlan, right: SubPlan, out: SubPlan, operator: OperatorJoin): Unit =
    join(left, right, out, 0L, operator.equi)

  def parts(out: SubPlan, i: Int): Cost                         = Cost(output = own(out))
  def parts(out: SubPlan, i: Int, operator: OperatorJoin): Cost = parts(out, i)

  private def own(out: SubPlan) = weight * out.rows + (1.0 - weight) * out.bytes
}

/**
 * What a cost model has to know of an operator's join. Unlike the two sides of a class, those of an operator's equality
 * may be keys of different classes.
 *
 * @param leftKey  the keys on its left side, as a partitioning mask; 0 where there are none
 * @param rightKey the keys on its right side
 * @param equi     there is an equality to hash or sort by
 */
final case class OperatorJoin(kind: JoinKind, leftKey: Long, rightKey: Long, equi: Boolean) {

  /**
   * The side that is matched against may be copied to where the other one is: of a full outer join, every row of both
   * may come out by itself.
   */
  def broadcastsRight: Boolean = kind != JoinKind.FullOuter

  /** What the right side has no keys of need not be read on the left: rows without a partner are not in the result. */
  def prunesLeft: Boolean = kind == JoinKind.Semi

  /**
   * Partitioning of its output, where both sides were partitioned by their keys: rows without a partner keep their left
   * key, if they have a left side.
   */
  def partitioning: Long = if (kind == JoinKind.FullOuter) 0L else leftKey
}
