package org.apache.spark.sql.dovetail.store

import java.io.{DataInputStream, IOException}
import java.util.Locale
import java.util.concurrent.ConcurrentHashMap

import scala.annotation.tailrec
import scala.util.control.NonFatal

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.XXH64
import org.apache.spark.sql.dovetail.base.{BoundedCache, BrokenFile, DovetailConf, FailOpen}
import org.apache.spark.sql.dovetail.sketch.TableSketch
import org.apache.spark.unsafe.types.UTF8String

/**
 * Statistics of tables that survive sessions: `DOVETAIL ANALYZE` writes them here, `stats.StoredTables` finds them.
 *
 * Reading never fails: a file that is missing, broken, or of a newer version is no statistics, and one warning. Tables
 * that were read stay in memory while their file is the same; so does the knowledge that it is broken, while a file
 * system that did not answer is asked again.
 *
 * @param checkMillis how long a listing of the directory serves, where files are not asked for one by one
 */
final class StatisticsStore(val files: StoreFiles, checkMillis: Long = StatisticsStore.CheckMillis) {
  import StatisticsStore._

  private var listed   = Map.empty[String, (Long, Long)]
  private var listedAt = Long.MinValue
  private val read     = new BoundedCache[String, CacheEntry]("statistics", CacheBytes)(_.bytes)
  private val updating = new Object

  /** What is stored of the table; None also where that cannot be read. */
  def find(key: String): Option[StoredTable] = synchronized {
    val name = fileName(key)
    stamp(name) match {
      case None        => read.remove(name); None
      case Some(stamp) =>
        val known = read.get(name).orNull
        if (known != null && known.stamp == stamp && !known.over) known.table
        else {
          val (found, loaded) = load(name, stamp)
          val (table, until)  = loaded match {
            case Right(table) => (Some(table).filter(_.header.key == key), Long.MaxValue)
            case Left(e)      => (None, if (lasting(e)) Long.MaxValue else System.nanoTime() + RetryNanos)
          }
          if (!files.local) listed = listed.updated(name, found)
          read.put(name, CacheEntry(found, table, until))
          table
        }
    }
  }

  /**
   * The sketch of one part of a table; None where it cannot be read, also because another session has replaced the file
   * since.
   */
  def part(table: StoredTable, part: TableFile.Part): Option[Array[Byte]] = {
    val replaced = () => !header(table.file).contains(table.header)
    reading(table.file, unless = replaced)(files.open(table.file) { in =>
      in.seek(table.header.blocks + part.block.offset)
      TableFile.readBlock(in, part.block)
    }).toOption
  }

  /** The same, unpacked; None also where it is broken. */
  def sketch(table: StoredTable, part: TableFile.Part): Option[TableSketch] =
    this.part(table, part).flatMap(sketch(table, _))

  def sketch(table: StoredTable, part: Array[Byte]): Option[TableSketch] =
    reading(table.file)(TableSketch.fromBytes(part, table.header.recipe, table.header.version)).toOption

  private def header(name: String): Option[TableFile.Header] =
    try files.stamp(name).map { case (_, size) => files.open(name)(TableFile.readHeader(_, size)) }
    catch { case NonFatal(_) => None }

  /** The version of the table's file, if only a newer Dovetail can read it. */
  def newerVersion(key: String): Option[Int] =
    try
      files.stamp(fileName(key)).filter(s => TableFile.possible(s._2)).map(_ =>
        files.open(fileName(key))(in => TableFile.readVersion(new DataInputStream(in)))
      )
        .filter(_ > TableFile.Version)
    catch { case NonFatal(_) => None }

  def write(table: TableFile.NewTable): Unit = {
    val name = fileName(table.key)
    files.replace(name)(TableFile.write(_, table))
    synchronized { read.remove(name); lookAgain() }
  }

  /**
   * Writes what `table` makes of what is stored at this moment: of two that do so at once, the second sees what the
   * first has written ([[StoreLock]]). Where the file system does not answer, nothing is written over.
   */
  def update(key: String)(table: Option[StoredTable] => TableFile.NewTable): Unit =
    updating.synchronized(files.locked(write(table(current(key)))))

  private def current(key: String): Option[StoredTable] = {
    val name = fileName(key)
    files.stamp(name).flatMap { stamp =>
      load(name, stamp)._2 match {
        case Right(table)          => Some(table).filter(_.header.key == key)
        case Left(e) if lasting(e) => None
        case Left(e)               => throw new IOException(
            s"The stored statistics of this table cannot be read and are not overwritten: ${e.getMessage}",
            e
          )
      }
    }
  }

  /** Removes what is stored of the table, and tells whether there was anything. */
  def remove(key: String): Boolean = {
    val removed = files.delete(fileName(key))
    synchronized { read.remove(fileName(key)); lookAgain() }
    removed
  }

  private def lookAgain(): Unit = listedAt = Long.MinValue

  /**
   * Time and length of a file. On local disks it is asked for them; elsewhere a listing, which costs as much as one
   * file, serves all for a while.
   */
  private def stamp(name: String): Option[(Long, Long)] =
    try if (files.local) files.stamp(name) else listing().get(name)
    catch {
      case NonFatal(e) =>
        FailOpen.warnOnce(
          s"store ${files.directory} $e",
          s"No statistics of ${files.directory} are used, because it cannot be read: ${e.getMessage}"
        )
        None
    }

