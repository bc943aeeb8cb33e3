package org.apache.spark.sql.dovetail

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Alias
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LocalRelation, Project}
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.grouping.SplitFunction
import org.apache.spark.sql.dovetail.report.EarlyMark
import org.apache.spark.sql.functions._

/**
 * Groupings below joins: legal ones do not change the answer, and illegal ones are not made. Spark runs every rule of
 * this session twice, and fails if the second run changes a plan.
 */
class EarlyGroupingSuite extends DovetailSuite with EarlyGroupingChecks {
  private val both = "FROM sold s JOIN item i ON s.item = i.item"

  test("functions in two steps, with the types and the NULLs of one step") {
    groups(
      "SELECT i.name, count(*), count(s.number), sum(s.tiny), sum(s.number), sum(s.price), min(s.at), " +
        s"max(s.number), avg(s.number), avg(s.cost), min(s.wide), max(s.cost), sum(s.price) / count(s.price) $both " +
        "GROUP BY i.name",
      "item"
    )
    groups(s"SELECT count(*), sum(s.number), avg(s.cost) $both WHERE s.id < 500", "item")
    // over no rows at all
    groups(
      "SELECT count(*), count(s.number), sum(s.number), avg(s.cost) FROM sold s JOIN nothing n ON s.item = n.item",
      "item"
    )
  }

  test("no expression between a place and the grouping may fail: Spark pushes filters below groupings") {
    withConf("spark.sql.ansi.enabled" -> "true") {
      val text = "if(s.item = 0, 'abc', '5')"
      val sold = s"(SELECT s.item, s.day, s.tiny, $text AS text FROM sold s)"
      once(
        s"SELECT i.name, sum(s.tiny) FROM $sold s JOIN item i ON s.item = i.item WHERE EXISTS (SELECT 1 FROM (SELECT " +
          "day FROM day WHERE week = -1 GROUP BY day) q WHERE q.day = s.day AND CAST(s.text AS INT) > 3) GROUP BY " +
          "i.name"
      )
      once(
        "SELECT d.month, sum(x.w) FROM (SELECT s.day, coalesce(i.class, s.number) AS w FROM sold s LEFT JOIN item i " +
          "ON s.item = i.item WHERE i.class IS NULL OR 100 / i.class > 2) x JOIN day d ON x.day = d.day GROUP BY " +
          "d.month"
      )
      // the same with expressions that cannot fail
      groups(
        "SELECT d.month, sum(x.w) FROM (SELECT s.day, s.tiny AS w FROM sold s LEFT JOIN item i " +
          "ON s.item = i.item WHERE i.class IS NULL OR i.class > 2) x JOIN day d ON x.day = d.day GROUP BY d.month",
        "day item"
      )
    }
  }

  test("a grouping without functions, and of both sides' columns") {
    groups(s"SELECT DISTINCT i.name, s.day $both", "day item")
    groups(s"SELECT i.name, s.day, s.text, sum(s.tiny) $both GROUP BY ALL", "day item text")
    groups(
      s"SELECT i.class, s.day % 3, sum(s.tiny) $both GROUP BY i.class, s.day % 3 HAVING sum(s.tiny) > 20",
      "day item"
    )
  }

  test("columns that conditions and filters above read are keys, too") {
    groups(
      s"SELECT i.name, count(*) FROM sold s JOIN item i ON s.item = i.item AND s.day > i.class GROUP BY i.name",
      "day item"
    )
    groups(
      s"SELECT d.month, sum(s.price) $both JOIN day d ON s.day = d.day WHERE i.class + d.week > s.big % 5 GROUP BY " +
        "d.month",
      "big day item"
    )
  }

