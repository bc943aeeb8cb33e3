package org.apache.spark.sql.dovetail

import java.nio.file.attribute.PosixFilePermissions
import java.nio.file.{Files, Path, StandardOpenOption}

import org.apache.hadoop.fs.{Path => HadoopPath}
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.plans.logical.LeafNode
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.stats.StoredTables
import org.apache.spark.sql.dovetail.store.StoreFiles
import org.apache.spark.sql.dovetail.table.{GroupStatistics, TableStatistics}

/** DOVETAIL ANALYZE on tables of files, lookups afterwards, and faults of the store. */
class StoreSuite extends DovetailSuite {

  /** Runs the body with a new store. */
  private def withStore[A](body: Path => A): A = withDirectory { d =>
    val directory = d.resolve("store")
    withConf("spark.dovetail.store.path" -> directory.toString)(body(directory))
  }

  private def table(name: String, rows: Long, files: Int = 2, partitioned: String = ""): Unit = {
    spark.range(
      0,
      rows,
      1,
      files
    ).selectExpr(
      "id",
      "CAST(id % 10 AS INT) ten",
      "concat('w', id % 50) word",
      "CAST(timestamp_seconds(id) AS TIMESTAMP_NTZ) at",
      "CAST(id % 4 AS INT) p"
    )
      .write.format("parquet").partitionBy(Option(partitioned).filter(_.nonEmpty).toSeq: _*).saveAsTable(name)
  }

  private def analyze(what: String): Row                  = spark.sql(s"DOVETAIL ANALYZE $what").head()
  private def leaf(sql: String): LeafNode                 = optimized(sql).collectFirst { case l: LeafNode => l }.get
  private def known(sql: String): Option[TableStatistics] = new StoredTables(spark).find(leaf(sql))
  private def stored(directory: Path): Seq[Path]          = {
    val list = Files.list(directory)
    try list.toArray.toSeq.map(_.asInstanceOf[Path]).filterNot(_.endsWith(".dovetail.lock")).sortBy(_.toString)
    finally list.close()
  }

  /** Waits until a file that another session writes has another time. On a local disk, no listing is kept. */
  private def look(): Unit = Thread.sleep(50L)

  test("all columns in one pass: what is stored is what is there") {
    withStore { directory =>
      withTables("t") {
        table("t", 30000)
        val r = analyze("TABLE t GROUPS ((ten, word))")
        assert((
          r.getString(0),
          r.getLong(1),
          r.getInt(2),
          r.getInt(3),
          r.getInt(4),
          r.getString(6)
        ) == (("spark_catalog.default.t", 30000L, 5, 2, 0, "")))
        val s = known("SELECT * FROM t").get
        assert(s.rows == 30000 && s.fresh && s.columns.map(_.name) == Vector("id", "ten", "word", "at", "p"))
        assert(s.sample.get.rows.length == 20000 && s.sample.get.of == 30000)
        assert(s.groups == Vector(GroupStatistics(
          Vector("ten", "word"),
          s.groups.head.ndv
        )) && math.abs(s.groups.head.ndv - 50) < 1)
        assert(s.bytes > 0 && stored(directory).size == 1)
        assert(known("SELECT * FROM range(5)").isEmpty)
      }
    }
  }

  test("statistics of a table of half a megabyte take less than the table") {
    withStore { directory =>
      withTables("t") {
        spark.range(0, 20000, 1, 1).selectExpr(
          "id",
          "CAST(id * 7919 % 20000 AS INT) other",
          "concat('item ', id * 31 % 9000) word",
          "CAST(id % 365 AS DOUBLE) / 7 AS ratio",
          "date_add(DATE '2020-01-01', CAST(id % 900 AS INT)) day"
        ).write.saveAsTable("t")
        analyze("TABLE t")
        val table = spark.table("t").inputFiles.map(f => Files.size(Path.of(java.net.URI.create(f)))).sum
        val taken = stored(directory).map(Files.size(_)).sum
        assert(taken < table && known("SELECT * FROM t").exists(_.sample.get.rows.length == 20000), s"$taken of $table")
      }
    }
  }