  private def listing(): Map[String, (Long, Long)] = {
    val now = System.nanoTime() / 1000000L
    if (listedAt == Long.MinValue || now - listedAt > checkMillis) {
      listedAt = now
      listed = Map.empty
      listed = files.list()
    }
    listed
  }

  /**
   * Reads a table, and tells of which file. One that is replaced between the look at its length and its opening is no
   * broken file: it is read as it is then.
   */
  @tailrec
  private def load(
      name: String,
      stamp: (Long, Long),
      attempts: Int = Attempts
  ): ((Long, Long), Either[Throwable, StoredTable]) = {
    lazy val now =
      try files.stamp(name)
      catch { case NonFatal(_) => Some(stamp) }
    reading(name, unless = () => attempts > 1 && !now.contains(stamp))(open(name, stamp)) match {
      case Left(_) if attempts > 1 && now.exists(_ != stamp) => load(name, now.get, attempts - 1)
      case result                                            => (stamp, result)
    }
  }

  private def open(name: String, stamp: (Long, Long)): StoredTable = {
    if (!TableFile.possible(stamp._2)) throw new BrokenFile("it ends too early")
    files.open(name) { in =>
      val header = TableFile.readHeader(in, stamp._2)
      in.seek(header.blocks + header.whole.offset)
      val sketch = TableSketch.fromBytes(TableFile.readBlock(in, header.whole), header.recipe, header.version)
      new StoredTable(name, header, sketch)
    }
  }

  /** @param unless there is nothing to warn of */
  private def reading[A](what: String, unless: () => Boolean = () => false)(body: => A): Either[Throwable, A] =
    try Right(body)
    catch {
      // also what a broken file makes of arrays and numbers that its checksum did not catch
      case NonFatal(e) =>
        if (!unless())
          FailOpen.warnOnce(
            s"store ${files.directory} $what ${reason(e)}",
            s"Statistics in $what of ${files.directory} are not used: ${reason(e)}"
          )
        Left(e)
    }

  /** Whether reading the same file again ends in the same way: its contents are to blame, and not the file system. */
  private def lasting(e: Throwable): Boolean = e match {
    case _: BrokenFile | _: java.io.EOFException | _: TableFile.NewerVersion => true
    case _: IOException                                                      => false
    case _                                                                   => true
  }

  private def reason(e: Throwable): String = e match {
    case _: java.io.EOFException   => "it ends too early. Analyze the table again"
    case _: TableFile.NewerVersion => e.getMessage
    case _: IOException            => s"${e.getMessage}. Analyze the table again"
    case _                         => e.toString
  }
}

object StatisticsStore {

  /** @param until when to try again, by `System.nanoTime` */
  final private case class CacheEntry(stamp: (Long, Long), table: Option[StoredTable], until: Long) {
    val bytes: Long = EntryBytes + table.fold(0L)(t =>
      t.header.whole.length * Expansion + t.header.parts.map(_.files.size).sum * FileBytes
    )
    def over: Boolean = until != Long.MaxValue && System.nanoTime() - until > 0L
  }

  /** After so long a file is tried again that could not be read because of its file system. */
  private val RetryNanos = 30L * 1000000000L

  /**
   * How long another session's ANALYZE may stay unseen where directories are listed, in milliseconds: one listing
   * serves all queries in between.
   */
  val CheckMillis = 2000L

  /** How often a file is read while others replace it: once is seldom, and only writers without a pause do it twice. */
  private val Attempts = 4

  /** One in so many bytes of the heap. */
  private val PartOfHeap = 10L

  /** Bytes of statistics of all tables that are kept in memory, roughly; no more than a part of a small driver's. */
  private val CacheBytes = math.min(256L << 20, Runtime.getRuntime.maxMemory / PartOfHeap)

  /** A compressed sketch is a third to a half of what it takes in memory. */
  private val Expansion = 3L

  /** A file's fingerprint as an object. */
  private val FileBytes = 24L

  private val EntryBytes = 1024L

  private val stores = new ConcurrentHashMap[String, StatisticsStore]()

  /** The store of a session: one per directory in this JVM. */
  def apply(session: SparkSession): StatisticsStore = {
    val conf      = session.sessionState.conf
    val path      = DovetailConf.StorePath.get(conf).trim
    val directory = if (path.nonEmpty) path else s"${conf.warehousePath}/$Default"
    stores.computeIfAbsent(
      directory,
      d => new StatisticsStore(new StoreFiles(StoreFiles.path(d), session.sessionState.newHadoopConf()))
    )
  }

  /** In the warehouse, hidden from everything that looks for tables there; docs/internals/statistics.md says why. */
  private val Default = ".dovetail/statistics"

  /** A name that people recognize, and a hash that tells tables apart. */
  private[store] def fileName(key: String): String = {
    val readable = key.split("[/,]").lastOption.getOrElse("").toLowerCase(Locale.ROOT).replaceAll(
      "[^a-z0-9_]+",
      "-"
    ).take(NameLength)
    f"$readable-${XXH64.hashUTF8String(UTF8String.fromString(key), 0L)}%016x${StoreFiles.Suffix}"
  }

  private val NameLength = 40
}
