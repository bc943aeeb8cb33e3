package dovetail.kernel.size

import dovetail.kernel.graph.JoinGraph
import dovetail.kernel.profile.Assumptions
import dovetail.kernel.size.CompositeKeys.KeyComponent

/**
 * Corrects the product of single shares if several classes lead to the same relation. These classes form one composite
 * key. Its joint NDV, which is at most the rows of that relation's table, replaces the product of the single NDVs. So
 * `fact1 JOIN fact2 ON (item, ticket, customer)` has about as many rows as the smaller fact and not a single row. Not
 * thread-safe.
 *
 * @param rank place of each relation in the fixed order of a fold
 */
final private[size] class CompositeKeys(graph: JoinGraph, inputs: Array[JoinInput], rank: Array[Int]) {

  // scratch space of `mostShared`: number of classes by relation
  private val shared = new Array[Int](graph.size)

  /**
   * Factor that corrects the product of the single shares of `relation`. Each step takes the relation that shares most
   * of the remaining classes and assigns these classes to it, until no relation shares two classes.
   *
   * @param components keys of the relation in classes that have members before it, in the order of its keys
   */
  def correction(relation: Int, components: Vector[KeyComponent]): Double = {
    var correction = 1.0
    var left       = components
    var other      = mostShared(left)
    while (other >= 0) {
      val (bundle, rest) = left.partition(_.before.holds(other))
      correction *= correctionOf(relation, other, bundle)
      left = rest
      other = mostShared(left)
    }
    correction
  }

  private def correctionOf(relation: Int, other: Int, bundle: Vector[KeyComponent]): Double = {
    val single      = bundle.map(x => math.max(x.common.domain, x.common.domainBefore)).product
    val joint       = jointDomain(relation, bundle)(_.domain)
    val jointBefore = jointDomain(other, bundle)(_.domainBefore)
    // the factors of the single columns already count how frequent keys meet
    val alone = bundle.map(_.busy).product
    val busy  =
      if (alone == 1.0) 1.0
      else
        Assumptions.busyKeysMeet(
          repetition(relation, joint),
          repetition(other, jointBefore),
          math.max(joint, jointBefore)
        )
    EqualityShare.compositeCorrection(single, joint, jointBefore, busy, alone)
  }

  private def repetition(relation: Int, domain: Double): Double =
    Assumptions.repetition(domain, inputs(relation).tableRows)

  private def jointDomain(relation: Int, bundle: Vector[KeyComponent])(domain: CommonRange => Double): Double =
    EqualityShare.jointDomain(
      graph.groupNdv(relation, bundle.map(_.classIndex)),
      bundle.map(x => domain(x.common)),
      inputs(relation).tableRows
    )

  /**
   * The relation that is a member of most of these classes, of at least two. In a tie, the first in the fixed order. -1
   * if there is none.
   */
  private def mostShared(components: Vector[KeyComponent]): Int = {
    for (x <- components; i <- 0 until x.before.count) shared(x.before.relation(i)) = 0
    var best = -1
    for (x <- components; i <- 0 until x.before.count) {
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
   * A component of a composite key: a key of an added relation, in a class that has members before it.
   *
   * @param before class with its earlier members
   * @param common common range of the key and these members
   * @param busy   factor for values that are frequent on both sides, as contained in the key's share; 1 or more
   */
  final case class KeyComponent(classIndex: Int, before: ClassFold, common: CommonRange, busy: Double)
}
