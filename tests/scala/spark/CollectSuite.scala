package org.apache.spark.sql.dovetail

import java.nio.ByteBuffer

import scala.util.Random

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, XXH64}
import org.apache.spark.sql.dovetail.base.UnpackedStream
import org.apache.spark.sql.dovetail.sketch.{
  Bytes,
  BytesSketch,
  HeavyHitters,
  HyperLogLog,
  Quantiles,
  Recipe,
  TableSketch
}
import org.apache.spark.sql.dovetail.table.{ColumnStatistics, Counting, TableStatistics}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * Sketches compared with exact answers on generated rows, and merged sketches of parts compared with one pass over all
 * rows.
 */
class CollectSuite extends DovetailSuite {
  private val Rows = 20000

  /** Four standard errors of the distinct count. */
  private val NdvError = 4 * HyperLogLog.StandardError

  /** Allowed rank error of a quantile. The sketch's bound is 1.33 % at 99 % confidence. */
  private val RankError = 0.02

  /** Largest number of bytes of a packed piece in this suite. */
  private val Most                                                         = 1 << 20
  private def packed(write: java.io.DataOutputStream => Unit): Array[Byte] = Bytes.compressed("test", Most)(write)

  private val types: Seq[(String, DataType)] = Seq(
    "flag"  -> BooleanType,
    "tiny"  -> ByteType,
    "small" -> ShortType,
    "key"   -> IntegerType,
    "big"   -> LongType,
    "price" -> DecimalType(9, 2),
    "huge"  -> DecimalType(30, 4),
    "ratio" -> DoubleType,
    "real"  -> FloatType,
    "day"   -> DateType,
    "at"    -> TimestampType,
    "ntz"   -> TimestampNTZType,
    "word"  -> StringType,
    "bytes" -> BinaryType,
    "gap"   -> DayTimeIntervalType(),
    "span"  -> YearMonthIntervalType()
  )

  /** A third of the words are "often". Every tenth value is NULL in all columns but `key`. */
  private def values(i: Int, random: Random): Seq[Any] = {
    val n                 = random.nextInt(5000)
    def or(value: => Any) = if (random.nextInt(10) == 0) null else value
    Seq[Any](
      or(n  % 2 == 0),
      or((n % 100).toByte),
      or((n % 3000).toShort),
      i,
      or(random.nextLong()),
      or(Decimal(n.toLong, 9, 2)),
      or(Decimal(BigDecimal(n) * BigDecimal("10000000000000000000"), 30, 4)),
      or(if (n == 0) Double.NaN else if (n % 2 == 0) -0.0 * n else math.sqrt(n.toDouble)),
      or(n.toFloat / 3),
      or(n),
      or(n * 1000000L),
      or(n * 1000000L),
      or(UTF8String.fromString(if (n < 5000 / 3) "often" else s"word $n")),
      or(s"b$n".getBytes("UTF-8")),
      or(n * 1000000L),
      or(n)
    )
  }

  private def recipe(
      columns: Seq[(String, DataType)] = types,
      groups: Vector[Vector[Int]] = Vector.empty,
      values: Boolean = true
  ): Recipe =
    Recipe.forColumns(columns.toVector.map { case (n, t) => (n, t, values) }, groups, sampled = true)

  private def sketch(recipe: Recipe, rows: Seq[Seq[Any]], sampleRows: Int = 1000, from: Int = 0): TableSketch = {
    val sketch   = new TableSketch(recipe, sampleRows)
    val toUnsafe = UnsafeProjection.create(recipe.schema)
    rows.zipWithIndex.foreach { case (r, i) =>
      sketch.add(toUnsafe(InternalRow.fromSeq(r)), XXH64.hashLong((from + i).toLong, 1L))
    }
    sketch
  }

  /** Uses the session first, so that it sets up logging. Otherwise the first expression would do so on its own. */
  private lazy val rows = {
    spark.version
    val random = new Random(7)
    (0 until Rows).map(values(_, random))
  }
  private lazy val all = sketch(recipe(groups = Vector(Vector(1, 12), Vector(3, 4))), rows)

