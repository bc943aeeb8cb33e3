package org.apache.spark.sql.dovetail

import java.nio.file.{Files, Path, Paths}
import java.nio.file.attribute.FileTime
import java.util.concurrent.TimeUnit

import scala.util.Random

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path => HadoopPath}
import org.apache.spark.sql.catalyst.plans.logical.LeafNode
import org.apache.spark.sql.dovetail.stats.StoredTables
import org.apache.spark.sql.dovetail.store.{StatisticsStore, StoreFiles, TableFile}
import org.apache.spark.sql.dovetail.table.{GroupStatistics, TableStatistics}
import org.scalatest.BeforeAndAfterAll

/**
 * Faults of the store: writers that are killed, concurrent writers, broken files, other versions, and places that
 * cannot be written to.
 */
class StoreFaultsSuite extends DovetailSuite with BeforeAndAfterAll {

  /** Starts the session, which sets up logging. */
  override def beforeAll(): Unit = { spark; () }

  /** The store as another session sees it, with nothing in memory. */
  private def storeAt(directory: Path): StatisticsStore =
    new StatisticsStore(new StoreFiles(new HadoopPath(directory.toString), new Configuration()))

  private def names(directory: Path): Vector[String] = {
    val list = Files.list(directory)
    try list.toArray.toVector.map(_.asInstanceOf[Path].getFileName.toString).sorted
    finally list.close()
  }

  private def temporary(directory: Path): Vector[String] = names(directory).filter(_.endsWith(".tmp"))

  private def known(sql: String): Option[TableStatistics] = new StoredTables(spark).find(optimized(sql).collectFirst {
    case l: LeafNode => l
  }.get)
  private def rowsOf(table: String): Long = spark.sql(s"SELECT count(*) FROM $table").head().getLong(0)

  private def writer(directory: Path, name: String): Process =
    WriterProcess.start(StoreWriter, directory.resolveSibling(s"$name.log"), directory.toString, "file:/t", name)

  test(
    "writers killed in the middle of a write, two at a time: every look finds a file that one of them wrote, and " +
      "what they leave is cleaned up"
  ) {
    withDirectory { d =>
      val directory              = d.resolve("store")
      val random                 = new Random(4)
      val seen                   = scala.collection.mutable.Set.empty[String]
      def look(): Option[String] = {
        val store             = storeAt(directory)
        val (found, warnings) = LogCapture("dovetail")(store.find("file:/t"))
        found.foreach { t =>
          seen += t.header.name.takeWhile(_ != '-')
          StoreWriter.fault(store, t).foreach(fail(_))
        }
        // threads of other suites may log warnings meanwhile
        assert(!warnings.exists(_.contains(directory.toString)), warnings)
        found.map(_.header.name)
      }
      var last = Option.empty[String]
      (0 until Rounds).foreach { round =>
        val writers = Seq(s"a$round", s"b$round").map(name => name -> writer(directory, name))
        try {
          val deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(WriterProcess.StartSeconds)
          while (!writers.forall { case (name, _) => seen(name) } && System.nanoTime() < deadline) {
            Thread.sleep(5)
            val now = look()
            assert(last.isEmpty || now.nonEmpty, "what was there is gone")
            last = now
          }
          assert(
            writers.forall { case (name, _) => seen(name) },
            names(d).filter(_.endsWith(".log")).map(l => Files.readString(d.resolve(l)).take(2000))
          )
          Thread.sleep(random.nextInt(40).toLong)
        } finally writers.foreach { case (_, p) => p.destroyForcibly().waitFor() }
        writers.foreach { case (_, p) => assert(p.exitValue == WriterProcess.Killed) }
        last = look()
        assert(last.nonEmpty)
      }
      assert(names(directory).count(_.endsWith(StoreFiles.Suffix)) == 1)
      // a killed writer leaves at most the file that it was writing, which stays for a day
      val left = temporary(directory)
      assert(left.size <= 2 * Rounds)
      val files = new StoreFiles(new HadoopPath(directory.toString), new Configuration())
      files.checkWritable()
      assert(temporary(directory) == left)
      left.foreach(f =>
        Files.setLastModifiedTime(
          directory.resolve(f),
          FileTime.fromMillis(System.currentTimeMillis() - TimeUnit.HOURS.toMillis(25))
        )
      )
      files.checkWritable()
      assert(temporary(directory).isEmpty && look() == last)
    }
  }

