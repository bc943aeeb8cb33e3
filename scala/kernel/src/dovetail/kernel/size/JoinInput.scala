package dovetail.kernel.size

import dovetail.kernel.graph.{ForeignKeys, JoinGraph}
import dovetail.kernel.profile.{ColumnProfile, CumulativeShare, Estimate, Frequencies, ImpliedRange}

/**
 * A column of a relation in one equivalence class, with the properties that the size formulas need.
 *
 * @param classIndex index of the class
 * @param domain     distinct values that the column draws from, before predicates on other columns; at least 1
 * @param known      whether the column's own domain is known; otherwise `domain` is that of the class, at most the rows
 *                   of the table
 * @param unique     whether the known domain is nearly as large as the table, so that the column looks like a key
 * @param nonNull    share of its values that are not NULL, 0 to 1
 * @param repetition degree to which it repeats its values, from 0 for a key to nearly 1, if their frequencies are
 *                   unknown
 * @param low        lower end of its range, NaN if unknown
 * @param high       upper end of its range, NaN if unknown
 * @param frequent   frequent values of the column, if known
 * @param unseen     share of the rows that were added after its range was known, 0 to 1
 * @param shares     where its values lie, if known; otherwise they are taken as spread evenly over the range
 * @param rangeRows  rows of the table in its range, if predicates have narrowed the range
 * @param rangeShare the same as a share of the table's rows, 1 if they have not
 * @param most       maximum rows of the table with one value; infinite if nobody has counted them
 * @param implied    whether the range is what the range of another key of the relation leaves ([[ImpliedKeys]])
 */
final private[size] case class JoinKey(
    classIndex: Int,
    domain: Double,
    known: Boolean = true,
    unique: Boolean = false,
    nonNull: Double = 1.0,
    repetition: Double = 0.0,
    low: Double = Double.NaN,
    high: Double = Double.NaN,
    frequent: Option[Frequencies] = None,
    unseen: Double = 0.0,
    most: Double = Double.PositiveInfinity,
    shares: Option[CumulativeShare] = None,
    rangeRows: Option[Double] = None,
    rangeShare: Double = 1.0,
    implied: Boolean = false
) {

  /**
   * Share of its domain that is left if only a range of another key of its relation counts.
   *
   * @param restriction share of the other key's values that counts
   */
  def alongOthers(tableRows: Double, restriction: Double): Double =
    if (implied) 1.0 else EqualityShare.alongRange(domain, tableRows, restriction)

  /**
   * The key in the range that the range of another key of its relation implies.
   *
   * @param narrowed least share of a table to which predicates have narrowed that other range
   */
  def within(range: ImpliedRange, narrowed: Double): JoinKey = {
    val (lo, hi) = (if (low > range.low) low else range.low, if (high < range.high) high else range.high)
    if (lo > hi) this
    else
      copy(
        domain = if (lo == hi) 1.0 else math.max(1.0, domain * range.share),
        low = lo,
        high = hi,
        rangeShare = math.min(rangeShare, narrowed),
        implied = true
      )
  }
}

/**
 * A relation of a join graph, with the properties that the size formulas need.
 *
 * @param rows      estimated rows that its predicates leave; at least 1
 * @param tableRows rows before its predicates; at least 1
 * @param mostRows  upper bound of its rows; at least 1
 * @param keys      its columns in equivalence classes, by ascending class
 * @param composite whether another relation shares two or more classes with it
 */
final private[size] case class JoinInput(
    rows: Double,
    tableRows: Double,
    mostRows: Double,
    keys: Array[JoinKey],
    composite: Boolean
) {

  /**
   * Rows of a join with this relation, estimated cautiously: without the relation's own predicates.
   *
   * A key that looks unique adds no rows. If a key is unique among the rows before, these meet as many rows as the key
   * has on average; but few of them may meet the most frequent values, and then all rows of this relation. If a key
   * repeats on both sides, the most frequent value of this relation may be that of all rows before.
   *
   * @param before rows joined before
   * @param bound  classes of the relations that were joined before
   */
  def cautiousRows(before: Double, bound: JoinInput.Bound): Double = {
    var unique   = false
    var partners = mostRows
    var k        = 0
    while (k < keys.length) {
      val key = keys(k)
      if (bound.isBound(key.classIndex)) {
        if (key.unique) unique = true
        else if (bound.isRepeated(key.classIndex)) partners = math.min(partners, math.max(1.0, key.most))
        else if (key.known)
          partners = math.min(partners, math.max(1.0, key.rangeRows.getOrElse(tableRows) / key.domain))
      }
      k += 1
    }
    if (unique) before else math.min(math.max(before * partners, mostRows), Estimate.Ceiling)
  }
}

private[size] object JoinInput {

  /** Classes of the relations that are joined already. */
  trait Bound {
    def isBound(classIndex: Int): Boolean

    /** Whether one of these relations has a key of the class that does not look unique. */
    def isRepeated(classIndex: Int): Boolean
  }

  /** The relations of a graph, in their order. */
  def inputsOf(graph: JoinGraph): Array[JoinInput] = graph.relations.indices.map(inputOf(graph, _)).toArray

  private def inputOf(graph: JoinGraph, relation: Int): JoinInput = {
    val profile   = graph.relations(relation).profile
    val tableRows = math.max(profile.baseRows, 1.0)
    val classes   = graph.classesOf(relation)
    val partners  = classes.flatMap(graph.classes(_).relations.filter(_ != relation))
    JoinInput(
      rows = math.max(profile.rows.value, 1.0),
      tableRows = tableRows,
      mostRows = math.max(profile.rows.upper, 1.0),
      keys = classes.map(keyOf(graph, relation, tableRows, _)).toArray,
      composite = partners.groupBy(identity).exists(_._2.size > 1)
    )
  }

  private def keyOf(graph: JoinGraph, relation: Int, tableRows: Double, classIndex: Int): JoinKey = {
    val of      = graph.classes(classIndex)
    val column  = of.memberOf(relation).get.column
    val counted = ForeignKeys.isCounted(column, tableRows)
    JoinKey(
      classIndex,
      domain = math.max(1.0, column.domain.getOrElse(math.min(tableRows, of.domain(graph.relations)))),
      known = column.domain.isDefined && counted,
      unique = column.isLikeKey(tableRows) && counted,
      nonNull = column.nonNull,
      repetition = column.repetition,
      low = column.min.getOrElse(Double.NaN),
      high = column.max.getOrElse(Double.NaN),
      frequent = column.frequent,
      unseen = column.unseen,
      most = mostRows(column, tableRows),
      shares = column.distribution.map(_.shares),
      rangeRows = column.rangeRows,
      rangeShare = column.rangeShare(tableRows)
    )
  }

  /** Maximum rows with one value: as certain, else as many as the most frequent value has. */
  private def mostRows(column: ColumnProfile, tableRows: Double): Double = {
    val frequent = column.frequent.flatMap(_.values.headOption).map(_.share * column.rangeRows.getOrElse(tableRows))
    (column.degree ++ frequent).reduceOption(_ min _).getOrElse(Double.PositiveInfinity)
  }
}
