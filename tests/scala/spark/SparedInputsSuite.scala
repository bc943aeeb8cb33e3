package org.apache.spark.sql.dovetail

import java.nio.file.Files

import scala.util.Try

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.analysis.EliminateSubqueryAliases
import org.apache.spark.sql.catalyst.optimizer.BuildRight
import org.apache.spark.sql.catalyst.plans.Inner
import org.apache.spark.sql.catalyst.plans.logical.{Join, JoinHint, LogicalPlan}
import org.apache.spark.sql.dovetail.group.Preparation
import org.apache.spark.sql.dovetail.plan.{FirstStages, InputFault}
import org.apache.spark.sql.dovetail.report.GroupReport
import org.apache.spark.sql.types.StructType

/**
 * Inputs that may fail: if plain Spark does not read such an input because a broadcast turns out to be empty, Dovetail
 * does not read it either.
 */
class SparedInputsSuite extends DovetailSuite {
  private val tables = Seq("few", "words", "many")

  /**
   * `few` has one key and no row left after the filter; `words` has that key and one name that is no number; `many` has
   * numbers.
   */
  override def beforeAll(): Unit = {
    super.beforeAll()
    spark.sql("CREATE TABLE few USING parquet AS SELECT 1 AS k, CAST(id AS INT) v FROM range(100)")
    spark.sql(
      "CREATE TABLE words USING parquet AS SELECT 1 AS k, CAST(id AS INT) j, " +
        "CASE WHEN id = 7 THEN 'seven' ELSE CAST(id AS STRING) END AS name FROM range(3000)"
    )
    spark.sql("CREATE TABLE many USING parquet AS SELECT /*+ REPARTITION(1) */ CAST(id * 20 AS INT) j, " +
      "CAST(id AS INT) w, concat('a longer text ', id) AS t FROM range(20000)")
    ()
  }

  override def afterAll(): Unit =
    try tables.foreach(t => spark.sql(s"DROP TABLE IF EXISTS $t"))
    finally super.afterAll()

  private val fails = "CAST(words.name AS INT) >= 0"
  private val safe  = "length(words.name) > 0"

  private def query(filter: String, from: String = "few JOIN words ON few.k = words.k JOIN many ON words.j = many.j") =
    s"SELECT count(*), max(many.t) FROM $from WHERE pmod(few.v * 7, 1000) = 999 AND $filter"

  /**
   * Asserts that the order of a query changes with a filter of `words` that cannot fail, and that `words` stays spared
   * with a filter that may fail. Returns the groups of the latter.
   */
  private def movesUnlessItFails(query: String => String): Vector[GroupReport] = {
    sameAnswer(query(safe))
    sameAnswer(query(fails), reorders = false)
    val groups = dovetail(on = true)(traced(query(fails))._2.groups)
    assert(groups.exists(g => "reading \\S*words\\S* may fail in ".r.findFirstIn(g.reason).isDefined), groups)
    groups
  }

  private def everyPlan(body: => Unit): Unit =
    Seq("true", "false").foreach(adaptive =>
      withConf(
        "spark.sql.adaptive.enabled"     -> adaptive,
        "spark.sql.ansi.enabled"         -> "true",
        "spark.dovetail.reorder.minGain" -> "0",
        // the best order starts without the empty input only if the optimizer does not know that it is empty
        "spark.dovetail.sample.enabled" -> "false",
        "spark.dovetail.sample.files"   -> "false"
      )(body)
    )

