package org.apache.spark.sql.dovetail

import java.util.Locale

import dovetail.kernel.cost.{CostConstants, CostText}
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.plans.LeftSemi
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Join}
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec
import org.apache.spark.sql.functions._

/**
 * Groupings that are joined with a restricted table are computed only for its keys, if that pays off, and never if the
 * answer could change. The tables are small, so each row takes ten thousand times as long as usual, and Bloom filters
 * and early groupings, which would pay off, too, are off.
 */
class SemiJoinReductionSuite extends DovetailSuite with SuiteTables {

  private val slowly = {
    val usual = CostConstants()
    CostText.write(CostText.constants.foldLeft(usual) { case (all, (_, get, set)) => set(all, 10000.0 * get(usual)) })
  }

  private val settings = Map(
    DovetailConf.CostConstants.key  -> slowly,
    DovetailConf.Reducers.key       -> "false",
    DovetailConf.ReducersRanges.key -> "false",
    DovetailConf.EarlyGrouping.key  -> "false"
  )

  override def afterAll(): Unit =
    try settings.keys.foreach(spark.conf.unset(_))
    finally super.afterAll()

  override def beforeAll(): Unit = {
    super.beforeAll()
    settings.foreach { case (key, value) => spark.conf.set(key, value) }
    table(
      "sale",
      "SELECT id, if(id % 31 = 0, NULL, id % 500) AS item, concat('i', id % 500) AS code, CAST(id % 500 AS DOUBLE) " +
        "AS ratio, CAST(id % 17 AS INT) AS qty, id % 9 AS shop FROM range(20000)"
    )
    table(
      "part",
      "SELECT id AS item, concat('i', id) AS code, CAST(id AS DOUBLE) AS ratio, id % 50 AS brand FROM range(600)"
    )
    table("shop", "SELECT id AS shop, id % 3 AS town FROM range(12)")
    tables.foreach(t => spark.sql(s"DOVETAIL ANALYZE TABLE $t").collect())
  }

  private val correlated =
    "SELECT count(*), sum(s.id) FROM sale s JOIN part ON s.item = part.item WHERE part.brand = 3 AND s.qty < (SELECT " +
      "0.9 * avg(qty) FROM sale t WHERE t.item = part.item)"

  private def grouped(columns: String, by: String, on: String, where: String = "part.brand = 3"): String =
    s"SELECT * FROM (SELECT $columns, sum(qty) AS n FROM sale GROUP BY $by) g JOIN part ON $on WHERE $where"

  /** Number of semi joins below groupings. */
  private def reductions(sql: String): Int =
    optimized(sql).collect { case a: Aggregate =>
      a.child.collect { case j: Join if j.joinType == LeftSemi => j }
    }.flatten.distinct.size

  private def reduces(sql: String): Unit = {
    assert(dovetail(on = false)(reductions(sql)) == 0)
    assert(reductions(sql) == 1, told(s"$sql: ${traced(sql)._2.groups.map(_.reason)}"))
    sameAnswer(sql, reorders = false)
  }

  private def leaves(sql: String): Unit = {
    assert(reductions(sql) == 0, sql)
    sameAnswer(sql, reorders = false)
  }

  test("rows that are sorted before they are grouped stay sorted: Spark drops a sort below a join") {
    def sorted(functions: String, by: String) =
      s"SELECT p.item, g.* EXCEPT (g.item) FROM part p JOIN (SELECT item, $functions FROM (SELECT * FROM sale " +
        s"DISTRIBUTE BY item $by) GROUP BY item) g ON g.item = p.item WHERE p.brand = 3"
    reduces(sorted("sum(qty) AS n", ""))
    Seq("first(id) AS f", "last(id) AS l, sum(qty) AS n", "slice(collect_list(id), 1, 3) AS ids")
      .foreach(f => leaves(sorted(f, "SORT BY item, id DESC")))
  }

  test("a correlated subquery is computed for the keys of the table that it is correlated with, and explain says so") {
    reduces(correlated)
    // numbers are written in the same way in all locales
    val locale = Locale.getDefault
    Locale.setDefault(Locale.GERMANY)
    val reasons =
      try withoutIdempotenceCheck(traced(correlated)._2.groups.map(_.reason))
      finally Locale.setDefault(locale)
    assert(
      reasons.exists(
        _.matches("(?s).*aggregate\\(sale\\) is computed only for the keys of part, about [0-3]\\.\\d % of its rows.*")
      ),
      reasons
    )
  }

  test("the table is broadcast once") {
    withConf("spark.sql.adaptive.enabled" -> "false") {
      val sql =
        "SELECT g.n FROM (SELECT item, sum(qty) AS n FROM sale GROUP BY item) g JOIN part ON g.item = part.item " +
          "WHERE part.brand = 3"
      reduces(sql)
      assert(physical(sql).collect { case r: ReusedExchangeExec => r }.size == 1, told(physical(sql)))
    }
  }

