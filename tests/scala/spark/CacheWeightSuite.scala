package org.apache.spark.sql.dovetail.sample

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.dovetail.table.{SampledRows, TableSample}
import org.apache.spark.sql.types.{ArrayType, LongType, MapType, StringType, StructType}
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

/** Caches of rows weigh what they keep: the texts of the rows, and the keys. */
class CacheWeightSuite extends AnyFunSuite {
  private val schema = new StructType().add("text", StringType)

  test("a sample of long lines weighs their bytes, not their number") {
    val line = UTF8String.fromString("x" * (1 << 20))
    val rows = SampledRows(schema, Seq.fill(7)(InternalRow(line)))
    assert(TextTable(7.0, 7L, whole = true, TableSample(schema, rows, 7L), Vector.empty).bytes >= (7L << 20))
  }

  test("keys weigh their columns, nested ones too, and their options") {
    val wide = (1 to 1000).foldLeft(new StructType())((s, i) => s.add(s"column$i", LongType))
    assert(KeyBytes(wide) > 100000L && KeyBytes(schema) < 1000L)
    assert(KeyBytes(new StructType().add("a", ArrayType(MapType(StringType, wide)))) > KeyBytes(wide))
    assert(KeyBytes(Map("path" -> "x" * 5000)) > 5000L && KeyBytes(Map.empty[String, String]) == 0L)
  }

  test("versions of files differ if a path, a length, a time or the order differs, and keep no path") {
    def file(name: String, length: Long = 1L, at: Long = 1L) =
      new FileStatus(length, false, 1, 1L, at, new Path(s"file:/t/$name"))
    val all = Seq(
      Vector(file("a"), file("b")),
      Vector(file("b"), file("a")),
      Vector(file("a"), file("c")),
      Vector(file("a"), file("b", length = 2L)),
      Vector(file("a"), file("b", at = 2L)),
      Vector(file("a"))
    )
    assert(all.map(FileVersions(_)).distinct.size == all.size)
    assert(FileVersions(all.head) == FileVersions(Vector(file("a"), file("b"))))
  }
}
