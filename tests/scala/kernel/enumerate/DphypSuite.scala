package dovetail.kernel.enumerate

import scala.collection.mutable
import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite
import dovetail.kernel.graph.{Hypergraph, JoinGraph, RelSet}
import dovetail.kernel.{Graphs, GraphText}

/**
 * DPhyp's enumeration alone: each csg-cmp pair once, in an order that suits dynamic programming. The counts are those
 * of Moerkotte and Neumann 2006.
 */
class DphypSuite extends AnyFunSuite {

  /** Asserts the properties that dynamic programming relies on, and collects the pairs. */
  private class CheckingReceiver(stopAfter: Int = Int.MaxValue) extends Receiver {
    private val seen           = mutable.Set.empty[Long]
    private val used           = mutable.Set.empty[Long]
    val pairs                  = mutable.Set.empty[(Long, Long)]
    def relation(r: Int): Unit = {
      assert(pairs.isEmpty, "a relation after a pair"); assert(seen.add(1L << r), s"relation $r twice")
    }
    def contains(s: RelSet) = seen(s.bits)

    def pair(left: RelSet, right: RelSet): Boolean = {
      assert(pairs.size < stopAfter, "a pair after the stop")
      assert(!left.overlaps(right), s"$left and $right overlap")
      assert(contains(left) && contains(right), s"$left or $right was not seen before")
      val whole = left | right
      assert(!used(whole.bits), s"pair $left, $right of a set that has been used as a half before")
      assert(pairs.add((math.min(left.bits, right.bits), math.max(left.bits, right.bits))), s"pair $left, $right twice")
      used ++= Seq(left.bits, right.bits)
      seen += whole.bits
      pairs.size < stopAfter
    }
  }

  private class CountingReceiver extends Receiver {
    var count                               = 0L
    def relation(r: Int): Unit              = ()
    def contains(s: RelSet)                 = throw new AssertionError("a simple graph needs no look-ups")
    def pair(l: RelSet, r: RelSet): Boolean = { count += 1; true }
  }

  private def simple(n: Int, edges: Seq[(Int, Int)], hyper: Seq[(RelSet, RelSet)] = Nil): Hypergraph = {
    val neighbors = new Array[Long](n)
    edges.foreach { case (a, b) => neighbors(a) |= 1L << b; neighbors(b) |= 1L << a }
    new Hypergraph(n, neighbors, hyper.toArray)
  }

  private def oracle(n: Int, edges: Seq[(Int, Int)], hyper: Seq[(RelSet, RelSet)] = Nil) =
    new CsgCmpOracle(
      n,
      edges.map { case (a, b) => (1L << a, 1L << b) } ++ hyper.map { case (u, v) => (u.bits, v.bits) }
    )

  test("no simple graph has more pairs than a clique") {
    for (n <- 2 to 16) assert(Dphyp.pairsOfClique(n) == (pow(3, n) - pow(2, n + 1) + 1) / 2)
  }

  private def pow(b: Long, e: Int) = BigInt(b).pow(e).toLong

  /** name, edges of n nodes, number of csg-cmp pairs */
  private val shapes: Seq[(String, Int => Vector[(Int, Int)], Long => Long)] = Seq(
    ("chain", Graphs.chain, n => (n * n * n - n) / 6),
    ("cycle", Graphs.cycle, n => (n * n * n - 2 * n * n + n) / 2),
    ("star", Graphs.star, n => (n - 1) * pow(2, n.toInt) / 4),
    ("clique", Graphs.clique, n => (pow(3, n.toInt) - pow(2, n.toInt + 1) + 1) / 2)
  )

  for ((name, edges, formula) <- shapes) test(s"$name: the number of pairs is the closed formula, 2 to 16 relations") {
    // the formula for a cycle assumes that its edges differ, so it holds from three nodes on
    for (n <- (if (name == "cycle") 3 else 2) to 16) {
      val receiver = new CountingReceiver
      assert(new Dphyp(simple(n, edges(n)), receiver).run())
      assert(receiver.count == formula(n.toLong), s"$name of $n")
    }
  }

  test("regular shapes: invariants, and the pairs of the definition, however the relations are numbered") {
    val random = new Random(1)
    for ((name, edges, _) <- shapes; n <- 2 to 8; _ <- 1 to 2) {
      val number   = random.shuffle((0 until n).toVector)
      val shuffled = edges(n).map { case (a, b) => (number(a), number(b)) }
      val receiver = new CheckingReceiver
      assert(new Dphyp(simple(n, shuffled), receiver).run())
      assert(receiver.pairs == oracle(n, shuffled).pairs, s"$name of $n numbered $number")
    }
  }

  test("random graphs, connected or not: the pairs of the definition") {
    for (seed <- 1 to 300) {
      val random   = new Random(seed)
      val n        = 2 + random.nextInt(7)
      val density  = random.nextDouble()
      val edges    = Graphs.clique(n).filter(_ => random.nextDouble() < density)
      val receiver = new CheckingReceiver
      assert(new Dphyp(simple(n, edges), receiver).run())
      assert(receiver.pairs == oracle(n, edges).pairs, s"seed $seed: $edges")
    }
  }

  private def side(nodes: Vector[Int]): RelSet = RelSet(nodes: _*)

