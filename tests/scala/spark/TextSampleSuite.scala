package org.apache.spark.sql.dovetail

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}

import dovetail.kernel.profile.{Estimate, RelationProfile, Source}
import org.apache.hadoop.io.compress.{BZip2Codec, CodecPool}
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.dovetail.base.{BoundedCache, DovetailConf}
import org.apache.spark.sql.dovetail.stats.PlanStatistics
import org.apache.spark.sql.dovetail.table.TableStatisticsSource

/** CSV and JSON files without statistics: planning a query reads lines of them, for rows, widths and predicates. */
class TextSampleSuite extends DovetailSuite {

  private lazy val Patient = DovetailConf.FootersMaxMs.key -> "60000"

  private def profile(data: DataFrame, settings: (String, String)*): RelationProfile =
    withConf((Patient +: settings): _*) {
      val plan       = data.queryExecution.optimizedPlan
      val statistics = new PlanStatistics(spark.sessionState.conf, histograms = true, TableStatisticsSource.none)
      statistics.readAhead(plan)
      statistics(plan)
    }

  private def rows(data: DataFrame, settings: (String, String)*): Estimate = profile(data, settings: _*).rows

  /** Sorted by `id`. Nine in ten rows are of kind 'common', the others have one of forty names. */
  private def data(n: Long): DataFrame = spark.range(0, n, 1, 2).selectExpr(
    "id",
    "IF(pmod(hash(id), 10) > 0, 'common', concat('rare ', pmod(hash(id + 1), 40))) kind",
    "IF(id % 4 = 0, NULL, pmod(hash(id + 2), 500)) code",
    "date_add(DATE'2020-01-01', CAST(pmod(hash(id), 300) AS INT)) day",
    "repeat('x', CAST(pmod(id, 20) AS INT)) filler"
  )

  private val schema = "id BIGINT, kind STRING, code INT, day DATE, filler STRING"

  private def written(d: Path, format: String, n: Long, options: (String, String)*): DataFrame = {
    val path = d.resolve(s"$format$n${options.hashCode}").toString
    data(n).write.format(format).options(options.toMap).save(path)
    spark.read.format(format).options(options.toMap).schema(schema).load(path)
  }

  private def near(found: Double, truth: Double, tolerance: Double, what: String): Unit =
    assert(math.abs(found - truth) <= tolerance * truth, s"$what: $found instead of $truth")

  private def file(d: Path, name: String, text: String): String = {
    Files.write(d.resolve(name), text.getBytes(UTF_8)); d.resolve(name).toString
  }

  private val predicates =
    Seq("kind = 'common'", "kind LIKE 'rare 1%'", "code > 250 AND kind = 'common'", "code IS NULL")

  for ((format, options) <- Seq("csv" -> Seq("header" -> "true"), "csv" -> Seq("sep" -> "|"), "json" -> Nil)) {
    val name = s"$format ${options.mkString(" ")}"

    test(s"$name: a small table is counted, and every predicate on it") {
      withDirectory { d =>
        val t = written(d, format, 3000, options: _*)
        assert(rows(t) == Estimate.exactly(3000.0, Source.Sample))
        predicates.foreach(p => assert(rows(t.where(p)).value == t.where(p).count().toDouble, p))
        val byName = t.columns.zip(t.queryExecution.analyzed.output).toMap
        val p      = profile(t)
        assert(p.column(byName("filler").exprId.id).width.known, "every text was seen")
        assert(p.column(byName("id").exprId.id).ndv.contains(3000.0))
      }
    }

    test(s"$name: of a larger table, some ranges are read; nothing bounds it from above") {
      withDirectory { d =>
        val t     = written(d, format, 150000, options: _*)
        val found = rows(t)
        near(found.value, 150000.0, 0.1, "rows")
        assert(found.source == Source.Sample && found.upper >= Estimate.Ceiling, found)
        predicates.foreach { p =>
          val e = rows(t.where(p))
          near(e.value, t.where(p).count().toDouble, 0.35, p)
          assert(e.upper >= Estimate.Ceiling, s"an estimate is no bound: $e where $p")
        }
        val byName = t.columns.zip(t.queryExecution.analyzed.output).toMap
        val p      = profile(t)
        near(p.column(byName("id").exprId.id).ndv.get, 150000.0, 0.1, "values of a sorted key")
        near(p.column(byName("kind").exprId.id).ndv.get, 41.0, 0.2, "values of kind")
        near(p.column(byName("code").exprId.id).ndv.get, 500.0, 0.2, "values of code")
        near(p.column(byName("code").exprId.id).nulls.get, 0.25, 0.1, "share of NULLs")
        val filler = p.column(byName("filler").exprId.id).width
        near(filler.mean, 9.5, 0.1, "mean length")
        assert(!filler.known, "a text that nobody has seen may be longer")
      }
    }
  }

