package org.apache.spark.sql.dovetail.sql

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.catalog.Identifier

/**
 * Recognizes what is stored of a table that does not exist any more. Spark cannot resolve its name, so the name is
 * completed with the current catalog and database, and compared with stored names
 * ([[org.apache.spark.sql.dovetail.leaf.LeafNames.identity]]).
 */
object FormerNames {
  def apply(session: SparkSession, name: String): String => Boolean = {
    val parts   = session.sessionState.sqlParser.parseMultipartIdentifier(name)
    val manager = session.sessionState.catalogManager
    val catalog = manager.currentCatalog.name
    val whole   =
      if (parts.size == 1) (catalog +: manager.currentNamespace.toVector) ++ parts
      else if (manager.isCatalogRegistered(parts.head)) parts.toVector
      else catalog +: parts.toVector
    // names of tables of connectors are quoted where it is needed
    val names = Vector(whole.mkString("."), Identifier.of(whole.init.toArray, whole.last).toString)
    stored => names.exists(session.sessionState.conf.resolver(_, stored))
  }
}
