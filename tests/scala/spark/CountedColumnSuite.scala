package org.apache.spark.sql.dovetail

import scala.util.Random

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.sample.{FileSampleCache, RowDraw}
import org.apache.spark.sql.dovetail.stats.PlanStatistics
import org.apache.spark.sql.dovetail.table.{CountedColumn, SampledRows, TableStatisticsSource}
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Planning a query counts the join keys of small tables that have no statistics. */
class CountedColumnSuite extends DovetailSuite {

  private def statistics(plan: LogicalPlan, settings: (String, String)*): PlanStatistics = {
    FileSampleCache.clear()
    withConf((DovetailConf.FootersMaxMs.key -> "60000") +: settings: _*) {
      val statistics = new PlanStatistics(spark.sessionState.conf, histograms = true, TableStatisticsSource.none)
      statistics.readAhead(plan)
      statistics
    }
  }

  /** Keys 0 to 999, where key k has k % 7 + 1 rows. Every tenth key has no text. */
  private def keyed: DataFrame = spark.range(1000).selectExpr(
    "id k",
    "IF(id % 10 = 0, NULL, concat('key ', id % 300)) s",
    "explode(sequence(0, id % 7)) i"
  )

  Seq("parquet", "orc").foreach { format =>
    test(s"$format: distinct values, NULLs and the largest number of rows of a key are those of the data") {
      withDirectory { d =>
        Seq("a", "b").foreach(t => keyed.write.format(format).save(d.resolve(t).toString))
        val (a, b) = (
          spark.read.format(format).load(d.resolve("a").toString),
          spark.read.format(format).load(
            d.resolve("b").toString
          )
        )
        val plan                 = a.join(b, a("k") === b("k") && a("s") === b("s")).queryExecution.analyzed
        val leaf                 = plan.collectLeaves().head
        val of                   = statistics(plan)(leaf)
        def column(name: String) = of.column(leaf.output.find(_.name == name).get.exprId.id)
        assert(column("k").ndv.contains(1000.0) && column("k").degree.contains(7.0) && column("k").nulls.contains(0.0))
        val (rows, none) = (keyed.count().toDouble, keyed.where("s IS NULL").count().toDouble)
        val most         = keyed.where("s IS NOT NULL").groupBy("s").count().selectExpr("max(count)").head().getLong(0)
        assert(column("s").ndv.contains(270.0) && column("s").degree.contains(most.toDouble))
        assert(math.abs(column("s").nulls.get - none / rows) < 1e-9)
        assert(column("i").degree.isEmpty, "no join compares it")
      }
    }
  }

  test("private columns, and columns of tables that are not small, are not counted") {
    withDirectory { d =>
      keyed.write.parquet(d.resolve("small").toString)
      spark.range(200001).selectExpr("id k").write.parquet(d.resolve("large").toString)
      val (small, large) =
        (spark.read.parquet(d.resolve("small").toString), spark.read.parquet(d.resolve("large").toString))
      val plan                                       = small.join(large, "k").queryExecution.analyzed
      val leaves                                     = plan.collectLeaves()
      def degree(statistics: PlanStatistics, i: Int) =
        statistics(leaves(i)).column(leaves(i).output.find(_.name == "k").get.exprId.id).degree
      val open = statistics(plan)
      assert(degree(open, 0).contains(7.0) && degree(open, 1).isEmpty)
      val hidden = withConf(DovetailConf.PrivateColumns.key -> "k")(statistics(plan))
      assert(degree(hidden, 0).isEmpty)
    }
  }

