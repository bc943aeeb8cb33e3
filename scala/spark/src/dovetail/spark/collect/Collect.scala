package org.apache.spark.sql.dovetail.collect

import java.util.concurrent.ConcurrentHashMap

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.{HashPartitioner, TaskContext}
import org.apache.spark.rdd.{InputFileBlockHolder, RDD}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow, XXH64}
import org.apache.spark.sql.catalyst.plans.logical.Project
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.types.DataType
import org.apache.spark.unsafe.types.UTF8String
import org.apache.spark.sql.dovetail.sketch.{ColumnSketch, Recipe, TableSketch}
import org.apache.spark.sql.dovetail.store.DataFile

/**
 * The only pass over the data: a Spark job that reads the files and returns one compressed [[TableSketch]] per part.
 *
 * A part is a set of files. A task has one sketch in memory at a time, and finishes it when it reaches a file of
 * another part. The driver merges the sketches that several tasks return for one part; if they were too many for it,
 * tasks of a second stage merge them first. The random number of a row depends only on the row's file and its position
 * in it, so the same files give the same statistics.
 */
object Collect {

  /**
   * @param parts      files of each part
   * @param sampleRows number of rows to sample, per part
   * @param whole      sketch into which all results are merged
   * @return compressed sketch of each part; thousands of uncompressed ones would not fit into the driver's memory
   */
  def apply(
      session: SparkSession,
      relation: HadoopFsRelation,
      recipe: Recipe,
      parts: Vector[Vector[DataFile]],
      sampleRows: Vector[Int],
      whole: TableSketch
  ): Vector[Array[Byte]] = {
    val files  = parts.flatten
    val chosen =
      relation.copy(location = new SubsetFileIndex(relation.location, files.map(_.path).toSet))(relation.sparkSession)
    val leaf     = LogicalRelation(chosen)
    val byName   = leaf.output.map(a => a.name -> a).toMap
    val plan     = Project(recipe.columns.map(c => byName(c.name)), leaf)
    val query    = session.sessionState.executePlan(plan)
    val partOf   = parts.zipWithIndex.flatMap { case (p, i) => p.map(_.taskName -> i) }.toMap
    val gathered = new ConcurrentHashMap[Int, ArrayBuffer[Array[Byte]]]()
    SQLExecution.withNewExecutionId(query, Some("dovetail analyze")) {
      val rows = query.toRdd
      val made = rows.mapPartitions(sketches(_, recipe, partOf, sampleRows))
      // a task may finish a sketch at every file, and at the beginning of every split
      val most  = (files.size + rows.getNumPartitions).toLong * recipe.columns.size
      val found = if (most <= Parts.MostColumnSketches) made else mergedInTasks(made, parts.size, recipe, sampleRows)
      session.sparkContext.runJob(
        found,
        (_: TaskContext, of: Iterator[(Int, Array[Byte])]) => of.toArray,
        found.partitions.indices,
        (_: Int, of: Array[(Int, Array[Byte])]) =>
          of.foreach { case (part, b) => gathered.computeIfAbsent(part, _ => new ArrayBuffer[Array[Byte]]) += b }
      )
    }
    parts.indices.toVector.map { i =>
      val sketch = new TableSketch(recipe, sampleRows(i))
      Option(gathered.remove(i)).foreach(_.foreach(b =>
        sketch.merge(TableSketch.fromBytes(b, recipe, TableSketch.Version))
      ))
      whole.merge(sketch)
      sketch.toBytes
    }
  }

  /** One sketch per part, merged by tasks. A task has the sketch of one part in memory at a time. */
  private def mergedInTasks(
      made: RDD[(Int, Array[Byte])],
      parts: Int,
      recipe: Recipe,
      sampleRows: Vector[Int]
  ): RDD[(Int, Array[Byte])] = {
    val tasks = new HashPartitioner(math.min(parts, MostMergingTasks))
    made.repartitionAndSortWithinPartitions(tasks).mapPartitions { sorted =>
      val in = sorted.buffered
      new Iterator[(Int, Array[Byte])] {
        override def hasNext: Boolean           = in.hasNext
        override def next(): (Int, Array[Byte]) = {
          val part  = in.head._1
          val whole = new TableSketch(recipe, sampleRows(part))
          while (in.hasNext && in.head._1 == part)
            whole.merge(TableSketch.fromBytes(in.next()._2, recipe, TableSketch.Version))
          part -> whole.toBytes
        }
      }
    }
  }

  /** Largest number of tasks that merge sketches: each takes milliseconds per sketch. */
  private val MostMergingTasks = 200

  /** Runs on an executor: makes the sketches of the parts that the rows of a task come from. */
  private def sketches(
      rows: Iterator[InternalRow],
      recipe: Recipe,
      partOf: Map[String, Int],
      sampleRows: Vector[Int]
  ): Iterator[(Int, Array[Byte])] = {
    val done                = Vector.newBuilder[(Int, Array[Byte])]
    val toUnsafe            = UnsafeProjection.create(recipe.schema.fields.map(_.dataType): Array[DataType])
    var sketch: TableSketch = null
    var part                = -1
    var file: UTF8String    = null
    var random              = 0L
    var row                 = 0L
    def finish(): Unit      = if (sketch != null) done += part -> sketch.toBytes
    while (rows.hasNext) {
      val next = rows.next()
      val now  = InputFileBlockHolder.getInputFilePath
      if (now ne file) {
        file = now
        random = XXH64.hashLong(InputFileBlockHolder.getStartOffset, XXH64.hashUTF8String(now, ColumnSketch.Seed))
        row = 0L
        val p = partOf.getOrElse(
          now.toString,
          throw new IllegalStateException(s"rows of a file that was not asked for: '$now'")
        )
        if (p != part) { finish(); part = p; sketch = new TableSketch(recipe, sampleRows(p)) }
      }
      sketch.add(next match { case u: UnsafeRow => u; case other => toUnsafe(other) }, XXH64.hashLong(row, random))
      row += 1
    }
    finish()
    done.result().iterator
  }
}
