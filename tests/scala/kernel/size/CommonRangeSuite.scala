package dovetail.kernel.size

import dovetail.kernel.profile.{CumulativeShare, Histogram}
import org.scalactic.TolerantNumerics
import org.scalatest.funsuite.AnyFunSuite

/**
 * The common range of a key and the earlier members of its class, and the facts that the class keeps about its members.
 */
class CommonRangeSuite extends AnyFunSuite {
  implicit private val tolerance: org.scalactic.Equality[Double] = TolerantNumerics.tolerantDoubleEquality(1e-9)

  private def input(rows: Double, tableRows: Double) =
    JoinInput(rows, tableRows, rows, Array.empty[JoinKey], composite = false)

  private def opened(key: JoinKey, part: Double = 1.0): ClassFold = {
    val of = new ClassFold(3)
    of.open(1, 7, key, part)
    of
  }

  // five years of sales meet two hundred years of days
  private val days  = JoinKey(0, domain = 73000.0, low = 0.0, high = 73000.0)
  private val sales = JoinKey(0, domain = 1825.0, low = 0.0, high = 1825.0)

  test("without ranges, domains are what they are and all pairs count") {
    val common = CommonRange(
      JoinKey(0, 80.0),
      input(400.0, 400.0),
      opened(JoinKey(0, 50.0)),
      input(1000.0, 1000.0),
      restriction = 1.0
    )
    assert(common == CommonRange(domain = 80.0, domainBefore = 50.0, pairs = 1.0, alongOthers = 1.0))
  }

  test("only the common range counts, of the domain and of the rows") {
    val all    = input(73000.0, 73000.0)
    val facts  = input(1e6, 1e6)
    val common = CommonRange(days, all, opened(sales), facts, restriction = 0.025)
    assert(common.domain === 1825.0 && common.domainBefore === 1825.0)
    assert(common.pairs === 0.025 && common.alongOthers == 1.0)
    // The same from the other side: a fortieth of the days, which come first here, lies in the range of the sales.
    val turned = CommonRange(sales, facts, opened(days), all, restriction = 1.0)
    assert(turned.domain === 1825.0 && turned.domainBefore === 1825.0)
    assert(turned.pairs === 0.025 && turned.alongOthers == 1.0)
  }

  test("a part that predicates of the other side have made keeps its share of the rows") {
    // a hundredth of the sales by a predicate of their own, and one year of days by another
    val year  = days.copy(domain = 365.0, low = 365.0, high = 730.0, rangeRows = Some(365.0), rangeShare = 0.005)
    val some  = input(1e4, 1e6)
    val found = CommonRange(year, input(365.0, 73000.0), opened(sales), some, restriction = 1.0)
    assert(found.pairs === 0.2 && found.domainBefore === 365.0)
    assert(CommonRange(sales, some, opened(year), input(365.0, 73000.0), restriction = 1.0).pairs === 0.2)
    // a dimension without predicates: the sales that are left lie in its range
    assert(CommonRange(
      year.copy(rangeRows = None, rangeShare = 1.0),
      input(365.0, 365.0),
      opened(sales),
      some,
      1.0
    ).pairs === 1.0)
  }

  test("a value far from all others leaves the rows where they are") {
    def of(values: Seq[Double], domain: Double) = {
      val h = Histogram.ofQuantiles(values.toArray, 64, None, None)
      JoinKey(0, domain, low = values.head, high = values.last, shares = Some(CumulativeShare(h)))
    }
    // forty years, and five of them in the facts, as numbers far from 0; -1 stands for "unknown"
    val dates = of(-1.0 +: (1 to 14600).map(2e7 + _), 14601.0)
    val sold  = of(-1.0 +: (1 to 1825).map(2e7 + 7300 + _), 1826.0)
    // each day sold is one of all days: of all pairs, one in as many as there are days is equal
    Seq(
      CommonRange(dates.copy(low = 2e7 + 1), input(14600.0, 14600.0), opened(sold), input(1e6, 1e6), 1.0),
      CommonRange(sold, input(1e6, 1e6), opened(dates), input(14601.0, 14601.0), 1.0)
    ).foreach { c =>
      val share = c.pairs / math.max(c.domain, c.domainBefore)
      assert(share > 0.95 / 14600.0 && share < 1.05 / 14600.0, c)
    }
  }

  test("rows that a filter has left lie in the common range, as far as it can hold them") {
    // 365 of 73,000 days, of which the range has 1,825; then 3,650 of them
    assert(CommonRange(days, input(365.0, 73000.0), opened(sales), input(1e6, 1e6), 0.025).pairs === 1.0)
    assert(CommonRange(days, input(3650.0, 73000.0), opened(sales), input(1e6, 1e6), 0.025).pairs === 0.5)
  }

  test("ranges that have nothing in common leave no pairs") {
    val later  = sales.copy(low = 5000.0, high = 6000.0)
    val common = CommonRange(later, input(10.0, 10.0), opened(sales), input(1e6, 1e6), restriction = 1.0)
    assert(common == CommonRange(1.0, 1.0, 0.0, 1.0))
  }

