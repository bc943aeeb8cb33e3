package org.apache.spark.sql.dovetail.steer

import dovetail.kernel.enumerate.Shape

/**
 * An order that somebody asks for: by a hint, a setting or a pin.
 *
 * @param whenUsed what explain calls it when it is used
 * @param name     and when it is not
 * @param order    or why it is none for this group
 * @param used     to be told when it is used
 */
final case class AskedOrder(whenUsed: String, name: String, order: Either[String, Shape], used: () => Unit = () => ())
