package org.apache.spark.sql.dovetail.steer

import java.io.IOException
import java.util.concurrent.ConcurrentHashMap

import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.dovetail.FailOpen
import org.apache.spark.sql.dovetail.store.{BoundedJson, StatisticsStore, StoreFiles}

/**
 * The pins of all sessions that share a statistics store: a file in its directory, so that they survive the application; of this application alone where that
 * cannot be written.
 *
 * One object per store in this JVM. JVMs that change the file do so one after the other ([[org.apache.spark.sql.dovetail.store.StoreLock]]).
 */
final class Pins(val files: StoreFiles) {
  import Pins._

  private var saved   = Vector.empty[Pin]
  private var stamp   = Option.empty[(Long, Long)]
  private var looked  = Long.MinValue
  private var unsaved = Vector.empty[Pin]
  private var fault   = Option.empty[String]
  private val uses    = new ConcurrentHashMap[String, java.lang.Long]()

  /** By name. What cannot be read is no pins, and one warning. */
  def all: Vector[Pin] = synchronized {
    look()
    merged(saved, unsaved).sortBy(_.name)
  }

  /** Adds pins, in the place of those of the same names; tells why they are of this application alone, if they are. */
  def add(pins: Vector[Pin]): Option[String] = change(merged(_, pins))

  /** Whether there was one of this name, and why it is back in the next application. */
  def remove(name: String): (Boolean, Option[String]) = synchronized {
    val there = all.exists(_.name == name)
    uses.remove(name)
    (there, if (there) change(_.filterNot(_.name == name)) else None)
  }

  /** A query was planned by it. */
  def used(name: String): Unit = { uses.merge(name, 1L, (a, b) => a + b); () }

  /** How many queries were planned by it in this application. */
  def uses(name: String): Long = uses.getOrDefault(name, 0L)

  val file: String = s"${files.directory}/$FileName"

  /** Where a pin is kept. */
  def place(name: String): String = synchronized(if (unsaved.exists(_.name == name)) "this application" else file)

  /** Why the file is not used, if it is not. */
  def problem: Option[String] = synchronized { look(); fault }

  private def change(to: Vector[Pin] => Vector[Pin]): Option[String] = synchronized {
    looked = Long.MinValue
    val now = to(all)
    try {
      files.locked {
        // a file that cannot be read is not written over
        val before = read()
        val after  = to(merged(before, unsaved)).sortBy(_.name)
        files.replace(FileName)(_.write(mapper.writerWithDefaultPrettyPrinter.writeValueAsBytes(Pin.toJson(after))))
        saved = after
      }
      unsaved = Vector.empty
      stamp = files.stamp(FileName)
      fault = None
      None
    } catch {
      case e @ (_: IOException | _: IllegalArgumentException | _: UnsupportedOperationException) =>
        unsaved = now
        saved = Vector.empty
        Some(e.getMessage)
    }
  }

  /** All of them; of the same name the newer one. */
  private def merged(old: Vector[Pin], newer: Vector[Pin]) = old.filterNot(p => newer.exists(_.name == p.name)) ++ newer

  private def look(): Unit = {
    val now = System.nanoTime() / 1000000L
    if (looked == Long.MinValue || files.local || now - looked > StatisticsStore.CheckMillis) {
      looked = now
      try {
        val there = files.stamp(FileName)
        if (there != stamp) { stamp = there; saved = read(); fault = None }
      } catch {
        case NonFatal(e) =>
          saved = Vector.empty
          fault = Some(e.getMessage)
          FailOpen.warnOnce(s"pins ${files.directory} $e", s"Pins in $file are not used: ${e.getMessage}")
      }
    }
  }

  private def read(): Vector[Pin] =
    files.stamp(FileName) match {
      case None => Vector.empty
      // also a pipe, which would keep its reader waiting
      case Some((_, 0)) => throw new IllegalArgumentException("the file is empty.")
      case _            => Pin.fromJson(files.open(FileName)(BoundedJson.read(_: java.io.InputStream)))
    }
}

object Pins {
  private val FileName = "pins.json"
  private val mapper   = new ObjectMapper
  private val stores   = new ConcurrentHashMap[StatisticsStore, Pins]()

  def of(session: SparkSession): Pins = stores.computeIfAbsent(StatisticsStore.of(session), s => new Pins(s.files))
}
