package dovetail.kernel.size

import scala.collection.mutable

import dovetail.kernel.graph.{EquivalenceClass, JoinGraph, Operator, RelSet}
import dovetail.kernel.profile.{Assumptions, Estimate, RelationSample, Sampling, SetCounts}
import dovetail.kernel.size.SampleJoins._

/**
 * Sizes of equality joins, counted on samples of the relations. [[CardinalityModel]] uses these counts, and formulas
 * for relations without samples.
 *
 * The join of a set of relations is counted without being computed, by Yannakakis' algorithm (1981) on a join tree of
 * the set: every relation sends its parent, for each key, the number of combinations below it, and the root adds them
 * up. So filters that are correlated with join keys, keys that are skewed on several sides, and joins of several steps
 * count with the rows that they meet, not by averages. On complete samples, the size of an acyclic join is exact.
 *
 * If a sample is only a part of its table, a key has the rows that were drawn, and those that are still to be expected
 * from the key frequencies of the relation ([[UndrawnRows]]). So the estimate does not assume that keys which were
 * never drawn have no rows. A key of a dimension that was drawn is known, whether predicates keep it or not; the other
 * keys get the average of those that are asked for ([[KeyMessage]]).
 *
 * Rows that were read in a few places are no random sample: the rows of one key may all lie in one place. So such a
 * relation never sends a message. It is the root of a count in which all others are drawn at random or complete, and
 * the count is mixed with an estimate by formulas, by how much its places differ ([[Sampling.partners]]).
 *
 * FactorJoin (Wu et al. 2023) passes such messages over bins of keys; we pass them over keys. Join synopses (Acharya et
 * al. 1999) are the case of a root whose other relations are complete.
 */
final class SampleJoins(graph: JoinGraph) {
  private[size] val samples: Array[RelationSample] = graph.relations.map(_.sample.filter(_.rows > 0).orNull).toArray
  private[size] val classesOf: Array[Vector[Int]]  = graph.classesOf.toArray
  // domains of the classes, followed by those of the operators' equalities, which are numbered after the classes
  private val domainOf: Array[Double] =
    (graph.classes.map(_.domain(graph.relations)) ++ graph.operators.flatMap(_.equalities).map { case (a, b) =>
      EquivalenceClass(0, Vector(a, b)).domain(graph.relations)
    }).toArray
  private[size] val rows: Array[Double] = graph.relations.map(_.profile.rows.value).toArray
  private val groups                    = mutable.HashMap.empty[(Int, Vector[Int]), KeyGroups]
  private val found                     = mutable.HashMap.empty[(Int, Int, Vector[Int]), KeyMessage.Partners]
  private val messages                  = mutable.HashMap.empty[Node, KeyMessage]
  private var keptNumbers               = 0L
  private val sizes                     = new mutable.LongMap[Double]
  private val mixed                     = new mutable.LongMap[Double]

  private val sampled = new SampledPieces(graph, samples)
  import sampled.{clustered, joined}

  /** Relations with samples. Graphs that are too large for a [[RelSet]] have only formulas. */
  def covered: RelSet = sampled.covered

  /** The parts of a set that can be counted ([[SampledPieces]]). */
  def pieces(set: RelSet): Vector[RelSet] = sampled.pieces(set)

  /** Largest number of relations that are counted as a whole. Counts of larger sets are composed of such counts. */
  private[size] val largest: Int = {
    val n                 = covered.size
    val average           = covered.toVector.map(visitsOf).sum / math.max(n, 1)
    def visits(upTo: Int) = (2 to upTo).map(k => (0 until k).map(i => (n - i).toDouble / (i + 1)).product * average).sum
    (2 to math.max(n, 2)).takeWhile(k => k == 2 || visits(k) <= MaxVisits).last
  }

  /** Visits of a relation's rows for a partner; if samples are partial, the keys asked for are looked at before. */
  private def visitsOf(relation: Int): Double =
    samples(relation).rows * (if (covered.toVector.forall(samples(_).complete)) 1.0 else 2.0)

  // the figures of a group of joins like this one, which may come from another query
  private lazy val shared     = figures(SampledGroup.Rows)
  private lazy val variations = figures(SampledGroup.Variations)

  private def figures(kind: Long): SetCounts =
    samples(covered.min).memo.counts(SampledGroup(graph, domainOf, kind), new SetCounts(covered.size))