  test("a file that came is all that is read; one that went is dropped") {
    withStore { _ =>
      withTables("t") {
        table("t", 10000, files = 4)
        assert(analyze("TABLE t").getInt(3) == 4)
        spark.range(
          10000,
          11000,
          1,
          1
        ).selectExpr(
          "id",
          "CAST(11 AS INT) ten",
          "'new' word",
          "CAST(timestamp_seconds(id) AS TIMESTAMP_NTZ) at",
          "CAST(0 AS INT) p"
        )
          .write.mode("append").insertInto("t")
        val stale = known("SELECT * FROM t").get
        assert(!stale.fresh && stale.rows > 10000, stale.rows)
        val r = analyze("TABLE t")
        assert((r.getLong(1), r.getInt(3), r.getInt(4)) == ((11000L, 1, 4)))
        val s = known("SELECT * FROM t").get
        assert(s.fresh && s.rows == 11000 && s.columns(1).ndv == 11)
        assert((analyze("TABLE t").getInt(3), analyze("TABLE t").getInt(4)) == ((0, 5)))

        val gone = new java.io.File(spark.table("t").inputFiles.head.stripPrefix("file:").replaceFirst("^/+", "/"))
        assert(gone.delete())
        spark.catalog.refreshTable("t")
        val rows = spark.table("t").count()
        assert(known("SELECT * FROM t").exists(k => k.fresh && k.rows == rows))
        val after = analyze("TABLE t")
        assert((after.getLong(1), after.getInt(3), after.getInt(4)) == ((rows, 0, 4)))
      }
    }
  }

  test("what is known of a table is known of its path, and the other way round") {
    withStore { _ =>
      withDirectory { d =>
        spark.range(1000).selectExpr("id", "id % 7 AS seven").write.parquet(d.resolve("x").toString)
        assert(analyze(s"PATH parquet.`${d.resolve("x")}`").getLong(1) == 1000)
        assert(known(s"SELECT * FROM parquet.`${d.resolve("x")}`").exists(_.rows == 1000))
        withTables("x") {
          spark.sql(s"CREATE TABLE x USING parquet LOCATION '${d.resolve("x")}'")
          assert(known("SELECT * FROM x").exists(_.fresh))
        }
      }
    }
  }

  test("partitions: one analyzed alone, and a pruned query has those that are left") {
    withStore { _ =>
      withTables("t") {
        table("t", 8000, files = 2, partitioned = "p")
        val one = analyze("TABLE t PARTITION (p = 1)")
        assert((one.getLong(1), one.getInt(3)) == ((2000L, 2)))
        assert(known("SELECT * FROM t WHERE p = 1").exists(s => s.fresh && s.rows == 2000))
        val scaled = known("SELECT * FROM t").get
        assert(!scaled.fresh && math.abs(scaled.rows - 8000) < 800, scaled.rows)
        val rest = analyze("TABLE t")
        assert((rest.getLong(1), rest.getInt(3), rest.getInt(4)) == ((8000L, 6, 2)))
        val pruned = known("SELECT * FROM t WHERE p IN (1, 2)").get
        assert(pruned.fresh && pruned.rows == 4000 && pruned.columns.find(_.name == "p").get.ndv == 2)
        assert(known("SELECT * FROM t WHERE p IN (1, 2)").get eq pruned, "the merge is kept")
        assert(intercept[IllegalArgumentException](
          analyze("TABLE t PARTITION (id = 1)")
        ).getMessage.contains("Partition columns: p"))
      }
    }
  }

