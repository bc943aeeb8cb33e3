package org.apache.spark.sql.dovetail.base

/**
 * What a thread has while it does one thing, such as planning a query: scopes lie inside of each other, and what was
 * there before comes back.
 */
final class ThreadScope[A <: AnyRef] {
  private val held = new ThreadLocal[A]

  def current: Option[A] = Option(held.get)

  /** The same for loops: null where there is nothing. */
  def orNull: A = held.get

  def within[B](value: A)(body: => B): B = {
    val outer = held.get
    held.set(value)
    try body
    finally if (outer == null) held.remove() else held.set(outer)
  }
}
