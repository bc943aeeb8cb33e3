package org.apache.spark.sql.dovetail.cluster

import dovetail.kernel.cost.{CostConstants, CostText}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.store.StoreSlot
import org.apache.spark.sql.internal.SQLConf

/**
 * The constants of the cost model for this cluster. The setting `spark.dovetail.cost.constants` comes first, then the
 * file that `DOVETAIL CALIBRATE` wrote to the store's directory ([[StoredCosts]]), then the built-in constants.
 */
object ClusterCosts {
  private val stored = new StoreSlot(new StoredCosts(_))

  def apply(session: SparkSession, conf: SQLConf): CostConstants = {
    val here = stored(session).constants
    // an invalid value was already refused when it was set
    CostText.read(DovetailConf.CostConstants.get(conf), here).getOrElse(here)
  }

  def keep(session: SparkSession, constants: CostConstants): Unit = stored(session).keep(constants)

  /** Restores the built-in constants, and returns whether there were others. */
  def forget(session: SparkSession): Boolean = stored(session).forget()
}
