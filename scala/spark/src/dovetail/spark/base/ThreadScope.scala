package org.apache.spark.sql.dovetail.base

/**
 * A value that a thread holds while it does one task, such as planning a query. Scopes nest: when an inner scope ends,
 * the value of the outer scope is current again.
 */
final class ThreadScope[A <: AnyRef] {
  private val held = new ThreadLocal[A]

  def current: Option[A] = Option(held.get)

  /** Like [[current]], but without an Option, for loops: null if there is no value. */
  def orNull: A = held.get

  def within[B](value: A)(body: => B): B = {
    val outer = held.get
    held.set(value)
    try body
    finally if (outer == null) held.remove() else held.set(outer)
  }
}
