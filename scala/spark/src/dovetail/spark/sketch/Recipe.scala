package org.apache.spark.sql.dovetail.sketch

import java.io.DataOutput

import scala.util.control.NonFatal

import com.fasterxml.jackson.core.JsonProcessingException
import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.dovetail.base.{BoundedJson, BrokenFile, NewerFile, UnpackedStream}
import org.apache.spark.sql.types._

/**
 * What a sketch collects of a table: the columns, in order, and groups of columns by position. Sketches can be merged
 * if their recipes are equal.
 *
 * @param sampled   whether a sample of rows is kept, with the columns whose values may be kept
 * @param quantiles whether quantiles are collected of the columns whose values may be kept
 */
final case class Recipe(
    columns: Vector[Recipe.Column],
    groups: Vector[Vector[Int]],
    sampled: Boolean,
    quantiles: Boolean
) {
  require(
    columns.size <= Recipe.MostColumns,
    s"statistics are limited to ${Recipe.MostColumns} columns, not ${columns.size}: choose some with COLUMNS (…)"
  )
  require(
    groups.size <= Recipe.MostGroups,
    s"statistics are limited to ${Recipe.MostGroups} groups of columns, not ${groups.size}"
  )
  require(
    columns.map(_.name).distinct.size == columns.size,
    s"a column is named twice in ${columns.map(_.name).mkString(", ")}"
  )

  val schema: StructType = StructType(columns.map(c => StructField(c.name, c.dataType)))

  /** Positions of the columns that the sample has. */
  val sampleColumns: Vector[Int] = if (sampled) columns.indices.filter(columns(_).values).toVector else Vector.empty

  val sampleSchema: StructType = StructType(sampleColumns.map(schema(_)))

  def write(out: DataOutput): Unit = {
    Bytes.write(out, Some(schema.json.getBytes("UTF-8")))
    columns.foreach(c => out.writeBoolean(c.values))
    out.writeInt(groups.size)
    groups.foreach { g => out.writeInt(g.size); g.foreach(out.writeInt) }
    out.writeByte((if (sampled) Recipe.Sampled else 0) | (if (quantiles) 0 else Recipe.WithoutQuantiles))
  }
}

object Recipe {

  /**
   * @param values    whether values of the column may be kept (bounds, quantiles, frequent values, sample); counts
   *                  always are
   * @param quantiles whether quantiles are collected, if values of the column may be kept
   */
  final case class Column(
      name: String,
      dataType: DataType,
      values: Boolean,
      slotBits: Int = HeavyHitters.SlotBits,
      quantiles: Boolean = true
  )

  /** @param columns name, type, and whether values may be kept, in the order of the schema */
  def forColumns(
      columns: Vector[(String, DataType, Boolean)],
      groups: Vector[Vector[Int]],
      sampled: Boolean,
      quantiles: Boolean = true
  ): Recipe = {
    val bits  = if (columns.size > ManyColumns) HeavyHitters.FewSlotBits else HeavyHitters.SlotBits
    val asked = columns.map { case (name, dataType, values) =>
      Column(name, dataType, values && collects(dataType), bits, quantiles)
    }
    Recipe(asked, groups, sampled, quantiles)
  }

  /** Bits of the last byte of a recipe in a file. */
  private val Sampled          = 1
  private val WithoutQuantiles = 2

  /**
   * Beyond this number of columns, each column has fewer slots for frequent values, so that the sketch of 5,000 columns
   * stays below 100 MiB.
   */
  private val ManyColumns = 500

  /**
   * Largest number of columns of a table: twice as many as in the widest tables that we know, and 100 MiB of sketches.
   */
  val MostColumns = 10000

  /** Largest number of groups of columns of a table. Each takes 4 KiB of memory. Queries need some dozens. */
  val MostGroups = 1000

  def read(in: UnpackedStream): Recipe = {
    val columns = named(in.text()).fields.toVector.map(f => (f.name, f.dataType, in.readBoolean()))
    val groups  =
      Vector.fill(in.count(MostGroups, 4))(Vector.fill(in.count(columns.size, 4))(in.count(columns.size - 1, 0)))
    val flags = in.readUnsignedByte()
    if (flags > (Sampled | WithoutQuantiles)) throw new BrokenFile("its recipe is invalid")
    forColumns(columns, groups, (flags & Sampled) != 0, (flags & WithoutQuantiles) == 0)
  }

  /**
   * Parses a schema in which every type, including the types inside of nested types, is given by its name. Any other
   * type is rejected before Spark parses the schema, because it may name a class that Spark would load.
   */
  private def named(json: String): StructType = {
    val fields =
      try BoundedJson.read(json.getBytes("UTF-8")).path("fields")
      catch { case _: JsonProcessingException => throw new BrokenFile("its schema is not JSON") }
    if (
      !fields.isArray || fields.size > MostColumns || !(0 until fields.size).forall(i =>
        hasName(fields.get(i).path("type"))
      )
    )
      throw new BrokenFile("its schema does not list columns of a table")
    val read =
      try DataType.fromJson(json)
      catch { case NonFatal(_) => throw newerSpark }
    read match {
      // Spark 4 takes collations out of the metadata again; Spark 3 would read columns without them
      case s: StructType if s.fields.exists(_.metadata.contains(Collations)) => throw newerSpark
      case s: StructType                                                     => s
      case _ => throw new BrokenFile("its schema is not that of a table")
    }
  }

  private def newerSpark = new NewerFile("Spark", "types of columns")

  /** The key of the metadata of a column under which Spark 4 writes the collations of its type. */
  private val Collations = "__COLLATIONS"

  /**
   * Whether the type is given by its name, or consists of such types. [[BoundedJson]] limits the depth of this
   * recursion.
   */
  private def hasName(t: JsonNode): Boolean = t.isTextual || (t.path("type").asText match {
    case "array"  => hasName(t.path("elementType"))
    case "map"    => hasName(t.path("keyType")) && hasName(t.path("valueType"))
    case "struct" => (0 until t.path("fields").size).forall(i => hasName(t.path("fields").get(i).path("type")))
    case _        => false
  })

  /** Whether a type is flat. Of flat types, all statistics are collected. */
  def collects(dataType: DataType): Boolean = dataType match {
    case _: NumericType | BooleanType | DateType | TimestampType | TimestampNTZType | BinaryType => true
    case _: StringType | _: DayTimeIntervalType | _: YearMonthIntervalType                       => true
    case _                                                                                       => false
  }

  /**
   * Whether a type is nested. Of nested types, NULLs and bytes are collected, but no values. Other types are skipped,
   * with a note.
   */
  def measures(dataType: DataType): Boolean = dataType match {
    case _: ArrayType | _: MapType | _: StructType => levels(dataType) <= MostLevels
    // Spark 4 and later have a class for this type
    case other => other.typeName == "variant"
  }

  private def levels(dataType: DataType): Int = dataType match {
    case a: ArrayType  => 1 + levels(a.elementType)
    case m: MapType    => 1 + math.max(levels(m.keyType), levels(m.valueType))
    case s: StructType => 1 + s.fields.map(f => levels(f.dataType)).foldLeft(0)(math.max)
    // a class of a user or a library defines the type
    case _: UserDefinedType[_] => MostLevels + 1
    case _                     => 0
  }

  /**
   * Largest number of levels of a nested type, so that a schema with such a type can be read again: each level takes
   * three of the 32 brackets that [[BoundedJson]] allows.
   */
  private val MostLevels = 8
}
