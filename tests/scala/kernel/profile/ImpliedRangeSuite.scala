package dovetail.kernel.profile

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite
import dovetail.kernel.profile.ImpliedRange.Group

/** Ranges of columns that follow the column of a predicate, and of columns that do not. */
class ImpliedRangeSuite extends AnyFunSuite {

  private def near(found: Double, truth: Double) = assert(math.abs(found / truth - 1.0) < 0.2, s"$found for $truth")

  test("rows of one month have the numbers of one month; other columns keep their range") {
    val random = new Random(7L)
    val all    = Array.fill(2000)(random.nextInt(1000000)).sorted.map(_.toDouble)
    val month  = all.filter(v => v >= 500000 && v < 512000)
    val found  = ImpliedRange.ofRows(all, all, month, complete = false).get
    assert(found.low <= month.min && found.high >= month.max)
    near(found.high - found.low, 12000)
    near(found.share, 0.012)
    (1 to 200).foreach { _ =>
      val some = Array.fill(10 + random.nextInt(20))(all(random.nextInt(all.length)))
      // the share that ten random rows leave is below one half once in a hundred times
      assert(ImpliedRange.ofRows(all, all, some, complete = false).forall(_.share > 0.25))
    }
    assert(ImpliedRange.ofRows(all, all, month.take(9), complete = false).isEmpty, "too few rows")
    assert(ImpliedRange.ofRows(all, all, Array.empty, complete = true).isEmpty)
    assert(ImpliedRange.ofRows(all, all, month.take(2), complete = true).get.high == month(1), "all rows of the table")
  }

  test("the row groups that are left: in the order of the column, and in no order") {
    val sorted = (0 until 20).map(i => Group(i * 100.0, i * 100.0 + 99.0, 1000.0)).toVector
    val two    = ImpliedRange.ofGroups(sorted, i => i == 6 || i == 7).get
    assert(two == ImpliedRange(600.0, 799.0, 0.1))
    assert(ImpliedRange.ofGroups(sorted, _ => false).isEmpty, "the predicate keeps nothing")
    assert(ImpliedRange.ofGroups(sorted, _ => true).isEmpty && ImpliedRange.ofGroups(sorted, i => i < 12).isEmpty)
    val mixed = (0 until 20).map(i => Group(i.toDouble, 1990.0 + i, 1000.0)).toVector
    assert(ImpliedRange.ofGroups(mixed, _ == 6).isEmpty)
    val constant = Vector.tabulate(4)(i => Group(i.toDouble, i.toDouble, 10.0))
    assert(ImpliedRange.ofGroups(constant, _ == 2).contains(ImpliedRange(2.0, 2.0, 0.25)))
  }

  private val ids = ColumnProfile(
    ndv = Some(5000.0),
    domain = Some(10000.0),
    nulls = Some(0.2),
    min = Some(0.0),
    max = Some(99999.0),
    frequent =
      Some(Frequencies(Vector(50.0, 60000.0).map(v => FrequentValue(v.toLong, Some(v), 0.1)), complete = false))
  )

  test("a key in its range still looks like a key, and keeps its NULLs") {
    val c = ImpliedRange(100.0, 1099.0, 0.01).narrow(ids, 10000.0)
    assert(c.min.contains(100.0) && c.max.contains(1099.0) && c.domain.contains(100.0) && c.ndv.contains(100.0))
    assert(c.nulls == ids.nulls && c.frequent.isEmpty && c.rangeRows.contains(100.0) && c.isLikeKey(10000.0))
    assert(!c.multiplied.isLikeKey(10000.0), "a join may repeat its rows")
    assert(ImpliedRange(0.0, 999.0, 0.5).narrow(ids, 10000.0).frequent.get.values.map(_.key) == Vector(50L))
    // narrowed again: shares are those of the table
    val again = ImpliedRange(100.0, 199.0, 0.001).narrow(c, 10000.0)
    assert(again.rangeRows.contains(10.0) && again.domain.contains(10.0))
    assert(ImpliedRange(0.0, 5000.0, 0.05).narrow(c, 10000.0) == c, "it is narrower already")
    assert(ImpliedRange(500.0, 500.0, 0.0001).narrow(c, 10000.0).domain.contains(1.0))
  }

  test("a range in which few of the values lie that are looked at first is counted on all rows") {
    val all  = Array.tabulate(20000)(_.toDouble)
    val some = all.indices.by(40).map(all(_)).toArray
    val day  = ImpliedRange.ofRows(some, all, (1001 to 1011).map(_.toDouble).toArray, complete = false).get
    assert(math.abs(day.share / (13.0 / 20000) - 1.0) < 0.01)
    assert(ImpliedRange.ofRows(some, all, Array(77.0), complete = true).exists(_.share == 1.0 / 20000))
  }

  test("rows that pass lie in the range, however few a formula has expected there") {
    val c = ids.copy(rangeRows = Some(10.0))
    assert(c.ofAtLeast(500.0).rangeRows.contains(500.0) && c.ofAtLeast(5.0) == c && ids.ofAtLeast(5.0) == ids)
    assert(!ids.copy(domain = Some(0.0), rangeRows = Some(0.0)).isLikeKey(100.0))
  }

  test("a column of which rows were added stays, and so does one whose range has nothing in common") {
    val added = ids.copy(unseen = 0.1)
    assert(ImpliedRange(100.0, 1099.0, 0.01).narrow(added, 10000.0) == added)
    assert(ImpliedRange(1e6, 2e6, 0.01).narrow(ids, 10000.0) == ids)
  }

  test("a range on a key itself leaves a key, one on another column does not make one") {
    val relation = RelationProfile(
      Estimate.exactly(10000.0, Source.Exact),
      Map(1L -> ids.copy(nulls = Some(0.0)), 2L -> ids.copy(ndv = Some(100.0), domain = Some(100.0))),
      10000.0
    )
    def below(id: Long) = Condition.Compare(id, Condition.Less, Some(1000.0))
    val key             = Filters(relation, below(1L)).column(1L)
    assert(key.isLikeKey(10000.0) && math.abs(key.rangeRows.get - 100.0) < 2.0)
    assert(!Filters(relation, below(2L)).column(2L).isLikeKey(10000.0))
    val both = Filters(relation, Condition.And(below(1L), below(2L)))
    assert(!both.column(2L).isLikeKey(10000.0))
    assert(Filters.ranges(Condition.And(below(1L), Condition.In(2L, Vector(7.0, 3.0), 2))) ==
      Vector(1L -> ((Double.NegativeInfinity, 1000.0)), 2L -> ((3.0, 7.0))))
    assert(Filters.ranges(Condition.Or(below(1L), below(2L))).isEmpty)
  }
}