  test("joins that keep rows, drop them, or repeat them; not a side that an outer join fills, if rows are counted") {
    val list = "count(*), count(s.number), sum(s.number)"
    for (kind <- Seq("LEFT", "LEFT SEMI", "LEFT ANTI"))
      groups(s"SELECT s.text, $list FROM sold s $kind JOIN item i ON s.item = i.item GROUP BY s.text", "item text")
    groups(s"SELECT i.name, $list FROM item i RIGHT JOIN sold s ON s.item = i.item GROUP BY i.name", "item")
    groups(
      s"SELECT s.text, $list FROM sold s LEFT JOIN day d ON s.day = d.day WHERE s.item IN (SELECT item FROM item) " +
        "OR d.week = 3 " +
        "GROUP BY s.text",
      "day item text"
    )
    for (kind <- Seq("LEFT", "FULL"))
      once(s"SELECT i.name, $list FROM item i $kind JOIN sold s ON s.item = i.item GROUP BY i.name")
  }

  test("ROLLUP, CUBE and GROUPING SETS copy groups") {
    groups(s"SELECT i.name, i.class, sum(s.price), avg(s.number) $both GROUP BY ROLLUP (i.name, i.class)", "item")
    groups(s"SELECT s.text, s.day, grouping_id(), count(*) $both GROUP BY CUBE (s.text, s.day)", "day item text")
    groups(
      s"SELECT i.name, s.day, grouping(s.day), max(s.number) $both GROUP BY GROUPING SETS ((i.name), (i.name), " +
        "(s.day), ())",
      "day item"
    )
  }

  test("what depends on the order of additions, or on pairs of rows, is grouped once") {
    for (
      f <- Seq(
        "sum(s.ratio)",
        "avg(s.ratio)",
        "sum(s.wide)",
        "sum(DISTINCT s.ratio)",
        "avg(DISTINCT s.price)",
        "sum(DISTINCT s.wide)",
        "stddev(DISTINCT s.number)",
        "collect_set(s.number)",
        "stddev(s.number)",
        "first(s.text)",
        "max(s.text)",
        "sum(s.number) FILTER (WHERE s.day > i.class)",
        "sum(s.ratio) FILTER (WHERE s.day > 3)",
        "sum(s.number * i.class)",
        "collect_list(s.number)",
        "avg(s.big)"
      )
    )
      once(s"SELECT i.name, $f $both GROUP BY i.name")
    // its sums wrap without ANSI mode, and fail with it
    withConf("spark.sql.ansi.enabled" -> "false")(groups(s"SELECT i.name, sum(s.big) $both GROUP BY i.name", "item"))
    withConf("spark.sql.ansi.enabled" -> "true")(once(s"SELECT i.name, sum(s.big) $both GROUP BY i.name"))
  }

  test("nothing is computed that may throw, nor grouped by what has no one form") {
    withConf("spark.sql.ansi.enabled" -> "true") {
      once(s"SELECT i.name, sum(CAST(s.text AS INT)) $both WHERE s.item < 0 GROUP BY i.name")
      once(s"SELECT i.name, sum(1 div s.number) $both WHERE s.item < 0 GROUP BY i.name")
      once(s"SELECT i.name, sum(s.price / s.cost) $both WHERE s.item < 0 GROUP BY i.name")
      groups(s"SELECT i.name, sum(s.price / 100), sum(s.cost / -2.50) $both GROUP BY i.name", "item")
      once(
        "SELECT i.name, sum(s.tiny) FROM (SELECT * FROM sold WHERE CAST(text AS INT) = 3) s JOIN nothing i ON " +
          "s.item = i.item GROUP BY i.name"
      )
    }
    once(s"SELECT s.ratio, count(s.number) FROM sold s LEFT JOIN item i ON s.item = i.item GROUP BY s.ratio")
    once(
      "SELECT s.name, r, count(s.number) FROM (SELECT *, rand() > 0.5 AS r FROM sold s JOIN item i USING (item)) s " +
        "GROUP BY s.name, r"
    )
  }

