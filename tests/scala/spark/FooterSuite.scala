package org.apache.spark.sql.dovetail

import java.nio.file.{Files, Path, StandardOpenOption}
import java.nio.file.attribute.FileTime

import scala.util.Random

import dovetail.kernel.profile.{ColumnProfile, Estimate, RelationProfile, Source}
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.footers._
import org.apache.spark.sql.dovetail.stats.PlanStatistics
import org.apache.spark.sql.dovetail.table.TableStatisticsSource
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

/**
 * Statistics from the footers of real files, compared with the data that was written.
 *
 * The table of most tests has 1000 rows: id 0 to 999, ten = id % 10, half NULL in every second row, d 100 days, dec
 * with two decimals, ts seconds, word one of fifty, name different in each row.
 */
class FooterSuite extends DovetailSuite {
  private val Rows = 1000

  private def rows(from: Long = 0, to: Long = Rows.toLong): DataFrame = spark.range(from, to).selectExpr(
    "CAST(id AS INT) id",
    "id % 10 ten",
    "IF(id % 2 = 0, CAST(id AS INT), NULL) half",
    "date_add(DATE'2020-01-01', CAST(id % 100 AS INT)) d",
    "CAST(id * 0.25 AS DECIMAL(9,2)) dec",
    "timestamp_seconds(id) ts",
    "id / 8.0D x",
    "id % 3 = 0 flag",
    "concat('word ', id % 50) word",
    "concat('a long and different name of row ', hash(id), '-', id) name",
    "CAST(NULL AS INT) nothing"
  )

  /** Gives the readers all the time they need, unless a test sets another limit. */
  private lazy val Patient = DovetailConf.FootersMaxMs.key -> "60000"

  private def profile(plan: LogicalPlan): RelationProfile =
    new PlanStatistics(spark.sessionState.conf, histograms = true, TableStatisticsSource.none)(plan)

  private def profile(data: DataFrame): RelationProfile = withConf(Patient)(profile(data.queryExecution.optimizedPlan))

  private def column(data: DataFrame, name: String): ColumnProfile = {
    val plan = data.queryExecution.optimizedPlan
    withConf(Patient)(profile(plan)).column(plan.output.find(_.name == name).get.exprId.id)
  }

  private def parquetAt(p: Path): DataFrame = spark.read.parquet(p.toString)

  private def write(
      data: DataFrame,
      to: Path,
      format: String = "parquet",
      files: Int = 1,
      mode: String = "append",
      options: Map[String, String] = Map.empty
  ): Unit =
    data.coalesce(files).write.format(format).options(options).mode(mode).save(to.toString)

  private def dataFiles(directory: Path): Vector[Path] = {
    val paths = Files.walk(directory)
    try paths.filter(p => p.getFileName.toString.startsWith("part-")).toArray.map(_.asInstanceOf[Path]).toVector.sorted
    finally paths.close()
  }

  private def micros(seconds: Double): Double = seconds * 1e6

  Seq("parquet", "orc").foreach { format =>
    test(s"$format: rows, NULLs and ranges of every type") {
      withDirectory { directory =>
        val path = directory.resolve("t")
        withConf("spark.sql.parquet.outputTimestampType" -> "TIMESTAMP_MICROS")(write(rows(), path, format))
        val data = spark.read.format(format).load(path.toString)
        val p    = profile(data)
        assert(p.rows.source == Source.Footer && p.rows.lower == Rows && p.rows.upper == Rows && p.baseRows == Rows)
        def range(name: String) = { val c = column(data, name); (c.min, c.max) }
        def from(low: Double, high: Double): (Option[Double], Option[Double]) = (Some(low), Some(high))
        assert(range("id") == from(0, 999) && range("ten") == from(0, 9) && range("half") == from(0, 998))
        assert(range("d") == from(18262, 18361))
        assert(range("dec") == from(0, 249.75))
        assert(range("ts") == from(0, micros(999)))
        assert(range("x") == from(0, 999 / 8.0))
        assert(range("flag") == from(0, 1))
        assert(range("word") == ((None, None)) && range("nothing") == ((None, None)))
        assert(column(data, "half").nulls.contains(0.5) && column(data, "id").nulls.contains(0.0) && column(
          data,
          "nothing"
        ).nulls.contains(1.0))
        assert(column(data, "nothing").ndv.contains(0.0))
        assert(column(data, "flag").ndv.contains(2.0) && column(data, "ten").ndv.contains(10.0) && column(
          data,
          "d"
        ).ndv.contains(100.0))
        // texts have a measured width: `word` has at most 7 letters, `name` has about fifty
        assert(
          column(data, "word").width.mean > 5.0 && column(data, "word").width.mean < 8.0,
          column(data, "word").width
        )
        assert(
          column(data, "name").width.mean > 40.0 && column(data, "name").width.mean < 60.0,
          column(data, "name").width
        )
      }
    }
  }

