package org.apache.spark.sql.dovetail.store

import java.io.{File, IOException}
import java.util.Locale
import java.util.concurrent.ConcurrentHashMap

import scala.annotation.tailrec
import scala.util.control.NonFatal

import org.apache.hadoop.fs.Path
import org.apache.hadoop.security.UserGroupInformation
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.XXH64
import org.apache.spark.sql.dovetail.base.{
  BoundedCache,
  BrokenFile,
  DovetailConf,
  FailOpen,
  HeapLimit,
  NewerFile,
  TextHash,
  ThreadScope
}
import org.apache.spark.sql.dovetail.deadline.{Aside, AtExit}
import org.apache.spark.sql.dovetail.sketch.TableSketch
import org.apache.spark.unsafe.types.UTF8String

/**
 * The store of persistent table statistics: `DOVETAIL ANALYZE` writes them here, `stats.StoredTables` finds them.
 *
 * Reading never fails. If a file is missing, broken, or of a newer version, the table has no statistics, and a broken
 * or newer file logs one warning. Tables that were read stay in memory as long as their file does not change, and so
 * does the knowledge that a file is broken. If the file system did not answer, it is asked again later.
 *
 * @param checkMillis how long a listing of the directory is used, if files are not asked for one by one; milliseconds
 */
final class StatisticsStore(val files: StoreFiles, checkMillis: Long = StatisticsStore.CheckMillis) {
  import StatisticsStore._

  private val listing = new StoreListing(() => files.list(), checkMillis)
  private val read    = new BoundedCache[String, CacheEntry]("statistics", CacheBytes)(_.bytes)
  // a store of the same directory may be open for other credentials, or have been closed while this one is used
  private val updating = updates.computeIfAbsent(files.directory.toString, _ => new Object)
  private val slots    = new ConcurrentHashMap[StoreSlot[_], StoreState]

  // the look at a changed file and its entry in the listing are one step: the last of two writers notes the last state
  private val noting = new Object

  // a file is read by one thread at a time, and other files at the same time by others
  private val loads = Array.fill(ParallelLoads)(new Object)

  /** The state of a slot, which `make` makes on first use. */
  private[dovetail] def state[A <: StoreState](slot: StoreSlot[A])(make: StoreFiles => A): A =
    slots.computeIfAbsent(slot, _ => make(files)).asInstanceOf[A]

  private[store] def stateIfMade[A <: StoreState](slot: StoreSlot[A]): Option[A] =
    Option(slots.get(slot)).map(_.asInstanceOf[A])

  private[store] def states: Vector[StoreState] = slots.values.toArray(Array.empty[StoreState]).toVector

  /** The stored statistics of a table; None if there are none or they cannot be read. */
  def find(key: String): Option[StoredTable] = {
    val name = fileName(key)
    stamp(name) match {
      case None        => read.remove(name); None
      case Some(stamp) => known(name, stamp).getOrElse(loading(name).synchronized {
          // another thread may have read it meanwhile
          known(name, stamp).getOrElse(loaded(key, name, stamp))
        })
    }
  }

  private def known(name: String, stamp: (Long, Long)): Option[Option[StoredTable]] =
    read.get(name).filter(k => k.stamp == stamp && !k.over).map(_.table)

  private def loaded(key: String, name: String, stamp: (Long, Long)): Option[StoredTable] = {
    val (found, result) = load(name, stamp)
    val (table, until)  = result match {
      case Right(table) => (Some(table).filter(_.header.key == key), Long.MaxValue)
      case Left(e)      => (None, if (lasting(e)) Long.MaxValue else System.nanoTime() + Aside.TriedAgainAfter)
    }
    listing.note(name, stamp, found)
    read.put(name, CacheEntry(found, table, until))
    table
  }

  private def loading(name: String): Object = loads(Math.floorMod(name.hashCode, loads.length))

  /**
   * The packed sketch of one part of a table; None if it cannot be read, for example because another session has
   * replaced the file since.
   */
  def part(table: StoredTable, part: TableFile.Part): Option[Array[Byte]] = {
    val replaced = () => !header(table.file).contains(table.header)
    reading(table.file, unless = replaced)(files.open(table.file) { in =>
      in.seek(table.header.blocks + part.block.offset)
      TableFile.readBlock(in, part.block)
    }).toOption
  }

