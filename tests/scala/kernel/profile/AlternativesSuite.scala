package dovetail.kernel.profile

import scala.util.Random

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

/**
 * Shares of an OR of ANDs over several relations, compared with counts over all combinations of rows and with their
 * bounds.
 */
class AlternativesSuite extends AnyFunSuite with ScalaCheckPropertyChecks {
  private def counted(rows: Seq[Long]): Alternatives = Alternatives.counted(rows.groupBy(identity).map { case (s, r) =>
    s -> r.size
  })

  test("counted relations: exactly the share of all combinations") {
    val random = new Random(5)
    for (round <- 1 to 50) {
      val relations = Vector.fill(1 + random.nextInt(3))(Vector.fill(1 + random.nextInt(12))(random.nextInt(16).toLong))
      val all       = relations.foldLeft(Vector(-1L))((sets, rows) => for (s <- sets; row <- rows) yield s & row)
      val share     = relations.map(counted).reduce(_ and _).share
      assert(math.abs(share - all.count(_ != 0L).toDouble / all.size) < 1e-9, s"round $round: $relations")
    }
  }

  test("relations with thousands of sets: the frequent ones stand for all") {
    val random = new Random(6)
    val rows   = Vector.fill(5000)(random.nextLong() & ((1L << 20) - 1) & random.nextLong())
    val share  = Vector.fill(3)(counted(rows)).reduce(_ and _).share
    val drawn  =
      Vector.fill(20000)(Vector.fill(3)(rows(random.nextInt(rows.size))).reduce(_ & _)).count(_ != 0L) / 20000.0
    assert(math.abs(share - drawn) < 0.1, s"$share for $drawn")
  }

  test("those that satisfy their own OR: the share under this condition") {
    val (a, b) = (Vector(1L, 2L, 0L, 0L), Vector(1L, 1L, 2L, 0L, 0L, 0L))
    // of the six combinations that satisfy both ORs, two are 1 with 1 and one is 2 with 2
    assert(math.abs(counted(a).satisfied.and(counted(b).satisfied).share - 3.0 / 6) < 1e-9)
    assert(counted(Vector(0L)).satisfied.share == 0.0, "where nothing is satisfied there is no such share")
  }

  test("skew: an alternative of frequent values on both sides counts with their rows") {
    val frequent = Vector.fill(90)(1L) ++ Vector.fill(10)(2L)
    val share    = counted(frequent).and(counted(frequent)).share
    assert(math.abs(share - (0.81 + 0.01)) < 1e-9)
    // if both values counted as equally frequent, the share would be a half
  }

  test("by shares: independent alternatives, within 0 and 1, growing with each share") {
    val share = Gen.choose(0.0, 1.0)
    forAll(Gen.choose(0, 20).flatMap(Gen.listOfN(_, share)), share) { (shares, more) =>
      val one = Alternatives.ofShares(shares.toVector)
      assert(one.share >= (0.0 +: shares).max / math.max(1.0, shares.sum) - 1e-9 && one.share <= 1.0)
      if (shares.size <= 8) assert(math.abs(one.share - (1.0 - shares.map(1.0 - _).product)) < 1e-9)
      assert(math.abs(one.and(Alternatives.ofShares(shares.map(_ => 1.0).toVector)).share - one.share) < 1e-9)
      if (shares.size < 8) assert(Alternatives.ofShares((shares :+ more).toVector).share >= one.share - 1e-9)
    }
  }

  test("a mean of two lies between them") {
    val (few, many) = (Alternatives.ofShares(Vector(0.1, 0.2)), counted(Vector(1L, 2L, 3L)))
    val mixed       = many.mixed(8.0, few, 2.0)
    assert(math.abs(mixed.share - (0.8 * many.share + 0.2 * few.share)) < 1e-9)
  }
}