  test("an input that may fail is not grouped early if Spark fills no exchange between the fault and the join") {
    table("packed", "SELECT * FROM sold", "CLUSTERED BY (item) INTO 2 BUCKETS")
    withConf("spark.sql.ansi.enabled" -> "true")(for (
      (input, isExchanged) <- Seq(
        "SELECT item, tiny FROM sold WHERE CAST(text AS INT) = 3 ORDER BY at"                 -> false,
        "SELECT /*+ COALESCE(2) */ item, tiny FROM sold WHERE CAST(text AS INT) = 3"          -> false,
        "SELECT item, count(*) AS tiny FROM packed WHERE CAST(text AS INT) = 3 GROUP BY item" -> false,
        "SELECT item, rank() OVER (PARTITION BY item ORDER BY at) AS tiny FROM packed WHERE CAST(text AS INT) = 3" ->
          false,
        "SELECT item, count(*) AS tiny FROM sold WHERE CAST(text AS INT) = 3 GROUP BY item" -> true,
        "SELECT /*+ REPARTITION(2) */ item, tiny FROM sold WHERE CAST(text AS INT) = 3"     -> true
      )
    ) {
      val sql = s"SELECT i.name, sum(s.tiny) FROM ($input) s JOIN nothing i ON s.item = i.item GROUP BY i.name"
      if (isExchanged) forced(assert(keys(sql) == Seq("item"), told(optimized(sql)))) else once(sql)
    })
  }

  test("no early grouping below a join with a subquery in its key: adaptive execution may broadcast few groups") {
    def by(key: String) = s"SELECT s.text, sum(s.tiny) FROM sold s JOIN item i ON $key = i.item GROUP BY s.text"
    val key             = "coalesce(s.item, (SELECT max(class) FROM item))"
    once(by(key))
    forced(sameAnswer(by(key), reorders = false))
    groups(by("coalesce(s.item, 4)"), "item text")
  }

  test("no early grouping beside an input of which a sort-merge join may spare rows that fail") {
    withConf("spark.sql.ansi.enabled" -> "true", "spark.sql.autoBroadcastJoinThreshold" -> "-1") {
      def beside(condition: String) =
        s"SELECT s.text, sum(s.tiny) FROM sold s JOIN (SELECT a.day FROM day a JOIN day b ON a.day = b.day WHERE " +
          s"$condition) q ON s.day = q.day GROUP BY s.text"
      once(beside("CAST(concat(a.week, b.week) AS INT) >= 0"))
      groups(beside("length(concat(a.week, b.week)) >= 0"), "day text")
    }
  }

  test("averages of integers are merged as doubles: there may be more joined rows than a 64-bit sum holds") {
    val average = optimized(s"SELECT avg(s.number) $both").expressions.flatMap(_.collect {
      case e: AggregateExpression => e
    }).head
    for (ansi <- Seq("true", "false")) withConf("spark.sql.ansi.enabled" -> ansi) {
      val split = SplitFunction(average).get
      // three groups of 2^62 in total, each of three rows
      val parts  = split.partial.map(_.toAttribute)
      val rows   = Seq.fill(3)(InternalRow(1L << 62, 3L))
      val merged = Aggregate(Nil, Seq(Alias(split.merged, "merged")()), LocalRelation(parts, rows))
      val found  = spark.sessionState.executePlan(merged).executedPlan.executeCollectPublic().head.getDouble(0)
      assert(found == (1L << 62).toDouble / 3.0, ansi)
    }
  }

  test("an overflow of decimals does what the function says") {
    withConf("spark.sql.ansi.enabled" -> "true") {
      once(s"SELECT i.name, try_sum(s.price) $both GROUP BY i.name")
      once(s"SELECT i.name, try_avg(s.cost) $both GROUP BY i.name")
      groups(s"SELECT i.name, sum(s.price), avg(s.cost) $both GROUP BY i.name", "item")
    }
  }

  test("projections that double their expressions are planned as fast as ever") {
    val start = spark.table("sold").join(spark.table("item"), "item").withColumn("v", col("number"))
    val frame =
      (0 until 40).foldLeft(start)((f, i) => f.withColumn("v", when(col("v") > i, col("v") - i).otherwise(col("v"))))
    forced {
      val plan = frame.groupBy("name").agg(sum("v")).queryExecution.optimizedPlan
      // Spark keeps projections whose columns are read several times
      assert(plan.collect { case p: Project => p }.size > 30 && !plan.exists(EarlyMark.isOn(_)))
    }
  }

