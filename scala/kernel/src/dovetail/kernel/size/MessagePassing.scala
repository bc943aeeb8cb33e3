package dovetail.kernel.size

import java.lang.ref.SoftReference

import scala.collection.mutable

import dovetail.kernel.graph.JoinGraph
import dovetail.kernel.profile.{KeyFigures, RelationSample}
import dovetail.kernel.size.SampleTree.Node

/**
 * Passes messages along a [[SampleTree]], from the leaves to the root: every relation sends its parent, for each key,
 * the number of combinations of the relations below it ([[KeyMessage]]). Messages are kept, because the trees of other
 * sets have the same subtrees.
 *
 * @param samples  sample of each relation, or null
 * @param rows     estimated rows of each relation
 * @param domainOf domain of each class, and of each equality of an operator after them
 */
final private[size] class MessagePassing(
    graph: JoinGraph,
    samples: Array[RelationSample],
    rows: Array[Double],
    domainOf: Array[Double]
) {
  import MessagePassing._

  // soft, because it can be made again: a server may plan many queries at a time, and each has its own
  private var results = new SoftReference(new Results)

  private def memo: Results = Option(results.get).getOrElse {
    val again = new Results
    results = new SoftReference(again)
    again
  }

  /** For each row of the node's sample, the number of combinations of the relations below that it joins with. */
  def weighted(node: Node): Array[Double] = {
    val weights = new Array[Double](samples(node.relation).rows)
    java.util.Arrays.fill(weights, 1.0)
    node.children.foreach { child =>
      val message = memo.messages.getOrElse(child, keep(child, messageOf(child)))
      message.multiply(weights, partnersIn(node.relation, child))
    }
    weights
  }

  /**
   * The same for rows whose partners next to the node were drawn, and 0 for others. A partner that may exist beyond the
   * drawn ones is an estimate: it is alike in all places of a sample, and tells nothing of how they differ.
   */
  def weightedByDrawn(node: Node): Array[Double] =
    dropped(node, weighted(node)) { child =>
      val sizes = groupsOf(child).kept.sizes
      group => group < 0 || sizes(group) <= 0
    }

  /** For each row of the node's sample, 1 if it is known whether it has drawn partners, and 0 otherwise. */
  def toldByDrawn(node: Node): Array[Double] = {
    val all = new Array[Double](samples(node.relation).rows)
    java.util.Arrays.fill(all, 1.0)
    dropped(node, all) { child =>
      val complete = samples(child.relation).complete
      group => group <= KeyGroups.Unseen && !complete
    }
  }

  /** The values of rows, 0 for those of which the group in a child passes the test. */
  private def dropped(node: Node, values: Array[Double])(testOf: Node => Int => Boolean): Array[Double] = {
    node.children.foreach { child =>
      val (groups, test) = (partnersIn(node.relation, child).groups, testOf(child))
      var i              = 0
      while (i < values.length) { if (test(groups(i))) values(i) = 0.0; i += 1 }
    }
    values
  }

  /** The key of the child for each row of the parent's sample. They are kept, too. */
  def partnersIn(parent: Int, child: Node): KeyMessage.Partners = {
    val edge = (parent, child.relation, child.classes)
    memo.found.getOrElse(edge, memo.add(edge, samples(parent).rows, partnersOf(groupsOf(child), samples(parent))))
  }

  /** Keeps a message. Each has some numbers per key of the whole sample, and a set may have thousands of messages. */
  private def keep(node: Node, message: KeyMessage): KeyMessage = memo.add(node, groupsOf(node).numbers, message)

  def partnersOf(keys: KeyGroups, parent: RelationSample): KeyMessage.Partners =
    new KeyMessage.Partners(keys.find(parent), keys.numbers)

  def groupsOf(node: Node): KeyGroups = groupsOf(node.relation, node.classes)

  def groupsOf(relation: Int, by: Vector[Int]): KeyGroups =
    memo.groups.getOrElseUpdate((relation, by), new KeyGroups(samples(relation), by.toArray))

  /** Figures on the kept rows of a relation by their keys. */
  def figuresOf(relation: Int, by: Vector[Int]): KeyFigures = {
    val sample = samples(relation)
    sample.memo.figures(KeyGroups.columnOf(sample, by.toArray), sample.kept, groupsOf(relation, by).kept.figures)
  }

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

  def undrawn(node: Node, keys: KeyGroups): UndrawnRows =
    new UndrawnRows(keys.drawn.rows, keys.drawn.squares, fractionOf(node.relation), domainWithin(node, keys))

  /** Kept rows of the table per key within the range of the kept keys. */
  private def keptPerKey(node: Node, keys: KeyGroups): Double =
    keys.kept.rows / fractionOf(node.relation) / domainWithin(node, keys)

  /**
   * Kept rows of the table per key outside the range of the kept keys: outside the smallest and the largest of n draws
   * lies one part in n + 1 on either side.
   */
  def beyond(node: Node, keys: KeyGroups): Double = {
    val within = domainWithin(node, keys)
    2.0 / (keys.kept.rows + 1.0) * (keys.kept.rows / fractionOf(node.relation)) /
      math.max(domainOf(node.classes.head) - within, within)
  }

  /**
   * Share of a relation's table that was drawn, of a sample that is not complete. If the table has grown since, this is
   * a share of its present rows.
   */
  def fractionOf(relation: Int): Double = {
    val sample = samples(relation)
    if (sample.complete) sample.fraction
    else {
      val present = math.max(graph.relations(relation).profile.baseRows, 1.0)
      math.min(math.min(sample.fraction, sample.drawn.size / present), MostDrawn)
    }
  }

  /** Rows of the table that the kept rows of a sample stand for. */
  def sampledRows(relation: Int): Double = samples(relation).rows / fractionOf(relation)

  /**
   * Number of keys that other relations may ask for within the range of the kept keys; at least as many as were drawn,
   * and at least 1.
   */
  private def domainWithin(node: Node, keys: KeyGroups): Double = {
    val domain = if (node.classes.size == 1) domainOf(node.classes.head) else jointDomain(node)
    val within = keys.line.fold(domain) { case (low, high) => math.min(domain, high.toDouble - low.toDouble + 1.0) }
    math.max(within, math.max(keys.drawn.filled.toDouble, 1.0))
  }

  /**
   * Combinations of several keys that relations may ask for: those of the relation that has most of them, if they are
   * clearly more than the node's own. Nearly all deliveries of a match ask for a wicket that does not exist.
   */
  private def jointDomain(node: Node): Double = {
    val single                              = node.classes.map(domainOf(_))
    val ofClasses                           = node.classes.forall(graph.classes.indices.contains)
    def counted(r: Int)                     = if (ofClasses) graph.groupNdv(r, node.classes) else None
    def known(r: Int)                       = node.classes.flatMap(graph.classes(_).memberOf(r)).map(_.column.domain)
    def joint(r: Int, domains: Seq[Double]) =
      EqualityShare.jointDomain(counted(r), domains, math.max(graph.relations(r).profile.baseRows, 1.0))
    // combinations of a relation of whose columns nothing is known say nothing
    val others = if (!ofClasses) Vector.empty
    else graph.classes(node.classes.head).relations.filter(_ != node.relation).map(r => r -> known(r)).collect {
      case (r, domains) if domains.size == node.classes.size && (counted(r).isDefined || domains.forall(_.isDefined)) =>
        joint(r, domains.zip(single).map { case (own, ofClass) => own.getOrElse(ofClass) })
    }
    val own  = joint(node.relation, single)
    val most = others.foldLeft(own)(math.max)
    if (most > MuchMore * own) most else own
  }
}