  /**
   * Rows of the equality join of the relations of a piece.
   *
   * @param formula estimate of a set by formulas
   */
  def rowsOf(piece: RelSet, formula: RelSet => Double): Double = clustered.find(piece.contains) match {
    case None       => rowsOf(piece)
    case Some(root) => mixed.getOrElseUpdate(piece.bits, mixed(piece, root, formula))
  }

  /**
   * The count mixed with an estimate that is composed of the mixed counts of smaller pieces, as if their errors were
   * independent. So a count of few rows is compared with what more rows have told about its parts.
   */
  private def mixed(piece: RelSet, root: Int, formula: RelSet => Double): Double = {
    val n               = math.max(rows(root), 1.0)
    val composed        = formula(piece) * sampled.parts(piece, root).map(p => rowsOf(p, formula) / formula(p)).product
    val (counted, vary) = (rowsOf(piece) / n, variationOf(piece, root))
    n * Sampling.partners(counted, vary, samples(root).filledPlaces, composed / n)
  }

  /** How much the places of the root vary for this count. In a large piece, the relations next to the root decide. */
  private def variationOf(piece: RelSet, root: Int): Double = {
    val near = if (piece.size <= largest) piece else limited(joined(root) & piece) | RelSet.single(root)
    variations.getOrCount(near.bits)(
      Sampling.variation(samples(root).meansOfPlaces(weighted(rooted(arranged(near.toVector), root))))
    )
  }

  /** Rows of the equality join of these relations as counted. All of them must be covered. */
  private[size] def rowsOf(set: RelSet): Double =
    sizes.getOrElseUpdate(set.bits, shared.getOrCount(set.bits)(count(set)))

  private def count(set: RelSet): Double =
    if (set.size > largest) composed(set)
    else counted(arranged(set.toVector)) * (if (set.toVector.forall(samples(_).complete)) 1.0 else Lean)

  /** Rows that the equalities of a join tree of the set leave: no fewer than those of the join. */
  private[size] def ofJoinTree(set: RelSet): Double = ofTrees(arranged(set.toVector))

  /** Maximum rows with one key of a class, if the relation's sample is the whole table. */
  def degree(relation: Int, of: Int): Option[Double] =
    if (!covered.contains(relation) || !samples(relation).complete || !classesOf(relation).contains(of)) None
    else Some(math.max(1.0, groupsOf(relation, Vector(of)).kept.largest))

  /** Share of the rows of `left` that have a partner in `right`, if both are covered and share a class. */
  def partnered(left: Int, right: Int): Option[Double] =
    if (!meet(left, right) || !joined(left).contains(right)) None
    else Some(partnered(left, right, classesOf(left).filter(classesOf(right).contains)))

  /**
   * The same by the equalities of an operator. The samples number the keys of these equalities after those of the
   * classes ([[RelationSample]]).
   *
   * @param mirrored whether `left` is the operator's right side
   */
  def partnered(left: Int, right: Int, operator: Operator, mirrored: Boolean): Option[Double] = {
    val first = graph.classes.size + graph.operators.take(operator.index).map(_.equalities.size).sum
    val keys  = operator.equalities.indices.map(first + _).toVector
    val there =
      keys.nonEmpty && meet(left, right) && Seq(left, right).forall(r => keys.forall(samples(r).keys.contains))
    if (there) Some(partnered(left, right, keys)) else None
  }

  /** Whether partners of the rows of one relation can be counted in another: not on rows that lay together. */
  private def meet(left: Int, right: Int): Boolean =
    Seq(left, right).forall(r => covered.contains(r) && !samples(r).clustered)

  /**
   * Smallest share of the rows of `left` without a partner in `right` that a count of partners can tell: 0 on complete
   * samples; otherwise the share of which a sample without such a row leaves the possibility (Laplace's rule of
   * succession).
   */
  def leastAlone(left: Int, right: Int): Double =
    if (samples(left).complete && samples(right).complete) 0.0 else 1.0 / (samples(left).rows + 2.0)

