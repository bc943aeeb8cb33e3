package org.apache.spark.sql.dovetail

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.dovetail.group.JoinGroup
import org.apache.spark.sql.dovetail.sql.PlannedQuery
import org.apache.spark.sql.dovetail.steer.PlanForm
import org.apache.spark.sql.functions.col
import org.scalatest.BeforeAndAfterEach

/** The texts by which the history, pins and given row counts recognize an input: equal only for equal inputs. */
class PlanFormSuite extends DovetailSuite with BeforeAndAfterEach {
  override def beforeEach(): Unit = {
    super.beforeEach()
    write("h_fact", "SELECT id, id % 50 AS b, id % 20 AS c FROM range(400)")
    write("h_b", "SELECT id AS k, id % 5 AS v FROM range(50)")
    write("h_c", "SELECT id AS k, id % 4 AS v FROM range(20)")
  }

  override def afterEach(): Unit = { withTables("h_fact", "h_b", "h_c")(()); super.afterEach() }

  private def write(table: String, query: String): Unit = {
    spark.sql(s"CREATE TABLE $table USING parquet AS SELECT /*+ COALESCE(1) */ * FROM ($query)")
    ()
  }

  test("the forms of many sets of a long chain of self-joins take little time") {
    val joins = (2 to 38).map(i => s"JOIN h_c e$i ON e${i - 1}.v = e$i.k").mkString(" ")
    val query = new PlannedQuery(spark, s"SELECT count(*) FROM h_c e1 $joins", "test")
    val group = query.top.collectFirst { case JoinGroup(g) => g }.get
    assert(group.leaves.size == 38)
    val form  = query.ordering.form(group)
    val start = System.nanoTime()
    for (a <- 0 until 19; b <- 19 until 27) form.formOf((0 until 38).filterNot(i => i == a || i == b).toVector)
    assert(System.nanoTime() - start < 30000000000L)
  }

  private def form(sql: String): (PlanForm, LogicalPlan) = {
    val plan = spark.sql(sql).queryExecution.analyzed
    val form = new PlanForm(literals = true, nulls = true)
    form.learn(0, plan)
    (form, plan)
  }

  private def text(sql: String): String = {
    val (of, plan) = form(sql)
    val found      = of.input(plan)
    assert(!PlanForm.isNameless(found), sql)
    found
  }

  /** Text of a table with a condition, as Spark has optimized it. */
  private def filtered(condition: String): String = {
    val plan = optimized(s"SELECT * FROM h_fact WHERE $condition")
    val form = new PlanForm(literals = true, nulls = true)
    form.learn(0, plan)
    form.input(plan)
  }

  test("a list of many values is a short text, the same in any order, and another one for other values") {
    def in(values: Seq[Int]) = filtered(s"id IN (${values.mkString(", ")})")
    val many                 = 1 to 3000
    assert(in(many) == in(many.reverse) && in(many) != in(0 +: many.tail) && in(many) != in(many.tail))
    assert(in(many).length < 200, in(many))
    def texts(values: Seq[Int]) = filtered(s"concat('x', id) IN (${values.map(v => s"'x$v'").mkString(", ")})")
    assert(texts(many) == texts(many.reverse) && texts(many) != texts(0 +: many.tail))
  }

  test("a filter above a window and the same filter below it are two inputs") {
    def ranked(inside: String) =
      s"SELECT *, row_number() OVER (PARTITION BY b ORDER BY id) AS rn FROM h_fact WHERE $inside"
    val above = text(s"SELECT * FROM (${ranked("id >= 0")}) WHERE rn = 1 AND c = 3")
    val below = text(s"SELECT * FROM (${ranked("id >= 0 AND c = 3")}) WHERE rn = 1")
    assert(above != below)
    assert(text(ranked("c = 3")) == text("SELECT * FROM h_fact WHERE c = 3"), "a window alone removes no row")
  }

  test("what the SQL text of a function leaves out tells predicates apart") {
    for (
      (one, other) <- Seq(
        "CAST(id AS STRING) LIKE ANY ('1%', '2%')"        -> "CAST(id AS STRING) LIKE ANY ('1%', '3%')",
        "CAST(id AS STRING) NOT LIKE ALL ('1%', '2%')"    -> "CAST(id AS STRING) NOT LIKE ALL ('1%', '3%')",
        "from_json(concat('{', id, '}'), 'a INT').a = 1"  -> "from_json(concat('{', id, '}'), 'a STRING').a = 1",
        "parse_url(concat('http://a/', id), 'HOST') > ''" -> "parse_url(concat('http://a/', b), 'HOST') > ''"
      )
    ) {
      assert(filtered(one) == filtered(one) && !PlanForm.isNameless(filtered(one)), one)
      assert(filtered(one) != filtered(other), one)
      assert(filtered(s"$one OR $other") != filtered(s"$one OR $one"), one)
    }
  }

  test("functions that differ in a switch have different texts") {
    withConf("spark.sql.ansi.enabled" -> "false") {
      val parts = "split(CAST(id AS STRING), '1')"
      assert(filtered(s"size($parts) < 3") != filtered(s"array_size($parts) < 3"))
      assert(filtered("id + b > 3") != filtered("try_add(id, b) > 3"))
      assert(filtered("id + b > 3") == filtered("id + b > 3"))
    }
  }

  test("unions of other columns are other inputs, and their columns are told apart") {
    val union = "SELECT b, c FROM h_fact UNION SELECT k, v FROM h_b"
    assert(text(union) == text(union))
    assert(text(union) != text(union.replace("k, v", "k, k")))
    assert(text(union) != text(union.replace("k, v", "k, 0L")))
    val (of, plan) = form("SELECT b, b AS twice, 1L AS one, 1L AS uno FROM h_fact UNION ALL SELECT k, v, k, v FROM h_b")
    assert(plan.output.map(of.expression(_, _ => "")).distinct.size == 4)
  }

  test("a column that a loop has computed, each time twice from the one before, is a text that ends") {
    val chain = (1 to 40).foldLeft(spark.table("h_fact").withColumn("x0", col("b"))) { (frame, i) =>
      frame.withColumn(s"x$i", col(s"x${i - 1}") + col(s"x${i - 1}") % 3)
    }
    val plan = chain.queryExecution.analyzed

    def text(column: String, literals: Boolean) = {
      val form = new PlanForm(literals)
      form.learn(0, plan)
      form.expression(plan.output.find(_.name == column).get, _ => "")
    }

    assert(text("x2", literals = true).contains("b") && !text("x2", literals = true).contains(PlanForm.Nameless))
    assert(text("x40", literals = true).contains(PlanForm.Nameless), "another column may have this text")
    assert(text("x40", literals = true).length < 1000000 && text("x40", literals = false).length < 1000000)
  }
}
