package org.apache.spark.sql.dovetail

import java.nio.file.Path

import dovetail.kernel.profile.{RelationProfile, Width}
import org.apache.hadoop.conf.Configuration
import org.apache.parquet.example.data.simple.SimpleGroupFactory
import org.apache.parquet.hadoop.example.{ExampleParquetWriter, GroupWriteSupport}
import org.apache.parquet.schema.MessageTypeParser
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.stats.PlanStatistics
import org.apache.spark.sql.dovetail.table.TableStatisticsSource
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.expr
import org.apache.spark.sql.types.{MetadataBuilder, StringType, StructField, StructType}

/**
 * Unusual files and operators: columns whose values are not in the file's column of the same name, lists of other
 * writers, operators that repeat rows. The bounds of rows and bytes hold, and data that was not read does not count as
 * known.
 */
class OddFilesSuite extends DovetailSuite {
  private val Rows = 2000

  /** Gives the readers all the time they need. */
  private lazy val Patient = DovetailConf.FootersMaxMs.key -> "60000"

  private def analyzed(data: DataFrame): RelationProfile = analyzed(data.queryExecution.optimizedPlan)

  private def analyzed(plan: LogicalPlan): RelationProfile = withConf(Patient) {
    val statistics = new PlanStatistics(spark.sessionState.conf, histograms = true, TableStatisticsSource.none)
    statistics.readAhead(plan)
    statistics(plan)
  }

  /** Asserts that the number of rows of `data` and their bytes stay within the bounds. */
  private def holds(data: DataFrame): Unit = {
    val rows    = data.queryExecution.toRdd.map(_.asInstanceOf[UnsafeRow].getSizeInBytes.toDouble).collect()
    val profile = analyzed(data)
    val most    = profile.rows.upper
    val bound   = profile.rowBytes(data.queryExecution.optimizedPlan.output.map(_.exprId.id)).atMost(most, most)
    assert(rows.length <= most, "rows")
    assert(rows.sum <= bound + most * Width.Slot, "bytes")
  }

  private def known(data: DataFrame, column: String): Boolean =
    analyzed(data).column(data.queryExecution.optimizedPlan.output.find(_.name == column).get.exprId.id).width.known

  private def range: DataFrame = spark.range(0, Rows.toLong, 1, 1).toDF()

  private def exactRows(data: DataFrame): Unit = {
    val (rows, truth) = (analyzed(data).rows, data.count().toDouble)
    assert(rows.lower <= truth && truth <= rows.upper, s"$truth rows, and $rows")
  }

  test("a column that came later has its default in files of before, not NULL") {
    withTables("grown") {
      spark.sql("CREATE TABLE grown (k INT) USING parquet")
      spark.sql(s"INSERT INTO grown SELECT id FROM range($Rows)")
      spark.sql(s"ALTER TABLE grown ADD COLUMNS (w STRING DEFAULT '${"x" * 3000}', n INT DEFAULT 7)")
      spark.sql("INSERT INTO grown VALUES (1, 'a', 1)")
      val data = spark.table("grown")
      holds(data)
      assert(data.where("n = 7 AND length(w) = 3000").count() == Rows)
      val plan = data.queryExecution.optimizedPlan
      val n    = analyzed(data).column(plan.output.find(_.name == "n").get.exprId.id)
      assert(n.nulls.isEmpty && n.max.forall(_ >= 7.0))
    }
  }

  test("columns that are found by their number: what the file has under the name is another column's") {
    withDirectory { d =>
      // before Spark 4, footers give widths by dictionaries, which are read only for columns that a query uses
      val looksAt                           = "length(c1) > 0"
      def number(id: Long)                  = new MetadataBuilder().putLong("parquet.field.id", id).build()
      def numbered(value: String, id: Long) = expr(value).as(s"c$id", number(id))
      withConf(
        "spark.sql.parquet.fieldId.write.enabled" -> "true",
        "spark.sql.parquet.fieldId.read.enabled"  -> "true"
      ) {
        range.select(numbered("'s'", 1), numbered("repeat('x', 3000)", 2)).write.parquet(d.resolve("t").toString)
        val second = StructType(Seq(StructField("c1", StringType, nullable = true, number(2))))
        val read   = spark.read.schema(second).parquet(d.resolve("t").toString)
        assert(read.selectExpr("max(length(c1))").head().getInt(0) == 3000)
        holds(read)
        assert(!known(read.where(looksAt), "c1"))
      }
      val byName = spark.read.parquet(d.resolve("t").toString)
      assert(known(byName.where(looksAt), "c1"), "without the setting names count")
    }
  }

