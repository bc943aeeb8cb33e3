package org.apache.spark.sql.dovetail.steer

import scala.collection.mutable

import dovetail.kernel.enumerate.Shape
import org.apache.spark.sql.dovetail.base.ThreadScope
import org.apache.spark.sql.dovetail.group.GroupNames

/**
 * The orders that the rule decides on while a query is planned, for pins. Collected per thread, and only where somebody
 * asks.
 */
object Capture {

  /**
   * @param names what people call the group's inputs
   * @param form  of the group, without constants
   * @param legal whether its joins may be made in an order
   */
  final case class CapturedGroup(names: GroupNames, form: SetForm, shape: Shape, legal: Shape => Boolean)

  private val scope = new ThreadScope[mutable.ArrayBuffer[CapturedGroup]]

  def apply(body: => Unit): Vector[CapturedGroup] = {
    val found = mutable.ArrayBuffer.empty[CapturedGroup]
    scope.within(found)(body)
    found.toVector
  }

  def decided(form: Boolean => GroupForm, names: GroupNames, shape: Shape, legal: Shape => Boolean): Unit =
    scope.current.foreach(_ += CapturedGroup(names, form(false).whole, shape, legal))
}
