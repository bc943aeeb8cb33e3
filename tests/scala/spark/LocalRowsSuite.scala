package org.apache.spark.sql.dovetail

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.plans.logical.LeafNode
import org.apache.spark.sql.dovetail.leaf.{LocalRows, Pickle}
import org.apache.spark.sql.types.{LongType, StructType}
import org.apache.spark.sql.{DataFrame, Encoders, Row}

/** Rows of parallelized collections. test_rows_of_local_data.py tests the collections that Python makes. */
class LocalRowsSuite extends StarSuite {

  private def rows(frame: DataFrame): Option[Long] = frame.queryExecution.analyzed.collectLeaves().collectFirst {
    case l: LeafNode => l
  }.flatMap(LocalRows(_))

  test("a collection that Spark only converts is counted, one that a function has changed is not") {
    val (context, schema) = (spark.sparkContext, new StructType().add("k", LongType))
    val seven             = context.parallelize((1L to 7L).map(Row(_)), 3)
    // this package lies under Spark's, so Spark does not find the caller by itself
    def frame(of: RDD[Row]): DataFrame = {
      context.setCallSite("createDataFrame at Program.scala:1")
      try spark.createDataFrame(of, schema)
      finally context.clearCallSite()
    }
    assert(rows(frame(seven)).contains(7L))
    assert(rows(frame(seven.flatMap(r => Seq(r, r)))).isEmpty)
    assert(rows(frame(seven.filter(_.getLong(0) > 3))).isEmpty)
    assert(rows(frame(seven.union(seven))).isEmpty)
    assert(rows(spark.range(5).toDF()).isEmpty)
  }

  test("a collection of which nobody knows that it stays as it is is not counted, and planning does not read it") {
    object Numbers extends scala.collection.immutable.Seq[Long] {
      var reads = 0

      override def apply(i: Int): Long      = i.toLong
      override def length: Int              = { reads += 1; 3 }
      override def iterator: Iterator[Long] = { reads += 1; Iterator(0L, 1L, 2L) }
    }
    val frame  = spark.createDataset(spark.sparkContext.parallelize(Numbers))(Encoders.scalaLong).toDF("k")
    val joined = frame.join(spark.range(9).toDF("k"), "k").join(spark.range(9).toDF("k"), "k")
    joined.queryExecution.executedPlan
    assert(rows(frame).isEmpty && Numbers.reads == 0)
    assert(joined.count() == 3L && Numbers.reads > 0)
  }

  test("a pickle: its collections by opcodes, none where one is not known or the end is missing") {
    // pickle.dumps(['ab', {'c': b'xy'}, 1.5, 300], 5)
    val pickle =
      "80059522000000000000005d94288c026162947d948c0163944302787994734" + "73ff80000000000004d2c01652e"
    val bytes = pickle.grouped(2).map(Integer.parseInt(_, 16).toByte).toArray
    assert(Pickle(bytes).map(_.value).collect { case list: Pickle.Items => list.items.size }.contains(4))
    assert(bytes.indices.forall(n => Pickle(bytes.take(n)).isEmpty))
    assert(Pickle("cos\nsystem\n.".getBytes).isEmpty)
    // a length beyond the end, and one that is negative
    assert(Pickle(Array('X'.toByte, -1, -1, -1, -1)).isEmpty)
    assert(Pickle(Array(0x8c.toByte, 9, 'a'.toByte)).isEmpty)
    // nothing to take off the stack, or nothing since the mark
    assert(Pickle(Array('0'.toByte, '.'.toByte)).isEmpty)
    assert(Pickle("N(0.".getBytes).isEmpty)
    // itself in itself: ]\x94h\x00a.
    assert(Pickle(Array(0x5d, 0x94, 'h'.toInt, 0, 'a'.toInt, '.'.toInt).map(_.toByte)).isDefined)
  }
}