  test("views, databases, unknown columns, nested types, sources that are no files") {
    withStore { _ =>
      withTables("v", "t", "n") {
        table("t", 100)
        spark.sql("CREATE TABLE n USING parquet AS SELECT 1 AS id, array(1) AS list, named_struct('a', 1) AS s")
        spark.sql(
          "CREATE OR REPLACE TEMPORARY VIEW v AS SELECT a.id FROM t a JOIN t b ON a.id = b.id JOIN n ON n.id = a.id"
        )
        val names = spark.sql("DOVETAIL ANALYZE TABLE v").collect().map(_.getString(0))
        assert(names.toSeq == Seq("spark_catalog.default.t", "spark_catalog.default.n"))
        val nested = analyze("TABLE n")
        assert(nested.getInt(2) == 3 && nested.getString(6).isEmpty, nested)
        val bytes = spark.sql(
          "SELECT column, avg_length, max_length, min, top_values FROM dovetail_stats('n') WHERE kind = 'column' " +
            "ORDER BY 1"
        ).collect()
        assert(bytes.map(_.getString(0)).toSeq == Seq("id", "list", "s"))
        // a list takes its length, the NULL bits and an element, each in a word; no values are kept
        assert(bytes(1).getLong(1) == 24 && bytes(1).getLong(2) == 24 && bytes(1).isNullAt(3) && bytes(1).isNullAt(4))
        assert(spark.sql(
          "DOVETAIL ANALYZE DATABASE default"
        ).collect().map(_.getString(0)).toSet.contains("spark_catalog.default.t"))
        Seq(
          "TABLE t COLUMNS (nope)" -> "Columns: id, ten, word, at, p",
          "TABLE v COLUMNS (id)"   -> "PARTITION, COLUMNS and GROUPS apply to one table",
          "TABLE t COLUMNS id"     -> "expected '('",
          "TABLE t GROUPS ((id))"  -> "two or more columns",
          "TABLE t NONSENSE"       -> "",
          "t"                      -> "expected TABLE, PATH or DATABASE"
        ).foreach { case (wrong, said) =>
          assert(intercept[Exception](analyze(wrong)).getMessage.contains(said), wrong)
        }
        spark.sql(
          "CREATE OR REPLACE TEMPORARY VIEW v AS WITH c AS (SELECT * FROM t) SELECT * FROM c WHERE id > (SELECT " +
            "min(id) FROM n)"
        )
        assert(spark.sql("DOVETAIL ANALYZE TABLE v").collect().map(_.getString(0)).toSet == Set(
          "spark_catalog.default.t",
          "spark_catalog.default.n"
        ))
        spark.sql("CREATE OR REPLACE TEMPORARY VIEW v AS SELECT * FROM range(5)")
        assert(intercept[IllegalArgumentException](analyze("TABLE v")).getMessage.contains("does not consist of files"))
      }
    }
  }

  test("files of a binary format are not analyzed as text, which Spark would read: they keep their number of rows") {
    withStore { directory =>
      withDirectory { data =>
        val path = data.resolve("numbers")
        spark.range(3000).write.parquet(path.toString)
        for (text <- Seq("csv", "json", "text")) {
          val told = intercept[IllegalArgumentException](analyze(s"PATH $text.`$path`")).getMessage
          assert(told.contains(s"is read as $text, but all of its files are named .parquet"), told)
          assert(told.contains("Analyze them as parquet.`<path>`."), told)
        }
        assert(stored(directory).isEmpty)
        assert(analyze(s"PATH parquet.`$path`").getLong(1) == 3000)
        // a file with another name may have lines
        Files.write(path.resolve("more.txt"), "1\n2\n".getBytes("UTF-8"))
        assert(analyze(s"PATH text.`$path`").getLong(1) > 2)
      }
    }
  }

  test("an empty table has no rows, and one that was filled since is unknown, not empty") {
    withStore { _ =>
      withTables("t") {
        spark.sql("CREATE TABLE t (id BIGINT) USING parquet")
        assert(analyze("TABLE t").getLong(1) == 0 && known("SELECT * FROM t").exists(s => s.fresh && s.rows == 0))
        spark.sql("INSERT INTO t VALUES (1)")
        assert(known("SELECT * FROM t").isEmpty)
      }
    }
  }

