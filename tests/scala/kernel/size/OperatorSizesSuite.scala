package dovetail.kernel.size

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite
import dovetail.kernel.graph.{JoinGraph, JoinKind, JoinPredicate, Member, Operator, Relation}
import dovetail.kernel.profile.{Assumptions, ColumnProfile, Estimate, RelationProfile, RelationSample, RowBytes, Source}
import dovetail.kernel.RandomPlans

/**
 * Sizes of outer, semi, anti and existence joins: they follow their formulas, stay within their bounds, and do not
 * depend on earlier calls.
 */
class OperatorSizesSuite extends AnyFunSuite {
  import JoinKind._

  private def column(ndv: Double, nulls: Double = 0.0) =
    ColumnProfile(ndv = Some(ndv), domain = Some(ndv), nulls = Some(nulls))

  /** Sizes of the join of both relations. */
  private class Sizes(model: CardinalityModel) {
    def value: Double    = model.estimate(Array(0, 1)).value
    def upper: Double    = model.estimate(Array(0, 1)).upper
    def cautious: Double = model.sizeOf(Array(0, 1), 2).cautious
  }

  /** The graph of a join of a left relation and a right relation of 100 rows by one key. */
  private def oneJoin(
      kind: JoinKind,
      left: ColumnProfile,
      right: ColumnProfile,
      samples: (Option[RelationSample], Option[RelationSample]),
      rows: Double = 1000.0,
      selectivity: Double = 1.0,
      keys: Set[Set[Long]] = Set.empty,
      filters: Vector[JoinPredicate] = Vector.empty,
      nullsMeet: Boolean = false
  ): JoinGraph = {
    def relation(i: Int, rows: Double, unique: Set[Set[Long]], sample: Option[RelationSample]) =
      Relation(
        i,
        s"R$i",
        RelationProfile(Estimate.exactly(rows, Source.Exact), Map.empty, rows, unique),
        RowBytes.fixed(42.0),
        broadcastable = false,
        sample
      )
    val key = (Member(0, left, Set(0L), "l.k", nullsMeet), Member(1, right, Set(1L), "r.k", nullsMeet))
    JoinGraph(
      Vector(relation(0, rows, Set.empty, samples._1), relation(1, 100.0, keys, samples._2)),
      Vector.empty,
      filters,
      Vector(Operator(
        0,
        kind,
        Vector(0),
        Vector(1),
        Vector(key),
        Vector(0, 1),
        selectivity,
        Vector(0, 1),
        wideEquality = false,
        "l.k = r.k"
      ))
    )
  }

  /** Joins a left relation of 1000 rows and a right relation of 100 rows by one key. */
  private def sizeOf(
      kind: JoinKind,
      left: ColumnProfile,
      right: ColumnProfile,
      selectivity: Double = 1.0,
      keys: Set[Set[Long]] = Set.empty,
      samples: (Option[RelationSample], Option[RelationSample]) = (None, None)
  ): Sizes = {
    new Sizes(new CardinalityModel(oneJoin(kind, left, right, samples, selectivity = selectivity, keys = keys)))
  }

  test("the formulas") {
    // half of the 200 keys on the left have one of the 100 rows on the right
    val (l, r) = (column(200), column(100))
    val pairs  = 1000.0 * 100 / 200
    assert(sizeOf(Semi, l, r).value == 1000 * 100.0 / 200)
    assert(sizeOf(Anti, l, r).value == 1000 * (1 - 100.0 / 200))
    assert(sizeOf(Existence, l, r).value == 1000)
    assert(sizeOf(LeftOuter, l, r).value == pairs + 1000 * (1 - 100.0 / 200))
    // all of the right side's keys are on the left
    assert(sizeOf(FullOuter, l, r).value == pairs + 1000 * (1 - 100.0 / 200) + 0)
    // two rows on the right per key
    assert(sizeOf(LeftOuter, column(50), column(50)).value == 1000.0 * 100 / 50)
    // a NULL has no partner
    assert(math.abs(sizeOf(Semi, column(200, nulls = 0.2), r).value - 1000 * 0.8 * 100 / 200) < 1e-9)
    assert(math.abs(sizeOf(Anti, column(200, nulls = 0.2), r).value - 1000 * (1 - 0.8 * 100 / 200)) < 1e-9)
  }

