package dovetail.kernel.size

import scala.collection.mutable

import dovetail.kernel.graph.{JoinGraph, RelSet}
import dovetail.kernel.profile.{Assumptions, Estimate, Overlap, Source}

/**
 * Rows of every sub-join of a join graph: the only way the search and explain get a size.
 *
 * The number is a function of the set of relations alone, whatever order joins them (so that two plans of one set are compared by their costs, not by
 * estimation noise): relations are taken in one fixed order, largest first, and each multiplies the rows by its own and by the share of pairs that its
 * predicates to those before it keep.
 *
 *  - Within an equivalence class each new member divides by the larger of its domain and the smallest domain before it (containment, Selinger et al.
 *    1979; the product over a class is min d / Π d, so `a=b AND b=c AND a=c` is not counted thrice). The domain is the NDV before predicates on other
 *    columns: textbooks shrink it with the filtered rows, which doubles the effect of independent filters on both sides.
 *  - Several classes to the same relation are a composite key: their joint NDV, never more than that relation's table has rows, takes the place of the
 *    product of the single ones. That is what makes `fact1 JOIN fact2 ON (item, ticket, customer)` come out near the smaller fact and not at one row.
 *  - Where both sides' ranges are known, only the common range counts: a date dimension of 200 years joined with 5 years of sales has a domain of 5 years.
 *    Rows are taken to lie in the common range as far as that range can hold them (people filter dimensions to what the facts have).
 *  - Relations with samples are joined by counting ([[SampleJoins]]); the formulas then size the rest in proportion.
 *  - A member of unknown domain draws from its class's domain ([[dovetail.kernel.graph.EquivalenceClass.domain]]).
 *
 * What the result cannot exceed is [[JoinBounds]]'. Outer, semi, anti and existence joins are sized above this, by [[OperatorSizes]]; what somebody knows better
 * corrects both ([[KnownSizes]]).
 *
 * Not thread-safe: one model serves one search.
 */
final class CardinalityModel(graph: JoinGraph) {
  import CardinalityModel.Huge

  /** What is counted on the relations' samples. */
  val samples: SampleJoins = new SampleJoins(graph)

  private val n      = graph.size
  private val bounds = new JoinBounds(graph, samples)

  // relations in the fixed order; `rank` is the inverse
  private val order: Array[Int] = graph.relations.indices.sortBy(r => (-graph.relations(r).profile.baseRows, r)).toArray
  private val rank: Array[Int]  = { val a = new Array[Int](n); order.zipWithIndex.foreach { case (r, i) => a(r) = i }; a }

  private val rows: Array[Double]     = graph.relations.map(r => math.max(r.profile.rows.value, 1.0)).toArray
  private val baseRows: Array[Double] = graph.relations.map(r => math.max(r.profile.baseRows, 1.0)).toArray
  private val upper: Array[Double]    = graph.relations.map(r => math.max(r.profile.rows.upper, 1.0)).toArray

  // per relation: its classes, and in each its domain and share of non-null values
  private val classesOf: Array[Array[Int]]    = graph.classesOf.map(_.toArray).toArray
  private val domainOf: Array[Array[Double]]  = Array.tabulate(n)(r => classesOf(r).map(c => memberDomain(r, c)))
  private val nonNullOf: Array[Array[Double]] = Array.tabulate(n)(r => classesOf(r).map(c => member(r, c).column.nonNull))

  // per relation: how far it repeats the values of each of its classes, nobody knows how evenly
  private val repeatedOf: Array[Array[Double]] = Array.tabulate(n)(r => classesOf(r).map(c => member(r, c).column.repetition))

  // per relation: some other one shares two classes or more with it
  private val composite: Array[Boolean] =
    Array.tabulate(n)(r => classesOf(r).toSeq.flatMap(graph.classes(_).relations.filter(_ != r)).groupBy(identity).exists(_._2.size > 1))

  // what has to be there for a predicate to be applied: in a graph without operators, what it reads
  private val predicateRelations: Array[Array[Int]] =
    graph.predicates.map(p => if (graph.operators.isEmpty) p.relations.toArray else graph.joinable.conflicts.predicates(p.index).all.toArray).toArray

