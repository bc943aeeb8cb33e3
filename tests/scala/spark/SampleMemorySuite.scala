package org.apache.spark.sql.dovetail.sample

import java.util.concurrent.{CountDownLatch, CyclicBarrier, TimeUnit}

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.QueryPlanningTracker
import org.apache.spark.sql.catalyst.expressions.{AttributeSet, LessThan, Literal}
import org.apache.spark.sql.dovetail.base.{DovetailConf, SharedMemory}
import org.apache.spark.sql.dovetail.deadline.PlanningTime
import org.apache.spark.sql.dovetail.footers.{
  ColumnFooter,
  FileFooter,
  FooterMemory,
  FooterStatistics,
  Kind,
  RowGroup,
  RowGroups
}
import org.apache.spark.sql.dovetail.stats.PlanStatistics
import org.apache.spark.sql.dovetail.table.TableStatisticsSource
import org.apache.spark.sql.dovetail.{DovetailSuite, WatchedFileSystem}
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}

/** Rows that several queries read from files at the same time: their memory, and that equal reads are one. */
class SampleMemorySuite extends DovetailSuite {

  private val Rows = 3000L

  /** Rows of `t`, and what planning did not wait for. */
  private def planned(data: DataFrame): (Double, Vector[String]) = {
    val plan = data.queryExecution.optimizedPlan
    QueryPlanningTracker.withTracker(new QueryPlanningTracker)(PlanningTime.ofQuery(spark.sessionState.conf) {
      val statistics = new PlanStatistics(spark.sessionState.conf, histograms = true, TableStatisticsSource.none)
      statistics.readAhead(plan)
      (statistics(plan).rows.value, PlanningTime.takeCuts())
    })
  }

  private def table(path: String): DataFrame = {
    spark.range(0, Rows, 1, 1).selectExpr("id", "IF(id % 10 > 0, 'often', 'rare') kind").write.parquet(path)
    spark.read.parquet(path).where("kind = 'often'")
  }

  private val exact = Rows * 0.9

  test("a query goes without rows while reads of others take the memory, says so, and a later one reads them") {
    withDirectory { d =>
      withConf(DovetailConf.PlanningMaxMs.key -> "4000") {
        val data         = table(d.resolve("t").toString)
        val (began, end) = (new CountDownLatch(1), new CountDownLatch(1))
        val other        = new Thread(() =>
          SampleMemory.within(System.nanoTime(), SampleMemory.MostBytes.toDouble) {
            began.countDown(); end.await(60L, TimeUnit.SECONDS); ()
          }
        )
        other.start()
        began.await()
        try {
          val (rows, cuts) = planned(data)
          assert(rows != exact && cuts.exists(_.contains("rows of 1 table")), cuts)
        } finally end.countDown()
        other.join()
        assert(planned(data)._1 == exact)
      }
    }
  }

  test("queries that want rows of a table at the same time read it once") {
    withDirectory { d =>
      withConf(
        WatchedFileSystem.setting,
        DovetailConf.PlanningMaxMs.key        -> "60000",
        DovetailConf.FootersMaxMs.key         -> "20000",
        DovetailConf.StatsPublish.key         -> "false",
        "spark.sql.sources.fileStatusCacheMs" -> "0"
      ) {
        val data                  = table(s"${WatchedFileSystem.Scheme}:${d.resolve("t")}")
        def opens: Vector[String] = {
          val together = new CyclicBarrier(2)
          val found    = new java.util.concurrent.ConcurrentLinkedQueue[java.lang.Double]
          val threads  = (1 to 2).map(_ => new Thread(() => { together.await(); found.add(planned(data)._1); () }))
          val calls    = WatchedFileSystem.during { threads.foreach(_.start()); threads.foreach(_.join()) }._2
          assert(found.toArray.toVector == Vector(exact, exact))
          calls.filter(_.startsWith("open"))
        }
        assert(planned(data)._1 == exact)
        FileSampleCache.clear()
        val (_, alone) = WatchedFileSystem.during(planned(data))
        assert(alone.exists(_.startsWith("open")), alone)
        FileSampleCache.clear()
        // the second query comes while the first one reads
        WatchedFileSystem.beforeOpen = _ => Thread.sleep(300L)
        try assert(opens == alone.filter(_.startsWith("open")))
        finally WatchedFileSystem.beforeOpen = _ => ()
      }
    }
  }

