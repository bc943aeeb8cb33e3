package dovetail.kernel.size

import scala.collection.mutable

import dovetail.kernel.graph.{EquivalenceClass, JoinGraph, Operator, RelSet}
import dovetail.kernel.profile.{Estimate, RelationSample, Sampling, SetCounts}
import dovetail.kernel.size.MessagePassing.{alike, total}
import dovetail.kernel.size.SampleJoins._

/**
 * Sizes of equality joins, counted on samples of the relations. [[CardinalityModel]] uses these counts, and formulas
 * for relations without samples.
 *
 * The join of a set of relations is counted without being computed, by Yannakakis' algorithm (1981) on a join tree of
 * the set ([[SampleTree]]): every relation sends its parent, for each key, the number of combinations below it, and the
 * root adds them up ([[MessagePassing]]). So filters that are correlated with join keys, keys that are skewed on
 * several sides, and joins of several steps count with the rows that they meet, not by averages. On complete samples,
 * the size of an acyclic join is exact.
 *
 * If a sample is only a part of its table, a key has the rows that were drawn, and those that are still to be expected
 * from the key frequencies of the relation ([[UndrawnRows]]). So the estimate does not assume that keys which were
 * never drawn have no rows. A key of a dimension that was drawn is known, whether predicates keep it or not; the other
 * keys get the average of those that are asked for ([[KeyMessage]]).
 *
 * A count on partial samples to which few rows of any relation have contributed is mixed with an estimate by formulas:
 * if none of 20,000 drawn rows has partners, a thousand of twenty million may have some
 * ([[Sampling.partnersOfRandom]]).
 *
 * Rows that were read in a few places are no random sample: the rows of one key may all lie in one place. So such a
 * relation never sends a message. It is the root of a count in which all others are drawn at random or complete, and
 * the count is mixed with an estimate by formulas, by how much its places differ ([[Sampling.partners]]).
 *
 * FactorJoin (Wu et al. 2023) passes such messages over bins of keys; we pass them over keys. Join synopses (Acharya et
 * al. 1999) are the case of a root whose other relations are complete.
 */
final class SampleJoins(graph: JoinGraph) {
  private[size] val samples: Array[RelationSample] = graph.relations.map(_.sample.filter(_.rows > 0).orNull).toArray
  // without the classes whose key a sample does not have: their equalities are left to the formulas
  private[size] val classesOf: Array[Vector[Int]] = graph.classesOf.zip(samples).map { case (classes, sample) =>
    if (sample == null) classes else classes.filter(sample.keys.contains)
  }.toArray
  // domains of the classes, followed by those of the operators' equalities, which are numbered after the classes
  private val domainOf: Array[Double] =
    (graph.classes.map(_.domain(graph.relations)) ++ graph.operators.flatMap(_.equalities).map { case (a, b) =>
      EquivalenceClass(0, Vector(a, b)).domain(graph.relations)
    }).toArray
  private[size] val rows: Array[Double] = graph.relations.map(_.profile.rows.value).toArray
  private val sizes                     = new mutable.LongMap[Double]
  private val mixed                     = new mutable.LongMap[Double]
  private val evidences                 = new mutable.LongMap[Double]

  private[size] val messages = new MessagePassing(graph, samples, rows, domainOf)
  import messages.{groupsOf, weighted}

  private val cycles = new CycleEqualities(graph.classes, samples, domainOf, messages)

  private val sampled = new SampledPieces(graph, samples, classesOf)
  import sampled.{clustered, joined}

  /** Relations with samples. Graphs that are too large for a [[RelSet]] have only formulas. */
  def covered: RelSet = sampled.covered

  /** The parts of a set that can be counted ([[SampledPieces]]). */
  def pieces(set: RelSet): SampledPieces.Pieces = sampled(set)