  // per relation: the predicates whose last relation, in the fixed order, it is
  private val predicatesAt: Array[Array[Int]] = {
    val lists = Array.fill(n)(Vector.newBuilder[Int])
    graph.predicates.foreach(p => lists(predicateRelations(p.index).maxBy(r => rank(r))) += p.index)
    lists.map(_.result().toArray)
  }

  // the range of each member, NaN where it is not known, and whether its domain is known and as large as the relation: a key
  private val lowOf: Array[Array[Double]]    = Array.tabulate(n)(r => classesOf(r).map(c => member(r, c).column.min.getOrElse(Double.NaN)))
  private val highOf: Array[Array[Double]]   = Array.tabulate(n)(r => classesOf(r).map(c => member(r, c).column.max.getOrElse(Double.NaN)))
  private val knownOf: Array[Array[Boolean]] = Array.tabulate(n)(r => classesOf(r).map(c => member(r, c).column.domain.isDefined))
  private val keyOf: Array[Array[Boolean]]   =
    Array.tabulate(n)(r => classesOf(r).map(c => member(r, c).column.domain.exists(_ >= Assumptions.UniqueNdvShare * baseRows(r))))

  // classes of which two members or more have frequent values
  private val frequentOf: Array[Boolean] = graph.classes.map(_.members.count(_.column.frequent.nonEmpty) > 1).toArray

  // state of one fold, stamped so that nothing needs to be cleared
  private var stamp        = 0
  private val inSet        = new Array[Int](n)
  private val classStamp   = new Array[Int](graph.classes.size)
  private val classMin     = new Array[Double](graph.classes.size) // smallest domain
  private val classLow     = new Array[Double](graph.classes.size) // common range
  private val classHigh    = new Array[Double](graph.classes.size)
  private val classPart    = new Array[Double](graph.classes.size) // share of its domain that counts, because a member is restricted by another key
  private val classFirst   = new Array[Double](graph.classes.size) // share of non-nulls of a class's first member
  private val repeated     = new Array[Double](graph.classes.size) // how far its members repeat its values, added up
  private val classMembers = graph.classes.map(c => new Array[Int](c.relations.size)).toArray
  private val classCount   = new Array[Int](graph.classes.size)
  private val shared       = new Array[Int](n)
  private val assigned     = new Array[Boolean](graph.classes.size)
  private val sorted       = new Array[Int](n)
  // frequent values of two members of a class against each other, by relation, class and first relation
  private val matches = new mutable.LongMap[Option[Overlap]]
  // domains of the relation that is being added and of those before it, per class, within the common range
  private val mine   = new Array[Double](graph.classes.size)
  private val theirs = new Array[Double](graph.classes.size)
  // what busy keys of the relation that is being added make beyond the average
  private val met = new Array[Double](graph.classes.size)
  // share of the relation that is being added that lies within the common ranges
  private var restriction = 1.0

  private def member(r: Int, c: Int) = graph.classes(c).members.find(_.relation == r).get

  private def memberDomain(r: Int, c: Int): Double =
    math.max(1.0, member(r, c).column.domain.getOrElse(math.min(baseRows(r), graph.classes(c).domain(graph.relations))))

  private val operators: Option[OperatorSizes] = if (graph.operators.isEmpty) None
  else
    Some(new OperatorSizes(
      graph,
      samples,
      set => { val rows = sized(set, set.length, withBound = true); OperatorSizes.Size(rows, cautious, math.max(rows, upperBound)) }
    ))

  private lazy val known: Option[KnownSizes] = if (graph.sizes.isEmpty) None else Some(new KnownSizes(graph, set => estimated(set, set.length)))

  /** Rows of the join of `count` relations. At least 1. */
  def rowsOf(relations: Array[Int], count: Int): Double =
    if (known.isEmpty || count < 2) estimated(relations, count)
    else {
      val size = known.get.of(relations, count)
      size.known match {
        case Some(exactly) => cautious = exactly; exactly
        case None          =>
          val corrected = math.max(1.0, math.min(estimated(relations, count) * size.correction, Estimate.Ceiling))
          cautious = math.max(cautious, corrected)
          corrected
      }
    }

  private def estimated(relations: Array[Int], count: Int): Double = operators match {
    case None        => sized(relations, count, withBound = false)
    case Some(sizes) =>
      val size = sizes.of(relations, count)
      cautious = size.cautious
      size.rows
  }

