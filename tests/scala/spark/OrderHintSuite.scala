package org.apache.spark.sql.dovetail

import dovetail.kernel.enumerate.Shape
import org.apache.spark.sql.catalyst.plans.logical.LeafNode
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.leaf.LeafNames
import org.apache.spark.sql.dovetail.report.GroupReport
import org.apache.spark.sql.dovetail.steer.OrderHint

/** Orders that users ask for: used if they are legal, otherwise ignored with a reason; the answer never changes. */
class OrderHintSuite extends StarSuite {
  private val from     = "FROM f JOIN a ON f.k1 = a.k JOIN b ON f.k2 = b.k JOIN c ON f.k3 = c.k WHERE c.w = 1"
  private val names    = Vector("f", "a", "b", "c")
  private val accepted = names.map(Vector(_))

  private def hinted(order: String): String            = s"SELECT /*+ DOVETAIL_ORDER('$order') */ f.v, a.w, b.w $from"
  private def groups(sql: String): Vector[GroupReport] = withoutIdempotenceCheck(traced(sql)._2.groups)
  private def order(g: GroupReport): String            = g.after.orElse(g.before).get.order

  test("every order that is asked for is the one that is used, with the same answer") {
    val plain = dovetail(on = false)(answer(s"SELECT f.v, a.w, b.w $from"))
    Seq("(((f a) b) c)", "((f c) (a b))", "((a c) (b f))", "(((c f) b) a)", "(((a b) c) f)").foreach { asked =>
      val sql = hinted(asked)
      val g   = groups(sql).head
      assert(g.reason.startsWith("the requested order"), g)
      assert(
        OrderHint.read(order(g), accepted).exists(found => OrderHint.read(asked, accepted).exists(_.sameJoins(found))),
        s"$asked: ${order(g)}"
      )
      assert(answer(sql) == plain, asked)
    }
  }

  test("a relation without a name is never meant, and a bucket gives its name to the files in its root") {
    val nameless = Vector(Vector("a"), Vector("b"), Vector("c", ""))
    assert(OrderHint.read("((a b) c)", nameless).isRight && OrderHint.read("((a b) )", nameless).isLeft)
    withDirectory { d =>
      withConf("fs.viewfs.mounttable.bucket.linkMergeSlash" -> d.toUri.toString) {
        val read   = spark.read.schema("id BIGINT").parquet("viewfs://bucket/")
        val leaves = read.queryExecution.analyzed.collectLeaves().collect { case l: LeafNode => l }
        assert(leaves.map(LeafNames.name) == Seq("bucket"))
      }
    }
  }

  test("an order that costs more than the written one is told so") {
    val cheap = s"SELECT count(*) FROM c JOIN f ON f.k3 = c.k JOIN a ON f.k1 = a.k JOIN b ON f.k2 = b.k WHERE c.w = 1"
    val g     = groups(cheap.replace("SELECT", "SELECT /*+ DOVETAIL_ORDER('((a b) f) c') */")).head
    assert(
      g.reason.matches(
        "the requested order; its estimated cost is [0-9]+\\.[0-9] times that of the written order"
      ),
      g.reason
    )
  }

  test("a setting does the same, for frames too; a hint goes before it") {
    withConf(DovetailConf.Order.key -> "((a b) f) c") {
      val g = groups(s"SELECT count(*) $from").head
      assert(
        OrderHint.read(order(g), accepted).exists(_.sameJoins(OrderHint.read("((a b) f) c", accepted).toOption.get)),
        g
      )
      val frame = spark.table("f").join(spark.table("a"), spark.table("f")("k1") === spark.table("a")("k")).join(
        spark.table("b"),
        spark.table("f")("k2") === spark.table(
          "b"
        )("k")
      )
      assert(frame.count() > 0)
      val over = groups(hinted("((f a) c) b")).head
      assert(
        OrderHint.read(order(over), accepted).exists(_.sameJoins(OrderHint.read("((f a) c) b", accepted).toOption.get)),
        over
      )
    }
  }

