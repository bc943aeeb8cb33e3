package org.apache.spark.sql.dovetail

import java.net.URI
import java.nio.file.attribute.FileTime
import java.nio.file.{Files, Path, Paths}
import java.time.Instant
import java.time.temporal.ChronoUnit

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.dovetail.base.{BoundedJson, DovetailConf}
import org.apache.spark.sql.dovetail.deadline.PlanningTime
import org.apache.spark.sql.dovetail.history.{
  DataStamps,
  EstimateErrors,
  GroupErrors,
  GroupRuns,
  History,
  HistoryFile,
  HistoryForms,
  MeasuredOrder,
  ShowHistory
}
import org.apache.spark.sql.dovetail.history.MeasuredOrder.QueryTime
import org.apache.spark.sql.dovetail.report.{DataStamp, GroupIdentity}
import org.apache.spark.sql.types.{LongType, MetadataBuilder, StructField, StructType}

/**
 * Planning uses the results of earlier runs: the exact rows, if the same query ran over the same data. How a sub-plan
 * is found again, and how the history is kept.
 */
class HistorySuite extends HistoryTables {
  test("a query that has run is planned with its rows, each with its source; the answer stays") {
    remembering() { _ =>
      assert(counted(star).isEmpty)
      val first = runs(star)
      val known = counted(star)
      assert(known(Set("h_a")) == 1.0 && known(Set("h_b")) == 10.0 && known(Set("h_c")) == 5.0)
      assert(known(Set("h_fact", "h_a", "h_b", "h_c")) == first.size.toDouble)
      assert(
        group(star).reason.contains("history: rows of 7 sub-plans, counted in 1 run, the last "),
        group(star).reason
      )
      assert(runs(star).toSet == first.toSet)
      dovetail(on = false)(assert(spark.sql(star).collect().toSet == first.toSet))
    }
  }

  test("runs that may have skipped files are not recorded") {
    remembering() { _ =>
      withConf("spark.sql.files.ignoreMissingFiles" -> "true") { runs(star); assert(counted(star).isEmpty) }
      runs(star)
      assert(counted(star).nonEmpty)
    }
  }

  test("the same files are other data as another partition, and paths are told without the values in them") {
    withTables("h_parted")(withDirectory { d =>
      spark.sql(s"CREATE TABLE h_parted (k INT, kind STRING) USING parquet PARTITIONED BY (kind) LOCATION '$d/t'")
      for (name <- Seq("new", "old")) {
        spark.range(3).selectExpr("CAST(id AS INT) k").write.parquet(d.resolve(name).toString)
        spark.sql(s"ALTER TABLE h_parted ADD PARTITION (kind = '$name') LOCATION '${d.resolve(name)}'")
      }
      def stamp = {
        val plan = optimized("SELECT * FROM h_parted")
        withConf(DovetailConf.PlanningMaxMs.key -> "60000")(PlanningTime.ofItsOwn(spark.sessionState.conf)(
          new DataStamps()(plan)
        )).flatten
      }
      val first = stamp
      spark.sql(s"ALTER TABLE h_parted PARTITION (kind = 'new') SET LOCATION '${d.resolve("old")}'")
      spark.sql(s"ALTER TABLE h_parted PARTITION (kind = 'old') SET LOCATION '${d.resolve("new")}'")
      assert(first.isDefined && stamp.isDefined && stamp != first)
      spark.range(3).write.parquet(d.resolve("t2/customer=Smith").toString)
      val told = HistoryForms.tables(spark.read.parquet(s"$d/t2/customer=Smith").queryExecution.analyzed)
      assert(told.size == 1 && told.head.endsWith("/t2"), told)
    })
  }

  test("what the user said of a part counts more than what runs have counted") {
    remembering() { _ =>
      runs(star)
      assert(sizes(star)(Set("h_b")) == ((10.0, "history")))
      spark.sql("DOVETAIL SET ROWS 7 FOR SELECT * FROM h_b WHERE v = 1").collect()
      assert(sizes(star)(Set("h_b")) == ((7.0, "given")))
      assert(sizes(star)(Set("h_c"))._2 == "history")
      spark.sql("DOVETAIL FORGET ROWS").collect()
      assert(sizes(star)(Set("h_b")) == ((10.0, "history")))
    }
  }

