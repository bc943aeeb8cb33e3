package org.apache.spark.sql.dovetail

import java.util.concurrent.{CountDownLatch, TimeUnit}

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

/** `DOVETAIL PROFILE` counts rows, time and bytes correctly. */
class ProfileSuite extends StarSuite {
  private val star =
    "SELECT f.v, a.w, b.w AS x FROM f JOIN a ON f.k1 = a.k JOIN b ON f.k2 = b.k JOIN c ON f.k3 = c.k WHERE c.w = 1"

  private def profile(sql: String): JsonNode =
    new ObjectMapper().readTree(spark.sql(s"DOVETAIL PROFILE $sql").head().getString(0))
  private def count(sql: String): Long             = spark.sql(s"SELECT count(*) FROM ($sql)").head().getLong(0)
  private def items(n: JsonNode): Vector[JsonNode] = (0 until n.size).map(n.get).toVector

  test("rows of every join are those that count(*) finds") {
    Seq("true", "false").foreach { adaptive =>
      withConf(
        "spark.sql.adaptive.enabled"           -> adaptive,
        "spark.sql.autoBroadcastJoinThreshold" -> (if (adaptive == "true") "10485760" else "-1")
      ) {
        dovetail(on = false) {
          val p = profile(
            "SELECT f.v, a.w, b.w AS x FROM f JOIN a ON f.k1 = a.k AND a.w < 5 JOIN b ON f.k2 = b.k AND b.w = 3"
          )
          val joins =
            items(p.get("joins")).map(j => items(j.get("relations")).map(_.asText).toSet -> j.get("rows").asLong).toMap
          val pair = joins.keySet.find(_.size == 2).get
          val two  = if (pair == Set("f", "a")) "SELECT 1 FROM f JOIN a ON f.k1 = a.k AND a.w < 5"
          else "SELECT 1 FROM f JOIN b ON f.k2 = b.k AND b.w = 3"
          assert(joins(pair) == count(two))
          assert(joins(Set(
            "f",
            "a",
            "b"
          )) == count("SELECT 1 FROM f JOIN a ON f.k1 = a.k AND a.w < 5 JOIN b ON f.k2 = b.k AND b.w = 3"))
          assert(p.get("join_rows").asLong == joins.values.sum)
        }
      }
    }
  }

  test("time of tasks, garbage collection and spills are of the query's own tasks") {
    // one task sleeps in each of two partitions, while a task of another job ends
    val (millis, others) = (1000, 1500)
    spark.udf.register("nap", (id: Long) => { Thread.sleep(millis.toLong); id })
    val other = new Thread(() =>
      spark.sparkContext.parallelize(1 to 1, 1).foreach { _ =>
        ProfileSuite.begun.countDown()
        Thread.sleep(others.toLong)
      }
    )
    other.start()
    assert(ProfileSuite.begun.await(60L, TimeUnit.SECONDS))
    val p = profile("SELECT nap(id) FROM range(0, 2, 1, 2)")
    assert(p.get("task_seconds").asDouble >= 2 * millis / 1e3)
    assert(p.get("task_seconds").asDouble < (2 * millis + others) / 1e3)
    assert(p.get("gc_seconds").asDouble >= 0.0 && p.get("spilled_bytes").asLong == 0L)
    other.join()
  }

  test("outer, semi, anti and cross joins, subqueries: all are counted, what is reused once") {
    val p = profile(
      "SELECT count(*) FROM a LEFT JOIN b ON a.k = b.k WHERE EXISTS (SELECT 1 FROM c WHERE c.k = a.w) AND a.w NOT IN " +
        "(SELECT w FROM c WHERE k < 3) AND a.k > (SELECT count(*) FROM c x CROSS JOIN c y) - 395"
    )
    assert(p.get("joins").size == 4)
    assert(items(p.get("joins")).map(_.get("rows").asLong).contains(400L), "20 times 20 rows of the scalar subquery")
    withConf("spark.sql.adaptive.enabled" -> "false", "spark.sql.autoBroadcastJoinThreshold" -> "-1") {
      val shared = profile(
        "WITH s AS (SELECT a.w, count(*) n FROM f JOIN a ON f.k1 = a.k GROUP BY a.w) SELECT * FROM s x JOIN s y ON " +
          "x.w = y.w"
      )
      assert(
        items(shared.get("joins")).map(_.get("rows").asLong).sorted == Vector(10L, 5000L),
        "the body's join ran once"
      )
      assert(shared.get("shuffle_bytes").asLong > 0L)
    }
  }

  test("shuffled bytes: none for broadcasts, some for shuffles") {
    assert(profile("SELECT f.v FROM f JOIN a ON f.k1 = a.k").get("shuffle_bytes").asLong == 0L)
    withConf(
      "spark.sql.autoBroadcastJoinThreshold" -> "-1"
    )(assert(profile("SELECT f.v FROM f JOIN a ON f.k1 = a.k").get("shuffle_bytes").asLong > 5000L))
  }

