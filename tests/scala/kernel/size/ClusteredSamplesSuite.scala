package dovetail.kernel.size

import dovetail.kernel.graph.{EquivalenceClass, JoinGraph, Member, Relation, RelSet}
import dovetail.kernel.profile.{ColumnProfile, Estimate, RelationProfile, RelationSample, RowBytes, Sampling, Source}
import org.scalatest.funsuite.AnyFunSuite

/** Joins with samples whose rows were read in a few places of a table: what they may tell, and what not. */
class ClusteredSamplesSuite extends AnyFunSuite {
  private val Keys      = 1000L
  private val FactRows  = 200000
  private val Places    = 8
  private val PlaceRows = 500

  /** A relation with one key, the rows of its sample, and those of them that its predicates keep. */
  private def relation(
      index: Int,
      rows: Double,
      table: Double,
      sample: Option[(Array[Long], Long => Boolean)],
      clustered: Boolean
  ): Relation = {
    val kept = sample.map { case (keys, keeps) =>
      val all = RelationSample(!clustered, keys.length, keys.length / table, Map(0 -> keys), Set(0))
      all.copy(
        kept = all.kept.filter(row => keeps(keys(row))),
        places = if (clustered) (0 until Places).map(_ * PlaceRows).toVector else Vector.empty
      )
    }
    val estimate = Estimate.exactly(rows, Source.Exact)
    Relation(index, s"r$index", RelationProfile(estimate, Map.empty, table), RowBytes.fixed(8.0), false, kept)
  }

  private def model(relations: Relation*): CardinalityModel = {
    val column  = ColumnProfile(ndv = Some(Keys.toDouble), domain = Some(Keys.toDouble))
    val members = relations.map(r => Member(r.index, column, Set(r.index.toLong), s"${r.name}.k")).toVector
    new CardinalityModel(JoinGraph(relations.toVector, Vector(EquivalenceClass(0, members)), Vector.empty))
  }

  /** A fact with the same values in two columns, each the key of a dimension. */
  private def twoKeys(fact: Relation, first: Relation, second: Relation): CardinalityModel = {
    val column                                = ColumnProfile(ndv = Some(Keys.toDouble), domain = Some(Keys.toDouble))
    def equality(c: Int, dimension: Relation) = EquivalenceClass(
      c,
      Vector(fact, dimension).map(r => Member(r.index, column, Set((10 * r.index + c).toLong), s"${r.name}.k$c"))
    )
    def keyed(r: Relation, classes: Int*) =
      r.copy(sample = r.sample.map(s => s.copy(keys = classes.map(_ -> s.keys(0)).toMap, ordered = classes.toSet)))
    new CardinalityModel(JoinGraph(
      Vector(keyed(fact, 0, 1), keyed(first, 0), keyed(second, 1)),
      Vector(equality(0, first), equality(1, second)),
      Vector.empty
    ))
  }

  private def rowsOf(m: CardinalityModel, set: Int*): Double = m.estimate(set.toArray).value

  /** The keys of a sample of a fact: `key` of the row numbers in its places. */
  private def inPlaces(key: Int => Long): Array[Long] =
    (0 until Places).flatMap(p => (0 until PlaceRows).map(i => key(p * (FactRows / Places) + i))).toArray

  private val all: Long => Boolean                        = _ => true
  private val dimensionKeys                               = (0L until Keys).toArray
  private def fact(index: Int, keys: Option[Array[Long]]) =
    relation(index, FactRows.toDouble, FactRows.toDouble, keys.map(_ -> all), clustered = true)
  private def dimension(index: Int, kept: Long => Boolean) = relation(
    index,
    dimensionKeys.count(kept).toDouble,
    Keys.toDouble,
    Some(dimensionKeys -> kept),
    clustered = false
  )

