package org.apache.spark.sql.dovetail.plan

import java.time.Instant
import java.time.temporal.ChronoUnit
import java.util.concurrent.ConcurrentHashMap

import com.fasterxml.jackson.databind.node.JsonNodeFactory
import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.dovetail.base.BoundedJson.elements
import org.apache.spark.sql.dovetail.base.FailOpen
import org.apache.spark.sql.dovetail.deadline.{Aside, PlanningTime}
import org.apache.spark.sql.dovetail.store.{JsonList, StatisticsStore, StoreFiles}
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
 * not wait for a file.
 */
final class JoinFailures(files: StoreFiles) {
  import JoinFailures._

  private val list = new JsonList[JoinFailure](files, "failures.json", "Failed joins", _.join)(toJson, fromJson)
  @volatile private var known = Option.empty[Map[String, JoinFailure]]

  def isEmpty: Boolean = found.isEmpty

  def find(join: String): Option[JoinFailure] = found.get(join)

  /** Adds failures to those that other applications have written meanwhile. */
  def add(failures: Seq[JoinFailure]): Unit = synchronized {
    list.change(before => newest(before.filterNot(b => failures.exists(_.join == b.join)) ++ failures))
      .foreach(why =>
        FailOpen.warnOnce(s"failures ${list.file}", s"A failed join is remembered only in this application: $why")
      )
    known = Some(byJoin(list.all))
  }

  /** Removes all failures and returns how many there were. */
  def clear(): Int = synchronized {
    val n = list.all.size
    list.change(_ => Vector.empty)
    known = Some(byJoin(list.all))
    n
  }

  /** The known failures by signature. Empty as long as the store does not answer in time. */
  private def found: Map[String, JoinFailure] = known.getOrElse(synchronized {
    if (known.isEmpty) known = PlanningTime.ofItsOwn(SQLConf.get)(Aside(files.place)(_ => list.all)).flatten.map(byJoin)
    known.getOrElse(Map.empty)
  })
}

object JoinFailures {

  /** Most failures that are kept. The newest stay. A user is expected to look at them before there are more. */
  private val Most = 1000

  private val nodes  = JsonNodeFactory.instance
  private val stores = new ConcurrentHashMap[StatisticsStore, JoinFailures]()

  def apply(session: SparkSession): JoinFailures =
    stores.computeIfAbsent(StatisticsStore(session), s => new JoinFailures(s.files))

  private def newest(all: Vector[JoinFailure]): Vector[JoinFailure] =
    if (all.size <= Most) all else all.sortBy(f => (f.at, f.join)).takeRight(Most)

  private def byJoin(all: Vector[JoinFailure]): Map[String, JoinFailure] = all.map(f => f.join -> f).toMap

  private def toJson(failures: Vector[JoinFailure]): JsonNode = {
    val list = nodes.arrayNode()
    failures.foreach { f =>
      val entry = list.addObject().put("join", f.join).put("method", f.method).put("reason", f.reason).put("at", f.at)
      f.tables.foldLeft(entry.putArray("tables"))(_ add _)
    }
    list
  }

  private def fromJson(json: JsonNode): Vector[JoinFailure] =
    elements(json).take(Most).filter(_.path("join").isTextual).map { e =>
      JoinFailure(
        e.get("join").asText,
        e.path("method").asText,
        elements(e.path("tables")).map(_.asText),
        e.path("reason").asText,
        e.path("at").asText
      )
    }
}
