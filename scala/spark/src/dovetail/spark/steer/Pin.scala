package org.apache.spark.sql.dovetail.steer

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.{JsonNodeFactory, ObjectNode}
import org.apache.spark.sql.dovetail.base.BoundedJson
import org.apache.spark.sql.dovetail.base.BoundedJson.elements

/**
 * A pin: the join orders of a query's groups, stored under a name.
 *
 * @param created creation time in ISO 8601
 * @param query   text of the query that the pin was made from
 */
final case class Pin(name: String, created: String, query: String, groups: Vector[PinnedGroup])

/**
 * The pinned order of one group.
 *
 * @param relations names of the relations
 * @param order     join order, written with these names
 * @param form      canonical form of the group, without constants
 * @param shape     join order, written with the numbers of the canonical form
 */
final case class PinnedGroup(relations: Vector[String], order: String, form: String, shape: String)

/** Reads and writes pins as JSON, for the statistics store and for files that users exchange. */
object Pin {
  private val Version = 1
  private val nodes   = JsonNodeFactory.instance

  def toJson(pins: Vector[Pin]): JsonNode = {
    val root = nodes.objectNode().put("version", Version)
    val list = root.putArray("pins")
    pins.foreach { p =>
      val groups =
        list.addObject().put("name", p.name).put("created", p.created).put("query", p.query).putArray("groups")
      p.groups.foreach { g =>
        val names =
          groups.addObject().put("order", g.order).put("form", g.form).put("shape", g.shape).putArray("relations")
        g.relations.foreach(names.add(_: String))
      }
    }
    root
  }

  /** Reads pins; fails with a message for the user if the JSON does not contain pins. */
  def fromJson(json: JsonNode): Vector[Pin] =
    BoundedJson.list(json, "pins", Version).map { p =>
      Pin(
        text(p, "name"),
        text(p, "created"),
        text(p, "query"),
        elements(p.path("groups")).map(g =>
          PinnedGroup(elements(g.path("relations")).map(_.asText), text(g, "order"), text(g, "form"), text(g, "shape"))
        )
      )
    }

  private def text(node: JsonNode, field: String): String = node match {
    case o: ObjectNode if o.path(field).isTextual => o.get(field).asText
    case _ => throw new IllegalArgumentException(s"the file has a pin without $field.")
  }
}
