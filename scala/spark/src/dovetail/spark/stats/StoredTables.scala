package org.apache.spark.sql.dovetail.stats

import java.util.IdentityHashMap
import java.util.concurrent.{ConcurrentHashMap, FutureTask}

import scala.collection.mutable.HashMap

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LeafNode
import org.apache.spark.sql.dovetail.base.{BoundedCache, FailOpen, HeapLimit}
import org.apache.spark.sql.dovetail.base.FailOpen.Survivable
import org.apache.spark.sql.dovetail.deadline.{Aside, ListedFiles, PlanningTime}
import org.apache.spark.sql.dovetail.leaf.{GivenRows, HiddenRows, LeafNames}
import org.apache.spark.sql.dovetail.sketch.TableSketch
import org.apache.spark.sql.dovetail.store.{DataFile, StatisticsStore, StoredTable, TableFile, TableKey}
import org.apache.spark.sql.dovetail.table.{Counting, TableStatistics, TableStatisticsSource, UnreadFiles}
import org.apache.spark.sql.execution.datasources.{FileIndex, HadoopFsRelation, LogicalRelation}

/**
 * [[TableStatisticsSource]] of the store: statistics of exactly the files that a leaf still reads.
 *
 * If all of these files were read and no others, the result is the statistics of the whole table. If only some
 * partitions are left, it is the merge of their parts, which stays in memory for the next query. If files were added or
 * changed since, the parts that still hold are scaled to the bytes that exist now, and the result is not fresh.
 *
 * One object serves one planning run, which asks for a leaf several times. It lists the leaf's files once.
 *
 * @param beside another look at the store, which is made in the same thread: a thread costs more than a look
 */
final class StoredTables(session: SparkSession, beside: () => Unit = () => ()) extends TableStatisticsSource {
  private val found = new IdentityHashMap[LeafNode, Option[TableStatistics]]
  private val files = new IdentityHashMap[FileIndex, Option[StoredTables.PresentFiles]]

  // merges that were not done in time
  private var late = 0

  override def find(leaf: LeafNode): Option[TableStatistics] = {
    if (!found.containsKey(leaf)) findAll(Seq(leaf))
    found.get(leaf)
  }

  override def rows(leaf: LeafNode): Option[Double] = GivenRows(session).rowsOf(leaf)

  /** Looks up all leaves in the store at once, in one separate thread: a thread per leaf costs more than the lookup. */
  override def findAll(leaves: Seq[LeafNode]): Unit = {
    val missing = leaves.filterNot(found.containsKey)
    missing.foreach(found.put(_, None))
    val reading  = missing.flatMap(filesOf)
    val existing = looked(reading).flatMap { case (f, table) =>
      guarded(f.leaf)(present(f.relation.location)).map(now => (f, table, now))
    }
    // the statistics of a whole table are in memory, those of its parts may have to be read
    val (whole, others) = existing.partition { case (_, table, now) => StoredTables.isWhole(table, now) }
    // leaves that read the same parts share one merge
    val merges  = new HashMap[(StoredTable, Vector[Int]), Option[TableStatistics]]
    val ofParts = others.flatMap { case (f, table, now) =>
      val parts = StoredTables.held(table, now)
      val merge = merges.getOrElseUpdate((table, parts), merged(f.leaf, table, parts))
      StoredTables.statisticsOf(table, parts, now, merge).map(s => f -> (table -> s))
    }
    val known = whole.map { case (f, table, _) => f -> (table -> table.statistics) } ++ ofParts
    known.foreach { case (f, (table, statistics)) =>
      val told = rows(f.leaf).fold(statistics)(StoredTables.ofTable(statistics, table, _))
      found.put(f.leaf, Some(if (HiddenRows.possible(f.relation)) told.copy(atMost = true) else told))
    }
  }

  /** All files of an index. Leaves of one table share it. */
  private def present(index: FileIndex): Option[StoredTables.PresentFiles] =
    Option(files.get(index)).getOrElse {
      PlanningTime.check()
      val all = ListedFiles(index).flatMap(listing =>
        Aside.brief(s"the list of ${listing.size} directories")(until => DataFile.of(listing, () => Aside.check(until)))
      ).map(new StoredTables.PresentFiles(_))
      files.put(index, all)
      all
    }

  private lazy val store  = StatisticsStore(session)
  private lazy val hadoop = session.sparkContext.hadoopConfiguration

