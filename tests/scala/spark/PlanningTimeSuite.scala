package org.apache.spark.sql.dovetail

import java.nio.file.Path
import java.util.concurrent.atomic.AtomicLong

import org.apache.spark.sql.catalyst.QueryPlanningTracker
import org.apache.spark.sql.catalyst.plans.logical.Filter
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.deadline.{Aside, PlanningTime}
import org.apache.spark.sql.dovetail.footers.FooterCache
import org.apache.spark.sql.dovetail.predicates.LinearTime
import org.apache.spark.sql.dovetail.sample.FileSampleCache
import org.apache.spark.sql.functions.udf

/** One time budget for planning a query: sources that hang, large plans, and functions of the user. */
class PlanningTimeSuite extends DovetailSuite {

  /**
   * Limit for planning in these tests. A hanging call takes a minute or two, unless planning waits for it no longer
   * than `planning.maxMs`. The limit leaves room for slow machines.
   */
  private val PatienceMs = 30000.0

  private def budget(ms: Long): (String, String) = DovetailConf.PlanningMaxMs.key -> ms.toString

  /** Milliseconds that planning took, including Spark's own part, and the reasons that explain gives for the groups. */
  private def total(sql: String): (Double, Seq[String]) = {
    val start      = System.nanoTime()
    val (_, trace) = traced(sql)
    ((System.nanoTime() - start) / 1e6, trace.groups.map(_.reason))
  }

  private def waiting: Int = Thread.getAllStackTraces.keySet.toArray(Array.empty[Thread]).count(t =>
    t.isAlive && t.getName.startsWith("dovetail-")
  )

  /** Creates three tables, with the views `a`, `b` and `c` of them; `a` lies below a directory `slow`. */
  private def withFiles[A](body: Path => A): A = withDirectory { d =>
    withConf(HangingFileSystem.setting) {
      withTables("a", "b", "c") {
        for ((name, place, rows) <- Seq(("a", "slow/a", 2000), ("b", "fast/b", 200), ("c", "fast/c", 20))) {
          spark.range(rows).selectExpr(
            "id",
            "id % 20 AS g",
            "concat('text ', id) AS s"
          ).write.parquet(d.resolve(place).toString)
          spark.read.parquet(s"${HangingFileSystem.Scheme}:${d.resolve(place)}").createOrReplaceTempView(name)
        }
        FooterCache.clear()
        FileSampleCache.clear()
        body(d)
      }
    }
  }

  private val Three = "SELECT * FROM a JOIN b ON a.g = b.id JOIN c ON b.g = c.id WHERE a.s LIKE '%1'"

  test("a statistics store that hangs is waited for once, and then left out; explain says so") {
    withFiles { d =>
      withConf("spark.dovetail.store.path" -> s"${HangingFileSystem.Scheme}:${d.resolve("stuck")}", budget(400)) {
        val expected = dovetail(on = false)(answer(Three))
        HangingFileSystem.during("stuck") {
          val (millis, reasons) = total(Three)
          assert(millis < PatienceMs)
          assert(reasons.exists(_.contains("stuck did not answer in time")), reasons)
          val before  = waiting
          val slowest = (1 to 20).map(_ => total(Three)._1).max
          assert(slowest < PatienceMs)
          // queries of the first second ask the store a few times each; after that, no thread is added
          assert(waiting - before < 40, s"$before threads before, $waiting after")
          assert(answer(Three) == expected)
        }
      }
    }
  }

  test("footers that hang: the sizes of files stand in for them, tables elsewhere are read") {
    withFiles { _ =>
      withConf(budget(400)) {
        val expected = dovetail(on = false)(answer(Three))
        HangingFileSystem.during("slow") {
          val (millis, reasons) = total(Three)
          assert(millis < PatienceMs)
          assert(reasons.exists(_.contains("file footers were not read in time")), reasons)
        }
        assert(answer(Three) == expected)
      }
    }
  }

  test("rows that hang are done without") {
    withFiles { _ =>
      withConf(DovetailConf.SampleFiles.key -> "false", DovetailConf.FootersMaxMs.key -> "60000")(total(Three))
      withConf(budget(8000)) {
        HangingFileSystem.during("slow") {
          val (millis, reasons) = total(Three)
          assert(millis < PatienceMs)
          assert(reasons.exists(_.contains("rows of 1 of 3 tables were not read in time")), reasons)
        }
      }
    }
  }

