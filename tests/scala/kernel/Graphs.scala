package dovetail.kernel

import scala.util.Random

/** Families of join graphs, as [[GraphText]]: the regular shapes of the literature, and random graphs by seed. */
object Graphs {

  /** Edges of the regular shapes over nodes 0 until n. */
  def chain(n: Int): Vector[(Int, Int)]  = (1 until n).map(i => (i - 1, i)).toVector
  def cycle(n: Int): Vector[(Int, Int)]  = chain(n) ++ (if (n > 2) Vector((0, n - 1)) else Vector.empty)
  def star(n: Int): Vector[(Int, Int)]   = (1 until n).map(i => (0, i)).toVector
  def clique(n: Int): Vector[(Int, Int)] = (for (a <- 0 until n; b <- a + 1 until n) yield (a, b)).toVector

  /** A center with n / 3 dimensions, each of which has up to two dimensions. */
  def snowflake(n: Int): Vector[(Int, Int)] = {
    val dimensions = math.max(1, n / 3)
    (1 until n).map(i => (if (i <= dimensions) 0 else 1 + (i - dimensions - 1) % dimensions, i)).toVector
  }

  /** A random tree. */
  def tree(n: Int, random: Random): Vector[(Int, Int)] = (1 until n).map(i => (random.nextInt(i), i)).toVector

  /** A random tree with up to `extra` more edges. */
  def connected(n: Int, extra: Int, random: Random): Vector[(Int, Int)] = {
    val more = Vector.fill(extra)((random.nextInt(n), random.nextInt(n))).collect {
      case (a, b) if a != b => (math.min(a, b), math.max(a, b))
    }
    (tree(n, random) ++ more).distinct
  }

  /**
   * Relations that share a few classes, so that several joins use the same class and can reuse a partitioning, and some
   * keys are composite. The graph and each prefix of its relations are connected.
   */
  def shared(n: Int, random: Random): String = {
    val rows    = Vector.fill(n)(magnitude(6, random))
    val classes = scala.collection.mutable.ArrayBuffer(Set(0))
    for (_ <- 1 until n) {
      val known = classes(random.nextInt(classes.size)).toVector.sorted
      classes += Set(known(random.nextInt(known.size))) ++ (if (random.nextInt(3) == 0) Set(random.nextInt(4))
                                                            else Set.empty)
    }
    val equalities =
      (0 to 3).map(c =>
        (0 until n).filter(classes(_).contains(c)).map(r => s"${GraphText.name(r)}.c$c:${ndv(rows(r), random)}")
      ).filter(_.size > 1)
    (relations(rows, random) ++ equalities.map(_.mkString("="))).mkString("; ")
  }

  /**
   * Random sizes and domains on the given edges. Each edge is a class of its own, and each number is drawn from several
   * orders of magnitude.
   */
  def sized(n: Int, edges: Vector[(Int, Int)], random: Random): String = {
    val rows                   = Vector.fill(n)(magnitude(6, random))
    def column(a: Int, b: Int) = s"${GraphText.name(a)}.c$b:${ndv(rows(a), random)}"
    (relations(rows, random) ++ edges.map { case (a, b) => s"${column(a, b)}=${column(b, a)}" }).mkString("; ")
  }

  /**
   * A random tree with more edges and some missing ones, two equalities over three relations each, and an inequality.
   * It may need cross products.
   */
  def hyper(n: Int, random: Random): String = {
    def some(k: Int) = random.shuffle((0 until n).toVector).take(k).map(GraphText.name)
    val edges        = connected(n, n / 4, random).filter(_ => random.nextInt(8) > 0)
    val hyperedges   = Vector.fill(2)(some(3)).map(s => s"${s(0)}+${s(1)}=${s(2)} 0.01")
    (sized(n, edges, random) +: hyperedges :+ some(2).mkString("", "~", " 0.3")).mkString("; ")
  }

  /** Text of a graph of the named family. */
  def apply(family: String, n: Int, random: Random): String = family match {
    case "chain"     => sized(n, chain(n), random)
    case "cycle"     => sized(n, cycle(n), random)
    case "star"      => sized(n, star(n), random)
    case "snowflake" => sized(n, snowflake(n), random)
    case "clique"    => sized(n, clique(n), random)
    case "tree"      => sized(n, tree(n, random), random)
    case "mixed"     => sized(n, connected(n, n / 3, random), random)
    case "forest"    => sized(n, tree(n, random).filter(_ => random.nextInt(8) > 0), random)
    case "shared"    => shared(n, random)
    case "hyper"     => hyper(n, random)
  }

  private def relations(rows: Vector[Long], random: Random): Vector[String] =
    rows.zipWithIndex.map { case (r, i) =>
      s"${GraphText.name(i)} $r bytes=${16 + random.nextInt(200)}${if (r < 100) " broadcast" else ""}"
    }

  private def ndv(rows: Long, random: Random): Long = math.max(1L, (rows * random.nextDouble()).toLong)

  /** A number from 1 to 10^digits, drawn evenly by order of magnitude. */
  def magnitude(digits: Int, random: Random): Long = math.pow(10.0, random.nextDouble() * digits).toLong
}
