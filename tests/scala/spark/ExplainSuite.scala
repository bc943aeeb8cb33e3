package org.apache.spark.sql.dovetail

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.report.{GroupReport, ReportText, Trace}
import org.apache.spark.sql.functions.col

/** `dovetail_explain`: what it says of a query as text and as JSON, planned and run. */
class ExplainSuite extends StarSuite {
  private val star =
    "SELECT f.v, a.w, b.w FROM f JOIN a ON f.k1 = a.k JOIN b ON f.k2 = b.k JOIN c ON f.k3 = c.k WHERE c.w = 1"

  private def quoted(sql: String)       = sql.replace("\\", "\\\\").replace("'", "\\'")
  private def text(sql: String): String =
    spark.sql(s"SELECT * FROM dovetail_explain('${quoted(sql)}')").head().getString(0)
  private def json(sql: String): JsonNode =
    new ObjectMapper().readTree(
      spark.sql(s"SELECT * FROM dovetail_explain('${quoted(sql)}', 'json')").head().getString(0)
    )
  private def items(n: JsonNode): Vector[JsonNode] = (0 until n.size).map(n.get).toVector
  private def strings(n: JsonNode): Vector[String] = items(n).map(_.asText)
  private def fields(n: JsonNode): Set[String]     = {
    val names = n.fieldNames(); val all = Set.newBuilder[String]; while (names.hasNext) all += names.next();
    all.result()
  }

  // explain

  private def verbose(sql: String): String =
    spark.sql(s"SELECT * FROM dovetail_explain('${quoted(sql)}', 'verbose')").head().getString(0)

  test("explain as text: what happened and why, both orders, every input and join with its size and source") {
    val lines = withoutIdempotenceCheck(text(star)).split("\n").toVector
    assert(lines.head.matches("Dovetail \\S+ reordered the joins: saves [0-9.]+ % of the estimated cost\\."), lines)
    Seq(
      "  written  \\(\\(\\(f a\\) b\\) c\\)  cost 100 %",
      "  chosen  \\S.*  cost [0-9.]+ %",
      "    f      5000 +.*catalog.*",
      "    #  join .*",
      "    . +f join c .*catalog.* %  f.k3 = c.k",
      "planned in [0-9.]+ ms"
    ).foreach(p => assert(lines.exists(_.matches(p)), s"$p\n${lines.mkString("\n")}"))
    assert(!lines.exists(l => l.contains("Group 1") || l.contains("dphyp") || l.contains("pairs") || l.contains("e+")))
    assert(text("SELECT * FROM f").contains("nothing to reorder"))
    assert(dovetail(on = false)(text(star)).contains("is switched off (spark.dovetail.enabled=false)"))
  }

  test("explain at length also tells how the search went, and costs as the model has them") {
    val lines = withoutIdempotenceCheck(verbose(star)).split("\n").toVector
    assert(lines.exists(_.matches("  search: dphyp, [0-9]+ pairs of sub-plans, physical costs")), lines)
    assert(lines.exists(_.matches("  written .* cost 100 % \\([0-9.]+e\\+[0-9]+ in the model's unit.*\\)")), lines)
    assert(lines.last.startsWith("planning ms: prepare "), lines)
  }

  test("explain of several groups: one sentence for all, one for each") {
    val lines = withoutIdempotenceCheck(text(s"($star) UNION ALL ($star)")).split("\n").toVector
    assert(lines.head.matches("Dovetail \\S+ reordered 2 of 2 groups of joins: estimated cost [0-9.]+ % of .*"), lines)
    assert(Seq(1, 2).forall(i => lines.exists(_.startsWith(s"Group $i of 2: reordered: saves "))), lines)
    val cheap = "SELECT c.w FROM c JOIN f ON f.k3 = c.k JOIN a ON f.k1 = a.k WHERE c.w = 1"
    withConf(DovetailConf.MinGain.key -> "0.99") {
      val kept = withoutIdempotenceCheck(text(cheap)).split("\n").head
      assert(kept.contains(" kept the written order: "), kept)
    }
  }

