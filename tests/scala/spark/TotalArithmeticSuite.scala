package org.apache.spark.sql.dovetail

import java.math.{BigDecimal => JavaDecimal}

import scala.util.Try

import org.apache.spark.sql.{Column, Row}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Alias, BindReferences, Expression}
import org.apache.spark.sql.catalyst.plans.logical.Project
import org.apache.spark.sql.dovetail.predicates.Movable
import org.apache.spark.sql.functions._
import org.apache.spark.sql.types._

/** Quotients in ANSI mode: those that are called total have a value for every row, and others may not. */
class TotalArithmeticSuite extends DovetailSuite {

  /** Digits, and digits after the point. The last ones of 31 to 33 digits are around the most that fits. */
  private val types = Seq(
    1  -> 0,
    1  -> 1,
    7  -> 2,
    12 -> 2,
    18 -> 18,
    28 -> 2,
    31 -> 0,
    32 -> 0,
    33 -> 0,
    30 -> 4,
    38 -> 0,
    38 -> 10,
    38 -> 38
  ).map { case (precision, scale) => DecimalType(precision, scale) }

  private val divisors = Seq(
    "1",
    "3",
    "-1",
    "-7",
    "0.1",
    "0.01",
    "-0.01",
    "1.00",
    "0.000001",
    "99.99",
    "100",
    "0",
    "0.00",
    "9" * 38,
    "0." + "0" * 36 + "1"
  ).map(new JavaDecimal(_))

  private def extremes(t: DecimalType): Seq[Decimal] = {
    val unit = JavaDecimal.ONE.movePointLeft(t.scale)
    val most = JavaDecimal.TEN.pow(t.precision - t.scale).subtract(unit)
    Seq(most, most.negate, unit, unit.negate, JavaDecimal.ZERO).map(Decimal(_, t.precision, t.scale))
  }

  /** A calculation on a column of the type, and whether it has a value for each of the extremes. */
  private def computed(t: DecimalType)(of: Column => Column): (Expression, Boolean) = {
    val frame = spark.createDataFrame(new java.util.ArrayList[Row], StructType(Seq(StructField("a", t))))
    frame.select(of(col("a")).as("y")).queryExecution.analyzed match {
      case Project(Seq(Alias(e, _)), child) =>
        val bound = BindReferences.bindReference(e, child.output)
        (e, extremes(t).forall(d => Try(bound.eval(InternalRow(d))).toOption.exists(_ != null)))
      case other => fail(other.toString)
    }
  }

  test("a decimal divided by a constant: total only if all rows have a value") {
    for (loss <- Seq("true", "false"))
      withConf("spark.sql.ansi.enabled" -> "true", "spark.sql.decimalOperations.allowPrecisionLoss" -> loss) {
        val found = for (t <- types; d <- divisors) yield {
          val (e, answers) = computed(t)(_ / lit(d))
          val total        = Movable(e)
          assert(!total || answers, s"$t / $d, as ${e.dataType}")
          (t, d.toPlainString, total, answers)
        }
        def total(precision: Int, scale: Int, divisor: String) =
          found.exists(f => f._1 == DecimalType(precision, scale) && f._2 == divisor && f._3)
        assert(total(7, 2, "100") && total(7, 2, "-0.01") && total(12, 2, "99.99") && total(28, 2, "-7"))
        // 32 digits before the point and 6 behind it are the most that fit; without loss of precision, Spark cuts more
        assert(total(32, 0, "3") && total(33, 0, "3") == (loss == "false") && !total(38, 0, "0.1"))
        assert(!found.exists { case (_, d, total, _) => total && new JavaDecimal(d).signum == 0 })
        // quotients whose type is too small, and divisors of zero, do fail
        assert(found.exists(f => !f._4 && f._2 == "0.1") && found.exists(f => !f._4 && f._2 == "0"))
      }
  }

  test("other divisors, other operations, and other modes") {
    val t = DecimalType(7, 2)
    withConf("spark.sql.ansi.enabled" -> "true") {
      assert(!Movable(computed(t)(a => a / a)._1))
      assert(!Movable(computed(t)(a => lit(new JavaDecimal("3.0")) / a)._1))
      assert(!Movable(computed(t)(a => a / lit(null).cast(t))._1))
      assert(!Movable(computed(t)(a => a % lit(new JavaDecimal("3.0")))._1))
    }
    withConf("spark.sql.ansi.enabled" -> "false") {
      assert(Movable(computed(t)(a => a / a)._1))
      assert(Movable(computed(t)(a => a % lit(new JavaDecimal("3.0")))._1))
      // Java refuses a remainder if the integer part of the quotient has more than 38 digits
      val (wide, narrow) = (DecimalType(38, 0), lit(new JavaDecimal("0.00000000000000000003")))
      val row = "SELECT CAST('1e30' AS DECIMAL(38, 0)) AS x, CAST('0.00000000000000000003' AS DECIMAL(38, 20)) AS y"
      assert(Try(spark.sql(s"SELECT x % y FROM ($row)").collect()).isFailure)
      assert(!Movable(computed(wide)(_ % narrow)._1) && !Movable(computed(wide)(pmod(_, narrow))._1))
    }
  }

