package dovetail.kernel.graph

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

/** WideSet compared with Scala's sets, for any size, also for sizes at the border of a word. */
class WideSetSuite extends AnyFunSuite {
  test("union, overlap, subset, members and size") {
    val random = new Random(1)
    for (size <- Seq(1, 63, 64, 65, 128, 1000); _ <- 1 to 200) {
      def some()           = Vector.fill(random.nextInt(12))(random.nextInt(size)).toSet
      val (a, b)           = (some(), some())
      val (x, y)           = (WideSet(size, a), WideSet(size, b))
      def list(s: WideSet) = { val out = new Array[Int](size); out.take(s.copyTo(out)).toVector }
      assert(list(x) == a.toVector.sorted && list(x | y) == (a ++ b).toVector.sorted && x.size == a.size)
      assert(x.overlaps(y) == (a & b).nonEmpty && x.isSubsetOf(y) == a.subsetOf(b) && x.isSubsetOf(x | y))
      assert((0 until size).forall(r => x.contains(r) == a(r)))
    }
  }
}
