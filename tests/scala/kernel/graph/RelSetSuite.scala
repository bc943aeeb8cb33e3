package dovetail.kernel.graph

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

/** RelSet compared with Set[Int], over all 64 bits. */
class RelSetSuite extends AnyFunSuite with ScalaCheckPropertyChecks {
  private val members =
    Gen.containerOf[Set, Int](Gen.frequency(8 -> Gen.choose(0, 63), 1 -> Gen.const(63), 1 -> Gen.const(0)))
  private def relSet(s: Set[Int]) = RelSet(s.toSeq: _*)
  private def back(s: RelSet)     = s.toVector.toSet
  private def subsets(s: RelSet)  = Iterator.iterate(s.nextSubset(RelSet.empty))(s.nextSubset).takeWhile(_.nonEmpty)

  test("a set comes back as it went in, ascending, once each") {
    forAll(members)(s => assert(relSet(s).toVector == s.toVector.sorted))
  }

  test("union, intersection, difference, relations between sets are those of Set[Int]") {
    forAll(members, members) { (a, b) =>
      val (x, y) = (relSet(a), relSet(b))
      assert(back(x | y) == (a | b))
      assert(back(x & y) == (a & b))
      assert(back(x - y) == (a -- b))
      assert(x.overlaps(y) == (a & b).nonEmpty)
      assert(x.isSubsetOf(y) == a.subsetOf(b))
      assert((x & y).isSubsetOf(x) && (x - y).isSubsetOf(x))
    }
  }

  test("size, emptiness, members, least and largest are those of Set[Int]") {
    forAll(members) { s =>
      val x = relSet(s)
      assert(x.size == s.size && x.isEmpty == s.isEmpty && x.nonEmpty == s.nonEmpty)
      assert((0 to 63).filter(x.contains).toSet == s)
      if (s.nonEmpty) assert(x.min == s.min && x.max == s.max)
      assert(x.toString == s.toVector.sorted.mkString("{", ",", "}"))
    }
  }

  test("the first n relations, up to 64, and all up to one") {
    for (n <- 0 to 64) assert(back(RelSet.first(n)) == (0 until n).toSet, n)
    for (r <- 0 to 63) assert(back(RelSet.upTo(r)) == (0 to r).toSet && back(RelSet.single(r)) == Set(r), r)
  }

  test("nextSubset goes through every non-empty subset once, subsets before supersets, and ends at the empty set") {
    val small = Gen.choose(0, 10).flatMap(Gen.listOfN(_, Gen.choose(0, 63))).map(_.toSet)
    forAll(small) { s =>
      val found = subsets(relSet(s)).map(back).toVector
      assert(found.toSet == s.subsets().filter(_.nonEmpty).toSet && found.size == (1 << s.size) - 1)
      val position = found.zipWithIndex.toMap
      for (sub <- found; one <- sub if sub.size > 1) assert(position(sub - one) < position(sub))
    }
  }

  test("nextSubset reaches bit 63") {
    assert(subsets(RelSet(0, 31, 32, 63)).size == 15)
    assert(subsets(RelSet(63)).map(_.bits).toVector == Vector(Long.MinValue))
    assert(subsets(RelSet.first(64)).take(5).map(_.bits).toVector == Vector(1L, 2L, 3L, 4L, 5L))
    assert(RelSet.first(64).nextSubset(RelSet.first(64)).isEmpty)
  }
}