  test("what is told of the query as a whole is no group of joins beside those that were found") {
    val found  = GroupReport.leftAlone(Vector("a", "b", "c"), "no statistics")
    val cut    = GroupReport.leftAlone(Vector.empty, "planning time is up")
    val layout = new ReportText("1", enabled = true, verbose = false)
    val both   = layout(Vector(found, cut), Vector("total" -> 1.0)).split("\n").toVector
    assert(both.head == "Dovetail 1 left the joins alone: no statistics.", both)
    assert(both.contains("Cut short: planning time is up."), both)
    assert(layout(
      Vector(cut),
      Vector("total" -> 1.0)
    ).startsWith("Dovetail 1 left the joins alone: planning time is up."))
  }

  test("a bound that is far from its estimate is left out; at length all are told") {
    val sql = s"SELECT count(*) FROM f JOIN a ON f.k1 = a.k JOIN b ON f.k2 = b.k JOIN c ON f.k3 = c.k WHERE c.w = 1"
    def upper(text: String) = "up to ([0-9.]+)([kMG]?)".r.findAllMatchIn(text).map(m =>
      m.group(1).toDouble * Map("" -> 1.0, "k" -> 1e3, "M" -> 1e6, "G" -> 1e9)(m.group(2))
    ).toVector
    val (short, long) = (upper(withoutIdempotenceCheck(text(sql))), upper(withoutIdempotenceCheck(verbose(sql))))
    assert(short.size < long.size && short.forall(_ <= 100 * 5000.0), s"$short $long")
  }

  test("explain of thirty relations as text: a table of steps that fits a terminal") {
    val joins = (2 to 30).map(i => s"JOIN a a$i ON ${if (i % 2 == 0) "f.k1" else s"a${i - 1}.k"} = a$i.k").mkString(" ")
    val report = withoutIdempotenceCheck(text(s"SELECT count(*) FROM f $joins WHERE a30.w = 1"))
    val lines  = report.split("\n").toVector
    val steps  = lines.dropWhile(!_.startsWith("  written")).drop(2).take(29)
    assert(steps.head.matches("     1  f join a2 .*") && steps.last.matches("    29  \\(28\\) join a30 .*"), report)
    assert(lines.forall(_.length <= 120), lines.filter(_.length > 120))
  }

  test("explain as JSON: what the contract names") {
    val root = withoutIdempotenceCheck(json(star))
    assert(fields(root) == Set("version", "enabled", "cost_model", "planning_ms", "groups", "notes", "text", "verbose"))
    assert(root.get("enabled").asBoolean && root.get("cost_model").asText == "physical" && root.get(
      "version"
    ).asText == BuildInfo.version)
    assert(Set(
      "prepare",
      "footers",
      "extract",
      "estimate",
      "search",
      "rebuild",
      "publish",
      "total"
    ).subsetOf(fields(root.get("planning_ms"))) && root.at("/planning_ms/total").asDouble > 0.0)
    assert(root.get("groups").size == 1)
    val group = root.get("groups").get(0)
    assert(
      group.get("id").asInt == 1 && group.get("status").asText == "reordered" && group.get(
        "algorithm"
      ).asText == "dphyp" && group.get("pairs").asLong > 0L
    )
    val relations = items(group.get("relations"))
    assert(relations.map(_.get("name").asText) == Vector("f", "a", "b", "c"))
    relations.foreach { r =>
      val rows = r.get("rows")
      assert(rows.get("lower").asDouble <= rows.get("value").asDouble && rows.get("value").asDouble <= rows.get(
        "upper"
      ).asDouble && rows.get(
        "source"
      ).asText == "catalog")
      assert(r.get("bytes").asDouble > 0.0)
    }
    assert(relations.last.at("/rows/value").asDouble == 2.0, "w = 1 keeps 2 of 20")
    val edges = items(group.get("edges"))
    assert(edges.map(e => strings(e.get("relations")).toSet).toSet == Set(Set("f", "a"), Set("f", "b"), Set("f", "c")))
    assert(edges.exists(_.get("condition").asText.contains("f.k3")))
    Seq("before", "after").foreach { side =>
      val tree  = group.get(side)
      val joins = items(tree.get("joins"))
      assert(joins.size == 3)
      joins.foreach { j =>
        assert(j.get("method").asText.nonEmpty && j.get("condition").asText.contains(" = "))
        val cost = j.get("cost")
        assert(math.abs(Seq(
          "exchange",
          "sort",
          "hash",
          "broadcast",
          "output"
        ).map(cost.get(_).asDouble).sum - cost.get("total").asDouble) <= 1e-6 * cost.get("total").asDouble)
      }
      assert(math.abs(
        joins.map(_.at("/cost/total").asDouble).sum - tree.get("cost").asDouble
      ) <= 1e-6 * tree.get("cost").asDouble)
      assert(strings(joins.last.get("relations")).toSet == Set("f", "a", "b", "c"))
    }
    assert(group.at("/before/order").asText == "(((f a) b) c)")
    assert(group.at("/after/cost").asDouble < group.at("/before/cost").asDouble)
  }