  test("distinct values: dictionaries are counted, values that no dictionary pays for are taken to be unique") {
    withDirectory { directory =>
      val path = directory.resolve("t")
      write(rows(), path)
      val data = parquetAt(path)
      assert(column(data, "word").ndv.contains(50.0))
      assert(column(data, "id").ndv.contains(1000.0) && column(data, "half").ndv.contains(500.0))
      assert(column(data, "name").ndv.contains(1000.0))
      // INT96 has a dictionary, but no range
      write(rows().selectExpr("timestamp_seconds(id % 7) week", "id"), directory.resolve("old"))
      val week = column(parquetAt(directory.resolve("old")), "week")
      assert(week.ndv.contains(7.0) && week.min.isEmpty, week)
      // if the writer uses no dictionaries, this does not mean that values are unique
      write(rows(), directory.resolve("plain"), options = Map("parquet.enable.dictionary" -> "false"))
      val plain = parquetAt(directory.resolve("plain"))
      assert(column(plain, "word").ndv.isEmpty && column(plain, "name").ndv.isEmpty)
      assert(column(plain, "ten").ndv.contains(10.0), "by its range")
    }
  }

  test("a dictionary that was given up is a lower bound, and no more than a factor from the truth") {
    withDirectory { directory =>
      val path = directory.resolve("t")
      val n    = 200000L
      val data = spark.range(n).selectExpr(
        "id % 1000 * 1000003 AS few",
        "hash(id % 20000) * 4294967296L AS drawn",
        "xxhash64(id) AS key"
      )
      write(data, path, options = Map("parquet.dictionary.page.size" -> "20000"))
      val read = parquetAt(path)
      assert(column(read, "few").ndv.contains(1000.0))
      assert(column(read, "key").ndv.contains(n.toDouble))
      val drawn = column(read, "drawn").ndv.get
      assert(drawn >= 2500.0 && drawn <= n.toDouble, drawn)
    }
  }

  test("row groups and files: values that all parts have count once, values of sorted parts add up") {
    withDirectory { directory =>
      val path = directory.resolve("t")
      (0 until 8).foreach(i => write(rows(i * 1000L, (i + 1) * 1000L), path))
      val data = parquetAt(path)
      assert(profile(data).rows.lower == 8000.0 && profile(data).rows.upper == 8000.0)
      assert(column(data, "id").ndv.contains(8000.0) && column(data, "half").ndv.contains(4000.0))
      assert(column(data, "word").ndv.contains(50.0) && column(data, "ten").ndv.contains(10.0) && column(
        data,
        "d"
      ).ndv.contains(100.0))
      assert(column(data, "name").ndv.exists(n => n > 7000.0 && n <= 8000.0), column(data, "name").ndv)
      // values drawn at random in every file
      val drawn = directory.resolve("drawn")
      (0 until 8).foreach(i =>
        write(spark.range(i * 1000L, (i + 1) * 1000L).selectExpr("concat('k', pmod(hash(id), 700)) AS k", "id"), drawn)
      )
      assert(column(parquetAt(drawn), "k").ndv.exists(n => n > 500.0 && n < 1000.0), column(parquetAt(drawn), "k").ndv)
      // many row groups in one file
      val groups = directory.resolve("groups")
      write(
        rows(0, 40000),
        groups,
        options = Map("parquet.block.size" -> "65536", "parquet.block.size.row.check.min" -> "100")
      )
      assert(column(parquetAt(groups), "word").ndv.contains(50.0) && column(
        parquetAt(groups),
        "id"
      ).ndv.contains(40000.0))
    }
  }

