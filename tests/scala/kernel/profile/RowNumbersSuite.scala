package dovetail.kernel.profile

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class RowNumbersSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  // also sizes at the borders of words of 64 bits
  private val sizes = Gen.oneOf(Gen.choose(0, 300), Gen.oneOf(63, 64, 65, 128))

  test("rows are what a list of their numbers is") {
    forAll(sizes, Gen.choose(0, 8), Gen.choose(0, 300), Gen.choose(0, 300)) { (n, keeps, from, until) =>
      val list = Vector.range(0, n)
      val all  = RowNumbers.all(n)
      assert(all.toArray.toVector === list)
      def keep(i: Int) = i * 7 % 8 < keeps
      val (some, few)  = (all.filter(keep), list.filter(keep))
      assert(some.toArray.toVector === few && some.size === few.size)
      assert(some.between(from, until) === few.count(i => i >= from && i < until) || from > until)
      assert(some.filter(_ % 2 == 0).toArray.toVector === few.filter(_ % 2 == 0))
    }
  }

  test("equal rows are equal, however they were found, and others are not") {
    val all = RowNumbers.all(200)
    val low = all.filter(_ < 64)
    assert(
      low === RowNumbers.all(64) && low.hashCode === RowNumbers.all(64).hashCode && low.hash === RowNumbers.all(64).hash
    )
    assert(low.packed === low && all.filter(_ => true) === all && all.filter(_ => false) === RowNumbers.all(0))
    val others = Vector(all, low, all.filter(_ >= 64), all.filter(_ != 0), all.filter(_ != 199), RowNumbers.all(0))
    assert(others.distinct.size === others.size && others.map(_.hash).distinct.size === others.size)
  }
}
