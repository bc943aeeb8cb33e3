package dovetail.kernel.size

import dovetail.kernel.graph.JoinGraph
import dovetail.kernel.profile.Assumptions
import dovetail.kernel.size.CompositeKeys.Crossing

/**
 * Corrects the product of single shares where several classes lead to the same relation: they are one key of several
 * columns, whose joint NDV, never more than that relation's table has rows, takes the place of the product of the
 * single ones. That is what makes `fact1 JOIN fact2 ON (item, ticket, customer)` come out near the smaller fact and not
 * at one row. Not thread-safe.
 *
 * @param rank place of each relation in the fixed order of a fold
 */
final private[size] class CompositeKeys(graph: JoinGraph, inputs: Array[JoinInput], rank: Array[Int]) {

  // scratch of `mostShared`: classes by relation
  private val shared = new Array[Int](graph.size)

  /**
   * What to multiply the product of the single shares of `relation` by. Classes go to the relation that shares most of
   * those left, until no relation shares two.
   *
   * @param crossings the relation's keys in classes with members before it, in the order of its keys
   */
  def correction(relation: Int, crossings: Vector[Crossing]): Double = {
    var correction = 1.0
    var left       = crossings
    var other      = mostShared(left)
    while (other >= 0) {
      val (bundle, rest) = left.partition(_.before.holds(other))
      correction *= correctionOf(relation, other, bundle)
      left = rest
      other = mostShared(left)
    }
    correction
  }

  private def correctionOf(relation: Int, other: Int, bundle: Vector[Crossing]): Double = {
    val single      = bundle.map(x => math.max(x.common.domain, x.common.domainBefore)).product
    val joint       = jointDomain(relation, bundle)(_.domain)
    val jointBefore = jointDomain(other, bundle)(_.domainBefore)
    // how far busy keys meet was counted by single columns
    val alone = bundle.map(_.busy).product
    val busy  =
      if (alone == 1.0) 1.0 else Assumptions.busyKeysMeet(repetition(relation, joint), repetition(other, jointBefore))
    EqualityShare.compositeCorrection(single, joint, jointBefore, busy, alone)
  }

  private def repetition(relation: Int, domain: Double): Double =
    Assumptions.repetition(domain, inputs(relation).tableRows)

  private def jointDomain(relation: Int, bundle: Vector[Crossing])(domain: CommonRange => Double): Double =
    EqualityShare.jointDomain(
      graph.groupNdv(relation, bundle.map(_.classIndex)),
      bundle.map(x => domain(x.common)),
      inputs(relation).tableRows
    )

  /**
   * The relation that is a member of most of these classes, at least two; of equals the first in the fixed order; -1
   * for none.
   */
  private def mostShared(crossings: Vector[Crossing]): Int = {
    for (x <- crossings; i <- 0 until x.before.count) shared(x.before.relation(i)) = 0
    var best = -1
    for (x <- crossings; i <- 0 until x.before.count) {
      val q = x.before.relation(i)
      shared(q) += 1
      if (
        shared(q) >= 2 && (best < 0 || shared(q) > shared(best) || (shared(q) == shared(best) && rank(q) < rank(best)))
      ) best = q
    }
    best
  }
}

private[size] object CompositeKeys {

  /**
   * A key of a relation that is added, in a class with members before it.
   *
   * @param before the class with these members
   * @param common what the key has in common with them
   * @param busy   what frequent values on both sides have added to its share, 1 or more
   */
  final case class Crossing(classIndex: Int, before: ClassFold, common: CommonRange, busy: Double)
}