  test("columns asked for join those that are known") {
    withStore { _ =>
      withTables("t") {
        table("t", 100)
        assert(analyze("TABLE t COLUMNS (id)").getInt(2) == 1)
        val r = analyze("TABLE t COLUMNS (`ten`) GROUPS ((id, word))")
        assert(r.getInt(2) == 3 && r.getInt(3) == 2)
        assert(analyze("TABLE t COLUMNS (id)").getInt(3) == 0)
        assert(known("SELECT * FROM t").get.columns.map(_.name) == Vector("id", "ten", "word"))
      }
    }
  }

  test("Spark's catalog gets what fits, and queries on TIMESTAMP_NTZ still run under Spark's own estimator") {
    withStore { _ =>
      withTables("t") {
        table("t", 1000)
        analyze("TABLE t")
        val stats =
          spark.sessionState.catalog.getTableMetadata(spark.sessionState.sqlParser.parseTableIdentifier("t")).stats.get
        assert(stats.rowCount.contains(BigInt(1000)) && stats.colStats.keySet == Set("id", "ten", "word", "p"))
        assert(stats.colStats("ten").distinctCount.contains(BigInt(10)) && stats.colStats("id").histogram.isDefined)
        withConf("spark.sql.cbo.enabled" -> "true", "spark.dovetail.enabled" -> "false") {
          assert(spark.sql(
            "SELECT * FROM t WHERE id < 100 AND at > TIMESTAMP_NTZ'1970-01-01 00:00:10'"
          ).queryExecution.optimizedPlan.stats.rowCount.isDefined)
        }
        withTables("u") {
          table("u", 10)
          withConf("spark.dovetail.store.writeBack" -> "false")(analyze("TABLE u"))
          assert(spark.sessionState.catalog.getTableMetadata(
            spark.sessionState.sqlParser.parseTableIdentifier("u")
          ).stats.forall(_.rowCount.isEmpty))
        }
      }
    }
  }

  test("Spark's own estimator accepts histograms of columns whose ends have no exact double") {
    withStore { _ =>
      withTables("f") {
        spark.sql(
          "CREATE TABLE f USING parquet AS SELECT CAST(1.1 + id AS FLOAT) AS low, CAST(0.7 - id AS FLOAT) AS high, " +
            "CAST(9.007199254741001BD - id AS DECIMAL(18, 15)) AS d FROM range(9)"
        )
        analyze("TABLE f")
        withConf("spark.sql.cbo.enabled" -> "true", "spark.dovetail.enabled" -> "false") {
          for {
            (column, value) <- Seq("low" -> "3F", "high" -> "-3F", "d" -> "5.5BD"); operator <- Seq("<", ">=", "=")
            query = spark.sql(s"SELECT * FROM f WHERE $column $operator $value")
          } assert(query.queryExecution.optimizedPlan.stats.rowCount.isDefined, s"$column $operator $value")
        }
      }
    }
  }

  private def estimate(sql: String): Double =
    spark.sql(s"SELECT value FROM dovetail_estimate('$sql')").head().getDouble(0)

  test("a partition that was loaded after the collection: its predicate keeps its rows") {
    withStore { _ =>
      withTables("days", "calendar") {
        spark.sql(
          "CREATE TABLE days USING parquet PARTITIONED BY (p) AS SELECT id, id % 7 AS v, CAST(id DIV 1000 AS INT) p " +
            "FROM range(10000)"
        )
        analyze("TABLE days")
        spark.sql("INSERT INTO days SELECT id, id % 7, 99 FROM range(1000)")
        def near(sql: String, truth: Double): Unit = {
          val found = estimate(sql)
          assert(found > truth / 2 && found < truth * 2, s"$found instead of $truth for $sql")
        }
        near("SELECT * FROM days WHERE p = 99", 1000.0)
        near("SELECT * FROM days WHERE p = 99 AND v = 3", 1000.0 / 7)
        near("SELECT * FROM days WHERE p = 3", 1000.0)
        // all rows that are left are of this day
        spark.sql("CREATE TABLE calendar USING parquet AS SELECT CAST(id AS INT) p, id % 2 AS w FROM range(90, 100)")
        near("SELECT * FROM days d JOIN calendar c ON d.p = c.p WHERE d.p = 99", 1000.0)
      }
    }
  }

