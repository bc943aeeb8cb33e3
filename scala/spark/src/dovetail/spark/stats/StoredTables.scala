package org.apache.spark.sql.dovetail.stats

import java.util.{IdentityHashMap, LinkedHashMap => LruMap}

import scala.util.control.NonFatal

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LeafNode
import org.apache.spark.sql.dovetail.base.FailOpen
import org.apache.spark.sql.dovetail.deadline.{Aside, ListedFiles}
import org.apache.spark.sql.dovetail.leaf.{GivenRows, HiddenRows, LeafNames}
import org.apache.spark.sql.dovetail.sketch.TableSketch
import org.apache.spark.sql.dovetail.store.{DataFile, StatisticsStore, StoredTable, TableKey}
import org.apache.spark.sql.dovetail.table.{Counting, TableStatistics, TableStatisticsSource, Unread}
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}

/**
 * [[TableStatisticsSource]] of the store: statistics of exactly the files that a leaf still has.
 *
 * Where all of them were read and nothing else was, that is the whole table's; where some partitions are left, the
 * merge of their parts, which is kept in memory for the next query. Where files came or changed since, the parts that
 * still hold are scaled by bytes to what is there now, and are not fresh.
 *
 * One object serves one planning run, which asks for a leaf several times: its files are listed once.
 */
final class StoredTables(session: SparkSession) extends TableStatisticsSource {
  private val found = new IdentityHashMap[LeafNode, Option[TableStatistics]]

  override def find(leaf: LeafNode): Option[TableStatistics] = found.computeIfAbsent(leaf, lookUp(_))

  override def rows(leaf: LeafNode): Option[Double] = GivenRows(session).rowsOf(leaf)

  private def lookUp(leaf: LeafNode): Option[TableStatistics] = leaf match {
    case r: LogicalRelation =>
      r.relation match {
        case files: HadoopFsRelation =>
          try known(r, files)
          catch {
            case e: Throwable if NonFatal(e) || e.isInstanceOf[LinkageError] =>
              val name = LeafNames.name(leaf)
              FailOpen.warnOnce(
                s"stored statistics $name $e",
                s"Statistics of $name that were collected earlier are not used: $e"
              )
              None
          }
        case _ => None
      }
    case _ => None
  }

  private def known(relation: LogicalRelation, files: HadoopFsRelation): Option[TableStatistics] = {
    val store = StatisticsStore(session)
    val found = for {
      table <- Aside(store.files.place)(_ =>
        store.find(TableKey(relation, files, session.sparkContext.hadoopConfiguration))
      ).flatten
      now   <- ListedFiles(files.location).map(DataFile.of)
      known <- Aside(store.files.place)(_ => StoredTables.statisticsOf(store, table, now)).flatten
    } yield rows(relation).fold(known)(StoredTables.ofTable(known, table, _))
    found.map(s => if (HiddenRows.possible(files)) s.copy(atMost = true) else s)
  }
}

object StoredTables {

  /** Merges of parts of tables that are kept in memory, at some megabytes each. */
  private val MergesKept = 16

  /**
   * A column with at least this share of distinct values among its rows gets new ones with new rows; any other has
   * mostly seen its own.
   */
  private val KeyLike = 0.5

  // None where a part is broken: it is not read again for each query
  private val merges = new LruMap[(StoredTable, Vector[Int]), Option[TableStatistics]](MergesKept, 0.75f, true) {
    override def removeEldestEntry(eldest: java.util.Map.Entry[(StoredTable, Vector[Int]), Option[TableStatistics]])
        : Boolean = size > MergesKept
  }

  /** None where nothing of what is there was read, nor anything that was there before. */
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
    if (held == now.size && parts.size == table.header.parts.size) Some(table.statistics)
    else merged(store, table, parts) match {
      case Some(m) if held == now.size => Some(m)
      case Some(m) if m.bytes > 0L     => Some(scaled(m, bytes, unread))
      case _                           => Some(table.statistics).filter(_.bytes > 0L).map(scaled(_, bytes, unread))
    }
  }

  private def merged(store: StatisticsStore, table: StoredTable, parts: Vector[Int]): Option[TableStatistics] =
    synchronized {
      val known = merges.get((table, parts))
      if (known != null) known
      else {
        val headers = parts.map(table.header.parts(_))
        val rows    = table.statistics.sample.fold(0)(_.rows.length)
        val whole   = new TableSketch(table.header.recipe, math.max(rows, 1))
        val all     = headers.forall(store.sketch(table, _).map(whole.merge).isDefined)
        val merge   = if (all) Some(whole.result(headers.map(_.bytes).sum, table.header.collectedAt)) else None
        merges.put((table, parts), merge)
        merge
      }
    }

  /** As if the files that were not read were like those that were. */
  private def scaled(s: TableStatistics, bytes: Long, unread: Unread): TableStatistics =
    times(s, bytes.toDouble / s.bytes).copy(bytes = bytes, unread = Some(unread))

  /** As if the whole table had so many rows, of which these files are the share that they were when it was read. */
  private def ofTable(s: TableStatistics, table: StoredTable, rows: Double): TableStatistics =
    times(s, rows / math.max(1.0, (if (s.unread.isEmpty) table.statistics.rows else s.rows).toDouble))

  /** As if there were so many times as many rows, like those that were read. */
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