  test("another query finds the parts that it has in common") {
    remembering() { _ =>
      runs(star)
      val other =
        "SELECT max(x.id), y.name FROM h_a y, h_b z, h_fact x WHERE x.b = z.k AND y.k = x.a AND z.v = 1 AND " +
          "y.name = 'hot' GROUP BY y.name"
      val known = counted(other)
      assert(known(Set("h_a")) == 1.0 && known(Set("h_b")) == 10.0, told(sizes(other)))
      // the first query left out fact rows without a key of `c`, this one does not
      assert(!known.contains(Set("h_fact")))
    }
  }

  test("rows of data that has grown are scaled, without an upper bound; other data has no history") {
    remembering() { _ =>
      runs(star)
      spark.sql("INSERT INTO h_fact SELECT id, 7, id % 50, id % 20 FROM range(4000)")
      val all   = Set("h_fact", "h_a", "h_b", "h_c")
      val g     = group(star)
      val whole = g.after.orElse(g.before).get.joins.find(_.relations.map(tables(g)).toSet == all).get.rows
      assert(whole.source.name == "history" && whole.value > count(star) / 3 && whole.upper > whole.value, whole)
      assert(sizes(star)(Set("h_a")) == ((1.0, "history")))
      spark.sql("INSERT OVERWRITE h_fact SELECT id, 1, 1, 1 FROM range(10)")
      assert(!counted(star).contains(all) && counted(star)(Set("h_a")) == 1.0)
    }
  }

  for (sampled <- Seq(true, false))
    test(s"rows that are added to a dimension do not multiply its joins${if (sampled) "" else ", without samples"}") {
      remembering(DovetailConf.SampleFiles.key -> sampled.toString) { _ =>
        runs(star)
        val before = counted(star)(Set("h_fact", "h_a", "h_b", "h_c"))
        // many small files: the dimension has many more bytes, but few more rows
        (1 to 12).foreach(i => spark.sql(s"INSERT INTO h_a SELECT k + 100000 + $i, name FROM h_a LIMIT 1"))
        val g     = group(star)
        val all   = Set("h_fact", "h_a", "h_b", "h_c")
        val whole = g.after.orElse(g.before).get.joins.find(_.relations.map(tables(g)).toSet == all).get.rows
        assert(whole.source.name == "history" && whole.value < before * 1.5, s"$whole, $before before")
      }
    }

  /**
   * Asserts that the counted rows of a join of h_fact, h_c and another table double with the rows of one of them, and
   * returns all counts.
   */
  private def doubles(other: String, content: String, on: String, grows: String): Map[Set[String], Double] =
    withTables(other) {
      remembering() { _ =>
        write(other, content)
        val sql = s"SELECT f.id FROM h_fact f JOIN $other o ON $on JOIN h_c c ON f.c = c.k WHERE c.v = 2"
        val all = Set("h_fact", other, "h_c")
        runs(sql)
        val before = counted(sql)(all)
        spark.sql(s"INSERT INTO $grows SELECT /*+ COALESCE(1) */ * FROM $grows")
        val after = counted(sql)
        assert(after(all) > before * 1.6 && after(all) < before * 2.4, s"$after, $before before")
        after
      }
    }

  test("a join grows with its facts, although a dimension has more rows") {
    val users = "SELECT id AS k, id % 7 AS v FROM range(40000)"
    assert(doubles("h_users", users, on = "f.id = o.k", grows = "h_fact")(Set("h_users")) == 40000.0)
  }

  test("a join of two tables by no key of either grows with the one that has grown most, although it is smaller") {
    val days = "SELECT id % 50 AS b, id AS v FROM range(1000)"
    assert(doubles("h_days", days, on = "f.b = o.b", grows = "h_days").nonEmpty)
  }

