package org.apache.spark.sql.dovetail.base

import org.apache.spark.sql.catalyst.expressions.XXH64
import org.apache.spark.unsafe.types.UTF8String

/** Hashes of texts that are the same in every JVM, because they are stored. */
object TextHash {
  def apply(text: String): Long = XXH64.hashUTF8String(UTF8String.fromString(text), Seed)

  /** The hash in 16 digits. */
  def hex(text: String): String = f"${apply(text)}%016x"

  /** An arbitrary seed, which must not change because stored hashes depend on it. */
  val Seed = 42L
}
