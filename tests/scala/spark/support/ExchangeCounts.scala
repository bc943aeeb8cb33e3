package org.apache.spark.sql.dovetail

import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec

/** Plans whose joins are all sort-merge joins of the planned order, so that their exchanges can be counted. */
trait ExchangeCounts extends SuiteTables { this: DovetailSuite =>

  protected val sortMerge: Seq[(String, String)] = Seq(
    "spark.sql.autoBroadcastJoinThreshold" -> "-1",
    "spark.sql.adaptive.enabled"           -> "false",
    "spark.dovetail.adaptive.shuffledHash" -> "false",
    "spark.dovetail.reorder.minGain"       -> "0"
  )

  protected def exchanges(sql: String): Int = physical(sql).collect { case e: ShuffleExchangeExec => e }.size
}
