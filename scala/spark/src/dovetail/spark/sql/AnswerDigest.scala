package org.apache.spark.sql.dovetail.sql

import com.fasterxml.jackson.databind.node.{JsonNodeFactory, ObjectNode}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression, IsNull, XxHash64}
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.types._

/**
 * A fingerprint of a query's answer that does not depend on the order of its rows. It consists of a sum of row hashes
 * over all columns except floating-point ones, and for each floating-point column its sum and the sum of its absolute
 * values. These sums are compared with a tolerance, because their last digits depend on the order of addition.
 */
final case class AnswerDigest(rows: Long, hash: Long, sums: Map[Int, (Double, Double)]) {
  def +(that: AnswerDigest): AnswerDigest =
    AnswerDigest(
      rows + that.rows,
      hash + that.hash,
      sums.map { case (i, (s, a)) => val (s2, a2) = that.sums(i); i -> ((s + s2, a + a2)) }
    )

  def toJson: ObjectNode = {
    val o = JsonNodeFactory.instance.objectNode().put("rows", rows).put("hash", java.lang.Long.toHexString(hash))
    val s = o.putObject("sums")
    sums.toSeq.sortBy(_._1).foreach { case (i, (sum, abs)) => s.putArray(i.toString).add(sum).add(abs) }
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
    val types = execution.analyzed.output.map(_.dataType).toVector
    if (execution.optimizedPlan.maxRows.exists(_ <= CollectedRows))
      digest(types, execution.executedPlan.executeCollect().iterator)
    else {
      val parts = execution.executedPlan.execute().mapPartitions(rows => Iterator.single(digest(types, rows)))
      parts.collect().foldLeft(digest(types, Iterator.empty))(_ + _)
    }
  }

  private def digest(types: Vector[DataType], rows: Iterator[InternalRow]): AnswerDigest = {
    val floating                = types.indices.filter(i => types(i) == DoubleType || types(i) == FloatType)
    val hashed: Seq[Expression] = types.indices.map { i =>
      val column = BoundReference(i, types(i), nullable = true)
      // Spark cannot hash maps and variants, so only their NULLs are compared
      if (floating.contains(i) || types(i).existsRecursively(t => t.isInstanceOf[MapType] || t.typeName == "variant"))
        IsNull(column)
      else column
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
