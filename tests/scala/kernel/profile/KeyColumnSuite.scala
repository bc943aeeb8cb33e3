package dovetail.kernel.profile

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class KeyColumnSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  // dense ids, ids with gaps, hashes, and the ends of the number line, each with NULLs
  private val values: Gen[Vector[Long]] = for {
    n       <- Gen.choose(0, 60)
    numbers <- Gen.oneOf(
      Gen.choose(-20L, 40L),
      Gen.choose(1000000L, 1000000L + 30L * n),
      Gen.oneOf(Gen.choose(Long.MinValue, Long.MaxValue), Gen.choose(0L, 3L)),
      Gen.oneOf(Long.MinValue + 1L, Long.MaxValue, 0L, -1L)
    )
    all <- Gen.listOfN(n, Gen.frequency(5 -> numbers, 1 -> Gen.const(RelationSample.NullKey)))
  } yield all.toVector

  test("keys are the distinct values in ascending order, and each row has the number of its key") {
    forAll(values) { values =>
      val column = KeyColumn(values.toArray)
      assert(column.keys.toVector === values.filter(_ != RelationSample.NullKey).distinct.sorted)
      val read = column.codes.toVector.map(c => if (c == KeyColumn.Null) RelationSample.NullKey else column.keys(c))
      assert(read === values)
    }
  }

  test("runs are the distinct numbers with the number of their occurrences") {
    forAll(values) { values =>
      val runs = Runs(values.toArray)
      assert(runs.values.toVector.zip(runs.counts) === values.groupBy(identity).toVector.map(v =>
        v._1 -> v._2.size
      ).sorted)
      assert(runs.of(2) === values.distinct.count(v => values.count(_ == v) == 2))
    }
  }
}
