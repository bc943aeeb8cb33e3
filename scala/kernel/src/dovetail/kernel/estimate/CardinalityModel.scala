package dovetail.kernel.estimate

import dovetail.kernel.graph.JoinGraph

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
 *  - A member of unknown domain draws from its class's domain ([[dovetail.kernel.graph.EquivalenceClass.domain]]).
 *
 * Not thread-safe: one model serves one search.
 */
final class CardinalityModel(graph: JoinGraph) {
  private val n = graph.size

  // relations in the fixed order; `rank` is the inverse
  private val order: Array[Int] = graph.relations.indices.sortBy(r => (-graph.relations(r).profile.baseRows, r)).toArray
  private val rank: Array[Int]  = { val a = new Array[Int](n); order.zipWithIndex.foreach { case (r, i) => a(r) = i }; a }

  private val rows: Array[Double]     = graph.relations.map(r => math.max(r.profile.rows.value, 1.0)).toArray
  private val baseRows: Array[Double] = graph.relations.map(r => math.max(r.profile.baseRows, 1.0)).toArray
  private val upper: Array[Double]    = graph.relations.map(r => math.max(r.profile.rows.upper, 1.0)).toArray

  // per relation: its classes, and in each its domain and share of non-null values
  private val classesOf: Array[Array[Int]]      = Array.tabulate(n)(r => graph.classes.filter(_.relations.contains(r)).map(_.index).toArray)
  private val domainOf: Array[Array[Double]]    = Array.tabulate(n)(r => classesOf(r).map(c => memberDomain(r, c)))
  private val nonNullOf: Array[Array[Double]]   = Array.tabulate(n)(r => classesOf(r).map(c => member(r, c).column.nonNull))
  private val uniqueOn: Array[Vector[Set[Int]]] = Array.tabulate(n)(uniqueClassSets)
  private val anyUnique: Boolean                = uniqueOn.exists(_.nonEmpty)

  // per relation: the predicates whose last relation, in the fixed order, it is
  private val predicatesAt: Array[Array[Int]] = {
    val lists = Array.fill(n)(Vector.newBuilder[Int])
    graph.predicates.foreach(p => lists(p.relations.maxBy(r => rank(r))) += p.index)
    lists.map(_.result().toArray)
  }
  private val predicateRelations: Array[Array[Int]] = graph.predicates.map(_.relations.toArray).toArray

  // state of one fold, stamped so that nothing needs to be cleared
  private var stamp        = 0
  private val inSet        = new Array[Int](n)
  private val classStamp   = new Array[Int](graph.classes.size)
  private val classMin     = new Array[Double](graph.classes.size)
  private val classFirst   = new Array[Double](graph.classes.size) // share of non-nulls of a class's first member
  private val classMembers = graph.classes.map(c => new Array[Int](c.relations.size)).toArray
  private val classCount   = new Array[Int](graph.classes.size)
  private val shared       = new Array[Int](n)
  private val assigned     = new Array[Boolean](graph.classes.size)
  private val sorted       = new Array[Int](n)

  private def member(r: Int, c: Int) = graph.classes(c).members.find(_.relation == r).get

  private def memberDomain(r: Int, c: Int): Double =
    math.max(1.0, member(r, c).column.domain.getOrElse(math.min(baseRows(r), graph.classes(c).domain(graph.relations))))

  private def uniqueClassSets(r: Int): Vector[Set[Int]] = {
    val keys = graph.relations(r).profile.uniqueKeys
    if (keys.isEmpty) Vector.empty
    else {
      val byColumn =
        classesOf(r).flatMap(c => graph.classes(c).members.collect { case m if m.relation == r && m.columns.size == 1 => m.columns.head -> c }).toMap
      keys.toVector.filter(_.forall(byColumn.contains)).map(_.map(byColumn)).sortBy(_.toVector.sorted.mkString(","))
    }
  }

  /** Rows of the join of `count` relations. At least 1. */
  def rowsOf(relations: Array[Int], count: Int): Double = fold(relations, count, bounds = false)

  /** The same with bounds and source: for results, not for the search. */
  def estimate(relations: Array[Int]): Estimate =
    if (relations.length == 1) graph.relations(relations.head).profile.rows
    else {
      val value  = fold(relations, relations.length, bounds = true)
      val source = relations.map(r => graph.relations(r).profile.rows.source).reduce((a, b) => Source.weakest(a, b))
      Estimate.of(value, upperBound, source)
    }

  private var upperBound = 0.0

  private def fold(relations: Array[Int], count: Int, bounds: Boolean): Double = {
    stamp += 1
    var i = 0
    while (i < count) { sorted(i) = rank(relations(i)); i += 1 }
    java.util.Arrays.sort(sorted, 0, count)
    var result = 1.0
    upperBound = 1.0
    i = 0
    while (i < count) {
      val r = order(sorted(i))
      inSet(r) = stamp
      if ((bounds || anyUnique) && !certainlyUnique(r)) upperBound = math.min(upperBound * upper(r), Estimate.Ceiling)
      result *= rows(r) * classShare(r) * predicateShare(r)
      enter(r)
      i += 1
    }
    // without certain keys the bound is a product of no less than the rows, and says nothing
    math.max(1.0, math.min(result, if (anyUnique) upperBound else Estimate.Ceiling))
  }

  private def open(c: Int): Boolean = classStamp(c) == stamp

  /** A key of `r` that is unique beyond doubt is bound by the relations before it: `r` adds no rows. */
  private def certainlyUnique(r: Int): Boolean = uniqueOn(r).exists(_.forall(open))

  private def enter(r: Int): Unit = {
    val cs = classesOf(r)
    var k  = 0
    while (k < cs.length) {
      val c = cs(k)
      if (!open(c)) { classStamp(c) = stamp; classMin(c) = domainOf(r)(k); classFirst(c) = nonNullOf(r)(k); classCount(c) = 0 }
      else classMin(c) = math.min(classMin(c), domainOf(r)(k))
      classMembers(c)(classCount(c)) = r
      classCount(c) += 1
      k += 1
    }
  }

  /** Share of the pairs (rows so far, row of r) that the equalities keep. */
  private def classShare(r: Int): Double = {
    val cs       = classesOf(r)
    var crossing = 0
    var share    = 1.0
    var k        = 0
    while (k < cs.length) {
      val c = cs(k)
      if (open(c)) {
        crossing += 1
        share *= nonNullOf(r)(k) / math.max(domainOf(r)(k), classMin(c))
        if (classCount(c) == 1) share *= classFirst(c) // the first member's NULLs fall out with the first equality
      }
      k += 1
    }
    if (crossing < 2) share else share * compositeCorrection(r)
  }

  /** What to multiply the product of single shares by, where several classes lead to the same relation. */
  private def compositeCorrection(r: Int): Double = {
    val cs         = classesOf(r)
    var correction = 1.0
    cs.foreach(c => assigned(c) = !open(c))
    var q = mostShared(r)
    while (q >= 0) {
      val bundle = cs.indices.filter(k => !assigned(cs(k)) && holds(cs(k), q))
      bundle.foreach(k => assigned(cs(k)) = true)
      val single = bundle.map(k => math.max(domainOf(r)(k), classMin(cs(k)))).product
      val mine   = math.min(Assumptions.jointNdv(bundle.map(domainOf(r)(_))), baseRows(r))
      val theirs = math.min(Assumptions.jointNdv(bundle.map(k => classMin(cs(k)))), baseRows(q))
      correction *= single / math.max(math.max(mine, theirs), 1.0)
      q = mostShared(r)
    }
    math.max(correction, 1.0)
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