  test("an order of other relations, a wrong or a forbidden one: not used, and why") {
    Seq(
      "((f a) b)"       -> "it leaves out c",
      "((f a) b) c d"   -> "'d' is not one of f, a, b, c",
      "((f a) b) (c c)" -> "it names c twice",
      "((f a) b c"      -> "a bracket is not closed",
      "(f a) b) c"      -> "there is unexpected text at the end: ') c'",
      "((f a) nope) c"  -> "'nope' is not one of f, a, b, c"
    ).foreach { case (asked, why) =>
      val g = groups(hinted(asked)).head
      assert(g.reason.contains(s"the order '$asked' is not used: $why"), g.reason)
      assert(g.status == "reordered", "the search goes on without it")
    }
    // the null-supplied side of an outer join cannot come first
    val outer = "FROM f LEFT JOIN (a JOIN b ON a.k = b.k AND b.w = 1) ON f.k1 = a.k JOIN c ON f.k3 = c.k"
    val g     = groups(s"SELECT /*+ DOVETAIL_ORDER('((f a) b) c') */ count(*) $outer").head
    assert(g.reason.contains("outer or semi joins forbid it"), g.reason)
    assert(answer(s"SELECT /*+ DOVETAIL_ORDER('((f a) b) c') */ count(*) $outer") == dovetail(on =
      false
    )(answer(s"SELECT count(*) $outer")))
  }

  test("beside Spark's hints, in a subquery, in a common table expression, in any case; Spark warns of nothing") {
    val (_, warnings) = LogCapture("org.apache.spark.sql")(Seq(
      s"""SELECT /*+ BROADCAST(zz), dovetail_order("((f a) b) c") */ count(*) $from""",
      s"SELECT count(*) FROM (${hinted("((f a) b) c")}) x",
      s"SELECT 1 WHERE EXISTS (${hinted("((f a) b) c")} AND f.v > 0)"
    ).foreach { sql =>
      assert(groups(sql).exists(_.reason.startsWith("the requested order")), sql)
    })
    assert(!warnings.exists(_.contains("DOVETAIL_ORDER")), warnings)
  }

  test("names with brackets and spaces are read as explain writes them") {
    val aggregated = Vector("aggregate(a, b)", "aggregate(a, b)#2", "a").map(Vector(_))
    assert(OrderHint.read(
      "(aggregate(a, b)#2 a) aggregate(a, b)",
      aggregated
    ) == Right(Shape.Join(Shape.Join(Shape.Leaf(1), Shape.Leaf(2)), Shape.Leaf(0))))
    assert(OrderHint.read(
      "(A aggregate(a, b)) aggregate(a, b)#2",
      aggregated
    ) == Right(Shape.Join(Shape.Join(Shape.Leaf(2), Shape.Leaf(0)), Shape.Leaf(1))))
    assert(OrderHint.read("", accepted).isLeft && OrderHint.read("()", accepted).isLeft && OrderHint.read(
      "f a b c",
      accepted
    ).isRight)
  }

  test("an order names inputs by alias, or by table where that is clear") {
    val self = "FROM f s1 JOIN f s2 ON s1.k1 = s2.k1 JOIN a ON s1.k1 = a.k JOIN b z ON s2.k2 = b.k"
    val sql  = self.replace("b.k", "z.k")
    Seq("((s2 z) s1) a", "((S2 b) s1) a", "((f#2 z) f) a").foreach { asked =>
      val g = groups(s"SELECT /*+ DOVETAIL_ORDER('$asked') */ count(*) $sql AND a.w = 1").head
      assert(g.reason.startsWith("the requested order"), g)
      assert(order(g).contains("s2 z") || order(g).contains("z s2"), told(order(g)))
    }
    val unknown = groups(s"SELECT /*+ DOVETAIL_ORDER('((s3 z) s1) a') */ count(*) $sql").head
    assert(unknown.reason.contains("'s3' is not one of s1, s2, a, z"), unknown.reason)
    assert(unknown.relations.map(_.name) == Vector("s1", "s2", "a", "z"))
  }
}
