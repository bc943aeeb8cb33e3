package org.apache.spark.sql.dovetail

import scala.collection.mutable

import org.scalatest.BeforeAndAfterAll

/** Tables of Parquet files that the tests of a suite share: made in its `beforeAll`, dropped after its last test. */
trait SuiteTables extends BeforeAndAfterAll { this: DovetailSuite =>
  private val made = mutable.ArrayBuffer.empty[String]

  /** Their names, in the order in which they were made. */
  protected def tables: Seq[String] = made.toSeq

  protected def table(name: String, query: String): Unit = {
    made += name
    spark.sql(s"CREATE TABLE $name USING parquet AS $query")
    ()
  }

  override def afterAll(): Unit =
    try tables.foreach(name => spark.sql(s"DROP TABLE IF EXISTS $name"))
    finally super.afterAll()
}
