package org.apache.spark.sql.dovetail

import scala.util.Random

import dovetail.kernel.enumerate.Shape
import dovetail.kernel.graph.WideSet
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.dovetail.group.JoinGroup
import org.apache.spark.sql.dovetail.plan.{GroupOrdering, PreparedGroup, ReorderJoins}
import org.scalatest.BeforeAndAfterAll

/**
 * Builds and runs every join order that the search could choose, not only the cheapest one, and checks that it returns
 * the rows of the query as written. The orders have all shapes, also bushy ones, without a cross product if one can be
 * avoided (Calcite's DphypJoinReorderTest does the same).
 */
class EveryOrderSuite extends DovetailSuite with BeforeAndAfterAll {

  override def beforeAll(): Unit = {
    super.beforeAll()
    RandomTables.create(spark, new Random(7L), scale = 2)
  }

  override def afterAll(): Unit =
    try withTables(RandomTables.names: _*)(())
    finally super.afterAll()

  private val queries: Seq[(String, String)] = Seq(
    "chain" ->
      "SELECT a.k, b.v, c.s, d.g FROM t0 a JOIN t1 b ON a.k = b.k JOIN t2 c ON b.g = c.g JOIN t3 d ON c.v = d.v",
    "chain of one class" ->
      "SELECT a.v, b.v, c.v, d.v FROM t0 a JOIN t1 b ON a.k = b.k JOIN t2 c ON b.k = c.k JOIN t4 d ON c.k = d.k",
    "class with two columns of one table" ->
      "SELECT a.v, b.v, c.v FROM t0 a JOIN t1 b ON a.k = b.k JOIN t3 c ON c.k = b.k AND c.v = a.k",
    "star of five" ->
      ("SELECT f.v, a.s, b.s, c.s, d.s FROM t0 f JOIN t1 a ON f.k = a.k JOIN t2 b ON f.g = b.g JOIN t4 c ON f.d = " +
        "c.d JOIN t2 d ON f.s = d.s OR f.v = d.v"),
    "cycle" ->
      ("SELECT count(*), sum(a.v) FROM t0 a JOIN t1 b ON a.k = b.k JOIN t2 c ON b.g = c.g JOIN t4 d ON c.s = d.s " +
        "AND d.d = a.d"),
    "composite keys" ->
      ("SELECT a.s, b.s, c.s FROM t0 a JOIN t3 b ON a.k = b.k AND a.g = b.g JOIN t1 c ON b.k = c.k AND c.g = a.g " +
        "AND c.v > CAST(b.v AS BIGINT) - 5"),
    "implied across types" ->
      "SELECT a.k, b.g, c.v FROM t0 a JOIN t1 b ON a.k = b.g JOIN t2 c ON b.g = c.v JOIN t4 d ON d.g = a.k",
    "hyperedge" ->
      ("SELECT a.k, b.v, c.v FROM t0 a JOIN t1 b ON a.g = b.g JOIN t2 c ON CAST(a.k AS BIGINT) + b.k = c.v JOIN t4 " +
        "d ON d.k = c.k"),
    "predicate over three tables" ->
      ("SELECT count(*) FROM t0 a JOIN t1 b ON a.k = b.k JOIN t2 c ON b.g = c.g JOIN t4 d ON c.k = d.k WHERE " +
        "CAST(a.v AS BIGINT) + b.v + d.v > 9 AND (a.s = 'a' OR c.s = 'b')"),
    "inequalities and null-safe equality" ->
      ("SELECT count(*), max(b.v) FROM t0 a JOIN t1 b ON a.k <=> b.k JOIN t2 c ON b.v < c.v JOIN t4 d ON d.g = c.g " +
        "AND d.k <> a.k"),
    "cross product" ->
      "SELECT count(*), sum(c.v) FROM t2 a CROSS JOIN t4 b JOIN t1 c ON CAST(a.k AS BIGINT) + b.k = c.v",
    "floating point keys" -> "SELECT a.x, b.k, c.v FROM t0 a JOIN t1 b ON a.x = b.x JOIN t2 c ON b.x = c.x",
    "outer, semi and aggregated inputs" ->
      """SELECT o.k, o.w, b.s, g.n FROM (SELECT l.k, l.g, r.v AS w FROM t0 l LEFT JOIN t1 r ON l.k = r.k) o
        |JOIN t2 b ON o.g = b.g
        |JOIN (SELECT k, count(*) n FROM t3 WHERE EXISTS (SELECT 1 FROM t4 WHERE t4.g = t3.g) GROUP BY k) g ON g.k = o.k
        |JOIN t4 d ON d.k = g.k OR d.v = o.w""".stripMargin,
    "an empty table" -> "SELECT a.k FROM t0 a JOIN t1 b ON a.k = b.k JOIN t6 c ON b.g = c.g JOIN t2 d ON d.v = c.v",
    "a filter between joins" ->
      ("SELECT x.k, c.v FROM (SELECT a.k, b.g, CAST(a.v AS BIGINT) + b.v AS w FROM t0 a JOIN t1 b ON a.k = b.k " +
        "WHERE a.v > 2 OR b.v > 2) x JOIN t2 c ON x.g = c.g JOIN t4 d ON d.k = x.k")
  )

