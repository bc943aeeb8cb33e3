package org.apache.spark.sql.dovetail

import java.nio.file.{Files, Path}

import dovetail.kernel.profile.Estimate
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.col
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.footers.FooterCache
import org.apache.spark.sql.dovetail.sample.FileSampleCache
import org.apache.spark.sql.dovetail.stats.PlanStatistics
import org.apache.spark.sql.dovetail.table.TableStatisticsSource

/** Predicates on tables without statistics: planning a query evaluates them on rows that it reads from the files. */
class FileSampleSuite extends DovetailSuite {

  /** Gives the readers all the time they need. */
  private lazy val Patient = DovetailConf.FootersMaxMs.key -> "60000"

  private def estimate(data: DataFrame, settings: (String, String)*): Estimate = withConf((Patient +: settings): _*) {
    val plan       = data.queryExecution.optimizedPlan
    val statistics = new PlanStatistics(spark.sessionState.conf, histograms = true, TableStatisticsSource.none)
    statistics.readAhead(plan)
    statistics(plan).rows
  }

  private def rows(data: DataFrame, settings: (String, String)*): Double = estimate(data, settings: _*).value

  private def off(data: DataFrame): Double = rows(data, DovetailConf.SampleFiles.key -> "false")

  /** Skewed and correlated rows: nine in ten have kind 'common' and code 7, the others have random kinds and codes. */
  private def skewed(n: Long, partitions: Int = 1): DataFrame = spark.range(0, n, 1, partitions).selectExpr(
    "id",
    "IF(pmod(hash(id), 10) > 0, 'common', concat('rare ', pmod(hash(id + 1), 40))) kind",
    "IF(pmod(hash(id), 10) > 0, 7, pmod(hash(id + 2), 100)) code",
    "date_add(DATE'2020-01-01', CAST(id * 3000 DIV " + n + " AS INT)) day",
    "CAST(NULL AS STRING) nothing"
  )

  private val predicates = Seq(
    "kind = 'common'",
    "kind LIKE 'rare 1%'",
    "kind = 'common' AND code = 7",
    "code <> 7",
    "kind = 'rare 3' OR code = 50",
    "length(kind) = 6",
    "code % 2 = 1"
  )

  private def near(data: DataFrame, where: String, tolerance: Double = 0.35, atLeast: Double = 60.0): Unit = {
    val (found, truth) = (rows(data.where(where)), data.where(where).count().toDouble)
    assert(
      math.abs(found - truth) <= math.max(tolerance * truth, atLeast),
      s"estimated $found instead of $truth where $where"
    )
  }

  Seq("parquet", "orc").foreach { format =>
    test(s"$format: of a table that fits, every row is tried; of one of moderate size, every n-th") {
      withDirectory { d =>
        skewed(5000).write.format(format).save(d.resolve("small").toString)
        val small = spark.read.format(format).load(d.resolve("small").toString)
        predicates.foreach(p => assert(rows(small.where(p)) == small.where(p).count().toDouble, p))
        skewed(100000, 3).write.format(format).save(d.resolve("medium").toString)
        val medium = spark.read.format(format).load(d.resolve("medium").toString)
        predicates.foreach(near(medium, _))
        assert(rows(medium.where("nothing = 'x'")) < 100.0)
        assert(
          off(medium.where("kind = 'common'")) < 50000.0,
          "without, half of the rows at most: otherwise this shows nothing"
        )
      }
    }
  }

  test("the beginning of a large row group is no random sample: what it lacks may be in the rest") {
    withDirectory { d =>
      def sorted(name: String, n: Long): DataFrame = {
        val kind = s"concat(IF(id < ${n - 50000}, 'early ', 'late '), id % 50) kind"
        spark.range(0, n, 1, 1).selectExpr("id", kind).write.parquet(d.resolve(name).toString)
        spark.read.parquet(d.resolve(name).toString)
      }
      assert(estimate(sorted("large", 2100000L).where("kind LIKE 'late%'")).upper >= 50000.0)
      // a table of one row group that is not too large is read to its end
      near(sorted("moderate", 600000L), "kind LIKE 'late%'", tolerance = 0.2)
    }
  }

