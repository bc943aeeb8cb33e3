package org.apache.spark.sql.dovetail.plan

import java.time.Instant
import java.time.temporal.ChronoUnit

import com.fasterxml.jackson.databind.node.JsonNodeFactory
import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.dovetail.base.BoundedJson.elements
import org.apache.spark.sql.dovetail.base.FailOpen
import org.apache.spark.sql.dovetail.deadline.{Aside, PlanningTime}
import org.apache.spark.sql.dovetail.history.History
import org.apache.spark.sql.dovetail.store.{JsonList, StoreFiles, StoreSlot, StoreState}
import org.apache.spark.sql.internal.SQLConf

/**
 * A join method that Dovetail chose and with which a query failed.
 *
 * @param join   signature by which the choice is recognized ([[ChosenJoin.signature]])
 * @param method join method as users know it: "broadcast" or "hash table"
 * @param tables tables below the input that was broadcast or hashed
 * @param reason why the query failed
 * @param at     time of the failure, in ISO 8601
 */
final case class JoinFailure(join: String, method: String, tables: Vector[String], reason: String, at: String) {
  override def toString: String =
    s"a $method of ${tables.mkString(", ")} is not made: a query failed with it on ${at.take(JoinFailure.Day)} " +
      s"($reason)"
}

object JoinFailure {

  /** Characters of the date in an ISO 8601 text. */
  private val Day = 10

  def now(join: String, method: String, tables: Vector[String], reason: String): JoinFailure =
    JoinFailure(join, method, tables, reason, Instant.now().truncatedTo(ChronoUnit.SECONDS).toString)
}

/**
 * The failed joins in the statistics store, where they outlive the application. [[FailedJoins]] adds to them, and asks
 * for them before a join is planned. The answer comes from memory: this JVM reads the file once, because a join must
 * not wait for a file. New failures are in memory at once and are written in another thread, because Spark reports
 * them in a thread that all listeners share.
 */
final class JoinFailures(files: StoreFiles) extends StoreState {
  import JoinFailures._

  private val list = new JsonList[JoinFailure](files, "failures.json", "Failed joins", _.join)(toJson, fromJson)

  // failures by signature: those of the file as soon as it has been read, and those that are not written yet
  @volatile private var known  = Option.empty[Map[String, JoinFailure]]
  @volatile private var unsent = Map.empty[String, JoinFailure]

  /** Held while the file is written. Threads that plan queries never take it. */
  private val writing = new Object

  def isEmpty: Boolean = unsent.isEmpty && read.isEmpty

  def find(join: String): Option[JoinFailure] = unsent.get(join).orElse(read.get(join))

  /** Whether a join by this method of these tables has failed, of whatever parts of them. */
  def mayHave(method: String, tables: Vector[String]): Boolean =
    (unsent.valuesIterator ++ read.valuesIterator).exists(f => f.method == method && f.tables == tables)

  /** Adds failures. They hold at once, and are written later ([[save]]). */
  def add(failures: Seq[JoinFailure]): Unit = {
    note(failures)
    History.later(0L)(save())
    ()
  }

  /** Adds failures in memory only. */
  def note(failures: Seq[JoinFailure]): Unit =
    synchronized { unsent = byJoin(newest(unsent.values.toVector ++ failures)) }

  override def isSaved: Boolean = unsent.isEmpty && list.isSaved

  /**
   * Writes the new failures to those that other applications have written meanwhile. The last ones are written when the
   * JVM ends, because a job may end by the query that has failed.
   */
  override def save(): Unit = writing.synchronized {
    val mine = unsent
    if (mine.nonEmpty) {
      list.change(before => newest(before.filterNot(b => mine.contains(b.join)) ++ mine.values.toVector.sortBy(_.join)))
        .foreach(why =>
          FailOpen.warnOnce(s"failures ${list.file}", s"A failed join is remembered only in this application: $why")
        )
      val all = byJoin(list.all)
      synchronized {
        known = Some(all)
        // a later failure with the same join waits for its own write
        unsent = unsent.filterNot { case (join, f) => mine.get(join).contains(f) }
      }
    }
  }

  /**
   * Removes all failures.
   *
   * @return how many there were, and the reason why the next application still has them, or None if the file does not
   *         have them
   */
  def clear(): (Int, Option[String]) = writing.synchronized {
    val n = (list.all.map(_.join) ++ unsent.keys).distinct.size
    synchronized { unsent = Map.empty; known = Some(Map.empty) }
    (n, list.remove(_ => true))
  }

  /**
   * The failures of the file. Empty as long as the store does not answer in time. A read that failed is no answer, so
   * that the next query tries again.
   */
  private def read: Map[String, JoinFailure] = known.getOrElse {
    PlanningTime.ofItsOwn(SQLConf.get)(Aside(files.place) { _ =>
      val all = byJoin(list.all)
      synchronized { if (known.isEmpty && list.problem.isEmpty) known = Some(all) }
      all
    }).flatten.orElse(known).getOrElse(Map.empty)
  }
}

object JoinFailures {

  /** Most failures that are kept. The newest stay. A user is expected to look at them before there are more. */
  private val MostFailures = 1000

  private val nodes    = JsonNodeFactory.instance
  private val ofStores = new StoreSlot(new JoinFailures(_))

  def apply(session: SparkSession): JoinFailures = ofStores(session)

  private def newest(all: Vector[JoinFailure]): Vector[JoinFailure] =
    if (all.size <= MostFailures) all else all.sortBy(f => (f.at, f.join)).takeRight(MostFailures)

  private def byJoin(all: Vector[JoinFailure]): Map[String, JoinFailure] = all.map(f => f.join -> f).toMap

  private def toJson(failures: Vector[JoinFailure]): JsonNode = {
    val list = nodes.arrayNode()
    failures.foreach { f =>
      val entry = list.addObject().put("join", f.join).put("method", f.method).put("reason", f.reason).put("at", f.at)
      f.tables.foldLeft(entry.putArray("tables"))(_ add _)
    }
    list
  }

  private def fromJson(json: JsonNode): Vector[JoinFailure] = {
    if (!json.isArray) throw new IllegalArgumentException("the file is no list.")
    elements(json).take(MostFailures).map { e =>
      if (!e.path("join").isTextual) throw new IllegalArgumentException("the file has a failure without join.")
      JoinFailure(
        e.get("join").asText,
        e.path("method").asText,
        elements(e.path("tables")).map(_.asText),
        e.path("reason").asText,
        e.path("at").asText
      )
    }
  }
}