  test(
    "rows that were added after a range was known match what lies beyond it: as many per value, all of them at most"
  ) {
    val later                = JoinKey(0, domain = 73000.0, low = 2000.0, high = 2010.0)
    val grown                = opened(sales.copy(unseen = 0.1))
    def rows(ofDays: Double) = {
      val common = CommonRange(later, input(ofDays, 73000.0), grown, input(1e6, 1e6), restriction = 1.0)
      assert(common.beyond)
      ofDays * 1e6 * EqualityShare.ofPairs(common.domain, common.domainBefore, common.pairs, busy = 1.0)
    }
    assert(rows(10.0) === 10 * 1e6 / 1825)
    assert(rows(1000.0) === 1e5)
    // the same from the other side
    val turned =
      CommonRange(sales.copy(unseen = 0.1), input(1e6, 1e6), opened(later), input(10.0, 73000.0), restriction = 1.0)
    assert(turned.beyond && turned.pairs / math.max(turned.domain, turned.domainBefore) === 1.0 / 1825)
  }

  test("after rows that were added later, the class has the range that they were joined with") {
    val later    = JoinKey(0, domain = 73000.0, low = 2000.0, high = 2010.0)
    val calendar = JoinKey(0, domain = 11.0, low = 2000.0, high = 2010.0)
    for (added <- Seq(0.1, 1.0)) {
      val of    = opened(sales.copy(unseen = added))
      val first = CommonRange(later, input(10.0, 73000.0), of, input(1e6, 1e6), restriction = 1.0)
      of.join(8, later, first)
      assert(of.low == 2000.0 && of.high == 2010.0)
      assert(!CommonRange(calendar, input(11.0, 11.0), of, input(1e6, 1e6), restriction = 1.0).beyond)
    }
  }

  test("another key that is restricted more restricts this one, and the members before it") {
    // another key keeps a tenth of 100 rows; this key is unique in its table, so a tenth of it is left
    val common = CommonRange(
      JoinKey(0, 100.0),
      input(100.0, 100.0),
      opened(JoinKey(0, 50.0)),
      input(500.0, 500.0),
      restriction = 0.1
    )
    assert(common.alongOthers === 0.1 && common.domain === 10.0 && common.domainBefore === 5.0)
    assert(common.pairs === 0.1) // of the earlier rows; the other key already restricts the relation's rows
  }

  test("a part of the class that counts is a part of the next member") {
    val common = CommonRange(
      JoinKey(0, 100.0),
      input(100.0, 100.0),
      opened(JoinKey(0, 50.0), part = 0.2),
      input(500.0, 500.0),
      restriction = 1.0
    )
    assert(common.domain === 20.0 && common.domainBefore === 10.0 && common.pairs === 0.2)
  }

  test("a class opens with its first member") {
    val of = opened(JoinKey(0, 50.0, nonNull = 0.9, repetition = 0.5, low = 1.0, high = 9.0), part = 0.1)
    assert(of.isOpen(1) && !of.isOpen(2))
    assert(of.count == 1 && of.relation(0) == 7 && of.holds(7) && !of.holds(8))
    assert(of.domain === 5.0 && of.part == 0.1 && of.nonNullOfFirst == 0.9 && of.repetition == 0.5)
    assert(of.low == 1.0 && of.high == 9.0)
  }

  test("a class narrows with every member, and keeps what the first one had") {
    val of = opened(JoinKey(0, 50.0, nonNull = 0.9, repetition = 0.5, low = 1.0, high = 9.0))
    of.join(
      8,
      JoinKey(0, 20.0, nonNull = 0.4, repetition = 0.25, low = 0.0, high = 6.0),
      CommonRange(12.0, 31.0, 1.0, 0.5)
    )
    assert(of.domain == 12.0 && of.part == 0.5 && of.nonNullOfFirst == 0.9 && of.repetition == 0.75)
    assert(of.low == 1.0 && of.high == 6.0)
    of.join(9, JoinKey(0, 20.0), CommonRange(20.0, 12.0, 1.0, 1.0))
    assert(of.domain == 12.0 && of.low == 1.0 && of.high == 6.0 && of.count == 3 && of.holds(8) && of.relation(2) == 9)
  }

  test("a range that only a later member knows is the range of the class") {
    val of = opened(JoinKey(0, 50.0))
    assert(of.low.isNaN && of.high.isNaN)
    of.join(8, sales, CommonRange(20.0, 12.0, 1.0, 1.0))
    assert(of.low == 0.0 && of.high == 1825.0)
    assert(of.partOf(days) === 0.025)
  }

  test("a new round begins with nothing of the last one") {
    val of = opened(sales, part = 0.1)
    of.open(2, 3, JoinKey(0, 9.0), part = 1.0)
    assert(of.isOpen(2) && !of.isOpen(1) && of.count == 1 && of.holds(3) && !of.holds(7))
    assert(of.domain == 9.0 && of.part == 1.0 && of.low.isNaN && of.high.isNaN)
  }
}
