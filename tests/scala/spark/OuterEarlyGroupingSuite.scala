package org.apache.spark.sql.dovetail

import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Join}
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.report.EarlyMark

/** Groupings of the side of an outer join that the join fills with NULLs. */
class OuterEarlyGroupingSuite extends DovetailSuite with EarlyGroupingChecks {

  /** All functions that can be split, with arguments that are NULL for a row without a partner. */
  private val functions =
    "count(s.number), count(s.tiny, s.price), sum(s.tiny), sum(s.number), sum(s.price), min(s.at), max(s.number), " +
      "avg(s.number), avg(s.cost), min(s.wide), max(s.cost), sum(s.price * s.tiny), " +
      "count(CAST(s.number AS BIGINT) * s.tiny)"

  /** Both ways to write the join: with the grouped side on the right, and on the left. */
  private def joins(dimension: String, on: String, fact: String = "sold s"): Seq[String] =
    Seq(s"FROM $dimension LEFT JOIN $fact ON $on", s"FROM $fact RIGHT JOIN $dimension ON $on")

  private def ansi(body: => Unit): Unit =
    for (on <- Seq("true", "false")) withConf("spark.sql.ansi.enabled" -> on)(body)

  test("rows without a partner: counts are 0, sums, averages, minima and maxima are NULL") {
    // items 40 to 44 have no partner, and items 0 to 14 are there twice
    ansi(groups(s"SELECT i.item, $functions FROM item i LEFT JOIN sold s ON s.item = i.item GROUP BY i.item", "item"))
    for (from <- joins("item i", "s.item = i.item")) {
      groups(s"SELECT i.class, i.name, $functions $from GROUP BY i.class, i.name", "item")
      groups(s"SELECT $functions $from WHERE i.item > 41", "item")
      groups(s"SELECT i.item, s.text, s.at, $functions $from GROUP BY i.item, s.text, s.at", "at item text")
    }
    val row = spark.sql(
      s"SELECT i.item, $functions FROM item i LEFT JOIN sold s ON s.item = i.item WHERE i.item = 44 GROUP BY 1"
    )
    assert(row.head().mkString(" ") == s"44 0 0 ${"null " * 10}0")
  }

  test("no rows at all on the filled side, on the other one, and no keys that match") {
    val empty = "(SELECT * FROM sold WHERE id < 0) s"
    ansi(groups(s"SELECT i.name, $functions FROM item i LEFT JOIN $empty ON s.item = i.item GROUP BY i.name", "item"))
    for (from <- joins("nothing i", "s.item = i.item")) {
      groups(s"SELECT i.name, $functions $from GROUP BY i.name", "item")
      groups(s"SELECT $functions $from", "item")
    }
    for (from <- joins("item i", "s.item = i.item AND s.day > 100"))
      groups(s"SELECT i.name, $functions $from GROUP BY i.name", "item")
  }

  test("conditions: keys of NULL, columns of both sides, of one side only, and null-safe ones") {
    for (from <- joins("(SELECT if(item % 4 = 0, NULL, item) AS item, name, class FROM item) i", "s.item <=> i.item"))
      groups(s"SELECT i.name, $functions $from GROUP BY i.name", "item")
    for (from <- joins("item i", "s.item = i.item AND s.day > i.class * 3 AND i.class <> 2"))
      groups(s"SELECT i.name, $functions $from GROUP BY i.name", "day item")
    for (from <- joins("item i", "s.item = i.item AND s.big < 7 AND s.day % 2 = 0"))
      groups(s"SELECT i.item, $functions $from GROUP BY i.item", "item")
    // no column of the filled side is read: there is no key
    for (from <- joins("item i", "i.class > 2")) once(s"SELECT i.name, count(s.number) $from GROUP BY i.name")
  }

  test("above the join: HAVING, ROLLUP, filters for rows without a partner, and other joins") {
    for (from <- joins("item i", "s.item = i.item")) {
      groups(s"SELECT i.item, sum(s.price) $from GROUP BY i.item HAVING count(s.number) < 30", "item")
      groups(s"SELECT i.item, avg(s.cost) $from GROUP BY i.item HAVING sum(s.number) IS NULL", "item")
      groups(s"SELECT i.name, i.class, $functions $from GROUP BY ROLLUP (i.name, i.class)", "item")
      groups(s"SELECT i.class, s.text, grouping_id(), $functions $from GROUP BY CUBE (i.class, s.text)", "item text")
      groups(s"SELECT i.name, $functions $from WHERE s.day IS NULL OR s.day < i.class GROUP BY i.name", "day item")
      groups(
        s"SELECT i.name, c, count(c) " +
          s"FROM (SELECT i.item, i.name, count(s.number) AS c $from GROUP BY i.item, i.name) i " +
          "GROUP BY i.name, c",
        "item"
      )
    }
    val three = "FROM item i LEFT JOIN sold s ON s.item = i.item JOIN day d ON i.class = d.day"
    groups(s"SELECT d.month, $functions $three GROUP BY d.month", "item")
    groups(s"SELECT d.month, $functions $three AND d.week < s.day GROUP BY d.month", "day item")
    // the filled side is a join itself
    groups(
      s"SELECT i.name, $functions FROM item i LEFT JOIN (sold s JOIN day d ON s.day = d.day) ON s.item = i.item AND " +
        "d.month < 7 GROUP BY i.name",
      "day item"
    )
    groups(
      s"SELECT i.name, $functions FROM item i LEFT JOIN (sold s LEFT JOIN day d ON s.day = d.day) ON s.item = i.item " +
        "AND d.month < 7 GROUP BY i.name",
      "day item"
    )
  }