  test("partition columns have the values of the partitions") {
    withDirectory { directory =>
      Seq("parquet", "orc").foreach { format =>
        val path = directory.resolve(format)
        rows().selectExpr(
          "*",
          "IF(id < 100, NULL, id % 4) AS part",
          "concat('p', id % 5) AS text"
        ).coalesce(1).write.format(format).partitionBy("part", "text").save(path.toString)
        val data = spark.read.format(format).load(path.toString)
        assert(profile(data).rows.value == Rows)
        val part = column(data, "part")
        assert(
          part.ndv.contains(4.0) && part.min.contains(0.0) && part.max.contains(3.0) && part.nulls.exists(n =>
            math.abs(n - 0.1) < 1e-9
          ),
          part
        )
        assert(column(data, "text").ndv.contains(5.0) && column(data, "text").min.isEmpty)
      }
    }
  }

  test("partition columns know how many rows each value has; the order of the files is no order of their values") {
    withDirectory { directory =>
      val path = directory.resolve("t")
      rows().selectExpr("id", "CASE WHEN id % 10 < 6 THEN 0 ELSE 1 + id % 4 END AS c").write.partitionBy("c")
        .parquet(path.toString)
      val data                = spark.read.parquet(path.toString)
      def kept(where: String) = profile(data.where(where)).rows.value
      assert(kept("c = 0") == 600.0 && kept("c = 9") <= 1.0, s"${kept("c = 0")} ${kept("c = 9")}")
      val part = column(data, "c")
      assert(
        part.frequent.exists(f => f.complete && math.abs(f.values.map(_.share).sum - 1.0) < 1e-9) && part.unseen == 0.0,
        part
      )
    }
  }

  test("if only some files of many are read, few rows lie beyond their range, and no partition is unknown") {
    withDirectory { directory =>
      val path = directory.resolve("t")
      // more files than are read of a table
      rows(0L, 600L).selectExpr("id", "id AS p").coalesce(1).write.partitionBy("p").parquet(path.toString)
      val data = spark.read.parquet(path.toString)
      val all  = profile(data).rows
      assert(all.lower < all.upper && math.abs(all.value - 600.0) < 60.0, all)
      assert(profile(data.where("p >= 590")).rows.value < 30.0)
      assert(profile(data.where("id >= 590")).rows.value < 30.0)
    }
  }

  test("pruned partitions of a table: the footers of what is left, and the predicate counts once") {
    withTables("pruned") {
      spark.sql(
        "CREATE TABLE pruned USING parquet PARTITIONED BY (part) AS SELECT id, id % 7 AS seven, id % 20 AS part FROM " +
          "range(1000)"
      )
      val plan = withConf(Patient)(profile(optimized("SELECT * FROM pruned WHERE part = 3")))
      assert(plan.rows.source == Source.Footer && plan.rows.value == 50.0, plan.rows)
      assert(withConf(Patient)(profile(optimized("SELECT * FROM pruned"))).rows.lower == Rows)
    }
  }

  test("files of data source version 2: rows after pruning, and nothing of what an aggregate was pushed into") {
    withDirectory { directory =>
      withConf("spark.sql.sources.useV1SourceList" -> "", "spark.sql.parquet.aggregatePushdown" -> "true") {
        Seq("parquet", "orc").foreach { format =>
          val path = directory.resolve(format)
          rows().selectExpr(
            "*",
            "id % 4 AS part"
          ).coalesce(1).write.format(format).partitionBy("part").save(path.toString)
          val data = spark.read.format(format).load(path.toString)
          assert(data.queryExecution.optimizedPlan.collectLeaves().forall(_.isInstanceOf[DataSourceV2ScanRelation]))
          assert(profile(data).rows.source == Source.Footer && profile(data).rows.lower == Rows)
          assert(column(data, "ten").ndv.contains(10.0) && column(data, "part").ndv.contains(4.0))
          assert(profile(data.where("part = 1")).rows.value == 250.0)
          val filtered = profile(data.where("part = 1 AND id < 100")).rows.value
          assert(filtered > 20.0 && filtered < 30.0, filtered)
          val counted = profile(data.selectExpr("max(id)", "count(*)"))
          assert(counted.rows.value == 1.0, counted.rows)
        }
      }
    }
  }

  test("the rule sees them: reported by explain, read within a query") {
    withDirectory { directory =>
      val names = Seq("a", "b", "c")
      withConf(Patient) {
        names.zipWithIndex.foreach { case (n, i) =>
          write(rows(0, 100L * (i + 1)), directory.resolve(n));
          parquetAt(directory.resolve(n)).createOrReplaceTempView(n)
        }
        withTables(names: _*) {
          val relations =
            traced("SELECT a.name FROM a JOIN b ON a.id = b.id JOIN c ON b.half = c.id")._2.groups.head.relations
          assert(relations.map(r => r.name -> r.rows.map(_.source)) == names.map(_ -> Some(Source.Footer)))
          assert(relations.head.rows.exists(_.upper == 100.0))
        }
      }
    }
  }

