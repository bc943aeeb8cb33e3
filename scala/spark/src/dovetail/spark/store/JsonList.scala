package org.apache.spark.sql.dovetail.store

import java.io.InputStream
import java.util.concurrent.TimeUnit

import com.fasterxml.jackson.core.JsonProcessingException
import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.dovetail.base.{BoundedJson, BrokenFile, ErrorCondition, FailOpen}
import org.apache.spark.sql.dovetail.base.FailOpen.Survivable

/**
 * A short list in a JSON file beside the statistics. All applications that use the store share it. If the file cannot
 * be written, the list exists only in this application. Pins, failed joins and the history are such lists.
 *
 * JVMs change the file one after the other ([[StoreLock]]). A file with broken contents counts as an empty list, logs
 * one warning, and is not overwritten. If reading fails for another reason, such as a file system that does not answer
 * or a lack of memory, the entries that were read before stay, and the next look tries again.
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

  // entries of the file when it was read or written last
  private var saved  = Vector.empty[A]
  private var stamp  = Option.empty[(Long, Long)]
  private var looked = Long.MinValue
  // entries, and keys that were removed on request, of which the file does not know
  @volatile private var unsaved = Vector.empty[A]
  @volatile private var removed = Set.empty[String]
  private var fault             = Option.empty[String]
  private var broken            = false

  // Changes come one after the other. A change may wait for other JVMs, so it must not keep readers waiting meanwhile.
  private val changing = new Object

  val file: String = s"${files.directory}/$name"

  /** All entries, sorted by key. */
  def all: Vector[A] = look._1

  /** All entries, sorted by key, and the reason why the file is not used, or None if it is used. */
  def look: (Vector[A], Option[String]) = synchronized {
    readIfChanged()
    (merged(saved.filterNot(e => removed(key(e))), unsaved).sortBy(key), fault)
  }

  /**
   * Adds entries, replacing those with the same keys.
   *
   * @return reason why they exist only in this application, or None if they were saved
   */
  def add(entries: Vector[A]): Option[String] = change(merged(_, entries))

  /**
   * Removes entries. If the file cannot be written, they are removed from it at the next write.
   *
   * @return reason why they are removed only in this application, or None if the file does not have them
   */
  def remove(which: A => Boolean): Option[String] = changing.synchronized {
    val (here, problem) = synchronized { looked = Long.MinValue; look }
    val gone            = here.filter(which).map(key).toSet
    // a file that cannot be read may have such entries
    if (gone.isEmpty && isSaved && problem.isEmpty) None else changed(_.filterNot(which), gone)
  }

  /**
   * Replaces the list by the result of `to`. If the file cannot be written, an entry of the file that `to` leaves out,
   * because the list is full, stays; [[remove]] is for entries that must not.
   *
   * @return reason why new entries exist only in this application, or None if they were saved
   */
  def change(to: Vector[A] => Vector[A]): Option[String] = changed(to, Set.empty)

  private def changed(to: Vector[A] => Vector[A], gone: Set[String]): Option[String] = changing.synchronized {
    val (mine, without) = synchronized {
      looked = Long.MinValue
      val before = (unsaved, removed)
      // this application has the changes, whatever happens to the file; what is as in the file belongs to the file
      val here = to(all)
      unsaved = here.filterNot(saved.toSet)
      removed = (removed ++ gone) -- here.map(key)
      before
    }
    try {
      files.locked(synchronized {
        val after = to(merged(read().filterNot(e => without(key(e))), mine)).sortBy(key)
        val bytes = BoundedJson.bytes(toJson(after))
        files.replace(name)(_.write(bytes))
        unsaved = Vector.empty
        removed = Set.empty
        saved = after
        stamp = files.stamp(name)
        fault = None
      })
      None
    } catch {
      // a file system that cannot be loaded throws errors of many types
      case Survivable(e) =>
        val why = reason(e)
        Some(if (why.contains(Setting)) why
        else if (isBroken(e))
          s"$file is left as it is: ${why.stripSuffix(".")}. Remove entries, or correct or delete the file."
        else
          s"$file cannot be written: ${why.stripSuffix(".")}. Set $Setting to a directory that this user may write to.")
      // a statement that is interrupted fails, so it must not take effect
      case e: Throwable => synchronized { unsaved = mine; removed = without }; throw e
    }
  }

  /** Whether the file has the list of this application. Never waits for the file. */
  def isSaved: Boolean = unsaved.isEmpty && removed.isEmpty

  /** Where an entry is stored: the file, or only this application. */
  def place(of: String): String = synchronized(if (unsaved.exists(key(_) == of)) "this application" else file)

  /** Reason why the file is not used, or None if it is used. */
  def problem: Option[String] = synchronized { readIfChanged(); fault }

  private def merged(old: Vector[A], newer: Vector[A]): Vector[A] = {
    val keys = newer.iterator.map(key).toSet
    old.filterNot(e => keys(key(e))) ++ newer
  }

  private def readIfChanged(): Unit = {
    var there = stamp
    try
      if (due()) {
        there = files.stamp(name)
        if (there != stamp) { saved = read(); stamp = there; fault = None; broken = false }
        else if (!broken) fault = None
      }
    catch {
      case Survivable(e) =>
        val why = reason(e)
        // broken contents stay broken until the file changes
        if (isBroken(e)) { broken = true; saved = Vector.empty; stamp = there; fault = Some(why) }
        else if (!broken) fault = Some(why)
        // the message of a file system may have the number of the request
        val kind = if (isBroken(e)) e.toString else e.getClass.getName
        FailOpen.warnOnce(s"$what $file $kind", s"$what in $file are not used: $why")
    }
  }

  /** Whether the contents of the file are to blame, and not the file system. */
  private def isBroken(e: Throwable): Boolean = e match {
    case _: JsonProcessingException | _: BrokenFile => true
    case _                                          => false
  }

  private def reason(e: Throwable): String = e match {
    // without the line that tells where the parser got its bytes from
    case e: JsonProcessingException => s"it is not JSON: ${e.getOriginalMessage}"
    case _                          => ErrorCondition.text(e)
  }

  private def due(): Boolean = {
    val now = TimeUnit.NANOSECONDS.toMillis(System.nanoTime())
    val is  = looked == Long.MinValue || files.local || now - looked > StatisticsStore.CheckMillis
    if (is) looked = now
    is
  }

  private def read(): Vector[A] =
    files.stamp(name) match {
      case None => Vector.empty
      // this includes pipes, which would block the reader
      case Some((_, 0)) => throw new BrokenFile("the file is empty.")
      case _            =>
        val json = files.open(name)(BoundedJson.read(_: InputStream))
        BrokenFile.ofContent(fromJson(json))
    }
}

object JsonList {

  /** The setting for the store's directory, for messages. */
  private val Setting = "spark.dovetail.store.path"
}
