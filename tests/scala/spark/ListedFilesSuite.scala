package org.apache.spark.sql.dovetail

import java.util.concurrent.CountDownLatch
import java.util.concurrent.atomic.{AtomicInteger, AtomicLong, AtomicReference}

import scala.util.Try

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.SparkException
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.QueryPlanningTracker
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.deadline.{ListedFiles, PlanningTime, TableVersion}
import org.apache.spark.sql.execution.datasources.{
  FileIndex,
  HadoopFsRelation,
  InMemoryFileIndex,
  LogicalRelation,
  PartitionDirectory
}
import org.apache.spark.sql.types.StructType

/** File indexes of the versions of a table, with the member names of Delta Lake's indexes. */
private object VersionedIndex {
  final case class Metadata(id: String)

  /** The index of a time travel query, or an index that lists the latest version. */
  final class Latest(at: Path, listing: () => Seq[PartitionDirectory], val isTimeTravelQuery: Boolean)
      extends VersionedIndex(at, 1L, "t", listing) {
    def snapshotAtAnalysis: AnyRef = this
  }
}

private class VersionedIndex(at: Path, val version: Long, table: String, listing: () => Seq[PartitionDirectory])
    extends FileIndex {
  def metadata: VersionedIndex.Metadata = VersionedIndex.Metadata(table)

  override def rootPaths: Seq[Path]                                                                   = Seq(at)
  override def listFiles(partitions: Seq[Expression], data: Seq[Expression]): Seq[PartitionDirectory] = listing()
  override def inputFiles: Array[String]                                                              = Array.empty
  override def refresh(): Unit                                                                        = ()
  override def sizeInBytes: Long                                                                      = 1L
  override def partitionSchema: StructType                                                            = new StructType
}

/** A version of a table is listed once, in parallel with planning, and by one query at a time. */
class ListedFilesSuite extends DovetailSuite {
  private val places = new AtomicInteger

  /** Returns a new table for each test, because listings are remembered. */
  private def place(): Path = new Path(s"/nowhere/table${places.incrementAndGet()}")

  private def inTime[A](ms: Long)(body: => A): A = withConf(DovetailConf.PlanningMaxMs.key -> ms.toString) {
    QueryPlanningTracker.withTracker(new QueryPlanningTracker)(PlanningTime.ofQuery(spark.sessionState.conf)(body))
  }

  private val PatientMs = 60000L

  /** Planning time of a query that comes before the listing ends; the query waits for all of it. */
  private val ShortMs = 400L

  test("a version is listed once; another version, table or place, and what is the latest, by themselves") {
    val (at, other)                    = (place(), place())
    val listings                       = new AtomicLong
    val listing                        = () => { listings.incrementAndGet(); Seq.empty[PartitionDirectory] }
    def listed(index: FileIndex): Long = inTime(PatientMs) {
      listings.set(0L)
      for (_ <- 1 to 3) assert(ListedFiles(index).contains(Nil))
      listings.get
    }
    assert(listed(new VersionedIndex(at, 0L, "t", listing)) == 1L)
    assert(listed(new VersionedIndex(at, 0L, "t", listing)) == 0L)
    assert(listed(new VersionedIndex(at, 1L, "t", listing)) == 1L)
    assert(listed(new VersionedIndex(at, 0L, "u", listing)) == 1L)
    assert(listed(new VersionedIndex(other, 0L, "t", listing)) == 1L)
    assert(listed(new VersionedIndex.Latest(place(), listing, isTimeTravelQuery = false)) == 3L)
    assert(listed(new VersionedIndex.Latest(place(), listing, isTimeTravelQuery = true)) == 1L)
    assert(TableVersion.analyzed(new VersionedIndex(at, 7L, "t", listing)).exists(_.version == 7L))
  }