  test("a function of a text has as many values as the key that it is joined with, if nobody has counted them") {
    withDirectory { d =>
      val json = "concat('{\"type\":\"t', id % 20, '\",\"pad\":\"', repeat(md5(CAST(id AS STRING)), 5), '\"}') payload"
      spark.range(20000L).selectExpr("id", "id % 7 AS k", json).coalesce(1).write.parquet(d.resolve("events").toString)
      spark.range(20L).selectExpr("concat('t', id) t", "id w").coalesce(1).write.parquet(d.resolve("types").toString)
      val types = spark.read.parquet(d.resolve("types").toString)
      Seq("get_json_object(payload, '$.type')", "replace(substring(payload, 10, 3), '\"', '')").foreach { t =>
        val events = spark.read.parquet(d.resolve("events").toString).selectExpr(s"$t AS t")
        val found  = rows(events.join(types, "t"))
        assert(found >= 10000.0 && found <= 40000.0, s"$t: $found instead of 20000")
      }
    }
  }

  test("a value far from all others does not hide the rows of a join: -1 beside dates, the end of time") {
    withDirectory { d =>
      val day  = "CAST(date_format(date_add(DATE'1990-01-01', CAST(n AS INT)), 'yyyyMMdd') AS INT)"
      val days = spark.range(-1L, 14600L).withColumnRenamed("id", "n")
        .selectExpr(
          s"IF(n < 0, -1, $day) day",
          "IF(n < 0, DATE'9999-12-31', date_add(DATE'1990-01-01', CAST(n AS INT))) date"
        )
      days.coalesce(1).write.parquet(d.resolve("days").toString)
      // one row in a hundred has no day
      val facts = spark.range(0L, 300000L, 1L, 1).selectExpr("id", "10000 + id DIV 165 n", "id % 100 = 7 none")
        .selectExpr(
          "id",
          s"IF(none, -1, $day) day",
          "IF(none, DATE'9999-12-31', date_add(DATE'1990-01-01', CAST(n AS INT))) date"
        )
      facts.write.parquet(d.resolve("facts").toString)
      val (all, sold) =
        (spark.read.parquet(d.resolve("days").toString), spark.read.parquet(d.resolve("facts").toString))
      Seq("day", "date").foreach { k =>
        Seq(
          sold.select(k),
          sold.where(s"id >= 0 AND $k <> ${if (k == "day") "-1" else "DATE'9999-12-31'"}").select(k)
        ).foreach { f =>
          val joined         = f.join(all.select(k), k)
          val (found, truth) = (rows(joined), joined.count().toDouble)
          assert(found > truth / 3.0 && found < truth * 3.0, s"$k: $found instead of $truth")
        }
      }
    }
  }

  test("two tables in the order of time, cut to the same days and joined by a number that grows with time") {
    withDirectory { d =>
      val groups = Map("parquet.block.size" -> "65536", "parquet.block.size.row.check.min" -> "100")
      def written(name: String, rows: Long, perKey: Long) = {
        spark.range(0L, rows, 1L, 4).selectExpr(
          s"id DIV $perKey AS k",
          s"date_add(DATE'2020-01-01', CAST(id * 1000 DIV $rows AS INT)) AS day",
          "hash(id) AS x"
        ).write.options(groups).parquet(d.resolve(name).toString)
        spark.read.parquet(d.resolve(name).toString)
      }
      // both are read in places, and both keep one day in forty
      val (orders, items) = (written("orders", 600000L, 1L), written("items", 2400000L, 4L))
      val slice           = "day BETWEEN DATE'2021-03-01' AND DATE'2021-03-25'"
      val joined          = orders.where(slice).select("k").join(items.where(slice).select("k"), "k")
      val (found, truth)  = (rows(joined), joined.count().toDouble)
      assert(found > truth / 4.0 && found < truth * 4.0, s"$found instead of $truth")
      // a table without predicates finds its rows, too
      val open           = orders.where(slice).select("k").join(items.select("k"), "k")
      val (all, partner) = (rows(open), open.count().toDouble)
      assert(all > partner / 4.0 && all < partner * 4.0, s"$all instead of $partner")
    }
  }

