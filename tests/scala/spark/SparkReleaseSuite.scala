package org.apache.spark.sql.dovetail

import org.apache.spark.sql.catalyst.plans.logical.Join
import org.apache.spark.sql.dovetail.base.SparkRelease
import org.apache.spark.sql.dovetail.group.WronglyHashed

/** Faults of early releases of a Spark line. The suites run on a later release, so these tests name the release. */
class SparkReleaseSuite extends StarSuite {

  test("a release before another one of its line, with the names of vendors") {
    Seq("3.5.0", "3.5.2", "3.5.2-amzn-1", "3.5.1.3.5.7191000.0-78").foreach(v =>
      assert(SparkRelease.isBefore("3.5", 3, v), v)
    )
    Seq("3.5.3", "3.5.10", "3.5.10-amzn-0", "3.4.1", "4.0.0", "3.50.1", "3.5.x", "3.5.99999999999").foreach(v =>
      assert(!SparkRelease.isBefore("3.5", 3, v), v)
    )
  }

  test("outer joins with a condition beside their keys stay as written on Spark 3.5.0 to 3.5.2") {
    def stays(join: String, on: String, release: String): Boolean = {
      val plan  = spark.sql(s"SELECT f.v, a.w FROM f $join JOIN a ON $on").queryExecution.analyzed
      val stays = plan.collect { case j: Join => WronglyHashed(j, release) } == Seq(true)
      assert(WronglyHashed.note(plan, release).exists(_.contains(s"Spark $release")) == stays, "explain tells it")
      stays
    }
    val (keys, more) = ("f.k1 = a.k AND f.k2 <=> a.w", "f.k1 = a.k AND f.v > a.w")
    for (join <- Seq("LEFT", "RIGHT")) {
      assert(stays(join, more, "3.5.2") && !stays(join, keys, "3.5.2"), join)
      assert(!stays(join, more, "3.5.3") && !stays(join, more, "4.1.0"), join)
    }
    for (join <- Seq("INNER", "FULL")) assert(!stays(join, more, "3.5.2"), join)
  }
}
