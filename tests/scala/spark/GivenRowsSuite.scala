package org.apache.spark.sql.dovetail

import java.nio.file.Files

import dovetail.kernel.profile.Source
import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.catalyst.parser.ParseException
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.leaf.GivenRows
import org.apache.spark.sql.dovetail.sql.CopiedSession
import org.apache.spark.sql.dovetail.sql.EstimateQuery
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.scalatest.BeforeAndAfterEach

/** Row counts that the user gives: they apply to every query with the same join, and to no other. */
class GivenRowsSuite extends StarSuite with BeforeAndAfterEach {
  override def afterEach(): Unit = { run("FORGET ROWS"); super.afterEach() }

  private def run(statement: String): Seq[String] =
    spark.sql(s"DOVETAIL $statement").collect().toSeq.map(_.getString(0))
  private def estimate(sql: String): (Double, String) = {
    val e = EstimateQuery(spark, sql); (e.head.asInstanceOf[Double], e(3).toString)
  }
  private def isGiven(sql: String, rows: Double): Unit     = assert(estimate(sql) == ((rows, "given")), sql)
  private def isNotGiven(sql: String): Unit                = assert(estimate(sql)._2 != "given", sql)
  private def joins(sql: String): Map[Set[String], Double] = {
    val g = withoutIdempotenceCheck(traced(sql)._2.groups).head
    (g.before.get.joins ++ g.after.toVector.flatMap(_.joins)).map(j => j.relations.toSet -> j.rows.value).toMap
  }

  test(
    "a join is recognized whatever its aliases, its order, its columns, the order of its predicates and the sides of " +
      "an equality"
  ) {
    run("SET ROWS 123 FOR SELECT f.v FROM f JOIN c ON f.k3 = c.k WHERE c.w = 1 AND f.v < 500")
    Seq(
      "SELECT * FROM f JOIN c ON f.k3 = c.k WHERE c.w = 1 AND f.v < 500",
      "SELECT x.s FROM c x, f y WHERE 500 > y.v AND x.k = y.k3 AND 1 = x.w",
      "SELECT q.k1 + 1 FROM (SELECT * FROM f WHERE v < 500) q JOIN (SELECT k AS kk, w FROM c) r ON r.kk = q.k3 AND " +
        "r.w = 1"
    ).foreach(isGiven(_, 123))
    Seq(
      "SELECT * FROM f JOIN c ON f.k3 = c.k WHERE c.w = 1",
      "SELECT * FROM f JOIN c ON f.k3 = c.k WHERE c.w = 1 AND f.v < 501",
      "SELECT * FROM f JOIN c ON f.k1 = c.k WHERE c.w = 1 AND f.v < 500",
      "SELECT * FROM f JOIN b ON f.k3 = b.k WHERE b.w = 1 AND f.v < 500",
      "SELECT * FROM f LEFT JOIN c ON f.k3 = c.k AND c.w = 1 WHERE f.v < 500",
      "SELECT * FROM f LEFT SEMI JOIN c ON f.k3 = c.k AND c.w = 1 WHERE f.v < 500"
    ).foreach(isNotGiven)
  }

  test("rows of a table are those before the predicates that a connector has taken over") {
    withDirectory { d =>
      withConf("spark.sql.sources.useV1SourceList" -> "") {
        spark.range(1000).selectExpr("id", "id % 10 AS day").write.partitionBy("day").parquet(s"$d/p")
        spark.read.parquet(s"$d/p").createOrReplaceTempView("v")
        assert(optimized("SELECT * FROM v").collectLeaves().head.isInstanceOf[DataSourceV2ScanRelation])
        run("SET ROWS 5000 FOR TABLE v")
        isGiven("SELECT * FROM v", 5000)
        assert(estimate("SELECT * FROM v WHERE day = 1")._1 == 100.0)
      }
    }
  }

  test("rows hold in the copies of a session in which Spark plans caches and streams, and in no other session") {
    run("SET ROWS 123 FOR TABLE f")
    assert(GivenRows(CopiedSession(spark)).all.map(_.rows) == Seq(123.0))
    assert(GivenRows(spark.newSession()).all.isEmpty)
  }

