package org.apache.spark.sql.dovetail.history

import java.time.Instant

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.{ArrayNode, JsonNodeFactory, ObjectNode}
import org.apache.spark.sql.dovetail.base.BoundedJson
import org.apache.spark.sql.dovetail.base.BoundedJson.elements
import org.apache.spark.sql.dovetail.report.{DataStamp, GroupIdentity}

/**
 * Reads and writes the history as JSON. Each set and each stamp is one string, which keeps the file short and its
 * number of tokens low ([[BoundedJson]] limits it). A file with an entry that cannot be read is no history: if it
 * were left out, the next write would remove it from the file.
 */
object HistoryFile {
  private val Version = 1
  private val nodes   = JsonNodeFactory.instance

  def toJson(entries: Vector[HistoryEntry]): JsonNode = {
    val root = nodes.objectNode().put("version", Version)
    val list = root.putArray("history")
    // a single impossible entry would take the whole file away from its readers
    entries.filter(isPossible).foreach {
      case g: GroupRuns =>
        val node = entry(list, g, "runs")
        g.relations.foldLeft(node.putArray("relations"))((a, r) => a.add(s"${r.key} ${text(r.data)}"))
        g.relations.foldLeft(node.putArray("tables"))((a, r) => a.add(texts(r.tables)))
        HistoryEntry.sorted(g.sets).foldLeft(node.putArray("sets")) { case (a, (set, s)) =>
          a.add(s"${set.mkString(",")} ${s.key} ${s.rows} ${s.estimated}")
        }
        g.orders.foldLeft(node.putArray("orders")) { (a, o) =>
          val order = nodes.arrayNode().add(o.shape).add(o.runs)
          a.add(o.times.foldLeft(order)((n, t) => n.add(s"${t.query} ${t.millis} ${t.warm}")))
        }
        g.pattern.foreach(p => node.put("pattern", s"${p.key} ${p.order.mkString(",")}"))
      case g: GroupErrors =>
        val node = entry(list, g, "errors")
        node.put("data", text(g.data)).put("statistics", g.statistics).set[ObjectNode]("tables", texts(g.tables))
        HistoryEntry.sorted(g.sets).foldLeft(node.putArray("sets")) { case (a, (set, e)) =>
          a.add(s"${set.mkString(",")} ${e.n} ${e.sum} ${e.squares}")
        }
    }
    root
  }

  private def entry(list: ArrayNode, e: HistoryEntry, kind: String): ObjectNode =
    list.addObject().put("kind", kind).put("key", e.key).put("runs", e.runs).put("at", e.at)

  private def text(d: DataStamp): String = s"${d.sum} ${d.files} ${d.bytes} ${d.newest}"

  private def texts(list: Vector[String]): ArrayNode = list.foldLeft(nodes.arrayNode())(_ add _)

  /** Reads the entries; fails with a message for the user if the JSON is not a history. */
  def fromJson(json: JsonNode): Vector[HistoryEntry] = BoundedJson.list(json, "history", Version).map(node =>
    read(node).filter(isPossible).getOrElse(throw new IllegalArgumentException(
      s"the file has an entry that this Dovetail does not know: ${node.toString.take(MostShown)}."
    ))
  )

  /** Most characters of an entry in a message. */
  private val MostShown = 100

  /** Whether real runs can have made the entry. */
  private def isPossible(entry: HistoryEntry): Boolean = entry.key.nonEmpty && (entry match {
    case g: GroupRuns   => g.sets.forall { case (set, s) => s.rows >= 0L && set.forall(g.relations.indices.contains) }
    case g: GroupErrors => g.sets.values.forall(_.possible)
  })

  private def read(node: JsonNode): Option[HistoryEntry] =
    try {
      val (key, runs, at) = (node.path("key").asText, node.path("runs").asInt, time(node.path("at").asLong))
      val sets            = elements(node.path("sets")).map(s => fields(s.asText))
      def of(set: String) = set.split(',').map(_.toInt).toSet
      node.path("kind").asText match {
        case "runs" =>
          val relations = elements(node.path("relations")).zip(elements(node.path("tables"))).map { case (r, tables) =>
            val all = fields(r.asText)
            GroupIdentity.OfRelation(all(0), elements(tables).map(_.asText), stamp(all.drop(1)))
          }
          val orders = elements(node.path("orders")).map { o =>
            val times = elements(o).drop(2).map(t => fields(t.asText)).collect { case Vector(query, millis, warm) =>
              MeasuredOrder.QueryTime(query, millis.toLong, warm == "true")
            }
            MeasuredOrder(o.path(0).asText, o.path(1).asInt, times)
          }
          val pattern = Option(node.get("pattern")).map(p => fields(p.asText)).map(p =>
            GroupIdentity.Whole(p(0), p(1).split(',').toVector.map(_.toInt))
          ).filter(_.order.sorted == relations.indices)
          val rows = sets.map(s => of(s(0)) -> GroupRuns.OfSet(s(1), s(2).toLong, s(3).toDouble))
          Some(GroupRuns(key, relations, rows.toMap, orders, pattern, runs, at))
        case "errors" =>
          val errors = sets.map(s => of(s(0)) -> EstimateErrors(s(1).toInt, s(2).toDouble, s(3).toDouble))
          val tables = elements(node.path("tables")).map(_.asText)
          val data   = stamp(fields(node.path("data").asText))
          Some(GroupErrors(key, tables, data, node.path("statistics").asText, errors.toMap, runs, at))
        case _ => None
      }
    } catch { case _: NumberFormatException | _: IndexOutOfBoundsException => None }

  /** The time of an entry; 0 if its writer's clock was ahead: such an entry must not outlive those of later runs. */
  private def time(at: Long): Long = if (at > Instant.now().getEpochSecond + MostAhead) 0L else at

  /** Seconds by which the clock of another machine may be ahead: clocks that are set differ by less than an hour. */
  private val MostAhead = 3600L

  private def stamp(fields: Vector[String]): DataStamp =
    DataStamp(fields(0).toLong, fields(1).toInt, fields(2).toLong, fields(3).toLong)

  private def fields(text: String): Vector[String] = text.split(' ').toVector
}
