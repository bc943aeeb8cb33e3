package org.apache.spark.sql.dovetail.deadline

import java.lang.ref.WeakReference
import java.util.concurrent.atomic.AtomicBoolean
import java.util.concurrent.{ConcurrentHashMap, ExecutionException, FutureTask, TimeoutException, TimeUnit}

import scala.util.control.NonFatal

import org.apache.hadoop.fs.FileStatus
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, ExpressionSet}
import org.apache.spark.sql.dovetail.base.{BoundedCache, FailOpen}
import org.apache.spark.sql.execution.datasources.{CatalogFileIndex, FileIndex, PartitionDirectory}

/**
 * The files of an index, from memory if Spark has listed them. Any other index is asked in a separate thread
 * ([[Aside]]), because the time of a listing depends on a catalog and a file system. It can also take a Spark job: one
 * that lists the directories of all partitions, or with Delta Lake one that replays the table's log.
 *
 * Only indexes of Spark and of Delta Lake are asked. Another one may not bear two threads at a time, or keep in memory
 * all that it lists.
 *
 * An index is listed by one caller at a time. The others wait for the same listing, because a job that nobody waits for
 * runs on, and the query's own jobs queue behind it. A version of a table is listed once. A listing of a version that
 * comes too late for a query is there for the next one. Other tables are not listed for a while if that takes long
 * ([[SlowListings]]).
 */
object ListedFiles {

  /** A file with its values of the partition columns. */
  type File = (FileStatus, InternalRow)

  /** The files of a listing that are not empty. */
  def withRows(listing: Seq[PartitionDirectory]): Vector[File] =
    listing.toVector.flatMap(d => d.files.map(f => f.fileStatus -> d.values)).filter(_._1.getLen > 0L)

  /** All files of the index; None if the listing takes too long. It then continues in its own thread. */
  def apply(index: FileIndex): Option[Seq[PartitionDirectory]] = apply(index, Nil)

  /** The files of the partitions that pass the filters; None if the index must not be asked, or takes too long. */
  def apply(index: FileIndex, partitionFilters: Seq[Expression]): Option[Seq[PartitionDirectory]] = index match {
    case FilesInMemory(files) => Some(files.listFiles(partitionFilters, Nil))
    case _ if !isKnown(index) => None
    case c: CatalogFileIndex if c.partitionSchema.nonEmpty && UnprunedTables.mayBeThere => None
    case _                                                                              =>
      val listing = Listing(index, partitionFilters)
      listing.kept.orElse(
        if (PlanningTime.isLimited && listing.isWhole && SlowListings.has(index)) {
          Aside.cutOff(place(index)); None
        } else listed(listing, index, partitionFilters)
      )
  }

  private def isKnown(index: FileIndex): Boolean =
    index.getClass == classOf[CatalogFileIndex] || TableVersion.analyzed(index).isDefined || ChosenFiles.areIn(index)

  private def listed(listing: Listing, index: FileIndex, filters: Seq[Expression]): Option[Seq[PartitionDirectory]] = {
    val begun = new AtomicBoolean
    val fair  = Aside.allows(FairNanos)
    val found =
      try aside(index)(once(listing, index, filters, begun))
      // the listing is a job of another query, which was cancelled
      catch { case NonFatal(e) if FailOpen.isCancelled(e) && !begun.get => None }
    if (listing.isWhole && begun.get) {
      if (found.nonEmpty) SlowListings.inTime(index) else if (fair) SlowListings.late(index)
    }
    found
  }

  /**
   * All files of the index, without another listing: from memory, from a listing that is under way, or from one that
   * has ended a moment ago. None if there is no such listing. Work after planning must not compete with the query.
   *
   * @param waits whether to wait a moment for a listing that is under way
   */
  def atHand(index: FileIndex, waits: Boolean = true): Option[Seq[PartitionDirectory]] = index match {
    case FilesInMemory(files) => Some(files.listFiles(Nil, Nil))
    case _                    =>
      val listing = Listing(index, Nil)
      def under   = Option(underWay.get(listing)).filter(waits || _.isDone).flatMap(soon)
      def ended   = listings.get(listing).filter(_.isRecent).map(_.files)
      listing.kept.orElse(under).orElse(ended)
  }

  /** The files that a scan will read, if they were chosen before the query was planned. */
  def chosen(index: FileIndex): Option[ChosenFiles] =
    ChosenFiles(index, MostFiles)(filters => aside(index)(index.listFiles(filters, Nil)))

