package org.apache.spark.sql.dovetail.steer

import scala.collection.mutable

import dovetail.kernel.enumerate.Shape
import org.apache.spark.sql.dovetail.base.ThreadScope
import org.apache.spark.sql.dovetail.group.GroupNames

/**
 * Captures the join orders that the rule decides on while a query is planned, for pins. They are collected per thread,
 * and only on request.
 */
object Capture {

  /**
   * A group with the order that it got.
   *
   * @param names names of the group's inputs
   * @param form  canonical form of the group, without constants
   * @param shape join order of the group
   * @param legal whether a join order is legal for the group
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
