package org.apache.spark.sql.dovetail

import java.nio.file.{Files, Path}

import dovetail.kernel.profile.{Estimate, RelationProfile}
import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.catalyst.catalog.CatalogStatistics
import org.apache.spark.sql.catalyst.plans.logical.LeafNode
import org.apache.spark.sql.dovetail.stats.{PlanStatistics, StoredTables}
import org.apache.spark.sql.dovetail.table.TableStatistics

/** What DOVETAIL ANALYZE has counted, and a query that reads the files of the table in another way. */
class OtherReadingsSuite extends DovetailSuite {

  private def withStore[A](body: Path => A): A = withDirectory { d =>
    withConf("spark.dovetail.store.path" -> d.resolve("store").toString)(body(d))
  }

  private def analyze(table: String): Row = spark.sql(s"DOVETAIL ANALYZE TABLE $table").head()

  private def analyze(frame: DataFrame): Row = {
    frame.createOrReplaceTempView("analyzed_frame")
    try analyze("analyzed_frame")
    finally { spark.catalog.dropTempView("analyzed_frame"); () }
  }

  private def inCatalog(table: String): Option[CatalogStatistics] =
    spark.sessionState.catalog.getTableMetadata(spark.sessionState.sqlParser.parseTableIdentifier(table)).stats

  private def leaf(frame: DataFrame): LeafNode = frame.queryExecution.optimizedPlan.collectLeaves().collectFirst {
    case l: LeafNode => l
  }.get

  private def known(frame: DataFrame): Option[TableStatistics] = new StoredTables(spark).find(leaf(frame))
  private def profile(frame: DataFrame): RelationProfile       = new PlanStatistics(
    spark.sessionState.conf,
    histograms = true,
    new StoredTables(spark)
  )(leaf(frame))

  test(
    "without bounds, Spark takes a numeric column for one of NULLs: hidden bounds leave its statistics as they are"
  ) {
    withStore { _ =>
      withTables("t") {
        spark.sql(
          "CREATE TABLE t USING parquet AS SELECT id k, CAST(NULL AS INT) n, concat('w', id) w FROM range(1000)"
        )
        spark.sql("ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS k")
        withConf("spark.dovetail.store.values" -> "false")(analyze("t"))
        val columns = inCatalog("t").get.colStats
        assert(columns.keySet == Set("k", "n", "w") && columns("k").min.contains("0"))
        withConf("spark.sql.cbo.enabled" -> "true", "spark.dovetail.enabled" -> "false") {
          val rows = spark.sql("SELECT * FROM t WHERE k = 7").queryExecution.optimizedPlan.stats.rowCount
          assert(rows.exists(_ > 0), rows)
        }
      }
    }
  }

  test("what another session has written to the catalog since this one has read the table stays") {
    withStore { _ =>
      withTables("t") {
        spark.sql("CREATE TABLE t USING parquet AS SELECT id a, id b FROM range(100)")
        assert(spark.table("t").count() == 100L)
        spark.newSession().sql("ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS b")
        spark.sql("DOVETAIL ANALYZE TABLE t COLUMNS (a)").collect()
        assert(inCatalog("t").get.colStats.keySet == Set("a", "b"))
      }
    }
  }

  test("a part of a table's files is analyzed: the others keep their statistics") {
    withStore { d =>
      val path = d.resolve("p").toString
      spark.range(0, 4000, 1, 4).write.parquet(path)
      val files                  = spark.read.parquet(path).inputFiles.map(new java.io.File(_).getName).sorted
      def named(pattern: String) = spark.read.option("pathGlobFilter", pattern).parquet(path)
      // one part of two files, one of the others
      analyze(named(s"{${files.take(2).mkString(",")}}"))
      analyze(named(s"{${files.drop(2).mkString(",")}}"))
      assert(known(spark.read.parquet(path)).exists(s => s.fresh && s.rows == 4000))
      assert(known(named(s"{${files.take(2).mkString(",")}}")).exists(s => s.fresh && s.rows == 2000))
      // a file that is gone is dropped only by who sees all files
      assert(Files.deleteIfExists(d.resolve("p").resolve(files(3))))
      analyze(named(files.head))
      assert(known(named(s"{${files.take(2).mkString(",")}}")).exists(_.fresh))
    }
  }