  test("SELECT DISTINCT of both sides") {
    for (from <- joins("item i", "s.item = i.item")) groups(s"SELECT DISTINCT i.class, s.text $from", "item text")
  }

  /** Asserts that no early grouping reads the table `sold`, and that the answer is the same. */
  private def notOfSold(sql: String): Unit = forced {
    val early = optimized(sql).collect { case a: Aggregate if EarlyMark.isOn(a) => a }
    assert(!early.exists(_.collectLeaves().exists(_.output.exists(_.name == "cost"))), s"$sql\n$early")
    sameAnswer(sql, reorders = false)
  }

  test("functions that notice rows without a partner: the side that is filled is not grouped") {
    val noticing = Seq(
      "count(*)",
      "count(1)",
      "sum(1)",
      "max(7)",
      "sum(coalesce(s.number, 3))",
      "count(coalesce(s.number, 3))",
      "sum(if(s.number IS NULL, 1, 0))",
      "avg(CASE WHEN s.tiny > 3 THEN s.number ELSE 1 END)",
      "count(s.number IS NULL)",
      "min(greatest(s.number, 2))",
      "count(s.number <=> s.tiny)",
      "sum(i.class)"
    )
    for (from <- joins("item i", "s.item = i.item"); f <- noticing) {
      notOfSold(s"SELECT i.name, $f $from GROUP BY i.name")
      once(s"SELECT i.name, sum(s.price), $f $from GROUP BY i.name")
    }
    // the same, computed in a projection between
    for (column <- Seq("coalesce(s.number, 3)", "1", "s.number IS NULL"))
      notOfSold(
        s"SELECT name, count(n) FROM (SELECT i.name, $column AS n, i.item FROM item i LEFT JOIN sold s " +
          "ON s.item = i.item) WHERE item > 2 GROUP BY name"
      )
  }

  test("a column that the filled side computes is NULL for rows without a partner, whatever it is computed from") {
    for (from <- joins("item i", "s.item = i.item", "(SELECT item, coalesce(number, 3) AS n, 1 AS one FROM sold) s"))
      groups(s"SELECT i.item, count(s.n), sum(s.n), count(s.one), sum(s.one), avg(s.n) $from GROUP BY i.item", "item")
  }

  test("one outer join that fills, at most") {
    // the second place is below both joins, and the first one above the second join
    val sql =
      "SELECT d.week, count(s.number), sum(s.price) FROM day d LEFT JOIN (item i LEFT JOIN sold s " +
        "ON s.item <=> i.item) ON i.class = d.day GROUP BY d.week"
    groups(sql, "class")
  }

  test("the merged columns may be NULL") {
    forced {
      val plan =
        optimized("SELECT i.name, count(s.number) FROM item i LEFT JOIN sold s ON s.item = i.item GROUP BY i.name")
      val join = plan.collectFirst { case j: Join => j }.get
      val read = plan.collectFirst { case a: Aggregate if !EarlyMark.isOn(a) => a }.get
        .aggregateExpressions.flatMap(_.collect { case e: AggregateExpression => e }).flatMap(_.references)
      assert(read.nonEmpty && read.forall(_.nullable) && join.output.filter(a =>
        read.exists(_.exprId == a.exprId)
      ).size == 1)
    }
  }

  test("by price: customers and their orders (TPC-H q13), if the orders are many more than the customers") {
    withTables("customers", "orders")(withConf(
      "spark.sql.cbo.enabled"                -> "true",
      "spark.sql.autoBroadcastJoinThreshold" -> "1000000",
      DovetailConf.SampleFiles.key           -> "false"
    ) {
      spark.sql("CREATE TABLE customers USING parquet AS SELECT item AS customer, name FROM item")
      spark.sql("CREATE TABLE orders USING parquet AS SELECT id AS number, item AS customer, text FROM sold")
      def planned(customers: Long, orders: Long, buyers: Long): Seq[String] = {
        def key(ndv: Long) =
          InjectedStatistics.column(Some(BigInt(ndv)), Some(BigInt(0)), Some("0"), Some((ndv - 1).toString))
        InjectedStatistics(spark, "customers", Some(customers), customers * 180, Map("customer" -> key(customers)))
        val columns = Map("customer" -> key(buyers), "number" -> key(orders))
        InjectedStatistics(spark, "orders", Some(orders), BigInt(orders) * 100, columns)
        val sql =
          "SELECT c_count, count(*) FROM (SELECT c.customer, count(o.number) AS c_count FROM customers c LEFT JOIN " +
            "orders o ON c.customer = o.customer AND o.text NOT LIKE '%s3%' GROUP BY c.customer) GROUP BY c_count"
        sameAnswer(sql, reorders = false)
        keys(sql)
      }
      assert(planned(1500000, 15000000, 1000000) == Seq("customer"))
      assert(planned(1500000, 2000000, 1500000).isEmpty)
      // nearly all rows above are customers without orders, which an early grouping does not make fewer
      assert(planned(2000000000L, 2000000, 1000000).isEmpty)
    })
  }
}