  test("compressed files: their beginnings say how many rows they have") {
    withDirectory { d =>
      for (format <- Seq("csv", "json"); n <- Seq(2000, 150000)) {
        val t     = written(d, format, n.toLong, "compression" -> "gzip")
        val found = rows(t)
        near(found.value, n.toDouble, 0.15, s"rows of $format.gz")
        assert(found.upper >= Estimate.Ceiling, found)
        near(rows(t.where("kind = 'common'")).value, 0.9 * n, 0.2, s"kind in $format.gz")
      }
    }
  }

  test("many records in one line, or none: a query is never worse off than without") {
    withDirectory { d =>
      val one   = file(d, "one.json", Seq.tabulate(20000)(i => s"""{"a": $i}""").mkString("[", ",", "]"))
      val array = spark.read.schema("a INT").json(one)
      assert(rows(array).value == 20000.0)
      // a line that is longer than a range, and longer than a reader may hold in memory
      val long  = file(d, "long.csv", "x" * (3 * 1024 * 1024) + "\n" + "y" * (2 * 1024 * 1024))
      val lines = spark.read.schema("a STRING").csv(long)
      assert(rows(lines).value >= 1.0)
      assert(lines.count() == 2L)
      val empty = spark.read.schema("a STRING").csv(file(d, "empty.csv", ""))
      assert(rows(empty).value <= 1.0)
      val blank = spark.read.schema("a STRING").csv(file(d, "blank.csv", "\n\n\n"))
      assert(rows(blank).value == 0.0)
    }
  }

  test("many tiny files: lines of several files are read, none of them twice") {
    withDirectory { d =>
      val directory = Files.createDirectory(d.resolve("tiny"))
      for (i <- 10 until 50)
        file(directory, s"$i.csv", (0 until 10).map(j => s"$i$j,${if (i == 10) "first" else "other"}\n").mkString)
      val t = spark.read.schema("id INT, kind STRING").csv(directory.toString)
      near(rows(t).value, 400.0, 0.1, "rows")
      near(rows(t.where("kind = 'other'")).value, 390.0, 0.2, "rows of kind 'other'")
    }
  }

  test("multiLine is left alone: no line is read") {
    withDirectory { d =>
      val p = file(d, "m.json", """[{"a": 1}, {"a": 2}]""")
      val t = spark.read.option("multiLine", "true").schema("a INT").json(p)
      assert(rows(t).source == Source.Size)
    }
  }

