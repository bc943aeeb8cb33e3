package org.apache.spark.sql.dovetail.leaf

import java.util.{Collections, WeakHashMap}

import scala.annotation.tailrec
import scala.util.control.NonFatal

import org.apache.spark.api.python.{PythonFunction, PythonRDD}
import org.apache.spark.rdd.{MapPartitionsRDD, ParallelCollectionPartition, ParallelCollectionRDD, RDD}
import org.apache.spark.sql.catalyst.plans.logical.LeafNode
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.{
  ExternalRDD,
  InputAdapter,
  LogicalRDD,
  ProjectExec,
  RDDScanExec,
  SparkPlan,
  WholeStageCodegenExec
}

/**
 * Rows of data that a program has on the driver and gives to Spark as an RDD, which tells nothing of its size:
 * `createDataFrame` of a list or, without Arrow, of a pandas frame; of a parallelized collection, in Python also
 * `toDF`.
 *
 * The rows are counted where they are, in the collection. No job runs, and no function of the user's. So only an RDD is
 * counted between which and the collection there is nothing but Spark's own conversions, row by row. Each of them is
 * known by where it was made, and those in Python by their pickle (`PythonConversions`); whatever else there is, the
 * rows are unknown.
 */
object LocalRows {

  // an RDD that is gone takes its number along
  private val known = Collections.synchronizedMap(new WeakHashMap[RDD[_], Option[Long]])

  def apply(leaf: LeafNode): Option[Long] = leaf match {
    case r: LogicalRDD     => known.computeIfAbsent(r.rdd, _ => counted(leaf))
    case r: ExternalRDD[_] => known.computeIfAbsent(r.rdd, _ => counted(leaf))
    // until it is filled; then Spark has counted its rows
    case r: InMemoryRelation => scanned(r.cacheBuilder.cachedPlan).flatMap(rdd =>
        known.computeIfAbsent(rdd, _ => orUnknown(fromSpark(rdd)))
      )
    case _ => None
  }

  /** The RDD of which a plan only chooses columns. */
  @tailrec private def scanned(plan: SparkPlan): Option[RDD[_]] = plan match {
    case scan: RDDScanExec                                           => Some(scan.rdd)
    case _: ProjectExec | _: WholeStageCodegenExec | _: InputAdapter => scanned(plan.children.head)
    case _                                                           => None
  }

  private def counted(leaf: LeafNode): Option[Long] = orUnknown(leaf match {
    case r: LogicalRDD if !r.isStreaming => fromSpark(r.rdd)
    case r: ExternalRDD[_]               => parallelized(r.rdd).map(elements(_).map(_.size.toLong).sum)
    case _                               => None
  })

  private def orUnknown(count: => Option[Long]): Option[Long] =
    try count
    catch { case NonFatal(_) => None }

  private def fromSpark(rdd: RDD[_]): Option[Long] = rdd match {
    case m: MapPartitionsRDD[_, _] if madeBy(m, "createDataFrame at ") =>
      parallelized(m.firstParent[Any]).map(elements(_).map(_.size.toLong).sum)
    case m: MapPartitionsRDD[_, _] if madeBy(m, "applySchemaToPythonRDD at ") => fromPython(m.firstParent[Any])
    case _                                                                    => None
  }

  @tailrec private def fromPython(rdd: RDD[_]): Option[Long] = rdd match {
    case m: MapPartitionsRDD[_, _] if m.creationSite.shortForm.contains(" at SerDeUtil.scala:") =>
      fromPython(m.firstParent[Any])
    case p: PythonRDD if converts(p) => parallelized(p.firstParent[Any]).flatMap(pickled)
    case _                           => None
  }

  private def madeBy(rdd: RDD[_], how: String): Boolean = rdd.creationSite.shortForm.startsWith(how)

  private def parallelized(rdd: RDD[_]): Option[ParallelCollectionRDD[_]] = rdd match {
    case c: ParallelCollectionRDD[_] => Some(c)
    case _                           => None
  }

  private def elements(rdd: ParallelCollectionRDD[_]): Vector[scala.collection.Seq[Any]] =
    rdd.partitions.toVector.map {
      case p: ParallelCollectionPartition[_] => p.values
      case other                             => throw new IllegalStateException(s"a part of a collection: $other")
    }

  // ---- Python: batches of rows, each a pickled list ----

  /** Bytes of batches that are read to be counted: some milliseconds. */
  private val MostBytes = 1L << 20

  /**
   * All batches are counted where they are small. Else the first and the last one: pyspark fills each but the last one
   * up to the same number.
   */
  private def pickled(rdd: ParallelCollectionRDD[_]): Option[Long] = {
    val batches = elements(rdd).flatten.map(_.asInstanceOf[Array[Byte]])
    if (batches.map(_.length.toLong).sum <= MostBytes) Some(batches.map(size).sum)
    else if (batches.head.length.toLong + batches.last.length <= MostBytes)
      Some((batches.size - 1L) * size(batches.head) + size(batches.last))
    else None
  }

  private def size(batch: Array[Byte]): Long = Pickle(batch).map(_.value) match {
    case Some(rows: Pickle.Items) => rows.items.size.toLong
    case other                    => throw new IllegalStateException(s"a batch of rows: $other")
  }

  private def converts(rdd: PythonRDD): Boolean = {
    val field = classOf[PythonRDD].getDeclaredField("func")
    field.setAccessible(true)
    PythonConversions.only(field.get(rdd).asInstanceOf[PythonFunction].command.toArray)
  }
}
