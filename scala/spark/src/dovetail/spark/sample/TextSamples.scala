package org.apache.spark.sql.dovetail.sample

import java.util.IdentityHashMap

import org.apache.spark.sql.catalyst.plans.logical.LeafNode
import org.apache.spark.sql.dovetail.base.{BoundedCache, DovetailConf, FailOpen, HeapLimit}
import org.apache.spark.sql.dovetail.base.FailOpen.Survivable
import org.apache.spark.sql.dovetail.deadline.Retry
import org.apache.spark.sql.dovetail.footers.{FooterReading, FooterStatistics}
import org.apache.spark.sql.dovetail.leaf.LeafNames
import org.apache.spark.sql.dovetail.table.{PrivateColumns, TableSample}
import org.apache.spark.sql.internal.SQLConf

/**
 * Samples of CSV and JSON files. The lines are read while a query is planned ([[TextSample]]), and cached for later
 * queries. One instance serves one run of the rule. It reads in the time that the footers have left.
 */
final class TextSamples(footers: FooterStatistics, settings: ReaderSettings, conf: SQLConf) {
  import TextSamples._

  private val enabled = DovetailConf.SampleFiles.get(conf)
  private val privacy = PrivateColumns(conf)
  private val asked   = new IdentityHashMap[LeafNode, Option[(TextFiles, TextFiles.Key)]]

  /** The files of a leaf and the statistics from their lines, if they have been read in time. */
  def apply(leaf: LeafNode): Option[(TextFiles, TextTable)] = {
    if (!asked.containsKey(leaf)) readAhead(Seq(leaf))
    found(leaf)
  }

  /** The sample of a leaf, if it has been requested before. */
  def sample(leaf: LeafNode): Option[TableSample] =
    if (asked.containsKey(leaf)) found(leaf).map(_._2.sample).filter(_.schema.nonEmpty) else None

  private def found(leaf: LeafNode): Option[(TextFiles, TextTable)] =
    for ((text, key) <- asked.get(leaf); kept <- cached(key); found <- kept.table) yield (text, found)

  def readAhead(leaves: Seq[LeafNode]): Unit = {
    val found   = leaves.filterNot(asked.containsKey).flatMap(list)
    val missing = found.filter(f => cached(f._2).isEmpty).groupBy(_._2).toVector.map(_._2.head)
    // in the order of the query
    footers.within(found.filter(missing.contains(_)).map { case (text, key) =>
      new FooterReading.Task(text.place, text.getClass, _ => known.put(key, read(text, key)))
    })
  }

  private def list(leaf: LeafNode): Option[(TextFiles, TextFiles.Key)] = {
    val files =
      try if (enabled && TextFiles.possible(leaf)) TextFiles.listed(leaf, conf)(!privacy(leaf, _)) else None
      catch { case Survivable(e) => warn(LeafNames.name(leaf), e); None }
    val text = files.map(t => (t, t.key(settings)))
    asked.put(leaf, text)
    text
  }

  private def read(text: TextFiles, key: TextFiles.Key): CachedTable =
    try new CachedTable(key, TextSample.read(text))
    catch { case Survivable(e) => warn(text.place, e); new CachedTable(key, None, Retry.after(e)) }
}

private object TextSamples {

  /**
   * @param table None if the files could not be read
   * @param until when to read them again then ([[Retry]])
   */
  final private class CachedTable(
      key: TextFiles.Key,
      val table: Option[TextTable],
      val until: Option[Long] = None
  ) {
    val bytes: Long = Overhead + key.bytes + table.fold(0L)(_.bytes)
  }

  /** Largest number of bytes in the cache: some 80 tables with 20,000 rows of four columns. */
  private val MostBytes = HeapLimit(64L * 1024 * 1024, part = 20L)

  /** Bytes of an entry without its key and its rows. */
  private val Overhead = 512L

  private val known = new BoundedCache[TextFiles.Key, CachedTable]("rows of text files", MostBytes)(_.bytes)

  private def cached(key: TextFiles.Key): Option[CachedTable] = known.get(key).filterNot(t => Retry.isDue(t.until))

  private def warn(place: String, e: Throwable): Unit = FailOpen.warnOnce(
    s"text $place",
    s"Lines of $place cannot be read for estimates. The size of the files is used instead: ${e.getClass.getName}"
  )
}