  test("inputs that collect metrics or run a program are read as a whole") {
    val session = spark
    import session.implicits._
    val rows = spark.sparkContext.parallelize(0 until 90).map(i => (i.toLong, s"n$i")).toDF("item", "name")
    forced {
      for (other <- Seq(spark.table("item").observe("seen", count(lit(1))), rows)) {
        val plan = spark.table("sold").join(other, "item").groupBy("name").count().queryExecution.optimizedPlan
        assert(!plan.exists(EarlyMark.isOn(_)), plan)
      }
      val plan =
        spark.table("sold").join(spark.table("item"), "item").groupBy("name").count().queryExecution.optimizedPlan
      assert(plan.exists(EarlyMark.isOn(_)))
    }
  }

  test("hints: a query that is left to Spark has none") {
    once(s"SELECT /*+ DOVETAIL_OFF */ i.name, sum(s.price) $both GROUP BY i.name")
    withConf(DovetailConf.ExcludeTables.key -> "item")(once(s"SELECT i.name, sum(s.price) $both GROUP BY i.name"))
    groups(s"SELECT /*+ MERGE(i) */ i.name, sum(s.price) $both GROUP BY i.name", "item")
  }

  test("between joins, and in subqueries") {
    groups(
      s"SELECT d.month, max(x.n) FROM (SELECT s.day, i.class, count(*) AS n $both GROUP BY s.day, i.class) x JOIN " +
        "day d ON " +
        "x.day = d.day GROUP BY d.month",
      "day item"
    )
    once(
      "SELECT * FROM day WHERE week < (SELECT count(DISTINCT i.name) FROM item i) AND month > (SELECT avg(s.tiny) " +
        s"$both)"
    )
  }

  private def injected(sql: String): Seq[String] = {
    val many           = BigInt(200000000L)
    def key(ndv: Long) = InjectedStatistics.column(Some(BigInt(ndv)), Some(BigInt(0)), Some("0"), Some(ndv.toString))
    InjectedStatistics(
      spark,
      "large",
      Some(many),
      many * 80,
      Map("item" -> key(10000), "day" -> key(2000), "id" -> key(200000000L))
    )
    InjectedStatistics(spark, "item", Some(10000), 500000, Map("item" -> key(10000), "class" -> key(5)))
    keys(sql)
  }

  test("by price: where there are few groups of many rows, and all keys have known distinct values") {
    withTables("large")(withConf(
      "spark.sql.cbo.enabled"                -> "true",
      "spark.sql.autoBroadcastJoinThreshold" -> "1000",
      // footers would tell the distinct values of columns without statistics in the catalog
      DovetailConf.FootersEnabled.key -> "false"
    ) {
      spark.sql("CREATE TABLE large USING parquet AS SELECT * FROM sold")
      val grouped = "SELECT i.class, sum(s.number) FROM large s JOIN item i ON s.item = i.item GROUP BY i.class"
      assert(injected(grouped) == Seq("item"), told(s"${optimized(grouped)}\n${traced(grouped)._2.groups}"))
      sameAnswer(grouped, reorders = false)
      // as many groups as rows
      assert(injected(grouped.replace("i.class", "i.class, s.id")).isEmpty)
      // nobody has counted this key
      withConf(DovetailConf.FootersEnabled.key -> "false")(
        assert(injected(grouped.replace("s.item = i.item", "s.item = i.item AND s.tiny <> i.class")).isEmpty)
      )
      withConf(DovetailConf.EarlyGrouping.key -> "false")(assert(injected(grouped).isEmpty))
      // a small table
      assert(keys(grouped.replace("large", "sold")).isEmpty)
      // groups of joined rows, which another grouping has too: Spark computes them once
      val joined = "FROM large s JOIN day d ON s.day = d.day AND d.month <> s.tiny JOIN item i ON s.item = i.item"
      val one    = s"SELECT i.class, sum(s.number) $joined GROUP BY i.class"
      assert(injected(one) == Seq("item"), told(optimized(one)))
      assert(injected(s"$one UNION ALL SELECT i.class, max(s.number) $joined GROUP BY i.class").isEmpty)
      assert(injected(s"$one UNION ALL $one") == Seq("item", "item"))
      // Spark merges scalar subqueries over equal joins, also where a grouping lies in between
      val figure   = s"SELECT max(n) FROM (${grouped.replace("sum(s.number)", "sum(s.number) AS n")})"
      val another  = figure.replace("sum(s.number)", "count(s.number)")
      val readings = s"SELECT ($figure), ($another)"
      injected(readings)
      assert(optimized(readings).collectWithSubqueries { case a: Aggregate if EarlyMark.isOn(a) => a }.isEmpty)
      val remark = traced(grouped)._2.groups.filter(_.isRemark).map(_.reason)
      assert(
        remark.exists(_.startsWith("the rows of large are grouped by item below the joins, about 10000 groups of ")),
        remark
      )
    })
  }