  private def partnered(left: Int, right: Int, keys: Vector[Int]): Double = {
    val node   = Node(right, keys, Vector.empty)
    val there  = groupsOf(node)
    val asked  = partnersOf(there, samples(left))
    val hidden =
      if (samples(right).complete || there.kept.rows == 0.0) None
      else Some(new HiddenKeys(there.kept, there.drawn, asked, undrawn(node, there), beyond(node, there)))
    var (i, n) = (0, 0.0)
    while (i < asked.groups.length) {
      val group = asked.groups(i)
      if (group >= 0 && there.kept.sizes(group) > 0) n += 1.0
      else if (group != KeyGroups.Null && hidden.isDefined) n += hidden.get.chance(group)
      i += 1
    }
    n / samples(left).rows
  }

  /**
   * Rows of a set that is too large to be counted as a whole: the rows of the set without its last relation, times the
   * last relation's partners per combination of the relations nearest to it. These are the relations that share a class
   * with it, and those that join with these. The more of them are counted together, the less must be assumed to be
   * independent.
   */
  private def composed(set: RelSet): Double = {
    val last = set.max
    val rest = set - RelSet.single(last)
    var near = limited(joined(last) & rest)
    var more = true
    while (more && near.size < largest - 1) {
      val wider = limited(near | (near.toVector.map(joined(_)).foldLeft(RelSet.empty)(_ | _) & rest))
      more = wider.bits != near.bits
      near = wider
    }
    if (near.isEmpty) rowsOf(rest) * rows(last)
    else {
      val base = rowsOf(near)
      if (base <= 0.0) 0.0 else rowsOf(rest) * rowsOf(near | RelSet.single(last)) / base
    }
  }

  private def limited(set: RelSet): RelSet = RelSet(set.toVector.take(largest - 1): _*)

  /** A relation, its parent in the join tree, and the classes that join the two. */
  private case class Edge(relation: Int, parent: Int, classes: Vector[Int])

  /**
   * A join tree: the tree whose edges share the most classes. It has every class in one connected piece if any tree has
   * (Bernstein and Goodman 1981). Its root is the relation whose rows lay together, otherwise that with the largest
   * sample.
   */
  private def arranged(relations: Vector[Int]): Vector[Edge] = {
    val root = relations.maxBy(r => (samples(r).clustered, samples(r).rows, -r))
    val tree = mutable.ArrayBuffer(Edge(root, NoParent, Vector.empty))
    val left = relations.filter(_ != root).sorted.toBuffer
    while (left.nonEmpty) {
      val next = (for (r <- left.iterator; t <- tree.iterator)
        yield Edge(r, t.relation, classesOf(r).filter(classesOf(t.relation).contains)))
        .reduce((a, b) => if (b.classes.size > a.classes.size) b else a)
      tree += (if (next.classes.isEmpty) next.copy(parent = NoParent) else next)
      left -= next.relation
    }
    tree.toVector
  }

  private def counted(tree: Vector[Edge]): Double = math.min(ofTrees(tree) * unenforced(tree), Estimate.Ceiling)

  private def ofTrees(tree: Vector[Edge]): Double = tree.filter(_.parent == NoParent).map { root =>
    total(weighted(rooted(tree, root.relation))) * rows(root.relation) / samples(root.relation).rows
  }.product

  /** The same tree with this relation as its root. */
  private def rooted(tree: Vector[Edge], root: Int): Node = {
    def below(relation: Int, above: Int): Vector[Node] = tree.collect {
      case e if e.parent == relation && e.relation != above                         => node(e.relation, relation, e)
      case e if e.relation == relation && e.parent != above && e.parent != NoParent => node(e.parent, relation, e)
    }
    def node(relation: Int, above: Int, by: Edge): Node = Node(relation, by.classes, below(relation, above))
    Node(root, Vector.empty, below(root, NoParent))
  }

  /**
   * Share of the combinations kept by equalities that are on no edge of the tree. Only cyclic joins have such
   * equalities.
   */
  private def unenforced(tree: Vector[Edge]): Double = graph.classes.map { c =>
    val pieces = apart(tree, c)
    pieces.drop(1).map(meeting(tree, pieces.head, _, c.index)).product
  }.product

  /** The first relation of each piece of the tree that has the class; the pieces are not connected by the class. */
  private def apart(tree: Vector[Edge], c: EquivalenceClass): Vector[Int] =
    tree.filter(e => c.relations.contains(e.relation) && !e.classes.contains(c.index)).map(_.relation)

