package org.apache.spark.sql.dovetail

import java.util.Locale

import org.apache.spark.sql.dovetail.base.{BoundedCache, DovetailConf}
import org.apache.spark.sql.dovetail.report.GroupReport
import org.scalatest.BeforeAndAfterAll

/**
 * Inputs whose estimates decide between plans are counted. The second half of `big` has one value in `code`, and the
 * rows that Dovetail samples lie in its first half, in which all values are different.
 */
class DecidingInputsSuite extends DovetailSuite with BeforeAndAfterAll {

  /** More rows than a table of eight row groups may have that is read as a whole for its sample. */
  private val Rows = 600000L

  private val Groups = 8

  override def beforeAll(): Unit = {
    super.beforeAll()
    def table(name: String, query: String) = spark.sql(s"CREATE TABLE $name USING parquet AS $query")
    table(
      "big",
      // the sample has rows of the beginning of each row group, where no code is 'x'
      s"SELECT CAST(id % 1000 AS INT) k, IF(id % ${Rows / Groups} < ${Rows / Groups / 2}, concat('c', id), 'x') " +
        s"code, concat('t', id) t FROM range(0, $Rows, 1, $Groups)"
    )
    table("fact", "SELECT CAST(id % 1000 AS INT) a, CAST(id % 500 AS INT) b, id v FROM range(0, 50000, 1, 1)")
    table("small", "SELECT CAST(id AS INT) k, CAST(id % 10 AS INT) w FROM range(0, 500, 1, 1)")
    ()
  }

  override def afterAll(): Unit =
    try Seq("big", "fact", "small").foreach(t => spark.sql(s"DROP TABLE IF EXISTS $t"))
    finally super.afterAll()

  private val sql =
    "SELECT count(*) FROM fact JOIN big ON fact.a = big.k JOIN small ON fact.b = small.k " +
      "WHERE big.code = 'x' AND small.w <= 3"

  private def group(query: String, settings: (String, String)*): GroupReport =
    withConf(settings: _*)(withoutIdempotenceCheck(traced(query)._2.groups.head))

  private def joinsFirst(found: GroupReport, table: String): Boolean = found.joins.head.relations.contains(table)

  test("an uncertain input that decides is counted, and the order follows the count") {
    val guessed = group(sql, DovetailConf.SampleCounts.key -> "false")
    assert(joinsFirst(guessed, "big") && !guessed.reason.contains("counted"), guessed)
    val counted = group(sql)
    assert(counted.reason.contains("the order depends on the rows of big, which were counted: 300,000"), counted)
    assert(joinsFirst(counted, "small"), counted)
    assert(
      counted.relations.find(_.name == "big").flatMap(_.rows).exists(e => e.lower == 3e5 && e.upper == 3e5),
      counted
    )
  }

  test("a count holds for the same files and condition, and is right") {
    val none = sql.replace("'x'", "'c330000'")
    // one row is less than samples show, so it is read with its key
    assert(group(none).reason.contains("the rows of big that pass its filter were read: 1, estimated"))
    val both = sql.replace("big.code = 'x'", "big.code = 'x' AND big.t LIKE '%4%5'")
    // a LIKE may take long on a value, so its rows are not counted
    assert(!group(both).reason.contains("counted"))
    val prefix = sql.replace("big.code = 'x'", "big.code = 'x' AND big.t < 't4'")
    val rows   = spark.sql("SELECT * FROM big WHERE code = 'x' AND t < 't4'").count()
    assert(
      group(prefix).reason.contains("which were counted: %,d, estimated".formatLocal(Locale.ROOT, rows)),
      group(prefix)
    )
  }

  test("nothing is counted that is private, without time, with another cost model, or if little is at stake") {
    BoundedCache.clearAll()
    Seq(
      DovetailConf.PrivateColumns.key -> "big.code",
      DovetailConf.CostModel.key      -> "cardWeight",
      DovetailConf.Order.key          -> "((fact small) big)",
      DovetailConf.SampleFiles.key    -> "false"
    ).foreach(setting => assert(!group(sql, setting).reason.contains("counted"), setting))
    assert(!group(sql.replace("big.code = 'x'", "big.k = 7")).reason.contains("counted"))
    // the rows of small tables are known from their samples
    assert(!group(sql.replace("JOIN big ON fact.a = big.k", "JOIN fact big ON fact.a = big.b").replace(
      "big.code = 'x'",
      "big.v = 7"
    )).reason.contains("counted"))
  }

  test("time that is too short for the count leaves the estimate") {
    BoundedCache.clearAll()
    group(sql, DovetailConf.SampleCounts.key -> "false") // footers and samples are read
    assert(!group(sql, DovetailConf.PlanningMaxMs.key -> "200").reason.contains("counted"))
  }
}