  /** By formulas; and what can be counted on samples takes the place of its part of them. */
  private def sized(relations: Array[Int], count: Int, withBound: Boolean): Double = {
    val pieces  = if (count < 2 || samples.covered.isEmpty) Vector.empty else samples.pieces(RelSet(relations.take(count).toIndexedSeq: _*))
    val counted = pieces.map { piece =>
      fold(piece.toVector.toArray, piece.size, withBound = false)
      math.log(samples.rowsOf(piece)) - logPairs
    }.sum
    val rows = fold(relations, count, withBound)
    if (pieces.size == 1 && pieces.head.size == count) cautious = math.min(cautious, samples.cautiousRowsOf(pieces.head))
    if (pieces.isEmpty) rows else math.max(1.0, math.min(math.exp(logPairs + logPredicates + counted), if (bounds.certain) upperBound else Estimate.Ceiling))
  }

  /**
   * Rows that the last join sized should not exceed: filters count for nothing, joins with what looks like a key add no rows, other joins their average
   * number of partners; or what counts on samples or the upper bound leave possible, if that is less. Not a bound, for keys are recognised by their counts; it
   * decides what is too risky to broadcast.
   */
  def cautiousRows: Double = cautious

  /** The same with bounds and source: for results, not for the search. */
  def estimate(relations: Array[Int]): Estimate =
    if (relations.length == 1) graph.relations(relations.head).profile.rows
    else {
      val source = relations.map(r => graph.relations(r).profile.rows.source).reduce((a, b) => Source.weakest(a, b))
      val own    = operators match {
        case None        => val value = sized(relations, relations.length, withBound = true); Estimate.of(value, upperBound, source)
        case Some(sizes) => val size = sizes.of(relations, relations.length); Estimate.of(size.rows, size.upper, source)
      }
      known.map(_.of(relations, relations.length)).fold(own) { size =>
        val value = math.max(1.0, math.min(own.value * size.correction, Estimate.Ceiling))
        size.known.fold(if (size.correction == 1.0) own else Estimate.of(value, math.max(value, own.upper), source))(Estimate.exactly(_, Source.Given))
      }
    }

  // of the last fold: its bound, what is too risky, and, where there are samples, logarithms of the rows that its equalities leave and of the share that
  // its other predicates keep of them
  private var upperBound    = 0.0
  private var cautious      = 0.0
  private var logPairs      = 0.0
  private var logPredicates = 0.0

  private def fold(relations: Array[Int], count: Int, withBound: Boolean): Double = {
    stamp += 1
    var i = 0
    while (i < count) { sorted(i) = rank(relations(i)); i += 1 }
    java.util.Arrays.sort(sorted, 0, count)
    i = 0
    while (i < count) { sorted(i) = order(sorted(i)); i += 1 }
    var result = 1.0
    var scale  = 0 // the product is result * Huge^scale
    upperBound = if (withBound || bounds.certain) bounds.of(sorted, count) else 1.0
    cautious = 1.0
    logPairs = 0.0
    logPredicates = 0.0
    i = 0
    while (i < count) {
      val r = sorted(i)
      inSet(r) = stamp
      cautious = math.min(cautious * partners(r), Estimate.Ceiling)
      val pairs = rows(r) * classShare(r)
      val share = predicateShare(r)
      if (samples.covered.nonEmpty) {
        logPairs += math.log(math.max(pairs, Double.MinPositiveValue))
        logPredicates += math.log(math.max(share, Double.MinPositiveValue))
      }
      result *= pairs * share
      // hundreds of large relations come before the shares that make their product small again
      if (result > Huge) { result /= Huge; scale += 1 }
      else if (result < 1.0 / Huge) { result *= Huge; scale -= 1 }
      enter(r)
      i += 1
    }
    if (bounds.certain) cautious = math.min(cautious, upperBound)
    while (scale > 0 && result <= Estimate.Ceiling) { result *= Huge; scale -= 1 }
    // without certain keys the bound is a product of no less than the rows, and says nothing
    if (scale < 0) 1.0 else math.max(1.0, math.min(result, if (bounds.certain) upperBound else Estimate.Ceiling))
  }

  private def open(c: Int): Boolean = classStamp(c) == stamp

