package org.apache.spark.sql.dovetail.base

import java.io.InputStream

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

/**
 * Reads and writes JSON files. Those that it reads are not trusted: pins, rows, the schema of stored statistics. The
 * tokens are counted before a tree is built. So neither the size nor the depth of a file decides how much memory or
 * stack the parser takes.
 */
object BoundedJson {
  private val mapper = new ObjectMapper

  /** Reads at most one byte more than allowed, whatever the length of the file. */
  def read(in: InputStream): JsonNode = read(in.readNBytes(MostBytes + 1))

  def read(bytes: Array[Byte]): JsonNode = { check(bytes); mapper.readTree(bytes) }

  /** The text of a file. Fails if no reader would accept it: it must not replace a file that can be read. */
  def bytes(json: JsonNode): Array[Byte] = {
    val text = mapper.writerWithDefaultPrettyPrinter.writeValueAsBytes(json)
    check(text)
    text
  }

  private def check(bytes: Array[Byte]): Unit = {
    if (bytes.length > MostBytes) throw new BrokenFile(s"it has more than $MostBytes bytes")
    val parser = mapper.getFactory.createParser(bytes)
    try {
      var (tokens, depth) = (0, 0)
      var token           = parser.nextToken()
      while (token != null) {
        tokens += 1
        if (token.isStructStart) depth += 1 else if (token.isStructEnd) depth -= 1
        if (tokens > MostTokens) throw new BrokenFile(s"it has more than $MostTokens values and names")
        if (depth > MostDepth) throw new BrokenFile(s"it is nested more than $MostDepth deep")
        token = parser.nextToken()
      }
      if (tokens == 0) throw new BrokenFile("it is empty")
    } finally parser.close()
  }

  /** The elements of an array, or none if the node is not an array. */
  def elements(array: JsonNode): Vector[JsonNode] =
    if (array.isArray) (0 until array.size).toVector.map(array.get(_)) else Vector.empty

  /**
   * Returns the list `name` of a file that states its version. Throws an error with a message for the user if the file
   * has no such list, no version, or a newer version.
   */
  def list(file: JsonNode, name: String, version: Int): Vector[JsonNode] = {
    val found = file.path("version").asInt(0)
    if (found > version) throw new IllegalArgumentException(
      s"the file has format $found, but this Dovetail reads up to $version. Use a newer Dovetail."
    )
    if (found < 1 || !file.path(name).isArray)
      throw new IllegalArgumentException(s"the file has no $name or no version.")
    elements(file.get(name))
  }

  /** Largest accepted size of a file in bytes: room for a few thousand pins, each with the text of its query. */
  private val MostBytes = 16 << 20

  /**
   * Largest accepted number of names, values and brackets. A pin of ten relations has about 40, a column of a schema
   * 12. In memory, each takes about 100 bytes.
   */
  private val MostTokens = 500000

  /** Largest accepted depth of nested brackets: pins have 5, the schema of a table with flat columns 6. */
  private val MostDepth = 32
}
