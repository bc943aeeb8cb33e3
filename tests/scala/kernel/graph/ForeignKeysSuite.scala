package dovetail.kernel.graph

import dovetail.kernel.profile.{ColumnProfile, Estimate, RelationProfile, Source}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.prop.TableDrivenPropertyChecks

/** Domains that nobody has counted, beside the keys that they meet. */
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

  private val (from, to) = (19920101.0, 19980802.0)
  private val dates      = column(60702, from, to, counted = false, "fact.date")

  private val cases = Table(
    ("what", "fact rows", "fact", "other rows", "other", "domain of the fact's column"),
    ("days as numbers", 1e6, dates, 2557.0, column(2557, from, 19981231, counted = true, "day.key"), 2539.8),
    (
      "a key that only its rows bound",
      1e6,
      dates,
      2557.0,
      column(2557, from, 19981231, counted = false, "day.key"),
      2539.8
    ),
    (
      "a dense key",
      1e6,
      column(100, 1, 100, counted = false, "f.k"),
      200.0,
      column(200, 1, 200, counted = true, "d.k"),
      100.0
    ),
    (
      "a counted column stays",
      1e6,
      column(5000, 1, 9000, counted = true, "f.k"),
      10.0,
      column(10, 1, 9000, counted = true, "d.k"),
      5000.0
    ),
    (
      "no key, no foreign key",
      1e6,
      column(9000, 1, 9000, counted = false, "f.k"),
      1000.0,
      column(10, 1, 9000, counted = true, "d.k"),
      9000.0
    ),
    (
      "a table that meets itself",
      1e6,
      column(9000, 1, 9000, counted = false, "t.k"),
      10.0,
      column(10, 1, 9000, counted = true, "t.k"),
      9000.0
    ),
    (
      "ranges apart leave one value",
      1e6,
      column(9000, 1, 9000, counted = false, "f.k"),
      10.0,
      column(10, 20000, 30000, counted = true, "d.k"),
      1.0
    )
  )

  test("a column that nobody has counted draws from the key that it meets, as far as the ranges go") {
    forAll(cases) { (_, rows, fact, otherRows, other, domain) =>
      val found = domains(Seq(rows, otherRows), Seq(fact, other))
      assert(math.abs(found.head - domain) < 1.0 && found.last == other.domain.get)
      // the order of the members does not matter
      assert(domains(Seq(otherRows, rows), Seq(other, fact)) == found.reverse)
    }
  }

  test("of several keys the largest counts") {
    val small = column(10, 1, 9000, counted = true, "a.k")
    val large = column(300, 1, 9000, counted = true, "b.k")
    assert(domains(Seq(1e6, 10, 300), Seq(column(9000, 1, 9000, counted = false, "f.k"), small, large)).head == 300.0)
  }
}
