package org.apache.spark.sql.dovetail.base

import java.io.InputStream

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

/**
 * JSON from a file that nobody vouches for: pins, rows, the schema of stored statistics. Its tokens are counted before
 * a tree is made of it, so that neither its size nor its depth decides how much memory or stack that takes.
 */
object BoundedJson {
  private val mapper = new ObjectMapper

  /** Reads no more than what is allowed, whatever the file's length. */
  def read(in: InputStream): JsonNode = {
    val bytes = in.readNBytes(MostBytes + 1)
    if (bytes.length > MostBytes) throw new BrokenFile(s"it has more than $MostBytes bytes")
    read(bytes)
  }

  def read(bytes: Array[Byte]): JsonNode = {
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
    mapper.readTree(bytes)
  }

  /** The elements of an array; none of what is no array. */
  def elements(array: JsonNode): Vector[JsonNode] =
    if (array.isArray) (0 until array.size).toVector.map(array.get(_)) else Vector.empty

  /**
   * The list `name` of a file that says its version. Fails, in words for the user, where it has none, or a newer one.
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

  /** Bytes of a file: some thousand pins, each with the text of its query. */
  private val MostBytes = 16 << 20

  /**
   * Names, values and brackets: a pin of ten relations has about 40, a column of a schema 12. In memory each takes
   * about 100 bytes.
   */
  private val MostTokens = 500000

  /** Brackets within brackets: pins have 5, the schema of a table's flat columns 6. */
  private val MostDepth = 32
}
