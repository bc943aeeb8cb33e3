package org.apache.spark.sql.dovetail

/** Join orders whose last join partitions the rows by columns of the grouping or the window above. */
class ClusteringAboveSuite extends DovetailSuite with ExchangeCounts {
  override def beforeAll(): Unit = {
    super.beforeAll()
    table("entry", "SELECT id % 20000 AS a, id % 19000 AS o, id % 5 AS kind, id AS v FROM range(60000)")
    table("account", "SELECT id AS a, concat('a', id) AS name FROM range(20000)")
    table("office", "SELECT id AS o, id % 3 AS town FROM range(19000)")
    tables.foreach(t => spark.sql(s"DOVETAIL ANALYZE TABLE $t").collect())
  }

  private val settings =
    sortMerge ++ Seq("spark.dovetail.grouping.early" -> "false", "spark.dovetail.reducers.enabled" -> "false")

  private def counted(sql: String, on: Int, off: Int): Unit = withConf(settings: _*) {
    assert(exchanges(sql) == on, s"with the setting: $sql")
    withConf("spark.dovetail.grouping.exchanges" -> "false")(assert(exchanges(sql) == off, s"without: $sql"))
    sameAnswer(sql, reorders = false)
  }

  // the two joins cost almost the same, so that the written order stays if nothing else counts
  private val last  = "FROM entry e JOIN account c ON e.a = c.a JOIN office f ON e.o = f.o"
  private val other = "FROM entry e JOIN office f ON e.o = f.o JOIN account c ON e.a = c.a"

  test("a grouping by a join key: the join by this key comes last, and its rows need no exchange") {
    counted(s"SELECT c.a, count(*), sum(e.v) $last GROUP BY c.a", on = 4, off = 5)
    counted(s"SELECT e.a, f.town, max(e.v) $last GROUP BY e.a, f.town", on = 4, off = 5)
    counted(s"SELECT DISTINCT f.o, e.a $last", on = 4, off = 4)
    counted(s"SELECT e.o, sum(e.v) $other GROUP BY e.o", on = 4, off = 5)
  }

  test("a window, and columns under another name") {
    counted(s"SELECT c.a, sum(e.v) OVER (PARTITION BY c.a ORDER BY e.v) $last", on = 4, off = 5)
    counted(
      s"SELECT account, count(*) FROM (SELECT e.a AS account, c.name AS w $last) x WHERE w <> 'a7' GROUP BY account",
      on = 4,
      off = 5
    )
  }

  test("nothing changes if no column of the grouping is a join key") {
    for (by <- Seq("f.town", "e.a + 1", "e.kind, c.name"))
      counted(s"SELECT count(*), sum(e.v) $last GROUP BY $by", on = 5, off = 5)
    counted(s"SELECT e.a, e.o, sum(e.v) $last GROUP BY ROLLUP (e.a, e.o)", on = 5, off = 5)
    withConf("spark.sql.requireAllClusterKeysForDistribution" -> "true") {
      counted(s"SELECT e.a, f.town, sum(e.v) $last GROUP BY e.a, f.town", on = 5, off = 5)
      counted(s"SELECT e.a, sum(e.v) $last GROUP BY e.a", on = 4, off = 5)
    }
  }

  test("a grouping of few groups: its exchange costs less than a worse join order") {
    spark.sql("CREATE TABLE few USING parquet AS SELECT id AS a FROM range(200)")
    try {
      spark.sql("DOVETAIL ANALYZE TABLE few").collect()
      val sql = "SELECT e.a, sum(e.v) FROM entry e JOIN few c ON e.a = c.a JOIN office f ON e.o = f.o GROUP BY e.a"
      counted(sql, on = 5, off = 5)
    } finally { spark.sql("DROP TABLE few"); () }
  }
}