  test("a dimension cut to a year meets the rows of that year, or none if the facts have no such year") {
    withDirectory { d =>
      spark.range(0L, 73000L, 1L, 1).selectExpr("id AS day", "id DIV 365 AS year").write.parquet(
        d.resolve("days").toString
      )
      // five years, of which the last has half of the rows
      spark.range(0L, 300000L, 1L, 1)
        .selectExpr("IF(id < 150000, 36500 + id % 1460, 37960 + id % 365) AS day", "id % 100 AS x")
        .write.parquet(d.resolve("sales").toString)
      val (days, sales) =
        (spark.read.parquet(d.resolve("days").toString), spark.read.parquet(d.resolve("sales").toString))
      Seq(100, 104).foreach { year =>
        // the predicate on the sales is independent of their day
        val joined         = sales.where("x = 7").select("day").join(days.where(s"year = $year").select("day"), "day")
        val (found, truth) = (rows(joined), joined.count().toDouble)
        assert(found > truth / 2.0 && found < truth * 2.0, s"year $year: $found instead of $truth")
      }
      assert(rows(sales.select("day").join(days.where("year = 20").select("day"), "day")) < 3000.0)
    }
  }

  test("a key with NULLs that a program has written as floating-point numbers is the key that it refers to") {
    withDirectory { d =>
      // one user in a hundred has most of the posts
      spark.range(0L, 400000L, 1L, 1).selectExpr("id", "pmod(hash(id), 100) = 0 AS vip", "id % 7 AS x")
        .write.parquet(d.resolve("users").toString)
      val users = spark.read.parquet(d.resolve("users").toString)
      users.where("vip").selectExpr("id AS user").crossJoin(spark.range(70).toDF("n")).select("user")
        .union(spark.range(0L, 120000L).selectExpr("id * 3 AS user"))
        .selectExpr("CAST(IF(pmod(hash(user, rand(3)), 20) = 0, NULL, user) AS DOUBLE) AS user")
        .coalesce(1).write.parquet(d.resolve("posts").toString)
      val posts = spark.read.parquet(d.resolve("posts").toString)
      Seq("CAST(user AS BIGINT) user", "user").foreach { key =>
        val joined         = posts.selectExpr(key).join(users.where("vip"), col("user") === col("id"))
        val (found, truth) = (rows(joined), joined.count().toDouble)
        assert(found > truth / 2.0 && found < truth * 2.0, s"$key: $found instead of $truth")
      }
    }
  }

  test("stripes of an ORC file are places of their own") {
    withDirectory { d =>
      spark.range(0L, 1200000L, 1L, 1).selectExpr("id DIV 100000 AS part", "id AS k", "hash(id) AS x")
        .write.options(Map("orc.stripe.size" -> "400000", "orc.stripe.row.count" -> "100000"))
        .orc(d.resolve("t").toString)
      val data = spark.read.orc(d.resolve("t").toString)
      near(data.where("part >= 6"), "part >= 6", tolerance = 0.5)
    }
  }

  test("the places that are read lie all over the table, also if their number divides that of its files") {
    withDirectory { d =>
      spark.range(0L, 64L * 5000L, 1L, 64).selectExpr("id", "id DIV 5000 AS p").write.parquet(d.resolve("t").toString)
      val files = java.nio.file.Files.list(d.resolve("t")).toArray.map(_.toString).filter(_.endsWith(".parquet")).sorted
      val data  = spark.read.parquet(files.toSeq: _*)
      near(data.where("p < 8"), "p < 8", tolerance = 1.0)
      near(data.where("p >= 56"), "p >= 56", tolerance = 1.0)
    }
  }

  test("a table that fits is counted, though Spark adds a check for NULL on a join key that is not read") {
    withDirectory { d =>
      skewed(3000).write.parquet(d.resolve("t").toString)
      val data  = spark.read.parquet(d.resolve("t").toString)
      val found = estimate(data.where("kind = 'common' AND id IS NOT NULL"))
      val truth = data.where("kind = 'common'").count().toDouble
      assert(found.value == truth && found.lower == truth && found.upper == truth, found)
    }
  }

  test(
    "of a large table, some places are read: what is alike everywhere is known, what lies together is not taken for " +
      "the whole"
  ) {
    withDirectory { d =>
      skewed(600000).write.option("parquet.block.size", "65536").parquet(d.resolve("large").toString)
      val large = spark.read.parquet(d.resolve("large").toString)
      predicates.foreach(near(large, _, tolerance = 0.5, atLeast = 6000.0))
      // one day in 3,000, or one month in a hundred: most of them have no row in the places that are read
      Seq("day = DATE'2023-05-05'" -> 200.0, "day BETWEEN DATE'2023-05-01' AND DATE'2023-06-01'" -> 6400.0).foreach {
        case (p, truth) =>
          val found = rows(large.where(p))
          assert(found > truth / 10 && found < truth * 10, s"estimated $found instead of $truth where $p")
      }
    }
  }