  test(
    "a function of the user's does not run while a query is planned or explained, unless the user allows it; what it " +
      "throws then is no failure"
  ) {
    withFiles { _ =>
      val calls = new AtomicLong
      spark.udf.register("counted", udf { s: String => calls.incrementAndGet(); s.length })
      spark.udf.register(
        "broken",
        udf { s: String => if (calls.incrementAndGet() > 0L) throw new NoClassDefFoundError(s) else 1 }
      )
      def during(sql: String): Long = { calls.set(0L); FileSampleCache.clear(); total(sql); calls.get }
      val predicates = Seq("counted(a.s) > 7", "a.g + counted(a.s) > 7", "counted(a.s) IN (7, 8) OR b.g = 1")
      for (p <- predicates) {
        val sql = s"SELECT * FROM a JOIN b ON a.g = b.id JOIN c ON b.g = c.id WHERE $p"
        assert(during(sql) == 0L, p)
        spark.sql(s"EXPLAIN $sql").collect()
        assert(calls.get == 0L, s"EXPLAIN, $p")
        sameAnswer(sql, reorders = false)
      }
      withConf(DovetailConf.SampleUserFunctions.key -> "true") {
        assert(during("SELECT * FROM a JOIN b ON a.g = b.id JOIN c ON b.g = c.id WHERE counted(a.s) > 6") > 0L)
        assert(during("SELECT * FROM a JOIN b ON a.g = b.id JOIN c ON b.g = c.id WHERE broken(a.s) > 6") > 0L)
      }
      // the built-in predicate beside it runs on the sample
      assert(
        traced(
          "SELECT * FROM a JOIN b ON a.g = b.id JOIN c ON b.g = c.id WHERE a.s LIKE 'nothing%' AND counted(a.s) > 7"
        )._2.groups.head.relations.head.rows
          .exists(_.value < 100.0)
      )
    }
  }

  test("a partition's values do not get to a function of the user's one time more than without us") {
    withDirectory { d =>
      withTables("parted", "b2", "c2") {
        spark.sql(
          s"CREATE TABLE parted USING parquet PARTITIONED BY (p) LOCATION '${d.resolve("parted")}' AS SELECT id, " +
            "id % 5 AS p FROM range(50)"
        )
        spark.sql("CREATE TABLE b2 USING parquet AS SELECT id FROM range(20)")
        spark.sql("CREATE TABLE c2 USING parquet AS SELECT id FROM range(10)")
        val calls = new AtomicLong
        spark.udf.register("seen", udf { p: Long => calls.incrementAndGet(); p })
        val sql = "SELECT * FROM parted JOIN b2 ON parted.id = b2.id JOIN c2 ON b2.id = c2.id WHERE seen(p) = 3"
        def planned(on: Boolean) = dovetail(on) { calls.set(0L); optimized(sql); calls.get }
        val (without, withUs)    = (planned(on = false), planned(on = true))
        assert(without > 0L && withUs <= without, s"$without calls without, $withUs with Dovetail")
      }
    }
  }

  private def clique(n: Int, salt: Int): String = "SELECT count(*) FROM " + (0 until n).map { i =>
    s"small t$i" + (if (i == 0) "" else " ON " + (0 until i).map(j => s"t$j.g | $salt = t$i.h").mkString(" AND "))
  }.mkString(" JOIN ")

  private def withSmall[A](body: => A): A = withTables("small") {
    spark.range(10).selectExpr("id g", "id h").createOrReplaceTempView("small")
    body
  }

  test("twelve cliques share one budget: pairs and time stay near it, each group has an order or a reason") {
    withSmall {
      val sql = (0 until 12).map(clique(10, _)).mkString(" UNION ALL ")
      withConf(budget(20)) {
        val (_, trace) = traced(sql)
        // 12 times (3^10 - 2^11 + 1) / 2
        val all = 12L * 28501L
        assert(trace.groups.size >= 12)
        assert(trace.groups.map(_.pairs).sum < all, "the search of all groups was finished")
        assert(trace.groups.exists(g =>
          g.reason.contains("ran out of time") || g.reason.contains(
            "planning time is up (spark.dovetail.planning.maxMs)"
          )
        ))
      }
    }
  }

  test("time that is up leaves groups as they are written, and explain says so") {
    withSmall {
      withConf(budget(1)) {
        val sql  = (0 until 12).map(clique(8, _)).mkString(" UNION ALL ")
        val text = spark.sql(s"SELECT * FROM dovetail_explain('$sql')").head().getString(0)
        assert(text.contains("planning time is up"), text)
        sameAnswer(clique(4, 0), reorders = false)
      }
    }
  }