  test("rows that were added beyond the known range are found, although no sample has them") {
    withStore { _ =>
      withTables("log") {
        spark.sql("CREATE TABLE log USING parquet AS SELECT id, id AS ts, id % 10 AS kind FROM range(20000)")
        analyze("TABLE log")
        spark.sql("INSERT INTO log SELECT id, 20000 + id, id % 10 FROM range(4000)")
        val later = estimate("SELECT * FROM log WHERE ts >= 20000")
        assert(later > 500.0 && later < 12000.0, later)
        val kind = estimate("SELECT * FROM log WHERE kind = 3")
        assert(kind > 1200.0 && kind < 4800.0, kind)
      }
    }
  }

  test("private columns, and no values at all") {
    withStore { directory =>
      withTables("t") {
        table("t", 1000)
        withConf("spark.dovetail.privateColumns" -> "WORD, other.id", "spark.dovetail.store.writeBack" -> "false") {
          analyze("TABLE t")
          val s = known("SELECT * FROM t").get
          assert(s.columns.find(_.name == "word").exists(c =>
            c.min.isEmpty && c.heavyHitters.isEmpty && math.abs(c.ndv - 50) < 2
          ))
          assert(s.columns.find(_.name == "id").exists(_.max.contains(999L)))
          assert(s.sample.get.schema.fieldNames.toSeq == Seq("id", "ten", "at", "p"))
        }
        withConf("spark.dovetail.sample.enabled" -> "false")(analyze("TABLE t"))
        assert(known("SELECT * FROM t").exists(s => s.sample.isEmpty && s.columns.forall(_.max.isDefined)))
        withConf("spark.dovetail.store.values" -> "false")(analyze("TABLE t"))
        assert(known("SELECT * FROM t").exists(s =>
          s.sample.isEmpty && s.columns.forall(c => c.max.isEmpty && c.quantiles.isEmpty)
        ))
        assert(PosixFilePermissions.toString(Files.getPosixFilePermissions(directory)) == "rwx------")
        stored(directory).foreach(f =>
          assert(PosixFilePermissions.toString(Files.getPosixFilePermissions(f)) == "rw-------")
        )
      }
    }
  }

  test(
    "a private column is private in whatever spelling, and of a table also where it is read by its path or by " +
      "another name"
  ) {
    withStore { _ =>
      withTables("people", "twin") {
        spark.range(500).selectExpr("id AS k", "concat('SECRET', id) AS ssn").write.saveAsTable("people")
        val path = spark.table("people").inputFiles.head.replaceFirst("/[^/]*$", "")
        spark.sql(s"CREATE TABLE twin USING parquet LOCATION '$path'")
        def kept(how: String): Boolean = {
          analyze(how)
          known("SELECT * FROM people").get.columns.find(_.name == "ssn").exists(_.min.isDefined)
        }
        withConf("spark.dovetail.store.writeBack" -> "false") {
          Seq(
            "ssn",
            " `ssn`",
            "`SSN`",
            "people.ssn",
            "`people`.`ssn`",
            "default.people.ssn",
            "spark_catalog.`default`.people.SsN",
            "x, people . ssn,y",
            "ssn.part"
          )
            .foreach { entry =>
              withConf("spark.dovetail.privateColumns" -> entry) {
                Seq("TABLE people", s"PATH parquet.`$path`", "TABLE twin").filterNot(h =>
                  h.contains("twin") && entry.startsWith("default")
                ).foreach(how =>
                  assert(!kept(how), s"$entry, $how")
                )
              }
            }
          assert(kept("TABLE people"))
          withConf("spark.dovetail.privateColumns" -> "`a,b`, other.ssn")(assert(kept("TABLE people")))
          // reported before any file is read
          withConf("spark.dovetail.privateColumns" -> "people.sss") {
            val e = intercept[IllegalArgumentException](analyze("TABLE people"))
            assert(e.getMessage.contains("names people.sss") && e.getMessage.contains("Columns: k, ssn"), e.getMessage)
          }
          withConf("spark.dovetail.privateColumns" -> "`ssn") {
            assert(
              intercept[IllegalArgumentException](analyze("TABLE people")).getMessage.contains("is not a column name")
            )
          }
          withConf("spark.dovetail.privateColumns" -> "sss, people.k, gone.ssn") {
            val notes = analyze("TABLE people").getString(6)
            assert(
              notes.contains("names sss, which is not a column") && notes.contains("names gone.ssn") && !notes.contains(
                "people.k"
              ),
              notes
            )
          }
        }
      }
    }
  }

