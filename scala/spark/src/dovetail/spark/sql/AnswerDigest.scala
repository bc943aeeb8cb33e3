package org.apache.spark.sql.dovetail.sql

import com.fasterxml.jackson.databind.node.{JsonNodeFactory, ObjectNode}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.types._

/**
 * A fingerprint of a query's answer that does not depend on the order of its rows. It consists of a sum of row hashes
 * over all columns except floating-point ones, and for each floating-point column its sum and the sum of its absolute
 * values. These sums are compared with a tolerance, because their last digits depend on the order of addition. NULL,
 * NaN and infinite values of these columns are in no sum; the hashes of the rows count them.
 *
 * @param notCompared names of the columns of which only the NULLs are compared
 */
final case class AnswerDigest(
    rows: Long,
    hash: Long,
    sums: Map[Int, (Double, Double)],
    notCompared: Seq[String] = Nil
) {
  def +(that: AnswerDigest): AnswerDigest =
    copy(
      rows = rows + that.rows,
      hash = hash + that.hash,
      sums = sums.map { case (i, (s, a)) => val (s2, a2) = that.sums(i); i -> ((s + s2, a + a2)) }
    )

  def toJson: ObjectNode = {
    val o = JsonNodeFactory.instance.objectNode().put("rows", rows).put("hash", java.lang.Long.toHexString(hash))
    val s = o.putObject("sums")
    sums.toSeq.sortBy(_._1).foreach { case (i, (sum, abs)) => s.putArray(i.toString).add(sum).add(abs) }
    val names = o.putArray("not_compared")
    notCompared.foreach(names.add(_: String))
    o
  }
}

object AnswerDigest {

  /**
   * Answers of at most this many rows are collected on the driver, as users do; Spark executes LIMIT differently then.
   * Larger answers are digested on the executors.
   */
  private val CollectedRows = 100000L

  /** Runs the query, and returns the fingerprint of its answer. */
  def apply(execution: QueryExecution): AnswerDigest = {
    val output = execution.analyzed.output
    val types  = output.map(_.dataType).toVector
    val found  =
      if (execution.optimizedPlan.maxRows.exists(_ <= CollectedRows))
        digest(types, execution.executedPlan.executeCollect().iterator)
      else {
        val parts = execution.executedPlan.execute().mapPartitions(rows => Iterator.single(digest(types, rows)))
        parts.collect().foldLeft(digest(types, Iterator.empty))(_ + _)
      }
    found.copy(notCompared =
      output.filterNot(column => isFloating(column.dataType) || hasHash(column.dataType)).map(_.name)
    )
  }

  private def isFloating(t: DataType): Boolean = t == DoubleType || t == FloatType

  /**
   * Whether equal answers have equal hashes of values of this type. Spark cannot hash maps and variants, and the last
   * digits of floating-point numbers depend on the order of addition, also inside of arrays and structs.
   */
  private def hasHash(t: DataType): Boolean = !t.existsRecursively {
    case _: MapType | DoubleType | FloatType => true
    case user: UserDefinedType[_]            => !hasHash(user.sqlType)
    case other                               => other.typeName == "variant"
  }

  /** Whether a floating-point value is NULL, NaN or infinite. */
  private def unusual(column: BoundReference): Seq[Expression] = {
    val value = Cast(column, DoubleType)
    Seq(IsNull(column), IsNaN(column)) ++
      Seq(Double.PositiveInfinity, Double.NegativeInfinity).map(infinity => EqualTo(value, Literal(infinity)))
  }

  private def digest(types: Vector[DataType], rows: Iterator[InternalRow]): AnswerDigest = {
    val floating                = types.indices.filter(i => isFloating(types(i)))
    val hashed: Seq[Expression] = types.indices.flatMap { i =>
      val column = BoundReference(i, types(i), nullable = true)
      if (isFloating(types(i))) unusual(column) else if (hasHash(types(i))) Seq(column) else Seq(IsNull(column))
    }
    val hash  = new XxHash64(hashed)
    var count = 0L
    var sum   = 0L
    val sums  = floating.map(i => i -> Array(0.0, 0.0)).toMap
    rows.foreach { row =>
      count += 1
      sum += hash.eval(row).asInstanceOf[Long]
      floating.foreach { i =>
        if (!row.isNullAt(i)) {
          val v = if (types(i) == DoubleType) row.getDouble(i) else row.getFloat(i).toDouble
          if (!v.isNaN && !v.isInfinite) { sums(i)(0) += v; sums(i)(1) += math.abs(v) }
        }
      }
    }
    AnswerDigest(count, sum, sums.map { case (i, a) => i -> ((a(0), a(1))) })
  }
}
