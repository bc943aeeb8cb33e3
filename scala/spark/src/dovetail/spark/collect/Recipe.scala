package org.apache.spark.sql.dovetail.collect

import java.io.{DataInput, DataOutput}

import org.apache.spark.sql.types._

/**
 * What is collected of a table: its columns, in order, and groups of them by position. Sketches merge where their recipes are equal.
 *
 * @param sampled whether a sample of rows is kept, of the columns whose values may be kept
 */
final case class Recipe(columns: Vector[Recipe.Column], groups: Vector[Vector[Int]], sampled: Boolean) {
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
    Recipe(columns.map { case (name, dataType, values) => Column(name, dataType, values && collects(dataType), bits) }, groups, sampled)
  }

  /** Beyond this number of columns a sketch has less room for each, so that it stays below 100 MiB for 5,000 columns. */
  private val ManyColumns = 500

  /** Groups of a table, or columns of a group, that a file may name: more is a broken file. */
  private val Most = 100000

  def read(in: DataInput): Recipe = {
    val schema  = DataType.fromJson(new String(Bytes.read(in).get, "UTF-8")).asInstanceOf[StructType]
    val columns = schema.fields.toVector.map(f => (f.name, f.dataType, in.readBoolean()))
    val groups  = Vector.fill(Bytes.count(in, Most))(Vector.fill(Bytes.count(in, Most))(Bytes.count(in, columns.size - 1)))
    of(columns, groups, in.readBoolean())
  }

  /** Flat types, of which everything is collected. */
  def collects(dataType: DataType): Boolean = dataType match {
    case _: NumericType | BooleanType | DateType | TimestampType | TimestampNTZType | BinaryType => true
    case _: StringType | _: DayTimeIntervalType | _: YearMonthIntervalType                       => true
    case _                                                                                       => false
  }

  /** Nested types, of which NULLs and bytes are collected, and no values. The rest is skipped, with a note. */
  def measures(dataType: DataType): Boolean = dataType match {
    case _: ArrayType | _: MapType | _: StructType => true
    // a class of its own from Spark 4 on
    case other => other.typeName == "variant"
  }
}
