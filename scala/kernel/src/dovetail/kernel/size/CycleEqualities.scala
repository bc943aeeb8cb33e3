package dovetail.kernel.size

import dovetail.kernel.graph.EquivalenceClass
import dovetail.kernel.profile.{RelationSample, Sampling}
import dovetail.kernel.size.MessagePassing.{alike, squares, total}
import dovetail.kernel.size.SampleTree.Node

/**
 * Share of the combinations of a [[SampleTree]] that is kept by equalities on no edge of the tree. Only cyclic joins
 * have such equalities. Each relation has a key of the equality's class, and the question is how often the keys of two
 * relations are equal in the join by the other equalities.
 *
 * If a third relation refers to both of them by keys, its rows show the pairs: the friends of one city are counted on
 * the friendships, each of which has one person on either side. Otherwise the two keys are assumed to be independent,
 * each with the frequencies that it has in the join. [[SampleJoins]] multiplies its counts by the share.
 *
 * @param samples  sample of each relation, or null
 * @param domainOf distinct values of each class
 */
final private[size] class CycleEqualities(
    classes: Vector[EquivalenceClass],
    samples: Array[RelationSample],
    domainOf: Array[Double],
    messages: MessagePassing
) {
  import messages.{groupsOf, partnersIn, partnersOf, weighted}

  /** Share of the combinations that all equalities keep which are on no edge of the tree. */
  def share(tree: SampleTree): Double = classes.map { c =>
    val pieces = tree.apart(c)
    pieces.drop(1).map(meeting(tree, pieces.head, _, c.index)).product
  }.product

  private def meeting(tree: SampleTree, left: Int, right: Int, of: Int): Double = {
    val domain = math.max(domainOf(of), 1.0)
    if (Seq(left, right).exists(!samples(_).keys.contains(of))) 1.0 / domain
    else {
      val inPlaces = tree.relations.exists(samples(_).clustered)
      def alone    = if (inPlaces) 1.0 / domain else independent(tree, left, right, of, domain)
      referring(tree, left, right).fold(alone)(inRows(_, of, alone))
    }
  }

  /**
   * Share of the combinations in which two relations have the same key, as if these were independent. The sampled pairs
   * of rows that met are combined with a prior of one pair that met among as many pairs as the domain has values (a
   * gamma prior). The prior matters if there are too few pairs to meet.
   */
  private def independent(tree: SampleTree, left: Int, right: Int, of: Int, domain: Double): Double = {
    val (weights, others) = (weighted(tree.rooted(left)), weighted(tree.rooted(right)))
    val keys              = groupsOf(right, Vector(of))
    val (partner, sums)   = (keys.find(samples(left)), new Array[Double](keys.numbers))
    var (i, met)          = (0, 0.0)
    while (i < others.length) {
      val g = keys.ofRow(i)
      if (g >= 0) sums(g) += others(i)
      i += 1
    }
    i = 0
    while (i < weights.length) {
      if (partner(i) >= 0) met += weights(i) * sums(partner(i))
      i += 1
    }
    val (all, pairs) = (total(weights) * total(others), alike(weights) * alike(others))
    if (pairs > 0.0) (pairs * (met / all) + 1.0) / (pairs + domain) else 1.0 / domain
  }

  /** The tree from a relation that refers to two others by keys, and the ways to them. */
  private case class Referring(root: Node, toLeft: Vector[Node], toRight: Vector[Node])

  /** The first relation on the way between two others that refers to both, by keys on each step. */
  private def referring(tree: SampleTree, left: Int, right: Int): Option[Referring] = {
    val between = way(tree.rooted(left), right).map(left +: _.map(_.relation)).getOrElse(Vector.empty)
    between.iterator.flatMap { r =>
      val root = tree.rooted(r)
      for (toLeft <- way(root, left); toRight <- way(root, right) if (toLeft ++ toRight).forall(isLookup))
        yield Referring(root, toLeft, toRight)
    }.find(from => tree.relations.forall(r => r == from.root.relation || !samples(r).clustered))
  }

  private def way(from: Node, to: Int): Option[Vector[Node]] =
    if (from.relation == to) Some(Vector.empty)
    else from.children.iterator.flatMap(c => way(c, to).map(c +: _)).take(1).toVector.headOption

  /** Whether no two drawn rows of a relation have the key by which its parent refers to it. */
  private def isLookup(node: Node): Boolean = groupsOf(node).drawn.largest <= 1.0

  /** The share, counted on the rows of the relation that refers to both, as far as their partners were drawn. */
  private def inRows(from: Referring, of: Int, independent: => Double): Double = {
    val (root, sample)         = (from.root, samples(from.root.relation))
    def end(way: Vector[Node]) = way.lastOption.fold(root.relation)(_.relation)
    val (lefts, rights)        = (rowsAt(root, from.toLeft), rowsAt(root, from.toRight))
    val keys                   = groupsOf(end(from.toRight), Vector(of))
    val asked                  = partnersOf(keys, samples(end(from.toLeft))).groups
    val all                    = weighted(root)
    val equal                  = new Array[Double](all.length)
    var i                      = 0
    while (i < all.length) {
      if (lefts(i) < 0 || rights(i) < 0) all(i) = 0.0
      else if (asked(lefts(i)) >= 0 && asked(lefts(i)) == keys.ofRow(rights(i))) equal(i) = all(i)
      i += 1
    }
    val combinations = total(all)
    lazy val counted = total(equal) / combinations
    if (squares(all).isInfinite || combinations <= 0.0) independent
    else if ((root +: (from.toLeft ++ from.toRight)).forall(n => samples(n.relation).complete)) counted
    else if (sample.clustered) {
      val places = sample.meansOfPlaces(all).count(_ > 0.0)
      Sampling.partners(counted, Sampling.variation(sample.meansOfPlaces(equal)), places.toDouble, independent)
    } else Sampling.partnersOfRandom(counted, alike(equal), alike(all), independent)
  }

  /** For each kept row of the root's sample, the kept row at the end of a way of lookups, or -1 if none was drawn. */
  private def rowsAt(root: Node, way: Vector[Node]): Array[Int] = {
    val rows   = Array.range(0, samples(root.relation).rows)
    var parent = root
    way.foreach { child =>
      val (groups, of) = (partnersIn(parent.relation, child).groups, rowOfGroup(child))
      var i            = 0
      while (i < rows.length) {
        if (rows(i) >= 0) { val g = groups(rows(i)); rows(i) = if (g >= 0) of(g) else -1 }
        i += 1
      }
      parent = child
    }
    rows
  }

  /** The kept row of each group of a lookup, or -1. */
  private def rowOfGroup(node: Node): Array[Int] = {
    val keys = groupsOf(node)
    val rows = Array.fill(keys.numbers)(-1)
    var i    = 0
    while (i < samples(node.relation).rows) { val g = keys.ofRow(i); if (g >= 0) rows(g) = i; i += 1 }
    rows
  }
}