  test("a table that is read with options of its own does not change the statistics of Spark's catalog") {
    withStore { d =>
      withTables("c") {
        val file = Files.write(d.resolve("c.csv"), "1,2\n3;4\n5;6\n".getBytes)
        spark.sql(s"CREATE TABLE c(k STRING, v STRING) USING csv LOCATION '$file'")
        val r = analyze(spark.read.option("comment", "3").table("c"))
        assert(r.getLong(1) == 2L && inCatalog("c").forall(_.rowCount.isEmpty))
        assert(r.getString(r.size - 1).contains("options of its own: comment"), r)
        // Spark 3.5 keeps the relation with the option for the next reader of the table
        spark.catalog.refreshTable("c")
        assert(analyze("c").getLong(1) == 3L && inCatalog("c").flatMap(_.rowCount).contains(BigInt(3)))
      }
    }
  }

  test("dropped records: a count of all columns is no bound for a query of one") {
    withStore { d =>
      withTables("c") {
        val lines = (1 to 1000).map(i => s"$i,${if (i <= 10) i.toString else "x"}").mkString("\n")
        val file  = Files.write(d.resolve("c.csv"), lines.getBytes)
        spark.sql(s"CREATE TABLE c(k INT, v INT) USING csv OPTIONS(mode 'DROPMALFORMED') LOCATION '$file'")
        assert(analyze("c").getLong(1) == 10L)
        assert(spark.sql("SELECT k FROM c").count() == 1000L)
        assert(profile(spark.sql("SELECT k FROM c")).rows.upper == Estimate.Ceiling)
        assert(inCatalog("c").forall(_.rowCount.isEmpty))
      }
    }
  }

  test("files that Spark may skip: a count of them is no bound, and none for sessions that skip no files") {
    withStore { d =>
      val path = d.resolve("p").toString
      spark.range(10).selectExpr("id k", "CAST(id AS INT) c").write.parquet(path)
      spark.range(1000).selectExpr("id k", "CAST(id AS STRING) c").write.mode("append").parquet(path)
      def frame = spark.read.schema("k BIGINT, c INT").parquet(path)
      withConf("spark.sql.files.ignoreCorruptFiles" -> "true") {
        val counted = analyze(frame).getLong(1)
        assert(known(frame).exists(_.rows == counted))
        assert(profile(frame).rows.upper == Estimate.Ceiling)
      }
      assert(known(frame).isEmpty)
    }
  }

  test("a file that is listed twice hides no other one") {
    withStore { d =>
      val path = d.resolve("p").toString
      spark.range(0, 10, 1, 1).write.parquet(path)
      assert(analyze(spark.read.parquet(path, path)).getLong(1) == 20L)
      spark.range(0, 10000, 1, 1).write.mode("append").parquet(path)
      assert(known(spark.read.parquet(path)).exists(!_.fresh))
    }
  }

  test("columns that say where rows come from are no columns of the table") {
    withStore { _ =>
      withTables("t") {
        spark.range(100).write.format("parquet").saveAsTable("t")
        assert(analyze(spark.table("t").selectExpr("id", "_metadata.file_path f")).getLong(1) == 100L)
        assert(known(spark.table("t")).exists(_.fresh))
      }
    }
  }

  test("the widths of nested values hold for the fields that were measured") {
    withStore { d =>
      val path = d.resolve("p").toString
      spark.range(100).selectExpr("id k", "named_struct('x', CAST(id AS INT), 'y', repeat('a', 1000)) s").write
        .parquet(path)
      def read(schema: String) = spark.read.schema(schema).parquet(path)
      analyze(read("k BIGINT, s STRUCT<x: INT>"))
      def most(schema: String) = {
        val frame = read(schema)
        profile(frame).column(leaf(frame).output(1).exprId.id).width.most
      }
      assert(most("k BIGINT, s STRUCT<x: INT>") < Estimate.Ceiling)
      assert(most("k BIGINT, s STRUCT<y: STRING>") == Estimate.Ceiling)
    }
  }
}