  test("a query's subqueries share its budget, and Spark's own time is not counted") {
    val conf                     = spark.sessionState.conf
    val (tracker, other)         = (new QueryPlanningTracker, new QueryPlanningTracker)
    def spend(pause: Long): Long = PlanningTime.ofQuery(conf) {
      PlanningTime.notCounting(Thread.sleep(1000L))
      Thread.sleep(pause)
      PlanningTime.left
    }
    withConf(budget(100000)) {
      PlanningTime.ofQuery(conf)(()) // the first query of a JVM has more
      val (first, second) = QueryPlanningTracker.withTracker(tracker)((spend(300), spend(300)))
      val anew            = QueryPlanningTracker.withTracker(other)(spend(1))
      assert(second <= first - 300L * 1000000L, "what the first run took is gone")
      assert(anew > second, "another query has its own")
      assert(first > 100000L * 1000000L - 900L * 1000000L, "the time of Spark's own work was counted")
    }
  }

  test("reading leaves half of the budget to the search, however much there is to read") {
    val conf = spark.sessionState.conf
    withConf(budget(4000)) {
      PlanningTime.ofQuery(conf)(()) // the first query of a JVM has more
      val (asked, left) = PlanningTime.ofQuery(conf) {
        val places = Iterator.from(1).takeWhile(i => PlanningTime.toRead > 0L && i < 1000)
        val asked  =
          places.map(i => Aside(s"place $i")(until => while (System.nanoTime() < until) Thread.sleep(1))).size
        assert(Aside("a place that is asked too late")(_ => 1).isEmpty)
        (asked, PlanningTime.left / 1000000L)
      }
      assert(asked > 4, "a single place must not take everything")
      assert(left > 1000L && left <= 2000L, s"$left ms are left")
    }
  }

  test("what runs out of time is tried a second time, in a part of the budget that is kept for it") {
    val conf               = spark.sessionState.conf
    def forever(): Nothing = { while (true) { Thread.sleep(1); PlanningTime.check() }; throw new IllegalStateException }
    withConf(budget(1000)) {
      PlanningTime.ofQuery(conf)(()) // the first query of a JVM has more
      var tries = 0
      PlanningTime.ofQuery(conf) {
        assert(PlanningTime.twice { tries += 1; if (tries == 1) forever(); PlanningTime.toRead }.exists(_ <= 0L))
        assert(PlanningTime.left > 0L)
        assert(PlanningTime.twice[Int](forever()).isEmpty, "all time is gone")
        assert(PlanningTime.left <= 0L && tries == 2)
      }
    }
  }

  test("predicates whose values may take long run in a thread of their own, others do not") {
    spark.udf.register("own", udf { s: String => s.length })
    val table                        = spark.range(10).selectExpr("id", "concat('t', id) s", "CAST(id AS DOUBLE) d")
    def condition(predicate: String) =
      table.where(predicate).queryExecution.analyzed.collectFirst { case f: Filter => f.condition }.get
    def linear(predicate: String) = LinearTime(condition(predicate))
    for (p <- Seq("id > 3 AND s IN ('a', 'b')", "substring(s, 1, 2) = 't1' OR d IS NULL", "s LIKE 't%' = false"))
      assert(linear(p) == !p.contains("LIKE"), p)
    for (
      p <- Seq("s RLIKE '(t+)+$'", "contains(s, 't')", "own(s) > 1", "regexp_replace(s, 'a', 'b') = s", "id / 0 > 1")
    )
      assert(!linear(p), p)
    assert(LinearTime.orShortSearch(condition("contains(s, 't') AND id > 3")))
    for (p <- Seq("contains(s, s)", s"contains(s, '${"t" * 100}')", "s LIKE '%t%'", "s RLIKE 't'"))
      assert(!LinearTime.orShortSearch(condition(p)), p)
  }

  test("many columns: Dovetail's part of planning takes no longer than the budget, by far") {
    withDirectory { d =>
      withTables("wide", "small") {
        spark.range(
          20
        ).selectExpr((0 until Columns).map(i => s"id AS c$i"): _*).coalesce(1).write.parquet(d.resolve("wide").toString)
        spark.read.parquet(d.resolve("wide").toString).createOrReplaceTempView("wide")
        spark.range(10).selectExpr("id g").createOrReplaceTempView("small")
        withoutIdempotenceCheck(withConf(budget(2000)) {
          val (_, trace) = traced(
            "SELECT * FROM wide a JOIN wide b ON a.c1 = b.c1 JOIN wide c ON b.c2 = c.c2 JOIN small d ON d.g = a.c0"
          )
          assert(trace.millis.toMap.apply("total") < PatienceMs)
        })
      }
    }
  }

  /** Spark's checks of plans, which are on in tests, take minutes with 2,000 columns. */
  private val Columns = 400
}