  private def randomHyperedges(n: Int, count: Int, random: Random): Vector[(RelSet, RelSet)] = Vector.fill(count) {
    val nodes  = random.shuffle((0 until n).toVector).take(2 + random.nextInt(n - 1))
    val (l, r) = nodes.splitAt(1 + random.nextInt(nodes.size - 1))
    (side(l), side(r))
  }

  test("random hypergraphs: the pairs of the definition") {
    for (seed <- 1 to 800) {
      val random   = new Random(seed)
      val n        = 3 + random.nextInt(6)
      val density  = random.nextDouble() * 0.6
      val edges    = Graphs.clique(n).filter(_ => random.nextDouble() < density)
      val hyper    = randomHyperedges(n, 1 + random.nextInt(4), random)
      val receiver = new CheckingReceiver
      assert(new Dphyp(simple(n, edges, hyper), receiver).run())
      assert(receiver.pairs == oracle(n, edges, hyper).pairs, s"seed $seed: $edges, $hyper")
    }
  }

  private def solve(graph: JoinGraph): CheckingReceiver = {
    val receiver = new CheckingReceiver
    assert(new Dphyp(Hypergraph(graph), receiver).run())
    receiver
  }

  test("edges of a join graph: classes and two-relation predicates connect, an opaque predicate over three does not") {
    val pairs = solve(GraphText("A 9; B 9; C 9; D 9; A.x=B.x=C.x; C~D 0.5; A~B~D 0.5")).pairs
    assert(pairs.contains((1L, 4L)), "A and C are in one class")
    assert(pairs.contains((4L, 8L)), "a predicate over C and D joins them")
    assert(!pairs.contains((1L, 8L)), "nothing joins A and D")
  }

  test("an equality over several relations joins what has both its sides") {
    val pairs = solve(GraphText("A 9; B 9; C 9; A.x=B.x; A+B=C 0.1")).pairs
    assert(pairs == Set((1L, 2L), (3L, 4L)))
  }

  test("a hyperedge whose side nothing connects is reached by a cross product") {
    val receiver = solve(GraphText("A 9; B 9; C 9; A+B=C 0.1"))
    assert(receiver.contains(RelSet.first(3)))
    assert(receiver.pairs.contains((3L, 4L)), "C joins A x B by the equality")
  }

  test("disconnected join graphs: the full set is reached, by cross products of complete components alone") {
    for (seed <- 1 to 300) {
      val random = new Random(seed)
      val n      = 2 + random.nextInt(6)
      val edges  = Graphs.clique(n).filter(_ => random.nextDouble() < 0.25)
      val hyper  = randomHyperedges(n, random.nextInt(3), random).filter { case (u, v) => u.size + v.size > 2 }
      val graph  = GraphText(
        ((0 until n).map(i => s"${GraphText.name(i)} 10") ++
          edges.map { case (a, b) => s"${GraphText.name(a)}~${GraphText.name(b)} 0.5" } ++
          hyper.map { case (u, v) =>
            s"${u.toVector.map(GraphText.name).mkString("+")}=${v.toVector.map(GraphText.name).mkString("+")} 0.5"
          }).mkString("; ")
      )
      val receiver = solve(graph)
      val known    = oracle(n, edges, hyper)
      val largest  = known.connected.filter(s => !known.connected.exists(t => t != s && (s & ~t) == 0L))
      assert(receiver.contains(RelSet.first(n)), s"seed $seed")
      assert(known.pairs.subsetOf(receiver.pairs), s"seed $seed")
      // a hyperedge that only a cross product makes usable may then connect a part of a component
      val usable = hyper.forall { case (u, v) => largest.exists(s => ((u | v).bits & ~s) == 0L) }
      if (usable)
        for ((a, b) <- receiver.pairs if !known.joined(a, b); half <- Seq(a, b); component <- largest)
          assert((half & component) == 0L || (component & ~half) == 0L, s"seed $seed: $a x $b cuts $component")
    }
  }

  test("a receiver that has enough is not called again") {
    for (budget <- Seq(1, 10, 100)) {
      val receiver = new CheckingReceiver(budget)
      assert(!new Dphyp(simple(10, Graphs.clique(10)), receiver).run())
      assert(receiver.pairs.size == budget)
    }
  }

  test("a star of 64 relations stops at once, although its neighbourhoods have 2^63 subsets") {
    for (center <- Seq(0, 31, 63)) {
      val receiver = new CheckingReceiver(1000)
      val graph    = simple(64, (0 until 64).filter(_ != center).map(i => (i, center)))
      val thread   = new Thread(() => { new Dphyp(graph, receiver).run(); () })
      thread.setDaemon(true)
      thread.start()
      thread.join(20000)
      assert(!thread.isAlive, "still running after 20 s")
      assert(receiver.pairs.size == 1000)
    }
  }

  test("where hyperedges make pairs rare, the clock stops the search between them") {
    // A has 39 hyperedges to sets of two relations that nothing connects: 2^39 sets to visit, and not one pair
    val hyper    = (1 to 39).map(i => (RelSet(0), RelSet(i, 40 + i % 20)))
    var looks    = 0
    val receiver = new CheckingReceiver { override def timeLeft: Boolean = { looks += 1; looks < 10 } }
    assert(!new Dphyp(simple(60, Nil, hyper), receiver).run())
    assert(looks == 10 && receiver.pairs.isEmpty)
  }
}
