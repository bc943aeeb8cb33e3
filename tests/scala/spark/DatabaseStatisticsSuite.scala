package org.apache.spark.sql.dovetail

import java.sql.DriverManager

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.dovetail.base.BoundedCache
import org.apache.spark.sql.dovetail.database.{DatabaseColumn, DatabaseStatistics, DatabaseTable}
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.execution.datasources.jdbc.{JDBCOptions, JDBCPartition, JDBCRelation}
import org.apache.spark.sql.types.{LongType, StructField, StructType}

/** Statistics of databases: which columns they are asked for, and what the answers weigh. */
class DatabaseStatisticsSuite extends DovetailSuite {
  private lazy val driver = new CatalogDriver

  override def beforeAll(): Unit = { super.beforeAll(); DriverManager.registerDriver(driver) }

  override def afterAll(): Unit =
    try DriverManager.deregisterDriver(driver)
    finally super.afterAll()

  private def table(name: String, columns: Int): LogicalRelation = {
    val options = Map("url" -> CatalogDriver.Url, "dbtable" -> name, "driver" -> classOf[CatalogDriver].getName)
    val schema  = StructType((0 until columns).map(i => StructField(s"c$i", LongType)))
    LogicalRelation(JDBCRelation(schema, Array(JDBCPartition(null, 0)), new JDBCOptions(options))(spark))
  }

  /** The columns that one query asks the database for. */
  private def asked(leaf: LogicalRelation, columns: Seq[Attribute]): Vector[Vector[String]] = {
    CatalogDriver.asked.clear()
    val found = new DatabaseStatistics(spark.sessionState.conf, _ => columns)(leaf)
    assert(found.exists(t => t.rows == 1000.0 && columns.take(3).map(_.name).forall(t.columns.contains)), found)
    CatalogDriver.asked.toArray(Array.empty[(String, Vector[String])]).map(_._2).toVector
  }

  test("a database is asked for the columns that queries see, and once for each of them") {
    BoundedCache.clearAll()
    val leaf        = table("t", 10)
    def c(is: Int*) = is.map(leaf.output)
    assert(asked(leaf, c(1, 2)) == Vector(Vector("c1", "c2")))
    assert(asked(leaf, c(2)).isEmpty && asked(leaf, c(2, 1)).isEmpty)
    assert(asked(leaf, c(3, 2)) == Vector(Vector("c3", "c2", "c1")))
    assert(asked(leaf, c(1, 2, 3)).isEmpty)
  }

  test("of a table of very many columns, some are asked for, and they are known then") {
    BoundedCache.clearAll()
    val leaf = table("wide", 2000)
    val all  = asked(leaf, leaf.output)
    assert(all.map(_.size) == Vector(100))
    assert(asked(leaf, leaf.output).isEmpty)
  }

  test("statistics weigh their texts") {
    val column = DatabaseColumn(0.0, None, 8.0, Vector("x" * 5000 -> 0.1), Vector("y" * 3000))
    assert(DatabaseTable(1.0, Map("c" -> column, "d" -> column)).bytes >= 2L * 8000)
  }
}
