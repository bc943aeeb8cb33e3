package dovetail.kernel.size

import dovetail.kernel.graph.{ForeignKeys, JoinGraph, RelSet}
import dovetail.kernel.profile.RelationSample

/**
 * Divides a set of relations into pieces that [[SampleJoins]] can count: relations with samples that equalities
 * connect. A piece has at most one relation whose rows were read in a few places, because two such samples have hardly
 * any keys in common, however many their tables have.
 *
 * @param samples   sample of each relation, or null
 * @param classesOf classes of each relation; of those with samples, only the classes whose key the sample has
 */
final private[size] class SampledPieces(
    graph: JoinGraph,
    samples: Array[RelationSample],
    classesOf: Array[Vector[Int]]
) {

  /** Relations with samples. Graphs that are too large for a [[RelSet]] have only formulas. */
  val covered: RelSet =
    if (graph.size > RelSet.MaxSize) RelSet.empty else RelSet(graph.relations.indices.filter(samples(_) != null): _*)

  /** Per relation, the covered relations that share a class with it. */
  val joined: Array[RelSet] =
    if (covered.isEmpty) Array.empty
    else Array.tabulate(graph.size)(r =>
      RelSet(covered.toVector.filter(o => o != r && classesOf(o).exists(classesOf(r).contains)): _*)
    )

  /** Relations whose rows were read in a few places, the largest first. */
  val clustered: Vector[Int] =
    covered.toVector.filter(samples(_).clustered).sortBy(r => (-graph.relations(r).profile.baseRows, r))

  // per relation, the covered relations that share a class with it in which it does not look like a key
  private val joinedBeyondKeys: Array[RelSet] = joined.zipWithIndex.map { case (others, r) =>
    val repeated = if (others.isEmpty) Vector.empty else classesOf(r).filterNot(isKey(r, _))
    RelSet(others.toVector.filter(o => classesOf(o).exists(repeated.contains)): _*)
  }

  private def isKey(relation: Int, of: Int): Boolean =
    ForeignKeys.isCountedKey(
      graph.classes(of).memberOf(relation).get.column,
      graph.relations(relation).profile.baseRows
    )

  /**
   * The relation at which a count of these relations begins: that whose rows lay together, otherwise that with the
   * largest sample. Relations that the others only look up by a key come last: of the rows that have a key, few have
   * one that was drawn, but each has a partner.
   */
  def rootOf(set: RelSet): Int = set.toVector.maxBy(asRoot(_, set))

  /** The relations of a set, those at which a count would rather begin first. */
  def rootsFirst(set: RelSet): Vector[Int] = set.toVector.sortBy(asRoot(_, covered)).reverse

  private def asRoot(r: Int, set: RelSet): (Boolean, Boolean, Int, Int) =
    (samples(r).clustered, (joinedBeyondKeys(r) & set).nonEmpty, samples(r).rows, -r)

  /** The last relation without which a set stays connected; the last one if the set is not connected. */
  def removable(set: RelSet): Int =
    set.toVector.reverseIterator.find(r => isConnected(set - RelSet.single(r))).getOrElse(set.max)

  /** All connected sets with one relation less than a connected set of at least two. */
  def withoutOne(set: RelSet): Vector[RelSet] = set.toVector.map(set - RelSet.single(_)).filter(isConnected)

  private def isConnected(set: RelSet): Boolean = set.nonEmpty && connected(set, set.min).bits == set.bits

  /**
   * Smaller pieces that a piece with this relation is composed of: the relation with each part of the others
   * that hang together without it, or the piece without one relation if they all do. None for a piece of two.
   *
   * @param told how much the samples tell of a set: of several sets without one relation, the one with most is taken
   */
  def parts(piece: RelSet, root: Int, told: RelSet => Double): Vector[RelSet] = {
    val (others, alone) = (piece - RelSet.single(root), RelSet.single(root))
    val branches        = divided(others)
    if (branches.size > 1) branches.map(_ | alone)
    else if (others.size < 2) Vector.empty
    else Vector(withoutOne(piece).filter(_.contains(root)).reverse.maxBy(told))
  }

  /** The part of a set that is connected with a relation in it. */
  private def connected(set: RelSet, from: Int): RelSet = {
    var piece = RelSet.single(from)
    var grown = piece
    do { piece = grown; grown = piece.toVector.map(joined(_) & set).foldLeft(piece)(_ | _) } while (
      grown.bits != piece.bits
    )
    piece
  }

  /** The connected parts of a set, by their first relation. */
  private def divided(set: RelSet): Vector[RelSet] = {
    val parts = Vector.newBuilder[RelSet]
    var left  = set
    while (left.nonEmpty) { val part = connected(left, left.min); parts += part; left = left - part }
    parts.result()
  }

  /**
   * The covered relations of a set by connected piece, without pieces of a single relation. Clustered relations share
   * the relations between them: of two facts with a filtered dimension, both tell how many of their rows it keeps. If a
   * row of one fact refers to a row of the other, these are the same rows, and only the larger fact has the dimension.
   */
  def apply(set: RelSet): SampledPieces.Pieces = {
    val others          = (set & covered) - RelSet(clustered: _*)
    val roots           = clustered.filter(set.contains)
    val pieces, overlap = Vector.newBuilder[RelSet]
    var done            = RelSet.empty
    roots.indices.foreach { i =>
      val free  = if (roots.take(i).exists(refers(_, roots(i)))) others - done else others
      val piece = connected(free, roots(i))
      pieces += piece
      overlap ++= divided(piece & done)
      done = done | piece
    }
    def several(sets: Vector[RelSet]) = sets.filter(_.size > 1)
    SampledPieces.Pieces(several(pieces.result() ++ divided(others - done)), several(overlap.result()))
  }

  /** Whether rows of one relation have about one partner in the other, by the classes that both have. */
  private def refers(one: Int, other: Int): Boolean = {
    val shared = graph.sharedClasses(one, other)
    shared.nonEmpty && Seq(one, other).exists { r =>
      val rows    = math.max(graph.relations(r).profile.baseRows, 1.0)
      val domains = shared.map(c =>
        graph.classes(c).memberOf(r).flatMap(_.column.domain).getOrElse(graph.classes(c).domain(graph.relations))
      )
      EqualityShare.jointDomain(graph.groupNdv(r, shared), domains, rows) >= rows / SampledPieces.AboutOne
    }
  }
}

private[size] object SampledPieces {

  /**
   * Parts of a set that samples count. Each corrects the estimate of the set by formulas.
   *
   * @param counted connected pieces
   * @param overlap parts that several pieces have, whose correction counts once too often
   */
  final case class Pieces(counted: Vector[RelSet], overlap: Vector[RelSet])

  /** Rows per combination of keys up to which the combination identifies a row: numbers of values are estimates. */
  private val AboutOne = 2.0
}