  /**
   * Whether every scan of the index reads the same files. Another index asks its catalog or its log at each scan, and
   * may find more files the second time.
   */
  def stay(index: FileIndex): Boolean = index match {
    case FilesInMemory(_) => true
    case other            => ChosenFiles.areIn(other)
  }

  private def aside[A](index: FileIndex)(body: => A): Option[A] = Aside(place(index))(_ => body)

  private def place(index: FileIndex): String =
    index.rootPaths.headOption.fold("a listing of files")(p => s"the listing of $p")

  /** @param begun set if this call begins the listing, and does not wait for one that is under way */
  private def once(
      listing: Listing,
      index: FileIndex,
      filters: Seq[Expression],
      begun: AtomicBoolean
  ): Seq[PartitionDirectory] = {
    val mine = new FutureTask[Seq[PartitionDirectory]](() => listing.kept.getOrElse(list(listing, index, filters)))
    Aside.result(Option(underWay.putIfAbsent(listing, mine)).getOrElse {
      begun.set(true)
      try mine.run()
      finally underWay.remove(listing, mine)
      mine
    })
  }

  /** The result of a listing that ends within a moment; None if it fails. */
  private def soon(task: FutureTask[Seq[PartitionDirectory]]): Option[Seq[PartitionDirectory]] =
    try Some(task.get(SoonMillis, TimeUnit.MILLISECONDS))
    catch { case _: TimeoutException | _: ExecutionException => None }

  private def list(listing: Listing, index: FileIndex, filters: Seq[Expression]): Seq[PartitionDirectory] = {
    val all = index.listFiles(filters, Nil).toVector
    if (filesOf(all) <= MostFiles && listing.isWhole) listings.put(listing, ListingResult(all, System.nanoTime()))
    all
  }

  private def filesOf(listing: Seq[PartitionDirectory]): Long = listing.iterator.map(_.files.size.toLong).sum

  /** What is listed: a version of a table, or what one index object has now. */
  sealed private trait Listing {

    /** Whether these are all files of the index. */
    def isWhole: Boolean

    /** The files, if they have been listed and cannot have changed since. */
    def kept: Option[Seq[PartitionDirectory]]
  }

  private object Listing {
    def apply(index: FileIndex, filters: Seq[Expression]): Listing =
      if (filters.isEmpty) TableVersion.fixed(index).fold[Listing](new OfIndex(index, filters))(OfVersion(_))
      else new OfIndex(index, filters)
  }

  final private case class OfVersion(version: TableVersion) extends Listing {
    override def isWhole: Boolean                      = true
    override def kept: Option[Seq[PartitionDirectory]] = listings.get(this).map(_.files)
  }

  /**
   * Two leaves of one table have the same index object. Other objects that are equal to it may be of another session,
   * which sees other files. The object is garbage-collected with its relation.
   */
  final private class OfIndex(of: FileIndex, filters: Seq[Expression]) extends Listing {
    private val index    = new WeakReference(of)
    private val accepted = ExpressionSet(filters)

    override def isWhole: Boolean                      = accepted.isEmpty
    override def kept: Option[Seq[PartitionDirectory]] = None

    override val hashCode: Int               = System.identityHashCode(of)
    override def equals(other: Any): Boolean = other match {
      case that: OfIndex =>
        (this eq that) || (index.get != null && (index.get eq that.index.get) && accepted == that.accepted)
      case _ => false
    }
  }

  /** @param at time when the listing ended, on the clock of `System.nanoTime` */
  final private case class ListingResult(files: Seq[PartitionDirectory], at: Long) {
    def isRecent: Boolean = System.nanoTime() - at < RecentNanos
  }

  /**
   * Nanoseconds that a listing must have got to count as slow; with less, other tables have taken the time. A call gets
   * a quarter of the time that is left, at first 25 ms of the 100 ms that a query reads by default.
   */
  private val FairNanos = 20000000L

  /**
   * Most files that are remembered, of all tables together: about 10 MB, at half a kilobyte for a path and its status.
   * A table of more files is listed for each query that asks for them, unless that takes long ([[SlowListings]]).
   */
  private val MostFiles = 20000L

  /**
   * How long after its end the listing of a table that may change counts as one of the same query: longer than planning
   * takes.
   */
  private val RecentNanos = TimeUnit.SECONDS.toNanos(30L)

  /** Milliseconds that work after planning waits for a listing. It usually ends before the query does. */
  private val SoonMillis = 1000L

  private val listings =
    new BoundedCache[Listing, ListingResult]("files of tables", MostFiles)(l => math.max(1L, filesOf(l.files)))

  private val underWay = new ConcurrentHashMap[Listing, FutureTask[Seq[PartitionDirectory]]]
}