  test("explain shows what is planned: its order is the order of the plan") {
    val order = json(star).at("/groups/0/after/order").asText
    assert(sql.ProfileCommand.orders(optimized(star)) == Seq(order))
  }

  test("explain tells why: kept, left alone, switched off") {
    withConf(DovetailConf.MinGain.key -> "1") {
      val group = json(star).at("/groups/0")
      assert(group.get("status").asText == "kept" && group.get(
        "reason"
      ).asText.contains("spark.dovetail.reorder.minGain") && group.get("after").isNull)
    }
    assert(dovetail(on = false)(json(star)).get("groups").size == 0)
    assert(!dovetail(on = false)(json(star)).get("enabled").asBoolean)
    assert(json("SELECT count(*) FROM f JOIN a ON f.k1 = a.k").get("groups").size == 0)
  }

  test("explain tells why a join is executed as it is, and the runner-up") {
    def joins(side: String) = items(json(star).at(s"/groups/0/$side/joins"))
    val own                 = joins("after")
    assert(
      own.forall(_.get("method").asText == "broadcast hash") && own.forall(
        _.at("/runner_up/method").asText.startsWith("broadcast hash of ")
      ),
      own
    )
    assert(
      own.exists(
        _.get("why").asText.matches("Spark broadcasts c by itself: .* K?i?B by its own count, limit 10.0 MiB")
      ),
      own
    )
    // f joined with a filtered c is small, which Spark cannot know
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "300", "spark.sql.adaptive.enabled" -> "false") {
      val whys = (joins("before") ++ joins("after")).map(_.get("why").asText)
      assert(whys.exists(_.matches("broadcast by Dovetail: c is about .* B, at most .*; limit 300 B")), whys)
      assert(whys.exists(_.matches("[ab] is about . KiB, over the broadcast limit of 300 B")), whys)
      assert(whys.exists(_.endsWith("but Spark does not recognize this")), whys)
      val chosen = joins("after").filter(_.get("method").asText == "broadcast hash")
      assert(chosen.nonEmpty && chosen.forall(_.at("/runner_up/method").asText == "sort merge"))
      chosen.foreach(j => assert(j.at("/runner_up/cost").asDouble > j.at("/cost/total").asDouble, j))
      assert(text(star).replaceAll("\\s+", " ").contains("runner-up sort merge, "))
    }
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1") {
      val inner = joins("before").map(_.get("why").asText)
      assert(
        inner.size == 3 && inner.forall(
          _.startsWith("broadcasts are switched off (spark.sql.autoBroadcastJoinThreshold)")
        ),
        inner
      )
    }
    val full = items(json(
      "SELECT * FROM f FULL JOIN a ON f.k1 = a.k FULL JOIN b ON f.k2 = b.k FULL JOIN c ON f.k3 = c.k"
    ).at("/groups/0/before/joins")).map(_.get("why").asText)
    assert(full.contains("neither side of a full outer join can be broadcast"), full)
    withConf(DovetailConf.CostModel.key -> "cardWeight")(assert(joins("after").forall(j =>
      !j.has("why") && !j.has("runner_up")
    )))
    val apart = items(
      json("SELECT * FROM f JOIN a ON f.k1 < a.k JOIN b ON f.k2 = b.k").at("/groups/0/before/joins")
    ).map(_.get("why").asText)
    assert(apart.contains("no equality to hash or sort by"), apart)
  }

  test("explain names the statistics that would help, with the statement that collects them") {
    assert(json(star).at("/groups/0/missing_statistics").size == 0, "all columns are analyzed")
    withTables("unseen", "aside") {
      Seq("unseen", "aside").foreach(t => spark.sql(s"CREATE TABLE $t USING json AS SELECT k, w FROM c"))
      val query = star.replace("JOIN c ON f.k3 = c.k WHERE c.w", "JOIN unseen ON f.k3 = unseen.k WHERE unseen.w")
      // no row of the JSON files is read
      def unread[A](body: => A) = withConf(DovetailConf.SampleFiles.key -> "false")(body)
      val missing               = unread(items(json(query).at("/groups/0/missing_statistics")))
      assert(missing.map(_.get("table").asText) == Vector("spark_catalog.default.unseen"))
      val unseen = missing.head
      assert(unseen.get("state").asText == "unknown" && strings(unseen.get("columns")).toSet == Set(
        "k",
        "w"
      ) && strings(unseen.get("guessed")).toSet == Set(
        "k",
        "w"
      ))
      assert(unseen.get("cost_share").asDouble > 0.1 && unseen.get("reason").asText.contains("from size"))
      assert(unread(text(query)).contains(s"${unseen.get("statement").asText}"))
      // a table that no group reads is not reported; neither is a table that is analyzed
      assert(json(s"SELECT * FROM aside, ($star)").get("groups").size > 0)
      spark.sql(unseen.get("statement").asText)
      assert(json(query).at("/groups/0/missing_statistics").size == 0)
    }
  }

  test("inputs without a name of their own are called as the query calls them") {
    Seq("sale" -> 1000, "item" -> 100).foreach { case (n, rows) => spark.range(rows).createOrReplaceTempView(n) }
    val sql =
      "SELECT count(*) FROM sale JOIN item i ON sale.id = i.id JOIN item ON i.id = item.id JOIN f x ON x.v = item.id " +
        "WHERE x.v = 1"
    assert(traced(sql)._2.groups.head.relations.map(_.name) == Vector("sale", "i", "item", "x"))
    Seq("sale", "item").foreach(spark.catalog.dropTempView)
    val frame = spark.range(9).toDF("a").join(
      spark.range(8).toDF("b"),
      col("a") === col("b")
    ).join(spark.range(7).toDF("c"), col("b") === col("c"))
    assert(Trace.collecting(frame.queryExecution.optimizedPlan)._2.groups.head.relations.map(_.name) == Vector(
      "range",
      "range#2",
      "range#3"
    ))
  }

  test("explain does not run the statement") {
    withTables("victim") {
      spark.sql("CREATE TABLE victim (v INT) USING parquet")
      Seq(
        "INSERT INTO victim SELECT v FROM f",
        "INSERT OVERWRITE victim SELECT 1",
        "TRUNCATE TABLE victim",
        "DROP TABLE victim",
        "CREATE TABLE victim2 USING parquet AS SELECT 1 AS x"
      ).foreach(text)
      assert(spark.catalog.tableExists("victim") && spark.table("victim").count() == 0 && !spark.catalog.tableExists(
        "victim2"
      ))
    }
  }

  test("explain plans the query of a command that makes a table or a cache; a view does not run its query") {
    val query                    = s"SELECT count(*) AS n FROM ($star) AS joined(v, x, y)"
    def moved(statement: String) = text(s"$statement $query").contains("reordered the joins")
    assert(moved("CREATE TABLE made USING parquet AS") && moved("CACHE TABLE made AS"))
    assert(!moved("CREATE OR REPLACE TEMPORARY VIEW made AS"))
    assert(!spark.catalog.tableExists("made"))
  }

  test("explain of what cannot be planned says what Spark says") {
    assert(intercept[Exception](text("SELECT * FROM nowhere")).getMessage.contains("nowhere"))
    assert(intercept[Exception](text("SELEC 1")).getMessage.contains("SELEC"))
  }

  test("explain with actual rows: every join of the plan that ran, as its part of the query counts it") {
    val on                 = "f.k1 = a.k" -> "f.k2 = b.k"
    def count(sql: String) = dovetail(on = false)(spark.sql(s"SELECT count(*) FROM $sql").head().getLong(0))
    def check(sql: String, parts: (Set[String], String)*): Unit = {
      val root = new ObjectMapper().readTree(
        spark.sql(s"SELECT * FROM dovetail_explain('${quoted(sql)}', 'json', 'actual')").head().getString(0)
      )
      val groups = items(root.get("groups"))
      val plans  = groups.map(g => if (g.get("after").isNull) g.get("before") else g.get("after"))
      val found  = plans.flatMap(p => items(p.get("joins"))).map(j =>
        strings(j.get("relations")).toSet -> Option(j.get("actual_rows")).map(_.asLong)
      ).toMap
      assert(found.nonEmpty && found.values.forall(_.isDefined), s"$sql: $found")
      parts.foreach { case (relations, from) =>
        found.get(relations).foreach(rows => assert(rows.contains(count(from)), s"$sql: $relations"))
      }
      assert(parts.exists(p => found.contains(p._1)), s"$sql: $found")
    }
    check(
      star,
      Set("f", "c")           -> "f JOIN c ON f.k3 = c.k WHERE c.w = 1",
      Set("f", "a", "c")      -> "f JOIN a ON f.k1 = a.k JOIN c ON f.k3 = c.k WHERE c.w = 1",
      Set("f", "b", "c")      -> "f JOIN b ON f.k2 = b.k JOIN c ON f.k3 = c.k WHERE c.w = 1",
      Set("f", "a", "b", "c") -> s"f JOIN a ON ${on._1} JOIN b ON ${on._2} JOIN c ON f.k3 = c.k WHERE c.w = 1"
    )
    check(
      s"SELECT * FROM f LEFT JOIN a ON ${on._1} AND a.w = 1 JOIN b ON ${on._2} WHERE coalesce(a.w, 7) = 7 AND b.w = 2",
      Set("f", "b") -> s"f JOIN b ON ${on._2} WHERE b.w = 2",
      Set(
        "f",
        "a",
        "b"
      ) -> s"f LEFT JOIN a ON ${on._1} AND a.w = 1 JOIN b ON ${on._2} WHERE coalesce(a.w, 7) = 7 AND b.w = 2"
    )
    check(
      s"SELECT * FROM f JOIN b ON ${on._2} WHERE EXISTS (SELECT 1 FROM c WHERE c.k = f.k3 AND c.w = 1) AND b.w < 3",
      Set("f", "c")      -> "f LEFT SEMI JOIN c ON f.k3 = c.k AND c.w = 1",
      Set("f", "b")      -> s"f JOIN b ON ${on._2} WHERE b.w < 3",
      Set("f", "b", "c") -> s"f JOIN b ON ${on._2} LEFT SEMI JOIN c ON f.k3 = c.k AND c.w = 1 WHERE b.w < 3"
    )
    check(
      "SELECT count(*) FROM f x JOIN a ON x.k1 = a.k JOIN a a2 ON x.k2 = a2.k WHERE a.w = 1 AND a2.w = 2",
      Set("x", "a")       -> "f x JOIN a ON x.k1 = a.k WHERE a.w = 1",
      Set("x", "a2")      -> "f x JOIN a ON x.k2 = a.k WHERE a.w = 2",
      Set("x", "a", "a2") -> "f x JOIN a ON x.k1 = a.k JOIN a a2 ON x.k2 = a2.k WHERE a.w = 1 AND a2.w = 2"
    )
  }

  test("explain with actual rows: what each part of the run took") {
    def steps(sql: String) = {
      val root = new ObjectMapper().readTree(
        spark.sql(s"SELECT * FROM dovetail_explain('${quoted(sql)}', 'json', 'actual')").head().getString(0)
      )
      assert(root.at("/run/ms").asDouble > 0.0)
      items(root.at("/run/steps")).map(s => (s.get("kind").asText, s.get("of").asText) -> s)
    }
    val sql = star.replace("JOIN a ", "JOIN a x ").replace("a.", "x.")
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1", "spark.sql.adaptive.enabled" -> "true") {
      val found = steps(sql)
      assert(Set("f", "x", "b", "c").forall(n => found.exists(_._1 == "scan" -> n)), found.map(_._1))
      val exchanges = found.filter(_._1._1 == "exchange").map(_._2)
      assert(exchanges.size >= 4 && exchanges.forall(_.get("bytes").asLong > 0L), found)
      assert(exchanges.exists(_.get("skew").asDouble >= 1.0), exchanges)
      assert(found.exists(s => s._1._1 == "join" && s._1._2.split(", ").toSet == Set("f", "x", "b", "c")), found)
      assert(found.filter(_._1._1 == "join").forall(_._2.get("ms").isNumber), found)
    }
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "10m") {
      val broadcasts = steps(sql).filter(_._1._1 == "broadcast")
      assert(broadcasts.map(_._1._2).toSet == Set("x", "b", "c"), broadcasts)
      assert(broadcasts.forall(_._2.get("bytes").asLong > 0L), broadcasts)
    }
    val told = spark.sql(s"SELECT * FROM dovetail_explain('${quoted(sql)}', 'text', 'actual')").head().getString(0)
    assert(told.contains("\nrun: ") && told.contains("    part "), told)
  }
}