  /**
   * Gives the unpacked sketches of some parts of a table to `use`, one after the other, in one read of its file.
   * Returns why one of them could not be read, if so.
   */
  def sketches(table: StoredTable, parts: Seq[TableFile.Part])(use: TableSketch => Unit): Either[Throwable, Unit] = {
    val replaced = () => !header(table.file).contains(table.header)
    reading(table.file, unless = replaced)(files.open(table.file) { in =>
      parts.sortBy(_.block.offset).foreach { part =>
        in.seek(table.header.blocks + part.block.offset)
        val bytes = TableFile.readBlock(in, part.block)
        BrokenFile.ofContent(use(TableSketch.fromBytes(bytes, table.header.recipe, table.header.version)))
      }
    })
  }

  def sketch(table: StoredTable, part: Array[Byte]): Option[TableSketch] =
    reading(table.file)(TableSketch.fromBytes(part, table.header.recipe, table.header.version)).toOption

  private def header(name: String): Option[TableFile.Header] =
    try files.stamp(name).map { case (_, size) => files.open(name)(TableFile.readHeader(_, size)) }
    catch { case NonFatal(_) => None }

  /** The error of the table's file, if only a newer Dovetail or Spark can read it. */
  def newer(key: String): Option[NewerFile] =
    try {
      val name = fileName(key)
      files.stamp(name).filter(s => TableFile.possible(s._2)).foreach { case (_, size) =>
        files.open(name)(TableFile.readHeader(_, size))
      }
      None
    } catch {
      case e: NewerFile => Some(e)
      case NonFatal(_)  => None
    }

  def write(table: TableFile.NewTable): Unit = {
    val name = fileName(table.key)
    files.replace(name)(TableFile.write(_, table))
    changed(name)
  }

  /** Makes a file that this JVM has replaced known to all look-ups from now on. */
  private def changed(name: String): Unit = {
    read.remove(name)
    if (!files.local)
      noting.synchronized {
        try listing.changed(name, files.stamp(name))
        catch { case NonFatal(_) => listing.forget() }
      }
  }

  /**
   * Replaces the stored statistics of a table by the result of `table`, which gets the current ones. If two writers do
   * so at once, the second one sees the result of the first ([[StoreLock]]). If the file system does not answer,
   * nothing is overwritten.
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

  /**
   * Modification time and length of a file. A local file system is asked for each file. On other file systems a listing
   * of the directory costs as much as one file, so one listing is used for all files for a while.
   */
  private def stamp(name: String): Option[(Long, Long)] =
    try if (files.local) files.stamp(name) else listing.now().get(name)
    catch {
      case NonFatal(e) =>
        FailOpen.warnOnce(
          s"store ${files.directory} ${e.getClass.getName}",
          s"No statistics of ${files.directory} are used, because it cannot be read: ${e.getMessage}"
        )
        None
    }

  /**
   * Reads a table, and returns it with the stamp of the file that was read. If the file is replaced after its length
   * was looked up and before it is opened, it is not broken: the new file is read instead.
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
      BrokenFile.ofContent(new StoredTable(name, header, sketch))
    }
  }

  /** @param unless whether to skip the warning if `body` fails */
  private def reading[A](what: String, unless: () => Boolean = () => false)(body: => A): Either[Throwable, A] =
    try Right(body)
    catch {
      case NonFatal(e) =>
        if (!unless())
          FailOpen.warnOnce(
            s"store ${files.directory} $what ${if (lasting(e)) reason(e) else e.getClass.getName}",
            s"Statistics in $what of ${files.directory} are not used: ${reason(e)}"
          )
        Left(e)
    }

  /** Whether reading the same file again fails again, because its contents are broken rather than the file system. */
  def lasting(e: Throwable): Boolean = e match {
    case _: BrokenFile | _: NewerFile => true
    case _                            => false
  }

  private def reason(e: Throwable): String = e match {
    case _: NewerFile  => e.getMessage
    case _: BrokenFile => s"${e.getMessage.stripSuffix(".")}. Analyze the table again"
    case _             => e.toString
  }
}

object StatisticsStore {

  /**
   * @param stamp modification time and length of the file
   * @param table contents of the file; None if it cannot be read
   * @param until when to read the file again, on the clock of `System.nanoTime`
   */
  final private case class CacheEntry(stamp: (Long, Long), table: Option[StoredTable], until: Long) {
    val bytes: Long = EntryBytes + table.fold(0L)(t =>
      t.header.whole.length * Expansion + t.header.parts.map(_.files.size).sum * FileBytes
    )
    def over: Boolean = until != Long.MaxValue && System.nanoTime() - until > 0L
  }