  /** Rows of `r` per row before it, without its own predicates. */
  private def partners(r: Int): Double = {
    val cs     = classesOf(r)
    var most   = upper(r)
    var domain = 0.0
    var k      = 0
    while (k < cs.length) {
      if (open(cs(k))) {
        if (keyOf(r)(k)) most = 1.0
        else if (knownOf(r)(k)) domain = math.max(domain, domainOf(r)(k))
      }
      k += 1
    }
    if (domain > 0.0) math.min(most, math.max(1.0, baseRows(r) / domain)) else most
  }

  private def enter(r: Int): Unit = {
    val cs = classesOf(r)
    var k  = 0
    while (k < cs.length) {
      val c = cs(k)
      if (!open(c)) {
        classStamp(c) = stamp
        classPart(c) = restricted(domainOf(r)(k), r)
        classMin(c) = math.max(1.0, domainOf(r)(k) * classPart(c))
        classLow(c) = lowOf(r)(k)
        classHigh(c) = highOf(r)(k)
        classFirst(c) = nonNullOf(r)(k)
        repeated(c) = 0.0
        classCount(c) = 0
      } else {
        classPart(c) *= alongside(r, k, c)
        classMin(c) = math.min(theirs(c), mine(c))
        if (classLow(c).isNaN || lowOf(r)(k) > classLow(c)) classLow(c) = lowOf(r)(k)
        if (classHigh(c).isNaN || highOf(r)(k) < classHigh(c)) classHigh(c) = highOf(r)(k)
      }
      repeated(c) += repeatedOf(r)(k)
      classMembers(c)(classCount(c)) = r
      classCount(c) += 1
      k += 1
    }
  }

  /** Share of the pairs (rows so far, row of r) that the equalities keep. */
  private def classShare(r: Int): Double = {
    val cs = classesOf(r)
    restriction = 1.0
    var crossing = 0
    var k        = 0
    while (k < cs.length) {
      if (open(cs(k))) { crossing += 1; restriction = math.min(restriction, partOfMine(r, k, cs(k))) }
      k += 1
    }
    var share = 1.0
    k = 0
    while (k < cs.length && crossing > 0) {
      val c = cs(k)
      if (open(c)) {
        val within = withinCommonRange(r, k, c)
        // of a second member the frequent values are known against those of the first
        val matched = if (classCount(c) == 1) matchesOf(r, c, classMembers(c)(0)) else None
        met(c) = if (matched.isEmpty) Assumptions.busyKeysMeet(repeatedOf(r)(k), repeated(c)) else 1.0
        share *= nonNullOf(r)(k) * matched.fold(met(c) * within / math.max(mine(c), theirs(c)))(_.share(mine(c), theirs(c), within))
        if (classCount(c) == 1) share *= classFirst(c) // the first member's NULLs fall out with the first equality
      }
      k += 1
    }
    if (crossing < 2 || !composite(r)) share else share * compositeCorrection(r)
  }

  /**
   * Sets the domains of both sides within their common range; returns the share of the pairs of rows that lie in it. Rows are taken to lie there as far
   * as the range can hold them.
   */
  private def withinCommonRange(r: Int, k: Int, c: Int): Double = {
    val q = classMembers(c)(0)
    if (math.max(lowOf(r)(k), classLow(c)) > math.min(highOf(r)(k), classHigh(c))) { mine(c) = 1.0; theirs(c) = 1.0; 0.0 }
    else {
      // what restricts another key of either side restricts this one
      val along = alongside(r, k, c)
      val a     = partOfMine(r, k, c) * classPart(c)
      val b     = part(lowOf(r)(k), highOf(r)(k), classLow(c), classHigh(c), classMin(c)) * along
      mine(c) = math.max(1.0, domainOf(r)(k) * math.min(a, along))
      theirs(c) = math.max(1.0, classMin(c) * b)
      math.min(1.0, baseRows(r) * a / rows(r)) * math.min(1.0, baseRows(q) * b / rows(q))
    }
  }

  private def matchesOf(r: Int, c: Int, q: Int): Option[Overlap] =
    if (!frequentOf(c)) None
    else matches.getOrElseUpdate((c.toLong * n + r) * n + q, for (a <- member(r, c).column.frequent; b <- member(q, c).column.frequent) yield a.matching(b))

