package org.apache.spark.sql.dovetail.collect

import java.io.DataOutput

import com.fasterxml.jackson.core.JsonProcessingException
import org.apache.spark.sql.dovetail.store.BoundedJson
import org.apache.spark.sql.types._

/**
 * What is collected of a table: its columns, in order, and groups of them by position. Sketches merge where their recipes are equal.
 *
 * @param sampled whether a sample of rows is kept, of the columns whose values may be kept
 */
final case class Recipe(columns: Vector[Recipe.Column], groups: Vector[Vector[Int]], sampled: Boolean) {
  require(columns.size <= Recipe.MostColumns, s"statistics are of ${Recipe.MostColumns} columns at most, not ${columns.size}: name them by COLUMNS (…)")
  require(groups.size <= Recipe.MostGroups, s"statistics are of ${Recipe.MostGroups} groups of columns at most, not ${groups.size}")
  require(columns.map(_.name).distinct.size == columns.size, s"a column comes twice among ${columns.map(_.name).mkString(", ")}")

  val schema: StructType = StructType(columns.map(c => StructField(c.name, c.dataType)))

  /** Positions of the columns in the sample. */
  val sampleColumns: Vector[Int] = if (sampled) columns.indices.filter(columns(_).values).toVector else Vector.empty

  val sampleSchema: StructType = StructType(sampleColumns.map(schema(_)))

  def write(out: DataOutput): Unit = {
    Bytes.write(out, Some(schema.json.getBytes("UTF-8")))
    columns.foreach(c => out.writeBoolean(c.values))
    out.writeInt(groups.size)
    groups.foreach { g => out.writeInt(g.size); g.foreach(out.writeInt) }
    out.writeBoolean(sampled)
  }
}

object Recipe {

  /** @param values whether the column's values may be kept (bounds, quantiles, frequent values, sample); counts always are */
  final case class Column(name: String, dataType: DataType, values: Boolean, slotBits: Int = HeavyHitters.SlotBits)

  /** @param columns in the order of the schema: name, type, and whether values may be kept */
  def of(columns: Vector[(String, DataType, Boolean)], groups: Vector[Vector[Int]], sampled: Boolean): Recipe = {
    val bits = if (columns.size > ManyColumns) HeavyHitters.FewSlotBits else HeavyHitters.SlotBits
    Recipe(columns.map { case (name, dataType, values) => Column(name, dataType, values, bits) }, groups, sampled)
  }

  /** Beyond this number of columns a sketch has less room for each, so that it stays below 100 MiB for 5,000 columns. */
  private val ManyColumns = 500

  /** Columns of a table: twice as many as the widest tables have of which we know, and 100 MiB of sketches. */
  val MostColumns = 10000

  /** Groups of a table: 4 KiB of memory each. Queries ask for some dozens. */
  val MostGroups = 1000

  def read(in: Unpacked): Recipe = {
    val columns = flat(in.text()).fields.toVector.map(f => (f.name, f.dataType, in.readBoolean()))
    val groups  = Vector.fill(in.count(MostGroups, 4))(Vector.fill(in.count(columns.size, 4))(in.count(columns.size - 1, 0)))
    of(columns, groups, in.readBoolean())
  }

  /** A schema of types that have names. Others are refused unread: they may be as deep as they like, or name a class that Spark would load. */
  private def flat(json: String): StructType = {
    val fields =
      try BoundedJson.read(json.getBytes("UTF-8")).path("fields")
      catch { case _: JsonProcessingException => throw new BrokenFile("its schema is no JSON") }
    if (!fields.isArray || fields.size > MostColumns || !(0 until fields.size).forall(fields.get(_).path("type").isTextual))
      throw new BrokenFile("its schema is none of a table's flat columns")
    DataType.fromJson(json) match {
      case s: StructType => s
      case _             => throw new BrokenFile("its schema is none of a table")
    }
  }

  /** Flat types: the others are skipped, with a note. */
  def collects(dataType: DataType): Boolean = dataType match {
    case _: NumericType | BooleanType | DateType | TimestampType | TimestampNTZType | BinaryType => true
    case _: StringType | _: DayTimeIntervalType | _: YearMonthIntervalType                       => true
    case _                                                                                       => false
  }
}
