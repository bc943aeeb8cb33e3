package org.apache.spark.sql.dovetail.footers

import java.util.IdentityHashMap

import dovetail.kernel.profile.{ImpliedRange, RelationProfile}
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
import org.apache.spark.sql.catalyst.plans.logical.LeafNode
import org.apache.spark.sql.dovetail.base.{DovetailConf, FailOpen}
import org.apache.spark.sql.dovetail.base.FailOpen.Survivable
import org.apache.spark.sql.dovetail.deadline.{ListedFiles, PlanningTime}
import org.apache.spark.sql.execution.datasources.FileIndex
import org.apache.spark.sql.internal.SQLConf

/**
 * Statistics of the leaves of a plan from the footers of their files, for `stats.LeafStatistics`. One object serves one
 * run of the rule, and waits for files no longer than the settings allow.
 *
 * @param name gives a leaf's name for messages
 */
final class FooterStatistics(conf: SQLConf, name: LeafNode => String) {
  private val enabled   = DovetailConf.FootersEnabled.get(conf)
  private val maxMillis = DovetailConf.FootersMaxMs.get(conf)
  private val reading   = new FooterReading(maxMillis)
  private val listed    = new IdentityHashMap[LeafNode, Option[TableFooters]]

  // a query may read a table of a hundred thousand files a hundred times
  private val files = new IdentityHashMap[FileIndex, Option[Vector[ListedFiles.File]]]

  /**
   * Reads the footers of all leaves at once, in parallel and within one common time limit.
   *
   * @param wanted columns that the plan references; hints of distinct values are read only for these
   */
  def readAhead(leaves: Seq[LeafNode], wanted: AttributeSet): Unit =
    reading.read(leaves.filterNot(listed.containsKey).flatMap(list).map(_.request(wanted)))

  /**
   * Reads the footers of a leaf for which nothing was read yet, unless it has more than so many files. This is for a
   * leaf with other statistics, of which only the places of the rows are missing.
   */
  def readFew(leaf: LeafNode, files: Int): Unit = if (!listed.containsKey(leaf)) {
    list(leaf) match {
      case Some(table) if table.size <= files => reading.read(Seq(table.request(AttributeSet.empty)))
      case _                                  => listed.remove(leaf); ()
    }
  }

  /** Profile of some columns of a leaf; None if it does not read files, or if no footer could be read. */
  def apply(leaf: LeafNode, columns: Seq[Attribute]): Option[RelationProfile] = {
    if (!listed.containsKey(leaf)) readAhead(Seq(leaf), leaf.outputSet)
    listed.get(leaf).flatMap(_.profile(columns))
  }

  /** Row groups that have the rows of the leaf, if they are known. */
  def rowGroups(leaf: LeafNode): Option[RowGroups] = Option(listed.get(leaf)).flatten.flatMap(_.rowGroups)

  /**
   * Ranges of some columns of a leaf in the row groups that predicates leave, as far as footers were read.
   *
   * @param ranges ends of the values of other columns for which the predicates may be true
   */
  def implied(
      leaf: LeafNode,
      ranges: Seq[(Attribute, (Double, Double))],
      columns: Seq[Attribute]
  ): Map[Attribute, ImpliedRange] =
    Option(listed.get(leaf)).flatten.fold(Map.empty[Attribute, ImpliedRange])(_.implied(ranges, columns))

  /** Share of a leaf's rows in row groups that may have values of a column between two numbers, if it is known. */
  def between(leaf: LeafNode, column: Attribute, low: Double, high: Double): Option[Double] =
    table(leaf).flatMap(_.between(column, low, high))

  /** The smallest and the largest value of a column in all files of a leaf, if they are known for certain. */
  def range(leaf: LeafNode, column: Attribute): Option[(Double, Double)] = table(leaf).flatMap(_.range(column))

  /** The footers of a leaf, read for no column in particular. */
  private def table(leaf: LeafNode): Option[TableFooters] = {
    if (!listed.containsKey(leaf)) readAhead(Seq(leaf), AttributeSet.empty)
    Option(listed.get(leaf)).flatten
  }

  /**
   * Runs other reads of files in the time that is left.
   *
   * @param urgent tasks for which the first query of a JVM waits beyond its budget
   * @param others further tasks, determined when the urgent ones are done
   * @param spare  tasks that come last, and that nobody misses if there is no time for them
   */
  def within(
      urgent: Seq[FooterReading.Task],
      others: => Seq[FooterReading.Task] = Nil,
      spare: => Seq[FooterReading.Task] = Nil
  ): Unit = {
    val first  = reading.run(urgent)
    val more   = others
    val unread = first + reading.run(more, urgent = false)
    reading.run(spare, urgent = false, patient = false)
    if (unread > 0 && maxMillis > 0L)
      PlanningTime.cut(s"rows of $unread of ${urgent.size + more.size} tables were not read in time")
  }

  private def list(leaf: LeafNode): Option[TableFooters] = {
    PlanningTime.check()
    val found =
      try if (enabled) TableFooters.listed(name(leaf), leaf, conf.caseSensitiveAnalysis, filesOf(_)) else None
      catch {
        case Survivable(e) =>
          FailOpen.warnOnce(
            s"listing ${name(leaf)}",
            s"The files of ${name(leaf)} cannot be listed to read their footers. Its size is used instead: $e"
          )
          None
      }
    listed.put(leaf, found)
    found
  }

  private def filesOf(index: FileIndex): Option[Vector[ListedFiles.File]] =
    files.computeIfAbsent(index, ListedFiles(_).map(ListedFiles.withRows))
}