  /** The leaves that are in the store, with their tables; empty if the store does not answer in time. */
  private def looked(of: Seq[StoredTables.Files]): Seq[(StoredTables.Files, StoredTable)] =
    if (of.isEmpty) Nil
    else guarded(of.head.leaf)(Aside(store.files.place) { _ =>
      beside()
      of.flatMap(f => guarded(f.leaf)(store.find(TableKey(f.leaf, f.relation, hadoop))).map(f -> _))
    }).getOrElse(Nil)

  /**
   * The merge of some parts of a table; None if a part cannot be read. A merge of many parts may take longer than
   * planning waits; there is none until it is done. Its place is the table's own, because a long merge must not keep
   * queries from the store or from the merges of other tables.
   */
  private def merged(leaf: LeafNode, table: StoredTable, parts: Vector[Int]): Option[TableStatistics] =
    StoredTables.inMemory(table, parts).getOrElse(
      if (late >= StoredTables.MostLate) None
      else {
        val done = guarded(leaf)(Aside(s"the merge of parts of ${table.file} in ${store.files.place}") { _ =>
          StoredTables.merged(store, table, parts)
        })
        if (done.isEmpty) late += 1
        done.flatten
      }
    )

  private def guarded[A](leaf: LeafNode)(look: => Option[A]): Option[A] =
    try look
    catch {
      case Survivable(e) =>
        val name = LeafNames.name(leaf)
        FailOpen.warnOnce(
          s"stored statistics $name ${e.getClass.getName}",
          s"Statistics of $name that were collected earlier are not used: $e"
        )
        None
    }

  private def filesOf(leaf: LeafNode): Option[StoredTables.Files] = leaf match {
    case r: LogicalRelation =>
      r.relation match { case f: HadoopFsRelation => Some(StoredTables.Files(r, f)); case _ => None }
    case _ => None
  }
}

object StoredTables {

  /** A leaf that reads files. */
  final private case class Files(leaf: LogicalRelation, relation: HadoopFsRelation)

  /** Largest number of bytes of merged parts of tables that are kept in memory, at some megabytes each. */
  private val MostBytes = HeapLimit(64L * 1024 * 1024, part = 20L)

  /**
   * Number of merges for which one query waits in vain. Each takes a quarter of the time that is left; the others are
   * used only if they are in memory.
   */
  private val MostLate = 2

  /** Size of merged statistics in memory relative to the compressed sketch of the whole table. */
  private val Expansion = 3L

  /** Bytes of an entry without its statistics. */
  private val Overhead = 1024L

  /**
   * Lowest ratio of distinct values to rows at which new rows are assumed to add new values. In a column with a lower
   * ratio, new rows mostly repeat known values.
   */
  private val KeyLike = 0.5

  /** @param statistics None if a part is broken, so that it is not read again for each query */
  final private class Merge(table: StoredTable, parts: Vector[Int], val statistics: Option[TableStatistics]) {
    val bytes: Long = Overhead + parts.size * Integer.BYTES + statistics.fold(0L)(_ =>
      table.header.whole.length * Expansion
    )
  }

  /** A merge that runs now. */
  final private class PartsMerge(val parts: Vector[Int], val task: FutureTask[Option[TableStatistics]])

  private val underWay = new ConcurrentHashMap[StoredTable, PartsMerge]

  private val merges = new BoundedCache[(StoredTable, Vector[Int]), Merge]("merged parts of tables", MostBytes)(_.bytes)

  /** Files that exist now. Leaves of one table share them. */
  final private class PresentFiles(val files: Vector[DataFile]) {
    lazy val fingerprints: Set[Long] = files.iterator.map(_.fingerprint).toSet

    /** Whether these are the files of some parts. A file that is listed twice hides another one from a count. */
    def areOf(parts: Seq[TableFile.Part]): Boolean = {
      val read = parts.iterator.flatMap(_.files).toVector
      read.size == files.size && fingerprints.size == files.size && read.toSet == fingerprints
    }
  }

  /** Whether exactly those files exist now that were read. */
  private def isWhole(table: StoredTable, now: PresentFiles): Boolean = now.areOf(table.header.parts)

  /** The parts of which all files exist now. */
  private def held(table: StoredTable, now: PresentFiles): Vector[Int] =
    table.header.parts.indices.filter(i => table.header.parts(i).files.forall(now.fingerprints)).toVector

