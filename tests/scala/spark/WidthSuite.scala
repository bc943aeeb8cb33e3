package org.apache.spark.sql.dovetail

import dovetail.kernel.profile.{RelationProfile, Source, Width}
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.footers.{ColumnFooter, ParquetFooters}
import org.apache.spark.sql.dovetail.stats.{PlanStatistics, StoredTables}
import org.apache.spark.sql.DataFrame

/**
 * Bounds on the bytes of an input hold. For payloads of every type, with values of very different lengths, the rows
 * that Spark makes are no larger than the bound, whatever rows a predicate picks. Without a measurement there is no
 * bound.
 */
class WidthSuite extends DovetailSuite {
  private val Rows = 3000

  /** In one row of a hundred, the value is about a thousand times longer. */
  private val length = "IF(id % 100 = 7, 4000, 1 + CAST(id % 5 AS INT))"

  private val payloads: Seq[(String, String)] = Seq(
    "text"             -> s"substr(repeat(sha2(CAST(id AS STRING), 256), 63), 1, $length)",
    "repeated text"    -> s"repeat('x', $length)",
    "few texts"        -> "IF(id % 100 = 7, repeat('long', 1000), concat('s', id % 3))",
    "binary"           -> s"CAST(substr(repeat(md5(CAST(id AS STRING)), 126), 1, $length) AS BINARY)",
    "array of doubles" -> s"transform(sequence(1, $length), i -> CAST(hash(id, i) AS DOUBLE))",
    "array of bytes"   -> s"transform(sequence(1, $length), i -> CAST(i % 100 AS TINYINT))",
    "array of texts"   -> s"transform(sequence(1, 1 + CAST(id % 5 AS INT)), i -> repeat('ab', $length))",
    "nested arrays"    -> s"array(array(), array(1, 2), sequence(1, $length))",
    "struct"           -> s"named_struct('a', repeat('y', $length), 'b', id, 'c', named_struct('d', id % 2 = 0))",
    "map"              -> s"map(concat('key', id % 4), repeat('z', $length), 'other', NULL)",
    "decimal"          -> "CAST(id AS DECIMAL(38, 10)) / 7",
    "mostly NULL"      -> s"IF(id % 10 = 7, repeat('n', $length), NULL)"
  )

  private def analyzed(data: DataFrame): RelationProfile = {
    val plan = data.queryExecution.optimizedPlan
    withConf(DovetailConf.FootersMaxMs.key -> "60000")(statistics(plan))
  }

  private def statistics(plan: LogicalPlan): RelationProfile =
    new PlanStatistics(spark.sessionState.conf, histograms = true, new StoredTables(spark))(plan)

  /** The bytes of the rows, and the bound on them. */
  private def bytes(data: DataFrame): (Double, Double) = {
    val rows    = data.queryExecution.toRdd.map(_.asInstanceOf[UnsafeRow].getSizeInBytes.toDouble).collect()
    val profile = analyzed(data)
    val ids     = data.queryExecution.optimizedPlan.output.map(_.exprId.id)
    val most    = profile.rows.upper
    assert(rows.length <= most)
    (rows.sum, profile.rowBytes(ids).atMost(most, most) + most * Width.Slot)
  }

  private def holds(data: DataFrame, factor: Double, what: String): Unit = {
    val (truth, bound) = bytes(data)
    assert(bound >= truth, s"$what: $truth bytes, and the bound is $bound")
    assert(bound <= truth * factor, s"$what: $truth bytes, and the bound is as large as $bound")
  }

  /**
   * Largest accepted ratio of a bound to the bytes, because a useless bound would hold as well. The bound of a list of
   * lists counts an offset and a container for each value, which most values do not have.
   */
  private val Loosest = 25.0

  Seq("parquet", "orc").foreach { format =>
    payloads.foreach { case (name, payload) =>
      test(s"$format, $name: the bound holds by the files, and by one pass, for all rows and for the long ones") {
        // a table name for each case, because collected statistics are found by name
        val table = s"w_${format}_${name.replace(' ', '_')}"
        withTables(table) {
          spark.sql(
            s"CREATE TABLE $table USING $format AS SELECT id AS k, id % 100 AS g, $payload AS p FROM range(0, $Rows, " +
              "1, 2)"
          )
          val (whole, picked) = (s"SELECT k, p FROM $table", s"SELECT k, p FROM $table WHERE g = 7")
          // ORC does not count the NULLs in a map. Parquet's writer counts the bytes of texts since the release that
          // came with Spark 4.
          val counted = if (format == "orc") name != "map" else !spark.version.startsWith("3.")
          val loosest = if (counted) Loosest else Double.PositiveInfinity
          holds(spark.sql(whole), loosest, "all rows")
          holds(spark.sql(picked), Double.PositiveInfinity, "the long ones")
          spark.sql(s"DOVETAIL ANALYZE TABLE $table")
          holds(spark.sql(whole), 4.0, "all rows, after one pass")
          holds(spark.sql(picked), 4.0, "the long ones, after one pass")
        }
      }
    }
  }

  test(
    "dictionaries of a writer that has counted nothing: the longest text bounds all, if every row group's dictionary " +
      "was read"
  ) {
    withDirectory { directory =>
      val path = directory.resolve("few")
      spark.range(
        0,
        Rows.toLong,
        1,
        1
      ).selectExpr(s"${payloads.toMap.apply("few texts")} AS p").write.parquet(path.toString)
      val conf  = spark.sessionState.newHadoopConf()
      val files = new org.apache.hadoop.fs.Path(
        path.toString
      ).getFileSystem(conf).listStatus(new org.apache.hadoop.fs.Path(path.toString))
      val file                  = files.find(_.getPath.getName.endsWith(".parquet")).get
      val column                = ParquetFooters.footer(file, conf, _ => ()).columns("p").copy(lengths = None)
      def read(c: ColumnFooter) = ParquetFooters.distinct(file, conf, Seq(c), () => true).head._2.get.lengths.get
      assert(read(column).longest.contains(4000.0) && read(column).total.contains(Width.padded(
        Rows.toDouble,
        Rows * 4000.0
      )))
      assert(
        read(column.copy(groups = column.groups + 1)).longest.isEmpty,
        "one more row group, which was not looked at"
      )
    }
  }

  test("constants: a binary value counts its bytes, and a text its characters as bytes") {
    val long = "concat(repeat('ä', 5000), 'z')"
    for (p <- Seq(long, s"CAST($long AS BINARY)", s"IF(id % 2 = 0, CAST($long AS BINARY), X'00')"))
      holds(spark.range(10).selectExpr("id", s"$p AS p"), 2.5, p)
  }

  test("nobody has measured it: no bound") {
    withDirectory { directory =>
      val path = directory.resolve("csv").toString
      spark.range(100).selectExpr("id", "repeat('x', 50) p").write.csv(path)
      // multiLine files, of which no line is read
      val csv   = spark.read.schema("id BIGINT, p STRING").option("multiLine", "true").csv(path)
      val width = analyzed(csv).column(csv.queryExecution.optimizedPlan.output(1).exprId.id).width
      assert(!width.known && width.source == Source.Assumed)
      val made   = spark.range(10).selectExpr("repeat('x', CAST(id AS INT)) p", "CAST(id AS STRING) s", "id % 2 = 0 b")
      val output = made.queryExecution.optimizedPlan.output.map(a => analyzed(made).column(a.exprId.id).width.known)
      assert(output == Seq(false, true, true), "the length of a number is known")
    }
  }
}
