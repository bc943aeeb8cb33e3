package org.apache.spark.sql.dovetail

import org.apache.spark.SparkThrowable
import org.apache.spark.sql.dovetail.base.ErrorCondition

/** The values in `PARTITION (column = value)` of DOVETAIL ANALYZE. */
class PartitionValueSuite extends DovetailSuite {
  private def analyze(value: String): String =
    spark.sql(s"DOVETAIL ANALYZE TABLE part PARTITION ($value)").collect().head.getAs[String]("notes")

  private def withPartitions(body: => Unit): Unit = withTables("part") {
    spark.sql(
      "CREATE TABLE part (id INT, i INT, d DATE, b BOOLEAN, t TIMESTAMP, s STRING, f FLOAT, n DECIMAL(5, 2)) " +
        "USING parquet PARTITIONED BY (i, d, b, t, s, f, n)"
    )
    spark.sql(
      "INSERT INTO part VALUES (1, 2020, DATE'2020-01-01', true, TIMESTAMP'2020-01-01 00:00:00', '7', 0.1F, 1.50), " +
        "(2, NULL, NULL, NULL, NULL, NULL, NULL, NULL)"
    )
    body
  }

  test("values of other types are converted if they are the same value") {
    withPartitions {
      for (
        ansi  <- Seq("true", "false");
        value <- Seq(
          "i = 2020, d = DATE'2020-01-01', b = true, t = DATE'2020-01-01', s = 7, f = 0.1, n = 1.5",
          "i = 2020.0, d = '2020-1-1', b = 'true', t = '2020-01-01'",
          "i = 2000 + 20, d = TIMESTAMP'2020-01-01 00:00:00', b = 1",
          "i = '2020', n = '1.5'",
          "i = NULL, d = CAST(NULL AS STRING), b = NULL"
        )
      ) withConf("spark.sql.ansi.enabled" -> ansi)(assert(!analyze(value).contains("no files"), s"$value, ANSI: $ansi"))
    }
  }

  test("other values are refused, with the column, its type and the value") {
    withPartitions {
      for (
        ansi            <- Seq("true", "false");
        (value, column) <- Seq(
          "i = 2020.7"                         -> "INT, and 2020.7 (DECIMAL(5,1))",
          "i = 'x'"                            -> "INT, and 'x' (STRING)",
          "i = 99999999999"                    -> "INT, and 99999999999 (BIGINT)",
          "i = DATE'2020-01-01'"               -> "INT, and DATE'2020-01-01' (DATE)",
          "d = 1"                              -> "DATE, and 1 (INT)",
          "d = -1"                             -> "DATE, and -1 (INT)",
          "d = true"                           -> "DATE, and true (BOOLEAN)",
          "d = 1.5"                            -> "DATE, and 1.5 (DECIMAL(2,1))",
          "d = TIMESTAMP'2020-01-01 10:00:00'" -> "DATE, and TIMESTAMP'2020-01-01 10:00:00' (TIMESTAMP)",
          "b = DATE'2020-01-01'"               -> "BOOLEAN, and DATE'2020-01-01' (DATE)",
          "b = 2"                              -> "BOOLEAN, and 2 (INT)",
          "t = true"                           -> "TIMESTAMP, and true (BOOLEAN)",
          "n = 1.555"                          -> "DECIMAL(5,2), and 1.555 (DECIMAL(4,3))"
        )
      ) withConf("spark.sql.ansi.enabled" -> ansi) {
        val e = intercept[IllegalArgumentException](analyze(value))
        assert(ErrorCondition.InvalidArgument.is(e), e)
        assert(e.getMessage.contains(s"PARTITION: column ${value.head} is $column is no value of it"), e.getMessage)
        assert(e.asInstanceOf[SparkThrowable].getMessageParameters.get("argument") == value.drop(4))
      }
      Seq("i = nan", "i = 1 + 'a'", "i = 1 + 1L", "d = current_date()").foreach { value =>
        val e = intercept[IllegalArgumentException](analyze(value))
        assert(e.getMessage.contains(s"PARTITION takes constants, but $value is not a constant"), e.getMessage)
      }
    }
  }
}