  test("the same files read in another way are other data") {
    withTables("h_text") {
      remembering() { store =>
        val path              = store.resolveSibling("h_text").toString
        def read(sep: String) =
          spark.read.schema("k INT, v INT").option("sep", sep).csv(path).createOrReplaceTempView("h_text")
        val sql = "SELECT f.id, t.v, b.v FROM h_fact f JOIN h_text t ON f.a = t.k JOIN h_b b ON f.b = b.k WHERE t.v > 5"
        spark.range(100).selectExpr("id", "id * 2").coalesce(1).write.option("sep", ";").csv(path)
        read(",")
        assert(runs(sql).isEmpty && counted(sql)(Set("h_text")) == 0.0)
        read(";")
        assert(!counted(sql).contains(Set("h_text")), "no row of this reading was counted")
        assert(runs(sql).nonEmpty && counted(sql)(Set("h_text")) == 97.0)
      }
    }
  }

  test("columns that are found by their field ids are others under another id") {
    withTables("h_ids") {
      remembering(
        "spark.sql.parquet.fieldId.write.enabled" -> "true",
        "spark.sql.parquet.fieldId.read.enabled"  -> "true",
        // the rows would contradict a wrong count
        DovetailConf.SampleFiles.key -> "false"
      ) {
        store =>
          val path        = store.resolveSibling("h_ids").toString
          def id(n: Long) = new MetadataBuilder().putLong("parquet.field.id", n).build()
          def as(v: Long) = StructType(Seq(
            StructField("k", LongType, nullable = true, id(1L)),
            StructField("v", LongType, nullable = true, id(v))
          ))
          val rows = spark.range(100).selectExpr("id", "id * 2", "0L")
          val file = StructType(as(2L) :+ StructField("w", LongType, nullable = true, id(3L)))
          spark.createDataFrame(rows.toDF("k", "v", "w").collect().toSeq.asJava, file).write.parquet(path)
          def read(v: Long): Unit = spark.read.schema(as(v)).parquet(path).createOrReplaceTempView("h_ids")
          val sql                 =
            "SELECT f.id, t.v, b.v FROM h_fact f JOIN h_ids t ON f.a = t.k JOIN h_b b ON f.b = b.k WHERE t.v > 5"
          read(2L)
          assert(runs(sql).nonEmpty && counted(sql)(Set("h_ids")) == 97.0)
          read(3L)
          assert(!counted(sql).contains(Set("h_ids")), "no row of this reading was counted")
      }
    }
  }

  test("paths of one VARIANT column are different conditions") {
    assume(spark.version >= "4.0")
    withTables("h_json") {
      // Spark reads paths of VARIANT values only in compiled code
      remembering("spark.sql.codegen.factoryMode" -> "FALLBACK") { _ =>
        write(
          "h_json",
          "SELECT id AS k, parse_json(concat('{\"a\": ', id % 5, ', \"b\": ', id % 2, '}')) AS v FROM range(100)"
        )
        def over(path: String) =
          "SELECT f.id, b.v FROM h_fact f JOIN h_json t ON f.a = t.k JOIN h_b b ON f.b = b.k WHERE " +
            s"try_variant_get(t.v, '$$.$path', 'int') = 1"
        runs(over("a"))
        assert(counted(over("a"))(Set("h_json")) == 20.0)
        // an estimate, corrected as for another constant
        assert(!counted(over("b")).get(Set("h_json")).contains(20.0))
      }
    }
  }

  test("what depends on the time zone is counted in that time zone") {
    withTables("h_time") {
      remembering() { _ =>
        write("h_time", "SELECT id AS k, timestamp_seconds(3 * 3600 + id) AS ts FROM range(100)")
        val sql = "SELECT f.id FROM h_fact f JOIN h_time t ON f.a = t.k JOIN h_b b ON f.b = b.k WHERE "
        Seq("hour(t.ts) = 3", "t.ts < TIMESTAMP'1970-01-01 03:30:00'").foreach { filter =>
          withConf("spark.sql.session.timeZone" -> "UTC") {
            runs(sql + filter)
            assert(counted(sql + filter)(Set("h_time")) == 100.0)
          }
          withConf("spark.sql.session.timeZone" -> "Asia/Tokyo") {
            assert(!counted(sql + filter).contains(Set("h_time")), filter)
            runs(sql + filter)
            assert(counted(sql + filter)(Set("h_time")) == 0.0)
          }
        }
      }
    }
  }

