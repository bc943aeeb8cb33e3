package org.apache.spark.sql.dovetail

import java.nio.ByteBuffer
import java.nio.file.{Files, Path}
import java.util.TimeZone

import dovetail.kernel.profile.{RelationProfile, Source}
import org.apache.hadoop.fs.{FileStatus, Path => HadoopPath}
import org.apache.spark.sql.{Column, DataFrame, Row}
import org.apache.spark.sql.catalyst.expressions.Literal
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.footers.{
  Chunk,
  ColumnFooter,
  DictionaryPlace,
  FileFooter,
  FileKey,
  FooterCache,
  FooterEntry,
  Kind,
  ParquetFooters,
  Texts
}
import org.apache.spark.sql.dovetail.predicates.Values
import org.apache.spark.sql.dovetail.stats.PlanStatistics
import org.apache.spark.sql.dovetail.table.TableStatisticsSource
import org.apache.spark.sql.functions._

/** Footers of awkward values and broken files: the statistics are true, or there are none. */
class FooterTruthSuite extends DovetailSuite {

  /** Gives the readers all the time they need. */
  private lazy val Patient = DovetailConf.FootersMaxMs.key -> "60000"

  private def profile(data: DataFrame, millis: (String, String) = Patient): RelationProfile =
    withConf(millis)(new PlanStatistics(
      spark.sessionState.conf,
      histograms = true,
      TableStatisticsSource.none
    )(data.queryExecution.optimizedPlan))

  private def dataFiles(directory: Path): Vector[Path] = {
    val paths = Files.walk(directory)
    try paths.filter(p => p.getFileName.toString.startsWith("part-")).toArray.map(_.asInstanceOf[Path]).toVector.sorted
    finally paths.close()
  }

  /**
   * 900 rows in three files. Each column has values that a format treats in a special way. The tests add a file without
   * rows.
   */
  private def awkward: DataFrame = spark.range(0, 900, 1, 3).selectExpr(
    "id",
    "CAST(-(id % 100) AS TINYINT) bytes",
    "CAST(id * -30 AS SMALLINT) shorts",
    "CAST(id - 450 AS DECIMAL(9,2)) negative",
    "CAST((id - 450) * 1000003 AS DECIMAL(18,4)) middle",
    "CAST(id - 450 AS DECIMAL(38,10)) * 100000000000000000 wide",
    "date_add(DATE'1969-06-01', CAST(id AS INT)) epoch",
    "date_add(DATE'1500-01-01', CAST(id % 60 AS INT)) julian",
    "timestamp_seconds(id * 997 - 400000) at",
    "CAST(timestamp_seconds(id * 997 - 400000) AS TIMESTAMP_NTZ) local",
    "CAST(IF(id % 10 = 0, 'NaN', CAST(id AS STRING)) AS DOUBLE) nan",
    "CAST(IF(id % 10 = 0, '-Infinity', CAST(id AS STRING)) AS FLOAT) infinite",
    "IF(id % 2 = 0, -0.0D, 0.0D) zero",
    "true always",
    "concat(repeat('https://', 20), id) long",
    "concat(repeat('x', 70), id % 5) cut",
    "CAST(CAST(id AS STRING) AS BINARY) binary",
    "IF(id < 300, NULL, id) late",
    "CAST(NULL AS STRING) nothing",
    "CAST(NULL AS DECIMAL(20,2)) nowhere",
    "CAST(NULL AS TIMESTAMP) never"
  )