  /** Queries with joins that are not inner joins, and with other operators between joins. */
  private val operators: Seq[(String, String)] = Seq(
    "left outer above and below" ->
      ("SELECT a.k, b.v, c.s, d.g FROM t0 a LEFT JOIN t1 b ON a.k = b.k JOIN t2 c ON a.g = c.g LEFT JOIN t4 d ON " +
        "b.g = d.g AND d.v > 2"),
    "right outer and inner" ->
      ("SELECT a.k, b.v, c.s FROM t0 a RIGHT JOIN t1 b ON a.k = b.k JOIN t2 c ON b.g = c.g LEFT JOIN t3 d ON c.k = " +
        "d.k"),
    "full outer" ->
      "SELECT a.k, b.v, c.s FROM t0 a FULL JOIN t1 b ON a.k = b.k FULL JOIN t4 c ON b.k = c.k AND b.g = c.g",
    "full outer, then inner" ->
      ("SELECT a.k, b.v, c.s FROM t0 a FULL JOIN t1 b ON a.k = b.k JOIN t2 c ON coalesce(a.g, b.g) = c.g JOIN t4 d " +
        "ON c.k = d.k"),
    "inner joins in the outer side" ->
      "SELECT a.k, b.v, c.s FROM t0 a LEFT JOIN (t1 b JOIN t2 c ON b.g = c.g) ON a.k = b.k JOIN t4 d ON a.v = d.v",
    "filters on padded rows" ->
      "SELECT a.k, a.v FROM t0 a LEFT JOIN t1 b ON a.k = b.k JOIN t2 c ON a.g = c.g WHERE b.v IS NULL OR b.v > c.v",
    "semi and anti" ->
      """SELECT a.k, b.v FROM t0 a JOIN t1 b ON a.k = b.k JOIN t4 e ON e.g = b.g
        |WHERE EXISTS (SELECT 1 FROM t2 c WHERE c.g = a.g AND c.v > a.v)
        |AND NOT EXISTS (SELECT 1 FROM t3 d WHERE d.k = b.k AND d.v = b.v)""".stripMargin,
    "NOT IN" ->
      ("SELECT a.k, b.v FROM t0 a JOIN t1 b ON a.k = b.k JOIN t2 c ON b.g = c.g WHERE a.v NOT IN (SELECT v FROM t4 " +
        "WHERE v IS NOT NULL AND v > 3)"),
    "NOT IN with NULLs" ->
      ("SELECT count(*) FROM t0 a JOIN t1 b ON a.k = b.k JOIN t2 c ON b.g = c.g WHERE a.v NOT IN (SELECT v FROM t4 " +
        "WHERE t4.k = a.k)"),
    "semi and anti joins alone" ->
      """SELECT a.k, a.v FROM t0 a WHERE a.k IN (SELECT k FROM t1 WHERE v > 2)
        |AND EXISTS (SELECT 1 FROM t2 c WHERE c.g = a.g AND c.v > a.v)
        |AND NOT EXISTS (SELECT 1 FROM t4 d WHERE d.k = a.k AND d.v = a.v)""".stripMargin,
    "EXISTS under OR" -> (
      "SELECT a.k, b.v, c.s FROM t0 a JOIN t1 b ON a.k = b.k JOIN t2 c ON b.g = c.g WHERE EXISTS (SELECT 1 FROM t4 d " +
        "WHERE d.k = b.k) OR a.v > c.v"
    ),
    "joins below EXISTS" ->
      ("SELECT a.k, b.v FROM t0 a JOIN t1 b ON a.k = b.k WHERE a.g IN (SELECT c.g FROM t2 c JOIN t4 d ON c.k = d.k " +
        "WHERE d.v > 1)"),
    "expressions between joins" -> (
      "SELECT x.k, x.w, c.v FROM (SELECT a.k, upper(a.s) AS w, b.g & 3 AS h FROM t0 a JOIN t1 b ON a.k = b.k) x LEFT " +
        "JOIN t2 c ON x.h = c.g JOIN t4 d ON x.w = upper(d.s)"
    ),
    "expressions of a padded side" -> (
      "SELECT x.k, x.w, c.v FROM (SELECT a.k, a.g, coalesce(b.v, 0) AS w FROM t0 a LEFT JOIN t1 b ON a.k = b.k) x " +
        "JOIN t2 c ON x.g = c.g JOIN t4 d ON x.w = d.v"
    )
  )

