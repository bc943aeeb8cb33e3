package dovetail.kernel.size

import scala.collection.mutable

import dovetail.kernel.graph.JoinGraph
import dovetail.kernel.profile.{Assumptions, Overlap}
import dovetail.kernel.size.CompositeKeys.KeyComponent

/**
 * Estimates the size of a set of relations joined by inner joins. It takes the relations in one fixed order, largest
 * table first. Each relation multiplies the rows by its own rows and by the share of pairs that its predicates with
 * earlier relations keep. [[CardinalityModel]] explains the rules, [[EqualityShare]] has the formulas.
 *
 * The fold reuses its state for the next set ([[ClassFold]]), so it is not thread-safe. The result depends on the set
 * alone.
 *
 * @param bounds  upper bounds of a result
 * @param sampled whether relations have samples; results then contain the logarithms that a count on samples needs
 */
final private[size] class SetFold(graph: JoinGraph, bounds: JoinBounds, sampled: Boolean) {
  private val inputs: Array[JoinInput] = JoinInput.inputsOf(graph)

  // relations in the fixed order; `rank` is the inverse
  private val order: Array[Int] = graph.relations.indices.sortBy(r => (-graph.relations(r).profile.baseRows, r)).toArray
  private val rank: Array[Int]  = {
    val ranks = new Array[Int](graph.size)
    order.zipWithIndex.foreach { case (r, i) => ranks(r) = i }
    ranks
  }

  // relations that must be joined before a predicate is applied
  private val predicateRelations: Array[Array[Int]] = graph.predicates.map(graph.neededBy(_).toArray).toArray

  // per relation: the predicates whose last relation in the fixed order it is
  private val predicatesAt: Array[Array[Int]] = {
    val lists = Array.fill(graph.size)(Vector.newBuilder[Int])
    graph.predicates.foreach(p => lists(predicateRelations(p.index).maxBy(r => rank(r))) += p.index)
    lists.map(_.result().toArray)
  }

  // state of one round: `seen` holds the round's number for relations joined so far, classes hold their members
  private var round   = 0
  private var beyond  = 0L // relations of which only rows that were added later match, as bits; up to 64 have samples
  private val seen    = new Array[Int](graph.size)
  private val classes = graph.classes.map(c => new ClassFold(c.relations.size)).toArray

  private val bound = new JoinInput.Bound {
    override def isBound(classIndex: Int): Boolean    = classes(classIndex).isOpen(round)
    override def isRepeated(classIndex: Int): Boolean = classes(classIndex).repeats
  }

  private val implied    = new ImpliedKeys(graph)
  private val alongJoins = new CautiousRows(graph.classes.size, inputs)
  private val composites = new CompositeKeys(graph, inputs, rank)

  // whether two or more members of a class have frequent values; and the overlap of two members' frequent values, by
  // class and the two relations
  private val frequentIn: Array[Boolean] = graph.classes.map(_.members.count(_.column.frequent.nonEmpty) > 1).toArray
  private val overlaps                   = new mutable.LongMap[Option[Overlap]]

  /**
   * Estimates the size of the join of the first `count` of `relations`.
   *
   * @param withBound whether to compute the upper bound even if no key is certain
   */
  def apply(relations: Array[Int], count: Int, withBound: Boolean): SetFold.Result = {
    round += 1
    beyond = 0L
    val set           = inFixedOrder(relations, count)
    val upper         = if (withBound || bounds.certain) bounds.upperBound(set, count) else bounds.none
    val rows          = new RowProduct
    var cautious      = 1.0
    var largest       = 1.0
    var logPairs      = 0.0
    var logPredicates = 0.0
    var i             = 0
    while (i < count) {
      val r = set(i)
      seen(r) = round
      cautious = inputs(r).cautiousRows(cautious, bound)
      largest = math.max(largest, inputs(r).mostRows)
      val pairs = inputs(r).rows * add(r)
      val share = predicateShare(r)
      if (sampled) {
        logPairs += math.log(math.max(pairs, Double.MinPositiveValue))
        logPredicates += math.log(math.max(share, Double.MinPositiveValue))
      }
      rows.times(pairs * share)
      i += 1
    }
    // no join order starts with fewer rows than the largest relation has
    if (cautious > largest && count <= CautiousRows.MostRelations) cautious = math.min(cautious, alongJoins(set, count))
    val size =
      SetSize(rows.rows(bounds.limit(upper)), if (bounds.certain) math.min(cautious, upper) else cautious, upper)
    SetFold.Result(size, logPairs, logPredicates, beyond)
  }

  private def inFixedOrder(relations: Array[Int], count: Int): Array[Int] = {
    val set = new Array[Int](count)
    var i   = 0
    while (i < count) { set(i) = rank(relations(i)); i += 1 }
    java.util.Arrays.sort(set)
    i = 0
    while (i < count) { set(i) = order(set(i)); i += 1 }
    set
  }

  /**
   * Adds a relation to its classes. Returns the share of the pairs (row before it, row of it) that its equalities keep:
   * at most the share that the most selective one of them keeps.
   */
  private def add(r: Int): Double = {
    val input       = inputs(r)
    val most        = mostRestricted(input.keys)
    val restriction = if (most < 0) 1.0 else partOf(input.keys(most))
    val keys        = if (implied.tells(r, restriction)) narrowed(r, most) else input.keys
    // reads the members before this relation, so it must run before the relation becomes a member
    val correction =
      if (input.composite && openClasses(keys) > 1) composites.correction(r, components(r, keys, restriction)) else 1.0
    var share    = 1.0
    var smallest = 1.0
    var k        = 0
    while (k < keys.length) {
      val key    = keys(k)
      val before = classes(key.classIndex)
      if (before.isOpen(round)) {
        val common = commonRange(input, key, before, restriction)
        if (common.beyond) beyond |= 1L << r
        // the first equality drops the NULLs of the first member
        val single = valueShare(r, key, before, common) * (if (before.count == 1) before.nonNullOfFirst else 1.0)
        share *= single
        smallest = math.min(smallest, single)
        before.join(r, key, common)
      } else before.open(round, r, key, key.alongOthers(input.tableRows, restriction))
      k += 1
    }
    // The correction takes each share for 1 / domain. If frequent values are known, shares are larger than that.
    if (correction == 1.0) share else math.min(share * correction, smallest)
  }

  /** Index of the key of which the smallest share lies in the common range of its class; -1 if no class is open. */
  private def mostRestricted(keys: Array[JoinKey]): Int = {
    var (most, restriction) = (-1, Double.PositiveInfinity)
    var k                   = 0
    while (k < keys.length) {
      if (classes(keys(k).classIndex).isOpen(round)) {
        val part = partOf(keys(k))
        if (part < restriction) { most = k; restriction = part }
      }
      k += 1
    }
    most
  }

  /** Share of a key's domain that lies in the common range of its class. */
  private def partOf(key: JoinKey): Double = classes(key.classIndex).partOf(key)

  /** The keys of a relation in the rows whose most restricted key lies in the common range of its class. */
  private def narrowed(r: Int, most: Int): Array[JoinKey] = {
    val keys = inputs(r).keys
    val by   = keys(most).classIndex
    keys.map(key => if (key.classIndex == by) key else implied.narrowed(r, key, by, classes(by)))
  }

  private def openClasses(keys: Array[JoinKey]): Int = keys.count(key => classes(key.classIndex).isOpen(round))

  private def commonRange(input: JoinInput, key: JoinKey, before: ClassFold, restriction: Double): CommonRange =
    CommonRange(key, input, before, inputs(before.relation(0)), restriction)

  /**
   * Share of the pairs of rows with equal values: by frequent values if they are known, otherwise by domains. NULLs of
   * the earlier members are not taken into account.
   */
  private def valueShare(r: Int, key: JoinKey, before: ClassFold, common: CommonRange): Double = {
    val overlap = overlapOf(r, key, before)
    key.nonNull * (
      if (overlap.isEmpty)
        EqualityShare.ofPairs(common.domain, common.domainBefore, common.pairs, busyKeysMeet(key, before, common))
      else overlap.get.share(common.domain, common.domainBefore, common.pairs)
    )
  }

  private def busyKeysMeet(key: JoinKey, before: ClassFold, common: CommonRange): Double =
    Assumptions.busyKeysMeet(key.repetition, before.repetition, math.max(common.domain, common.domainBefore))

  /** Overlap of the frequent values of a class's second member with those of its first. */
  private def overlapOf(r: Int, key: JoinKey, before: ClassFold): Option[Overlap] =
    if (before.count != 1 || !frequentIn(key.classIndex)) None
    else {
      val first = before.relation(0)
      overlaps.getOrElseUpdate(
        (key.classIndex.toLong * graph.size + r) * graph.size + first,
        for (a <- key.frequent; b <- inputs(first).keys.find(_.classIndex == key.classIndex).get.frequent)
          yield a.matching(b)
      )
    }

  /** The keys of a relation in classes that have members before it. */
  private def components(r: Int, keys: Array[JoinKey], restriction: Double): Vector[KeyComponent] =
    for (key <- keys.toVector; before = classes(key.classIndex) if before.isOpen(round)) yield {
      val common = commonRange(inputs(r), key, before, restriction)
      val busy   = if (overlapOf(r, key, before).isEmpty) busyKeysMeet(key, before, common) else 1.0
      KeyComponent(key.classIndex, before, common, busy)
    }

  /** Share that predicates keep whose last relation is `r` and whose other relations are already joined. */
  private def predicateShare(r: Int): Double = {
    val last = predicatesAt(r)
    if (last.isEmpty) 1.0
    else {
      val applicable = last.filter(p => predicateRelations(p).forall(x => seen(x) == round))
      if (applicable.length == 1) graph.predicates(applicable(0)).selectivity
      else Assumptions.conjunction(applicable.toSeq.map(graph.predicates(_).selectivity))
    }
  }
}

private[size] object SetFold {

  /**
   * Size of a set by formulas. If relations have samples, also the natural logarithms of its parts before they are
   * limited (0 if there are no samples).
   *
   * @param logPairs      logarithm of the rows that equalities leave
   * @param logPredicates logarithm of the share of these rows that the other predicates keep
   * @param beyond        relations, as bits, that match the others only by rows which were added after the statistics
   *                      were collected; no sample has these rows
   */
  final case class Result(size: SetSize, logPairs: Double, logPredicates: Double, beyond: Long)
}