  test("lists, alternatives, null-safe equality, functions, subqueries") {
    def both(told: String, asked: String): Unit = {
      run(s"SET ROWS 77 FOR SELECT * FROM f JOIN c ON f.k3 = c.k WHERE $told");
      isGiven(s"SELECT 1 FROM c JOIN f ON c.k = f.k3 WHERE $asked", 77)
    }
    both("f.v IN (3, 1, 2)", "f.v IN (1, 2, 3)")
    both("f.v = 1 OR f.t LIKE 'x%'", "f.t LIKE 'x%' OR f.v = 1")
    both("upper(c.s) = 'C1'", "'C1' = upper(c.s)")
    both(s"f.v IN (${(1 to 20).mkString(", ")})", s"f.v IN (${(1 to 20).reverse.mkString(", ")})")
    isNotGiven("SELECT 1 FROM c JOIN f ON c.k = f.k3 WHERE f.v IN (1, 2, 4)")
    val e = intercept[IllegalArgumentException](
      run("SET ROWS 5 FOR SELECT * FROM f JOIN c ON f.k3 = c.k WHERE f.v > (SELECT avg(w) FROM a)")
    )
    assert(e.getMessage.contains("cannot be recognized in other queries"))
  }

  test("a part of a larger query gets the number, what contains it profits, and another order follows") {
    val sql    = "SELECT count(*) FROM f JOIN a ON f.k1 = a.k JOIN b ON f.k2 = b.k JOIN c ON f.k3 = c.k WHERE c.w = 1"
    val before = joins(sql)
    assert(before.contains(Set("f", "c")) && reordered(sql))
    run("SET ROWS 4000 FOR SELECT * FROM c JOIN f ON f.k3 = c.k WHERE c.w = 1")
    run("SET ROWS 2 FOR SELECT * FROM f JOIN b ON f.k2 = b.k")
    val after = joins(sql)
    val g     = withoutIdempotenceCheck(traced(sql)._2.groups).head
    assert(after(Set("f", "b")) == 2.0 && g.after.get.order.contains("(f b)"), g)
    assert(g.after.get.joins.find(_.relations.toSet == Set("f", "b")).get.rows.source == Source.Given)
    // 4000 rows instead of the estimate, and 2 rows instead of 5000
    val whole = Set("f", "a", "b", "c")
    assert(
      math.abs(after(whole) / (before(whole) * 4000 / before(Set("f", "c")) * 2 / 5000) - 1.0) < 0.05,
      (before, after)
    )
    sameAnswer(sql)
  }

  test("of one relation with its predicates, and of a table as a whole") {
    run("SET ROWS 7 FOR SELECT * FROM c WHERE w = 1")
    isGiven("SELECT s FROM c x WHERE x.w = 1", 7)
    isNotGiven("SELECT s FROM c x WHERE x.w = 2")
    val g = traced("SELECT count(*) FROM f JOIN a ON f.k1 = a.k JOIN c ON f.k3 = c.k WHERE c.w = 1")._2.groups.head
    assert(g.relations.find(_.name == "c").get.rows.exists(r => r.value == 7.0 && r.source == Source.Given), g)
    run("SET ROWS 1000000 FOR TABLE f")
    isGiven("SELECT * FROM f", 1e6)
    isGiven("SELECT * FROM default.f AS x", 1e6)
    assert(estimate("SELECT * FROM f WHERE v < 500")._1 > 400000.0)
    assert(estimate("SELECT * FROM f JOIN a ON f.k1 = a.k")._1 > 400000.0)
    run("SET ROWS 50000 FOR SELECT * FROM p")
    isGiven("SELECT * FROM p", 50000)
    assert(
      math.abs(estimate("SELECT * FROM p WHERE k3 = 3")._1 / 2500 - 1.0) < 0.1,
      "predicates on partitions count as others do"
    )
  }

  test("of a table that Dovetail has analyzed: its sample and its partitions grow with it") {
    withDirectory { d =>
      withConf(DovetailConf.StorePath.key -> d.toString) {
        Seq("f", "p").foreach(t => spark.sql(s"DOVETAIL ANALYZE TABLE $t"))
        run("SET ROWS 50000 FOR TABLE p")
        run("SET ROWS 100000 FOR TABLE f")
        isGiven("SELECT * FROM p", 50000)
        assert(math.abs(estimate("SELECT * FROM p WHERE k3 = 3")._1 / 2500 - 1.0) < 0.1)
        assert(math.abs(estimate("SELECT * FROM f WHERE v < 500")._1 / 50000 - 1.0) < 0.1)
        assert(math.abs(estimate("SELECT * FROM f JOIN a ON f.k1 = a.k")._1 / 100000 - 1.0) < 0.1)
      }
    }
  }

