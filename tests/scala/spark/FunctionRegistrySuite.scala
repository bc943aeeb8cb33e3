package org.apache.spark.sql.dovetail

import scala.util.control.NonFatal

import org.apache.spark.sql.Row
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.scalatest.BeforeAndAfterAll

/**
 * Checks that no function of Spark is computed on more rows than in Spark's own plan. Each function is called in a
 * projection between joins, as a predicate, as a join key, above an outer join and as a grouping key, over a table with
 * bad rows that a join removes. According to the statistics, a good order makes that join last.
 *
 * System properties: `dovetail.test.calls` (calls of each function; 2 takes three minutes), `dovetail.test.places`
 * (each call stands in one of so many places only, with ANSI mode off in others than with ANSI mode on).
 */
class FunctionRegistrySuite extends DovetailSuite with BeforeAndAfterAll {
  import FunctionRegistrySuite.Role

  private val calls  = DovetailSuite.setting("dovetail.test.calls", 1L).toInt
  private val places = DovetailSuite.setting("dovetail.test.places", 1L).toInt

  /** Number of calls in one query. Either all of them are total, or none is. */
  private val PerQuery = 60

  /** Spark has at least this many functions; fewer mean that the test misses some. */
  private val LeastFunctions = 250

  private val Many = BigInt(1000000)

  override def beforeAll(): Unit = {
    super.beforeAll()
    val good = (1 to 6).map(k => Row(k, k % 3, 0))
    val bad  = (1 to FunctionCases.BadValues).map(b => Row(100 + b, 0, b))
    MemorySource.create(spark, "fb", "b INT", Nil)
    MemorySource.create(spark, "fx", "k INT, g INT, b INT", good ++ bad)
    MemorySource.create(spark, "fv", "k INT, g INT, z INT", (1 to 6).map(k => Row(k, k % 3, 0)))
    MemorySource.create(spark, "fw", "g INT, one INT", Seq(Row(0, 1), Row(1, 1)))
    def column(ndv: Int) = InjectedStatistics.column(Some(ndv), Some(0), Some("0"), Some(ndv.toString), Some(4))
    for (t <- Seq("fx", "fv"))
      InjectedStatistics(spark, t, Some(Many), Many * 12, Map("k" -> column(1000000), "g" -> column(1000)))
    InjectedStatistics(spark, "fw", Some(2), 16, Map("g" -> column(2), "one" -> column(1)))
  }

  override def afterAll(): Unit =
    try withTables("fb", "fx", "fv", "fw")(())
    finally super.afterAll()

  private def struct(cases: Seq[FunctionCase]) =
    cases.zipWithIndex.map { case (c, i) => s"'c$i', ${c.on("fx.b")}" }.mkString(
      "size(array(named_struct(",
      ", ",
      ")))"
    )