  /**
   * Share of the combinations in which two relations have the same key. The keys that each relation has in the join by
   * the other equalities are assumed to be independent. The sampled pairs of rows that met are combined with a prior of
   * one pair that met among as many pairs as the domain has values (a gamma prior). The prior matters if there are too
   * few pairs to meet.
   */
  private def meeting(tree: Vector[Edge], left: Int, right: Int, of: Int): Double = {
    val domain = math.max(domainOf(of), 1.0)
    if (tree.exists(e => samples(e.relation).clustered)) 1.0 / domain
    else metOnSamples(tree, left, right, of, domain)
  }

  private def metOnSamples(tree: Vector[Edge], left: Int, right: Int, of: Int, domain: Double): Double = {
    val (weights, others)         = (weighted(rooted(tree, left)), weighted(rooted(tree, right)))
    val keys                      = groupsOf(right, Vector(of))
    val (partner, sums)           = (keys.find(samples(left)), new Array[Double](keys.numbers))
    var (i, met, squares, theirs) = (0, 0.0, 0.0, 0.0)
    while (i < others.length) {
      val g = keys.ofRow(i)
      if (g >= 0) sums(g) += others(i)
      theirs += others(i) * others(i)
      i += 1
    }
    i = 0
    while (i < weights.length) {
      if (partner(i) >= 0) met += weights(i) * sums(partner(i))
      squares += weights(i) * weights(i)
      i += 1
    }
    // pairs of rows of equal weight that give as much information (Kish 1965), and the share of them that met
    val all   = total(weights) * total(others)
    val pairs = if (squares * theirs > 0.0) all / squares * (all / theirs) else 0.0
    if (pairs > 0.0) (pairs * (met / all) + 1.0) / (pairs + domain) else 1.0 / domain
  }

  /** For each row of the node's sample, the number of combinations of the relations below that it joins with. */
  private def weighted(node: Node): Array[Double] = {
    val weights = new Array[Double](samples(node.relation).rows)
    java.util.Arrays.fill(weights, 1.0)
    node.children.foreach { child =>
      val message  = messages.getOrElse(child, kept(child, messageOf(child)))
      val partners = found.getOrElseUpdate(
        (node.relation, child.relation, child.classes),
        partnersOf(groupsOf(child), samples(node.relation))
      )
      message.multiply(weights, partners)
    }
    weights
  }

  /** Keeps a message. Each has some numbers per key of the whole sample, and a set may have thousands of messages. */
  private def kept(node: Node, message: KeyMessage): KeyMessage = {
    keptNumbers += groupsOf(node).numbers
    if (keptNumbers > MostNumbers) { messages.clear(); keptNumbers = groupsOf(node).numbers.toLong }
    messages(node) = message
    message
  }

  private def partnersOf(keys: KeyGroups, parent: RelationSample): KeyMessage.Partners =
    new KeyMessage.Partners(keys.find(parent), keys.numbers)

  private def groupsOf(node: Node): KeyGroups = groupsOf(node.relation, node.classes)

  private[size] def groupsOf(relation: Int, by: Vector[Int]): KeyGroups =
    groups.getOrElseUpdate((relation, by), new KeyGroups(samples(relation), by.toArray))

  private def messageOf(node: Node): KeyMessage = {
    val (sample, keys, weights) = (samples(node.relation), groupsOf(node), weighted(node))
    val sums                    = new Array[Double](keys.numbers)
    var i                       = 0
    while (i < weights.length) { val g = keys.ofRow(i); if (g >= 0) sums(g) += weights(i); i += 1 }
    val message =
      if (sample.complete || keys.kept.rows == 0.0) new KeyMessage.Exact(sums) else expected(node, keys, weights, sums)
    // scales the rows known to be in the sample to the estimated rows of the relation: predicates that could not be run
    // on the sample remove further rows
    message.scaled(rows(node.relation) * fractionOf(node.relation) / sample.rows)
  }

  private def expected(node: Node, keys: KeyGroups, weights: Array[Double], sums: Array[Double]): KeyMessage = {
    val outside = math.min(beyond(node, keys), keptPerKey(node, keys)) * total(sums) / keys.kept.rows
    // the mean combinations of kept rows near a key, times the share of the drawn rows that is kept
    val local = for {
      runs  <- keys.runs if node.children.nonEmpty
      means <- runs.means(weights, keys.ofRow)
    } yield runs.runOf.map(means(_) * keys.kept.rows / keys.drawn.rows)
    KeyMessage.Expectation(sums, keys.drawn, undrawn(node, keys), outside, local)
  }