  /** Largest number of relations that are counted as a whole. Counts of larger sets are composed of such counts. */
  private[size] val largest: Int = {
    val n                 = covered.size
    val average           = covered.toVector.map(visitsOf).sum / math.max(n, 1)
    def visits(upTo: Int) = (2 to upTo).map(k => (0 until k).map(i => (n - i).toDouble / (i + 1)).product * average).sum
    (2 to math.max(n, 2)).takeWhile(k => k == 2 || visits(k) <= MaxVisits).last
  }

  /**
   * Visits of a relation's rows for a partner; if samples are partial, the keys asked for are looked at before, and the
   * count begins at each of the relations once ([[evidence]]).
   */
  private def visitsOf(relation: Int): Double =
    samples(relation).rows * (if (covered.toVector.forall(samples(_).complete)) 1.0 else 3.0)

  // the figures of a group of joins like this one, which may come from another query
  private lazy val group     = SampledGroup(graph, domainOf)
  private lazy val shared    = figures(SampledGroup.Rows)
  private lazy val certainty = figures(SampledGroup.Certainty)
  private lazy val telling   = figures(SampledGroup.Places)

  private def figures(kind: Long): SetCounts =
    samples(covered.min).memo.counts(group.of(kind), new SetCounts(covered.size))

  /**
   * Rows of the equality join of the relations of a piece.
   *
   * @param formula estimate of a set by formulas
   */
  def rowsOf(piece: RelSet, formula: RelSet => Double): Double = clustered.find(piece.contains) match {
    case Some(root)                => mixed.getOrElseUpdate(piece.bits, mixedByPlaces(piece, root, formula))
    case None if isComplete(piece) => rowsOf(piece)
    case None                      =>
      // the count first: it notes how many rows have contributed
      val counted = rowsOf(piece)
      if (evidenceOf(piece) >= Enough) counted
      else mixed.getOrElseUpdate(piece.bits, mixedByEvidence(piece, formula))
  }

  private def isComplete(set: RelSet): Boolean = set.toVector.forall(samples(_).complete)

  /** The count of a piece of which few rows have told anything, mixed with an estimate by formulas. */
  private def mixedByEvidence(piece: RelSet, formula: RelSet => Double): Double = {
    val root            = sampled.rootOf(piece)
    val (n, drawn)      = (math.max(rows(root), 1.0), samples(root).rows.toDouble)
    val (counted, told) = (rowsOf(piece) / n, evidenceOf(piece))
    if (counted <= 0.0 || told <= 0.0) unseen(piece, formula)
    else n * Sampling.partnersOfRandom(counted, told, drawn, composed(piece, root, formula) / n)
  }

  /**
   * Rows of a piece of which no combination was drawn: the rows of all but one relation, of which some were, and fewer
   * partners in that relation than would have shown. All rows of a table may have the same few partners, so the number
   * of its rows says little: what counts are the rows of the relation of which the fewest have told anything.
   */
  private def unseen(piece: RelSet, formula: RelSet => Double): Double = {
    val (told, part)      = sampled.withoutOne(piece).map(p => evidenceOf(p) -> p).maxBy(_._1)
    val last              = piece - part
    val pair              = last | RelSet.single(sampled.rootsFirst(joined(last.min) & part).head)
    val ofPair            = if (pair.bits == piece.bits) 1.0 else rowsOf(pair, formula) / formula(pair)
    val alone             = math.max(rows(part.min), 1.0)
    val (base, byFormula) = if (part.size > 1) (rowsOf(part, formula), formula(part)) else (alone, alone)
    base * Sampling.unseen(told, formula(piece) / byFormula * ofPair)
  }

  /** The count of a piece whose root has rows of few places, mixed with an estimate by formulas. */
  private def mixedByPlaces(piece: RelSet, root: Int, formula: RelSet => Double): Double = {
    val (n, close) = (math.max(rows(root), 1.0), near(piece, root))
    lazy val tree  = arranged(close).rooted(root)
    val variation  = certainty.getOrCount(close.bits)(variationOf(tree))
    val places     = telling.getOrCount(close.bits)(told(tree))
    n * Sampling.partners(rowsOf(piece) / n, variation, places, composed(piece, root, formula) / n)
  }

