package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.types.DataType

/** Types of join keys that Spark can hash: all of them, because Spark 3 has no collations. */
private[predicates] object HashableKeys {
  def apply(t: DataType): Boolean = true
}
