package org.apache.spark.sql.dovetail

import java.util.concurrent.atomic.AtomicInteger

import scala.collection.mutable

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{IsNotNull, ScalarSubquery}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Union}
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.deadline.{ListedFiles, SharedFileIndex}
import org.apache.spark.sql.dovetail.plan.SameFiles
import org.apache.spark.sql.execution.datasources.{
  FileIndex,
  HadoopFsRelation,
  LogicalRelation,
  PartitioningAwareFileIndex,
  PartitionPath,
  PartitionSpec
}
import org.apache.spark.sql.types.{IntegerType, StructType}

/** One list of files for all reads of a table in a query: which reads share it, when it is made, and what it costs. */
class SharedFilesSuite extends DovetailSuite {

  /** An index with one file in each directory. It counts how often somebody looks at the path of a file. */
  final private class Directories(var size: Int) extends PartitioningAwareFileIndex(spark, Map.empty, None) {
    val looks = new AtomicInteger

    private def directory(i: Int) = new Path(s"/data/day=$i")
    private def file(i: Int)      =
      new FileStatus(10L, false, 1, 10L, 0L, new Path(directory(i), "part.parquet")) {
        override def getPath: Path = { looks.incrementAndGet(); super.getPath }
      }

    override def partitionSpec(): PartitionSpec =
      PartitionSpec(
        new StructType().add("day", IntegerType),
        (0 until size).map(i => PartitionPath(InternalRow(i), directory(i)))
      )
    override def rootPaths: Seq[Path] = Seq(new Path("/data"))
    override def refresh(): Unit      = ()

    override protected def leafFiles: mutable.LinkedHashMap[Path, FileStatus] =
      mutable.LinkedHashMap((0 until size).map(i => new Path(directory(i), "part.parquet") -> file(i)): _*)
    override protected def leafDirToChildrenFiles: Map[Path, Array[FileStatus]] =
      (0 until size).map(i => directory(i) -> Array(file(i))).toMap
  }

  test("listing many partitions looks at each file a few times") {
    val many   = new Directories(500)
    val shared = new SharedFileIndex(many, spark)
    assert(shared.listFiles(Nil, Nil).map(_.files.size) == Seq.fill(500)(1))
    shared.listFiles(Nil, Nil)
    assert(many.looks.get < 10 * 500)
  }

  test("work that only looks at files does not choose those that the query will read") {
    val growing = new Directories(1)
    val shared  = new SharedFileIndex(growing, spark)
    assert(ListedFiles(shared).get.size == 1 && ListedFiles.atHand(shared).get.size == 1)
    growing.size = 2
    assert(shared.listFiles(Nil, Nil).size == 2)
    growing.size = 3
    assert(shared.listFiles(Nil, Nil).size == 2 && ListedFiles.atHand(shared).get.size == 3)
  }

  private def locations(plan: LogicalPlan): Vector[FileIndex] =
    plan.collectWithSubqueries { case r: LogicalRelation => r.relation }.collect { case f: HadoopFsRelation =>
      f.location
    }.toVector

  /** Plans of three reads of the same files, each with a list of its own, and of a read of another table. */
  private def withReads[A](body: (LogicalPlan, LogicalPlan, LogicalPlan, LogicalPlan) => A): A = withDirectory { d =>
    Seq("same", "other").foreach(t => spark.range(9).write.parquet(d.resolve(t).toString))
    def read(t: String) = spark.read.parquet(d.resolve(t).toString).queryExecution.analyzed
    val one             = read("same")
    body(one, read("same"), read("same"), read("other"))
  }

  test("all reads of a table that is read once more share its list, equal lists stay equal") {
    withReads { (one, two, _, other) =>
      val before = Union(Seq(one, two, other))
      assert(locations(SameFiles(spark, before, before)) == locations(before))
      val found = locations(SameFiles(spark, before, Union(Seq(one, two, other, one))))
      assert(found.map(_.isInstanceOf[SharedFileIndex]) == Vector(true, true, false, true))
      assert((found(0) eq found(3)) && found(0) == found(1) && !(found(0) eq found(1)))
      assert(found(0).hashCode == found(1).hashCode && found(2) == locations(other).head)
    }
  }

  test("a query uses the list of its subquery, which was planned before it") {
    withReads { (one, two, three, _) =>
      val inner                    = SameFiles(spark, one, Union(Seq(one, one)))
      val second                   = SameFiles(spark, one, Union(Seq(one, one)))
      def over(plan: LogicalPlan*) =
        Filter(IsNotNull(ScalarSubquery(inner)), Filter(IsNotNull(ScalarSubquery(second)), Union(plan :+ two)))
      val found = locations(SameFiles(spark, over(one), over(one, one, three)))
      assert(found.size == 8 && found.forall(_ == found.head))
      val lists = found.collect { case s: SharedFileIndex => s }
      assert(lists.size == 8)
      val ofOne = lists.filter(_.source eq locations(one).head)
      assert(ofOne.size == 6 && ofOne.forall(_ eq ofOne.head))
      assert((locations(inner) ++ locations(second)).exists(_ eq ofOne.head), "a list that a subquery has already")
    }
  }

  test("two lists of one directory, read before and after a file came: their reads stay apart") {
    withDirectory { d =>
      def write(first: Int, last: Int) =
        spark.range(first, last).selectExpr("id AS k", "id AS x", "id AS y").write.mode("append").parquet(s"$d/t")
      write(0, 1000)
      val old = spark.read.parquet(s"$d/t")
      write(5000, 6000)
      val now = spark.read.parquet(s"$d/t")
      val f   = spark.range(1000).selectExpr("id AS a", "id + 5000 AS b")
      f.write.parquet(s"$d/f")
      old.createOrReplaceTempView("old")
      now.createOrReplaceTempView("now")
      spark.read.parquet(s"$d/f").createOrReplaceTempView("f")
      withTables("old", "now", "f")(withConf(
        DovetailConf.ReducersAlways.key        -> "true",
        "spark.sql.autoBroadcastJoinThreshold" -> "100"
      )(for (joins <- Seq("JOIN old ON a = old.k JOIN now ON b = now.k", "JOIN now ON b = now.k JOIN old ON a = old.k"))
        sameAnswer(s"SELECT count(*), sum(old.x), sum(now.y) FROM f $joins", reorders = false)))
      // one listing is asked for as often as there are reads, so the same files count as the same table
      val lists = Seq(old, now, spark.read.parquet(s"$d/t")).map(r => new SharedFileIndex(indexOf(r), spark))
      assert(lists(0) != lists(1) && lists(1) == lists(2) && lists(1).hashCode == lists(2).hashCode)
    }
  }

  private def indexOf(rows: DataFrame): PartitioningAwareFileIndex =
    locations(rows.queryExecution.analyzed).collectFirst { case files: PartitioningAwareFileIndex => files }.get
}