  test("keys under other names, of several columns, of texts; HAVING; groupings beside outer, semi and anti joins") {
    reduces(grouped("item AS i", "item", "g.i = part.item"))
    reduces(grouped("item, shop", "item, shop", "g.item = part.item"))
    reduces(grouped("code", "code", "g.code = part.code"))
    reduces(grouped("item", "item HAVING sum(qty) > 300", "g.item = part.item"))
    val one = grouped("item AS i", "item", "g.i = part.item")
    reduces(s"SELECT * FROM ($one) x LEFT JOIN shop ON x.brand = shop.shop")
    reduces(s"SELECT * FROM shop LEFT JOIN ($one) x ON x.brand = shop.shop")
    reduces(s"SELECT * FROM shop FULL JOIN ($one) x ON x.brand = shop.shop")
    reduces(s"SELECT * FROM shop WHERE shop NOT IN (SELECT brand FROM ($one) x)")
    reduces(s"SELECT * FROM shop LEFT SEMI JOIN ($one) x ON x.brand = shop.shop")
    reduces(
      "SELECT * FROM (SELECT s.item, sum(qty) AS n FROM sale s JOIN shop ON s.shop = shop.shop WHERE town < 2 GROUP " +
        "BY s.item) g JOIN part ON g.item = part.item WHERE brand = 3"
    )
  }

  test("of groupings above each other the lowest that has the key") {
    val sql =
      "SELECT * FROM (SELECT item, avg(n) AS m FROM (SELECT item, shop, sum(qty) AS n FROM sale GROUP BY item, shop) " +
        "GROUP BY item) g JOIN part ON g.item = part.item WHERE brand = 3"
    reduces(sql)
    val joined =
      optimized(sql).collect { case a: Aggregate if a.child.isInstanceOf[Join] => a.groupingExpressions.size }
    assert(joined == Seq(2))
  }

  test("not where the other groups are asked for, or could be") {
    val g = "(SELECT item, sum(qty) AS n FROM sale GROUP BY item) g"
    leaves(s"SELECT * FROM $g LEFT JOIN part ON g.item = part.item AND part.brand = 3")
    leaves(s"SELECT * FROM $g FULL JOIN (SELECT * FROM part WHERE brand = 3) part ON g.item = part.item")
    leaves(s"SELECT * FROM $g LEFT ANTI JOIN (SELECT * FROM part WHERE brand = 3) part ON g.item = part.item")
    leaves(s"SELECT * FROM $g JOIN part ON g.item <=> part.item WHERE brand = 3")
    leaves(s"SELECT * FROM $g JOIN part ON g.n = part.item WHERE brand = 3")
    leaves(s"SELECT * FROM $g JOIN part ON g.item + 1 = part.item WHERE brand = 3")
    leaves("SELECT * FROM (SELECT max(item) AS item FROM sale) g JOIN part ON g.item = part.item WHERE brand = 3")
    leaves(grouped("ratio", "ratio", "g.ratio = part.ratio"))
  }

  test("not where rows could be others the second time, nor where it does not pay") {
    leaves(grouped("item", "item", "g.item = part.item", where = "true"))
    leaves(grouped("item", "item", "g.item = part.item", where = "part.brand > 10"))
    leaves(
      "SELECT * FROM (SELECT item, sum(qty) AS n FROM sale GROUP BY item) g JOIN (SELECT * FROM part WHERE brand = 3 " +
        "LIMIT 5) p ON g.item = p.item WHERE p.brand < 0"
    )
    val sampled = "(SELECT * FROM part WHERE brand = 3 AND rand(1) < 0.99) part"
    val plain   = grouped("item", "item", "g.item = part.item", where = "true")
    for (
      random <- Seq(
        grouped("item", "item HAVING rand(1) < 0.99", "g.item = part.item"),
        plain.replace("JOIN part", s"JOIN $sampled")
      )
    )
      assert(reductions(random) == 0, told(optimized(random)))
  }

  test("not beside an observed input: a grouping without rows would end the query before its metrics") {
    val few                     = "SELECT item AS i, sum(qty) AS n FROM sale GROUP BY item"
    val some                    = spark.table("part").where("brand = 3")
    def joined(sale: DataFrame) =
      sale.join(spark.sql(few), col("item") === col("i")).join(some.select("item", "code"), "item")
    def semis(frame: DataFrame) =
      frame.queryExecution.optimizedPlan.collect { case j: Join if j.joinType == LeftSemi => j }.size
    assert(semis(joined(spark.table("sale").select("item", "id"))) == 1)
    assert(semis(joined(spark.table("sale").select("item", "id").observe("seen", count(lit(1))))) == 0)
  }

