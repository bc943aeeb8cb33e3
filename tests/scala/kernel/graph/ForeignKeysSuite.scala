package dovetail.kernel.graph

import dovetail.kernel.profile.{ColumnProfile, Estimate, Histogram, RelationProfile, Source}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.prop.TableDrivenPropertyChecks

/** Domains of columns whose distinct values were not counted, corrected by the keys that they join. */
class ForeignKeysSuite extends AnyFunSuite with TableDrivenPropertyChecks {

  private def column(domain: Double, low: Double, high: Double, counted: Boolean, origin: String): ColumnProfile =
    ColumnProfile(
      ndv = Some(domain),
      domain = Some(domain),
      min = Some(low),
      max = Some(high),
      origin = Some(origin),
      uncounted = !counted
    )

  private def domains(rows: Seq[Double], columns: Seq[ColumnProfile]): Seq[Double] = {
    val profiles = rows.map(r => RelationProfile(Estimate.exactly(r, Source.Catalog), Map.empty, r)).toVector
    val members  = columns.zipWithIndex.map { case (c, i) => Member(i, c, Set(i.toLong), s"c$i") }.toVector
    ForeignKeys(members, profiles).map(_.column.domain.get)
  }

  private def fact(domain: Double, low: Double, high: Double) = column(domain, low, high, counted = false, "fact.key")
  private def key(domain: Double, low: Double, high: Double)  = column(domain, low, high, counted = true, "other.key")

  private val dates = fact(60702, 19920101, 19980802)
  private val days  = key(2557, 19920101, 19981231)
  private val ids   = fact(9000, 1, 9000)
  private val few   = key(10, 1, 9000)

  private val cases = Table(
    ("what", "fact rows", "fact", "other rows", "other", "domain of the fact's column"),
    ("days as numbers", 1e6, dates, 2557.0, days, 2539.8),
    ("a key that only its rows bound", 1e6, dates, 2557.0, days.copy(uncounted = true), 2539.8),
    ("a dense key", 1e6, fact(100, 1, 100), 200.0, key(200, 1, 200), 100.0),
    ("a counted column stays", 1e6, fact(5000, 1, 9000).copy(uncounted = false), 10.0, few, 5000.0),
    ("no key, no foreign key", 1e6, ids, 1000.0, few, 9000.0),
    ("a table that meets itself", 1e6, ids, 10.0, few.copy(origin = ids.origin), 9000.0),
    ("a key that fills its range", 9000.0, ids, 100.0, key(100, 1, 9000), 9000.0),
    ("about as many rows as numbers", 9003.0, ids, 2250.0, key(2250, 1, 9000), 2250.0),
    ("rows that might be a key, of a wide range", 5000.0, fact(5000, 19920101, 19980802), 2557.0, days, 2539.8),
    ("ranges apart leave one value", 1e6, ids, 10.0, key(10, 20000, 30000), 1.0)
  )

  test("a column that nobody has counted draws from the key that it meets, as far as the ranges go") {
    forAll(cases) { (_, rows, column, otherRows, other, domain) =>
      val found = domains(Seq(rows, otherRows), Seq(column, other))
      assert(math.abs(found.head - domain) < 1.0 && found.last == other.domain.get)
      // the order of the members does not matter
      assert(domains(Seq(otherRows, rows), Seq(other, column)) == found.reverse)
    }
  }

  test("a key that a predicate has cut to a range has as many values per width outside of it") {
    val month = key(30, 19950601, 19950630).copy(rangeRows = Some(30.0))
    // 60,702 numbers from 1992 to 1998, as dense as those of the month
    assert(domains(Seq(1e6, 2557.0), Seq(dates, month)).head == 60702.0)
    val orders = key(1000, 400001, 404000).copy(rangeRows = Some(1000.0))
    assert(domains(Seq(1e7, 1e6), Seq(fact(4e6, 1, 4000000), orders)).head == 1e6)
  }

  test("where the values of a key lie counts, not the buckets that tell it") {
    val values = Histogram.ofQuantiles((0 until 8).map(_ * 1.25e6).toArray, 8, Some(0.0), Some(1e7), 0.05)
    val sparse = key(1e7, 0, 1e8).copy(max = Some(1e7), spread = Some(values))
    // the last hundredth of the range
    assert(math.abs(domains(Seq(1e6, 1e7), Seq(fact(1e6, 9.9e6, 1e7), sparse)).head - 1e5) < 2e4)
  }

  test("of several keys the largest counts") {
    assert(domains(Seq(1e6, 10, 300), Seq(ids, few, key(300, 1, 9000))).head == 300.0)
  }
}
