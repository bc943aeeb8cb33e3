package org.apache.spark.sql.dovetail

import java.io.{EOFException, IOException}
import java.nio.file.{Files, Path}
import java.util.concurrent.{CountDownLatch, TimeUnit}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path => HadoopPath}
import org.apache.spark.sql.catalyst.plans.logical.LeafNode
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.deadline.PlanningTime
import org.apache.spark.sql.dovetail.stats.StoredTables
import org.apache.spark.sql.dovetail.store.{StatisticsStore, StoreFiles, StoreListing}
import org.apache.spark.sql.dovetail.table.TableStatistics
import org.scalatest.BeforeAndAfterAll

/** The store on a file system that is slow or fails for a while: listings, and merges of the parts of a table. */
class SlowStoreSuite extends DovetailSuite with BeforeAndAfterAll {

  /** Starts the session, which sets up logging. */
  override def beforeAll(): Unit = { spark; () }

  private val first  = (1L, 10L)
  private val second = (2L, 20L)

  /** The store as another session sees it, with nothing in memory. */
  private def storeAt(directory: Path): StatisticsStore =
    new StatisticsStore(new StoreFiles(new HadoopPath(directory.toString), new Configuration()))

  /** A directory with one file, whose listings can be held back, with a clock that the test moves. */
  private class Directory(checkMillis: Long = 1000L) {
    @volatile var files          = Map("a" -> first)
    @volatile var hold           = Option.empty[CountDownLatch]
    @volatile var millis         = 0L
    @volatile var threads        = Vector.empty[Thread]
    @volatile var canStart       = true
    @volatile var listed         = 0
    val listing: StoreListing    = new StoreListing(() => list(), checkMillis, () => millis, start)
    def now(): Map[String, Long] = listing.now().map { case (name, (_, length)) => name -> length }

    /** What the directory has when the listing begins. */
    private def list() = {
      listed += 1
      val begun = files
      hold.foreach(_.await())
      begun
    }

    private def start(task: Runnable): Unit = {
      if (!canStart) throw new OutOfMemoryError("unable to create native thread")
      val thread = new Thread(task)
      thread.setDaemon(true)
      threads :+= thread
      thread.start()
    }

    /** Runs the body while a new listing runs that began before. */
    def whileListing[A](body: => A): A = {
      val latch = new CountDownLatch(1)
      hold = Some(latch)
      millis += checkMillis + 1L
      now()
      hold = None
      try body
      finally { latch.countDown(); threads.last.join() }
    }
  }

  test("a query of many tables waits once for a listing that takes long, and not for each table") {
    val d = new Directory
    assert(d.now() == Map("a" -> 10L))
    val began = System.nanoTime()
    d.whileListing {
      d.millis += 100L
      (1 to 100).foreach(_ => assert(d.now() == Map("a" -> 10L)))
    }
    // a wait of 0.1 s for each look-up would be ten seconds
    assert(System.nanoTime() - began < 5000000000L && d.listed == 2)
  }

  test("a listing that hangs is given up, ever later; one for which there is no thread does not stop the next one") {
    val d     = new Directory
    val never = new CountDownLatch(1)
    assert(d.now() == Map("a" -> 10L))
    try {
      d.hold = Some(never)
      d.files += "b" -> second
      def lookedAfter(millis: Long): Int = { d.millis += millis; assert(d.now() == Map("a" -> 10L)); d.threads.size }
      assert(lookedAfter(1001L) == 1 && lookedAfter(StoreListing.GiveUpMillis) == 1 && lookedAfter(1L) == 2)
      assert(lookedAfter(StoreListing.GiveUpMillis * 2) == 2)
      d.canStart = false
      assert(lookedAfter(1L) == 2)
      d.canStart = true
      d.hold = None
      d.now()
      d.threads(2).join()
      assert(d.now() == Map("a" -> 10L, "b" -> 20L))
    } finally never.countDown()
    // listings that were given up change nothing when they end
    d.threads.foreach(_.join())
    assert(d.now() == Map("a" -> 10L, "b" -> 20L))
  }

  test("what this JVM changes is in the listing at once, and stays when a listing ends that began before") {
    val d = new Directory
    d.listing.changed("nobody has asked yet", Some(second))
    assert(d.now() == Map("a" -> 10L))
    d.listing.changed("b", Some(first))
    assert(d.now() == Map("a" -> 10L, "b" -> 10L) && d.listed == 1)
    d.whileListing {
      d.listing.changed("a", None)
      d.listing.changed("b", Some(first))
      d.listing.changed("b", Some(second))
      assert(d.now() == Map("b" -> 20L))
    }
    assert(d.now() == Map("b" -> 20L) && d.listed == 2)
    // a reader that began before the change notes nothing; one that found another file than the listed one does
    d.listing.note("b", first, (3L, 30L))
    assert(d.now() == Map("b" -> 20L))
    d.listing.note("b", second, (3L, 30L))
    assert(d.now() == Map("b" -> 30L))
    // the next listing knows nothing of earlier changes
    d.whileListing(())
    assert(d.now() == Map("a" -> 10L) && d.listed == 3)
  }

