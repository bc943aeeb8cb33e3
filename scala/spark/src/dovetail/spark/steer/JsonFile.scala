package org.apache.spark.sql.dovetail.steer

import com.fasterxml.jackson.core.JsonProcessingException
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.hadoop.fs.{FileSystem, Path}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.dovetail.store.StoreFiles

/** A file of JSON that the user names, on any file system that Hadoop knows. */
object JsonFile {
  private val mapper = new ObjectMapper

  def write(session: SparkSession, path: String, json: JsonNode): Unit = {
    val target = new Path(path)
    val out    = fileSystem(session, target).create(target, true)
    try out.write(mapper.writerWithDefaultPrettyPrinter.writeValueAsBytes(json))
    finally out.close()
  }

  /** @param of makes something of it; where it throws an IllegalArgumentException, the file is named */
  def read[A](session: SparkSession, path: String)(of: JsonNode => A): A = {
    val source = new Path(path)
    val in     = fileSystem(session, source).open(source)
    try of(mapper.readTree(in: java.io.InputStream))
    catch {
      case e: JsonProcessingException  => throw new IllegalArgumentException(s"$path is no JSON: ${e.getOriginalMessage}", e)
      case e: IllegalArgumentException => throw new IllegalArgumentException(s"$path: ${e.getMessage}", e)
    } finally in.close()
  }

  private def fileSystem(session: SparkSession, path: Path): FileSystem = StoreFiles.fileSystem(path, session.sessionState.newHadoopConf())
}
