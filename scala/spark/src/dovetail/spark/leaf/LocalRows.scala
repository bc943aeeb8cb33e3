package org.apache.spark.sql.dovetail.leaf

import java.lang.reflect.Field
import java.util.{Collections, WeakHashMap}

import scala.annotation.tailrec
import scala.util.control.NonFatal

import org.apache.spark.api.python.{PythonFunction, PythonRDD}
import org.apache.spark.rdd.{MapPartitionsRDD, ParallelCollectionRDD, RDD}
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
import org.apache.spark.sql.types.DecimalType

/**
 * Counts the rows of data that a program has on the driver and passes to Spark as an RDD, whose size Spark does not
 * know: `createDataFrame` of a list, of a parallelized collection or, without Arrow, of a pandas DataFrame; in Python
 * also `toDF` of a parallelized collection.
 *
 * The rows are counted in the collection itself. No job runs, and no user function. So an RDD is counted only if there
 * is nothing but Spark's own row-by-row conversions between it and the collection. Each conversion is recognized by its
 * creation site, and those in Python by their pickle (`PythonConversions`). If there is anything else, the number of
 * rows is unknown.
 */
object LocalRows {

  /** @param converts whether the workers verify or change the rows, and may throw at one */
  final private case class Local(rows: Long, converts: Boolean)

  // weak keys: the count of an RDD is removed with it
  private val known = Collections.synchronizedMap(new WeakHashMap[RDD[_], Option[Local]])

  def apply(leaf: LeafNode): Option[Long] = local(leaf).map(_.rows)

  /**
   * Whether reading the leaf may fail in the conversion of its rows, which are on the driver. The rows of a local list
   * in Python are free of that, because pyspark verifies them on the driver; only a decimal may have more digits than
   * its type. All others are verified in the workers: Python objects in an RDD, and rows of a program in Scala.
   */
  def mayFail(leaf: LeafNode): Boolean = leaf match {
    case r: LogicalRDD => local(r).exists(_.converts || r.schema.existsRecursively(_.isInstanceOf[DecimalType]))
    case _             => false
  }

  private def local(leaf: LeafNode): Option[Local] = leaf match {
    case r: LogicalRDD     => known.computeIfAbsent(r.rdd, _ => counted(leaf))
    case r: ExternalRDD[_] => known.computeIfAbsent(r.rdd, _ => counted(leaf))
    // if the cache is not filled yet; after that, Spark has counted its rows
    case r: InMemoryRelation => scanned(r.cacheBuilder.cachedPlan).flatMap(rdd =>
        known.computeIfAbsent(rdd, _ => orUnknown(fromSpark(rdd)))
      )
    case _ => None
  }

  /** The RDD that a plan reads if the plan does no more than select columns. */
  @tailrec private def scanned(plan: SparkPlan): Option[RDD[_]] = plan match {
    case scan: RDDScanExec                                           => Some(scan.rdd)
    case _: ProjectExec | _: WholeStageCodegenExec | _: InputAdapter => scanned(plan.children.head)
    case _                                                           => None
  }

  private def counted(leaf: LeafNode): Option[Local] = orUnknown(leaf match {
    case r: LogicalRDD if !r.isStreaming => fromSpark(r.rdd)
    case r: ExternalRDD[_]               => collection(r.rdd, converts = false)
    case _                               => None
  })

  private def orUnknown(count: => Option[Local]): Option[Local] =
    try count
    catch { case NonFatal(_) => None }

  private def collection(rdd: RDD[_], converts: Boolean): Option[Local] =
    parallelized(rdd).flatMap(values(_)).map(all => Local(all.size.toLong, converts))

  private def fromSpark(rdd: RDD[_]): Option[Local] = rdd match {
    case m: MapPartitionsRDD[_, _] if madeBy(m, "createDataFrame at ") =>
      collection(m.firstParent[Any], converts = true)
    case m: MapPartitionsRDD[_, _] if madeBy(m, "applySchemaToPythonRDD at ") => fromPython(m.firstParent[Any])
    case _                                                                    => None
  }

  @tailrec private def fromPython(rdd: RDD[_]): Option[Local] = rdd match {
    case m: MapPartitionsRDD[_, _] if m.creationSite.shortForm.contains(" at SerDeUtil.scala:") =>
      fromPython(m.firstParent[Any])
    case p: PythonRDD => conversion(p).flatMap(c =>
        parallelized(p.firstParent[Any]).flatMap(pickled).map(Local(_, c.mayFail))
      )
    case _ => None
  }

  private def madeBy(rdd: RDD[_], how: String): Boolean = rdd.creationSite.shortForm.startsWith(how)

  private def parallelized(rdd: RDD[_]): Option[ParallelCollectionRDD[_]] = rdd match {
    case c: ParallelCollectionRDD[_] => Some(c)
    case _                           => None
  }

  /**
   * The values of a collection, if no program can change them any more. Until a job runs, a program may change a
   * mutable collection, and a lazy one would run its functions. Asking the RDD for its parts would copy the values.
   *
   * @param ours whether Spark itself made the collection, so that no program refers to it
   */
  private def values(rdd: ParallelCollectionRDD[_], ours: Boolean = false): Option[scala.collection.Seq[Any]] =
    Data.get(rdd) match {
      case l: List[_]                                  => Some(l)
      case s: scala.collection.immutable.IndexedSeq[_] => Some(s)
      case s: scala.collection.IndexedSeq[_] if ours   => Some(s)
      case _                                           => None
    }

  private lazy val Data       = hidden(classOf[ParallelCollectionRDD[_]], "data")
  private lazy val FunctionOf = hidden(classOf[PythonRDD], "func")

  private def hidden(of: Class[_], name: String): Field = {
    val field = of.getDeclaredField(name)
    field.setAccessible(true)
    field
  }

  // ---- Python: batches of rows, each a pickled list ----

  /** Limit of the bytes of batches that are read to count their rows: some milliseconds. */
  private val MostBytes = 1L << 20

  /**
   * Counts the rows of all batches if these are small. Otherwise it counts only the first and the last batch, because
   * pyspark puts the same number of rows into each batch but the last one.
   */
  private def pickled(rdd: ParallelCollectionRDD[_]): Option[Long] = values(rdd, ours = true).flatMap { values =>
    val batches = values.map(_.asInstanceOf[Array[Byte]])
    if (batches.isEmpty) Some(0L)
    else if (batches.map(_.length.toLong).sum <= MostBytes) Some(batches.map(size).sum)
    else if (batches.head.length.toLong + batches.last.length <= MostBytes)
      Some((batches.size - 1L) * size(batches.head) + size(batches.last))
    else None
  }

  private def size(batch: Array[Byte]): Long = Pickle(batch).map(_.value) match {
    case Some(rows: Pickle.Items) => rows.items.size.toLong
    case other                    => throw new IllegalStateException(s"a batch of rows: $other")
  }

  private def conversion(rdd: PythonRDD): Option[PythonConversions] =
    PythonConversions(FunctionOf.get(rdd).asInstanceOf[PythonFunction].command.toArray)
}