  test("rows above an early grouping are nobody's count, and those below it are") {
    val sql                 = s"SELECT d.month, sum(s.price) $both JOIN day d ON s.day = d.day GROUP BY d.month"
    def actual(sql: String) = {
      val json =
        spark.sql(s"SELECT * FROM dovetail_explain('$sql', 'json', 'actual')").collect().map(_.getString(0)).mkString
      "\"actual_rows\"".r.findAllIn(json).size
    }
    val counted = actual(sql)
    assert(counted > 3)
    forced(assert(actual(sql) < counted))
  }

  test("by price: a key that a filter fixes has the values that the filter leaves") {
    // numbers of TPC-DS at scale 10: two hundred years, of which the query reads one
    val sizes   = Map("sales" -> 28800000L, "dates" -> 73049L, "customers" -> 500000L)
    val columns = Map(
      "sales"     -> Seq("day" -> 1823L, "customer" -> 500000L),
      "dates"     -> Seq("day" -> 73049L, "year" -> 201L),
      "customers" -> Seq("customer" -> 500000L, "name" -> 500000L)
    )
    withTables(sizes.keys.toSeq: _*)(withConf(
      "spark.sql.cbo.enabled"                -> "true",
      "spark.sql.autoBroadcastJoinThreshold" -> "1000000",
      DovetailConf.SampleFiles.key           -> "false"
    ) {
      spark.sql("CREATE TABLE sales USING parquet AS SELECT id % 28 AS day, id % 40 AS customer, price FROM sold")
      spark.sql("CREATE TABLE dates USING parquet AS SELECT day, 1900 + month AS year FROM day")
      spark.sql("CREATE TABLE customers USING parquet AS SELECT item AS customer, name FROM item")
      def planned(sql: String): Seq[String] = {
        for ((name, rows) <- sizes) InjectedStatistics(
          spark,
          name,
          Some(BigInt(rows)),
          BigInt(rows) * 30,
          columns(name).map { case (column, ndv) =>
            val low = if (column == "year") 1900L else 0L
            column -> (if (column == "name") InjectedStatistics.column(Some(BigInt(ndv)), Some(BigInt(0)))
                       else InjectedStatistics.column(
                         Some(BigInt(ndv)),
                         Some(BigInt(0)),
                         Some(low.toString),
                         Some((low + ndv - 1).toString)
                       ))
          }.toMap
        )
        keys(sql)
      }
      def yearly(where: String) =
        "SELECT c.customer, c.name, d.year, sum(s.price) FROM customers c, sales s, dates d " +
          s"WHERE c.customer = s.customer AND s.day = d.day AND $where GROUP BY c.customer, c.name, d.year"
      for (where <- Seq("d.year = 1905", "d.year IN (1905, 1906)")) {
        val sql = yearly(where)
        assert(planned(sql) == Seq("customer year"), told(s"${optimized(sql)}\n${traced(sql)._2.groups}"))
        sameAnswer(sql, reorders = false)
      }
      assert(planned(yearly("d.year > 1800")).isEmpty)
    })
  }
}