  test("the digest tells unusual numbers apart, and names the columns whose values it does not cover") {
    def digest(value: String): JsonNode = profile(s"SELECT $value AS v, 1 AS one").get("digest")
    Seq("DOUBLE", "FLOAT").foreach { floating =>
      val digests = Seq("'NaN'", "'Infinity'", "'-Infinity'", "0.0", "NULL").map(v => digest(s"CAST($v AS $floating)"))
      assert(digests.map(_.get("hash").asText).distinct.size == digests.size)
      assert(digests.forall(_.get("not_compared").isEmpty))
    }
    Seq("array(%s)", "named_struct('a', 1, 'b', %s)", "map('a', %s)").foreach { nested =>
      // one sum, added in two orders
      val digests = Seq("0.1D + 0.2D + 0.3D", "0.3D + 0.2D + 0.1D").map(sum => digest(nested.format(sum)))
      assert(digests.distinct.size == 1, nested)
      assert(items(digests.head.get("not_compared")).map(_.asText) == Vector("v"))
    }
    assert(digest("array(1)").get("hash") != digest("array(2)").get("hash"))
  }

  test("the answer's rows, the digest's, and the orders") {
    val (ours, plain) = (profile(star), dovetail(on = false)(profile(star)))
    assert(ours.get("enabled").asBoolean && !plain.get("enabled").asBoolean)
    assert(ours.get("rows").asLong == count(star) && ours.at("/digest/rows").asLong == count(star))
    assert(items(plain.get("orders")).map(_.asText) == Vector(
      "(((f a) b) c)"
    ) && items(ours.get("orders")).map(_.asText) == sql.ProfileCommand.orders(optimized(star)).toVector)
    assert(items(ours.get("orders")) != items(plain.get("orders")))
    assert(ours.get("join_rows").asLong < plain.get("join_rows").asLong, "the better order makes fewer rows")
    assert(ours.get("digest") == plain.get("digest"))
    assert(ours.get("seconds").asDouble > 0.0 && ours.get("planning_ms").asDouble >= ours.get(
      "dovetail_ms"
    ).asDouble && ours.get(
      "dovetail_ms"
    ).asDouble > 0.0 && plain.get("dovetail_ms").asDouble == 0.0)
  }

  private def digest(sql: String): JsonNode = profile(sql).get("digest")

  test("the digest does not depend on the order of rows, and on nothing else") {
    val types =
      "k1, t, CAST(v AS DECIMAL(20,3)) / 7 AS d, v / 3.0D AS x, CAST(v AS FLOAT) AS y, DATE'2020-01-01' + k1 AS e, " +
        "IF(v % 5 = 0, NULL, k2) AS n, array(v, k1) AS r, named_struct('q', v) AS u, map('a', v) AS m, CAST(t AS " +
        "BINARY) AS b"
    val sorted = digest(s"SELECT $types FROM f ORDER BY v, t")
    assert(sorted == digest(s"SELECT $types FROM f ORDER BY t DESC") || nearly(
      sorted,
      digest(s"SELECT $types FROM f ORDER BY t DESC")
    ))
    assert(nearly(sorted, digest(s"SELECT /*+ REPARTITION(5) */ $types FROM f")))
    Seq(
      s"SELECT $types FROM f WHERE v <> 3"                                                -> "rows gone",
      s"SELECT $types FROM f UNION ALL SELECT $types FROM f WHERE v = 3"                  -> "rows twice",
      s"SELECT ${types.replace("k1, t", "k1, IF(v = 3, 'other', t) AS t")} FROM f"        -> "another string",
      s"SELECT ${types.replace("IF(v % 5 = 0", "IF(v % 5 = 1")} FROM f"                   -> "other NULLs",
      s"SELECT ${types.replace("array(v, k1)", "array(v + IF(v = 3, 1, 0), k1)")} FROM f" -> "another array",
      s"SELECT ${types.replace("v / 3.0D", "v / 3.1D")} FROM f"                           -> "other doubles"
    ).foreach { case (other, what) => assert(!nearly(sorted, digest(other)), what) }
  }

  test("small answers and large ones, collected or not, have the same digest") {
    assert(digest("SELECT v, t FROM f") == digest("SELECT v, t FROM f LIMIT 100000"))
    assert(digest("SELECT v FROM f WHERE v < 0").get("rows").asLong == 0L)
  }

  test("values that are no numbers, and types without a hash") {
    assert(digest(
      "SELECT CAST('NaN' AS DOUBLE) AS x, CAST('Infinity' AS FLOAT) AS y, NULL AS z, map(1, array(map(2, 3))) AS m"
    ).get("rows").asLong == 1L)
    if (spark.version >= "4.0") assert(digest("SELECT parse_json('{\"a\": 1}') AS v, 1 AS x").get("rows").asLong == 1L)
    assert(digest(
      "SELECT INTERVAL '1' YEAR AS a, INTERVAL '1' DAY AS b, TIMESTAMP_NTZ'2020-01-01 00:00:00' AS c"
    ).get("rows").asLong == 1L)
  }

  /** Whether two digests are equal, with a tolerance for the sums. */
  private def nearly(a: JsonNode, b: JsonNode): Boolean =
    a.get("rows") == b.get("rows") && a.get("hash") == b.get("hash") && Seq("3", "4").forall { column =>
      val (x, y) = (items(a.get("sums").get(column)).map(_.asDouble), items(b.get("sums").get(column)).map(_.asDouble))
      x.zip(y).forall { case (p, q) => math.abs(p - q) <= 1e-9 * math.max(math.abs(x(1)), 1.0) }
    }
}

private object ProfileSuite {

  /** Counted down when the task of another job begins. */
  val begun = new CountDownLatch(1)
}