  test("one switch: nothing is remembered, nothing is used") {
    remembering() { store =>
      withConf(DovetailConf.HistoryEnabled.key -> "false")(runs(star))
      assert(counted(star).isEmpty)
      runs(star)
      assert(counted(star).nonEmpty)
      withConf(DovetailConf.HistoryEnabled.key -> "false")(assert(counted(star).isEmpty))
    }
  }

  test("it is told as a table, forgotten by table and by query, written to a file and read from it") {
    remembering() { store =>
      runs(star)
      val shown = spark.sql("SELECT * FROM dovetail_history()").collect()
      val whole = shown.filter(r => r.getAs[String]("kind") == "counted" && r.getSeq[String](2).size == 4)
      assert(whole.length == 1 && whole.head.getAs[Long]("rows") == count(star).toLong)
      assert(shown.exists(_.getAs[String]("kind") == "corrected"))
      def say(sql: String) = spark.sql(s"DOVETAIL $sql").head().getString(0)
      val file             = store.resolveSibling("history of a day.json").toString
      assert(say(s"SAVE HISTORY '$file'").startsWith("2 entries"))
      assert(say("FORGET HISTORY FOR TABLE h_a") == "2 entries of the history removed")
      assert(counted(star).isEmpty)
      assert(say(s"LOAD HISTORY '$file'").startsWith("2 entries"))
      assert(counted(star).nonEmpty)
      // the plan of a cached table does not name the table
      spark.sql("CACHE TABLE h_a")
      try assert(say("FORGET HISTORY FOR TABLE h_a") == "2 entries of the history removed")
      finally spark.sql("UNCACHE TABLE h_a")
      assert(say(s"LOAD HISTORY '$file'").startsWith("2 entries"))
      assert(say(s"FORGET HISTORY FOR $star") == "2 entries of the history removed")
      runs(star)
      assert(say("FORGET HISTORY") == "2 entries of the history removed")
      assert(spark.sql("SELECT * FROM dovetail_history()").isEmpty)
    }
  }

  test("what a run recorded of a part of its joins is forgotten with its query, and nothing else") {
    remembering() { _ =>
      // a run does not record the rows of files that are newer than its query
      spark.table("h_a").inputFiles.foreach(f =>
        Files.setLastModifiedTime(Paths.get(URI.create(f)), FileTime.from(Instant.now.plus(1, ChronoUnit.DAYS)))
      )
      spark.sql("REFRESH TABLE h_a")
      runs(star)
      val part = recorded.keySet
      assert(part(Set("h_fact")) && !part.exists(_("h_a")), part)
      val other = "SELECT f.id FROM h_fact f JOIN h_b b ON f.c = b.k JOIN h_c c ON f.b = c.k WHERE b.v = 1 AND c.v = 3"
      runs(other)
      def forget(query: String) =
        spark.sql(s"DOVETAIL FORGET HISTORY FOR $query").head().getString(0).takeWhile(_ != ' ')
      assert(forget(star.replace("c.v = 2", "c.v = 0")) == "0")
      assert(forget(star) == "1")
      assert(recorded.keySet(Set("h_fact", "h_b", "h_c")) && forget(other) == "2" && recorded.isEmpty)
    }
  }

  private def historyIn(store: Path): History = HistoryWriter.history(store.toString)

  private def entry(key: String, runs: Int = 1): GroupRuns = {
    val relation = GroupIdentity.OfRelation("r", Vector("t"), DataStamp(1L, 1, 1L, 1L))
    GroupRuns(key, Vector(relation), Map(Set(0) -> GroupRuns.OfSet("r", 7L, 3.0)), Vector.empty, None, runs, 1000L)
  }

  test("two applications that write at once lose nothing") {
    withDirectory { directory =>
      val writers = (0 until 2).map { w =>
        val history = historyIn(directory)
        new Thread(() =>
          (0 until 20).foreach { i => history.add(Seq(s"$w-$i"))((key, _) => entry(key)); history.save() }
        )
      }
      writers.foreach(_.start())
      writers.foreach(_.join())
      assert(historyIn(directory).now.entries.map(_.key).toSet == (for (w <- 0 to 1; i <- 0 until 20)
        yield s"$w-$i").toSet)
    }
  }