  /** Compares the statistics of each column with an aggregate over it. */
  private def assertTrue(data: DataFrame): Unit = {
    val p          = profile(data)
    val names      = data.columns.toVector
    val truth: Row = data.select(
      names.flatMap(n =>
        Seq[Column](
          count(col(n)),
          size(collect_set(col(n))).cast("long"),
          if (n == "binary") lit(null) else min(col(n)),
          if (n == "binary") lit(null) else max(col(n))
        )
      ): _*
    ).head()
    val rows = data.count()
    assert(p.rows.source == Source.Footer && p.rows.lower == rows && p.rows.upper == rows)
    data.queryExecution.optimizedPlan.output.zipWithIndex.foreach { case (a, i) =>
      val c                               = p.column(a.exprId.id)
      val (values, distinct)              = (truth.getLong(4 * i), truth.getLong(4 * i + 1))
      def number(at: Int): Option[Double] =
        Option(truth.get(at)).flatMap(v => Values.number(Literal.create(v, a.dataType).value))
      def holds(d: Option[Double], r: Double) = d.forall(x => math.abs(x - r) <= 1e-9 * math.abs(r))
      val clue                                = s"${a.name}: $c, of $values values and $distinct distinct ones"
      assert(c.nulls.forall(n => math.abs(n - (rows - values).toDouble / rows) < 1e-9), clue)
      assert(number(4 * i + 2).fold(c.min.isEmpty)(holds(c.min, _)), clue)
      assert(number(4 * i + 3).fold(c.max.isEmpty)(holds(c.max, _)), clue)
      assert(c.ndv.forall(n => n >= distinct * 0.5 && n <= math.max(distinct * 2.0, 1.0)), clue)
    }
  }

  for (format <- Seq("parquet", "orc"); zone <- Seq("UTC", "America/Los_Angeles"))
    test(s"$format: awkward values, in $zone") {
      val before = TimeZone.getDefault
      withDirectory { d =>
        withConf("spark.sql.session.timeZone" -> zone) {
          TimeZone.setDefault(TimeZone.getTimeZone(zone))
          try {
            val kinds = if (format == "parquet") Seq("INT96", "TIMESTAMP_MICROS", "TIMESTAMP_MILLIS") else Seq("")
            kinds.foreach { timestamps =>
              val path = d.resolve(s"t$timestamps").toString
              withConf("spark.sql.parquet.outputTimestampType" -> (if (timestamps.isEmpty) "INT96" else timestamps)) {
                awkward.write.format(format).save(path)
                awkward.where("id < 0").coalesce(1).write.format(format).mode("append").save(path)
              }
              assertTrue(spark.read.format(format).load(path))
            }
          } finally TimeZone.setDefault(before)
        }
      }
    }

  test("footers that are encrypted, cut off, or lie about their length: the size stands in") {
    withDirectory { d =>
      val path = d.resolve("t")
      spark.range(1000).coalesce(1).write.parquet(path.toString)
      val file                             = dataFiles(path).head
      val bytes                            = Files.readAllBytes(file)
      val end                              = bytes.length
      def tail(length: Int, magic: String) =
        bytes.take(
          end - 8
        ) ++ ByteBuffer.allocate(4).order(java.nio.ByteOrder.LITTLE_ENDIAN).putInt(length).array ++ magic.getBytes
      val broken = Seq(
        "encrypted"            -> tail(100, "PARE"),
        "longer than the file" -> tail(end * 2, "PAR1"),
        "negative"             -> tail(-5, "PAR1"),
        "huge"                 -> tail(Int.MaxValue, "PAR1"),
        "of zeros"             -> (bytes.take(end / 2) ++ new Array[Byte](end - end / 2 - 8) ++ bytes.drop(end - 8)),
        "cut off"              -> bytes.take(end - 9),
        "tiny"                 -> bytes.take(3)
      )
      broken.zipWithIndex.foreach { case ((how, content), i) =>
        Files.write(file, content)
        Files.deleteIfExists(file.resolveSibling(s".${file.getFileName}.crc"))
        Files.setLastModifiedTime(file, java.nio.file.attribute.FileTime.fromMillis(1000000L * (i + 1)))
        assert(profile(spark.read.schema("id BIGINT").parquet(path.toString)).rows.source == Source.Size, how)
      }
    }
  }

