package org.apache.spark.sql.dovetail.store

import org.apache.spark.sql.SparkSession

/**
 * A kind of state that this JVM has of each store besides its statistics: pins, the history, failed joins, and measured
 * constants. There is one object of each kind per store. It is made on first use, and goes with its store
 * ([[OpenStores]]).
 *
 * @param make makes the state of a store; it must not wait for files
 */
final class StoreSlot[A <: StoreState](make: StoreFiles => A) {
  def apply(session: SparkSession): A = StatisticsStore(session).state(this)(make)

  /** The states of this kind of all open stores. */
  def all: Vector[A] = StatisticsStore.inUse.flatMap(_.stateIfMade(this))
}

/** State of a store, of which a part may be in memory only. */
trait StoreState {

  /** Whether a new object for the same store would have the same state. Never waits for files. */
  def isSaved: Boolean

  /** Writes what is only in memory. */
  def save(): Unit
}