  test("a format of a third party may add rows to those of the files: the footers bound nothing") {
    withDirectory { directory =>
      write(rows(), directory.resolve("t"))
      val read = spark.read.format(classOf[MergingFormat].getName).load(directory.resolve("t").toString)
      val p    = profile(read)
      assert(p.rows == Estimate.guess(Rows.toDouble, Source.Footer))
      assert(!column(read, "word").width.known)
    }
  }

  test("better sources come first, and the switch turns footers off") {
    withTables("known") {
      spark.sql("CREATE TABLE known USING parquet AS SELECT id FROM range(10)")
      def source = withConf(Patient)(profile(optimized("SELECT * FROM known"))).rows.source
      assert(source == Source.Footer)
      assert(withConf(DovetailConf.FootersEnabled.key -> "false")(source) == Source.Size)
      spark.sql("ANALYZE TABLE known COMPUTE STATISTICS")
      val p = new PlanStatistics(spark.sessionState.conf, histograms = true, TableStatisticsSource.none)
      p.learnFrom(optimized("SELECT * FROM known"))
      assert(p(optimized("SELECT * FROM known")).rows.source == Source.Catalog)
    }
  }

  test("a cached relation is exact once it is filled, and its files are not asked") {
    withDirectory { directory =>
      write(rows(), directory.resolve("t"))
      def data = parquetAt(directory.resolve("t")).where("ten < 3")
      data.cache()
      try {
        assert(profile(data).rows.source != Source.Exact)
        data.count()
        assert(profile(data).rows.source == Source.Exact && profile(data).rows.value == 300.0)
      } finally { data.unpersist(blocking = true); () }
    }
  }

  // time, changes, faults

  test("time is limited: what is read is a sample, which the next query continues, and the bounds say so") {
    withDirectory { directory =>
      val path = directory.resolve("t")
      (0 until 12).foreach(i => write(rows(i * 100L, (i + 1) * 100L), path))
      withConf(WatchedFileSystem.setting) {
        val data                = spark.read.parquet(s"${WatchedFileSystem.Scheme}://$path")
        val plan                = data.queryExecution.optimizedPlan
        def read(maxMs: String) = withConf(DovetailConf.FootersMaxMs.key -> maxMs)(profile(plan)).rows
        FooterCache.clear()
        assert(read("0").source == Source.Size, "no time, nothing read")
        // a first read gets up to twenty times its limit: 20 ms are not enough for two files after each other
        WatchedFileSystem.beforeOpen = _ => Thread.sleep(20L)
        val attempts =
          try
            Iterator.continually(read("1")).take(2000).takeWhile(r => r.lower < r.upper)
              .filter(_.source == Source.Footer).toVector
          finally WatchedFileSystem.beforeOpen = _ => ()
        assert(attempts.nonEmpty)
        attempts.foreach(r => assert(r.lower <= 1200.0 && r.upper >= 1200.0 && r.value > 900.0 && r.value < 1500.0, r))
        assert(read("0").lower == 1200.0 && read("0").upper == 1200.0, "in the end, all files have been read")
      }
    }
  }

  test("a table of which some files have been read: rows by bytes, lower bound what was counted") {
    withDirectory { directory =>
      val path = directory.resolve("t")
      (0 until 4).foreach(i => write(rows(i * 1000L, (i + 1) * 1000L), path))
      val files = dataFiles(path)
      Files.write(files(2), Array.fill[Byte](Files.size(files(2)).toInt)(7))
      val (p, lines) = LogCapture("dovetail")(profile(parquetAt(files(0)).unionByName(parquetAt(files(1)))))
      assert(p.rows.lower == 2000.0 && lines.isEmpty)
      val schema       = parquetAt(files.head).schema
      val (q, warning) = LogCapture("dovetail") {
        val data = spark.read.schema(schema).parquet(path.toString)
        (1 to 3).map(_ => profile(data)).last
      }
      assert(q.rows.lower == 3000.0 && q.rows.upper > 4000.0 && math.abs(q.rows.value - 4000.0) < 400.0, q.rows)
      assert(warning.size == 1 && warning.head.contains(files(2).getFileName.toString), warning)
    }
  }

