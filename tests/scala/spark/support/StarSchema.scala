package org.apache.spark.sql.dovetail

import org.apache.spark.sql.SparkSession
import org.scalatest.BeforeAndAfterAll

/**
 * A fact table `f` with three dimensions in analyzed Parquet tables; `p` is the fact partitioned by the key of `c`. The
 * best order of a query that filters `c` joins `c` first, which alphabetical order does not do.
 */
object StarSchema {
  val tables: Seq[String] = Seq("f", "a", "b", "c", "p")

  def create(spark: SparkSession): Unit = {
    def table(name: String, query: String, partition: String = ""): Unit = {
      spark.sql(s"CREATE TABLE $name USING parquet $partition AS $query")
      spark.sql(s"ANALYZE TABLE $name COMPUTE STATISTICS FOR ALL COLUMNS")
      ()
    }
    table(
      "f",
      "SELECT /*+ REPARTITION(2) */ CAST(id % 100 AS INT) k1, CAST(id * 7 % 90 AS INT) k2, CAST(id * 3 % 20 AS INT) " +
        "k3, CAST(id % 1000 AS INT) v, concat('text ', id) AS t FROM range(5000)"
    )
    Seq("a" -> 100, "b" -> 90, "c" -> 20).foreach { case (name, n) =>
      table(name, s"SELECT CAST(id AS INT) k, CAST(id % 10 AS INT) w, concat('$name', id) AS s FROM range($n)")
    }
    table("p", "SELECT k1, k2, v, k3 FROM f", "PARTITIONED BY (k3)")
  }

  def drop(spark: SparkSession): Unit = tables.foreach(t => spark.sql(s"DROP TABLE IF EXISTS $t"))
}

/** A suite that has these tables while it runs. */
abstract class StarSuite extends DovetailSuite with BeforeAndAfterAll {
  override def beforeAll(): Unit = {
    super.beforeAll()
    StarSchema.create(spark)
  }

  override def afterAll(): Unit =
    try StarSchema.drop(spark)
    finally super.afterAll()
}