  test("only the common range of both keys counts") {
    // the right side has a tenth of the left side's range, and half of the days in it
    val l = column(1000).copy(min = Some(0.0), max = Some(999.0))
    val r = ColumnProfile(ndv = Some(50.0), domain = Some(100.0), nulls = Some(0.0), min = Some(0.0), max = Some(99.0))
    assert(math.abs(sizeOf(Semi, l, r).value - 50) < 1.0)
    assert(math.abs(sizeOf(Anti, l, r).value - 950) < 1.0)
    // 100 left rows lie in the range, and each has one of 100 days: 100 rows on 100 days
    assert(math.abs(sizeOf(LeftOuter, l, r).value - (100.0 + 950)) < 2.0)
    val beyond = r.copy(min = Some(2000.0), max = Some(2099.0))
    assert(sizeOf(Semi, l, beyond).value == 1.0 && sizeOf(Anti, l, beyond).value == 1000.0)
    assert(sizeOf(LeftOuter, l, beyond).value == 1000.0)
  }

  test("where nothing is known of the keys, half of the rows have a partner, and an anti join always keeps some") {
    assert(sizeOf(Semi, ColumnProfile(), ColumnProfile()).value == 1000 * Assumptions.SemiJoin)
    assert(sizeOf(Anti, column(100), column(100)).value == 1000 * Assumptions.AntiJoinFloor)
  }

  test("l.k <=> r.k: NULLs meet NULLs, in pairs and as partners") {
    def size(kind: JoinKind, right: ColumnProfile, nullsMeet: Boolean = true) =
      new CardinalityModel(oneJoin(kind, column(50, 0.1), right, (None, None), nullsMeet = nullsMeet))
        .estimate(Array(0, 1)).value
    val some = column(50, 0.2)
    // 100 NULLs meet 20, and 900 values meet 80 / 50 each
    assert(math.abs(size(LeftOuter, some) - (100.0 * 20 + 900.0 * 80 / 50)) < 1e-6)
    assert(math.abs(size(LeftOuter, some, nullsMeet = false) - (900.0 * 80 / 50 + 100)) < 1e-6)
    assert(size(Semi, some) == 1000.0 && size(Semi, some, nullsMeet = false) == 900.0)
    assert(size(Semi, column(50)) == 900.0, "the right side has no NULLs")
  }

  test("several keys: no more rows have a partner than there are partners, if the combinations were counted") {
    // 100 users and 200 items, of which each combination is a row on the left; 100 combinations on the right
    def graph(kind: JoinKind, combinations: Map[Set[Long], Double], nulls: Option[Double]) = {
      val one = oneJoin(kind, column(100), column(100), (None, None), rows = 20000.0)
      def item(ndv: Double, relation: Int, id: Long) =
        Member(relation, column(ndv, nulls.getOrElse(0.0)), Set(id), s"$relation.i", nullsMeet = nulls.isDefined)
      val keys = Vector(
        (Member(0, column(100), Set(0L), "l.k"), Member(1, column(100), Set(1L), "r.k")),
        (item(200, 0, 2L), item(100, 1, 3L))
      )
      val (left, right) = (one.relations(0), one.relations(1))
      JoinGraph(
        Vector(left.copy(profile = left.profile.copy(groups = combinations)), right),
        one.classes,
        one.predicates,
        one.operators.map(_.copy(equalities = keys))
      )
    }
    def size(kind: JoinKind, combinations: Map[Set[Long], Double], nulls: Option[Double] = None) =
      new CardinalityModel(graph(kind, combinations, nulls)).estimate(Array(0, 1)).value
    val counted = Map(Set(0L, 2L) -> 20000.0)
    assert(math.abs(size(Semi, counted) - 100.0) < 1.0 && math.abs(size(Anti, counted) - 19900.0) < 1.0)
    assert(size(Semi, Map.empty) == 20000.0 * 100 / 200, "nobody knows how many combinations there are")
    // combinations with NULLs are not counted, so where NULLs meet, the counts say nothing
    assert(size(Semi, counted, Some(0.9)) == size(Semi, Map.empty, Some(0.9)))
    assert(size(Semi, counted, Some(0.9)) > 10000.0)
  }