  (queries ++ operators).foreach { case (name, sql) => test(name)(everyOrder(sql)) }

  private def everyOrder(sql: String): Unit = {
    val expected = dovetail(on = false)(answer(sql))
    var shapes   = Vector.empty[Shape]
    withRule(new RuleWatcher(_, group => shapes = EveryOrderSuite.orders(group)))(optimized(sql))
    assert(shapes.size >= 2 && (expected.nonEmpty || sql.contains(" t6 ")), "orders of nothing are all the same")
    shapes.foreach { shape =>
      withRule(new ShapeRule(_, shape))(withoutFailures(
        assert(answer(sql) == expected, s"in the order ${shape.render(_.toString)}")
      ))
    }
    info(s"${shapes.size} orders, ${expected.size} rows")
  }

  private class RuleWatcher(session: SparkSession, see: PreparedGroup => Unit) extends ReorderJoins(session) {
    override protected def reorder(group: JoinGroup, ordering: GroupOrdering): LogicalPlan = {
      if (group.leaves.size > 2 && !group.marked) see(ordering.preparation(group, group.leaves))
      super.reorder(group, ordering)
    }
  }

  /** Builds the join order `shape`, whatever it costs. */
  private class ShapeRule(session: SparkSession, shape: Shape) extends ReorderJoins(session) {
    override protected def reorder(group: JoinGroup, ordering: GroupOrdering): LogicalPlan =
      if (group.leaves.size <= 2 || group.marked) super.reorder(group, ordering)
      else ordering.preparation(group, group.leaves).rebuild(shape)
  }
}

object EveryOrderSuite {

  /**
   * All join trees of a group, and of two mirror images only one. They have cross products only if the predicates leave
   * no tree without one.
   */
  def orders(prepared: PreparedGroup): Vector[Shape] = {
    val (predicates, graph)                      = (prepared.predicates, prepared.graph)
    def set(relations: Set[Int])                 = WideSet(graph.size, relations)
    def legal(l: Set[Int], r: Set[Int]): Boolean =
      graph.operators.isEmpty || graph.joinable.between(set(l), set(r)).isDefined
    def connected(l: Set[Int], r: Set[Int]): Boolean = legal(l, r) && (
      predicates.members.exists(ms => ms.exists(m => l(m.relation)) && ms.exists(m => r(m.relation))) ||
        predicates.complex.exists(p =>
          p.relations.forall(x => l(x) || r(x)) && p.relations.exists(l) && p.relations.exists(r)
        ) ||
        graph.operators.nonEmpty && graph.edges.connect(set(l), set(r))
    )
    val all     = prepared.leaves.indices.toSet
    val without = trees(all, connected)
    if (without.nonEmpty) without else trees(all, legal)
  }

  private def trees(relations: Set[Int], allowed: (Set[Int], Set[Int]) => Boolean): Vector[Shape] =
    if (relations.size == 1) Vector(Shape.Leaf(relations.head))
    else {
      val first = relations.min
      for {
        other <- (relations - first).subsets().toVector if other.nonEmpty
        rest = relations -- other if allowed(rest, other)
        l <- trees(rest, allowed)
        r <- trees(other, allowed)
        // which side stands left matters only to the physical join, so both sides take turns
      } yield if (other.sum % 2 == 0) Shape.Join(l, r) else Shape.Join(r, l)
    }
}