  private def statistics(s: TableSketch): TableStatistics = s.result(0L, 0L)
  private def column(name: String): ColumnStatistics      = statistics(all).columns.find(_.name == name).get

  private def exact(name: String): Seq[Any] = rows.map(_(types.indexWhere(_._1 == name))).filter(_ != null).map {
    case d: Double if d == 0.0 => 0.0
    case bytes: Array[Byte]    => new String(bytes, "UTF-8")
    case other                 => other
  }

  test("rows and NULLs are exact, distinct values within four standard errors, and exact where there are few") {
    val s = statistics(all)
    assert(s.rows == Rows)
    types.foreach { case (name, _) =>
      val values = exact(name)
      val ndv    = values.map { case d: Double if d.isNaN => "NaN"; case other => other }.distinct.size
      val found  = column(name)
      assert(found.nulls == Rows - values.size, name)
      if (ndv <= HeavyHitters.capacityOf(HeavyHitters.SlotBits)) assert(found.ndv == ndv, name)
      else assert(math.abs(found.ndv - ndv) <= NdvError * ndv, s"$name: ${found.ndv} instead of $ndv")
    }
  }

  test("bounds are exact, with NaN above all numbers and one zero") {
    assert(column("key").min.contains(0) && column("key").max.contains(Rows - 1))
    assert(column("flag").min.contains(false) && column("flag").max.contains(true))
    Seq("price", "huge").foreach { name =>
      val sorted = exact(name).map(_.asInstanceOf[Decimal]).sorted
      assert(column(name).min.contains(sorted.head) && column(name).max.contains(sorted.last), name)
    }
    assert(column("ratio").max.exists(_.asInstanceOf[Double].isNaN))
    assert(column("ratio").min.exists(v => java.lang.Double.compare(v.asInstanceOf[Double], 0.0) == 0))
    assert(column("ntz").max.contains(exact("ntz").map(_.asInstanceOf[Long]).max) && column(
      "span"
    ).max.contains(exact("span").map(_.asInstanceOf[Int]).max))
    assert(column("word").min.contains(UTF8String.fromString("often")) && column(
      "word"
    ).max.map(_.toString).contains(exact("word").map(_.toString).max))
  }

  private def percentiles(found: ColumnStatistics): Unit = {
    val sorted = exact(found.name).flatMap(predicates.Values.number(_)).toArray.sorted
    assert(
      found.quantiles.size == Quantiles.Bins + 1 && found.quantiles.head == sorted.head &&
        found.quantiles.last == sorted.last,
      found.name
    )
    found.quantiles.zipWithIndex.foreach { case (b, i) =>
      val share       = i.toDouble / Quantiles.Bins
      val (low, high) = (sorted.count(_ < b).toDouble / sorted.length, sorted.count(_ <= b).toDouble / sorted.length)
      assert(low - RankError <= share && share <= high + RankError, s"${found.name}: $b is no ${i}th percentile")
    }
  }

  test("quantiles are off by a rank of at most two percent") {
    Seq("key", "price", "day", "ntz", "gap").foreach(name => percentiles(column(name)))
    assert(column("word").quantiles.isEmpty)
  }

  test(
    "quantiles that another Spark line wrote are read, and what is written here carries the flag that Spark 3.5 asks " +
      "for"
  ) {
    // sketches of 1 to 30, written by versions 3.3.0 and 6.2.0 of the library, with the flag
    val head  = "05010f08080008001e0000000000000008000300090000001300000013000000000000000000f03f0000000000003e40"
    val high  = (30 to 21 by -1).map(hex)
    val lines = Seq(
      head + high.mkString + Seq(4, 8, 11, 15, 20).map(hex).mkString,
      head + high.mkString + Seq(3, 7, 12, 16, 20).map(hex).mkString
    )
    lines.foreach { line =>
      val bytes = line.grouped(2).map(Integer.parseInt(_, 16).toByte).toArray
      val read  = UnpackedStream(packed(Bytes.write(_, Some(bytes))), Most)(Quantiles.read(_, version = 1))
      assert(read.bounds.head == 1.0 && read.bounds.last == 30.0)
      val again = UnpackedStream(packed(read.write), Most) { in =>
        val n     = in.readInt()
        val bytes = ByteBuffer.allocate(n).put(in.exactly(n % 8L))
        in.words(n / 8).foreach(bytes.putLong)
        bytes.array
      }
      assert((again(3) & 8) == 8)
      assert(UnpackedStream(packed(read.write), Most)(Quantiles.read(_, TableSketch.Version)).bounds == read.bounds)
    }
  }

