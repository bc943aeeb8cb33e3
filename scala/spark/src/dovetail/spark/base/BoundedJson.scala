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