  test("the rest of a condition has to keep one of a row's partners") {
    // each row has ten partners, and the condition keeps half of them: one row in 2^10 has none left
    val kept = sizeOf(Semi, column(10), column(10), selectivity = 0.5).value
    assert(math.abs(kept - 1000 * (1 - math.pow(0.5, 10))) < 1e-6)
    assert(sizeOf(Semi, column(10), column(10), selectivity = 0.0).value == 1.0, "at least one row, as everywhere")
    assert(sizeOf(LeftOuter, column(10), column(10), selectivity = 0.0).value == 1000)
  }

  test("a left outer join to what looks like a key adds few rows, unless nobody has counted its values") {
    def cautious(right: ColumnProfile) = sizeOf(LeftOuter, column(200), right).cautious
    assert(cautious(column(100)) == 1000.0)
    assert(cautious(column(100).copy(uncounted = true)) == 1000.0 * 100)
  }

  test("upper bounds: a left outer join to a certain key adds nothing, tests never do") {
    assert(sizeOf(LeftOuter, column(200), column(100), keys = Set(Set(1L))).upper == 1000)
    assert(sizeOf(LeftOuter, column(200), column(100)).upper == 1000.0 * 100)
    for (kind <- Seq(Semi, Anti, Existence)) assert(sizeOf(kind, column(200), column(100)).upper == 1000)
    assert(sizeOf(FullOuter, column(200), column(100)).upper == 1000.0 * 100 + 1000 + 100)
  }

  test("where both sides have samples with the operator's keys, partners are counted") {
    // Operator keys are numbered after the classes. There are no classes here, so the key is number 0. The right side
    // has the keys of three quarters of the left rows.
    val left  = RelationSample(complete = true, 1000, 1.0, Map(0 -> Array.tabulate(1000)(i => (i % 4).toLong)), Set(0))
    val right = RelationSample(complete = true, 100, 1.0, Map(0 -> Array.tabulate(100)(i => (i % 3).toLong)), Set(0))
    assert(sizeOf(Semi, column(4), column(100), samples = (Some(left), Some(right))).value == 750)
    assert(sizeOf(Anti, column(4), column(100), samples = (Some(left), Some(right))).value == 250)
    // one row in a thousand has no partner
    val alone = RelationSample(
      complete = true,
      1000,
      1.0,
      Map(0 -> Array.tabulate(1000)(i => if (i == 500) 7L else (i % 3).toLong)),
      Set(0)
    )
    assert(math.abs(sizeOf(Anti, column(4), column(100), samples = (Some(alone), Some(right))).value - 1.0) < 1e-6)
    val others = RelationSample(complete = true, 1000, 1.0, Map(7 -> new Array[Long](1000)), Set.empty)
    assert(
      sizeOf(Semi, column(200), column(100), samples = (Some(others), Some(right))).value == 500,
      "without keys, by formula"
    )
  }