  test("a fault of all files of a partitioned table is one warning") {
    withDirectory { directory =>
      val path = directory.resolve("t")
      rows().selectExpr("id", "id % 8 AS p").coalesce(1).write.partitionBy("p").parquet(path.toString)
      dataFiles(path).filter(Files.isRegularFile(_)).foreach(Files.write(_, Array.fill[Byte](500)(7)))
      val (_, lines) = LogCapture("dovetail")(profile(spark.read.schema("id INT, p INT").parquet(path.toString)))
      assert(lines.size == 1, lines)
    }
  }

  test("a table without one readable footer has its size, and queries run as Spark lets them") {
    withDirectory { directory =>
      Seq("parquet", "orc").foreach { format =>
        val path = directory.resolve(format)
        write(rows(), path, format)
        dataFiles(path).foreach(f => Files.write(f, Random.alphanumeric.take(5000).mkString.getBytes("UTF-8")))
        val data = spark.read.schema("id INT, name STRING").format(format).load(path.toString)
        assert(profile(data).rows.source == Source.Size)
        withConf("spark.sql.files.ignoreCorruptFiles" -> "true")(assert(data.count() == 0L))
      }
    }
  }

  test("a file that has changed is read again") {
    withDirectory { directory =>
      val path = directory.resolve("t")
      write(rows(), path)
      assert(profile(parquetAt(path)).rows.value == Rows)
      write(rows(0, 10), path, mode = "overwrite")
      assert(profile(parquetAt(path)).rows.value == 10.0)
      // the same name and length, another time
      val other = directory.resolve("other")
      write(rows(0, 10), other)
      val (file, fresh) = (dataFiles(path).head, dataFiles(other).head)
      Files.write(file, Files.readAllBytes(fresh), StandardOpenOption.TRUNCATE_EXISTING)
      Files.deleteIfExists(file.resolveSibling(s".${file.getFileName}.crc"))
      Files.setLastModifiedTime(file, FileTime.fromMillis(1000000L))
      assert(FooterCache.get(FileKey(s"file:$file", Files.size(file), 1000000L)).isEmpty)
      assert(profile(parquetAt(path)).rows.value == 10.0)
      assert(FooterCache.get(FileKey(s"file:$file", Files.size(file), 1000000L)).nonEmpty)
    }
  }

  test("columns that only some files have, in another case, of another type, nested") {
    withDirectory { directory =>
      val path = directory.resolve("t")
      write(
        spark.range(100).selectExpr(
          "id AS Key",
          "id % 5 AS added",
          "struct(id AS a, id AS b) AS s",
          "array(id) AS list"
        ),
        path
      )
      write(spark.range(300).selectExpr("id AS Key", "struct(id AS a, id AS b) AS s", "array(id) AS list"), path)
      val data = spark.read.schema(
        "key BIGINT, added BIGINT, s STRUCT<a: BIGINT, b: BIGINT>, list ARRAY<BIGINT>"
      ).parquet(path.toString)
      assert(column(data, "key").max.contains(299.0) && column(data, "added").nulls.contains(0.75) && column(
        data,
        "added"
      ).ndv.contains(5.0))
      assert(column(data, "s").ndv.isEmpty && column(data, "list").nulls.isEmpty)
      val asDate = spark.read.schema("key TIMESTAMP").parquet(path.toString)
      assert(column(asDate, "key").max.isEmpty, "numbers are no times")
      val missing = spark.read.schema("other INT").parquet(path.toString)
      assert(column(missing, "other").nulls.isEmpty, "a column that no file has may go by another name")
    }
  }

  test("an empty table has no rows") {
    withTables("empty") {
      spark.sql("CREATE TABLE empty (k INT) USING parquet")
      val p = withConf(Patient)(profile(optimized("SELECT * FROM empty")))
      assert(p.rows.value == 0.0 && p.rows.upper == 0.0 && p.rows.source == Source.Footer)
    }
  }

  // arithmetic

