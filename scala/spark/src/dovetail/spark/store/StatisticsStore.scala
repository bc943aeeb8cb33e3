package org.apache.spark.sql.dovetail.store

import java.io.IOException
import java.util.{LinkedHashMap => LruMap, Locale}
import java.util.concurrent.ConcurrentHashMap

import scala.util.control.NonFatal

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.XXH64
import org.apache.spark.sql.dovetail.FailOpen
import org.apache.spark.sql.dovetail.collect.TableSketch
import org.apache.spark.sql.dovetail.conf.DovetailConf
import org.apache.spark.unsafe.types.UTF8String

/**
 * Statistics of tables that survive sessions: `DOVETAIL ANALYZE` writes them here, `stats.StoredTables` finds them.
 *
 * Reading never fails: a file that is missing, broken, or of a newer version is no statistics, and one warning. Tables that were read stay in memory while
 * their file is the same.
 */
final class StatisticsStore(val files: StoreFiles) {
  import StatisticsStore._

  private var listed   = Map.empty[String, (Long, Long)]
  private var listedAt = Long.MinValue
  private val read     = new LruMap[String, Cached](InitialCache, LoadFactor, true)
  private var bytes    = 0L
  private val updating = new Object

  /** What is stored of the table; None also where that cannot be read. */
  def find(key: String): Option[StoredTable] = synchronized {
    val name = fileName(key)
    stamp(name) match {
      case None        => forget(name); None
      case Some(stamp) =>
        val known = read.get(name)
        if (known != null && known.stamp == stamp) known.table
        else {
          val table = load(name).filter(_.header.key == key)
          remember(name, Cached(stamp, table))
          table
        }
    }
  }

  /** The sketch of one part of a table; None where it cannot be read, also because another session has replaced the file since. */
  def part(table: StoredTable, part: TableFile.Part): Option[Array[Byte]] = {
    val replaced = () => load(table.file).forall(_.header != table.header)
    reading(table.file, unless = replaced)(files.open(table.file) { in =>
      in.seek(table.header.blocks + part.block.offset)
      TableFile.readBlock(in, part.block)
    })
  }

  /** The version of the table's file, if only a newer Dovetail can read it. */
  def newerVersion(key: String): Option[Int] =
    try files.open(fileName(key))(in => { TableFile.readHeader(in); None })
    catch {
      case e: TableFile.NewerVersion => Some(e.version)
      case NonFatal(_)               => None
    }

  def write(table: TableFile.NewTable): Unit = {
    val name = fileName(table.key)
    files.replace(name)(TableFile.write(_, table))
    synchronized { forget(name); lookAgain() }
  }

  /**
   * Writes what `table` makes of what is stored at this moment: of two that do so at once in one JVM, the second sees what the first has written. In two JVMs
   * it does so, too, unless both write within the same moment.
   */
  def update(key: String)(table: Option[StoredTable] => TableFile.NewTable): Unit = updating.synchronized {
    synchronized(lookAgain())
    write(table(find(key)))
  }

  /** Removes what is stored of the table, and tells whether there was anything. */
  def remove(key: String): Boolean = {
    val removed = files.delete(fileName(key))
    synchronized { forget(fileName(key)); lookAgain() }
    removed
  }

  private def lookAgain(): Unit = listedAt = Long.MinValue

  /** Time and length of a file. On local disks it is asked for them; elsewhere a listing, which costs as much as one file, serves all for a while. */
  private def stamp(name: String): Option[(Long, Long)] =
    try if (files.local) files.stamp(name) else listing().get(name)
    catch {
      case NonFatal(e) =>
        FailOpen.warnOnce(s"store ${files.directory} $e", s"No statistics of ${files.directory} are used, because it cannot be read: ${e.getMessage}")
        None
    }

  private def listing(): Map[String, (Long, Long)] = {
    val now = System.nanoTime() / 1000000L
    if (listedAt == Long.MinValue || now - listedAt > CheckMillis) {
      listedAt = now
      listed = Map.empty
      listed = files.list()
    }
    listed
  }

  private def load(name: String): Option[StoredTable] = reading(name)(files.open(name) { in =>
    val header = TableFile.readHeader(in)
    in.seek(header.blocks + header.whole.offset)
    new StoredTable(name, header, TableSketch.of(TableFile.readBlock(in, header.whole), header.recipe))
  })

  /** @param unless there is nothing to warn of */
  private def reading[A](what: String, unless: () => Boolean = () => false)(body: => A): Option[A] =
    try Some(body)
    catch {
      // also what a broken file makes of arrays and numbers that its checksum did not catch
      case NonFatal(e) =>
        if (!unless())
          FailOpen.warnOnce(s"store ${files.directory} $what ${reason(e)}", s"Statistics in $what of ${files.directory} are not used: ${reason(e)}")
        None
    }

  private def reason(e: Throwable): String = e match {
    case _: java.io.EOFException   => "the file ends too early. Analyze the table again"
    case _: TableFile.NewerVersion => e.getMessage
    case _: IOException            => s"${e.getMessage}. Analyze the table again"
    case _                         => e.toString
  }

  private def remember(name: String, entry: Cached): Unit = {
    forget(name)
    read.put(name, entry)
    bytes += entry.bytes
    val oldest = read.entrySet.iterator
    while (bytes > CacheBytes && read.size > 1) { bytes -= oldest.next().getValue.bytes; oldest.remove() }
  }

  private def forget(name: String): Unit = Option(read.remove(name)).foreach(bytes -= _.bytes)
}

object StatisticsStore {

  final private case class Cached(stamp: (Long, Long), table: Option[StoredTable]) {
    def bytes: Long = math.max(EntryBytes, table.fold(0L)(_.header.whole.length * Expansion))
  }

  /** How long another session's ANALYZE may stay unseen where directories are listed, in milliseconds: one listing serves all queries in between. */
  val CheckMillis = 2000L

  /** Bytes of statistics of all tables that a session keeps in memory, roughly. */
  private val CacheBytes = 256L << 20

  /** A compressed sketch is a third to a half of what it takes in memory. */
  private val Expansion = 3L

  private val EntryBytes   = 1024L
  private val InitialCache = 64
  private val LoadFactor   = 0.75f

  private val stores = new ConcurrentHashMap[String, StatisticsStore]()

  /** The store of a session: one per directory in this JVM. */
  def of(session: SparkSession): StatisticsStore = {
    val conf      = session.sessionState.conf
    val path      = DovetailConf.StorePath.get(conf).trim
    val directory = if (path.nonEmpty) path else s"${conf.warehousePath}/$Default"
    stores.computeIfAbsent(directory, d => new StatisticsStore(new StoreFiles(StoreFiles.path(d), session.sessionState.newHadoopConf())))
  }

  /** In the warehouse, hidden from everything that looks for tables there; docs/internals/statistics.md says why. */
  private val Default = ".dovetail/statistics"

  /** A name that people recognize, and a hash that tells tables apart. */
  private[store] def fileName(key: String): String = {
    val readable = key.split("[/,]").lastOption.getOrElse("").toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9_]+", "-").take(NameLength)
    f"$readable-${XXH64.hashUTF8String(UTF8String.fromString(key), 0L)}%016x${StoreFiles.Suffix}"
  }

  private val NameLength = 40
}
