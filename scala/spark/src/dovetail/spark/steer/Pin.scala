package org.apache.spark.sql.dovetail.steer

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.{JsonNodeFactory, ObjectNode}
import org.apache.spark.sql.dovetail.base.BoundedJson
import org.apache.spark.sql.dovetail.base.BoundedJson.elements

/**
 * Orders of a query's groups under a name.
 *
 * @param created a time, as ISO 8601 writes it
 * @param query   that it was made of
 */
final case class Pin(name: String, created: String, query: String, groups: Vector[PinnedGroup])

/**
 * @param relations what people call them
 * @param order     by these names
 * @param form      of the group, without constants
 * @param shape     the order by the numbers of the form
 */
final case class PinnedGroup(relations: Vector[String], order: String, form: String, shape: String)

/** Pins as JSON: in the statistics store, and in files that people pass on. */
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

  /** Fails, in words for the user, where this is none. */
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
