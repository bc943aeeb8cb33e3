package org.apache.spark.sql.dovetail

import org.apache.spark.sql.dovetail.base.DovetailConf
import org.scalatest.BeforeAndAfterAll

/**
 * Tables of which the catalog has a row count, but no statistics of some or all columns. They are estimated no worse
 * than tables that were never analyzed.
 */
class UnanalyzedColumnsSuite extends DovetailSuite with BeforeAndAfterAll {

  /** Largest factor by which an estimate may be off: footers and rows of files give numbers within it. */
  private val Factor = 2.0

  private val tables = Seq("sold", "back")

  /** Queries with their rows: all values are about equally frequent. */
  private val queries = Seq(
    "SELECT * FROM sold s JOIN back b ON s.customer = b.customer" -> 60000.0 * 6000 / 500,
    "SELECT * FROM sold s JOIN back b ON s.region = b.region"     -> 60000.0 * 6000 / 20,
    "SELECT product, count(*) FROM sold GROUP BY product"         -> 800.0,
    "SELECT * FROM sold WHERE region = 7"                         -> 60000.0 / 20
  )

  override def beforeAll(): Unit = {
    super.beforeAll()
    // both tables have the same 500 customers and 20 regions
    def rows(of: Int) = s"SELECT id, pmod(hash(id), 500) AS customer, pmod(hash(id, 1), 20) AS region, " +
      s"pmod(hash(id, 2), 800) AS product, id % 4 AS part FROM range($of)"
    for ((table, of) <- Seq("sold" -> 60000, "back" -> 6000))
      spark.sql(s"CREATE TABLE $table USING parquet AS ${rows(of)}")
  }

  override def afterAll(): Unit =
    try tables.foreach(t => spark.sql(s"DROP TABLE IF EXISTS $t"))
    finally super.afterAll()

  private def estimate(sql: String): Double =
    spark.sql(s"SELECT value FROM dovetail_estimate('$sql')").head().getDouble(0)

  private def near(): Unit = {
    val found = queries.map { case (sql, truth) => estimate(sql) / truth }
    assert(found.forall(q => q > 1.0 / Factor && q < Factor), s"parts of the true rows: $found")
  }

  for (columns <- Seq("", "FOR COLUMNS id, part"))
    test(s"ANALYZE $columns: the other columns are taken from the files") {
      tables.foreach(t => spark.sql(s"ANALYZE TABLE $t COMPUTE STATISTICS $columns"))
      near()
      // distinct values and ranges of footers, without any rows
      withConf(DovetailConf.SampleFiles.key -> "false")(near())
    }

  test("a count of other rows than those in the files: columns that look like keys grow with it, others stay") {
    def groups(column: String) = estimate(s"SELECT $column, count(*) FROM sold GROUP BY $column")
    InjectedStatistics(spark, "sold", Some(BigInt(90000)), BigInt(10000000))
    assert(estimate("SELECT * FROM sold") == 90000.0)
    assert(groups("id") > 85000.0 && groups("id") <= 90000.0)
    assert(groups("product") > 700.0 && groups("product") < 900.0)
  }

  test("pruned partitions: a predicate on a partition column is estimated for the whole table") {
    withTables("parted") {
      spark.sql("CREATE TABLE parted USING parquet PARTITIONED BY (part) AS SELECT customer, id, part FROM sold")
      spark.sql("ANALYZE TABLE parted COMPUTE STATISTICS")
      assert(estimate("SELECT part, count(*) FROM parted GROUP BY part") == 4.0)
      assert(estimate("SELECT * FROM parted WHERE part = 3") < 30000.0)
      val customers = estimate("SELECT customer, count(*) FROM parted WHERE part = 3 GROUP BY customer")
      assert(customers > 400.0 && customers < 600.0)
    }
  }
}