  test("a table that meets itself: each part by what it is joined with") {
    run("SET ROWS 42 FOR SELECT * FROM a x JOIN f ON f.k1 = x.k JOIN a y ON f.k2 = y.k WHERE f.v = 3")
    isGiven("SELECT * FROM a p JOIN f ON f.k2 = p.k JOIN a q ON f.k1 = q.k WHERE f.v = 3", 42)
    isNotGiven("SELECT * FROM a p JOIN f ON f.k2 = p.k JOIN a q ON f.k2 = q.k WHERE f.v = 3")
    run("SET ROWS 9 FOR SELECT * FROM f JOIN a ON f.k1 = a.k")
    val found =
      joins("SELECT count(*) FROM f JOIN a x ON f.k1 = x.k JOIN a y ON f.k2 = y.k JOIN c ON f.k3 = c.k WHERE c.w = 1")
    assert(!found.get(Set("f", "a#2")).contains(9.0), found)
    assert(estimate("SELECT * FROM f JOIN a x ON f.k1 = x.k JOIN a y ON f.k2 = y.k")._1 < 100.0)
  }

  test("outer, semi and anti joins are part of the form") {
    run("SET ROWS 11 FOR SELECT f.v FROM f LEFT JOIN a ON f.k1 = a.k AND a.w = 2 JOIN c ON f.k3 = c.k")
    isGiven("SELECT x.v FROM c JOIN f x ON x.k3 = c.k LEFT JOIN a ON x.k1 = a.k AND 2 = a.w", 11)
    isNotGiven("SELECT x.v FROM c JOIN f x ON x.k3 = c.k LEFT JOIN a ON x.k1 = a.k")
    run("SET ROWS 12 FOR SELECT v FROM f WHERE EXISTS (SELECT 1 FROM c WHERE c.k = f.k3 AND c.w = 1)")
    isGiven("SELECT v FROM f WHERE k3 IN (SELECT k FROM c WHERE w = 1)", 12)
    isNotGiven("SELECT v FROM f WHERE NOT EXISTS (SELECT 1 FROM c WHERE c.k = f.k3 AND c.w = 1)")
  }

  test("listed, forgotten, passed on as a file; of this session alone") {
    run("SET ROWS 7 FOR SELECT * FROM c WHERE s = 'it''s'")
    run("SET ROWS 5 FOR 'SELECT * FROM f JOIN c ON f.k3 = c.k WHERE c.s = \"x\"'")
    run("SET ROWS 1000 FOR TABLE f")
    assert(spark.sql("SELECT kind, rows FROM dovetail_rows()").collect().map(_.toString).toSeq == Seq(
      "[query,7.0]",
      "[query,5.0]",
      "[table,1000.0]"
    ))
    assert(spark.newSession().sql("SELECT * FROM dovetail_rows()").count() == 0)
    withDirectory { directory =>
      val file = directory.resolve("rows.json")
      run(s"SAVE ROWS '$file'")
      assert(run("FORGET ROWS FOR TABLE f") == Seq("removed: f"))
      assert(run("FORGET ROWS FOR SELECT k FROM c WHERE s = 'it''s'").head.startsWith("removed"))
      assert(run("FORGET ROWS FOR TABLE f") == Seq("there was no row count for f"))
      assert(run("FORGET ROWS") == Seq("1 row counts removed"))
      isNotGiven("SELECT * FROM f")
      assert(run(s"LOAD ROWS '$file'") == Seq(s"3 row counts read from $file"))
      isGiven("SELECT * FROM f", 1000)
      isGiven("SELECT * FROM c WHERE s = 'it''s'", 7)
      Files.write(file, "[{\"query\": \"SELECT * FROM c\"}]".getBytes("UTF-8"))
      assert(intercept[IllegalArgumentException](run(s"LOAD ROWS '$file'")).getMessage.contains("rows of 0 or more"))
      Files.write(file, "no json".getBytes("UTF-8"))
      assert(intercept[IllegalArgumentException](run(s"LOAD ROWS '$file'")).getMessage.contains("is not JSON"))
    }
  }