  test("adaptive execution starts inputs without an exchange first, also sorts, coalesce, unions and generators") {
    val words                     = spark.table("words").queryExecution.optimizedPlan
    def first(input: LogicalPlan) = {
      val inputs = Map[LogicalPlan, Set[Int]](words -> Set(0), input -> Set(1)).withDefaultValue(Set(0, 1))
      new FirstStages(inputs, _ => Some(BuildRight))(Join(words, input, Inner, None, JoinHint.NONE))
    }
    val frame    = spark.table("few")
    val exploded = frame.selectExpr("explode(array(v)) AS v")
    for (f <- Seq(frame, frame.sort("v"), frame.coalesce(1), frame.union(frame), exploded))
      assert(first(f.queryExecution.optimizedPlan) == Vector(FirstStages.Stage(Set(1), broadcast = true)))
    for (f <- Seq(frame.distinct(), frame.repartition(2), frame.union(frame.distinct())))
      assert(first(f.queryExecution.optimizedPlan).isEmpty)
  }

  test("an input that runs a program is read where plain Spark reads it") {
    val seen = spark.sparkContext.longAccumulator("seen")
    val rows = spark.sparkContext.parallelize(0 until 200, 2).map { i => seen.add(1); Row(i % 50, i) }
    spark.createDataFrame(rows, StructType.fromDDL("k INT, n INT")).createOrReplaceTempView("batch")
    withTables("a", "b") {
      spark.sql("CREATE TABLE a USING parquet AS SELECT CAST(id % 50 AS INT) k, id AS j FROM range(2000)")
      spark.sql("CREATE TABLE b USING parquet AS SELECT id + 5000 AS j, id % 40 AS w FROM range(400)")
      val sql = "SELECT count(*), sum(n) FROM a JOIN batch ON a.k = batch.k JOIN b ON a.j = b.j WHERE b.w = 1"
      def counted(on: Boolean): Long = { seen.reset(); dovetail(on)(answer(sql)); seen.value }
      try withConf("spark.dovetail.reorder.minGain" -> "0") {
          assert(counted(on = false) == 200 && counted(on = true) == 200)
          val reasons = dovetail(on = true)(traced(sql)._2.groups.map(_.reason))
          assert(reasons.exists(_.contains("reading batch runs a program, which may have effects")), reasons)
        }
      finally { spark.catalog.dropTempView("batch"); () }
    }
  }

  test("an input that may fail stays behind the broadcast that spares it; one that cannot fail moves") {
    everyPlan { movesUnlessItFails(query(_)); () }
  }

  test("a sort below a join, and coalesce, fill no exchange before the broadcast that spares their input") {
    val inputs = Seq("SELECT k, j FROM words WHERE @ ORDER BY j", "SELECT /*+ COALESCE(2) */ k, j FROM words WHERE @")
    everyPlan(inputs.foreach { input =>
      movesUnlessItFails(f =>
        query("1 = 1", s"few JOIN (${input.replace("@", f)}) words ON few.k = words.k JOIN many ON words.j = many.j")
      )
    })
  }

  test("unpacked arrays, deviations and values beside the largest one fail for no row") {
    val unpacked = "SELECT k, j FROM (SELECT k, j, explode(array(name)) AS name FROM words) words WHERE @"
    val grouped = "SELECT k, j, max_by(name, j) AS name, stddev(j) AS s, approx_count_distinct(name) AS n FROM words " +
      "GROUP BY k, j HAVING s IS NULL AND n > 0"
    everyPlan {
      movesUnlessItFails(f =>
        query("1 = 1", s"few JOIN (${unpacked.replace("@", f)}) words ON few.k = words.k JOIN many ON words.j = many.j")
      )
      sameAnswer(query(safe, s"few JOIN ($grouped) words ON few.k = words.k JOIN many ON words.j = many.j"))
    }
  }

