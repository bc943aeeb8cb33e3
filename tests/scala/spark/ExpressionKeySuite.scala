package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.catalyst.expressions.{BindReferences, Expression}
import org.apache.spark.sql.catalyst.plans.logical.Filter
import org.apache.spark.sql.catalyst.trees.TreeNode
import org.apache.spark.sql.dovetail.DovetailSuite

/** Keys of caches that are made of expressions: equal for equal expressions, and without the text of the query. */
class ExpressionKeySuite extends DovetailSuite {

  private def condition(where: String, comment: String = ""): Expression = {
    val plan = spark.sql(
      s"SELECT /* $comment */ * FROM VALUES (1, 'x', 2L, CAST('b' AS BINARY)) AS t(a, s, l, b) WHERE $where"
    ).queryExecution.analyzed
    val filter = plan.collectFirst { case f: Filter => f }.get
    BindReferences.bindReference[Expression](filter.condition, filter.child.output)
  }

  private val conditions = Seq(
    "a = 1",
    "a = 2",
    "a < 1",
    "l = 1",
    "l = 2",
    "s = '1'",
    "a IN (1, 2, 3)",
    "a IN (1, 2)",
    "s LIKE 'x%y_z'",
    "s LIKE 'x%y_y'",
    "a = 1 OR (l = 2 AND s = 'x')",
    "(a = 1 OR l = 2) AND s = 'x'",
    "b = CAST('b' AS BINARY)",
    "b = CAST('c' AS BINARY)",
    "b = X'62'",
    "b = X'63'",
    "CAST(a AS STRING) = s",
    "CAST(l AS STRING) = s"
  )

  test("equal conditions of different queries have equal keys, and different conditions have different ones") {
    for (one <- conditions; other <- conditions) {
      val (a, b) = (ExpressionKey(condition(one, "first")), ExpressionKey(condition(other, "second")))
      assert((a == b) == (one == other), s"$one, $other")
      assert(a != b || a.hashCode == b.hashCode)
    }
    assert(ExpressionKey(condition("a = 1 AND l = 2")) == ExpressionKey(condition("l = 2 AND a = 1")))
  }

  test("a key holds no node of the query, because each node holds the query's text") {
    val parts = classOf[ExpressionKey].getDeclaredFields.filter(_.getType == classOf[Vector[_]])
    assert(parts.length == 1)
    parts.head.setAccessible(true)
    for (c <- conditions) {
      val key = ExpressionKey(condition(c))
      assert(!parts.head.get(key).asInstanceOf[Vector[Any]].exists(_.isInstanceOf[TreeNode[_]]), c)
      assert(key.bytes > 0L)
    }
  }
}