  private val numbers  = Seq("0", "1", "-1", "2", "-7")
  private val operands = Seq(
    "INT"            -> (numbers ++ Seq("2147483647", "-2147483648")),
    "BIGINT"         -> (numbers ++ Seq("9223372036854775807", "-9223372036854775807 - 1")),
    "DOUBLE"         -> (numbers ++ Seq("'NaN'", "'-0.0'", "'Infinity'", "1e-300")),
    "DECIMAL(12, 2)" -> (numbers ++ Seq("0.01", "-9999999999.99")),
    "DECIMAL(24, 6)" -> (numbers ++ Seq("0.000001", "999999999999999999.999999"))
  )

  /** Whether an expression over columns `a` and `b` of a type is called total, and whether it fails for no row. */
  private def tried(expression: String, of: String, values: Seq[String]): (Boolean, Boolean) = {
    val all   = values.map(v => s"CAST($v AS $of)") :+ s"CAST(NULL AS $of)"
    val rows  = for (a <- all; b <- all) yield s"($a, $b)"
    val found = spark.sql(rows.mkString("SELECT * FROM VALUES ", ", ", " AS t(a, b)"))
    // rows of a program: Spark does not compute with them while it plans
    val frame = spark.createDataFrame(found.rdd, found.schema)
    frame.selectExpr(s"$expression AS y").queryExecution.optimizedPlan match {
      case Project(Seq(Alias(e, _)), child) =>
        val bound = BindReferences.bindReference(e, child.output)
        (Movable(e), frame.queryExecution.executedPlan.executeCollect().forall(r => Try(bound.eval(r)).isSuccess))
      case other => fail(other.toString)
    }
  }

  private val guarded = Seq(
    "CASE WHEN b > 0 THEN a / b END",
    "CASE WHEN b >= 1 THEN a / b ELSE 0 END",
    "CASE WHEN 0 < b THEN a / b END",
    "CASE WHEN b < 0 THEN a / b END",
    "CASE WHEN b <= -1 THEN a / b END",
    "CASE WHEN b = 2 THEN a / b END",
    "CASE WHEN b <=> -7 THEN a / b END",
    "CASE WHEN b <> 0 THEN a / b END",
    "CASE WHEN NOT (b <= 0) THEN a / b END",
    "CASE WHEN b >= 0 AND b <> 0 THEN a / b END",
    "CASE WHEN b > 0 AND a > 0 THEN a / b > b / a END",
    "CASE WHEN b <= 0 OR a IS NULL THEN NULL ELSE a / b END",
    "CASE WHEN b = 0 THEN 0 WHEN a > 1 THEN a / b WHEN a <> 0 THEN b / a END",
    "CASE b WHEN 0 THEN NULL ELSE a / b END",
    "IF(b = 0, NULL, a / b)",
    "IF(b = 0, 1, a / b) > IF(a = 0, 1, b / a)",
    "a / nullif(b, 0)",
    "a / coalesce(nullif(b, 0), 1)",
    "a / CASE WHEN b < 0 THEN b WHEN b = 0 THEN 1 ELSE b END"
  )

  private val unguarded = Seq(
    "a / b",
    "CASE WHEN b >= 0 THEN a / b END",
    "CASE WHEN b > -1 THEN a / b END",
    "CASE WHEN b < 1 THEN a / b END",
    "CASE WHEN b <> 1 THEN a / b END",
    "CASE WHEN b > 0 THEN 1 ELSE a / b END",
    "CASE WHEN b > 0 OR a > 0 THEN a / b END",
    "CASE WHEN NOT (b > 0 AND a > 0) THEN a / b END",
    "CASE WHEN a / b > 1 AND b > 0 THEN 1 END",
    "CASE WHEN b > 0 THEN a / (b - 1) END",
    "CASE WHEN b = 0 THEN 0 WHEN a > 0 THEN a / b ELSE b / a END",
    "CASE WHEN a > 0 THEN a / b END",
    "a / nullif(b, 1)",
    "a / coalesce(nullif(b, 1), 1)",
    "IF(b = 0, a / b, 1)"
  )

  test("a division that its conditions keep from zero is total, others are not") {
    withConf("spark.sql.ansi.enabled" -> "true")(for ((of, values) <- operands) {
      guarded.foreach(e => assert(tried(e, of, values) == ((true, true)), s"$e, of $of"))
      unguarded.foreach(e => assert(tried(e, of, values) == ((false, false)), s"$e, of $of"))
    })
  }

  test("the smallest whole number divided by -1 has no quotient") {
    withConf("spark.sql.ansi.enabled" -> "true") {
      val (of, values) = operands(1)
      assert(tried("CASE WHEN b > 0 THEN a div b END", of, values) == ((true, true)))
      for (e <- Seq("a % b", "pmod(a, b)")) assert(tried(s"CASE WHEN b > 0 THEN $e END", of, values) == ((true, true)))
      assert(tried("CASE WHEN b <> 0 THEN a div b END", of, values) == ((false, false)))
    }
  }
}