  test("rows are not read while parsing footers takes the memory: a reader parses the footer again") {
    withDirectory { d =>
      spark.range(0, 100, 1, 1).write.parquet(d.resolve("t").toString)
      val leaf         = leafOf(spark.read.parquet(d.resolve("t").toString))
      val sample       = new FileSample(relationOf(leaf), rowGroups(leaf), leaf.schema)
      def read(): Long = sample.read(System.nanoTime()).get.of
      FooterMemory.within(System.nanoTime()) { take =>
        take(FooterMemory.MostBytes)
        // what rounding has left
        try take(0L)
        catch { case SharedMemory.NoFreeMemory => () }
        intercept[SharedMemory.NoFreeMemory.type](read())
      }
      assert(read() == 100L)
    }
  }

  private def leafOf(data: DataFrame): LogicalRelation =
    data.queryExecution.analyzed.collectFirst { case r: LogicalRelation => r }.get

  private def relationOf(leaf: LogicalRelation): HadoopFsRelation =
    leaf.relation match { case f: HadoopFsRelation => f; case other => fail(other.toString) }

  private def rowGroups(leaf: LogicalRelation): RowGroups = {
    val footers = new FooterStatistics(spark.sessionState.conf, _ => "t")
    footers.readAhead(Seq(leaf), AttributeSet.empty)
    footers.rowGroups(leaf).get
  }

  /** Whether rows may be counted whose first column is below a value. */
  private def possible(leaf: LogicalRelation, groups: RowGroups, below: Literal): Boolean = {
    val relation = relationOf(leaf)
    val key      = FileSampleCache.key(relation, groups, new ReaderSettings)
    val read     = FilteredRead(relation, groups, key, leaf.output, LessThan(leaf.output.head, below), _ => true)
    new RowCount(read.get).isPossible
  }

  test("rows of an ORC file are counted if the driver has room for the columns of its largest stripe") {
    withDirectory { d =>
      val path = d.resolve("t").toString
      spark.range(0, 10, 1, 1).write.orc(path)
      val leaf = leafOf(spark.read.orc(path))
      // a file of eight gigabytes in a column
      val rows                           = 1000L * 1000 * 1000
      val file                           = new FileStatus(rows * 8L, false, 1, 1L, 0L, new Path(path))
      def inStripes(of: Long): RowGroups = {
        val column = ColumnFooter("id", rows, Some(0L), Kind.Number, None, rows * 8L)
        val footer = FileFooter(rows, Map("id" -> column), Vector(RowGroup(0L, 1L, rows, Some(of))))
        RowGroups(Vector((file, footer)), all = true, Map("id" -> "id"))
      }
      def fits(stripe: Long): Boolean = possible(leaf, inStripes(stripe), Literal(5L))
      assert(fits(1000L * 1000) && !fits(rows / 10L))
    }
  }

  test("texts of an ORC file count as they are unpacked, however small they are in the file") {
    withDirectory { d =>
      def written(name: String, times: Int): LogicalRelation = {
        spark.range(0, 2500, 1, 1).selectExpr(s"repeat(id, $times) doc").write.orc(d.resolve(name).toString)
        leafOf(spark.read.orc(d.resolve(name).toString))
      }
      val (short, long) = (written("short", 10), written("long", 4000))
      val groups        = rowGroups(long)
      assert(groups.files.map(_._1.getLen).sum < 1024L * 1024, "otherwise the size of the file is reason enough")
      assert(groups.memory(long.schema("doc")) > 10000.0)
      assert(possible(short, rowGroups(short), Literal("5")) && !possible(long, groups, Literal("5")))
    }
  }

  test("all rows of files of which the table may hide some are a sample, and not the table") {
    withDirectory { d =>
      val path = d.resolve("t").toString
      spark.range(0, 100, 1, 1).write.parquet(path)
      val leaf                  = leafOf(spark.read.parquet(path))
      def isTable(all: Boolean) = {
        val sample = new FileSample(relationOf(leaf), rowGroups(leaf).copy(all = all), leaf.schema)
        PlanSample(sample.read(System.nanoTime()).get, leaf.output, fresh = true).complete
      }
      assert(isTable(all = true) && !isTable(all = false))
    }
  }

  test("a column that the files have under an unknown name counts with the bytes of all such columns") {
    withDirectory { d =>
      val path = d.resolve("t").toString
      spark.range(0, 100, 1, 1).selectExpr("id", "repeat(uuid(), 100) doc").write.parquet(path)
      val leaf   = leafOf(spark.read.schema("id LONG, renamed STRING").parquet(path))
      val groups = rowGroups(leaf)
      assert(groups.width(leaf.schema("renamed")) > 3000.0 && groups.width(leaf.schema("id")) < 20.0)
    }
  }
}
