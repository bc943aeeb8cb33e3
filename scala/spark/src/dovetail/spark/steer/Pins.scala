package org.apache.spark.sql.dovetail.steer

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.dovetail.store.{JsonList, StoreFiles, StoreSlot, StoreState}

/** The pins of all sessions that share a statistics store. There is one object per store in this JVM. */
final class Pins(val files: StoreFiles) extends StoreState {
  private val list = new JsonList[Pin](files, "pins.json", "Pins", _.name)(Pin.toJson, Pin.fromJson)
  val file: String = list.file

  /** Whether the file has all pins. */
  override def isSaved: Boolean = list.isSaved

  /** Nothing to do: pins are written when they are added. */
  override def save(): Unit = ()

  /** All pins, sorted by name. A file that cannot be read counts as empty and logs one warning. */
  def all: Vector[Pin] = list.all

  /** The same, and the reason why the file is not used, or None if it is used. */
  def look: (Vector[Pin], Option[String]) = list.look

  /**
   * Adds pins, replacing those with the same names.
   *
   * @return reason why they exist only in this application, or None if they were saved
   */
  def add(pins: Vector[Pin]): Option[String] = list.add(pins)

  /**
   * Removes a pin.
   *
   * @return whether there was a pin with this name, and the reason why the next application still has it, or None if it
   *         was removed from the file
   */
  def remove(name: String): (Boolean, Option[String]) = {
    val there = all.exists(_.name == name)
    Pins.uses.remove((file, name))
    (there, if (there) list.remove(_.name == name) else None)
  }

  /** Counts a query that was planned with the pin. */
  def used(name: String): Unit = { Pins.uses.merge((file, name), 1L, (a, b) => a + b); () }

  /** Number of queries that were planned with the pin in this application. */
  def uses(name: String): Long = Pins.uses.getOrDefault((file, name), 0L)

  /** Where the pin is stored: the file, or only this application. */
  def place(name: String): String = list.place(name)
}

object Pins {
  private val ofStores = new StoreSlot(new Pins(_))

  /** Number of queries by file and name of the pin. It outlives a store that is closed and opened again. */
  private val uses = new ConcurrentHashMap[(String, String), java.lang.Long]()

  def apply(session: SparkSession): Pins = ofStores(session)
}
