package org.apache.spark.sql.dovetail

import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide}
import org.apache.spark.sql.catalyst.plans.LeftOuter
import org.apache.spark.sql.dovetail.report.Trace
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.joins.{BroadcastNestedLoopJoinExec, CartesianProductExec}

/** Joins without an equality in new orders: which side Spark copies, and that it fits into memory. */
class NestedLoopSuite extends DovetailSuite with SuiteTables {
  override def beforeAll(): Unit = {
    super.beforeAll()
    def one(name: String, columns: String, rows: Int): Unit = table(name, s"SELECT $columns FROM range(0, $rows, 1, 1)")
    one("few", "CAST(id AS INT) k, CAST(id * 40 AS INT) x", 200)
    one("flags", "CAST(id AS INT) k, CAST(id % 100 AS INT) flag, sha2(CAST(id AS STRING), 256) noise", 2000)
    one("wide", "CAST(id AS INT) lo, CAST(id + 60 AS INT) hi, sha2(CAST(id AS STRING), 256) p", 8000)
    one("packed", "CAST(id % 150 AS INT) k, CAST(id AS INT) ts, repeat('x', 20000) t", 150)
    one("tiny", "CAST(id AS INT) k, CAST(id AS INT) w", 150)
    one(
      "spans",
      "CAST(id AS INT) lo, CAST(id + 5 AS INT) hi, CAST(id AS INT) id, sha2(CAST(id AS STRING), 256) p",
      2000
    )
    def many(name: String, columns: String, rows: Int): Unit = table(name, s"SELECT $columns FROM range($rows)")
    many("loose_a", "CAST(id % 10 AS INT) k, CAST(id % 10007 AS INT) c, CAST(id * 5 AS INT) x", 200000)
    many("loose_b", "CAST(id % 10 AS INT) k, CAST(id % 4000 AS INT) j, CAST(id AS INT) v", 200000)
    many("loose_c", "CAST(id % 4000 AS INT) j, CAST(id % 1000 AS INT) y", 40000)
    many("heavy", "CAST(id % 4000 AS INT) j, CAST(id AS INT) v, sha2(CAST(id AS STRING), 256) noise", 120000)
    withConf("spark.dovetail.privateColumns" -> "loose_a.c")(
      tables.foreach(t => spark.sql(s"DOVETAIL ANALYZE TABLE $t").collect())
    )
  }

  private def withThreshold[A](bytes: Long)(body: => A): A = withConf(
    "spark.sql.autoBroadcastJoinThreshold" -> bytes.toString,
    "spark.sql.adaptive.enabled"           -> "false",
    "spark.dovetail.reorder.minGain"       -> "0"
  )(body)

  /** The tables of which nested loops copy the rows. */
  private def copied(plan: SparkPlan): Set[String] = plan.collect { case j: BroadcastNestedLoopJoinExec =>
    val text = (if (j.buildSide == BuildLeft) j.left else j.right).toString
    tables.filter(t => text.contains(s"default.$t["))
  }.flatten.toSet

  private val outer = "SELECT count(*), count(c.p) FROM few a LEFT JOIN wide c ON a.x BETWEEN c.lo AND c.hi " +
    "JOIN flags b ON a.k = b.k WHERE b.flag = 1"

  test("an outer join whose left side is copied as written: a new order does not copy the right side instead") {
    // files of few are smaller, those of flags and wide larger; wide takes more than 128 thresholds in memory
    withThreshold(4000L) {
      assert(dovetail(on = false)(copied(physical(outer))) == Set("few"))
      assert(copied(physical(outer)) == Set("few"), told(traced(outer)._2.groups.map(_.reason)))
      sameAnswer(outer, reorders = false)
    }
  }

  test("if the right side fits, it is the one that is copied, whatever Spark's sizes are") {
    withThreshold(20000L) {
      val sides = physical(outer).collect { case j: BroadcastNestedLoopJoinExec => (j.joinType, j.buildSide) }
      assert(sides == Seq[(Any, BuildSide)](LeftOuter -> BuildRight))
      assert(dovetail(on = false)(copied(physical(outer))) == Set("few"))
      sameAnswer(outer)
    }
  }

  test("an input of few bytes on disk and many in memory is not copied by a nested loop of a new order") {
    val sql = "SELECT count(*), max(p.t) FROM packed p JOIN tiny t ON p.k = t.k JOIN spans x " +
      "ON p.ts BETWEEN x.lo AND x.hi WHERE x.id = 7"
    withThreshold(20000L) {
      assert(spark.table("packed").queryExecution.optimizedPlan.stats.sizeInBytes < 20000)
      val plan = physical(sql)
      assert(!copied(plan).contains("packed"), plan)
      sameAnswer(sql, reorders = false)
    }
  }

  test("an inner join without an equality: its smaller side is copied, and no new order makes a Cartesian product") {
    val sql = "SELECT count(*), sum(a.x) FROM wide c JOIN few a ON a.x BETWEEN c.lo AND c.hi JOIN flags b " +
      "ON a.k = b.k WHERE b.flag = 1"
    def products(plan: SparkPlan) = plan.collect { case p: CartesianProductExec => p }.size
    withThreshold(20000L) {
      val plan = physical(sql)
      assert(products(plan) == 0 && copied(plan).subsetOf(Set("few", "flags")), plan)
      sameAnswer(sql)
    }
    // the written order has a product
    withThreshold(100L)(assert(products(physical(sql)) <= dovetail(on = false)(products(physical(sql)))))
  }