  test("a filter of a dimension that goes together with the fact's keys is counted") {
    // the fact has a tenth of the keys, everywhere, and the filter keeps half of these and nothing else
    val keys     = inPlaces(row => (row * 7919L) % 100L)
    val filtered = dimension(1, key => key < 50)
    val truth    = FactRows / 2.0
    val counted  = rowsOf(model(fact(0, Some(keys)), filtered), 0, 1)
    assert(counted > truth * 0.6 && counted < truth * 1.2, counted)
    assert(rowsOf(model(fact(0, None), filtered), 0, 1) < truth / 5, "formulas alone know nothing of it")
  }

  test("a range of keys that no place has says little: the formula stays near") {
    // sorted by key: each place has a few neighboring keys
    val keys    = inPlaces(row => row.toLong * Keys / FactRows)
    val missed  = (key: Long) => key >= 60 && key < 70
    val formula = rowsOf(model(fact(0, None), dimension(1, missed)), 0, 1)
    val counted = rowsOf(model(fact(0, Some(keys)), dimension(1, missed)), 0, 1)
    assert(counted > formula * 0.8 && counted < formula, s"$counted, formula $formula")
    // a place that has all of them is one place among eight
    val seen = rowsOf(model(fact(0, Some(keys)), dimension(1, key => key < 2)), 0, 1)
    assert(seen < FactRows / 8.0, seen)
  }

  test("rows of a dimension that were not drawn say nothing of the places of the fact: the formula stays near") {
    val keys                        = inPlaces(row => row.toLong * Keys / FactRows)
    val drawn                       = dimensionKeys.filter(_ % 3 != 0)
    def half(kept: Long => Boolean) = {
      val r = relation(1, dimensionKeys.count(kept).toDouble, Keys.toDouble, Some(drawn -> kept), clustered = false)
      r.copy(sample = r.sample.map(_.copy(complete = false)))
    }
    val missed  = (key: Long) => key >= 60 && key < 70
    val formula = rowsOf(model(fact(0, None), half(missed)), 0, 1)
    val counted = rowsOf(model(fact(0, Some(keys)), half(missed)), 0, 1)
    assert(counted > formula * 0.8 && counted < formula, s"$counted, formula $formula")
  }

  test("places whose keys were not drawn tell nothing: the fewer do, the nearer is the formula") {
    // keys are no numbers on a line, and each place has one of them
    def counted(drawn: Long => Boolean) = {
      val keys     = inPlaces(row => row.toLong / (FactRows / Places))
      val kept     = (key: Long) => key >= 500 && key < 600
      val some     = dimensionKeys.filter(drawn)
      val r        = relation(1, 100.0, Keys.toDouble, Some(some -> kept), clustered = false)
      val unsorted = r.copy(sample = r.sample.map(_.copy(complete = false, ordered = Set.empty)))
      rowsOf(model(fact(0, Some(keys)), unsorted), 0, 1)
    }
    val (all, half, none) = (counted(_ % 16 != 15), counted(k => k > 3 && k % 16 != 15), counted(_ > 8))
    assert(all < half && half < none && none <= FactRows / 10.0 * 1.001, s"$all $half $none")
  }

  test("two samples of places are not joined with each other, but both tell what a common dimension keeps of them") {
    // 100 of the 1,000 keys occur in the facts, and the dimension keeps half of these
    val keys    = inPlaces(row => (row * 7919L) % 100L)
    val half    = FactRows / 2.0
    val small   = relation(1, half, half, Some(keys -> all), clustered = true)
    val both    = model(fact(0, Some(keys)), small, dimension(2, key => key < 50))
    val neither = model(fact(0, None), small.copy(sample = None), dimension(2, key => key < 50))
    assert(math.abs(rowsOf(both, 0, 1) / rowsOf(neither, 0, 1) - 1.0) < 1e-9)
    assert(both.samples.pieces(RelSet(0, 1, 2)).counted.map(_.toVector) == Vector(Vector(0, 2), Vector(1, 2)))
    val gains = Seq(0, 1).map(fact => rowsOf(both, fact, 2) / rowsOf(neither, fact, 2))
    assert(gains.forall(_ > 2.0))
    assert(math.abs(rowsOf(both, 0, 1, 2) / rowsOf(neither, 0, 1, 2) / gains.product - 1.0) < 1e-9)
  }

