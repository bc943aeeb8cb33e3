package org.apache.spark.sql.dovetail.steer

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.dovetail.store.{JsonList, StatisticsStore, StoreFiles}

/** The pins of all sessions that share a statistics store: one object per store in this JVM. */
final class Pins(val files: StoreFiles) {
  private val list = new JsonList[Pin](files, "pins.json", "Pins", _.name)(Pin.toJson, Pin.fromJson)
  private val uses = new ConcurrentHashMap[String, java.lang.Long]()

  val file: String = list.file

  /** By name. What cannot be read is no pins, and one warning. */
  def all: Vector[Pin] = list.all

  /** Adds pins, in the place of those of the same names; tells why they are of this application alone, if they are. */
  def add(pins: Vector[Pin]): Option[String] = list.add(pins)

  /** Whether there was one of this name, and why it is back in the next application. */
  def remove(name: String): (Boolean, Option[String]) = {
    val there = all.exists(_.name == name)
    uses.remove(name)
    (there, if (there) list.change(_.filterNot(_.name == name)) else None)
  }

  /** A query was planned by it. */
  def used(name: String): Unit = { uses.merge(name, 1L, (a, b) => a + b); () }

  /** How many queries were planned by it in this application. */
  def uses(name: String): Long = uses.getOrDefault(name, 0L)

  /** Where a pin is kept. */
  def place(name: String): String = list.place(name)

  /** Why the file is not used, if it is not. */
  def problem: Option[String] = list.problem
}

object Pins {
  private val stores = new ConcurrentHashMap[StatisticsStore, Pins]()

  def apply(session: SparkSession): Pins = stores.computeIfAbsent(StatisticsStore(session), s => new Pins(s.files))
}
