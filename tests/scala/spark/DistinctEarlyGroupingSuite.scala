package org.apache.spark.sql.dovetail

/** Early groupings of queries with functions of DISTINCT values, and with FILTER clauses. */
class DistinctEarlyGroupingSuite extends DovetailSuite with EarlyGroupingChecks {
  private val both = "FROM sold s JOIN item i ON s.item = i.item"
  private val left = "FROM item i LEFT JOIN sold s ON s.item = i.item"

  test("functions of DISTINCT values read keys, and other functions are merged beside them") {
    groups(s"SELECT i.name, count(DISTINCT s.number) $both GROUP BY i.name", "item number")
    groups(
      s"SELECT count(DISTINCT s.number), sum(DISTINCT s.price), avg(DISTINCT s.cost) $both",
      "cost item number price"
    )
    groups(
      s"SELECT i.name, count(DISTINCT s.text), count(*), count(s.number), sum(s.price), avg(s.cost), min(s.at) $both " +
        "GROUP BY i.name",
      "item text"
    )
    groups(
      s"SELECT i.class, count(DISTINCT s.day, s.text), sum(DISTINCT s.tiny), sum(s.number) $both GROUP BY i.class",
      "day item text tiny"
    )
    groups(s"SELECT i.class, count(DISTINCT s.day) $both GROUP BY ROLLUP (i.class)", "day item")
    groups(s"SELECT i.class, sum(s.tiny) $both GROUP BY i.class HAVING count(DISTINCT s.day) > 3", "day item")
    // over no rows at all
    groups(
      "SELECT count(DISTINCT s.day), sum(s.tiny), count(*) FROM sold s JOIN nothing n ON s.item = n.item",
      "day item"
    )
  }

  test("DISTINCT values of the other side, or of both") {
    groups(s"SELECT count(DISTINCT i.name), sum(s.price) $both", "item")
    groups(s"SELECT s.text, count(DISTINCT i.class + s.day), sum(s.price) $both GROUP BY s.text", "day item text")
  }

  test("DISTINCT values whose sum may overflow in one order and not in another") {
    val sum = s"SELECT i.name, sum(DISTINCT s.big) $both GROUP BY i.name"
    withConf("spark.sql.ansi.enabled" -> "false")(groups(sum, "big item"))
    withConf("spark.sql.ansi.enabled" -> "true")(once(sum))
  }

  test("DISTINCT values whose equality is not that of a key") {
    once(s"SELECT i.name, count(DISTINCT s.ratio), sum(s.price) $both GROUP BY i.name")
  }

  test("FILTER clauses restrict the rows that the first step reads") {
    val some = "FILTER (WHERE s.day > 20 OR s.number IS NULL)"
    val none = "FILTER (WHERE s.day > 90)"
    val list =
      Seq("count(*)", "count(s.number)", "sum(s.tiny)", "sum(s.price)", "avg(s.cost)", "avg(s.number)", "max(s.at)")
    for (clause <- Seq(some, none))
      groups(
        s"SELECT i.name, sum(s.number), ${list.map(f => s"$f $clause").mkString(", ")} $both GROUP BY i.name",
        "item"
      )
    groups(s"SELECT ${list.map(f => s"$f $some").mkString(", ")} $both WHERE s.id < 0", "item")
    // the same function with and without a filter, and with two of them
    groups(
      s"SELECT i.name, sum(s.tiny), sum(s.tiny) $some, sum(s.tiny) FILTER (WHERE s.text = 's1'), sum(s.tiny) $none " +
        s"$both GROUP BY ROLLUP (i.name)",
      "item"
    )
  }

  test("FILTER clauses that read other columns, or may throw") {
    once(s"SELECT i.name, sum(s.tiny), count(*) FILTER (WHERE i.class > 2) $both GROUP BY i.name")
    withConf("spark.sql.ansi.enabled" -> "true") {
      for (f <- Seq("CAST(s.text AS INT) = 1", "1 div s.number = 0", "s.big + 1 > 3"))
        once(s"SELECT i.name, sum(s.tiny) FILTER (WHERE $f) $both WHERE s.item < 0 GROUP BY i.name")
    }
  }

  test("DISTINCT and FILTER together") {
    groups(
      s"SELECT i.name, count(DISTINCT s.number) FILTER (WHERE s.day > 20), sum(s.tiny) FILTER (WHERE s.text = 's1') " +
        s"$both GROUP BY i.name",
      "day item number"
    )
  }

  test("on the side that an outer join fills with NULLs") {
    groups(
      s"SELECT i.item, count(DISTINCT s.text), sum(DISTINCT s.tiny), count(s.number), sum(s.price) " +
        s"$left GROUP BY i.item",
      "item text tiny"
    )
    groups(
      s"SELECT i.item, count(DISTINCT coalesce(s.text, 'none')), sum(s.price) FILTER (WHERE s.day > 20), " +
        s"count(s.price) FILTER (WHERE s.day > 20), avg(s.cost) FILTER (WHERE s.day > 90) $left GROUP BY i.item",
      "item text"
    )
    // the condition holds for a row without a partner, but the function skips it
    groups(
      s"SELECT i.item, count(s.number) FILTER (WHERE s.day IS NULL OR s.day > 3) $left GROUP BY i.item",
      "item"
    )
    once(s"SELECT i.item, sum(s.price), count(*) FILTER (WHERE s.day IS NULL) $left GROUP BY i.item")
  }
}