  test("statistics that this JVM writes are known at once, without another listing") {
    withDirectory { directory =>
      withConf(WatchedFileSystem.setting) {
        val files = new StoreFiles(
          new HadoopPath(s"${WatchedFileSystem.Scheme}:$directory"),
          spark.sessionState.newHadoopConf()
        )
        val store         = new StatisticsStore(files, checkMillis = Long.MaxValue)
        def rows(i: Int)  = store.find(s"file:/t/$i").map(_.statistics.rows)
        val (_, listings) = WatchedFileSystem.during {
          assert(rows(0).isEmpty)
          (1 to 5).foreach { i =>
            store.write(StoreWriter.table(s"file:/t/$i", "t", i))
            assert(rows(i).contains(i.toLong))
          }
          store.write(StoreWriter.table("file:/t/3", "t", 30))
          assert((1 to 5).map(rows) == Seq(Some(1L), Some(2L), Some(30L), Some(4L), Some(5L)))
        }
        assert(listings.count(_ == "list") == 1, listings)
      }
    }
  }

  test(
    "a directory that takes long to list: the older listing answers, and what another session wrote is found later"
  ) {
    withDirectory { d =>
      withConf(WatchedFileSystem.setting) {
        val directory = new HadoopPath(s"${WatchedFileSystem.Scheme}:$d")
        val store     =
          new StatisticsStore(new StoreFiles(directory, spark.sessionState.newHadoopConf()), checkMillis = -1L)
        def found = store.find("file:/t").map(_.header.name)
        storeAt(d).write(StoreWriter.table("file:/t", "first", 1))
        assert(found.contains("first-1"))
        val listed = new CountDownLatch(1)
        WatchedFileSystem.beforeList = () => { listed.await(60L, TimeUnit.SECONDS); () }
        try {
          storeAt(d).write(StoreWriter.table("file:/t", "second", 20))
          assert(found.contains("first-1") && found.contains("first-1"))
          val (_, calls) = WatchedFileSystem.during(found)
          assert(!calls.contains("list"), "one listing at a time")
        } finally { listed.countDown(); WatchedFileSystem.beforeList = () => () }
        assert(Iterator.continually(found).take(600).exists { name =>
          if (!name.contains("second-20")) Thread.sleep(100L)
          name.contains("second-20")
        })
        // what this session writes is seen at once
        store.write(StoreWriter.table("file:/t", "third", 3))
        assert(found.contains("third-3"))
      }
    }
  }

  /** Runs the body with analyzed tables p and r of four partitions and q of none, and with the store's directory. */
  private def withParts[A](body: Path => A): A = withDirectory { d =>
    val directory = d.resolve("store")
    withConf(
      WatchedFileSystem.setting,
      "spark.dovetail.store.path" -> s"${WatchedFileSystem.Scheme}:$directory"
    ) {
      withTables("p", "q", "r") {
        Seq("p", "r").foreach(t =>
          spark.range(4000).selectExpr("id", "id % 4 AS part").write.partitionBy("part").saveAsTable(t)
        )
        spark.range(10).write.saveAsTable("q")
        Seq("p", "q", "r").foreach { t => spark.sql(s"DOVETAIL ANALYZE TABLE $t").collect(); known(table(t)) }
        try body(directory)
        finally WatchedFileSystem.beforeOpen = (_: HadoopPath) => ()
      }
    }
  }

  private def table(name: String): LeafNode = optimized(s"SELECT id FROM $name").collectFirst { case l: LeafNode =>
    l
  }.get
  private def part(name: String, i: Int): LeafNode =
    optimized(s"SELECT id FROM $name WHERE part = $i").collectFirst { case l: LeafNode => l }.get

  private def known(leaf: LeafNode): TableStatistics = new StoredTables(spark).find(leaf).get

  /** The statistics of leaves that one query gets within its planning time. */
  private def planned(maxMillis: Long, leaves: LeafNode*): Seq[TableStatistics] =
    withConf(DovetailConf.PlanningMaxMs.key -> maxMillis.toString)(
      PlanningTime.ofItsOwn(spark.sessionState.conf) {
        val tables = new StoredTables(spark)
        tables.findAll(leaves)
        leaves.map(tables.find(_).get)
      }
    ).get