  test("a listing that is late is done without, not begun again meanwhile, and there for a later query") {
    val at       = place()
    val listings = new AtomicLong
    val release  = new CountDownLatch(1)
    val ended    = new CountDownLatch(1)
    def index    = new VersionedIndex(
      at,
      0L,
      "t",
      () => {
        listings.incrementAndGet()
        release.await()
        ended.countDown()
        Nil
      }
    )
    try
      for (_ <- 1 to 3) inTime(ShortMs) {
        assert(ListedFiles(index).isEmpty)
        assert(PlanningTime.takeCuts().exists(_.contains(s"the listing of $at did not answer in time")))
      }
    finally release.countDown()
    ended.await()
    // the place is avoided until the thread that still waits there has ended
    while (inTime(PatientMs)(ListedFiles(index)).isEmpty) Thread.onSpinWait()
    assert(listings.get == 1L)
  }

  test("a listing that fails is no listing, and is tried again") {
    val at       = place()
    val listings = new AtomicLong
    def index    = new VersionedIndex(
      at,
      0L,
      "t",
      () => if (listings.incrementAndGet() == 1L) throw new IllegalStateException("the log is gone") else Nil
    )
    inTime(PatientMs) {
      assert(intercept[IllegalStateException](ListedFiles(index)).getMessage == "the log is gone")
      assert(ListedFiles(index).contains(Nil))
    }
  }

  /** An index without versions whose listings wait until they are released, and are counted. */
  private class SlowIndex(at: Path) extends VersionedIndex(at, 1L, "t", () => Nil) {
    val listings = new AtomicLong
    val release  = new CountDownLatch(1)

    /** An index that lists the latest version. */
    def snapshotAtAnalysis: AnyRef = this

    override def listFiles(partitions: Seq[Expression], data: Seq[Expression]): Seq[PartitionDirectory] = {
      listings.incrementAndGet()
      release.await()
      Nil
    }
  }

  test("an index of another library is not asked: it may not bear a second thread") {
    val asked = new AtomicLong
    val other = new FileIndex {
      override def rootPaths: Seq[Path]                                                                   = Seq(place())
      override def listFiles(partitions: Seq[Expression], data: Seq[Expression]): Seq[PartitionDirectory] = {
        asked.incrementAndGet(); Nil
      }
      override def inputFiles: Array[String]   = Array.empty
      override def refresh(): Unit             = ()
      override def sizeInBytes: Long           = 1L
      override def partitionSchema: StructType = new StructType
    }
    assert(ListedFiles(other).isEmpty && inTime(PatientMs)(ListedFiles(other)).isEmpty && asked.get == 0L)
  }

  /** An index of a connector that is derived from Spark's, but asks its catalog at each call. */
  final private class AskingIndex(at: Path) extends InMemoryFileIndex(spark, Seq(at), Map.empty, None) {
    val listings = new AtomicInteger

    override def listFiles(partitions: Seq[Expression], data: Seq[Expression]): Seq[PartitionDirectory] = {
      listings.incrementAndGet()
      super.listFiles(partitions, data)
    }
  }

  test("an index of another library is not asked, even if its class is derived from one of Spark's") {
    withDirectory { d =>
      val table = d.resolve("table").toString
      spark.range(1000L).toDF("k").write.parquet(table)
      val asking = new AskingIndex(new Path(table))
      val files  = spark.read.parquet(table).queryExecution.analyzed.collectFirst { case r: LogicalRelation =>
        r.relation
      }.collect { case f: HadoopFsRelation => f.copy(location = asking)(f.sparkSession) }.get
      spark.baseRelationToDataFrame(files).createOrReplaceTempView("asking")
      withTables("asking") {
        def plan(): Unit = for (_ <- 1 to 2) {
          physical("SELECT * FROM asking a JOIN range(9) b ON a.k = b.id JOIN range(5) c ON a.k = c.id WHERE a.k > 3")
          ()
        }
        dovetail(on = false)(plan())
        val plain = asking.listings.getAndSet(0)
        withoutFailures(plan())
        assert(asking.listings.get == plain)
        assert(ListedFiles(asking).isEmpty && ListedFiles.atHand(asking).isEmpty && !ListedFiles.stay(asking))
      }
    }
  }

