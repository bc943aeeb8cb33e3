package org.apache.spark.sql.dovetail.plan

import java.io.{InputStream, IOException}
import java.time.Instant
import java.time.temporal.ChronoUnit
import java.util.concurrent.ConcurrentHashMap

import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.node.JsonNodeFactory
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.dovetail.FailOpen
import org.apache.spark.sql.dovetail.deadline.{Aside, PlanningTime}
import org.apache.spark.sql.dovetail.store.{BoundedJson, StatisticsStore, StoreFiles}
import org.apache.spark.sql.internal.SQLConf

/**
 * A join of ours with which a query failed.
 *
 * @param join   by which it is known again ([[ChosenJoin.signature]])
 * @param method as people call it: "broadcast" or "hash table"
 * @param tables below the input that was broadcast or hashed
 * @param reason what the query failed with
 * @param at     when, as ISO 8601
 */
final case class JoinFailure(join: String, method: String, tables: Vector[String], reason: String, at: String) {
  override def toString: String = s"a $method of ${tables.mkString(", ")} is not made: a query failed with it on ${at.take(JoinFailure.Day)} ($reason)"
}

object JoinFailure {

  /** Characters of the date in an ISO 8601 text. */
  private val Day = 10

  def now(join: String, method: String, tables: Vector[String], reason: String): JoinFailure =
    JoinFailure(join, method, tables, reason, Instant.now().truncatedTo(ChronoUnit.SECONDS).toString)
}

/**
 * What is remembered of failed joins: in a file of the statistics store, so that it outlives the application; in this application alone where that cannot
 * be written. [[FailedJoins]] adds to it, and asks it before a join is made.
 *
 * The file is read once, and again after this JVM has written it. Of two JVMs that write within the same moment the last one wins.
 */
final class JoinFailures(files: StoreFiles) {
  import JoinFailures._

  private var known  = Map.empty[String, JoinFailure]
  private var loaded = false

  def isEmpty: Boolean = synchronized { load(); known.isEmpty }

  def of(join: String): Option[JoinFailure] = synchronized { load(); known.get(join) }

  /** Adds what failed, beside what other applications have written meanwhile. */
  def add(failures: Seq[JoinFailure]): Unit = change(_ ++ failures.map(f => f.join -> f))

  /** How many there were. */
  def clear(): Int = synchronized { load(); val n = known.size; change(_ => Map.empty); n }

  private def change(to: Map[String, JoinFailure] => Map[String, JoinFailure]): Unit = synchronized {
    known = newest(to(known ++ read()))
    loaded = true
    try files.replace(FileName)(_.write(mapper.writerWithDefaultPrettyPrinter.writeValueAsBytes(toJson(known.values.toVector.sortBy(f => (f.at, f.join))))))
    catch {
      case e @ (_: IOException | _: UnsupportedOperationException | _: IllegalArgumentException) =>
        FailOpen.warnOnce(s"failures ${files.directory}", s"A join that failed is remembered in this application alone: ${e.getMessage}")
    }
  }

  /** Where the store does not answer in time, nothing is known for now. */
  private def load(): Unit = if (!loaded)
    PlanningTime.ofItsOwn(SQLConf.get)(Aside(s"the statistics store ${files.directory}")(_ => read())).flatten.foreach { found =>
      known = newest(found ++ known)
      loaded = true
    }

  private def newest(all: Map[String, JoinFailure]): Map[String, JoinFailure] =
    if (all.size <= Most) all else all.toVector.sortBy { case (join, f) => (f.at, join) }.takeRight(Most).toMap

  private def read(): Map[String, JoinFailure] =
    try files.stamp(FileName) match {
        case Some(_) => fromJson(files.open(FileName)(in => BoundedJson.read(in: InputStream))).map(f => f.join -> f).toMap
        case None    => Map.empty
      }
    catch {
      case NonFatal(e) =>
        FailOpen.warnOnce(s"failures ${files.directory} $e", s"$FileName of ${files.directory} is not used: ${e.getMessage}")
        Map.empty
    }
}

object JoinFailures {
  private val FileName = "failures.json"

  /** Failures that are kept: more do not happen before somebody looks. The newest stay. */
  private val Most = 1000

  private val mapper = new ObjectMapper
  private val nodes  = JsonNodeFactory.instance
  private val stores = new ConcurrentHashMap[StatisticsStore, JoinFailures]()

  def of(session: SparkSession): JoinFailures = stores.computeIfAbsent(StatisticsStore.of(session), s => new JoinFailures(s.files))

  private def toJson(failures: Vector[JoinFailure]): JsonNode = {
    val list = nodes.arrayNode()
    failures.foreach { f =>
      val entry = list.addObject().put("join", f.join).put("method", f.method).put("reason", f.reason).put("at", f.at)
      f.tables.foldLeft(entry.putArray("tables"))(_ add _)
    }
    list
  }

  private def fromJson(json: JsonNode): Vector[JoinFailure] = {
    def elements(list: JsonNode) = if (list.isArray) (0 until list.size).toVector.map(list.get(_)) else Vector.empty
    elements(json).take(Most).filter(_.path("join").isTextual).map { e =>
      JoinFailure(e.get("join").asText, e.path("method").asText, elements(e.path("tables")).map(_.asText), e.path("reason").asText, e.path("at").asText)
    }
  }
}