  /** A whole number as a double, low byte first. */
  private def hex(n: Int): String = {
    val bits = java.lang.Double.doubleToLongBits(n.toDouble)
    (0 until 8).map(i => f"${(bits >>> (8 * i)) & 0xff}%02x").mkString
  }

  test("frequent values: all and exact where there are few, else those that are frequent") {
    val tiny = column("tiny").heavyHitters
    assert(tiny == exact("tiny").groupBy(identity).map { case (v, vs) => v -> vs.size.toLong }.toVector.sortBy {
      case (v, n) => (-n, v.asInstanceOf[Byte])
    })
    val (word, count) = column("word").heavyHitters.head
    val truth         = exact("word").count(_ == UTF8String.fromString("often"))
    assert(
      word == UTF8String.fromString("often") && math.abs(count - truth) <= 0.05 * truth,
      s"$count instead of $truth"
    )
    assert(column("key").heavyHitters.isEmpty && column("big").heavyHitters.isEmpty)
  }

  private def words(values: Iterator[Long]): ColumnStatistics = {
    val of       = Recipe.forColumns(Vector(("word", StringType, true)), Vector.empty, sampled = false)
    val sketch   = new TableSketch(of, 0)
    val toUnsafe = UnsafeProjection.create(of.schema)
    values.zipWithIndex.foreach { case (v, i) =>
      sketch.add(toUnsafe(InternalRow(UTF8String.fromString(s"item $v"))), XXH64.hashLong(i.toLong, 2L))
    }
    statistics(sketch).columns.head
  }

  test("counts of frequent values are what they say: exact, at least, or about, and never of a value that is rare") {
    val random                                = new Random(5)
    def skewed(n: Int): Vector[Long]          = Vector.fill(n)(math.pow(20000.0, random.nextDouble()).toLong)
    def check(values: Vector[Long]): Counting = {
      val truth = values.groupBy(identity).map { case (v, all) => s"item $v" -> all.size.toLong }
      val found = words(values.iterator)
      assert(found.heavyHitters.nonEmpty && found.heavyHitters.map(_._2).sliding(2).forall(p => p.head >= p.last))
      found.heavyHitters.foreach { case (v, n) =>
        val rows = truth(v.toString)
        found.counting match {
          case Counting.Exact         => assert(n == rows, v)
          case Counting.AtLeast(less) => assert(n - less <= rows && rows <= n + less, v)
          case Counting.About         => assert(n <= 2 * rows && rows <= 2 * n, v)
        }
      }
      found.counting
    }
    assert(check(skewed(5000).map(_ % 300)) == Counting.Exact)
    assert(check(skewed(30000)).isInstanceOf[Counting.AtLeast] && check(skewed(400000)) == Counting.About)
    Seq(9000, 200000).foreach { n =>
      val rare = words(random.shuffle((0 until 3 * n).toVector).iterator.map(_.toLong % n))
      assert(rare.heavyHitters.isEmpty, s"$n values of three rows each: ${rare.heavyHitters}")
    }
  }

  test("there are not more distinct values than rows, nor than there is room for between the bounds") {
    (1 to 40).foreach { seed =>
      val random = new Random(seed)
      val n      = 600 + random.nextInt(3000)
      val of     = recipe(Seq("i" -> LongType, "d" -> DateType, "m" -> DecimalType(9, 2)))
      val values = random.shuffle((1 to n).toVector)
      val found  = statistics(sketch(of, values.map(v => Seq[Any](v.toLong, v, Decimal(v.toLong, 9, 2))))).columns
      found.foreach(c => assert(c.ndv <= n && c.ndvError.exists(_ > 0.0), s"${c.name}: ${c.ndv} of $n"))
    }
  }