  test("a listing that is cancelled with the query that began it does not fail another one that waits for it") {
    val index = new SlowIndex(place()) {
      override def listFiles(partitions: Seq[Expression], data: Seq[Expression]): Seq[PartitionDirectory] = {
        val first = listings.get == 0L
        super.listFiles(partitions, data)
        if (first) throw new SparkException("Job 7 cancelled part of cancelled job group g") else Nil
      }
    }
    inTime(ShortMs)(assert(ListedFiles(index).isEmpty))
    while (index.listings.get < 1L) Thread.onSpinWait()
    val found  = new AtomicReference[Try[Option[Seq[PartitionDirectory]]]]
    val waiter = new Thread(() => found.set(Try(inTime(PatientMs)(ListedFiles(index)))))
    waiter.start()
    // it waits for the listing that is under way; if it comes later, its own listing is not cancelled
    while (waiter.getState == Thread.State.RUNNABLE || waiter.getState == Thread.State.NEW) Thread.onSpinWait()
    index.release.countDown()
    waiter.join()
    assert(found.get.get.forall(_.isEmpty))
  }

  test("a table without versions is listed once at a time, however many leaves and threads ask for its files") {
    val (index, other) = (new SlowIndex(place()), new SlowIndex(place()))
    try {
      assert(ListedFiles.atHand(index).isEmpty && index.listings.get == 0L, "nothing is listed for work after planning")
      for (_ <- 1 to 3) inTime(ShortMs)(assert(ListedFiles(index).isEmpty))
      inTime(ShortMs)(assert(ListedFiles(other).isEmpty))
      // the threads may start late
      while (index.listings.get < 1L || other.listings.get < 1L) Thread.onSpinWait()
      assert(index.listings.get == 1L && other.listings.get == 1L)
      val start = System.nanoTime()
      assert(ListedFiles.atHand(index, waits = false).isEmpty && System.nanoTime() - start < 900000000L)
      assert(ListedFiles.atHand(index).isEmpty, "work after planning waits a moment for a listing under way, no longer")
    } finally { index.release.countDown(); other.release.countDown() }
    // waits for the listing that is under way, or finds the one that has ended
    assert(ListedFiles.atHand(index).contains(Nil) && index.listings.get == 1L)
    // its files may have changed since; the place is avoided until the threads that waited there have ended
    while (index.listings.get < 2L) inTime(PatientMs)(ListedFiles(index))
  }

  /** Planning time of a query that comes before the listing ends, and after it has begun. */
  private val LateMs = 4000L

  /** Asks for the files of a table, whose listing comes too late. */
  private def late(index: SlowIndex): Unit = {
    inTime(LateMs)(assert(ListedFiles(index).isEmpty && index.listings.get == 1L))
    index.release.countDown()
    while (ListedFiles.atHand(index).isEmpty) Thread.onSpinWait()
  }

  test("a table whose listings come too late twice is not listed for the next queries") {
    val at         = place()
    def made       = new SlowIndex(at)
    val (one, two) = (made, made)
    Seq(one, two).foreach(late)
    val later = made
    later.release.countDown()
    for (_ <- 1 to 3) inTime(PatientMs) {
      assert(ListedFiles(later).isEmpty)
      assert(PlanningTime.takeCuts().exists(_.contains(s"the listing of $at did not answer in time")))
    }
    assert(later.listings.get == 0L)
    // statements that are not planned with a query list it all the same, and it is known that they had it in time
    assert(ListedFiles(later).contains(Nil) && later.listings.get == 1L)
    assert(inTime(PatientMs)(ListedFiles(later)).contains(Nil))
  }

  test("a listing in time in between, and tables of very many files, are no reason to do without") {
    val at              = place()
    val (one, two, now) = (new SlowIndex(at), new SlowIndex(at), new SlowIndex(at))
    now.release.countDown()
    def inBetween(): Unit = while (inTime(PatientMs)(ListedFiles(now)).isEmpty) Thread.onSpinWait()
    Seq(one, two).foreach { index => late(index); inBetween() }
    val file = new FileStatus(1L, false, 1, 1L, 1L, new Path("/nowhere/file"))
    val many = Seq(PartitionDirectory(InternalRow.empty, Array.fill(20001)(file)))
    val wide = new VersionedIndex(place(), 1L, "t", () => many)
    for (_ <- 1 to 3) assert(inTime(PatientMs)(ListedFiles(wide)).exists(_.head.files.size == 20001))
  }
}
