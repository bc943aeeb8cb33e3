package dovetail.kernel.cost

import dovetail.kernel.graph.JoinKind

/**
 * Prices joins. The search calls `join` for every pair of sub-plans that it considers. The model offers all ways of
 * executing that join that it knows.
 */
trait CostModel {
  def name: String

  /** Cost of reading a relation, as far as it depends on the joins above it. */
  def scan(leaf: SubPlan): Double

  /**
   * Offers the ways of joining `left` and `right` to `out` by an inner join.
   *
   * @param key      classes that the two sides have in common: the hash key, as a partitioning mask; 0 if there is no
   *                 key or the key has no class
   * @param equi     whether there is an equality to hash or sort by
   * @param hashable whether the engine can hash by these equalities; otherwise it sorts by them
   */
  def join(left: SubPlan, right: SubPlan, out: SubPlan, key: Long, equi: Boolean, hashable: Boolean): Unit

  /**
   * Cost of a Bloom filter in front of an input. None if the model does not support such filters, so that none is made.
   */
  def filter(work: FilterWork): Option[Double]

  /** Offers the ways of joining `left` and `right` to `out` by an operator whose left side is `left`. */
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
 * The formula with which Spark's cost-based optimizer was published (Hu et al. 2017; today it compares ratios of rows
 * and of bytes with the same weight): `weight * rows + (1 - weight) * bytes`, summed over the joins. It has no physical
 * properties. The only method that it names is the nested loop. It has no price for one: it counts the rows that
 * remain, not the pairs of rows that are compared.
 *
 * @param weight weight of the rows, 0 to 1 (`spark.dovetail.cost.cardWeight`)
 */
final class CardWeightCosts(weight: Double) extends CostModel {
  require(weight >= 0.0 && weight <= 1.0, s"weight $weight is not within 0..1")
  val name = "cardWeight"

  def scan(leaf: SubPlan): Double              = 0.0
  def filter(work: FilterWork): Option[Double] = None

  def join(left: SubPlan, right: SubPlan, out: SubPlan, key: Long, equi: Boolean, hashable: Boolean): Unit =
    out.offer(left.cost(0) + right.cost(0) + own(out), 0L, method(equi), left, 0, right, 0, 0.0)

  private def method(equi: Boolean): JoinMethod = if (equi) JoinMethod.Unspecified else JoinMethod.NestedLoop

  def join(left: SubPlan, right: SubPlan, out: SubPlan, operator: OperatorJoin): Unit =
    join(left, right, out, 0L, operator.equi, operator.hashable)

  def parts(out: SubPlan, i: Int): Cost                         = Cost(output = own(out))
  def parts(out: SubPlan, i: Int, operator: OperatorJoin): Cost = parts(out, i)

  private def own(out: SubPlan) = weight * out.rows + (1.0 - weight) * out.bytes
}

/**
 * The facts about an operator's join that a cost model needs. Unlike the two sides of a class, the two sides of an
 * operator's equality may be keys of different classes.
 *
 * @param leftKey  keys on the left side, as a partitioning mask; 0 if there are none
 * @param rightKey keys on the right side, as a partitioning mask; 0 if there are none
 * @param equi     whether there is an equality to hash or sort by
 * @param hashable whether the engine can hash by the equalities; otherwise it sorts by them
 * @param copies   whether the engine broadcasts one side in any case; it is the right side if there is an equality
 * @param keys     share of all pairs of rows whose keys are equal
 * @param residual share of these pairs that the rest of the condition keeps
 */
final case class OperatorJoin(
    kind: JoinKind,
    leftKey: Long,
    rightKey: Long,
    equi: Boolean,
    hashable: Boolean,
    copies: Boolean,
    keys: Double,
    residual: Double
) {

  /**
   * Whether the right side may be copied to the rows of the left side. Not in a full outer join, because rows of both
   * sides may be returned without a partner.
   */
  def broadcastsRight: Boolean = kind != JoinKind.FullOuter

  /**
   * Whether the left side does not need to read keys that the right side lacks, because rows without a partner are not
   * in the result.
   */
  def prunesLeft: Boolean = kind == JoinKind.Semi

  /**
   * Partitioning of the output if both sides were partitioned by their keys. Rows without a partner keep their left
   * key, if they have a left side.
   */
  def partitioning: Long = if (kind == JoinKind.FullOuter) 0L else leftKey
}
