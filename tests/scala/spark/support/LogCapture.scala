package org.apache.spark.sql.dovetail

import scala.collection.mutable

import org.apache.logging.log4j.{Level, LogManager}
import org.apache.logging.log4j.core.appender.AbstractAppender
import org.apache.logging.log4j.core.config.Property
import org.apache.logging.log4j.core.{LogEvent, Logger}

/** Collects the warnings and errors that a logger writes while the body runs. */
object LogCapture {
  def apply[A](logger: String)(body: => A): (A, Seq[String]) = {
    val lines    = mutable.ArrayBuffer.empty[String]
    val appender = new AbstractAppender("capture", null, null, true, Property.EMPTY_ARRAY) {
      override def append(event: LogEvent): Unit =
        if (event.getLevel.isMoreSpecificThan(Level.WARN))
          lines.synchronized { lines += event.getMessage.getFormattedMessage; () }
    }
    appender.start()
    val target = LogManager.getLogger(logger).asInstanceOf[Logger]
    val level  = target.getLevel
    target.addAppender(appender)
    target.setLevel(Level.WARN)
    try { val result = body; (result, lines.synchronized(lines.toVector)) }
    finally { target.setLevel(level); target.removeAppender(appender) }
  }
}