  test("ORC files without names, or whose names mean nothing") {
    withDirectory { d =>
      val path = d.resolve("t").toString
      range.selectExpr("CAST(id AS INT) _col0", "repeat('x', 3000) _col1").write.orc(path)
      spark.range(1).selectExpr("1 k", "'a' w").write.mode("append").orc(path)
      val data = spark.read.schema("k INT, w STRING").orc(path)
      assert(data.where("length(w) = 3000").count() == Rows)
      holds(data)
      val swapped = spark.read.option("orc.force.positional.evolution", "true").schema("w INT, k STRING").orc(path)
      assert(swapped.where("length(k) = 3000").count() == Rows)
      holds(swapped)
      assert(!known(swapped, "k"))
    }
  }

  test("rows of ORC files whose columns go by position are those of this schema and setting alone") {
    withDirectory { d =>
      val path = d.resolve("t").toString
      range.selectExpr("5 _col0", "CAST(id AS INT) _col1").write.orc(path)
      def data(schema: String) = spark.read.schema(schema).orc(path).where("y = 5")
      for (schema <- Seq("x INT, y INT", "y INT, x INT")) exactRows(data(schema))
      val named = d.resolve("named").toString
      range.selectExpr("5 x", "CAST(id AS INT) y").write.orc(named)
      def read = spark.read.schema("y INT, x INT").orc(named).where("y = 5")
      exactRows(read)
      withConf("orc.force.positional.evolution" -> "true") {
        assert(read.count() == Rows)
        exactRows(read)
      }
    }
  }

  test("what files have under the name of a partition column is not read") {
    Seq("parquet", "orc", "csv", "json").foreach { format =>
      withDirectory { d =>
        val path = d.resolve("t")
        range.selectExpr("CAST(id AS INT) k", "1 p").write.format(format).option("header", "true").save(s"$path/p=2")
        val data = spark.read.option("header", "true").option("inferSchema", "true").format(format).load(path.toString)
        assert(data.where("p = 2").count() == Rows)
        // a predicate that does not prune partitions, because it does not depend on the partition alone
        exactRows(data.where("p % 10 = 2 OR k < 0"))
        exactRows(data.where("p = 1 OR k < 5"))
      }
    }
  }

  test("a CHAR column takes the bytes of its length, however short the texts in the files are") {
    withDirectory { d =>
      withTables("padded") {
        val path = d.resolve("t").toString
        range.selectExpr("CAST(id AS INT) k", "CAST(id % 3 AS STRING) c").write.parquet(path)
        spark.sql(s"CREATE TABLE padded (k INT, c CHAR(2000)) USING parquet LOCATION '$path'")
        assert(spark.table("padded").where("length(c) = 2000").count() == Rows)
        holds(spark.table("padded"))
        holds(spark.table("padded").where("k < 10"))
        assert(known(spark.table("padded"), "c"))
      }
    }
  }

  test("texts outside of a dictionary that share their beginnings: no bytes of pages bound them") {
    withDirectory { d =>
      val path = d.resolve("t").toString
      range.selectExpr("id k", s"IF(id < ${Rows / 2}, 'ok', concat(repeat('x', 4000), id)) note").write
        .option("parquet.writer.version", "v2").option("parquet.page.row.count.limit", "100").parquet(path)
      holds(spark.read.parquet(path))
    }
  }

  test("fields of a struct that files lack take their place in each row all the same") {
    val fields = (0 until 400).map(i => s"'f$i', $i").mkString(", ")
    for (format <- Seq("parquet", "orc")) withDirectory { d =>
      val path = d.resolve("t").toString
      range.selectExpr(
        "id k",
        "named_struct('f0', 1) s",
        "array(named_struct('f0', 1)) l"
      ).write.format(format).save(path)
      spark.range(1).selectExpr("id k", s"named_struct($fields) s", s"array(named_struct($fields)) l").write
        .format(format).mode("append").save(path)
      val data = spark.read.option("mergeSchema", "true").format(format).load(path)
      assert(data.selectExpr("size(from_json(to_json(s), 'MAP<STRING, INT>'))").count() == Rows + 1)
      holds(data)
      holds(data.select("s"))
    }
  }

  test("a column in a type of more bytes") {
    withDirectory { d =>
      range.selectExpr("CAST(id AS INT) k").write.parquet(d.resolve("t").toString)
      val data =
        spark.read.parquet(d.resolve("t").toString).selectExpr("CAST(k AS DECIMAL(38, 10)) a", "CAST(k AS BIGINT) b")
      holds(data)
      val plan = data.queryExecution.optimizedPlan
      assert(analyzed(data).column(plan.output.head.exprId.id).width.most >= 24.0)
    }
  }

  /** Writes a Parquet file as another writer does. */
  private def written(path: Path, schema: String)(fill: org.apache.parquet.example.data.Group => Unit): DataFrame = {
    val message = MessageTypeParser.parseMessageType(schema)
    val conf    = new Configuration
    GroupWriteSupport.setSchema(message, conf)
    val file    = new org.apache.hadoop.fs.Path(path.resolve("other.parquet").toUri)
    val writer  = ExampleParquetWriter.builder(file).withConf(conf).withType(message).build()
    val numbers = 0 until Rows
    try numbers.foreach { _ =>
        val row = new SimpleGroupFactory(message).newGroup()
        row.add("k", 1)
        fill(row)
        writer.write(row)
      }
    finally writer.close()
    spark.read.parquet(path.toString)
  }