  test("a long merge of parts: the whole table stands for them, and no look-up of others or of memory suffers") {
    withParts { _ =>
      assert(planned(LongMillis, part("p", 0)).forall(s => s.fresh && s.rows == 1000L))
      val opened = new CountDownLatch(1)
      WatchedFileSystem.beforeOpen = path =>
        if (path.getName.startsWith("p-")) { opened.await(60L, TimeUnit.SECONDS); () }
      try {
        val slow = planned(2000L, part("p", 1)).head
        assert(math.abs(slow.rows - 1000L) < 100L && slow.unread.exists(_.files == 0), slow)
        // longer than the time after which a place counts as hanging
        Thread.sleep(1500L)
        // parts that still are merged, others that were merged before, a table without parts, and parts of a table
        // that were not asked for yet
        val leaves = Seq(part("p", 1), part("p", 0), table("q"), part("r", 2))
        val found  = planned(LongMillis, leaves: _*)
        assert(found.map(_.fresh) == Seq(false, true, true, true))
        assert(found.tail.map(_.rows) == Seq(1000L, 10L, 1000L))

        // all files were read: they have their share of a count that is set, and ANALYZE has nothing to do
        spark.sql("DOVETAIL SET ROWS 1000000 FOR TABLE p").collect()
        try assert(math.abs(known(part("p", 2)).rows - 250000L) < 25000L)
        finally spark.sql("DOVETAIL FORGET ROWS").collect()
        val advice = spark.sql(
          "SELECT state, reason FROM dovetail_advise('SELECT 1 FROM p JOIN q ON p.id = q.id WHERE p.part = 2')"
        ).collect().map(r => r.getString(0) -> r.getString(1))
        assert(
          advice.length == 2 && advice.forall { case (state, why) =>
            state == "fresh" && !why.contains("added or changed")
          },
          advice.toSeq
        )
      } finally opened.countDown()
    }
  }

  /** Planning time in milliseconds of which no look-up takes a quarter, on a loaded machine either. */
  private val LongMillis = 60000L

  test("a fault of the file system while the stored statistics are read does not overwrite them, a broken file does") {
    withDirectory { d =>
      withConf(WatchedFileSystem.setting) {
        val files = new StoreFiles(
          new HadoopPath(s"${WatchedFileSystem.Scheme}:$d"),
          spark.sessionState.newHadoopConf()
        )
        val store                      = new StatisticsStore(files)
        def update(name: String): Unit = store.update("file:/t")(_ => StoreWriter.table("file:/t", name, 1))
        update("first")
        val list = Files.list(d)
        val file =
          try list.toArray.map(_.asInstanceOf[Path]).find(_.toString.endsWith(StoreFiles.Suffix)).get
          finally list.close()
        val before = Files.readAllBytes(file).toSeq
        LogCapture("dovetail") {
          Seq[() => Throwable](
            () => new EOFException("End of File Exception between local host and name node"),
            () => new IllegalStateException("Connection pool shut down")
          ).foreach { fault =>
            WatchedFileSystem.beforeOpen = _ => throw fault()
            try assert(intercept[IOException](update("second")).getMessage.contains("are not overwritten"), fault())
            finally WatchedFileSystem.beforeOpen = (_: HadoopPath) => ()
            assert(Files.readAllBytes(file).toSeq == before, fault())
          }
          Files.write(file, before.take(before.size / 2).toArray)
          update("third")
        }
        assert(storeAt(d).find("file:/t").exists(_.header.name == "third-1"))
      }
    }
  }

  test("parts that could not be read because of the file system are read by the next query; broken ones are not") {
    withParts { directory =>
      Seq[() => Throwable](
        () => new IOException("503 Slow Down"),
        () => new EOFException("End of File Exception between local host and name node"),
        () => new IllegalStateException("Connection pool shut down")
      ).zipWithIndex.foreach { case (fault, i) =>
        WatchedFileSystem.beforeOpen = _ => throw fault()
        try assert(!known(part("p", i)).fresh, fault())
        finally WatchedFileSystem.beforeOpen = (_: HadoopPath) => ()
        assert(known(part("p", i)).fresh && known(part("p", i)).rows == 1000L, fault())
      }

      val list = Files.list(directory)
      val file =
        try list.toArray.map(_.asInstanceOf[Path]).find(_.getFileName.toString.startsWith("p-")).get
        finally list.close()
      val modified = Files.getLastModifiedTime(file)
      Files.write(file, Files.readAllBytes(file).map(b => (b ^ 0x55).toByte))
      Files.setLastModifiedTime(file, modified)
      def opened(): Int = {
        val (found, calls) = WatchedFileSystem.during(known(part("p", 3)))
        assert(!found.fresh)
        calls.count(_ == s"open ${file.getFileName}")
      }
      assert(opened() > 0 && opened() == 0)
    }
  }
}