  test("distinct combinations of a group, those with a NULL left out") {
    val pairs = rows.filter(r => r(1) != null && r(12) != null).map(r => (r(1), r(12))).distinct.size
    val found = statistics(all).groups
    assert(found.map(_.columns) == Vector(Vector("tiny", "word"), Vector("key", "big")))
    assert(math.abs(found.head.ndv - pairs) <= NdvError * pairs)
  }

  test("the sample is uniform, and the whole table where that is small") {
    val s   = statistics(all).sample.get
    val ids = s.rows.map(_.getInt(3)).toSeq
    assert(s.of == Rows && ids.size == 1000 && ids.distinct.size == 1000)
    val quarter = ids.count(_ < Rows / 4)
    // four standard deviations of a binomial count
    assert(math.abs(quarter - 250) <= 4 * math.sqrt(1000 * 0.25 * 0.75), s"$quarter of 1000 in the first quarter")
    val small = statistics(sketch(recipe(), rows.take(50))).sample.get
    assert(small.rows.length == 50 && small.of == 50)
    assert(small.rows.map(_.getInt(3)).toSet == (0 until 50).toSet)
    val fixed = statistics(sketch(recipe(Seq("key" -> LongType)), (0 until 5000).map(i => Seq(i.toLong)))).sample.get
    assert(fixed.rows.map(_.getLong(0)).distinct.length == 1000, "rows of one width, which share a buffer")
  }

  test("the merge of parts is what one pass gives, also through bytes") {
    val r     = recipe(groups = Vector(Vector(1, 12), Vector(3, 4)))
    val parts = rows.grouped(Rows / 4).zipWithIndex.map { case (part, i) =>
      sketch(r, part, from = i * (Rows / 4))
    }.toVector
    val whole = new TableSketch(r, 1000)
    parts.foreach(p => whole.merge(TableSketch.fromBytes(p.toBytes, r, TableSketch.Version)))
    val (merged, once) = (statistics(whole), statistics(all))
    assert(merged.rows == once.rows && merged.groups == once.groups)
    merged.columns.zip(once.columns).foreach { case (m, o) =>
      def comparable(c: ColumnStatistics) = (c.nulls, c.ndv, text(c.min), text(c.max), c.width, c.maxWidth)
      assert(comparable(m) == comparable(o), m.name)
    }
    Seq("key", "price", "day").foreach(name => percentiles(merged.columns.find(_.name == name).get))
    val direct = new TableSketch(r, 1000)
    parts.foreach(direct.merge)
    assert(statistics(direct).sample.get.rows.map(_.getInt(3)).toSeq == once.sample.get.rows.map(_.getInt(3)).toSeq)
    // the bytes do not hold the random numbers, so this is another sample, which is as uniform
    val ids     = merged.sample.get.rows.map(_.getInt(3)).toSeq
    val quarter = ids.count(_ < Rows / 4)
    assert(ids.distinct.size == 1000 && math.abs(quarter - 250) <= 4 * math.sqrt(1000 * 0.25 * 0.75), quarter)
    merged.sample.get.rows.foreach { row =>
      val written = rows(row.getInt(3))
      Seq(0 -> BooleanType, 4 -> LongType, 5 -> DecimalType(9, 2), 6 -> DecimalType(30, 4), 12 -> StringType).foreach {
        case (i, t) => assert(row.get(i, t) == written(i), s"column $i of row ${row.getInt(3)}")
      }
    }
  }

  private def text(bound: Option[Any]): String =
    bound.fold("none") { case b: Array[Byte] => new String(b, "UTF-8"); case other => other.toString }

