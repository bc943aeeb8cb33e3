package org.apache.spark.sql.dovetail.steer

import java.io.IOException

import com.fasterxml.jackson.core.JsonProcessingException
import com.fasterxml.jackson.databind.JsonNode
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.dovetail.base.{BoundedJson, ErrorCondition}
import org.apache.spark.sql.dovetail.base.ErrorCondition.{InvalidFile, StoreNotWritable}
import org.apache.spark.sql.dovetail.base.FailOpen.Survivable
import org.apache.spark.sql.dovetail.store.StoreFiles

/** Reads and writes a JSON file at a path that the user gives, on any file system that Hadoop supports. */
object JsonFile {

  /**
   * Writes the file anew. If that fails, an earlier file stays as it is.
   *
   * @param lacks what the JSON lacks; then it does not replace an earlier file, which may have it
   */
  def write(session: SparkSession, path: String, json: JsonNode, lacks: Option[String] = None): Unit = {
    try {
      val bytes  = BoundedJson.bytes(json)
      val hadoop = session.sessionState.newHadoopConf()
      val files  = StoreFiles.fileSystem(new Path(path), hadoop)
      val target = files.makeQualified(new Path(path))
      val there  = files.exists(target)
      if (target.isRoot || (there && files.getFileStatus(target).isDirectory))
        throw new IOException("it is a directory")
      lacks.filter(_ => there).foreach(what => throw new IOException(s"there is a file already, and $what"))
      new StoreFiles(target.getParent, hadoop, isPrivate = false).replace(target.getName)(_.write(bytes))
    } catch {
      case Survivable(e) =>
        // the advice about the store is not about this file
        val why = if (StoreNotWritable.is(e)) e.getCause else e
        throw InvalidFile.because(why, s"'$path' cannot be written: ${ErrorCondition.text(why)}", "path" -> path)
    }
  }

  /** @param parse converts the JSON; if it throws an IllegalArgumentException, the error message names the file */
  def read[A](session: SparkSession, path: String)(parse: JsonNode => A): A = {
    try {
      val source = new Path(path)
      val in     = StoreFiles.fileSystem(source, session.sessionState.newHadoopConf()).open(source)
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
}
