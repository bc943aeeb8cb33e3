package org.apache.spark.sql.dovetail.base

/** A value that is computed on first use, in any thread. It then drops the references that the computation needed. */
final class LazyValue[A](private var make: () => A) {
  lazy val value: A = { val made = make(); make = null; made }

  /** Whether the value is computed, so that callers do not wait for it. */
  def isMade: Boolean = make == null
}

object LazyValue {
  def made[A](value: A): LazyValue[A] = { val result = new LazyValue(() => value); result.value; result }
}