  /** Each round starts two JVMs, which takes seconds. */
  private val Rounds = 2

  test("whatever byte of a file is broken, and wherever it ends, reading gives what was written or nothing") {
    withDirectory { d =>
      val store = storeAt(d)
      store.write(StoreWriter.table("file:/t", "x", 7).copy(parts = Vector.empty))
      val file  = d.resolve(names(d).head)
      val bytes = Files.readAllBytes(file)
      // every byte of the first 100, which have the lengths, and every third of the others
      val places = bytes.indices.filter(i => i < 100 || i % 3 == 0)
      val broken = places.map(i => bytes.updated(i, (bytes(i) ^ (1 << i % 8)).toByte)) ++ places.map(bytes.take(_))
      // also lengths of up to one gigabyte, for which there is no memory
      val long = (12 until 16).map(i => bytes.updated(i, 0x3f.toByte))
      LogCapture("dovetail")((broken ++ long).zipWithIndex.foreach { case (content, i) =>
        Files.write(file, content)
        assert(storeAt(d).find("file:/t").forall(t => t.statistics.rows == 7 && t.header.name == "x-7"), i)
      })
      assert(storeAt(d).find("file:/t").isEmpty)
      Files.write(file, bytes)
      assert(storeAt(d).find("file:/t").exists(_.statistics.rows == 7))
    }
  }

  test("two sessions that analyze different partitions at once: both are kept") {
    withDirectory { d =>
      withConf("spark.dovetail.store.path" -> d.resolve("store").toString) {
        withTables("t") {
          spark.range(4000).selectExpr("id", "CAST(id % 4 AS INT) p").write.partitionBy("p").saveAsTable("t")
          val threads = (0 until 4).map(p =>
            new Thread(() => { spark.sql(s"DOVETAIL ANALYZE TABLE t PARTITION (p = $p)").collect(); () })
          )
          threads.foreach(_.start())
          threads.foreach(_.join())
          assert(known("SELECT * FROM t").exists(s => s.fresh && s.rows == 4000))
        }
      }
    }
  }

  test("a partition known before stays known when another session replaces the file while this one reads it") {
    withDirectory { d =>
      val directory = d.resolve("store")
      withConf(WatchedFileSystem.setting, "spark.dovetail.store.path" -> s"${WatchedFileSystem.Scheme}:$directory") {
        withTables("t") {
          spark.range(4000).selectExpr("id", "CAST(id % 4 AS INT) p").write.partitionBy("p").saveAsTable("t")
          def analyze(p: Int): Unit = { spark.sql(s"DOVETAIL ANALYZE TABLE t PARTITION (p = $p)").collect(); () }
          analyze(0)
          val file   = directory.resolve(names(directory).find(_.endsWith(StoreFiles.Suffix)).get)
          val before = Files.readAllBytes(file)
          analyze(2)
          analyze(3)
          val others = Files.readAllBytes(file)
          Files.write(file, before)
          Thread.sleep(StatisticsStore.CheckMillis + 100)
          var opened = 0
          WatchedFileSystem.beforeOpen = path =>
            if (path.getName == file.getFileName.toString) {
              opened += 1
              // its header has been read, and one of its parts is read next
              if (opened == 2) { Files.write(file, others); () }
            }
          try analyze(1)
          finally WatchedFileSystem.beforeOpen = (_: HadoopPath) => ()
          assert(opened > 2)
          assert(known("SELECT * FROM t").exists(s => s.fresh && s.rows == 4000))
        }
      }
    }
  }

  test("a file replaced by another session while its parts are read is no broken file") {
    withDirectory { d =>
      val store = storeAt(d)
      store.write(StoreWriter.table("file:/t", "x", 1))
      val before = store.find("file:/t").get
      storeAt(d).write(StoreWriter.table("file:/t", "y", 90))
      val (parts, warnings) = LogCapture("dovetail")(before.header.parts.map(store.part(before, _)))
      assert(parts.forall(_.isEmpty) && warnings.isEmpty)
    }
  }