private[size] object MessagePassing {

  /** What was computed before: the groups of keys, the keys that parents ask for, and messages. */
  final private class Results {
    val groups              = mutable.HashMap.empty[(Int, Vector[Int]), KeyGroups]
    val found               = mutable.HashMap.empty[(Int, Int, Vector[Int]), KeyMessage.Partners]
    val messages            = mutable.HashMap.empty[Node, KeyMessage]
    private var keptNumbers = 0L
    private var keptRows    = 0L

    def add(edge: (Int, Int, Vector[Int]), rows: Int, partners: KeyMessage.Partners): KeyMessage.Partners = {
      keptRows += rows
      if (keptRows > MostRows) { found.clear(); keptRows = rows.toLong }
      found(edge) = partners
      partners
    }

    def add(node: Node, numbers: Int, message: KeyMessage): KeyMessage = {
      keptNumbers += numbers
      if (keptNumbers > MostNumbers) { messages.clear(); keptNumbers = numbers.toLong }
      messages(node) = message
      message
    }
  }

  // without the boxing of `sum` and `map`

  def total(values: Array[Double]): Double = {
    var t = 0.0
    var i = 0
    while (i < values.length) { t += values(i); i += 1 }
    t
  }

  def squares(values: Array[Double]): Double = {
    var t = 0.0
    var i = 0
    while (i < values.length) { t += values(i) * values(i); i += 1 }
    t
  }

  /** Number of rows of equal weight that tell as much as rows of these weights (Kish 1965). */
  def alike(weights: Array[Double]): Double = {
    val squared = squares(weights)
    if (squared.isInfinite) weights.length.toDouble
    else if (squared > 0.0) total(weights) / squared * total(weights)
    else 0.0
  }

  def changed(values: Array[Double])(f: Double => Double): Array[Double] = {
    val result = new Array[Double](values.length)
    var i      = 0
    while (i < values.length) { result(i) = f(values(i)); i += 1 }
    result
  }

  /** Factor by which numbers of combinations that are estimated from samples of the same keys may differ. */
  private val MuchMore = 2.0

  /**
   * Bytes of what one object keeps: enough for messages of thousands of sets. It is a small part of the heap, because
   * several queries are planned at a time.
   */
  private val MostBytes = math.min(48L * 1024 * 1024, Runtime.getRuntime.maxMemory / 64L)

  /** Keys of all messages that are kept, 16 to 32 bytes each: two thirds of the bytes. */
  private val MostNumbers = MostBytes * 2L / 3L / 32L

  /** Rows of all pairs of a parent and a child that are kept, 4 bytes each: a third of the bytes. */
  private val MostRows = MostBytes / 3L / 4L

  /**
   * Largest share of a table that a sample which is not complete stands for. If it has more of the rows, the table may
   * have changed since, and a tenth of its rows counts as never seen, so that keys which are not in the sample are
   * still possible.
   */
  private val MostDrawn = 0.9
}