  /**
   * An estimate that is composed of the mixed counts of smaller pieces, as if their errors were independent. So a count
   * of few rows is compared with what more rows have told about its parts.
   */
  private def composed(piece: RelSet, root: Int, formula: RelSet => Double): Double = {
    // of rows of places, no part tells more than another one
    def told(part: RelSet) = if (samples(root).clustered) 0.0 else evidenceOf(part)
    formula(piece) * sampled.parts(piece, root, told(_)).map(p => rowsOf(p, formula) / formula(p)).product
  }

  /** How much the places of the root vary for a count. In a large piece, the relations next to the root decide. */
  private def variationOf(tree: SampleTree.Node): Double =
    Sampling.variation(samples(tree.relation).meansOfPlaces(messages.weightedByDrawn(tree)))

  /** Number of places of the root that tell anything. One whose keys may have partners, but none drawn, does not. */
  private def told(tree: SampleTree.Node): Double =
    samples(tree.relation).meansOfPlaces(messages.toldByDrawn(tree)).sum

  /** The set, or its root and the relations that join with it if the set is too large to be counted as a whole. */
  private def near(set: RelSet, root: => Int): RelSet =
    if (set.size <= largest) set else { val r = root; limited(joined(r) & set) | RelSet.single(r) }

  /** Rows of the equality join of these relations as counted. All of them must be covered. */
  private[size] def rowsOf(set: RelSet): Double =
    sizes.getOrElseUpdate(set.bits, shared.getOrCount(set.bits)(count(set)))

  private def count(set: RelSet): Double =
    if (set.size > largest) composed(set)
    else {
      val tree    = arranged(set)
      val weights = weightsOf(tree)
      val all     = math.min(ofTrees(tree, weights) * cycles.share(tree), Estimate.Ceiling)
      if (isComplete(set)) all
      else {
        if (!clustered.exists(set.contains))
          evidences(set.bits) = certainty.getOrCount(set.bits)(evidence(tree, weights))
        all * Lean
      }
    }

  /** The [[evidence]] of a set. In a large set, the relations next to the root decide. */
  private def evidenceOf(set: RelSet): Double = {
    val close = near(set, sampled.rootOf(set))
    def found = { val tree = arranged(close); evidence(tree, weightsOf(tree)) }
    evidences.getOrElseUpdate(close.bits, certainty.getOrCount(close.bits)(found))
  }

  /**
   * Number of equally frequent rows that have partners and tell as much as those that were drawn, of the relation of
   * which there are fewest: thousands of sales may all be those of one drawn customer.
   *
   * @param weights combinations of each kept row of each root of the tree
   */
  private def evidence(tree: SampleTree, weights: Vector[Array[Double]]): Double = {
    val ofRoots = tree.roots.zip(weights).toMap
    val partial = tree.relations.filterNot(samples(_).complete)
    (if (partial.isEmpty) tree.roots else partial)
      .map(r => alike(ofRoots.getOrElse(r, weighted(tree.rooted(r))))).min
  }

  /** Rows that the equalities of a join tree of the set leave: no fewer than those of the join. */
  private[size] def ofJoinTree(set: RelSet): Double = { val tree = arranged(set); ofTrees(tree, weightsOf(tree)) }

  /** Maximum rows with one key of a class, if the relation's sample is the whole table. */
  def degree(relation: Int, of: Int): Option[Double] =
    if (!covered.contains(relation) || !samples(relation).complete || !classesOf(relation).contains(of)) None
    else Some(messages.figuresOf(relation, Vector(of)).mostPartners)

  /** Share of the rows of `left` that have a partner in `right`, if both are covered and share a class. */
  def partnered(left: Int, right: Int): Option[PartnerShare] =
    if (!meet(left, right) || !joined(left).contains(right)) None
    else {
      val shared = graph.sharedClasses(left, right)
      if (shared.forall(c => classesOf(left).contains(c) && classesOf(right).contains(c)))
        Some(partnered(left, right, shared))
      else None
    }