  test("a file replaced between the look at its length and its opening is read as it is then, without a warning") {
    withDirectory { d =>
      withConf(WatchedFileSystem.setting) {
        val directory = new HadoopPath(s"${WatchedFileSystem.Scheme}:$d")
        val files     = new StoreFiles(directory, spark.sessionState.newHadoopConf())
        storeAt(d).write(StoreWriter.table("file:/t", "short", 1))
        var opened = 0
        WatchedFileSystem.beforeOpen = _ => {
          opened += 1
          // twice in a row, each time by a longer file
          if (opened <= 2) storeAt(d).write(StoreWriter.table("file:/t", "longer" * 20 * opened, 50 * opened))
        }
        val store             = new StatisticsStore(files, checkMillis = Long.MaxValue)
        val (found, warnings) =
          try LogCapture("dovetail")(store.find("file:/t"))
          finally WatchedFileSystem.beforeOpen = (_: HadoopPath) => ()
        val last = "longer" * 40 + "-100"
        assert(found.exists(_.header.name == last) && warnings.isEmpty && opened == 3, (found, warnings, opened))
        // the cached statistics belong to the file that they were read from
        val (again, calls) = WatchedFileSystem.during(store.find("file:/t"))
        assert(again.exists(_.header.name == last) && calls.isEmpty, calls)
      }
    }
  }

  test("hundreds of tables: a look-up reads its own table's file, and the directory once for all") {
    withDirectory { d =>
      withConf(WatchedFileSystem.setting) {
        val directory = new HadoopPath(s"${WatchedFileSystem.Scheme}:${d.resolve("store")}")
        val files     = new StoreFiles(directory, spark.sessionState.newHadoopConf())
        val writing   = new StatisticsStore(files)
        val table     = StoreWriter.table("file:/t/0", "t", 1).copy(parts = Vector.empty)
        (0 until 300).foreach(i => writing.write(table.copy(key = s"file:/t/$i", name = s"t-$i")))
        val store          = new StatisticsStore(files, checkMillis = Long.MaxValue)
        def find(i: Int)   = store.find(s"file:/t/$i").exists(_.header.name == s"t-$i")
        val (found, calls) = WatchedFileSystem.during(find(1) && find(200))
        val (again, none)  = WatchedFileSystem.during(find(1) && find(200))
        assert(found && again && none.isEmpty, none)
        assert(calls.count(_ == "list") == 1 && calls.count(_.startsWith("open")) == 2 && calls.size == 3, calls)
        assert(files.list().size == 300 && (0 until 300).forall(find))
      }
      // on a local disk the store does not list the directory, which would access every file
      val onDisk = storeAt(d.resolve("store"))
      assert((0 until 300).forall(i => onDisk.find(s"file:/t/$i").exists(_.header.name == s"t-$i")))
    }
  }

  test("a place that can be read and not written: queries use what is there, and ANALYZE says what to do") {
    withDirectory { d =>
      withConf(
        WatchedFileSystem.setting,
        "spark.dovetail.store.path" -> s"${WatchedFileSystem.Scheme}:${d.resolve("store")}"
      ) {
        withTables("t", "u") {
          spark.range(100).write.saveAsTable("t")
          spark.range(10).write.saveAsTable("u")
          spark.sql("DOVETAIL ANALYZE TABLE t").collect()
          WatchedFileSystem.readOnly = true
          try {
            Seq("t", "u").foreach { name =>
              val e = intercept[java.io.IOException](spark.sql(s"DOVETAIL ANALYZE TABLE $name").collect())
              assert(
                e.getMessage.contains("Permission denied") && e.getMessage.contains(
                  "Set spark.dovetail.store.path to a directory"
                ),
                e.getMessage
              )
            }
            assert(known("SELECT * FROM t").exists(s => s.fresh && s.rows == 100) && rowsOf("t") == 100)
            assert(known("SELECT * FROM u").isEmpty && rowsOf("u") == 10)
          } finally WatchedFileSystem.readOnly = false
          spark.sql("DOVETAIL ANALYZE TABLE u").collect()
          assert(known("SELECT * FROM u").exists(_.fresh))
        }
      }
    }
  }

  test("paths at which there can be no store: queries run, and ANALYZE names the path and the setting") {
    withDirectory { d =>
      val file = Files.write(d.resolve("file"), Array[Byte](1))
      withTables("t") {
        spark.range(10).write.saveAsTable("t")
        Seq(
          file.toString,
          file.resolve("below").toString,
          "nosuchscheme://host/store",
          "/proc/store",
          "::",
          "hdfs:/no/host",
          // Hadoop knows the class of this file system, whose jar is missing
          "s3a://bucket/store"
        ).foreach { path =>
          withConf("spark.dovetail.store.path" -> path) {
            val e = intercept[java.io.IOException](spark.sql("DOVETAIL ANALYZE TABLE t").collect())
            assert(
              e.getMessage.contains(path) && e.getMessage.contains("Set spark.dovetail.store.path to a directory"),
              e.getMessage
            )
            assert(known("SELECT * FROM t").isEmpty && rowsOf("t") == 10)
          }
        }
      }
      assert(Files.readAllBytes(file).toSeq == Seq[Byte](1))
    }
  }