  test("a row of NULLs, which an outer join adds, has no partner: partners are not counted on the rows of its table") {
    val all = RelationSample(complete = true, 100, 1.0, Map(0 -> Array.tabulate(100)(_.toLong)), Set(0))
    def of(rows: Int, sample: Boolean)(i: Int) = Relation(
      i,
      s"r$i",
      RelationProfile(Estimate.exactly(rows.toDouble, Source.Exact), Map.empty, rows.toDouble),
      RowBytes.fixed(8.0),
      broadcastable = false,
      if (sample) Some(all) else None
    )
    def key(relation: Int, id: Long) = Member(relation, column(100), Set(id), s"r$relation.k")
    def operator(index: Int, kind: JoinKind, left: Vector[Int], keys: Vector[(Member, Member)], selectivity: Double) = {
      val reads = Vector(index, index + 1)
      Operator(index, kind, left, Vector(index + 1), keys, reads, selectivity, reads, wideEquality = false, s"c$index")
    }
    // each row of table 1 has a partner in table 2, but nine of ten rows of table 0 have none in table 1
    val outer = operator(0, LeftOuter, Vector(0), Vector.empty, 0.001)
    val anti  = operator(1, Anti, Vector(0, 1), Vector(key(1, 1L) -> key(2, 2L)), 1.0)
    val graph = JoinGraph(
      Vector(of(1000, sample = false)(0), of(100, sample = true)(1), of(100, sample = true)(2)),
      Vector.empty,
      Vector.empty,
      Vector(outer, anti)
    )
    assert(new CardinalityModel(graph).estimate(Array(0, 1, 2)).value >= 1000 * Assumptions.AntiJoinFloor)
  }

  /** A sample that is the whole table, with one key per row. */
  private def whole(keys: Int => Long, rows: Int): RelationSample =
    RelationSample(complete = true, rows, 1.0, Map(0 -> Array.tabulate(rows)(keys)), Set(0))

  test("where both sides have samples, the partners of outer joins are counted with their frequencies") {
    // half of the right rows have key 0, which one in ten left rows has: 100 * 50 pairs, and 50 more of other keys
    val left  = whole(i => (i % 10).toLong, 1000)
    val right = whole(i => if (i < 50) 0L else 100L + i, 100)
    val size  = sizeOf(LeftOuter, column(10), column(51), samples = (Some(left), Some(right)))
    assert(size.value == 100.0 * 50 + 900)
    assert(sizeOf(LeftOuter, column(10), column(51)).value < 3000.0, "formulas alone know nothing of it")
    val full = sizeOf(FullOuter, column(10), column(51), samples = (Some(left), Some(right)))
    assert(full.value == 100.0 * 50 + 900 + 50)
  }

  test("no drawn row has a partner: some rows of the table may still have one, fewer than the sample would show") {
    val all                        = whole(i => i.toLong, 1000)
    val right                      = whole(i => 5000L + i, 100)
    def kept(left: RelationSample) =
      new CardinalityModel(oneJoin(
        Semi,
        column(100),
        column(60),
        (Some(left), Some(right)),
        rows = 1e6
      )).estimate(Array(0, 1)).value
    assert(kept(all) == 1.0)
    val some = kept(all.copy(complete = false, fraction = 0.001))
    assert(some > 500.0 && some < 1000.0, some)
  }

  test("the partners of rows that were read in places are counted, and mixed with the formula if the places differ") {
    // in all places, three of five rows have one of five busy keys, and the others one of a thousand
    val (rows, places)             = (1e6, (0 until 8).map(_ * 500).toVector)
    def inPlaces(key: Int => Long) = whole(key, 4000).copy(complete = false, fraction = 4000 / rows, places = places)
    val (left, one)                =
      (inPlaces(i => if (i % 5 < 3) i % 5L else i * 7919L % 1000), inPlaces(i => if (i < 500) i % 5L else 5L + i % 900))
    val right                                                = whole(i => i % 5L, 100)
    val (mine, other)                                        = (column(1000), column(5).copy(domain = Some(1000.0)))
    def size(kind: JoinKind, sample: Option[RelationSample]) =
      new CardinalityModel(oneJoin(kind, mine, other, (sample, Some(right)), rows)).estimate(Array(0, 1)).value
    val truth = rows * (0.6 + 0.4 * 0.005)
    assert(math.abs(size(Semi, Some(left)) / truth - 1.0) < 0.1, size(Semi, Some(left)))
    assert(math.abs(size(Anti, Some(left)) / (rows - truth) - 1.0) < 0.15, size(Anti, Some(left)))
    assert(math.abs(size(LeftOuter, Some(left)) / (truth * 20 + rows - truth) - 1.0) < 0.1)
    // partners in a single place tell nothing
    Seq(Semi, Anti, LeftOuter).foreach(k => assert(math.abs(size(k, Some(one)) / size(k, None) - 1.0) < 1e-9, k))
    assert(size(Semi, None) < truth / 50 && size(LeftOuter, None) < truth * 2)
  }

