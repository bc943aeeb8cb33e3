package org.apache.spark.sql.dovetail.stats

import java.util.IdentityHashMap

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LeafNode
import org.apache.spark.sql.dovetail.base.{BoundedCache, FailOpen, HeapLimit}
import org.apache.spark.sql.dovetail.base.FailOpen.Survivable
import org.apache.spark.sql.dovetail.deadline.{Aside, ListedFiles}
import org.apache.spark.sql.dovetail.leaf.{GivenRows, HiddenRows, LeafNames}
import org.apache.spark.sql.dovetail.sketch.TableSketch
import org.apache.spark.sql.dovetail.store.{DataFile, StatisticsStore, StoredTable, TableKey}
import org.apache.spark.sql.dovetail.table.{Counting, TableStatistics, TableStatisticsSource, Unread}
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}

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

  override def find(leaf: LeafNode): Option[TableStatistics] = {
    if (!found.containsKey(leaf)) findAll(Seq(leaf))
    found.get(leaf)
  }

  override def rows(leaf: LeafNode): Option[Double] = GivenRows(session).rowsOf(leaf)

  /** Looks up all leaves in the store at once, in one separate thread: a thread per leaf costs more than the lookup. */
  override def findAll(leaves: Seq[LeafNode]): Unit = {
    val missing = leaves.filterNot(found.containsKey)
    missing.foreach(found.put(_, None))
    val files  = missing.flatMap(filesOf)
    val stored = if (files.isEmpty) Nil
    else looked(files, beside)(f => store.find(TableKey(f.leaf, f.relation, hadoop)))
    val present = stored.flatMap { case (f, table) =>
      guarded(f.leaf)(ListedFiles(f.relation.location).map(DataFile.of)).map(now => (f, table, now))
    }
    // the statistics of a whole table are in memory, those of its parts may have to be read
    val (whole, others) = present.partition { case (_, table, now) => StoredTables.isWhole(table, now) }
    val tables          = others.map { case (f, table, now) => f.leaf -> ((table, now)) }.toMap
    val ofParts         = if (others.isEmpty) Nil
    else looked(others.map(_._1)) { f =>
      val (table, now) = tables(f.leaf)
      StoredTables.statisticsOf(store, table, now).map(table -> _)
    }
    val known = whole.map { case (f, table, _) => f -> (table -> table.statistics) } ++ ofParts
    known.foreach { case (f, (table, statistics)) =>
      val told = rows(f.leaf).fold(statistics)(StoredTables.ofTable(statistics, table, _))
      found.put(f.leaf, Some(if (HiddenRows.possible(f.relation)) told.copy(atMost = true) else told))
    }
  }

  private lazy val store  = StatisticsStore(session)
  private lazy val hadoop = session.sparkContext.hadoopConfiguration

  /** The leaves for which the lookup finds something, with the result; empty if the store does not answer in time. */
  private def looked[A](files: Seq[StoredTables.Files], before: () => Unit = () => ())(
      look: StoredTables.Files => Option[A]
  ): Seq[(StoredTables.Files, A)] =
    guarded(files.head.leaf)(Aside(store.files.place) { _ =>
      before()
      files.flatMap(f => guarded(f.leaf)(look(f)).map(f -> _))
    }).getOrElse(Nil)

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

  private val merges = new BoundedCache[(StoredTable, Vector[Int]), Merge]("merged parts of tables", MostBytes)(_.bytes)

  /** Whether exactly those files exist now that were read. */
  private def isWhole(table: StoredTable, now: Vector[DataFile]): Boolean = {
    val parts   = table.header.parts
    val present = now.iterator.map(_.fingerprint).toSet
    parts.iterator.map(_.files.size).sum == now.size && parts.forall(_.files.forall(present))
  }

  /**
   * Statistics of the files that exist now, if they are others than those that were read; None if neither these files
   * nor any earlier ones with data were read.
   */
  private def statisticsOf(
      store: StatisticsStore,
      table: StoredTable,
      now: Vector[DataFile]
  ): Option[TableStatistics] = {
    val present = now.iterator.map(_.fingerprint).toSet
    val parts   = table.header.parts.indices.filter(i => table.header.parts(i).files.forall(present)).toVector
    val held    = parts.iterator.map(table.header.parts(_).files.size).sum
    val bytes   = now.map(_.length).sum
    def unread  = {
      val read    = parts.iterator.flatMap(table.header.parts(_).files).toSet
      val missing = now.filterNot(f => read(f.fingerprint))
      Unread(missing.size, if (bytes > 0L) missing.map(_.length).sum.toDouble / bytes else 0.0)
    }
    merged(store, table, parts) match {
      case Some(m) if held == now.size => Some(m)
      case Some(m) if m.bytes > 0L     => Some(scaled(m, bytes, unread))
      case _                           => Some(table.statistics).filter(_.bytes > 0L).map(scaled(_, bytes, unread))
    }
  }

  /** The parts of one table are merged by one thread at a time, because that takes memory and reads the file. */
  private def merged(store: StatisticsStore, table: StoredTable, parts: Vector[Int]): Option[TableStatistics] =
    table.synchronized {
      merges.get((table, parts)).fold {
        val headers = parts.map(table.header.parts(_))
        val rows    = table.statistics.sample.fold(0)(_.rows.length)
        val whole   = new TableSketch(table.header.recipe, math.max(rows, 1))
        val all     = headers.forall(store.sketch(table, _).map(whole.merge).isDefined)
        val merge   = if (all) Some(whole.result(headers.map(_.bytes).sum, table.header.collectedAt)) else None
        merges.put((table, parts), new Merge(table, parts, merge))
        merge
      }(_.statistics)
    }

  /** Scales statistics to the bytes that exist now, as if the unread files were like those that were read. */
  private def scaled(s: TableStatistics, bytes: Long, unread: Unread): TableStatistics =
    times(s, bytes.toDouble / s.bytes).copy(bytes = bytes, unread = Some(unread))

  /**
   * Scales statistics to a row count that the user has set for the whole table. If all files are unchanged, they get
   * the share of it that they had of the table when it was read; otherwise they get the whole count.
   */
  private def ofTable(s: TableStatistics, table: StoredTable, rows: Double): TableStatistics =
    times(s, rows / math.max(1.0, (if (s.unread.isEmpty) table.statistics.rows else s.rows).toDouble))

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