  test(
    "partitioned: predicates on partitions prune, others are tried; a column of a name in another case; files that " +
      "change are read again"
  ) {
    withDirectory { d =>
      skewed(20000).selectExpr("*", "id % 4 part").write.partitionBy("part").parquet(d.resolve("p").toString)
      val data = spark.read.parquet(d.resolve("p").toString)
      near(data, "part = 1 AND KIND = 'common'")
      near(data, "kind <> 'common'")
      val before = rows(data.where("code = 7"))
      skewed(20000).selectExpr(
        "id",
        "kind",
        "1000 code",
        "day",
        "nothing",
        "id % 4 part"
      ).write.mode("overwrite").partitionBy("part").parquet(d.resolve("p").toString)
      val after = spark.read.parquet(d.resolve("p").toString)
      assert(before > 10000.0 && rows(after.where("code = 7")) < 100.0)
      near(after, "code = 1000")
    }
  }

  test("keys of two columns in sorted files: places that share no keys do not have all of them") {
    withDirectory { d =>
      // 5,000 pairs of day and store, 128 rows each, in eight files by day: the places that are read have 800 of them
      spark.range(0, 640000, 1, 8).selectExpr("id", "id DIV 6400 AS day", "id DIV 128 % 50 AS store")
        .write.parquet(d.resolve("sales").toString)
      spark.read.parquet(d.resolve("sales").toString).createOrReplaceTempView("sorted_sales")
      withTables("sorted_sales") {
        withConf(Patient) {
          val sql   = "SELECT * FROM sorted_sales a JOIN sorted_sales b ON a.day = b.day AND a.store = b.store"
          val found = spark.sql(s"SELECT value FROM dovetail_estimate('$sql')").head().getDouble(0)
          val truth = 5000.0 * 128 * 128
          assert(found > truth / 2 && found < truth * 2, s"estimated $found instead of $truth")
        }
      }
    }
  }

  test(
    "a large table whose files are each sorted by a column: the first rows of the files do not stand for the others"
  ) {
    withDirectory { d =>
      spark.range(0, 800000, 1, 8).selectExpr("id % 100000 AS user", "pmod(hash(id), 10) AS kind").repartition(8)
        .sortWithinPartitions("user").write.parquet(d.resolve("visits").toString)
      spark.range(100000).selectExpr(
        "id",
        "IF(id < 1000, 'beta', 'usual') AS plan"
      ).write.parquet(d.resolve("u").toString)
      val visits = spark.read.parquet(d.resolve("visits").toString)
      val users  = spark.read.parquet(d.resolve("u").toString)
      near(visits.where("user >= 50000"), "user >= 50000", tolerance = 0.5)
      near(visits.where("kind = 3"), "kind = 3")
      visits.createOrReplaceTempView("sorted_visits")
      users.createOrReplaceTempView("sorted_users")
      withTables("sorted_visits", "sorted_users") {
        withConf(Patient) {
          val sql   = "SELECT * FROM sorted_visits v JOIN sorted_users u ON v.user = u.id WHERE u.plan = \\'beta\\'"
          val found = spark.sql(s"SELECT value FROM dovetail_estimate('$sql')").head().getDouble(0)
          assert(found > 4000.0 && found < 16000.0, s"estimated $found instead of 8000")
        }
      }
    }
  }

  test("join keys behind casts and under new names are read: what a filter leaves of a table meets its frequent keys") {
    withDirectory { d =>
      // one of a hundred users is well known and has 150 posts; the others have one
      spark.range(10000).selectExpr("id", "IF(id % 100 = 0, 10000, id % 90) AS fame")
        .write.parquet(d.resolve("users").toString)
      spark.range(25000).selectExpr(
        "CAST(IF(id % 50 = 7, NULL, IF(id < 15000, id % 100 * 100, id % 10000)) AS DOUBLE) AS owner",
        "id AS post"
      ).write.parquet(d.resolve("posts").toString)
      Seq("users", "posts").foreach(t => spark.read.parquet(d.resolve(t).toString).createOrReplaceTempView(s"known_$t"))
      withTables("known_users", "known_posts") {
        val queries = Seq(
          "SELECT * FROM known_users u JOIN known_posts p ON u.id = p.owner WHERE u.fame > 9000",
          "SELECT * FROM (SELECT id AS uid, fame FROM known_users) u JOIN known_posts p ON u.uid = p.owner " +
            "WHERE u.fame > 9000",
          "SELECT * FROM known_posts p RIGHT JOIN (SELECT id AS uid, fame + 0 AS f FROM known_users) u " +
            "ON u.uid = p.owner WHERE u.f > 9000"
        )
        for (sql <- queries) withConf(Patient) {
          val found = spark.sql(s"SELECT value FROM dovetail_estimate('$sql')").head().getDouble(0)
          val truth = spark.sql(sql).count().toDouble
          assert(found > truth / 1.5 && found < truth * 1.5, s"estimated $found instead of $truth: $sql")
        }
      }
    }
  }

