package org.apache.spark.sql.dovetail.footers

import dovetail.kernel.profile.Width

/** Bytes that the parts of nested values take in Spark's rows (UnsafeArrayData, UnsafeMapData, UnsafeRow), at most. */
object NestedBytes {

  /**
   * Of so many lists, structs or maps besides what is in them: offset, number of elements, bits of NULLs, and half a
   * word to fill up.
   */
  def containers(n: Double): Double = n * Container

  /** Of so many elements or fields, NULLs included: a word each, and the bit that says whether it is NULL. */
  def elements(n: Double): Double = n * (Width.Slot + 1.0)

  /** Of as many that are texts or other values of variable length, and have so many bytes together. */
  def texts(n: Double, bytes: Double): Double = elements(n) + bytes + n * (Width.Slot - 1.0)

  private val Container = 4.0 * Width.Slot
}
