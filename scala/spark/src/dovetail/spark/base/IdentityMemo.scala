package org.apache.spark.sql.dovetail.base

import java.lang.ref.WeakReference
import java.util.concurrent.atomic.AtomicReferenceArray

/**
 * Remembers what was made of the latest objects, which are told apart by identity: equality of a list of files or of an
 * expression with a million constants takes as long as making it again. It keeps no object alive. What is made must
 * depend only on the object, and be small.
 *
 * @param slots number of objects that are remembered at most
 */
final class IdentityMemo[K <: AnyRef, V](slots: Int)(make: K => V) {
  private val entries = new AtomicReferenceArray[(WeakReference[K], V)](slots)

  def apply(key: K): V = {
    val slot  = Math.floorMod(System.identityHashCode(key), slots)
    val entry = entries.get(slot)
    if (entry != null && (entry._1.get eq key)) entry._2
    else {
      val value = make(key)
      entries.set(slot, (new WeakReference(key), value))
      value
    }
  }
}