  test("an input that certainly has a row spares nothing, so that one that may fail moves") {
    withTables("digits")(withDirectory { d =>
      spark.sql("CREATE TABLE digits USING parquet AS SELECT k, j, CAST(j AS STRING) AS name FROM words")
      // read by its path: the catalog knows no size of a partitioned table, and Spark does not broadcast it
      val parts = d.resolve("parts").toString
      spark.sql("SELECT k, v, v % 2 AS p FROM few").write.partitionBy("p").parquet(parts)
      def over(of: String, from: String = "few", also: String = "1") =
        s"SELECT count(*), max(many.t), max($also) FROM $from few JOIN digits ON few.k = digits.k " +
          s"JOIN many ON digits.j = many.j WHERE $of AND CAST(digits.name AS INT) >= 0 AND many.w < 5"
      def stays(sql: String) = {
        sameAnswer(sql, reorders = false)
        val reasons = dovetail(on = true)(traced(sql)._2.groups.map(_.reason))
        assert(reasons.exists(_.contains("reading digits may fail in ")), s"$sql: $reasons")
      }
      val seen = over("few.v % 10 <> 3")
      everyPlan {
        stays(seen) // no row is read
        withConf("spark.dovetail.sample.files" -> "true", "spark.dovetail.sample.enabled" -> "true") {
          sameAnswer(seen)
          stays(over("few.v < (SELECT max(w) FROM many)"))    // no row is known to pass
          stays(over("few.v % 10 <> 3", s"parquet.`$parts`")) // Spark may skip its partitions
          withConf("spark.sql.files.ignoreMissingFiles" -> "true")(stays(seen)) // or its files
          // its records may be malformed in columns that are not read while planning
          withTables("few_text") {
            val lines = (0 until 100).map(v => s"""{"k": 1, "v": $v, "s": "oops"}""")
            Files.writeString(d.resolve("few.json"), lines.mkString("\n"))
            spark.sql(
              "CREATE TABLE few_text (k INT, v INT, s STRUCT<x: INT>) USING json " +
                s"OPTIONS (mode 'DROPMALFORMED') LOCATION '${d.resolve("few.json")}'"
            )
            stays(over("few.v % 10 <> 3", "few_text", "few.s.x"))
          }
        }
      }
    })
  }

  test("an input with partitions stays behind the broadcast that selects them, although that has a row") {
    withDirectory { d =>
      val parts = d.resolve("parts").toString
      spark.sql("SELECT j, name, IF(j = 7, 2, 1) AS k FROM words").write.partitionBy("k").parquet(parts)
      val sql = s"SELECT count(*), max(many.t) FROM few JOIN parquet.`$parts` words ON few.k = words.k JOIN many ON " +
        s"words.j = many.j WHERE few.v % 10 <> 3 AND $fails AND many.w < 5"
      everyPlan(withConf("spark.dovetail.sample.files" -> "true", "spark.dovetail.sample.enabled" -> "true") {
        sameAnswer(sql, reorders = false)
        val reasons = dovetail(on = true)(traced(sql)._2.groups.map(_.reason))
        assert(reasons.exists(_.contains("reading words may fail in ")), reasons)
      })
    }
  }

  test("rows that a sort-merge join does not read, because they come after the last key of its other side") {
    withTables("left_rows", "right_rows", "keys", "dim") {
      spark.sql("CREATE TABLE left_rows USING parquet AS SELECT id AS k, id % 4000 AS j, " +
        "IF(id = 19999, 'x', '1') AS s FROM range(20000)")
      spark.sql("CREATE TABLE right_rows USING parquet AS SELECT id AS k, '2' AS t FROM range(20000)")
      spark.sql("CREATE TABLE keys USING parquet AS SELECT id % 1000 AS k, id AS v FROM range(200000)")
      spark.sql("CREATE TABLE dim USING parquet AS SELECT id AS j FROM range(5)")
      def sql(condition: String) =
        "SELECT count(*), sum(c.v) FROM left_rows a JOIN right_rows b ON a.k = b.k AND " +
          s"$condition JOIN keys c ON a.k = c.k JOIN dim d ON a.j = d.j"
      for (adaptive <- Seq("true", "false"))
        withConf(
          "spark.sql.adaptive.enabled"           -> adaptive,
          "spark.sql.ansi.enabled"               -> "true",
          "spark.sql.autoBroadcastJoinThreshold" -> "-1",
          "spark.sql.shuffle.partitions"         -> "1",
          "spark.dovetail.reorder.minGain"       -> "0"
        ) {
          sameAnswer(sql("length(concat(a.s, b.t)) > 0"))
          sameAnswer(sql("CAST(concat(a.s, b.t) AS INT) >= 0"), reorders = false)
        }
    }
  }