  private val roles = Seq(
    Role(
      "projection",
      cs =>
        s"SELECT t.*, fw.one FROM (SELECT fx.k, fv.g, ${cs.zipWithIndex.map { case (c, i) =>
            s"${c.on("fx.b")} AS y$i"
          }.mkString(", ")} FROM fx JOIN fv ON fx.k = fv.k) t JOIN fw ON t.g = fw.g"
    ),
    Role(
      "join key",
      cs => s"SELECT fx.k, fv.z FROM fx JOIN fv ON fx.k = fv.k JOIN fw ON fw.g = fv.g AND ${struct(cs)} = fw.one"
    ),
    Role(
      "predicate",
      cs => s"SELECT fx.k, fv.z FROM fx JOIN fv ON fx.k = fv.k JOIN fw ON fw.g = fx.g AND ${struct(cs)} >= fw.one"
    ),
    Role(
      "filter",
      cs => s"SELECT fv.k, fx.b FROM fv LEFT JOIN fx ON fx.k = fv.k JOIN fw ON fw.g = fv.g WHERE ${struct(cs)} = 1"
    ),
    Role(
      "grouping",
      cs =>
        s"SELECT t.*, fw.one FROM (SELECT fv.g, ${struct(cs)} AS y, count(*) AS n FROM fx JOIN fv ON fx.k = fv.k " +
          "GROUP BY 1, 2) t JOIN fw ON t.g = fw.g"
    )
  )

  for (ansi <- Seq(true, false))
    test(s"every built-in function stays above the join that keeps bad rows away, ANSI ${if (ansi) "on" else "off"}") {
      // Spark's checks after every rule take most of the time of plans with so many calls; other suites run with them
      withoutIdempotenceCheck(withConf(
        "spark.sql.ansi.enabled"         -> ansi.toString,
        DovetailConf.MinGain.key         -> "0",
        "spark.sql.adaptive.enabled"     -> "false",
        "spark.sql.planChangeValidation" -> "false"
      ) {
        val found         = new FunctionCases(spark, "fb", calls)
        val (moved, kept) = found.all.partition(_.movable)
        val wrong         = moved.filter(_.fails)
        assert(wrong.isEmpty, s"taken for total, and fail on some rows: ${wrong.map(_.call).mkString("\n", "\n", "")}")
        assert(found.all.map(_.function).distinct.size >= LeastFunctions, found.skipped)
        val batches  = Seq(moved, kept).flatMap(_.grouped(PerQuery))
        val failures = for {
          (cs, i) <- batches.zipWithIndex; (role, j) <- roles.zipWithIndex
          if (i + j + (if (ansi) 0 else 1)) % places == 0
          f <- differing(role, cs, broadcast = (i + j) / places % 2 == 0)
        } yield f
        val reordered = roles.filter(r => moved.grouped(PerQuery).exists(cs => reorders(r, cs))).map(_.name)
        def functions(cs: Seq[FunctionCase]) = s"${cs.map(_.function).distinct.size} functions, ${cs.size} calls"
        info(s"tried: ${functions(found.all)}; moved: ${functions(moved)}; kept in place: ${functions(kept)}")
        info(
          s"without a case: ${found.skipped.groupBy(_._2).toSeq.map { case (why, fs) =>
              s"${fs.size} $why"
            }.sorted.mkString(", ")}; reordered: ${reordered.mkString(", ")}"
        )
        assert(
          failures.isEmpty,
          failures.mkString(s"${failures.size} fail or differ only with Dovetail:\n", "\n\n", "")
        )
        assert(
          reordered.contains("projection") && reordered.contains("join key") && reordered.contains("predicate"),
          "nothing was moved"
        )
      })
    }

  private def reorders(role: Role, cases: Seq[FunctionCase]): Boolean = dovetail(on = true)(reordered(role.sql(cases)))

  /**
   * Finds the calls that make a difference: if a query differs with Dovetail, the test tries its halves. It also halves
   * a query that plain Spark cannot answer.
   */
  private def differing(role: Role, cases: Seq[FunctionCase], broadcast: Boolean): Seq[String] =
    withConf("spark.sql.autoBroadcastJoinThreshold" -> (if (broadcast) (Many * 100).toString else "-1")) {
      val sql      = role.sql(cases)
      val expected = dovetail(on = false)(run(sql))
      val same     = expected.isRight && dovetail(on = true)(run(sql)) == expected
      if (same) Nil
      else if (cases.size > 1) cases.splitAt(cases.size / 2) match {
        case (a, b) =>
          val parts = differing(role, a, broadcast) ++ differing(role, b, broadcast)
          if (parts.nonEmpty) parts else different(role, sql, expected, broadcast)
      }
      else different(role, sql, expected, broadcast)
    }

  /** A query that fails or differs only with Dovetail, in words. */
  private def different(
      role: Role,
      sql: String,
      expected: Either[String, Seq[String]],
      broadcast: Boolean
  ): Seq[String] =
    // aes_encrypt starts with a random value, although Spark treats it as deterministic
    if (expected.isLeft || dovetail(on = false)(run(sql)) != expected) Nil
    else Seq(
      s"${role.name}, broadcast $broadcast: $sql\nwith Dovetail: " +
        s"${dovetail(on = true)(run(sql)).fold(identity, _.mkString("; "))}"
    )

  private def run(sql: String): Either[String, Seq[String]] =
    try Right(answer(sql))
    catch { case NonFatal(e) => Left(e.toString.take(500)) }
}

object FunctionRegistrySuite {

  /** A place in a query where functions are called, and the SQL of such a query. */
  final private case class Role(name: String, sql: Seq[FunctionCase] => String)
}