  test("malformed lines: no mode of reading fails a query that is only planned, nor changes the answer") {
    withDirectory { d =>
      val text = (0 until 500).map(i => if (i % 5 == 0) "nonsense,x" else s"$i,${i * 2}").mkString("\n")
      val csv  = file(d, "bad.csv", text)
      val json = file(
        d,
        "bad.json",
        (0 until 500).map(i => if (i % 5 == 0) "{nonsense" else s"""{"a": $i, "b": ${i * 2}}""").mkString("\n")
      )
      for ((format, path) <- Seq("csv" -> csv, "json" -> json)) {
        def read(mode: String) = spark.read.option("mode", mode).schema("a INT, b INT").format(format).load(path)
        assert(rows(read("PERMISSIVE")).value == 500.0)
        val dropped = rows(read("DROPMALFORMED"))
        near(dropped.value, 400.0, 0.01, "rows that are not malformed")
        assert(dropped.upper >= Estimate.Ceiling, "which lines are malformed depends on the query's columns")
        assert(rows(read("FAILFAST")).value == 500.0)
        assert(rows(read("FAILFAST").where("a = 3")).value >= 0.0)
      }
      // with the column of malformed lines, whose predicates are not evaluated on the sample
      val t = spark.read.schema("a INT, b INT, _corrupt_record STRING").csv(csv)
      assert(rows(t).value == 500.0)
      assert(rows(t.where("_corrupt_record IS NULL")).value > 0.0)
      t.createOrReplaceTempView("bad_lines")
      withTables("bad_lines") {
        sameAnswer(
          "SELECT count(*) FROM bad_lines x JOIN bad_lines y ON x.a = y.b JOIN range(100) r ON r.id = y.a " +
            "WHERE x._corrupt_record IS NULL",
          reorders = false
        )
      }
    }
  }

  test("partitioned: the partitions that are left are counted, their values are known") {
    withDirectory { d =>
      val path = d.resolve("p").toString
      data(6000).selectExpr("*", "pmod(id, 3) p").write.partitionBy("p").csv(path)
      val t     = spark.read.schema(schema + ", p INT").csv(path)
      val found = profile(t)
      assert(found.rows.value == 6000.0)
      assert(found.column(t.queryExecution.analyzed.output.last.exprId.id).ndv.contains(3.0))
      assert(rows(t.where("p = 1")).value > 0.0)
    }
  }

  test("another way to read the same file is another table; a file that changed is read again") {
    withDirectory { d =>
      val path   = file(d, "t.csv", "a;b\n1;2\n3;4\n")
      val header = spark.read.option("header", "true").option("sep", ";").csv(path)
      val plain  = spark.read.csv(path)
      assert(rows(header).value == 2.0)
      assert(rows(plain).value == 3.0)
      file(d, "t.csv", "a;b\n1;2\n")
      assert(rows(spark.read.option("header", "true").option("sep", ";").csv(path)).value == 1.0)
    }
  }

  test("switched off, or in a private column, nothing is read") {
    withDirectory { d =>
      val t = written(d, "csv", 1000)
      assert(rows(t, DovetailConf.SampleFiles.key -> "false").source == Source.Size)
      val where = t.where("kind LIKE '%are%'")
      BoundedCache.clearAll()
      assert(rows(where).value == where.count().toDouble)
      assert(rows(where, DovetailConf.PrivateColumns.key -> "kind").value != where.count().toDouble)
    }
  }

  test("no time: the size of the files is used") {
    withDirectory { d =>
      val t = written(d, "json", 1000)
      BoundedCache.clearAll()
      assert(rows(t, DovetailConf.FootersMaxMs.key -> "0").source == Source.Size)
    }
  }

  test("compressed files give their codec's memory back") {
    withDirectory { d =>
      val codec = new BZip2Codec
      codec.setConf(spark.sessionState.newHadoopConf())
      val t      = written(d, "csv", 5000, "compression" -> "bzip2")
      val before = CodecPool.getLeasedDecompressorsCount(codec)
      BoundedCache.clearAll()
      assert(rows(t).source == Source.Sample)
      assert(CodecPool.getLeasedDecompressorsCount(codec) == before)
    }
  }

  test("files that were read are closed, and no task is left behind") {
    withDirectory { d =>
      val t = written(d, "csv", 150000)
      rows(t)
      assert(org.apache.spark.TaskContext.get() == null)
      val open = java.nio.file.Paths.get("/proc/self/fd")
      if (Files.exists(open)) {
        val of    = d.toString
        val files = Files.list(open)
        val held  =
          try files.filter(f =>
              try Files.readSymbolicLink(f).toString.startsWith(of)
              catch { case _: Exception => false }
            )
              .count()
          finally files.close()
        assert(held == 0L)
      }
    }
  }
}