  test("the file is bounded: entries of few runs leave first") {
    withDirectory { directory =>
      val history = historyIn(directory)
      val many    = (0 until 40000).map(i => f"$i%06d")
      history.add(many)((key, _) => entry(key, runs = if (key.endsWith("7")) 9 else 1))
      history.save()
      val kept = historyIn(directory).now.entries
      assert(Files.size(directory.resolve("history.json")) < (1L << 20))
      assert(kept.size < many.size && many.filter(_.endsWith("7")).toSet.subsetOf(kept.map(_.key).toSet), kept.size)
    }
  }

  test("the file is bounded: past entries of many runs leave room for the latest ones of one run") {
    withDirectory { directory =>
      val history = historyIn(directory)
      val past    = (0 until 6000).map(i => f"$i%06d")
      val day     = 86400L
      history.add(past)((key, _) => entry(key, runs = 40).copy(at = 100 * day))
      history.add(Seq("nightly"))((key, _) => entry(key).copy(at = 101 * day))
      history.save()
      val kept = historyIn(directory).now.entries
      assert(kept.size < past.size && kept.exists(_.key == "nightly"), kept.size)
      // the other half of the file is for entries of many runs
      val many = (0 until 6000).map(i => f"late $i%06d")
      history.add(many)((key, _) => entry(key).copy(at = 101 * day))
      history.save()
      val runs = historyIn(directory).now.entries.map(_.runs)
      assert(runs.count(_ == 40) > 1000 && runs.count(_ == 1) > 1000, runs.size)
    }
  }

  test("entries that come while the index rests are seen by the statement that follows") {
    remembering() { _ =>
      // so many that the index rests for longer than this test takes
      val many    = (0 until 40000).map(i => entry(f"$i%06d"))
      val history = History(spark)
      history.take(many.toVector)
      history.take(Vector(entry("a", runs = 9)))
      assert(history.now.runs("a").isDefined)
      History.later(0L)(history.add(Seq("b"))((key, _) => entry(key, runs = 9)))
      ShowHistory.settle(spark)
      assert(history.now.runs("b").isDefined)
    }
  }

  test("what is kept comes back from JSON as it was; nonsense is refused, and not written") {
    val errors =
      GroupErrors(
        "~e",
        Vector("t"),
        DataStamp(-5L, 2, 3L, 4L),
        "0f",
        Map(Set(0, 2) -> EstimateErrors(3, -0.5, 1e-9)),
        2,
        5L
      )
    val orders =
      Vector(MeasuredOrder("(0 1)", 2, Vector(QueryTime("p", 3L, warm = false), QueryTime("q", 17L, warm = true))))
    val all = Vector(entry("a").copy(orders = orders), errors)
    assert(HistoryFile.fromJson(HistoryFile.toJson(all)) == all)
    val json = HistoryFile.toJson(all).toString
    for (wrong <- Seq(json.replace("0 r 7", "9 r 7"), json.replace("0 r 7", "0 r"), json.replace("0 r 7", "0 r 1e99")))
      assert(
        intercept[IllegalArgumentException](HistoryFile.fromJson(BoundedJson.read(wrong.getBytes("UTF-8")))).getMessage
          .contains("has an entry that this Dovetail does not know: {\"kind\":\"runs\""),
        wrong
      )
    val impossible = errors.copy(sets = Map(Set(0) -> EstimateErrors(1, Double.NaN, 0.0)))
    assert(HistoryFile.fromJson(HistoryFile.toJson(all.take(1) :+ impossible)) == all.take(1))
  }

  test("it outlives the application: another one finds what was written, and adds to it") {
    remembering() { store =>
      runs(star)
      val mine = History(spark)
      mine.save()
      val text = Files.readString(store.resolve("history.json"))
      // no literals of the query
      assert(text.contains("h_fact") && !text.contains("hot"), text)
      assert(historyIn(store).now.entries.map(_.key).toSet == mine.now.entries.map(_.key).toSet)
    }
  }

