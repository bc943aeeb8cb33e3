package org.apache.spark.sql.dovetail

import java.util.UUID

import scala.collection.mutable

import org.apache.logging.log4j.{Level, LogManager}
import org.apache.logging.log4j.core.appender.AbstractAppender
import org.apache.logging.log4j.core.config.Property
import org.apache.logging.log4j.core.{LogEvent, Logger}

/**
 * Collects what a logger writes while the body runs: warnings and errors, or everything from another level on. Lines
 * that are no warnings are not printed.
 */
object LogCapture {
  def apply[A](logger: String, from: Level = Level.WARN)(body: => A): (A, Seq[String]) = {
    val lines    = mutable.ArrayBuffer.empty[String]
    val appender = new AbstractAppender(s"capture-${UUID.randomUUID}", null, null, true, Property.EMPTY_ARRAY) {
      override def append(event: LogEvent): Unit =
        if (event.getLevel.isMoreSpecificThan(from))
          lines.synchronized { lines += event.getMessage.getFormattedMessage; () }
    }
    appender.start()
    val target = LogManager.getLogger(logger).asInstanceOf[Logger]
    val level  = target.getLevel
    // this gives the logger a configuration of its own, which the next lines change
    target.addAppender(appender)
    val additive = target.isAdditive
    target.setAdditive(additive && from.isMoreSpecificThan(Level.WARN))
    target.setLevel(from)
    try { val result = body; (result, lines.synchronized(lines.toVector)) }
    finally { target.setLevel(level); target.setAdditive(additive); target.removeAppender(appender) }
  }
}
