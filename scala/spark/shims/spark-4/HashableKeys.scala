package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.catalyst.util.UnsafeRowUtils
import org.apache.spark.sql.types.DataType

/**
 * Types of join keys that Spark can hash: those whose equal values have equal bytes. Strings of other collations
 * (UTF8_LCASE, UNICODE_CI) have not. This is the test of Spark's `JoinSelection`.
 */
private[predicates] object HashableKeys {
  def apply(t: DataType): Boolean = UnsafeRowUtils.isBinaryStable(t)
}
