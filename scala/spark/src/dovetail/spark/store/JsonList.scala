package org.apache.spark.sql.dovetail.store

import java.io.{InputStream, IOException}

import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.spark.sql.dovetail.base.{BoundedJson, ErrorCondition, FailOpen}

/**
 * A short list in a JSON file beside the statistics. All applications that use the store share it. If the file cannot
 * be written, the list exists only in this application. Pins, failed joins and the history are such lists.
 *
 * JVMs change the file one after the other ([[StoreLock]]). A file that cannot be read counts as an empty list, logs
 * one warning, and is not overwritten.
 *
 * @param name name of the file
 * @param what name of the entries in messages
 * @param key  key of an entry; a new entry replaces the old one with the same key
 */
final class JsonList[A](files: StoreFiles, name: String, what: String, key: A => String)(
    toJson: Vector[A] => JsonNode,
    fromJson: JsonNode => Vector[A]
) {
  import JsonList._

  private var saved   = Vector.empty[A]
  private var stamp   = Option.empty[(Long, Long)]
  private var looked  = Long.MinValue
  private var unsaved = Vector.empty[A]
  private var fault   = Option.empty[String]

  val file: String = s"${files.directory}/$name"

  /** All entries, sorted by key. */
  def all: Vector[A] = synchronized {
    look()
    merged(saved, unsaved).sortBy(key)
  }

  /**
   * Adds entries, replacing those with the same keys.
   *
   * @return reason why they exist only in this application, or None if they were saved
   */
  def add(entries: Vector[A]): Option[String] = change(merged(_, entries))

  /**
   * Replaces the list by the result of `to`.
   *
   * @return reason why the new list exists only in this application, or None if it was saved
   */
  def change(to: Vector[A] => Vector[A]): Option[String] = synchronized {
    looked = Long.MinValue
    val now = to(all)
    try {
      files.locked {
        val after = to(merged(read(), unsaved)).sortBy(key)
        files.replace(name)(_.write(mapper.writerWithDefaultPrettyPrinter.writeValueAsBytes(toJson(after))))
        saved = after
      }
      unsaved = Vector.empty
      stamp = files.stamp(name)
      fault = None
      None
    } catch {
      case e @ (_: IOException | _: IllegalArgumentException | _: UnsupportedOperationException) =>
        unsaved = now
        saved = Vector.empty
        val why = ErrorCondition.text(e)
        Some(if (why.contains(Setting)) why
        else s"$file cannot be written: $why. Set $Setting to a directory that this user may write to.")
    }
  }

  /** Where an entry is stored: the file, or only this application. */
  def place(of: String): String = synchronized(if (unsaved.exists(key(_) == of)) "this application" else file)

  /** Reason why the file is not used, or None if it is used. */
  def problem: Option[String] = synchronized { look(); fault }

  private def merged(old: Vector[A], newer: Vector[A]): Vector[A] = {
    val keys = newer.iterator.map(key).toSet
    old.filterNot(e => keys(key(e))) ++ newer
  }

  private def look(): Unit =
    try
      if (due()) {
        val there = files.stamp(name)
        if (there != stamp) { stamp = there; saved = read(); fault = None }
      }
    catch {
      case NonFatal(e) =>
        saved = Vector.empty
        fault = Some(e.getMessage)
        FailOpen.warnOnce(s"$what $file $e", s"$what in $file are not used: ${e.getMessage}")
    }

  private def due(): Boolean = {
    val now = System.nanoTime() / 1000000L
    val is  = looked == Long.MinValue || files.local || now - looked > StatisticsStore.CheckMillis
    if (is) looked = now
    is
  }

  private def read(): Vector[A] =
    files.stamp(name) match {
      case None => Vector.empty
      // this includes pipes, which would block the reader
      case Some((_, 0)) => throw new IllegalArgumentException("the file is empty.")
      case _            => fromJson(files.open(name)(BoundedJson.read(_: InputStream)))
    }
}

object JsonList {

  /** The setting for the store's directory, for messages. */
  private val Setting = "spark.dovetail.store.path"

  private val mapper = new ObjectMapper
}
