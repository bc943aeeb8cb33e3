package dovetail.kernel.size

import dovetail.kernel.profile.Estimate
import org.scalatest.funsuite.AnyFunSuite

/** Rows of a join that are estimated cautiously, from the keys of the relation that is joined. */
class JoinInputSuite extends AnyFunSuite {

  /** Rows after a relation of 1,000 rows, of which predicates leave at most 500, is joined with `before` rows. */
  private def rows(before: Double, repeated: Boolean, keys: JoinKey*): Double = {
    val bound = new JoinInput.Bound {
      override def isBound(classIndex: Int): Boolean    = classIndex < 2
      override def isRepeated(classIndex: Int): Boolean = repeated
    }
    JoinInput(10.0, 1000.0, 500.0, keys.toArray, composite = false).cautiousRows(before, bound)
  }

  test("the average rows of a key, at least one, and at least all rows of the relation") {
    assert(rows(100.0, repeated = false, JoinKey(0, 100.0)) == 1000.0)
    assert(rows(10.0, repeated = false, JoinKey(0, 100.0)) == 500.0, "few rows may meet all")
    assert(rows(100.0, repeated = false, JoinKey(0, 1.0)) == 100.0 * 500, "no more than the relation has")
    assert(rows(1000.0, repeated = false, JoinKey(0, 5000.0)) == 1000.0, "never less than one")
    assert(rows(1000.0, repeated = false, JoinKey(0, 100.0), JoinKey(1, 200.0)) == 5000.0, "the smaller average")
  }

  test("a key that repeats on both sides: the rows of its most frequent value, if they are known") {
    assert(rows(100.0, repeated = true, JoinKey(0, 100.0)) == 100.0 * 500)
    assert(rows(100.0, repeated = true, JoinKey(0, 100.0, most = 40.0)) == 4000.0)
    assert(rows(100.0, repeated = true, JoinKey(0, 100.0), JoinKey(1, 5.0, most = 20.0)) == 2000.0)
  }

  test("a key that looks unique adds no rows, whatever repeats") {
    assert(rows(100.0, repeated = true, JoinKey(0, 1000.0, unique = true), JoinKey(1, 5.0)) == 100.0)
  }

  test("all pairs if the domain is unknown or the key belongs to no bound class; at most the ceiling") {
    assert(rows(100.0, repeated = false, JoinKey(0, 100.0, known = false)) == 100.0 * 500)
    assert(rows(100.0, repeated = false, JoinKey(2, 100.0)) == 100.0 * 500)
    assert(rows(1e29, repeated = false) == Estimate.Ceiling)
  }
}