  test("keys of large tables that footers do not count: texts in ORC files, codes with gaps, and no dense key") {
    withDirectory { d =>
      // in eight files, so that the rows of some places are read and two tables are not joined on them
      def written(tag: Int) = spark.range(0, 600000, 1, 8).selectExpr(
        "id",
        s"concat('campaign ', pmod(hash(id, $tag), 500)) AS campaign",
        s"pmod(hash(id, $tag), 500) * 199999 + 1 AS code"
      )
      val plain = Map("orc.dictionary.key.threshold" -> "0", "parquet.enable.dictionary" -> "false")
      for (format <- Seq("orc", "parquet")) {
        val tables = Seq(1, 2).map { tag =>
          val path = d.resolve(s"$format$tag").toString
          written(tag).write.format(format).options(plain).save(path)
          spark.read.format(format).load(path)
        }
        def estimated(key: String) = rows(tables.head.as("a").join(tables.last.as("b"), key))
        for (key <- Seq("campaign", "code")) {
          val (found, truth) = (estimated(key), 600000.0 * 600000 / 500)
          assert(found > truth / 2 && found < truth * 2, s"estimated $found instead of $truth by $key in $format")
        }
        val keys = estimated("id")
        assert(keys > 550000.0 && keys < 650000.0, s"$keys in $format")
      }
    }
  }

  test("keys of two columns: how many there are together is taken from the rows") {
    withDirectory { d =>
      // 1,200 pairs of 400 and 300 values, although 120,000 would be possible; b has each pair once
      spark.range(40000).selectExpr(
        "id a",
        "pmod(id, 1200) n"
      ).selectExpr("a", "pmod(n, 400) x", "pmod(n, 300) y").write.parquet(d.resolve("a").toString)
      spark.range(1200).selectExpr("id b", "pmod(id, 400) x", "pmod(id, 300) y").write.parquet(d.resolve("b").toString)
      Seq("a", "b").foreach(t => spark.read.parquet(d.resolve(t).toString).createOrReplaceTempView(s"keyed_$t"))
      withTables("keyed_a", "keyed_b") {
        withConf(Patient) {
          val sql   = "SELECT * FROM keyed_a a JOIN keyed_b b ON a.x = b.x AND a.y = b.y"
          val found = spark.sql(s"SELECT value FROM dovetail_estimate('$sql')").head().getDouble(0)
          assert(found > 30000.0 && found < 53000.0, s"estimated $found instead of 40,000")
        }
      }
    }
  }

  test(
    "no rows are read: switched off, with footers switched off, without a predicate that tells, without time; and a " +
      "broken file is one warning"
  ) {
    withDirectory { d =>
      skewed(3000).write.parquet(d.resolve("t").toString)
      val data          = spark.read.parquet(d.resolve("t").toString)
      val exact         = data.where("kind = 'common'").count().toDouble
      def clear(): Unit = { FileSampleCache.clear(); FooterCache.clear() }
      clear()
      assert(rows(data.where("kind = 'common'"), DovetailConf.SampleFiles.key -> "false") != exact)
      assert(rows(data.where("kind = 'common'"), DovetailConf.FootersEnabled.key -> "false") != exact)
      assert(rows(data.where("kind = 'common'"), DovetailConf.FootersMaxMs.key -> "0") != exact)
      assert(rows(data.where("kind IS NOT NULL")) == 3000.0)
      assert(rows(data.where("kind = 'common'")) == exact)

      // the footer is intact, the pages are not
      val file  = dataFile(d.resolve("t"))
      val bytes = Files.readAllBytes(file)
      (4 until bytes.length / 2).foreach(i => bytes(i) = 0)
      Files.write(file, bytes)
      Files.list(d.resolve("t")).filter(_.getFileName.toString.endsWith(".crc")).forEach(Files.delete(_))
      clear()
      val again      = spark.read.schema(data.schema).parquet(d.resolve("t").toString)
      val (_, lines) =
        LogCapture("dovetail")((1 to 2).foreach(_ => assert(rows(again.where("kind = 'common'")) < 3000.0)))
      assert(lines.count(_.contains("Formulas are used instead")) == 1, lines)
    }
  }