  test("a footer is announced before it is read, with its length, and a refused one is not read") {
    withDirectory { d =>
      val columns = (0 until 50).map(i => s"id + $i AS c$i")
      spark.range(0, 100, 1, 1).selectExpr(columns: _*).write.parquet(d.resolve("t").toString)
      val file   = dataFiles(d.resolve("t")).head
      val bytes  = Files.readAllBytes(file)
      val length = ByteBuffer.wrap(bytes, bytes.length - 8, 4).order(java.nio.ByteOrder.LITTLE_ENDIAN).getInt.toLong
      val status = new FileStatus(bytes.length.toLong, false, 1, 1L, 0L, new HadoopPath(file.toUri))
      val conf   = spark.sessionState.newHadoopConf()
      var told   = Vector.empty[Long]
      assert(ParquetFooters.footer(status, conf, n => { told = told :+ n }).rows == 100L && told == Vector(length))
      def refuse(n: Long): Unit = if (n > 0L) throw new IllegalStateException("full")
      assert(intercept[IllegalStateException](ParquetFooters.footer(status, conf, refuse)).getMessage == "full")
    }
  }

  test("a fault that may pass is tried again after a while, and a broken file is not") {
    val now         = System.nanoTime()
    def key(i: Int) = FileKey(s"file:/$i", 1L, 1L)
    val entries = Seq(Some(now - 1L), Some(now + 60L * 1000000000L), None).map(t => new FooterEntry(None, until = t))
    entries.zipWithIndex.foreach { case (e, i) => FooterCache.put(key(i), e) }
    assert((0 to 2).map(i => FooterCache.get(key(i)).isDefined) == Seq(false, true, true))
    FooterCache.clear()
  }

  test("the cache of footers is bounded, and tables of many files and columns stay in it together") {
    FooterCache.clear()
    val column      = ColumnFooter("c", 1L, None, Kind.Other, None, 0L)
    val text        = Texts("a" * 60, "b" * 60)
    val chunk       = Chunk(1.0, Some(text), DictionaryPlace(4L, 1.0, None, None, "SNAPPY", 1.0, plain = true))
    val long        = column.copy(ends = Some(text), chunks = Vector.fill(16)(chunk), groups = 16)
    def key(i: Int) = FileKey(s"file:/t/$i", 1L, 1L)
    // many columns of numbers, and few columns of texts in many row groups
    Seq(49 -> column, 10 -> long).foreach { case (n, c) =>
      val footer = FileFooter(1L, (0 until n).map(i => s"c$i" -> c).toMap)
      (0 until 5000).foreach(i => FooterCache.put(key(i), new FooterEntry(Some(footer))))
      val kept = (0 until 5000).filter(i => FooterCache.get(key(i)).isDefined)
      assert(kept.size > 300 && kept.size < 5000 && kept == (5000 - kept.size until 5000), kept.size)
      assert(kept.size * new FooterEntry(Some(footer)).bytes <= (64L << 20))
      FooterCache.clear()
    }
    val whole = new FooterEntry(Some(FileFooter(1L, Map("c" -> long))))
    assert(whole.without(Set("c")).bytes < whole.bytes / 5L, "what served to find distinct values is not kept")
    withDirectory { d =>
      val wide = (0 until 300).map(i => s"id + $i AS c$i")
      val path = Seq("a", "b", "c").map(d.resolve)
      path.foreach { p =>
        spark.range(0, 10, 1, 1).selectExpr(wide: _*).write.parquet(p.toString)
        val file = dataFiles(p).head
        (1 until 150).foreach(i => Files.copy(file, file.resolveSibling(f"part-$i%05d-copy.parquet")))
      }
      // the footers of all files together have 135,000 columns
      val tables = path.map(p => spark.read.parquet(p.toString))
      tables.foreach { t =>
        val r = profile(t).rows; assert(r.value == 1500.0 && r.lower < 1500.0 && r.source == Source.Footer, r)
      }
      tables.foreach { t =>
        val r = profile(t, DovetailConf.FootersMaxMs.key -> "0").rows;
        assert(r.value == 1500.0 && r.lower >= 160.0, s"nothing has to be read again: $r")
      }
    }
    FooterCache.clear()
  }
}