  test("a private column's bounds are not shown, and a pin's text is not kept where it reads one") {
    withStore { directory =>
      withTables("people") {
        spark.range(500).selectExpr("id AS k", "concat('SECRET', id) AS ssn").write.saveAsTable("people")
        analyze("TABLE people")
        def shown = spark.sql("SELECT * FROM dovetail_stats('people')").collect().mkString
        assert(shown.contains("SECRET"))
        withConf("spark.dovetail.privateColumns" -> "people.ssn") {
          assert(!shown.contains("SECRET"))
          val join = "SELECT count(*) FROM people a JOIN people b ON a.k = b.k JOIN people c ON b.k = c.k WHERE "
          spark.sql(s"DOVETAIL PIN one FOR $join a.ssn = 'SECRET7'").collect()
          spark.sql(s"DOVETAIL PIN two FOR $join a.k = 77").collect()
          val pins = new String(Files.readAllBytes(directory.resolve("pins.json")), "UTF-8")
          assert(!pins.contains("SECRET7") && pins.contains("a.k = 77"))
          Seq("one", "two").foreach(n => spark.sql(s"DOVETAIL UNPIN $n").collect())
        }
      }
    }
  }

  test("a broken, truncated or newer file is one warning, fails no query, and can be replaced") {
    withStore { directory =>
      withTables("t") {
        table("t", 500)
        analyze("TABLE t")
        val file            = stored(directory).head
        val bytes           = Files.readAllBytes(file)
        def flipped(i: Int) = bytes.updated(i, (bytes(i) ^ 0x55).toByte)
        val broken          = Seq(
          "truncated"     -> bytes.take(bytes.length / 2),
          "empty"         -> Array.empty[Byte],
          "foreign"       -> flipped(0),
          "in the header" -> flipped(60),
          "in a block"    -> flipped(bytes.length - 10),
          "no version"    -> bytes.updated(11, 0.toByte)
        )
        broken.foreach { case (how, content) =>
          Files.write(file, content)
          look()
          assert(known("SELECT * FROM t").isEmpty, how)
          assert(spark.sql("SELECT count(*) FROM t").head().getLong(0) == 500)
        }
        Files.write(file, bytes.updated(11, 9.toByte))
        look()
        val (_, warnings) = LogCapture("dovetail") { known("SELECT * FROM t"); look(); known("SELECT * FROM t") }
        assert(warnings.size == 1 && warnings.head.contains("format 9"), warnings)
        assert(analyze("TABLE t").getInt(3) == 2)
        assert(known("SELECT * FROM t").exists(_.fresh))
      }
    }
  }

  test("statistics belong to a way of reading: not to another one that finds other values in the same files") {
    withStore { _ =>
      withTables("t") {
        table("t", 500)
        analyze("TABLE t")
        val others = Seq(
          "spark.sql.caseSensitive"                    -> "true",
          "spark.sql.parquet.int96TimestampConversion" -> "true",
          "spark.sql.parquet.datetimeRebaseModeInRead" -> "LEGACY"
        )
        for (other <- others) withConf(other) {
          assert(known("SELECT * FROM t").isEmpty, other)
          analyze("TABLE t")
          assert(known("SELECT * FROM t").exists(_.fresh), other)
        }
        assert(known("SELECT * FROM t").exists(_.fresh))
        // another column in the files
        spark.sql("ALTER TABLE t ADD COLUMNS (later INT DEFAULT 7)")
        assert(known("SELECT * FROM t").isEmpty)
      }
    }
  }