  test("bounds of long strings are cut, and still bounds") {
    val words      = Seq("a" * 100 + "x", "m", "ä" * 60, "\ud83d\ude00" * 40).map(UTF8String.fromString)
    val s          = statistics(sketch(recipe(Seq("s" -> StringType)), words.map(Seq(_)))).columns.head
    val (min, max) = (s.min.get.asInstanceOf[UTF8String], s.max.get.asInstanceOf[UTF8String])
    def atMost(a: UTF8String, b: UTF8String) = java.util.Arrays.compareUnsigned(a.getBytes, b.getBytes) <= 0
    words.foreach(w => assert(atMost(min, w) && atMost(w, max), w))
    Seq(min, max).foreach(b =>
      assert(b.numBytes <= BytesSketch.BoundBytes + 4 && b.toString.getBytes("UTF-8").sameElements(b.getBytes))
    )
    assert(s.maxWidth == words.map(_.numBytes).max)
    val bytes = Seq(Array.fill[Byte](100)(-1), Array[Byte](1))
    val b     = statistics(sketch(recipe(Seq("b" -> BinaryType)), bytes.map(Seq(_)))).columns.head
    assert(b.max.isEmpty, "nothing is above bytes that are all 255")
  }

  test("nothing but counts is kept of columns whose values may not be kept") {
    val s = statistics(sketch(recipe(values = false), rows))
    s.columns.zip(statistics(all).columns).foreach { case (c, open) =>
      assert(c.min.isEmpty && c.max.isEmpty && c.quantiles.isEmpty && c.heavyHitters.isEmpty, c.name)
      assert(c.nulls == open.nulls && math.abs(c.ndv - open.ndv) <= NdvError * math.max(open.ndv, 1.0), c.name)
    }
    assert(s.sample.isEmpty)
    val bytes = sketch(
      recipe(Seq("word" -> StringType), values = false),
      Seq.fill(100)(Seq(UTF8String.fromString("confidential")))
    ).toBytes
    assert(!UnpackedStream(bytes, Most)(in => new String(in.readAllBytes(), "ISO-8859-1")).contains("confidential"))
  }

  test("very many columns and very long values stay within bounds") {
    val wide = sketch(
      recipe((0 until 2000).map(i => s"c$i" -> LongType)),
      (0 until 200).map(i => Seq.fill(2000)(i.toLong)),
      sampleRows = 10
    )
    assert(wide.toBytes.length < (8 << 20) && statistics(wide).columns.forall(c =>
      math.abs(c.ndv - 200) <= 200 * NdvError
    ))
    val long =
      sketch(recipe(Seq("s" -> StringType)), (0 until 50).map(i => Seq(UTF8String.fromString(s"$i" + "x" * 1000000))))
    assert(long.toBytes.length < (1 << 16) && statistics(long).columns.head.ndv == 50 && statistics(
      long
    ).columns.head.maxWidth > 1000000)
  }

  test("no rows, and columns of nothing but NULLs") {
    val none = statistics(sketch(recipe(), Nil))
    assert(none.rows == 0 && none.columns.forall(c => c.ndv == 0.0 && c.min.isEmpty) && none.sample.exists(s =>
      s.of == 0 && s.rows.isEmpty
    ))
    val empty = statistics(sketch(recipe(), Seq.fill(10)(types.map(_ => null))))
    assert(empty.columns.forall(c => c.nulls == 10 && c.ndv == 0.0 && c.max.isEmpty && c.quantiles.isEmpty))
  }

  test("many small files: tasks merge their sketches, and the statistics are the same") {
    withDirectory { d =>
      val columns = (0 until 30).map(i => s"(id * ${i + 1}) % 500 AS c$i")
      spark.range(0, 4000, 1, 250).selectExpr(columns: _*).write.parquet(d.resolve("many").toString)
      spark.range(0, 4000, 1, 2).selectExpr(columns: _*).write.parquet(d.resolve("few").toString)
      withConf("spark.dovetail.store.path" -> d.resolve("store").toString) {
        def statistics(name: String): Seq[String] = {
          val path = s"parquet.`${d.resolve(name)}`"
          assert(spark.sql(s"DOVETAIL ANALYZE PATH $path").collect().length == 1)
          spark.sql(
            s"SELECT column, rows, null_count, distinct_count, min, max FROM dovetail_stats('$path')"
          ).collect().map(_.toString)
            .sorted.toSeq
        }
        val many = statistics("many")
        assert(many == statistics("few") && many.size == 31)
      }
    }
  }
}