  test("a file means the same tables whatever database is current, and what does not fit is left out by name") {
    withDirectory { directory =>
      val file = directory.resolve("rows.json")
      try {
        spark.sql("CREATE DATABASE other")
        spark.sql("CREATE TABLE other.f USING parquet AS SELECT * FROM f LIMIT 10")
        spark.sql("CREATE TABLE gone USING parquet AS SELECT 1 AS k")
        run("SET ROWS 1000 FOR TABLE f")
        run("SET ROWS 5 FOR TABLE gone")
        run("SET ROWS 7 FOR SELECT * FROM f JOIN c ON f.k3 = c.k WHERE c.w = 1")
        run("SET ROWS 9 FOR SELECT * FROM gone WHERE k = 1")
        run(s"SAVE ROWS '$file'")
        run("FORGET ROWS")
        spark.sql("DROP TABLE gone")
        spark.sql("USE other")
        val told = run(s"LOAD ROWS '$file'")
        assert(told.head == s"2 row counts read from $file")
        assert(told(1).startsWith(s"left out of $file: `spark_catalog`.`default`.`gone`: [TABLE_OR_VIEW_NOT_FOUND]"))
        assert(told(2).startsWith(s"left out of $file: SELECT * FROM gone WHERE k = 1: [TABLE_OR_VIEW_NOT_FOUND]"))
        assert(told.size == 3 && told.forall(!_.contains("\n")), told)
        isGiven("SELECT * FROM default.f", 1000)
        isNotGiven("SELECT * FROM other.f")
        isGiven("SELECT * FROM default.f JOIN default.c ON f.k3 = c.k WHERE c.w = 1", 7)
        assert(spark.catalog.currentDatabase == "other")
        Files.write(file, "[{\"table\": \"f\", \"rows\": 3}]".getBytes("UTF-8"))
        run(s"LOAD ROWS '$file'")
        isGiven("SELECT * FROM other.f", 3)
      } finally {
        spark.sql("USE default")
        spark.sql("DROP DATABASE IF EXISTS other CASCADE")
      }
    }
  }

  test("rows of what does not exist any more are forgotten by its name") {
    withDirectory { directory =>
      spark.sql("CREATE TABLE gone USING parquet AS SELECT id FROM range(5)")
      spark.range(5).write.parquet(s"$directory/p")
      spark.read.parquet(s"$directory/p").createOrReplaceTempView("seen")
      run("SET ROWS 1 FOR TABLE gone")
      run("SET ROWS 2 FOR TABLE seen")
      run("SET ROWS 3 FOR SELECT * FROM gone WHERE id = 1")
      run("SET ROWS 4 FOR TABLE f")
      spark.sql("DROP TABLE gone")
      spark.catalog.dropTempView("seen")
      assert(run("FORGET ROWS FOR TABLE spark_catalog.Default.GONE") == Seq("removed: spark_catalog.Default.GONE"))
      assert(run("FORGET ROWS FOR TABLE seen") == Seq("removed: seen"))
      assert(run("FORGET ROWS FOR SELECT * FROM gone WHERE id = 1").head.startsWith("removed"))
      Seq("gone", "default.gone", "seen", "other.f").foreach(name =>
        assert(intercept[AnalysisException](run(s"FORGET ROWS FOR TABLE $name")).getMessage.contains("NOT_FOUND"))
      )
      assert(GivenRows(spark).all.map(_.rows) == Seq(4.0))
    }
  }

  test("what cannot be understood is refused, with what is allowed") {
    Seq(
      "SET ROWS FOR SELECT 1",
      "SET ROWS -3 FOR SELECT 1",
      "SET ROWS 99999999999999999999 FOR TABLE f",
      "FORGET",
      "LOAD x"
    ).foreach { s =>
      assert(
        intercept[ParseException](run(s)).getMessage.contains(s"Allowed: DOVETAIL ${s.takeWhile(_ != ' ')} ROWS"),
        s
      )
    }
    spark.sql("CREATE OR REPLACE TEMP VIEW both AS SELECT f.v FROM f JOIN c ON f.k3 = c.k")
    assert(intercept[IllegalArgumentException](
      run("SET ROWS 3 FOR TABLE both")
    ).getMessage.contains("FOR SELECT * FROM both"))
    spark.catalog.dropTempView("both")
    assert(!DovetailConf.ExcludeTables.get(spark.sessionState.conf).contains("f"))
  }
}