  test("not by a table that is small on disk, and may take more memory than a broadcast has") {
    table("packed", "SELECT id DIV 100 AS item, id DIV 1000 AS x FROM range(0, 2000, 1, 1)")
    val onDisk = spark.table("packed").queryExecution.optimizedPlan.stats.sizeInBytes.toLong
    val sql    =
      "SELECT count(*), sum(g.n) FROM packed t JOIN (SELECT id AS x FROM range(1)) d ON t.x = d.x JOIN (SELECT " +
        "item, sum(qty) AS n FROM sale GROUP BY item) g ON g.item = t.item"
    for ((bytes, semiJoins) <- Seq(onDisk -> 0, 1000 * onDisk -> 1))
      withoutIdempotenceCheck(withConf("spark.sql.autoBroadcastJoinThreshold" -> bytes.toString) {
        assert(reductions(sql) == semiJoins, told(optimized(sql)))
        assert(answer(sql) == dovetail(on = false)(answer(sql)))
      })
  }

  test("a grouping that the query has twice stays one") {
    val twice =
      "WITH g AS (SELECT item, sum(qty) AS n FROM sale GROUP BY item) SELECT sum(g.n), max(h.n) FROM g JOIN part ON " +
        "g.item = part.item JOIN g h ON h.item = part.item WHERE part.brand = 3"
    leaves(twice)
  }

  test("groupings of a table of very many columns count as equal: comparing them takes long") {
    table("wide", "SELECT id % 500 AS item, CAST(id % 17 AS INT) AS qty, id % 9 AS shop FROM range(20000)")
    // the files lack these columns, so their values are NULL
    spark.sql(s"ALTER TABLE wide ADD COLUMNS (${(0 until 1100).map(i => s"c$i INT").mkString(", ")})")
    spark.sql("DOVETAIL ANALYZE TABLE wide COLUMNS (item, qty, shop)").collect()
    def grouping(column: String) = s"(SELECT item, sum($column) AS n FROM sale GROUP BY item)"
    val one                      =
      s"SELECT * FROM ${grouping("qty")} g JOIN part ON g.item = part.item WHERE part.brand = 3"
    val two =
      s"SELECT * FROM ${grouping("qty")} g JOIN part ON g.item = part.item JOIN ${grouping("shop")} h ON " +
        "h.item = part.item WHERE part.brand = 3"
    def ofWide(sql: String) = sql.replace("sale", "wide")
    assert(reductions(one) == 1 && reductions(two) == 2)
    assert(reductions(ofWide(one)) == 1)
    leaves(ofWide(two))
  }

  test("not a small grouping on cores of usual speed: its scan would wait for the broadcast for longer") {
    withConf(DovetailConf.CostConstants.key -> "")(leaves(correlated))
  }

  test("switched off by its setting, by a hint, and with the cost model that knows no groupings") {
    assert(reductions(correlated) == 1)
    withConf("spark.dovetail.reorder.semiJoins" -> "false")(assert(reductions(correlated) == 0))
    withConf("spark.dovetail.cost.model" -> "cardWeight")(assert(reductions(correlated) == 0))
    withConf("spark.dovetail.reorder.minGain" -> "0.9")(assert(reductions(correlated) == 0))
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1")(assert(reductions(correlated) == 0))
    assert(reductions(correlated.replaceFirst("SELECT", "SELECT /*+ DOVETAIL_OFF */")) == 0)
  }

  test("in generated code: a multiple of an average fails for no row, a quotient of sums may") {
    def below(limit: String) = correlated.replace("0.9 * avg(qty)", limit)
    withConf(
      "spark.sql.ansi.enabled"        -> "true",
      "spark.sql.codegen.wholeStage"  -> "true",
      "spark.sql.codegen.factoryMode" -> "FALLBACK"
    ) {
      reduces(correlated)
      reduces(below("0.2 * avg(CAST(qty AS DECIMAL(12, 2)))"))
      // Spark computes these on whole numbers
      reduces(below("1.2 * avg(CAST(qty AS DECIMAL(7, 2)))"))
      reduces(below("0.001 * sum(CAST(qty AS DECIMAL(7, 2)))"))
      assert(reductions(below("sum(qty) / sum(shop)")) == 0)
    }
  }

  test("with Spark's own reordering on, and adaptive execution off") {
    withConf("spark.sql.cbo.enabled" -> "true", "spark.sql.cbo.joinReorder.enabled" -> "true")(reduces(correlated))
    withConf("spark.sql.adaptive.enabled" -> "false")(reduces(correlated))
  }
}
