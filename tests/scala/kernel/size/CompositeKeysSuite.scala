package dovetail.kernel.size

import dovetail.kernel.GraphText
import dovetail.kernel.profile.Assumptions
import dovetail.kernel.size.CompositeKeys.KeyComponent
import org.scalactic.TolerantNumerics
import org.scalatest.funsuite.AnyFunSuite

/** Which classes form one composite key, and how that corrects the product of their shares. */
class CompositeKeysSuite extends AnyFunSuite {
  implicit private val tolerance: org.scalactic.Equality[Double] = TolerantNumerics.tolerantDoubleEquality(1e-9)

  // A and B come before C; A has all three classes, B only the last one
  private val graph  = GraphText("A 10000; B 5000; C 1000; A.x:16=C.x:16; A.y:100=C.y:100; A.z:25=B.z:25=C.z:25")
  private val inputs = JoinInput.inputsOf(graph)
  private val keys   = new CompositeKeys(graph, inputs, Array(0, 1, 2))

  private def component(classIndex: Int, domain: Double, busy: Double, relations: Int*): KeyComponent = {
    val before = new ClassFold(3)
    before.open(1, relations.head, JoinKey(classIndex, domain), 1.0)
    relations.tail.foreach(r => before.join(r, JoinKey(classIndex, domain), CommonRange(domain, domain, 1.0, 1.0)))
    KeyComponent(classIndex, before, CommonRange(domain, domain, 1.0, 1.0), busy)
  }

  test("no correction where no relation shares two classes") {
    assert(keys.correction(2, Vector.empty) == 1.0)
    assert(keys.correction(2, Vector(component(0, 16.0, 1.5, 0))) == 1.0)
    assert(keys.correction(2, Vector(component(0, 16.0, 1.5, 0), component(2, 25.0, 1.5, 1))) == 1.0)
  }

  test("classes that one relation shares are one key of their joint domain") {
    // 16 * 100 as separate keys, 100 * root of 16 as one key
    assert(keys.correction(2, Vector(component(0, 16.0, 1.0, 0), component(1, 100.0, 1.0, 0))) === 4.0)
  }

  test("busy combinations take the place of busy values") {
    val both = Assumptions.busyKeysMeet(1.0 - 400.0 / 1000, 1.0 - 400.0 / 10000, 400.0)
    assert(keys.correction(
      2,
      Vector(component(0, 16.0, 1.2, 0), component(1, 100.0, 1.1, 0))
    ) === 4.0 * both / (1.2 * 1.1))
  }

  test("all classes go to the relation that shares most of them") {
    val three = Vector(component(0, 16.0, 1.0, 0), component(1, 100.0, 1.0, 0), component(2, 25.0, 1.0, 0, 1))
    // 100 * 25^(1/2) * 16^(1/4) = 1000 combinations
    assert(keys.correction(2, three) === 16.0 * 100 * 25 / 1000)
  }
}