  /** Locks of those who change the file of a table, by directory. */
  private val updates = new ConcurrentHashMap[String, Object]

  /** Most files that are read at the same time. */
  private val ParallelLoads = 16

  /**
   * How long an ANALYZE of another session may remain unnoticed if directories are listed, in milliseconds. All queries
   * in this time use one listing.
   */
  val CheckMillis = 2000L

  /**
   * Most attempts to read a file that others replace meanwhile. One replacement is rare, and two only happen if a
   * writer replaces the file without a pause.
   */
  private val Attempts = 4

  /** Approximate bytes of all statistics that are kept in memory. */
  private val CacheBytes = HeapLimit(256L << 20, part = 10L)

  /** Size of a sketch in memory relative to its compressed size, which is a third to a half of it. */
  private val Expansion = 3L

  /** Bytes of a file's fingerprint as an object. */
  private val FileBytes = 24L

  /** Approximate bytes of an entry of the cache without its table: its file name, its stamp and the node of the map. */
  private val EntryBytes = 1024L

  private val stores = new OpenStores(OpenStores.Most)

  // after the last queries were reported, and before the JVM ends
  private lazy val savesAtExit: Unit = AtExit.afterContext("writing what is not in the statistics stores yet")(
    inUse.flatMap(_.states).filterNot(_.isSaved).map(s => () => s.save())
  )

  /**
   * The store of a session. There is one store per directory in this JVM, unless sessions have different credentials: a
   * store reads and writes with those of the sessions that it belongs to.
   */
  def apply(session: SparkSession): StatisticsStore = elsewhere.current.getOrElse(ofSettings(session))

  private val elsewhere = new ThreadScope[StatisticsStore]

  /**
   * Uses a store in a directory of this machine while this thread runs `body`, and not the session's store. Opening
   * that one may forestall options of its file system, which a program sets before it reads files.
   */
  private[dovetail] def in[A](directory: File, session: SparkSession)(body: => A): A = {
    val files = new StoreFiles(new Path(directory.toURI), session.sessionState.newHadoopConf())
    elsewhere.within(new StatisticsStore(files))(body)
  }

  private def ofSettings(session: SparkSession): StatisticsStore = {
    val conf = session.sessionState.conf
    val text = DovetailConf.StorePath.get(conf).trim
    val path = StoreFiles.path(if (text.nonEmpty) text else s"${conf.warehousePath}/$Default")
    savesAtExit
    stores(StoreFiles.qualified(path, session.sparkContext.hadoopConfiguration) + access(session))(
      new StatisticsStore(new StoreFiles(path, session.sessionState.newHadoopConf()))
    )
  }

  /** What may decide on the access of a session to files: its context, its user, and its own settings for files. */
  private def access(session: SparkSession): String = {
    // read in place: each query asks several times, and a copy of all settings takes longer than the rest
    val settings = session.sessionState.conf.settings
    val found    = Vector.newBuilder[(String, String)]
    settings.synchronized(settings.forEach { (key, value) =>
      if (key.startsWith("fs.")) found += key -> value
      ()
    })
    val own  = found.result().sorted
    val user = UserGroupInformation.getCurrentUser.getUserName
    s" ${session.sparkContext.applicationId} $user ${TextHash.hex(own.mkString)}"
  }

  /** The stores that sessions of this JVM use. */
  private[dovetail] def inUse: Vector[StatisticsStore] = stores.all

  /** A hidden directory in the warehouse, which no search for tables finds; docs/internals/statistics.md says why. */
  private val Default = ".dovetail/statistics"

  /** File name of a table: a readable name, and a hash that makes it unique. */
  private[store] def fileName(key: String): String = {
    val readable = key.split("[/,]").lastOption.getOrElse("").toLowerCase(Locale.ROOT).replaceAll(
      "[^a-z0-9_]+",
      "-"
    ).take(NameLength)
    f"$readable-${XXH64.hashUTF8String(UTF8String.fromString(key), 0L)}%016x${StoreFiles.Suffix}"
  }

  /**
   * Most characters of the readable part of a file name: enough to recognize a table in a listing, and with the hash
   * far below the 255 bytes that file systems allow.
   */
  private val NameLength = 40
}