  test("a predicate that could not be run on the right side's sample removes partners, too") {
    // the sample keeps all 1,000 keys, and the relation is estimated at 100 rows
    val all = whole(i => i.toLong, 1000)
    assert(math.abs(sizeOf(Semi, column(1000), column(1000), samples = (Some(all), Some(all))).value - 100.0) < 1.0)
    assert(math.abs(sizeOf(Anti, column(1000), column(1000), samples = (Some(all), Some(all))).value - 900.0) < 1.0)
    // of ten rows with one key, some are likely to stay
    val often = whole(i => (i / 10).toLong, 1000)
    val kept  = sizeOf(Semi, column(100), column(100), samples = (Some(often), Some(often))).value
    assert(math.abs(kept - 1000.0 * (1.0 - math.pow(0.9, 10))) < 1.0, kept)
  }

  test("WHERE b.key IS NULL above a left outer join leaves the rows without a partner, as an anti join does") {
    def rows(filtered: Boolean, sample: Boolean) = {
      val samples = if (sample) (Some(whole(i => (i % 100).toLong, 1000)), Some(whole(i => (i % 97).toLong, 100)))
      else (None, None)
      val above  = if (filtered) Some(0) else None
      val filter = JoinPredicate(0, Vector(1), Assumptions.LateFilter, None, "r.k IS NULL", partnerless = above)
      new CardinalityModel(oneJoin(
        LeftOuter,
        column(100),
        column(60),
        samples,
        filters = Vector(filter)
      )).estimate(Array(
        0,
        1
      )).value
    }
    assert(math.abs(rows(filtered = true, sample = true) - 30.0) < 1e-6, "three of a hundred keys have no partner")
    assert(rows(filtered = true, sample = false) == 400.0, "60 of 100 keys have one")
    assert(rows(filtered = false, sample = false) > 1000.0 * Assumptions.LateFilter, "any other late filter")
  }

  test("a size is a function of the set: in any order, asked of a fresh model or not; and within its bounds") {
    for (seed <- 1 to 200) {
      val random = new Random(seed)
      val graph  = RandomPlans(2 + random.nextInt(5), random).graph
      val sets   = (1 until (1 << graph.size)).map(m =>
        graph.relations.indices.filter(r => (m >> r & 1) == 1).toArray
      ).filter(_.length > 1)
      val model = new CardinalityModel(graph)
      val sizes = random.shuffle(sets).map(s => s.toVector -> model.sizeOf(s, s.length).rows).toMap
      for (s <- sets) {
        val shuffled = random.shuffle(s.toVector)
        assert(new CardinalityModel(graph).sizeOf(shuffled.toArray, s.length).rows == sizes(s.toVector), s"seed $seed")
        val estimate = model.estimate(s)
        assert(estimate.value == math.min(sizes(s.toVector), estimate.upper) && estimate.value >= 1.0)
      }
      def rows(s: Set[Int]) =
        if (s.size == 1) math.max(1.0, graph.relations(s.head).profile.rows.value) else sizes(s.toVector.sorted)
      for (
        s <- sets.map(_.toSet);
        o <- graph.operators.filter(o => graph.joinable.conflicts.operators(o.index).all.subsetOf(s)).lastOption
      ) {
        val (l, r) = (rows(s -- o.right), rows(s & o.right.toSet))
        // predicates above the operator may keep fewer rows
        val above = graph.joinable.predicatesAt(s -- o.right, s & o.right.toSet).nonEmpty
        if (o.kind.testsOnly) assert(rows(s) <= l, s"seed $seed")
        if (o.kind == LeftOuter) assert((above || rows(s) >= l) && rows(s) <= l * r, s"seed $seed")
        if (o.kind == FullOuter)
          assert((above || rows(s) >= math.max(l, r)) && rows(s) <= math.max(l * r, l + r), s"seed $seed")
      }
    }
  }
}
