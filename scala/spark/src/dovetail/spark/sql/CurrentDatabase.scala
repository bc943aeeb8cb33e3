package org.apache.spark.sql.dovetail.sql

import org.apache.spark.sql.SparkSession

/** The catalog and the database in which a session reads names that have none. */
private[sql] object CurrentDatabase {
  def apply(session: SparkSession): Seq[String] = {
    val catalogs = session.sessionState.catalogManager
    catalogs.currentCatalog.name +: catalogs.currentNamespace.toSeq
  }

  /** A copy of the session, with its views and settings, in which another database is current. */
  def copy(session: SparkSession, database: Seq[String]): SparkSession = {
    val copy     = CopiedSession(session)
    val catalogs = copy.sessionState.catalogManager
    catalogs.setCurrentCatalog(database.head)
    // the namespace that a catalog starts with need not exist, and Spark refuses to set it
    if (catalogs.currentNamespace.toSeq != database.tail) catalogs.setCurrentNamespace(database.tail.toArray)
    copy
  }
}