  private def dataFile(directory: Path): Path = {
    val paths = Files.list(directory)
    try paths.filter(_.getFileName.toString.startsWith("part-")).findFirst().get
    finally paths.close()
  }

  test("columns that a later query looks at come to the same rows: predicates on old and new ones are tried together") {
    withDirectory { d =>
      Seq(5000L -> "small", 100000L -> "medium").foreach { case (n, name) =>
        skewed(n).write.parquet(d.resolve(name).toString)
        val data = spark.read.parquet(d.resolve(name).toString)
        near(data, "kind = 'common'")
        near(data, "code <> 7")
        // code 7 goes with kind 'common', so an estimate that assumes independent columns is wrong
        near(data, "kind <> 'common' AND code <> 7")
        near(data, "kind <> 'common' AND code = 7", tolerance = 0.6, atLeast = 150.0)
      }
    }
  }

  test("texts of a dictionary that take more memory than a sample may are not read, and the other columns are") {
    withDirectory { d =>
      val path = d.resolve("wide").toString
      spark.range(0, 20000, 1, 1).selectExpr("id", "repeat(CAST(id % 8 AS STRING), 6000) AS t").write.parquet(path)
      val wide = spark.read.parquet(path)
      assert(rows(wide.where("id % 4 = 1")) == 5000.0)
      assert(rows(wide.where("t LIKE '%5%'")) == off(wide.where("t LIKE '%5%'")))
      assert(rows(wide.where("t LIKE '%5%' AND id % 4 = 1")) < 5000.0)
    }
  }

  test("functions whose values may be of any length are not tried on rows that a query may keep from them") {
    withDirectory { d =>
      skewed(20000).write.parquet(d.resolve("p").toString)
      val data = spark.read.parquet(d.resolve("p").toString)
      for (
        where <- Seq(
          "length(repeat(kind, code)) > 50",
          "length(rpad(kind, code, 'x')) > 50",
          "size(sequence(1, code)) > 50",
          "length(replace(kind, 'r', concat(kind, kind))) > 50",
          "aggregate(split(kind, ' '), '', (a, b) -> concat(a, a, b)) = 'x'"
        )
      ) {
        assert(rows(data.where(where)) == off(data.where(where)), where)
        // with this setting the user's functions may run on samples; Spark's functions are treated as before
        assert(rows(data.where(where), DovetailConf.SampleUserFunctions.key -> "true") == off(data.where(where)), where)
      }
      near(data, "length(concat(kind, kind)) > 12")
      near(data, "split(kind, ' ')[0] = 'rare'")
    }
  }

  test("the same plan from a cold cache as from a warm one, and the same answer") {
    withDirectory { d =>
      skewed(30000).write.parquet(d.resolve("f").toString)
      Seq("a" -> 400, "b" -> 300).foreach { case (t, n) =>
        spark.range(n).selectExpr("id k", "pmod(hash(id), 10) w").write.parquet(d.resolve(t).toString)
      }
      Seq("f", "a", "b").foreach(t => spark.read.parquet(d.resolve(t).toString).createOrReplaceTempView(s"sampled_$t"))
      withTables("sampled_f", "sampled_a", "sampled_b") {
        withConf(Patient) {
          val sql =
            "SELECT count(*), sum(f.code) FROM sampled_f f JOIN sampled_a a ON f.code = a.k JOIN sampled_b b ON f.id " +
              "= b.k WHERE f.kind LIKE 'rare%' AND a.w = 3"
          val plans = (1 to 3).map { i =>
            if (i == 1) { FileSampleCache.clear(); FooterCache.clear() }; PlanText(optimized(sql))
          }
          assert(plans.distinct.size == 1)
          sameAnswer(sql, reorders = false)
        }
      }
    }
  }
}