  /**
   * The same by the equalities of an operator. The samples number the keys of these equalities after those of the
   * classes ([[RelationSample]]).
   */
  def partnered(left: Int, right: Int, operator: Operator): Option[PartnerShare] =
    keysOf(operator, left, right).map(partnered(left, right, _))

  /**
   * Mean number of partners of a row of `left` in `right` by the equalities of an operator.
   *
   * @param formula the same number by formulas
   */
  def partners(left: Int, right: Int, operator: Operator, formula: Double): Option[Double] =
    keysOf(operator, left, right).map { keys =>
      val tree    = pair(left, right, keys)
      val weights = weighted(tree)
      val mean    = total(weights) / weights.length
      if (isComplete(RelSet(left, right))) mean
      else if (samples(left).clustered) Sampling.partners(mean, variationOf(tree), told(tree), formula)
      else Sampling.partnersOfRandom(mean, alike(weights), weights.length.toDouble, formula)
    }

  /** The numbers of an operator's equalities, if both samples have their keys. */
  private def keysOf(operator: Operator, left: Int, right: Int): Option[Vector[Int]] = {
    val first = graph.classes.size + graph.operators.take(operator.index).map(_.equalities.size).sum
    val keys  = operator.equalities.indices.map(first + _).toVector
    val there =
      keys.nonEmpty && meet(left, right) && Seq(left, right).forall(r => keys.forall(samples(r).keys.contains))
    if (there) Some(keys) else None
  }

  /**
   * Whether partners of the rows of one relation can be counted in another: not among rows that lay together, because
   * the rows of a key may all lie elsewhere. Rows that lay together may ask for partners in a whole table. In a part of
   * one, most partners would be guessed: of sales and a sample of returns, that each sale was returned.
   */
  private def meet(left: Int, right: Int): Boolean =
    Seq(left, right).forall(covered.contains) && !samples(right).clustered &&
      (!samples(left).clustered || samples(right).complete)

  /** The tree of two relations, of which the right one sends its partners to the left one. */
  private def pair(left: Int, right: Int, keys: Vector[Int]): SampleTree.Node =
    SampleTree.Node(left, Vector.empty, Vector(SampleTree.Node(right, keys, Vector.empty)))

  private def partnered(left: Int, right: Int, keys: Vector[Int]): PartnerShare = {
    val chances = chancesOf(left, right, keys)
    val counted = total(chances) / chances.length
    if (isComplete(RelSet(left, right))) PartnerShare.exact(counted)
    else if (samples(left).clustered) {
      val tree = pair(left, right, keys)
      PartnerShare.ofPlaces(counted, PartnerShare.Places(variationOf(tree), told(tree)))
    } else PartnerShare.ofRandom(counted, chances.length.toDouble)
  }

  /** The chance of each kept row of `left` to have a partner in `right`. */
  private def chancesOf(left: Int, right: Int, keys: Vector[Int]): Array[Double] = {
    val node   = SampleTree.Node(right, keys, Vector.empty)
    val there  = groupsOf(node)
    val asked  = messages.partnersOf(there, samples(left))
    val hidden =
      if (samples(right).complete || there.kept.rows == 0.0) None
      else Some(new HiddenKeys(
        there.kept,
        there.drawn,
        asked,
        messages.undrawn(node, there),
        messages.beyond(node, there)
      ))
    val stays                   = stayShare(right)
    def some(rows: Int): Double = if (stays >= 1.0) 1.0 else -math.expm1(rows * math.log1p(-stays))
    val chances                 = new Array[Double](asked.groups.length)
    var i                       = 0
    while (i < chances.length) {
      val group = asked.groups(i)
      if (group >= 0 && there.kept.sizes(group) > 0) chances(i) = some(there.kept.sizes(group))
      else if (group != KeyGroups.Null && hidden.isDefined) chances(i) = hidden.get.chance(group) * stays
      i += 1
    }
    chances
  }