  test("a writer that is killed before its file is renamed leaves what was there") {
    withStore { directory =>
      withTables("t") {
        table("t", 500)
        analyze("TABLE t")
        val before = Files.readAllBytes(stored(directory).head)
        val files  = new StoreFiles(new HadoopPath(directory.toString), spark.sessionState.newHadoopConf())
        intercept[IllegalStateException](files.replace(stored(directory).head.getFileName.toString) { out =>
          out.write(1)
          throw new IllegalStateException("killed")
        })
        Files.write(
          directory.resolve(s".${stored(directory).head.getFileName}.dead.tmp"),
          Array[Byte](1),
          StandardOpenOption.CREATE
        )
        look()
        assert(
          Files.readAllBytes(stored(directory).last).sameElements(before) && known("SELECT * FROM t").exists(_.fresh)
        )
      }
    }
  }

  test("two writers at once: one of them wins, wholly") {
    withStore { directory =>
      withTables("t") {
        table("t", 2000)
        val runs = Seq("COLUMNS (id)", "COLUMNS (id, ten)", "COLUMNS (id)", "COLUMNS (id, ten)").atOnce(c =>
          analyze(s"TABLE t $c")
        )
        assert(runs.forall(_.getLong(1) == 2000))
        look()
        assert(stored(directory).size == 1)
        assert(known("SELECT * FROM t").exists(s => s.fresh && s.rows == 2000 && Set(1, 2)(s.columns.size)))
      }
    }
  }

  implicit private class Parallel[A](items: Seq[A]) {
    def atOnce[B](f: A => B): Seq[B] = {
      val results = new java.util.concurrent.ConcurrentLinkedQueue[Either[Throwable, B]]()
      val threads = items.map(i =>
        new Thread(() => {
          results.add(try Right(f(i))
          catch { case e: Throwable => Left(e) }); ()
        })
      )
      threads.foreach(_.start())
      threads.foreach(_.join())
      results.toArray.toSeq.map(_.asInstanceOf[Either[Throwable, B]].fold(throw _, identity))
    }
  }

  test("without histograms no quantiles are collected, and all else is; switched on again, they are") {
    withStore { _ =>
      withTables("t") {
        table("t", 200)
        def columns = known("SELECT * FROM t").get.columns
        withConf(DovetailConf.HistogramEnabled.key -> "false")(analyze("TABLE t"))
        assert(columns.forall(_.quantiles.isEmpty))
        assert(columns.exists(c => c.name == "id" && c.min.isDefined && c.ndv == 200.0))
        assert(analyze("TABLE t").getInt(3) == 2)
        look()
        assert(columns.exists(c => c.name == "id" && c.quantiles.size > 1))
      }
    }
  }

  test("statistics of text files belong to one way to read them: schema, options, time zone") {
    withStore { _ =>
      withDirectory { d =>
        withTables("ev", "renamed", "same", "other") {
          spark.range(100).selectExpr("'2024-01-01 00:00:00' AS ts", "id").write.csv(s"$d/t")
          spark.sql(s"CREATE TABLE ev (ts TIMESTAMP, id BIGINT) USING csv LOCATION '$d/t'")
          spark.sql(s"CREATE TABLE renamed (day TIMESTAMP, id BIGINT) USING csv LOCATION '$d/t'")
          analyze("TABLE ev")
          def counted(sql: String) = known(sql).exists(s => s.fresh && s.rows == 100)
          assert(counted("SELECT * FROM ev") && known("SELECT * FROM renamed").isEmpty)
          withConf("spark.sql.session.timeZone" -> "America/New_York")(assert(known("SELECT * FROM ev").isEmpty))
          def read = spark.read.schema("ts TIMESTAMP, id BIGINT")
          read.csv(s"$d/t").createOrReplaceTempView("same")
          read.option("nullValue", "NA").csv(s"$d/t").createOrReplaceTempView("other")
          assert(counted("SELECT * FROM same") && known("SELECT * FROM other").isEmpty)
          // both ways may be analyzed
          analyze("TABLE renamed")
          assert(counted("SELECT * FROM ev") && counted("SELECT * FROM renamed"))
        }
      }
    }
  }
}