  test(
    "tables that are sorted alike do not keep the same rows: joins of their samples are about as large as they are"
  ) {
    withDirectory { d =>
      Seq("left", "right").foreach(t =>
        spark.range(0, 100000, 1, 1).selectExpr("id DIV 4 AS k", s"id % 4 AS $t").write.parquet(d.resolve(t).toString)
      )
      Seq("left", "right").foreach(t => spark.read.parquet(d.resolve(t).toString).createOrReplaceTempView(s"drawn_$t"))
      spark.range(10).selectExpr("id x").write.parquet(d.resolve("x").toString)
      spark.read.parquet(d.resolve("x").toString).createOrReplaceTempView("drawn_x")
      withConf(DovetailConf.FootersMaxMs.key -> "60000") {
        val query = "SELECT count(*) FROM drawn_left JOIN drawn_right USING (k) JOIN drawn_x ON x = left"
        val group = traced(query)._2.groups.head
        val join  = group.before.get.joins.find(_.relations.size == 2).get
        val truth = spark.sql("SELECT count(*) FROM drawn_left JOIN drawn_right USING (k)").head().getLong(0)
        assert(join.rows.value > truth * 0.8 && join.rows.value < truth * 1.25, s"${join.rows} instead of $truth")
      }
    }
  }

  test("rows are drawn with the share asked for, each by itself; the same ones each time") {
    val draw  = new RowDraw.AtRandom(0.2, 7L)
    val drawn = (0L until 100000L).filter(draw.takes)
    assert(math.abs(drawn.size - 20000) < 600)
    assert(drawn == (0L until 100000L).filter(new RowDraw.AtRandom(0.2, 7L).takes))
    // two adjacent rows are both drawn as often as independent draws predict
    val pairs = drawn.sliding(2).count { case Seq(a, b) => b == a + 1L; case _ => false }
    assert(math.abs(pairs - 4000) < 400, pairs)
    val other = (0L until 100000L).filter(new RowDraw.AtRandom(0.2, 8L).takes).toSet
    assert(math.abs(drawn.count(other) - 4000) < 400)
    assert((0L until 10L).forall(new RowDraw.AtRandom(1.5, 7L).takes))
    val nth = (0L until 1000L).filter(new RowDraw.OneOfEvery(10L).takes)
    assert(nth.size == 100 && nth.map(_ / 10L).distinct.size == 100)
  }

  test("rows of a sample are what was given, and columns can be put beside them") {
    val schema = StructType(Seq(StructField("a", IntegerType), StructField("b", StringType)))
    val rows   = Vector.tabulate(300)(i =>
      new GenericInternalRow(Array[Any](if (i % 5 == 0) null else i, UTF8String.fromString("t" * (i % 20))))
    )
    val builder = new SampledRows.Builder(schema)
    rows.foreach(builder.add)
    val kept = builder.result
    assert(kept.length == 300 && kept.bytes > 0L)
    rows.zip(kept).foreach { case (given, found) =>
      assert(given.isNullAt(0) == found.isNullAt(0) && given.getUTF8String(1) == found.getUTF8String(1))
      assert(given.isNullAt(0) || given.getInt(0) == found.getInt(0))
    }
    val both = kept.beside(kept)
    assert(both.length == 300 && both(7).getInt(0) == 7 && both(7).getInt(2) == 7)
    assert(both(7).getUTF8String(3) == UTF8String.fromString("t" * 7))
  }

  test("counting agrees with a count of the plainest kind, with many values and few") {
    val chance = new Random(3)
    Seq(5, 300, 100000).foreach { distinct =>
      val values  = Vector.fill(20000)(if (chance.nextInt(20) == 0) null else Int.box(chance.nextInt(distinct)))
      val counter = CountedColumn.Counter(IntegerType).get
      values.foreach(counter.add(_))
      val (found, truth) =
        (counter.result, values.filter(_ != null).groupBy(identity).map { case (v, vs) => v -> vs.size })
      assert(found.distinct == truth.size && found.degree == truth.values.max)
      assert(found.nulls == values.count(_ == null) && found.values == values.count(_ != null))
      assert(found.frequent.complete == (truth.size <= 256) && found.frequent.values.size == math.min(256, truth.size))
      found.frequent.values.foreach(v =>
        assert(
          math.abs(v.share * found.values - truth(Int.box(v.key.toInt))) < 1e-6 && v.number.contains(v.key.toDouble)
        )
      )
      assert(found.frequent.values.map(v => (-v.share, v.key)) == found.frequent.values.map(v =>
        (-v.share, v.key)
      ).sorted)
    }
    assert(CountedColumn.Counter(DoubleType).isEmpty && CountedColumn.Counter(ArrayType(IntegerType)).isEmpty)
  }
}