  test("lists of other writers: elements without a group around them, and repeated fields of no list") {
    Seq[(String, org.apache.parquet.example.data.Group => Unit)](
      "optional group a (LIST) { repeated int32 array; }" -> { row =>
        val list = row.addGroup("a"); (1 to 20).foreach(list.add("array", _))
      },
      "optional group a (LIST) { repeated group array { optional int32 x; } }" -> { row =>
        val list = row.addGroup("a"); (1 to 20).foreach(i => list.addGroup("array").add("x", i))
      },
      "optional group a (LIST) { repeated group a_tuple { optional binary x (UTF8); } }" -> { row =>
        val list = row.addGroup("a"); (1 to 20).foreach(i => list.addGroup("a_tuple").add("x", "text"))
      },
      "repeated int32 a;"                      -> { row => (1 to 20).foreach(row.add("a", _)) },
      "repeated binary a (UTF8);"              -> { row => (1 to 20).foreach(i => row.add("a", "t")) },
      "repeated group a { optional int32 x; }" -> { row => (1 to 20).foreach(i => row.addGroup("a").add("x", i)) },
      "optional group a (LIST) { repeated group list { optional int32 element; } }" -> { row =>
        val list = row.addGroup("a"); (1 to 20).foreach(i => list.addGroup("list").add("element", i))
      }
    ).foreach { case (column, fill) =>
      withDirectory { d =>
        withClue(column) {
          val data = written(d, s"message m { required int32 k; $column }")(fill)
          holds(data)
          assert(column.contains("binary") || known(data, "a"))
        }
      }
    }
  }

  test("rows that come more often than there are: samples with replacement, functions of groups") {
    import spark.implicits._
    val groups = spark.range(100).selectExpr("id", "id % 10 g").groupBy("id", "g").count()
    val again  = groups.sample(withReplacement = true, 50.0, 3)
    holds(again)
    assert(analyzed(again).uniqueKeys.isEmpty && analyzed(again).rows.value == analyzed(groups).rows.value * 50.0)
    val made = spark.range(10).as[Long].groupByKey(_ % 2).flatMapGroups((k, _) => Iterator.fill(5000)(k)).toDF("v")
    holds(made)
  }

  test("UNPIVOT: each copy has another column's bytes") {
    withDirectory { d =>
      range.selectExpr("id", "repeat('y', 3000) l").write.parquet(d.resolve("t").toString)
      // the text of a number has a known largest length
      val data = spark.read.parquet(d.resolve("t").toString).selectExpr("id", "CAST(id AS STRING) s", "l")
      data.createOrReplaceTempView("wide")
      try holds(spark.sql("SELECT id, v FROM wide UNPIVOT (v FOR c IN (s, l))"))
      finally { spark.catalog.dropTempView("wide"); () }
    }
  }

  test("what makes one value of several is no key, even of a key: CAST(k AS FLOAT), another collation, blanks") {
    val join =
      "SELECT a.n FROM (SELECT k, count(*) n FROM (SELECT 1000000000000 + id k FROM range(300)) GROUP BY k) a " +
        "JOIN (SELECT CAST(1000000000000 + id % 2 AS FLOAT) f FROM range(20)) b ON CAST(a.k AS FLOAT) = b.f"
    val (rows, bound) = (spark.sql(join).count(), analyzed(incoming(join)).rows.upper)
    assert(rows == 20L * 300L && bound >= rows)
  }

  test("rows that were read under other settings are not those of this query") {
    withDirectory { d =>
      val path = d.resolve("t").toString
      range.selectExpr("id", "CAST(id AS INT) name").write.parquet(path)
      val named = spark.read.schema("id BIGINT, NAME INT").parquet(path)
      exactRows(named.where("NAME IS NULL"))
      withConf("spark.sql.caseSensitive" -> "true") {
        val other = spark.read.schema("id BIGINT, NAME INT").parquet(path)
        assert(other.where("NAME IS NULL").count() == Rows)
        exactRows(other.where("NAME IS NULL"))
      }
      spark.sql("SELECT timestamp'2020-01-01 00:00:00' t FROM range(50)").write.csv(s"$path-csv")
      def late = spark.read.schema("t TIMESTAMP").csv(s"$path-csv")
      val noon = "t >= timestamp_micros(unix_micros(timestamp'2020-01-01T00:00:00Z'))"
      Seq("Z", "America/Los_Angeles", "Asia/Tokyo").foreach(zone =>
        withConf("spark.sql.session.timeZone" -> zone)(exactRows(late.where(noon)))
      )
    }
  }
}
