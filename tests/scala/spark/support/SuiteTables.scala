package org.apache.spark.sql.dovetail

import scala.collection.mutable

import org.scalatest.BeforeAndAfterAll

/** Parquet tables that the tests of a suite share: created in its `beforeAll`, dropped after its last test. */
trait SuiteTables extends BeforeAndAfterAll { this: DovetailSuite =>
  private val made = mutable.ArrayBuffer.empty[String]

  /** Names of the tables, in the order of their creation. */
  protected def tables: Seq[String] = made.toSeq

  /** @param by how the table is partitioned or bucketed */
  protected def table(name: String, query: String, by: String = ""): Unit = {
    made += name
    spark.sql(s"CREATE TABLE $name USING parquet $by AS $query")
    ()
  }

  override def afterAll(): Unit =
    try tables.foreach(name => spark.sql(s"DROP TABLE IF EXISTS $name"))
    finally super.afterAll()
}