  /**
   * Share of the kept rows of a sample that stay if predicates that could not be run on it are applied, such as a
   * comparison with a subquery: the estimated rows of the relation know these.
   */
  private def stayShare(relation: Int): Double = {
    val share = rows(relation) / math.max(messages.sampledRows(relation), 1.0)
    if (share >= NearlyAll) 1.0 else math.max(share, Double.MinPositiveValue)
  }

  /**
   * Rows of a set that is too large to be counted as a whole: the rows of the set without one relation, times that
   * relation's partners per combination of the relations nearest to it. These are relations of each class that joins
   * it, and those that join with these: of a customer's country, also the sales, because a country may have few
   * customers and many sales. The more of them are counted together, the less must be assumed to be independent.
   * Classes for which there is no room count by one relation each.
   */
  private def composed(set: RelSet): Double = {
    val last                 = sampled.removable(set)
    val alone                = RelSet.single(last)
    val rest                 = set - alone
    val (by, others)         = oneOfEachClass(last, rest).splitAt(largest - 1)
    val near                 = if (by.isEmpty) RelSet.empty else surroundings(last, RelSet(by: _*), rest)
    def partners(of: RelSet) = { val base = rowsOf(of); if (base <= 0.0) 0.0 else rowsOf(of | alone) / base }
    if (near.isEmpty) rowsOf(rest) * rows(last)
    else
      rowsOf(rest) * partners(near) *
        others.map(r => partners(RelSet.single(r)) / math.max(rows(last), 1.0)).product
  }

  /** Relations that join with one, grown step by step as far as there is room, those without keys of others first. */
  private def surroundings(relation: Int, next: RelSet, of: RelSet): RelSet = {
    def around(set: RelSet) = set.toVector.map(joined(_)).foldLeft(joined(relation))(_ | _) & of
    var near                = next
    var found               = around(near)
    while (near.size < largest - 1 && !found.isSubsetOf(near)) {
      near = near | RelSet(sampled.rootsFirst(found - near).take(largest - 1 - near.size): _*)
      found = around(near)
    }
    near
  }

  /** For each class that a relation shares with others, one of them that shares it, as few of them as possible. */
  private def oneOfEachClass(relation: Int, others: RelSet): Vector[Int] = {
    val partners = (joined(relation) & others).toVector
    var open     = classesOf(relation).filter(c => partners.exists(classesOf(_).contains(c)))
    val chosen   = Vector.newBuilder[Int]
    while (open.nonEmpty) {
      val next = partners.maxBy(r => (open.count(classesOf(r).contains), -r))
      chosen += next
      open = open.filterNot(classesOf(next).contains)
    }
    chosen.result()
  }

  private def limited(set: RelSet): RelSet = RelSet(set.toVector.take(largest - 1): _*)

  private def arranged(set: RelSet): SampleTree = SampleTree(set.toVector, sampled.rootOf(set), classesOf, domainOf)

  /** Combinations of each kept row of each root of a tree. */
  private def weightsOf(tree: SampleTree): Vector[Array[Double]] = tree.roots.map(r => weighted(tree.rooted(r)))

  private def ofTrees(tree: SampleTree, weights: Vector[Array[Double]]): Double =
    tree.roots.zip(weights).map { case (root, w) => total(w) * rows(root) / samples(root).rows }.product
}

private[size] object SampleJoins {

  /**
   * Factor by which a count on partial samples is raised. An estimate that is too low costs more than one that is too
   * high by the same factor, because it leads to plans that rely on few rows. So a typical count is moved to the safe
   * side, by less than it is usually off.
   */
  val Lean = 1.05

  /** Rows with partners that make formulas irrelevant: a count of so many is off by a fifth at most, 19 times of 20. */
  val Enough = 100.0

  /**
   * Share of a sample's rows from which on a smaller estimate of the relation means no further predicate: both differ a
   * little anyway, because the formulas count as some rows beside the sample.
   */
  val NearlyAll = 0.8

  /** Maximum number of rows visited for the sizes of one join group: some 50 milliseconds. */
  val MaxVisits = 1.5e7
}