  /** The nested loops of the plans that were chosen, as their relations. */
  private def loops(trace: Trace): Seq[Set[String]] =
    trace.groups.flatMap(_.joins).filter(_.method == "nested loop").map(_.relations.toSet)

  private val triangle = "SELECT count(*), sum(b.v) FROM loose_b b JOIN loose_a a ON a.k = b.k " +
    "JOIN loose_c c ON c.j = b.j AND a.x < c.y WHERE a.c = 5"

  test("a loop over inputs that may have far more rows than estimated is not taken, and explain says why") {
    withThreshold(1L << 20) {
      // nothing is known of a.c but the number of its values
      withConf("spark.dovetail.sample.counts" -> "false", "spark.dovetail.sample.files" -> "false") {
        val trace = traced(triangle)._2
        assert(loops(trace).isEmpty, trace.groups.map(_.reason))
        assert(trace.groups.nonEmpty && trace.groups.forall(_.reason.contains(
          "the join of c with a would compare all pairs of their rows, about 40,000 times 20 by the estimates, but " +
            "possibly 40,000 times 200,000"
        )))
      }
      // the rows with a.c = 5 are read
      assert(loops(traced(triangle)._2) == Seq(Set("a", "c")), told(traced(triangle)._2.groups))
      sameAnswer(triangle)
    }
  }

  test("instead of an order with such a loop, another one is taken if it saves enough") {
    val sql = triangle.replace("WHERE", "JOIN flags f ON b.j = f.k WHERE f.flag < 50 AND")
    withThreshold(1L << 20)(
      withConf("spark.dovetail.sample.counts" -> "false", "spark.dovetail.sample.files" -> "false") {
        val trace = traced(sql)._2
        assert(
          trace.groups.nonEmpty && trace.groups.forall(g =>
            g.status == "reordered" && g.reason.contains(
              "the cheapest order is not taken: the join of c, f with a would"
            )
          ),
          trace.groups.map(_.reason)
        )
        assert(loops(trace).isEmpty)
        sameAnswer(sql)
      }
    )
  }

  test("a cost model without a price for loops adds none") {
    def pairs(plan: SparkPlan) = plan.collect {
      case p: CartesianProductExec        => p
      case j: BroadcastNestedLoopJoinExec => j
    }
    withConf("spark.dovetail.cost.model" -> "cardWeight")(
      for {
        (threshold, why) <- Seq(
          4000L      -> "neither of them may be broadcast, and there is no equality",
          (1L << 20) -> "has no equality, and the cost model has no price for it"
        )
      } withThreshold(threshold) {
        assert(pairs(physical(triangle)).isEmpty, s"threshold $threshold")
        val reasons = traced(triangle)._2.groups.map(_.reason)
        assert(reasons.nonEmpty && reasons.forall(_.contains(why)), reasons)
      }
    )
  }

  test("a loop over a table of one small file is priced as one task") {
    val sql = "SELECT count(*) FROM wide c JOIN few a ON a.x BETWEEN c.lo AND c.hi JOIN flags b ON a.k = b.k"
    // without a cost of opening, Spark splits the file among all tasks
    def pairs(opening: String) = withThreshold(1L << 20)(withConf("spark.sql.files.openCostInBytes" -> opening)(
      traced(sql)._2.groups.flatMap(_.joins).filter(_.method == "nested loop").map(_.cost.hash)
    ))
    val (one, split) = (pairs("4m"), pairs("0"))
    assert(one.nonEmpty && one.size == split.size)
    one.zip(split).foreach { case (o, s) => assert(math.abs(o / s - 2.0) < 0.01, s"$o and $s") }
  }

  test("a JSON table without a known bound, which Spark broadcasts: its loop may move to another place") {
    val sql = "SELECT count(*) FROM heavy b JOIN spans_json s ON b.v BETWEEN s.lo AND s.hi JOIN flags f ON b.j = f.k " +
      "WHERE f.flag < 50"
    withTables("spans_json") {
      spark.sql(
        "CREATE TABLE spans_json USING json AS SELECT id lo, id + 5 hi, sha2(CAST(id AS STRING), 256) p " +
          "FROM range(0, 12000, 1, 1)"
      )
      val size = spark.table("spans_json").queryExecution.optimizedPlan.stats.sizeInBytes
      assert(size > (1L << 20) && size < (2L << 20))
      withThreshold(2L << 20) {
        val trace = traced(sql)._2
        assert(trace.groups.nonEmpty && trace.groups.forall(_.status == "reordered"), trace.groups.map(_.reason))
        assert(loops(trace).forall(_ == Set("b", "s", "f")))
        assert(trace.groups.head.relations.find(_.name == "s").flatMap(_.rows).exists(_.upper >= 1e30))
        val sides = physical(sql).collect { case j: BroadcastNestedLoopJoinExec =>
          (if (j.buildSide == BuildLeft) j.left else j.right).toString.contains("spans_json")
        }
        assert(sides == Seq(true))
      }
    }
  }
}