  test("where nothing can be written, the history stays in memory, after the attempt to write it, too") {
    remembering() { store =>
      val file = Files.createFile(store.resolveSibling("no directory"))
      withConf(DovetailConf.StorePath.key -> file.resolve("store").toString) {
        runs(star)
        assert(counted(star).nonEmpty)
        History(spark).save()
        assert(counted(star).nonEmpty, "after the file could not be written")
        runs(star.replace("'hot'", "'cold20'"))
        History(spark).save()
        assert(counted(star).nonEmpty && counted(star.replace("'hot'", "'cold20'")).nonEmpty)
      }
    }
  }

  test("a file that is broken is no history, and is not written over; queries run") {
    remembering() { store =>
      Files.createDirectories(store)
      def history(entries: String) = s"""{"version": 1, "history": $entries}"""
      val unknown = Seq("[{\"kind\": \"runs\"}]", "[{\"new\": \"kind\"}]", "[1, null, {}]").map(history)
      (Seq("", "{", "[]", "{\"version\": 9}") ++ unknown).foreach {
        text =>
          val broken = Files.createTempDirectory(store, "broken")
          Files.writeString(broken.resolve("history.json"), text)
          withConf(DovetailConf.StorePath.key -> broken.toString) {
            assert(counted(star).isEmpty)
            assert(runs(star).nonEmpty)
            History(spark).save()
            assert(Files.readString(broken.resolve("history.json")) == text)
            // a copy without its entries replaces no other copy
            val copy           = Files.writeString(store.resolve("copy.json"), "a copy of before")
            def save(to: Path) = spark.sql(s"DOVETAIL SAVE HISTORY '$to'").head().getString(0)
            val refused        = intercept[Exception](save(copy)).getMessage
            assert(refused.contains("there is a file already, and the entries of "), refused)
            assert(Files.readString(copy) == "a copy of before")
            assert(save(store.resolve(s"copy of ${broken.getFileName}")).contains("; the entries of "))
            // what has run is in memory, and the file stays
            val said = spark.sql("DOVETAIL FORGET HISTORY").head().getString(0)
            assert(said.contains("removed from this application, but not from the store: "), said)
            assert(said.contains("history.json is left as it is: ") && counted(star).isEmpty, said)
            assert(Files.readString(broken.resolve("history.json")) == text)
          }
      }
    }
  }

  test("a history that cannot be written: what is forgotten or loaded holds in this application, and it says so") {
    withConf(WatchedFileSystem.setting) {
      withDirectory { d =>
        remembering(DovetailConf.StorePath.key -> s"${WatchedFileSystem.Scheme}:${d.resolve("store")}") { _ =>
          def say(sql: String) = spark.sql(s"DOVETAIL $sql").head().getString(0)
          val copy             = d.resolve("copy.json")
          runs(star)
          say(s"SAVE HISTORY '$copy'")
          History(spark).save()
          WatchedFileSystem.readOnly = true
          try {
            val gone = say("FORGET HISTORY")
            assert(gone.startsWith("2 entries of the history removed from this application, but not from the store: "))
            assert(gone.contains("Permission denied") && counted(star).isEmpty, gone)
            val read = say(s"LOAD HISTORY '$copy'")
            assert(read.contains(", in this application only: ") && read.contains("Permission denied"), read)
            assert(counted(star).nonEmpty)
            say("FORGET HISTORY")
          } finally WatchedFileSystem.readOnly = false
          assert(historyIn(d.resolve("store")).now.entries.size == 2)
          // as soon as it can be written, the statement removes them from the file
          assert(say("FORGET HISTORY") == "0 entries of the history removed")
          assert(historyIn(d.resolve("store")).now.entries.isEmpty)
        }
      }
    }
  }

  test("the history of a table that does not exist any more is forgotten by its name") {
    remembering() { _ =>
      runs(star)
      withTables("h_a")(())
      def forget(table: String) = spark.sql(s"DOVETAIL FORGET HISTORY FOR TABLE $table").head().getString(0)
      assert(intercept[AnalysisException](forget("other.h_a")).getMessage.contains("NOT_FOUND"))
      assert(forget("h_a") == "2 entries of the history removed")
      assert(intercept[AnalysisException](forget("h_a")).getMessage.contains("NOT_FOUND"))
    }
  }
}
