package org.apache.spark.sql.dovetail.sample

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.hadoop.fs.FileStatus
import org.apache.spark.sql.catalyst.expressions.XXH64
import org.apache.spark.unsafe.Platform

/**
 * Versions of the files of a table, as a part of cache keys. It is a hash of paths, lengths and modification times,
 * because a table may have very many files, and a key stays in memory.
 */
final case class FileVersions(files: Int, hash: Long)

object FileVersions {
  def apply(files: Vector[FileStatus]): FileVersions = FileVersions(files.size, files.foldLeft(0L)(hashed))

  private def hashed(seed: Long, file: FileStatus): Long = {
    val path = file.getPath.toString.getBytes(UTF_8)
    val hash = XXH64.hashUnsafeBytes(path, Platform.BYTE_ARRAY_OFFSET.toLong, path.length, seed)
    XXH64.hashLong(file.getModificationTime, XXH64.hashLong(file.getLen, hash))
  }
}