  test("at a path of no file system there are no pins, however often one looks, and no constants to reset") {
    Seq("nosuchscheme://host/store", "s3a://bucket/store", "hdfs:/no/host").foreach { path =>
      withConf("spark.dovetail.store.path" -> path) {
        (1 to 2).foreach(_ => assert(spark.sql("SELECT * FROM dovetail_pins()").collect().isEmpty))
        val e = intercept[java.io.IOException](spark.sql("DOVETAIL CALIBRATE RESET").collect())
        assert(e.getMessage.contains("Set spark.dovetail.store.path to a directory"), e.getMessage)
      }
    }
  }

  test("statistics of a newer version are not read, and not replaced without a word") {
    withDirectory { d =>
      val directory = d.resolve("store")
      withConf("spark.dovetail.store.path" -> directory.toString) {
        withTables("t") {
          spark.range(10).write.saveAsTable("t")
          spark.sql("DOVETAIL ANALYZE TABLE t").collect()
          val file  = directory.resolve(names(directory).find(_.endsWith(StoreFiles.Suffix)).get)
          val bytes = Files.readAllBytes(file)
          Files.write(file, bytes.updated(VersionByte, (TableFile.Version + 1).toByte))
          Thread.sleep(50L)
          assert(known("SELECT * FROM t").isEmpty && rowsOf("t") == 10)
          assert(Files.readAllBytes(file)(VersionByte) == TableFile.Version + 1, "a query leaves it alone")
          val notes = spark.sql("DOVETAIL ANALYZE TABLE t").head().getString(6)
          assert(notes.contains(s"a newer version of Dovetail wrote (format ${TableFile.Version + 1}"), notes)
          assert(known(
            "SELECT * FROM t"
          ).exists(_.fresh) && spark.sql("DOVETAIL ANALYZE TABLE t").head().getString(6).isEmpty)
        }
      }
    }
  }

  /** The last byte of the version, which follows the magic. */
  private val VersionByte = 11

  /**
   * The table that each version wrote: 600 rows in two parts, a column of each type, with a group and a sample of 20
   * rows.
   */
  Seq(1, 2).foreach(version => test(s"files of version $version are read")(readable(version)))

  private def readable(version: Int): Unit = {
    val store                = storeAt(Paths.get(s"tests/resources/store/version-$version"))
    val table                = store.find("file:/data/every_type").get
    val s                    = table.statistics
    def column(name: String) = s.columns.find(_.name == name).get
    assert(table.header.name == "every_type" && s.rows == 600 && s.collectedAt == 1700000000000L)
    assert(
      s.columns.map(_.dataType.simpleString).mkString(" ") ==
        "bigint tinyint int double float boolean decimal(9,2) decimal(30,0) date timestamp timestamp_ntz string " +
        "string binary int"
    )
    assert(column("id").min.contains(0L) && column("id").max.contains(599L) && column("id").quantiles.size > 50)
    assert(column("int").nulls == 150 && column("nothing").nulls == 600 && column("nothing").ndv == 0)
    assert(column("decimal").max.map(_.toString).contains("149.75") && column("date").min.contains(18262))
    assert(math.round(column("word").ndv) == 50 && column("word").heavyHitters.size == 50 && column(
      "word"
    ).heavyHitters.forall(_._2 == 12))
    assert(column("long").width == 100.0 && column("long").max.exists(_.toString.length == 64))
    assert(s.groups == Vector(GroupStatistics(
      Vector("tiny", "word"),
      s.groups.head.ndv
    )) && math.abs(s.groups.head.ndv - 350) < 20)
    assert(s.sample.exists(x =>
      x.of == 600 && x.rows.length == 20 && x.rows.forall(r => r.getLong(0) % 7 == r.getByte(1))
    ))
    val parts = table.header.parts.map(p => store.part(table, p).flatMap(store.sketch(table, _)).get)
    assert(table.header.version == version && parts.map(_.rowCount) == Vector(300L, 300L))
    ()
  }
}
