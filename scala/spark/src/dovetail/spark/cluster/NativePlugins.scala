package org.apache.spark.sql.dovetail.cluster

import org.apache.spark.sql.internal.SQLConf

/** Plugins that run parts of a plan in native code. */
object NativePlugins {

  /**
   * Plugins whose Bloom filters may have other bytes than Spark's. If they build one part of a filter and Spark
   * another one, or only the test of the filter falls back to Spark, the query fails. Spark's own filters are rarer,
   * and most of its queries have none.
   */
  private val WithOtherFilters = Set(
    "org.apache.gluten.GlutenPlugin",
    "io.glutenproject.GlutenPlugin",
    "com.nvidia.spark.SQLPlugin",
    "org.apache.spark.CometPlugin"
  )

  /** Whether a Bloom filter may be built by one program and read by another. */
  def mayMixFilters(conf: SQLConf): Boolean =
    conf.getConfString("spark.plugins", "").split(",").exists(p => WithOtherFilters(p.trim))
}
