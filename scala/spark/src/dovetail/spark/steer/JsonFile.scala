package org.apache.spark.sql.dovetail.steer

import java.io.IOException

import com.fasterxml.jackson.core.JsonProcessingException
import com.fasterxml.jackson.databind.JsonNode
import org.apache.hadoop.fs.{FileSystem, Path}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.dovetail.base.{BoundedJson, ErrorCondition}
import org.apache.spark.sql.dovetail.base.ErrorCondition.InvalidFile
import org.apache.spark.sql.dovetail.base.FailOpen.Survivable
import org.apache.spark.sql.dovetail.store.StoreFiles

/** Reads and writes a JSON file at a path that the user gives, on any file system that Hadoop supports. */
object JsonFile {
  def write(session: SparkSession, path: String, json: JsonNode): Unit = {
    try {
      val target = new Path(path)
      val bytes  = BoundedJson.bytes(json)
      val out    = fileSystem(session, target).create(target, true)
      try out.write(bytes)
      finally out.close()
    } catch {
      case Survivable(e) =>
        throw InvalidFile.because(e, s"'$path' cannot be written: ${ErrorCondition.text(e)}", "path" -> path)
    }
  }

  /** @param parse converts the JSON; if it throws an IllegalArgumentException, the error message names the file */
  def read[A](session: SparkSession, path: String)(parse: JsonNode => A): A = {
    try {
      val source = new Path(path)
      val in     = fileSystem(session, source).open(source)
      try parse(BoundedJson.read(in))
      finally in.close()
    } catch {
      case e: JsonProcessingException =>
        throw InvalidFile.because(e, s"'$path' is not JSON: ${e.getOriginalMessage}", "path" -> path)
      case e: IOException => throw InvalidFile.because(e, s"'$path' cannot be read: ${e.getMessage}", "path" -> path)
      case Survivable(e)  =>
        throw InvalidFile.because(e, s"'$path': ${ErrorCondition.text(e)}", "path" -> path)
    }
  }

  private def fileSystem(session: SparkSession, path: Path): FileSystem =
    StoreFiles.fileSystem(path, session.sessionState.newHadoopConf())
}