  private def undrawn(node: Node, keys: KeyGroups): UndrawnRows =
    new UndrawnRows(keys.drawn.rows, keys.drawn.squares, fractionOf(node.relation), domainWithin(node, keys))

  /** Kept rows of the table per key within the range of the kept keys. */
  private def keptPerKey(node: Node, keys: KeyGroups): Double =
    keys.kept.rows / fractionOf(node.relation) / domainWithin(node, keys)

  /**
   * Kept rows of the table per key outside the range of the kept keys: outside the smallest and the largest of n draws
   * lies one part in n + 1 on either side.
   */
  private def beyond(node: Node, keys: KeyGroups): Double = {
    val within = domainWithin(node, keys)
    2.0 / (keys.kept.rows + 1.0) * (keys.kept.rows / fractionOf(node.relation)) /
      math.max(domainOf(node.classes.head) - within, within)
  }

  /**
   * Share of a relation's table that was drawn, of a sample that is not complete. If the table has grown since, this is
   * a share of its present rows.
   */
  private[size] def fractionOf(relation: Int): Double = {
    val sample = samples(relation)
    if (sample.complete) sample.fraction
    else {
      val present = math.max(graph.relations(relation).profile.baseRows, 1.0)
      math.min(math.min(sample.fraction, sample.drawn.size / present), MostDrawn)
    }
  }

  /** Rows of the table that the kept rows of a sample stand for. */
  private[size] def sampledRows(relation: Int): Double = samples(relation).rows / fractionOf(relation)

  private def countedTogether(node: Node): Option[Double] =
    if (node.classes.forall(graph.classes.indices.contains)) graph.groupNdv(node.relation, node.classes) else None

  /**
   * Number of keys that other relations may ask for within the range of the kept keys; at least as many as were drawn,
   * and at least 1.
   */
  private def domainWithin(node: Node, keys: KeyGroups): Double = {
    val table  = math.max(graph.relations(node.relation).profile.baseRows, 1.0)
    val domain =
      if (node.classes.size == 1) domainOf(node.classes.head)
      else countedTogether(node).getOrElse(math.min(Assumptions.jointNdv(node.classes.map(domainOf(_))), table))
    val within = keys.line.fold(domain) { case (low, high) => math.min(domain, high.toDouble - low.toDouble + 1.0) }
    math.max(within, math.max(keys.drawn.filled.toDouble, 1.0))
  }
}

private[size] object SampleJoins {

  /**
   * A relation with its subtree, and the classes that join it with its parent: everything that a message depends on.
   */
  final case class Node(relation: Int, classes: Vector[Int], children: Vector[Node]) {
    override val hashCode: Int = scala.runtime.ScalaRunTime._hashCode(this)
  }

  // without the boxing of `sum` and `map`

  def total(values: Array[Double]): Double = {
    var t = 0.0
    var i = 0
    while (i < values.length) { t += values(i); i += 1 }
    t
  }

  def changed(values: Array[Double])(f: Double => Double): Array[Double] = {
    val result = new Array[Double](values.length)
    var i      = 0
    while (i < values.length) { result(i) = f(values(i)); i += 1 }
    result
  }

  /** The parent of a root. */
  val NoParent = -1

  /**
   * Factor by which a count on partial samples is raised. An estimate that is too low costs more than one that is too
   * high by the same factor, because it leads to plans that rely on few rows. So a typical count is moved to the safe
   * side, by less than it is usually off.
   */
  val Lean = 1.05

  /** Keys of all messages that are kept, 16 to 32 bytes each: at most 32 MB. */
  val MostNumbers = 1000000L

  /** Maximum number of rows visited for the sizes of one join group: some 50 milliseconds. */
  val MaxVisits = 1.5e7

  /**
   * Largest share of a table that a sample which is not complete stands for. If it has more of the rows, the table may
   * have changed since, and a tenth of its rows counts as never seen, so that keys which are not in the sample are
   * still possible.
   */
  val MostDrawn = 0.9
}