  private def alongside(r: Int, k: Int, c: Int): Double = if (partOfMine(r, k, c) <= restriction) 1.0 else restricted(domainOf(r)(k), r)

  private def partOfMine(r: Int, k: Int, c: Int): Double = part(classLow(c), classHigh(c), lowOf(r)(k), highOf(r)(k), domainOf(r)(k))

  /** Share of the values between `from` and `to` that lie between `low` and `high`: at least one of them, and all where a range is not known. */
  private def part(low: Double, high: Double, from: Double, to: Double, values: Double): Double = {
    val (l, h) = (math.max(low, from), math.min(high, to))
    if (to > from && l <= h) math.max((h - l) / (to - from), 1.0 / values) else 1.0
  }

  /**
   * Share of a domain of `r` that is left when only a range of another of its keys counts: five of two hundred years of days have fewer weeks, but no fewer
   * weekdays. Between a column that follows the key and one that has nothing to do with it: the geometric mean.
   */
  private def restricted(domain: Double, r: Int): Double =
    if (restriction >= 1.0) 1.0
    else math.sqrt(math.max(1.0 / domain, restriction) * math.min(1.0, Assumptions.distinctAfter(domain, baseRows(r), baseRows(r) * restriction) / domain))

  /** What to multiply the product of single shares by, where several classes lead to the same relation. */
  private def compositeCorrection(r: Int): Double = {
    val cs         = classesOf(r)
    var correction = 1.0
    cs.foreach(c => assigned(c) = !open(c))
    var q = mostShared(r)
    while (q >= 0) {
      val bundle = cs.indices.filter(k => !assigned(cs(k)) && holds(cs(k), q))
      bundle.foreach(k => assigned(cs(k)) = true)
      val single = bundle.map(k => math.max(mine(cs(k)), theirs(cs(k)))).product
      val (a, b) = (jointNdv(r, bundle.map(cs(_)), mine), jointNdv(q, bundle.map(cs(_)), theirs))
      // how far busy keys meet was counted by single columns
      val alone = bundle.map(k => met(cs(k))).product
      val both  = if (alone == 1.0) 1.0 else Assumptions.busyKeysMeet(Assumptions.repetition(a, baseRows(r)), Assumptions.repetition(b, baseRows(q)))
      correction *= single / math.max(math.max(a, b), 1.0) * both / alone
      q = mostShared(r)
    }
    correction
  }

  /** Joint NDV of a relation's keys in several classes: as counted, as far as the single domains still allow it; else by back-off. */
  private def jointNdv(r: Int, bundle: Seq[Int], domains: Array[Double]): Double =
    graph.groupNdv(r, bundle) match {
      case Some(counted) => math.min(counted, bundle.map(domains(_)).product)
      case None          => math.min(Assumptions.jointNdv(bundle.map(domains(_))), baseRows(r))
    }

  private def holds(c: Int, q: Int): Boolean = { var i = 0; while (i < classCount(c)) { if (classMembers(c)(i) == q) return true; i += 1 }; false }

  /** The relation before `r` that shares most of its unassigned classes, at least two; -1 where there is none. */
  private def mostShared(r: Int): Int = {
    val open = classesOf(r).filterNot(assigned(_))
    for (c <- open; i <- 0 until classCount(c)) shared(classMembers(c)(i)) = 0
    var best = -1
    for (c <- open; i <- 0 until classCount(c)) {
      val q = classMembers(c)(i)
      shared(q) += 1
      if (shared(q) >= 2 && (best < 0 || shared(q) > shared(best) || (shared(q) == shared(best) && rank(q) < rank(best)))) best = q
    }
    best
  }

  private def predicateShare(r: Int): Double = {
    val ps = predicatesAt(r)
    if (ps.isEmpty) 1.0
    else {
      val applicable = ps.filter(p => predicateRelations(p).forall(x => inSet(x) == stamp))
      if (applicable.length == 1) graph.predicates(applicable(0)).selectivity
      else Assumptions.conjunction(applicable.toSeq.map(graph.predicates(_).selectivity))
    }
  }
}

object CardinalityModel {

  /** Where a product is taken out of, before it leaves the range of a Double: well above any number of rows, and its inverse times any is not 0. */
  private val Huge = 1e150
}