  test("a union of parts lies between the largest part and the sum") {
    val random = new Random(7)
    (1 to 200).foreach { i =>
      val parts = Vector.fill(1 + random.nextInt(8)) {
        val n = 1.0 + random.nextInt(100000)
        val d = math.max(1.0, math.floor(n * random.nextDouble()))
        val l = random.nextInt(5).toDouble
        ChunkValues(
          n,
          d,
          if (random.nextInt(4) == 0) None
          else if (i % 2 == 0) Some(Numbers(l, l + random.nextInt(3))) else Some(Texts(s"a$l", s"b$l"))
        )
      }
      val total = parts.map(_.values).sum
      val whole = DistinctHints.union(parts, total)
      assert(whole >= parts.map(_.ndv).max - 1e-6 && whole <= parts.map(_.ndv).sum + 1e-6, s"$whole of $parts")
      assert(DistinctHints.union(parts, total * 3) >= whole - 1e-6)
    }
  }

  test("a value that stands for none is in every part, and says nothing of the others") {
    def union(ndv: Double, ends: Int => Ends) =
      DistinctHints.union(Vector.tabulate(50)(i => ChunkValues(1e6, ndv, Some(ends(i)))), 5e7)
    assert(union(4e5, i => Numbers(0.0, 4e5 * (i + 1.0))) == 2e7)
    assert(union(4e5, i => Numbers(-4e5 * (i + 1.0), 0.0)) == 2e7)
    assert(union(4e5, i => Texts("", f"s$i%02d")) == 2e7)
    // few values: those of a part may have another largest one by chance
    assert(union(1000.0, i => Numbers(0.0, 900.0 + i)) < 2100.0)
    // both ends in common
    assert(union(4e5, _ => Numbers(0.0, 4e5)) == 4e5)
    withDirectory { directory =>
      val sessions = spark.range(0, 240000, 1, 8).selectExpr("IF(pmod(hash(id), 10) = 0, 0, id) AS session")
      sessions.write.parquet(directory.resolve("sessions").toString)
      val ndv = column(parquetAt(directory.resolve("sessions")), "session").ndv
      assert(ndv.exists(n => n > 190000.0 && n <= 240000.0), ndv)
    }
  }

  test("samples drawn from one set tell its size") {
    Seq((1000.0, 500.0), (50.0, 100000.0), (1e6, 20000.0)).foreach { case (size, n) =>
      val seen = DistinctHints.expected(size, n)
      assert(math.abs(DistinctHints.population(n, seen) - size) < 0.01 * size, s"$size from $n draws")
    }
    assert(DistinctHints.population(10, 10).isInfinite && DistinctHints.outgrown(100, 100, 5000) == 5000.0)
    val common = DistinctHints.outgrown(1000, 4000, 16000)
    assert(common > 1000.0 && common < 4000.0, common)
  }

  test("every beginning of the order of reading is spread over all files, and none comes twice") {
    Seq(0, 1, 2, 3, 7, 64, 100, 1000).foreach(n => assert(Spread(n).toVector.sorted == (0 until n).toVector))
    val first = Spread(1000).take(8).toVector.sorted
    assert(first.sliding(2).forall { case Seq(a, b) => b - a >= 60; case _ => true }, first)
  }

  test("the first query of a reader waits beyond its budget for what is urgent, later ones for all") {
    final class Reader
    def read(urgent: Boolean) = {
      val reading        = new FooterReading(100L)
      def task(ms: Long) = new FooterReading.Task("nowhere:/t", classOf[Reader], _ => Thread.sleep(ms))
      reading.run(Seq(task(500L))) -> reading.run(Seq(task(0L)), urgent)
    }
    assert(read(urgent = false) == (0 -> 1))
    assert(read(urgent = false) == (0 -> 0))
    FooterReading.startAgain()
    assert(read(urgent = true) == (0 -> 0))
  }

  test("a query of large files waits longer for them, up to five times, and never against a limit of 0") {
    val mib                              = 1024L * 1024L
    def millis(limit: Long, bytes: Long) = FooterReading.budget(limit, bytes) / 1000000L
    assert(Seq(0L, 255 * mib, 511 * mib).forall(millis(100L, _) == 100L))
    assert(millis(100L, 512 * mib) == 200L && millis(50L, 512 * mib) == 100L)
    assert(millis(100L, 5000 * mib) == 500L && millis(100L, Long.MaxValue) == 500L)
    assert(millis(0L, 5000 * mib) == 0L)
    assert(FooterReading.budget(Long.MaxValue, Long.MaxValue) > 0L, "no overflow")
  }
}

/** A format that other software could extend so that it merges rows of log files into those of the Parquet files. */
final class MergingFormat extends ParquetFileFormat
