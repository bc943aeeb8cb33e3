package org.apache.spark.sql.dovetail

import org.apache.spark.sql.catalyst.expressions.{EqualTo, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.group.JoinGroup
import org.apache.spark.sql.dovetail.plan.{ReorderJoins, SparkBuildSide, SubplanMerging}
import org.apache.spark.sql.dovetail.predicates.Conjuncts
import org.apache.spark.sql.dovetail.sql.ProfileCommand
import org.apache.spark.sql.internal.SQLConf

/**
 * The rule's promises to the rest of Catalyst: it leaves other plans unchanged, keeps outputs, is idempotent and
 * deterministic, and Spark's own optimizations before and after it still happen.
 */
class RuleSuite extends StarSuite {
  private val star =
    "SELECT f.v, a.w, b.w, c.w FROM f JOIN a ON f.k1 = a.k JOIN b ON f.k2 = b.k JOIN c ON f.k3 = c.k WHERE c.w = 1"

  private def rule: ReorderJoins = new ReorderJoins(spark)

  // plans that stay as they are

  private def untouched(plan: LogicalPlan): Unit = assert(rule(plan) eq plan)

  test("a plan without joins is the very same plan") {
    untouched(incoming("SELECT k1, count(*) FROM f WHERE v > 3 GROUP BY k1"))
  }

  test("a plan of two relations is the very same plan") {
    untouched(incoming("SELECT count(*) FROM f JOIN a ON f.k1 = a.k WHERE a.w = 1"))
  }

  test("a plan whose groups have two relations each is the very same plan") {
    untouched(incoming(
      "SELECT count(*) FROM (SELECT k1, count(*) n FROM f JOIN a ON f.k1 = a.k GROUP BY k1) x LEFT JOIN (SELECT " +
        "f.k2, count(*) FROM f JOIN b ON f.k2 = b.k GROUP BY f.k2) y ON x.k1 = y.k2"
    ))
  }

  test("two relations with EXISTS, IN and a scalar subquery are the very same plan") {
    untouched(incoming(
      "SELECT count(*) FROM f JOIN a ON f.k1 = a.k WHERE EXISTS (SELECT 1 FROM b WHERE b.k = f.k2) AND f.k3 IN " +
        "(SELECT k FROM c) AND f.v > (SELECT min(w) FROM c)"
    ))
  }

  test("a good order is the very same plan") {
    untouched(
      incoming("SELECT f.v FROM f JOIN c ON f.k3 = c.k JOIN a ON f.k1 = a.k JOIN b ON f.k2 = b.k WHERE c.w = 1")
    )
  }

  test("beside more than three hundred relations, an outer join is an input as it was written") {
    def group(inner: Int) = {
      val others = (1 to inner).map(i => s" CROSS JOIN a r$i").mkString
      incoming(s"SELECT r0.w, l.w FROM a r0 LEFT JOIN b l ON r0.k = l.k$others").collectFirst { case JoinGroup(g) =>
        g
      }.get
    }
    val (small, large) = (group(3), group(300))
    assert(small.leaves.size == 5 && small.operators.size == 1)
    assert(large.leaves.size == 301 && large.operators.isEmpty)
  }

  test("switched off, the plan is the very same plan, and nothing is reported") {
    val plan = incoming(star)
    dovetail(on = false) {
      untouched(plan)
      assert(traced(star)._2.groups.isEmpty)
    }
  }

  test("a streaming plan is the very same plan") {
    val stream = spark.readStream.format("rate").load().selectExpr("CAST(value AS INT) AS k")
    stream.createOrReplaceTempView("ticks")
    withTables("ticks") {
      val plan = spark.sql(
        "SELECT * FROM ticks s JOIN a ON s.k = a.k JOIN b ON s.k = b.k JOIN c ON s.k = c.k WHERE c.w = 1"
      ).queryExecution.analyzed
      assert(plan.isStreaming)
      untouched(plan)
    }
  }

  test("a plan without a session's optimizer rules excluded is reordered, an excluded rule is not run") {
    assert(reordered(star))
    withConf("spark.sql.optimizer.excludedRules" -> classOf[ReorderJoins].getName)(assert(!reordered(star)))
  }

  // what the rule returns

  test("output attributes and their ids are kept, in order") {
    val queries = Seq(
      star,
      "SELECT c.w, f.* FROM f JOIN a ON f.k1 = a.k JOIN b ON f.k2 = b.k JOIN c ON f.k3 = c.k WHERE c.w = 1",
      "SELECT * FROM f, a, b, c WHERE f.k1 = a.k AND f.k2 = b.k AND f.k3 = c.k AND c.w = 1"
    )
    queries.foreach { sql =>
      val plan  = incoming(sql)
      val after = rule(plan)
      assert(after ne plan)
      assert(after.output == plan.output && after.output.map(_.exprId) == plan.output.map(_.exprId))
      assert(after.schema == plan.schema)
    }
  }

  test("the rule applied to its own result returns it") {
    val queries = Seq(
      star,
      "SELECT count(*) FROM f x JOIN f y ON x.k1 = y.k1 JOIN a ON y.k1 = a.k JOIN c ON y.k3 = c.k WHERE c.w = 1",
      s"SELECT q.v FROM ($star) q LEFT JOIN ($star) r ON q.v = r.v WHERE EXISTS ($star)",
      "SELECT count(*) FROM f, a, b, c WHERE f.k1 = a.k AND f.k2 = b.k AND c.w = 1"
    )
    queries.foreach { sql =>
      val once = rule(incoming(sql))
      assert(rule(once) eq once, sql)
    }
  }

  test("a digest of columns, which many programs make a key of, does not keep the joins as they are written") {
    for (digest <- Seq("sha1(f.v)", "sha2(concat_ws('|', f.k1, f.v), 256)", "crc32(CAST(f.v AS BINARY))")) {
      val sql = s"SELECT x.sk, b.w, c.w FROM (SELECT *, $digest AS sk FROM (SELECT k1, k2, k3, CAST(v AS STRING) v " +
        "FROM f) f) x JOIN a ON x.k1 = a.k JOIN b ON x.k2 = b.k JOIN c ON x.k3 = c.k WHERE c.w = 1"
      assert(reordered(sql), sql)
      sameAnswer(sql)
    }
  }

  test("every join of a reordered group carries the mark, and no strategy") {
    val joins = optimized(star).collect { case j: Join => j }
    assert(joins.size == 3 && joins.forall(j => JoinGroup.isMark(j.hint)))
  }

  test("implied equalities are used once: joins of n relations of one class hold n - 1 of them") {
    val queries = Seq(
      "SELECT count(*) FROM f JOIN a ON f.k1 = a.k JOIN b ON a.k = b.k JOIN c ON b.k = c.k WHERE c.w = 1",
      "SELECT count(*) FROM f JOIN a ON f.k1 = a.k JOIN b ON a.k = b.k AND f.k1 = b.k JOIN c ON b.k = c.k AND c.k = " +
        "f.k1 AND c.k = a.k WHERE c.w = 1"
    )
    queries.foreach { sql =>
      assert(reordered(sql))
      assert(equalities(optimized(sql)).size == 3, PlanText(optimized(sql)))
      sameAnswer(sql)
    }
  }

  private def equalities(plan: LogicalPlan): Seq[Expression] =
    plan.collect { case j: Join => j }.flatMap(_.condition.toSeq.flatMap(Conjuncts(_))).collect { case e: EqualTo => e }

  test("a session that forbids cross products gets none that it did not have") {
    withConf("spark.sql.crossJoin.enabled" -> "false", DovetailConf.MinGain.key -> "0") {
      Seq(
        "SELECT count(*) FROM f JOIN a ON f.k1 = a.k JOIN b ON f.k2 + a.w = b.k JOIN c ON c.k = f.k3 WHERE c.w = 1",
        "SELECT count(*) FROM f JOIN a ON f.k1 = a.k JOIN b ON f.k2 = b.k AND a.w + b.w + f.v > 9 JOIN c ON c.k + " +
          "a.w + b.w > 5 AND f.k3 = c.k WHERE c.w = 1",
        "SELECT count(*) FROM f JOIN a ON f.k1 = a.k OR f.k2 = a.w JOIN c ON c.k = f.k3 OR c.w > a.w WHERE c.w = 1 " +
          "AND f.v < 50",
        "SELECT count(*) FROM f JOIN a ON f.k1 = a.k CROSS JOIN c JOIN b ON b.k = c.k WHERE c.w = 1 AND f.v < 50"
      ).foreach(sameAnswer(_, reorders = false))
    }
  }

  test("a session that forbids cross products has refused what Spark refuses, and nothing that it takes") {
    withConf("spark.sql.crossJoin.enabled" -> "false", DovetailConf.MinGain.key -> "0") {
      Seq(
        "SELECT count(*) FROM f JOIN a ON f.k1 = a.k JOIN c ON c.w = 1",
        "SELECT count(*) FROM f LEFT JOIN a ON f.v < 9 JOIN b ON f.k2 = b.k JOIN c ON c.k = f.k3 AND a.w = c.w",
        "SELECT count(*) FROM (SELECT /*+ BROADCAST(a) */ a.k, b.k AS l FROM a JOIN b) x JOIN f ON f.k1 = x.k AND " +
          "f.k2 = x.l JOIN c ON c.k = f.k3",
        "SELECT count(*) FROM f JOIN c ON c.k = f.k3 WHERE EXISTS (SELECT 1 FROM a JOIN b WHERE a.k = f.k1 AND b.k = " +
          "f.k2)",
        "SELECT count(*) FROM f JOIN a ON f.k1 = a.k JOIN b ON (f.k2, a.w) IN (SELECT k, w FROM b) AND f.k2 = b.k " +
          "JOIN c ON c.k = f.k3 WHERE c.w = 1",
        "SELECT count(*) FROM f JOIN a ON (f.k1, a.k) IN (SELECT k, k FROM b) JOIN c ON c.k = f.k3 JOIN b ON b.k = " +
          "f.k2 WHERE c.w = 1",
        "SELECT /*+ DOVETAIL_ORDER('(((a b) f) c)') */ count(*) FROM f JOIN a ON f.k1 = a.k JOIN b ON f.k2 = b.k " +
          "JOIN c ON c.k = f.k3 WHERE c.w = 1"
      ).foreach { sql =>
        def told(on: Boolean) = dovetail(on)(scala.util.Try(answer(sql)).toEither.left.map(e =>
          e.getMessage.takeWhile(_ != '\n').takeWhile(_ != ':')
        ))
        assert(told(on = true) == told(on = false), sql)
      }
      val hinted =
        "SELECT /*+ DOVETAIL_ORDER('(((a b) f) c)') */ count(*) FROM f JOIN a ON f.k1 = a.k JOIN b ON f.k2 = b.k " +
          "JOIN c ON c.k = f.k3 WHERE c.w = 1"
      assert(traced(
        hinted
      )._2.groups.mkString.contains("it has a cross product, which spark.sql.crossJoin.enabled=false forbids"))
    }
  }

  test("planning again, and with other expression ids, gives the same plan") {
    val sql =
      s"SELECT x.v, count(*) FROM ($star) x JOIN f y ON x.v = y.v JOIN a ON y.k1 = a.k JOIN b ON y.k2 = b.k AND a.w " +
        "= b.w GROUP BY x.v"
    val first = optimized(sql)
    (1 to 5).foreach { _ =>
      (1 to 50).foreach(_ => spark.sql("SELECT 1 AS one").queryExecution.analyzed) // uses up ids
      val again = optimized(sql)
      assert(PlanText(again) == PlanText(first))
      assert(again.sameResult(first))
    }
  }

  test("copies of a subquery, which Spark makes of IN, leave no group alone, and are computed once") {
    val items = "SELECT a.k FROM a JOIN b ON a.k = b.k JOIN c ON b.k = c.k WHERE c.w = 1"
    Seq(
      s"SELECT f.v, b.w FROM f JOIN a ON f.k1 = a.k JOIN b ON f.k2 = b.k WHERE f.k1 IN ($items) AND b.w = 2",
      s"SELECT f.v, b.w FROM f JOIN a ON f.k1 = a.k JOIN b ON f.k1 = b.k WHERE f.k1 IN ($items) AND f.k2 IN (SELECT " +
        "k FROM c WHERE w = 2)",
      s"WITH x AS ($items) SELECT count(*) FROM f JOIN a ON f.k1 = a.k JOIN b ON f.k2 = b.k WHERE f.k1 IN (SELECT k " +
        "FROM x) AND f.k2 NOT IN (SELECT k FROM x)",
      "SELECT f.v, EXISTS (SELECT 1 FROM c WHERE c.k = f.k1 AND c.w = 1) FROM f JOIN a ON f.k1 = a.k JOIN b ON f.k2 " +
        s"= b.k WHERE f.k1 IN ($items) AND b.w = 2"
    ).foreach { sql =>
      val groups = withoutIdempotenceCheck(traced(sql)._2.groups)
      assert(
        groups.nonEmpty && groups.forall(_.status != "left_alone"),
        s"$sql: ${groups.map(g => g.status -> g.reason)}"
      )
      assert(answer(sql) == dovetail(on = false)(answer(sql)), sql)
      withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1", "spark.sql.adaptive.enabled" -> "false") {
        def reused        = "ReusedExchange".r.findAllIn(physical(sql).treeString).size
        val (plain, ours) = (dovetail(on = false)(reused), reused)
        assert(ours >= plain, s"exchanges reused in $sql: $plain without, $ours with Dovetail")
      }
    }
  }

  test("whether Spark computes several groupings together is known on each line") {
    assert(SubplanMerging.exists == (spark.version >= "4.2"))
  }

  test("two bodies of one common table expression come out equal, and their exchange is reused") {
    val sql =
      """WITH s AS (SELECT a.w, b.k, sum(f.v) t FROM f JOIN a ON f.k1 = a.k JOIN b ON f.k2 = b.k JOIN c ON f.k3 = c.k
                |  WHERE c.w = 1 GROUP BY a.w, b.k)
                |SELECT x.w, x.t, y.t FROM s x JOIN s y ON x.k = y.k WHERE x.t < y.t""".stripMargin
    withConf("spark.sql.adaptive.enabled" -> "false", "spark.sql.autoBroadcastJoinThreshold" -> "-1") {
      def reused = "ReusedExchange".r.findAllIn(physical(sql).treeString).size
      assert(reordered(sql))
      val (plain, ours) = (dovetail(on = false)(reused), reused)
      assert(plain > 0 && ours >= plain, s"exchanges reused: $plain without, $ours with Dovetail")
    }
    sameAnswer(sql)
  }

  // next to Spark's own reordering

  test("Spark's cost-based reordering does not undo an order, nor touch one that was kept") {
    withConf("spark.sql.cbo.enabled" -> "true", "spark.sql.cbo.joinReorder.enabled" -> "true") {
      val spark = dovetail(on = false)(ProfileCommand.orders(optimized(star)))
      Seq("0" -> "reordered", "1" -> "kept").foreach { case (minGain, status) =>
        withConf(DovetailConf.MinGain.key -> minGain) {
          val (execution, trace) = traced(star)
          val group              = trace.groups.head
          val decided            = (group.after orElse group.before).get.order
          assert(group.status == status)
          assert(ProfileCommand.orders(execution.optimizedPlan) == Seq(decided))
          if (status == "kept") assert(Seq(decided) != spark, "Spark would keep this order too: nothing is tested")
        }
      }
      sameAnswer(star)
    }
  }

  test("NOT IN: the size up to which Spark makes a hash table is that of its version") {
    val key                                              = "spark.sql.optimizeNullAwareAntiJoin.broadcastThreshold"
    def limit(threshold: String, set: (String, String)*) =
      withConf(("spark.sql.autoBroadcastJoinThreshold" -> threshold) +: set: _*)(
        SparkBuildSide.notInLimit(spark.sessionState.conf)
      )
    if (SQLConf.containsConfigKey(key)) {
      assert(limit("100").isEmpty && limit("100", key -> "-1").isEmpty)
      assert(limit("100", key -> "0").contains(100L) && limit("-1", key -> "1k").contains(1024L))
    } else assert(limit("100") == (if (spark.version.startsWith("4.2.")) Some(100L) else None))
  }
}
