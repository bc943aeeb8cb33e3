package dovetail.bench

import scala.util.Random

import dovetail.kernel.graph.{EquivalenceClass, JoinGraph, JoinKind, Member, Operator, Relation}
import dovetail.kernel.profile.{ColumnProfile, Estimate, RelationProfile, RowBytes, Source}

/**
 * Join graphs for [[SearchBenchmark]]. Each edge is a class of its own, and sizes and domains are drawn from several
 * orders of magnitude. The same name always gives the same graph.
 */
object Shapes {

  /**
   * Returns the graph of a name: `clique12`, `star16`, `chain20`, `cycle12`, `snowflake50` (a third of the relations
   * around the center, the others around these), `tree50` (random), `mixed100` (a random tree and a quarter as many
   * edges that close cycles). `outerstar50` and `outersnowflake50` join every other relation, and all relations that
   * depend on it, by left outer joins.
   */
  def apply(name: String): JoinGraph = {
    val (full, n) = name.splitAt(name.indexWhere(_.isDigit)) match { case (s, digits) => (s, digits.toInt) }
    val shape     = full.stripPrefix("outer")
    val random    = new Random(name.hashCode)
    val tree      = (1 until n).map(i => (random.nextInt(i), i))
    val edges     = shape match {
      case "chain"     => (1 until n).map(i => (i - 1, i))
      case "cycle"     => (1 until n).map(i => (i - 1, i)) :+ ((0, n - 1))
      case "star"      => (1 until n).map(i => (0, i))
      case "snowflake" => (1 until n).map(i => (if (i <= n / 3) 0 else 1 + (i - n / 3 - 1) % (n / 3), i))
      case "clique"    => for (a <- 0 until n; b <- a + 1 until n) yield (a, b)
      case "tree"      => tree
      case "mixed"     => (tree ++ Seq.fill(n / 4)((random.nextInt(n), random.nextInt(n))).collect {
          case (a, b) if a < b => (a, b)
        }).distinct
      case _ => throw new IllegalArgumentException(
          s"no shape '$shape'; there are chain, cycle, star, snowflake, clique, tree, mixed"
        )
    }
    sized(n, edges, if (shape == full) Set.empty else outer(edges), random)
  }

  /** Relations of a tree that are joined by left outer joins. */
  private def outer(tree: Seq[(Int, Int)]): Set[Int] = tree.foldLeft(Set.empty[Int]) { case (found, (a, b)) =>
    if (found(a) || b % 2 == 0) found + b else found
  }

  private def sized(n: Int, edges: Seq[(Int, Int)], outer: Set[Int], random: Random): JoinGraph = {
    val rows      = Vector.fill(n)(math.pow(10.0, 1 + 6 * random.nextDouble()).floor)
    val relations = Vector.tabulate(n) { i =>
      Relation(
        i,
        s"r$i",
        RelationProfile(Estimate.exactly(rows(i), Source.Catalog), Map.empty, rows(i)),
        RowBytes.fixed(12.0 + random.nextInt(200)),
        rows(i) < 1000
      )
    }
    def member(r: Int, other: Int) = {
      val ndv = Some(math.max(1.0, (rows(r) * random.nextDouble()).floor))
      Member(r, ColumnProfile(ndv = ndv, domain = ndv), Set(r * 1000L + other), s"r$r.c$other")
    }
    val keys               = edges.map { case (a, b) => (member(a, b), member(b, a)) }.toVector
    val (operators, inner) = keys.partition { case (_, m) => outer(m.relation) }
    JoinGraph(
      relations,
      inner.zipWithIndex.map { case ((a, b), i) => EquivalenceClass(i, Vector(a, b)) },
      Vector.empty,
      operators.zipWithIndex.map { case ((a, b), i) =>
        val read = Vector(a.relation, b.relation)
        Operator(
          i,
          JoinKind.LeftOuter,
          (0 until b.relation).toVector,
          Vector(b.relation),
          Vector((a, b)),
          read,
          1.0,
          read,
          wideEquality = false,
          a.text
        )
      }
    )
  }
}