  test("if a row of one fact refers to a row of the other, the larger fact tells what a common dimension keeps") {
    val keys  = inPlaces(row => (row * 7919L) % 100L)
    val small = relation(1, 1600.0, 1600.0, Some(keys.take(1600) -> all), clustered = true)
    val both  = model(fact(0, Some(keys)), small, dimension(2, key => key < 50))
    assert(both.samples.pieces(RelSet(0, 1, 2)).counted.map(_.toVector) == Vector(Vector(0, 2)))
  }

  test("no broadcast is taken for safe because of rows that were read in places") {
    val keys                                  = inPlaces(row => (row * 7919L) % 100L)
    def cautious(sample: Option[Array[Long]]) =
      model(fact(0, sample), dimension(1, key => key > 500)).sizeOf(Array(0, 1), 2).cautious
    assert(cautious(Some(keys)) == cautious(None))
  }

  test("partners are not looked up in rows that were read in places") {
    val keys  = inPlaces(row => (row * 7919L) % 100L)
    val pairs = model(fact(0, Some(keys)), dimension(1, key => key < 50)).samples
    assert(pairs.partnered(1, 0).isEmpty)
    // but rows of places look up their partners in a table that was read completely
    assert(pairs.partnered(0, 1).exists(p => p.counted == 0.5 && !p.isSure))
  }

  test("what rows of places are worth: as many as there are places if each is all alike, more if all places agree") {
    assert(Sampling.worth(Seq(1.0, 0.0, 1.0, 0.0), 0.5, 1000.0) < 4.0)
    assert(Sampling.worth(Seq(0.5, 0.5, 0.5, 0.5), 0.5, 1000.0) == 80.0)
    assert(Sampling.worth(Seq(0.0, 0.0, 0.0, 0.0), 0.0, 1000.0) == 4.0)
    assert(Sampling.worth(Seq(0.5, 0.5, 0.5, 0.5), 0.5, 10.0) == 10.0)
  }

  test("two filters of dimensions that go together with the fact's keys: what each of them tells counts for both") {
    // of every eight rows of a place one has keys that both filters keep; formulas expect one of 10,000
    val keys  = inPlaces(row => (row % 8).toLong)
    val other = dimension(2, key => key < 10)
    val fact0 = fact(0, Some(keys))
    val two   = rowsOf(twoKeys(fact0, dimension(1, key => key < 4), other), 0, 1, 2)
    assert(two > FactRows / 2.0 * 0.6 && two < FactRows / 2.0 * 1.2, two)
  }

  test("partners of a row: a count in all places decides, one in a single place says nothing") {
    def near(a: Double, b: Double)                    = assert(math.abs(a / b - 1.0) < 0.05, s"$a is not near $b")
    def partners(means: Seq[Double], formula: Double) =
      Sampling.partners(means.sum / means.size, Sampling.variation(means), means.size.toDouble, formula)
    near(partners(Seq(0.01, 0.01, 0.01, 0.01), 0.0001), 0.01 * math.pow(0.01, 1.0 / 64.0))
    near(partners(Seq(0.04, 0.0, 0.0, 0.0), 0.0001), 0.0001)
    near(partners(Seq(0.02, 0.02, 0.0, 0.0), 0.0001), 0.01 * math.pow(0.01, 1.0 / 3.0))
    near(partners(Seq(0.0, 0.0, 0.0, 0.0), 0.0001), 0.0001)
    near(partners(Seq(2.5, 2.4, 2.6, 2.5), 1.0), 2.5)
    assert(partners(Seq(0.0, 0.0, 0.0, 0.0), 1.0) == 0.2)
    assert(partners(Seq(2.5, 2.5), 0.0) == 0.0)
    near(partners(Seq(2.5), 0.1), 0.1)
  }
}
