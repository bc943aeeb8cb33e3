package org.apache.spark.sql.dovetail.leaf

import java.util.{Collections, WeakHashMap}

import scala.annotation.tailrec
import scala.util.control.NonFatal

import net.razorvine.pickle.Unpickler
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
 * `createDataFrame` of a list or, without Arrow, of a pandas frame; of a parallelized collection.
 *
 * The rows are counted where they are, in the collection. No job runs, and no function of the user's. So only an RDD is
 * counted between which and the collection there is nothing but Spark's own conversions, row by row. Each of them is
 * known by where it was made, and the one in Python by the names in its pickle; whatever else there is, the rows are
 * unknown.
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
    case p: PythonRDD if reserializes(p) => parallelized(p.firstParent[Any]).flatMap(pickled)
    case _                               => None
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

  /** Bytes of batches that are unpickled to be counted: some milliseconds. */
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

  private def size(batch: Array[Byte]): Long = new Unpickler().loads(batch) match {
    case list: java.util.List[_] => list.size.toLong
    case array: Array[_]         => array.length.toLong
    case other                   => throw new IllegalStateException(s"a batch of rows: $other")
  }

  /** The function is pyspark's own that hands on what it reads (`RDD._reserialize`), and no other one is in it. */
  private def reserializes(rdd: PythonRDD): Boolean = {
    val field = classOf[PythonRDD].getDeclaredField("func")
    field.setAccessible(true)
    val command = field.get(rdd).asInstanceOf[PythonFunction].command.toArray
    PickledStrings(command).exists { strings =>
      strings.contains(Reserialize) && strings.forall(s => Known(s) || isFileOfRdds(s))
    }
  }

  private val Reserialize = "RDD._reserialize.<locals>.<lambda>"

  private def isFileOfRdds(text: String): Boolean = {
    val path = text.replace('\\', '/')
    path.endsWith("/pyspark/core/rdd.py") || path.endsWith("/pyspark/rdd.py")
  }

  /**
   * All that cloudpickle says of `rdd.map(lambda x: x)` in pyspark's own file, by pyspark 3.5 to 4.3. A function of the
   * user's has names of its own: of itself, its file, and its module.
   */
  private val Known: Set[String] = Set(
    Reserialize,
    "<lambda>",
    "x",
    "map",
    "func",
    "RDD.map.<locals>.func",
    "f",
    "_",
    "iterator",
    "fail_on_stopiteration",
    // modules and classes
    "pyspark",
    "pyspark.core",
    "pyspark.core.rdd",
    "pyspark.rdd",
    "pyspark.util",
    "pyspark.serializers",
    "typing",
    "builtins",
    "_operator",
    "BatchedSerializer",
    "AutoBatchedSerializer",
    "CloudPickleSerializer",
    "CPickleSerializer",
    "PickleSerializer",
    "serializer",
    "allowed_names",
    "batchSize",
    "bestSize",
    // types in annotations
    "int",
    "Iterable",
    "T",
    "U",
    "return",
    "getattr",
    "getitem",
    // how cloudpickle writes a function
    "pyspark.cloudpickle.cloudpickle",
    "pyspark.cloudpickle.cloudpickle_fast",
    "pyspark.cloudpickle",
    "_make_function",
    "_function_setstate",
    "_builtin_type",
    "CodeType",
    "_make_cell",
    "_make_empty_cell",
    "_cloudpickle_submodules",
    "subimport",
    "__package__",
    "__name__",
    "__file__",
    "__qualname__",
    "__annotations__",
    "__kwdefaults__",
    "__defaults__",
    "__module__",
    "__doc__",
    "__closure__",
    "__globals__",
    "__type_params__"
  )
}
