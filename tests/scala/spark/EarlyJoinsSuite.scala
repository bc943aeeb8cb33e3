package org.apache.spark.sql.dovetail

/**
 * EXISTS and IN that Dovetail makes joins before Spark does: Spark's rules in between must not see a difference that
 * changes rows, their order, or whether the query fails.
 */
class EarlyJoinsSuite extends StarSuite {
  private val joined =
    "SELECT f.v, f.k1, f.k2 FROM f JOIN a ON f.k1 = a.k JOIN b ON f.k2 = b.k JOIN c ON f.k3 = c.k WHERE c.w = 1"

  private def reasons(sql: String): Seq[String] = traced(sql)._2.groups.map(_.reason)

  private def inOrder(sql: String): Seq[String] = spark.sql(sql).collect().toSeq.map(_.toString)

  test("the rows of an ORDER BY stay sorted below IN and EXISTS in a SELECT list, and LIMIT gets the first ones") {
    val sorted = s"SELECT * FROM ($joined) ORDER BY v DESC, k1, k2"
    assert(reordered(sorted))
    for (
      test <- Seq("q.k1 IN (SELECT k FROM a WHERE k > 30)", "EXISTS (SELECT 1 FROM a WHERE a.k = q.k1 AND a.k > 30)")
    ) {
      val all = s"SELECT q.v, q.k1, q.k2, $test AS flag FROM ($sorted) q"
      for (sql <- Seq(all, s"$all LIMIT 7")) {
        val expected = dovetail(on = false)(inOrder(sql))
        assert(expected.size > 5 && dovetail(on = true)(inOrder(sql)) == expected, sql)
        assert(reasons(sql).exists(_.contains("would remove the sort by v, k1, k2")), reasons(sql))
      }
    }
  }

  test("a local sort above the subquery does not hide that the sort below it is lost") {
    for (by <- Seq("v", "k2")) {
      val flag     = "q.k1 IN (SELECT k FROM a WHERE k > 30) AS flag"
      val sql      = s"SELECT q.v, $flag, q.k2 FROM ($joined ORDER BY v, k2) q SORT BY $by"
      val expected = dovetail(on = false)(inOrder(sql))
      assert(dovetail(on = true)(inOrder(sql)) == expected, sql)
    }
  }

  test("a sort above the subquery, or in a filter's query, does not keep a group from being reordered") {
    assert(reordered(s"SELECT v, k1 IN (SELECT k FROM a WHERE w = 1) FROM ($joined) ORDER BY v"))
    val filtered = s"SELECT v, k1, k2 FROM ($joined ORDER BY v DESC, k1, k2) WHERE k1 IN (SELECT k FROM a WHERE k > 30)"
    assert(reordered(filtered))
    val expected = dovetail(on = false)(inOrder(s"$filtered LIMIT 5"))
    assert(expected.size == 5 && dovetail(on = true)(inOrder(s"$filtered LIMIT 5")) == expected)
  }

  test("a filter over constant rows that may fail is not computed while the query is planned") {
    withConf("spark.sql.ansi.enabled" -> "true") {
      def sql(filter: String) =
        s"SELECT t.a FROM VALUES (1, 0), (2, 1) AS t(a, b) WHERE $filter AND t.a IN (SELECT k FROM a WHERE k > " +
          s"99999) UNION ALL SELECT v FROM ($joined)"
      // planned only: when it runs, it depends on the stage that is ready first whether adaptive execution computes it
      dovetail(on = false)(optimized(sql("t.a / t.b > 0")))
      assert(reasons(sql("t.a / t.b > 0")).exists(_.contains("while it plans, where it may fail")))
      assert(reordered(sql("t.a > t.b")))
    }
  }
}