  /**
   * Statistics of the files that exist now, if they are others than those that were read; None if neither these files
   * nor any earlier ones with data were read.
   *
   * @param parts the parts of which all files exist now
   * @param merge the merge of these parts; without it, the whole table stands for them
   */
  private def statisticsOf(
      table: StoredTable,
      parts: Vector[Int],
      now: PresentFiles,
      merge: Option[TableStatistics]
  ): Option[TableStatistics] = merge match {
    case Some(m) if now.areOf(parts.map(table.header.parts(_))) => Some(m)
    case Some(m) if m.bytes > 0L                                =>
      Some(scaled(m, now.files.map(_.length).sum, unread(table, parts, now.files)))
    case _ => ofWhole(table, now.files)
  }

  /** Statistics of the whole table, scaled to the files that exist now; None if no file with data was read. */
  private def ofWhole(table: StoredTable, now: Vector[DataFile]): Option[TableStatistics] =
    Some(table.statistics).filter(_.bytes > 0L).map(
      scaled(_, now.map(_.length).sum, unread(table, table.header.parts.indices.toVector, now))
    )

  /** The files that exist now and are not in these parts. */
  private def unread(table: StoredTable, parts: Vector[Int], now: Vector[DataFile]): UnreadFiles = {
    val read    = parts.iterator.flatMap(table.header.parts(_).files).toSet
    val missing = now.filterNot(f => read(f.fingerprint))
    val bytes   = now.map(_.length).sum
    UnreadFiles(missing.size, if (bytes > 0L) missing.map(_.length).sum.toDouble / bytes else 0.0)
  }

  /** The merge of some parts that was made before: None in it if a part is broken. */
  private def inMemory(table: StoredTable, parts: Vector[Int]): Option[Option[TableStatistics]] =
    merges.get((table, parts)).map(_.statistics)

  /**
   * The parts of one table are merged by one thread at a time, because that takes memory and reads the file. A thread
   * that asks for the same parts meanwhile waits for the result, one that asks for others gets None.
   */
  private def merged(store: StatisticsStore, table: StoredTable, parts: Vector[Int]): Option[TableStatistics] =
    inMemory(table, parts).getOrElse {
      val mine    = new PartsMerge(parts, new FutureTask(() => merge(store, table, parts)))
      val running = Option(underWay.putIfAbsent(table, mine)).getOrElse {
        try mine.task.run()
        finally underWay.remove(table, mine)
        mine
      }
      if (running.parts == parts) Aside.result(running.task) else None
    }

  private def merge(store: StatisticsStore, table: StoredTable, parts: Vector[Int]): Option[TableStatistics] = {
    val headers = parts.map(table.header.parts(_))
    val rows    = table.statistics.sample.fold(0)(_.rows.length)
    val whole   = new TableSketch(table.header.recipe, math.max(rows, 1))
    val all     = store.sketches(table, headers)(whole.merge)
    val merge   = all.toOption.map(_ => whole.result(headers.map(_.bytes).sum, table.header.collectedAt))
    // after an error of the file system, the next query reads the parts again
    if (all.left.forall(store.lasting)) merges.put((table, parts), new Merge(table, parts, merge))
    merge
  }

  /** Scales statistics to the bytes that exist now, as if the unread files were like those that were read. */
  private def scaled(s: TableStatistics, bytes: Long, unread: UnreadFiles): TableStatistics =
    times(s, bytes.toDouble / s.bytes).copy(bytes = bytes, unread = Some(unread))

  /**
   * Scales statistics to a row count that the user has set for the whole table. If all files that exist now were
   * read, they get the share of it that they had of the table when it was read; otherwise they get the whole count.
   */
  private def ofTable(s: TableStatistics, table: StoredTable, rows: Double): TableStatistics =
    times(s, rows / math.max(1.0, (if (s.unread.forall(_.files == 0)) table.statistics.rows else s.rows).toDouble))

  /** Multiplies the number of rows, as if all rows were like those that were read. */
  private def times(s: TableStatistics, factor: Double): TableStatistics = {
    def grown(n: Long)        = math.round(n * factor)
    val rows                  = grown(s.rows)
    def distinct(ndv: Double) =
      if (ndv >= KeyLike * s.rows) ndv * factor else math.min(ndv, math.max(rows.toDouble, 1.0))
    s.copy(
      rows = rows,
      columns = s.columns.map(c =>
        c.copy(
          nulls = grown(c.nulls),
          values = grown(c.values),
          ndv = distinct(c.ndv),
          ndvError = None,
          heavyHitters = c.heavyHitters.map { case (v, n) => v -> grown(n) },
          counting = Counting.About,
          complete = false
        )
      ),
      groups = s.groups.map(g => g.copy(ndv = distinct(g.ndv))),
      sample = s.sample.map(_.copy(of = rows))
    )
  }
}
