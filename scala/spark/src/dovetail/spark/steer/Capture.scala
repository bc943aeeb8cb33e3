package org.apache.spark.sql.dovetail.steer

import scala.collection.mutable

import dovetail.kernel.enumerate.Shape

/** The orders that the rule decides on while a query is planned, for pins. Collected per thread, and only where somebody asks. */
object Capture {

  /**
   * @param names what people call the group's relations
   * @param form  of the group, without constants
   * @param legal whether its joins may be made in an order
   */
  final case class Decided(names: Vector[String], form: SetForm, shape: Shape, legal: Shape => Boolean)

  private val current = new ThreadLocal[mutable.ArrayBuffer[Decided]]

  def apply(body: => Unit): Vector[Decided] = {
    val (outer, found) = (current.get, mutable.ArrayBuffer.empty[Decided])
    current.set(found)
    try body
    finally current.set(outer)
    found.toVector
  }

  def decided(form: Boolean => GroupForm, names: Vector[String], shape: Shape, legal: Shape => Boolean): Unit =
    Option(current.get).foreach(_ += Decided(names, form(false).whole, shape, legal))
}