  test("a subquery that has several rows stays above the join without rows that spares it") {
    withTables("two") {
      spark.sql("CREATE TABLE two USING parquet AS SELECT CAST(id AS STRING) AS v FROM range(2)")
      def sql(value: String) =
        s"SELECT q.z, many.t FROM (SELECT words.j, coalesce(words.name, ($value)) AS z FROM few JOIN words ON " +
          "few.k = words.k WHERE pmod(few.v * 7, 1000) = 999) q JOIN many ON q.j = many.j"
      withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1")(everyPlan {
        sameAnswer(sql("SELECT max(v) FROM two"), reorders = false)
        if (spark.conf.get("spark.sql.adaptive.enabled") == "true")
          sameAnswer(sql("SELECT v FROM two"), reorders = false)
        assert(!reordered(sql("SELECT v FROM two")))
      })
    }
  }

  test("a subquery in which an expression fails stays above the join without rows that spares it") {
    withTables("bad") {
      spark.sql("CREATE TABLE bad USING parquet AS SELECT 'x' AS v")
      val value                   = "SELECT CAST(max(CAST(v AS INT)) AS STRING) FROM bad"
      def computed(value: String) =
        s"SELECT q.z, many.t FROM (SELECT words.j, coalesce(words.name, ($value)) AS z FROM few JOIN words ON " +
          "few.k = words.k WHERE pmod(few.v * 7, 1000) = 999) q JOIN many ON q.j = many.j"
      def compared(value: String) =
        "SELECT count(*) FROM few JOIN words ON few.k = words.k JOIN many ON words.j = many.j AND " +
          s"length(words.name) + many.w > ($value) WHERE pmod(few.v * 7, 1000) = 999"
      withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1")(everyPlan {
        for (sql <- Seq(computed(value), compared("SELECT max(CAST(v AS INT)) FROM bad"))) {
          if (spark.conf.get("spark.sql.adaptive.enabled") == "true") sameAnswer(sql, reorders = false)
          assert(!reordered(sql), sql)
        }
      })
    }
  }

  test("columns over a cache that may fail stay above the join: adaptive execution knows its partitions") {
    withTables("sums", "near", "third") {
      spark.sql("CREATE TABLE sums USING parquet AS SELECT CAST(id AS INT) k, id % 2 AS s FROM range(20000)")
      spark.sql(
        "CREATE TABLE near USING parquet AS SELECT CAST(id AS INT) k, IF(id % 2 = 1, id % 100, 0) AS day, " +
          "sha2(CAST(id AS STRING), 256) AS pad FROM range(20000)"
      )
      spark.sql(
        "CREATE TABLE third USING parquet AS SELECT CAST(id AS INT) k, sha2(CAST(id AS STRING), 256) AS name " +
          "FROM range(30000)"
      )
      val cached = spark.sql("SELECT /*+ REPARTITION(8, k) */ k, s FROM sums").cache()
      try {
        cached.count()
        cached.createOrReplaceTempView("cached_sums")
        val sql = "SELECT f.r, e.name FROM (SELECT k, 100 / s AS r FROM cached_sums) f " +
          "JOIN (SELECT * FROM near WHERE day = 1) b ON f.k = b.k JOIN third e ON e.k = b.k"
        withConf(
          "spark.sql.ansi.enabled"               -> "true",
          "spark.sql.adaptive.enabled"           -> "true",
          "spark.sql.autoBroadcastJoinThreshold" -> "50000",
          "spark.sql.codegen.wholeStage"         -> "true",
          "spark.sql.codegen.factoryMode"        -> "FALLBACK"
        ) {
          val plain = dovetail(on = false)(answer(sql))
          assert(dovetail(on = true)(answer(sql)) == plain)
        }
      } finally { spark.catalog.dropTempView("cached_sums"); cached.unpersist(blocking = true); () }
    }
  }

  test("columns that may fail are not computed before a join that spares them, whatever makes it a broadcast") {
    withTables("sums", "near", "third") {
      spark.sql(
        "CREATE TABLE sums USING parquet AS SELECT CAST(id DIV 2 AS INT) k, CAST(id % 50 AS DOUBLE) v FROM range(40000)"
      )
      spark.sql(
        "CREATE TABLE near USING parquet AS SELECT CAST(id AS INT) k, id % 100 AS day, CAST(id AS DOUBLE) AS lo, " +
          "sha2(CAST(id AS STRING), 256) AS pad FROM range(20000)"
      )
      spark.sql("CREATE TABLE third USING parquet AS SELECT CAST(id AS INT) k, id % 7 AS name FROM range(30000)")
      // groups with an even k have the sum 0 below, and no partner
      val grouped =
        "(SELECT k, sum(if(k % 2 = 0, 0, v)) AS s, 100 / sum(if(k % 2 = 0, 0, v)) AS r FROM sums GROUP BY k)"
      // the exchange of the grouping is that of the join, and `near` turns out small
      val late = s"SELECT f.r, c.name FROM $grouped f JOIN (SELECT * FROM near WHERE day = 1) b ON f.k = b.k " +
        "JOIN third c ON c.k = b.k"
      // the same below a broadcast join, which keeps the places of its rows
      val above = "SELECT f.r, c.name FROM (SELECT k, count(*) AS m, sum(if(k % 2 = 0, 0, v)) AS s, " +
        "100 / sum(if(k % 2 = 0, 0, v)) AS r FROM sums GROUP BY k) f JOIN (SELECT id AS m FROM range(1, 20)) d " +
        "ON f.m = d.m JOIN (SELECT * FROM near WHERE day = 1) b ON f.k = b.k JOIN third c ON c.k = d.m"
      // an equality, but none between two sides: a nested loop
      val loop = s"SELECT f.k, f.r, c.name FROM $grouped f JOIN third c ON c.k = f.k WHERE NOT EXISTS " +
        "(SELECT 1 FROM near b WHERE day = 1 AND b.lo + f.s = b.lo)"
      val answered = scala.collection.mutable.Set.empty[String]
      everyPlan {
        for (sql <- Seq(late, above, loop); threshold <- Seq("10MB", "20000"))
          withConf(
            "spark.sql.autoBroadcastJoinThreshold" -> threshold,
            "spark.sql.codegen.wholeStage"         -> "true",
            "spark.sql.codegen.factoryMode"        -> "FALLBACK"
          ) {
            val plain = dovetail(on = false)(Try(answer(sql)))
            if (plain.isSuccess) {
              answered += sql
              assert(dovetail(on = true)(answer(sql)) == plain.get, s"$threshold: $sql")
            }
          }
      }
      assert(answered(late) && answered(above) && answered(loop), "plain Spark has an answer in some mode")
    }
  }

  test("a text file that stops at a malformed record stays behind the broadcast that spares it") {
    withDirectory { directory =>
      val lines = "1,no number,none" +: (0 until 3000).map(i => s"1,$i,name $i")
      Files.write(directory.resolve("lines.csv"), lines.mkString("", "\n", "\n").getBytes("UTF-8"))
      val modes = Seq("lenient" -> "PERMISSIVE", "strict" -> "failfast")

      def key(ndv: Int, min: Int, max: Int) =
        InjectedStatistics.column(Some(BigInt(ndv)), Some(BigInt(0)), Some(min.toString), Some(max.toString))
      def over(table: String) =
        query(safe, s"few JOIN $table words ON few.k = words.k JOIN many ON words.j = many.j")
      withTables(modes.map(_._1): _*) {
        modes.foreach { case (table, mode) =>
          spark.sql(
            s"CREATE TABLE $table (k INT, j INT, name STRING) USING csv OPTIONS (mode '$mode') LOCATION '$directory'"
          )
          InjectedStatistics(spark, table, Some(3000), 40000, Map("k" -> key(1, 1, 1), "j" -> key(3000, 0, 2999)))
          // nothing else confirms the count, and without a bound Spark is not to broadcast the lines in another order
          spark.sql(s"DOVETAIL SET ROWS 3000 FOR TABLE $table").collect()
        }
        everyPlan {
          sameAnswer(over("lenient"))
          // without adaptive execution, it depends on the compiled code whether lines are read
          if (spark.conf.get("spark.sql.adaptive.enabled") == "true") sameAnswer(over("strict"), reorders = false)
          val groups = dovetail(on = true)(traced(over("strict"))._2.groups)
          assert(groups.exists(_.reason.contains("may fail in its scan in the mode FAILFAST")), groups)
        }
        spark.sql("DOVETAIL FORGET ROWS").collect()
      }
    }
  }

  test("an expression on a VARIANT value that may fail is not hidden in the scan") {
    assume(spark.version >= "4.1")
    withTables("variants") {
      spark.sql("CREATE TABLE variants USING parquet AS SELECT parse_json('{\"n\": \"seven\"}') AS v FROM range(3)")
      val query = spark.sql("SELECT 1 AS one FROM variants WHERE variant_get(v, '$.n', 'int') >= 0").queryExecution
      def shown(p: LogicalPlan) = p.expressions.exists(_.exists(_.prettyName == "variant_get"))
      assert(!dovetail(on = false)(query.optimizedPlan.exists(shown)), "Spark has the scan extract it")
      val prepared = Preparation(spark, EliminateSubqueryAliases(query.analyzed))
      assert(prepared.exists(shown) && prepared.exists(InputFault.mayFail), prepared)
    }
  }

  test("an input is told apart from the copy of it that Spark makes for LATERAL") {
    def lateral(filter: String) = query(
      filter,
      "few JOIN words ON few.k = words.k " +
        "JOIN LATERAL (SELECT max(many.w) t FROM many WHERE many.j = words.j) many ON true"
    )
    everyPlan { movesUnlessItFails(lateral); () }
  }

  test("without adaptive execution, compiled code hears nothing of a broadcast above an empty one") {
    withTables("a", "b", "c", "d") {
      for ((name, rows) <- Seq(("a", 20000), ("b", 50), ("c", 200), ("d", 20)))
        spark.sql(s"CREATE TABLE $name USING parquet AS SELECT id, id % 50 AS k, id % 23 AS v, " +
          s"concat('s', id) AS s FROM range($rows)")
      def joins(ofC: String) = "SELECT count(*) FROM a JOIN b ON a.k = b.k AND b.v > (SELECT max(id) + 1000 FROM d) " +
        s"JOIN c ON a.k = c.k AND $ofC JOIN d ON c.k = d.k"
      withConf(
        "spark.sql.adaptive.enabled"     -> "false",
        "spark.sql.codegen.wholeStage"   -> "true",
        "spark.sql.codegen.factoryMode"  -> "FALLBACK",
        "spark.sql.ansi.enabled"         -> "true",
        "spark.dovetail.reorder.minGain" -> "0"
      ) {
        sameAnswer(joins("length(c.s) = 3"))
        // a text that is no number, and a subquery that returns two rows
        for (fails <- Seq("CAST(c.s AS INT) = 3", "c.v = (SELECT v FROM c WHERE id IN (1, 2))"))
          sameAnswer(joins(fails), reorders = false)
      }
    }
  }

  test("an input that may fail stays behind a NOT IN that has no answer, for there is a NULL") {
    def over(filter: String) =
      s"SELECT count(*), max(many.t) FROM (SELECT * FROM words WHERE $filter AND words.j NOT IN " +
        "(SELECT nullif(v, 50) FROM few)) words JOIN many ON words.j = many.j"
    everyPlan {
      val groups = movesUnlessItFails(over)
      assert(groups.exists(_.reason.contains("Spark does not read it if there is a NULL in the key of ")), groups)
    }
  }

  test("while a query runs, an input that may fail stays behind a broadcast without a key") {
    def over(filter: String) = query(filter, "words JOIN few ON words.j > few.v JOIN many ON words.j = many.j")
    everyPlan {
      if (spark.conf.get("spark.sql.adaptive.enabled") == "true") movesUnlessItFails(over)
      else sameAnswer(over(safe))
    }
  }

  test("a key that may fail stays behind the product with a table that has no files") {
    spark.sql("CREATE TABLE nothing (k INT, v INT, d STRING) USING parquet")
    try withConf(
        "spark.sql.autoBroadcastJoinThreshold" -> "-1",
        "spark.sql.adaptive.enabled"           -> "false",
        "spark.sql.ansi.enabled"               -> "true",
        "spark.sql.crossJoin.enabled"          -> "true",
        "spark.dovetail.reorder.minGain"       -> "0"
      ) {
        def over(key: String) =
          "SELECT count(*), max(many.t) FROM few, words, nothing, many WHERE nothing.k = many.j " +
            s"AND nothing.v <> words.j AND $key = few.k GROUP BY words.k"
        val fails = over("length(elt(words.j, 'a', 'bb', 'ccc'))")
        assert(dovetail(on = false)(answer(fails)).isEmpty)
        dovetail(on = true) {
          assert(answer(fails).isEmpty)
          val reasons = traced(fails)._2.groups.map(_.reason)
          assert(reasons.exists(_.contains("words) may fail in ")), reasons)
          assert(!traced(over("length(concat(words.name, 'a'))"))._2.groups.exists(_.reason.contains("may fail")))
        }
        // what fails may lie below exchanges, which Spark does not compute either
        def below(filter: String) = "SELECT count(*), max(many.t) FROM " +
          s"(SELECT k, max(j) j FROM words WHERE $filter GROUP BY k) words JOIN few ON few.k = words.k " +
          "CROSS JOIN nothing JOIN many ON nothing.k = many.j"
        sameAnswer(below("length(name) > 0"))
        sameAnswer(below("CAST(name AS INT) >= 0"), reorders = false)
        val reasons = traced(below("CAST(name AS INT) >= 0"))._2.groups.map(_.reason)
        assert(reasons.exists(_.contains("words) may fail in ")), reasons)
      }
    finally spark.sql("DROP TABLE nothing")
  }

  test("where Spark orders joins itself, a condition that may fail is left to Spark with all its joins") {
    tables.foreach(t => spark.sql(s"ANALYZE TABLE $t COMPUTE STATISTICS FOR ALL COLUMNS"))
    def over(condition: String) = "SELECT count(*), max(many.t) FROM many JOIN words ON words.j = many.j " +
      s"JOIN few ON few.k = words.k AND $condition WHERE few.v < 10"
    withConf(
      "spark.sql.cbo.enabled"             -> "true",
      "spark.sql.cbo.joinReorder.enabled" -> "true",
      "spark.sql.ansi.enabled"            -> "true",
      "spark.dovetail.reorder.minGain"    -> "0"
    ) {
      val throws = over("try_cast(words.name AS INT) + many.w + few.v > 0")
      dovetail(on = true) {
        val groups = traced(throws)._2.groups
        assert(groups.nonEmpty && groups.forall(_.reason.contains("spark.sql.cbo.joinReorder.enabled")), groups)
        val total = traced(over("words.name < concat(many.t, few.v)"))._2.groups
        assert(total.nonEmpty && !total.exists(_.reason.contains("spark.sql.cbo.joinReorder.enabled")), total)
      }
      val plans = Seq(true, false).map(on =>
        dovetail(on)(spark.sql(throws).queryExecution.optimizedPlan.canonicalized.treeString)
      )
      assert(plans.distinct.size == 1)
      sameAnswer(throws, reorders = false)
    }
  }
}
