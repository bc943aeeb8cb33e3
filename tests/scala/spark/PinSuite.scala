package org.apache.spark.sql.dovetail

import java.nio.file.{Files, Path}

import org.apache.hadoop.fs.{Path => HadoopPath}
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.report.GroupReport
import org.apache.spark.sql.dovetail.steer.{OrderHint, Pins}
import org.apache.spark.sql.dovetail.store.StoreFiles

/**
 * Named orders: captured, used by canonical form, kept beyond the session, and ignored with a reason if they do not
 * fit.
 */
class PinSuite extends StarSuite {
  private val names    = Vector("f", "a", "b", "c")
  private val accepted = names.map(Vector(_))
  private val from     = "FROM f JOIN a ON f.k1 = a.k JOIN b ON f.k2 = b.k JOIN c ON f.k3 = c.k"

  private def query(w: Int): String               = s"SELECT f.v, a.w, b.w $from WHERE c.w = $w"
  private def run(statement: String): Seq[String] =
    spark.sql(s"DOVETAIL $statement").collect().toSeq.map(_.getString(0))
  private def group(sql: String): GroupReport     = withoutIdempotenceCheck(traced(sql)._2.groups).head
  private def order(g: GroupReport): String       = g.after.orElse(g.before).get.order
  private def same(a: String, b: String): Boolean =
    OrderHint.read(a, accepted).exists(x => OrderHint.read(b, accepted).exists(_.sameJoins(x)))
  private def pins: Seq[String] = spark.sql("SELECT name FROM dovetail_pins()").collect().map(_.getString(0)).toSeq
  private def inStore[A](body: Path => A): A =
    withDirectory(d => withConf(DovetailConf.StorePath.key -> d.toString)(body(d)))

  test(
    "the order of a query is captured, and used by the same query with other constants, aliases and order of writing"
  ) {
    inStore { _ =>
      val wanted = "(((f a) b) c)"
      run(s"PIN nightly AS '$wanted' FOR ${query(1)}")
      val plain = dovetail(on = false)(answer(query(7)))
      Seq(
        query(1) -> names,
        query(7) -> names,
        "SELECT x.v, y.w, z.w FROM c q, b z, f x, a y WHERE q.w = 7 AND y.k = x.k1 AND x.k2 = z.k AND q.k = x.k3" ->
          Vector("x", "y", "z", "q")
      ).foreach { case (sql, called) =>
        val g     = group(sql)
        val shape = OrderHint.read(order(g), called.map(Vector(_))).map(_.render(names(_)))
        assert(g.reason.startsWith("the order of pin 'nightly'; ") && shape.exists(same(_, wanted)), g)
      }
      assert(answer(query(7)) == plain)
      assert(spark.sql("SELECT used FROM dovetail_pins()").head().getLong(0) >= 3)
      // a hint in the query takes precedence
      val hinted = group(query(1).replace("SELECT", "SELECT /*+ DOVETAIL_ORDER('((f c) b) a') */"))
      assert(hinted.reason.startsWith("the requested order"), hinted)
      assert(run("UNPIN nightly").head == "pin 'nightly' removed")
      assert(!group(query(1)).reason.contains("pin"))
    }
  }

  test("without an order the one that the query gets now is captured, and stays when statistics change") {
    inStore { _ =>
      val now = order(group(query(1)))
      assert(run(s"PIN it FOR ${query(1)}").head.startsWith(s"pin 'it': "))
      spark.sql("DOVETAIL SET ROWS 2 FOR SELECT * FROM f JOIN b ON f.k2 = b.k")
      try {
        assert(same(order(group(query(1))), now))
        run("UNPIN it")
        assert(!same(order(group(query(1))), now), "the other number does change the order")
      } finally { run("FORGET ROWS"); () }
    }
  }

  test("what does not fit is not used, and explain says why") {
    inStore { _ =>
      run(s"PIN nightly FOR ${query(1)}")
      Seq(
        s"SELECT count(*) $from WHERE c.w = 1 AND a.w = 2" ->
          "pin 'nightly' is not used: the predicates or inputs of this query differ from those of the pinned query",
        s"SELECT count(*) $from JOIN p ON p.k1 = a.k WHERE c.w = 1" ->
          "pin 'nightly' is not used: this query also joins p",
        "SELECT count(*) FROM f JOIN a ON f.k1 = a.k JOIN b ON f.k2 = b.k" ->
          "pin 'nightly' is not used: this query does not join c"
      ).foreach { case (sql, why) => assert(group(sql).reason.contains(why), group(sql).reason) }
      assert(!group(
        "SELECT count(*) FROM p JOIN a ON p.k1 = a.k JOIN a b ON p.k2 = b.k JOIN p q ON q.k1 = a.k"
      ).reason.contains("pin"))
      // an order that does not belong to the pin, as in an edited file
      withDirectory { d =>
        val file = d.resolve("pins.json")
        run(s"SAVE PINS '$file'")
        val edited = new String(
          Files.readAllBytes(file),
          "UTF-8"
        ).replaceAll("\"shape\" : \"[^\"]*\"", "\"shape\" : \"((0 1) 9)\"")
        Files.write(file, edited.getBytes("UTF-8"))
        run(s"LOAD PINS '$file'")
        assert(
          group(query(1)).reason.contains("pin 'nightly' is not used: '9' is not one of 0, 1, 2, 3"),
          group(query(1)).reason
        )
        assert(group(query(1)).status == "reordered")
      }
    }
  }

  test("what cannot be pinned is refused, and why") {
    inStore { _ =>
      def why(s: String): String = intercept[Exception](run(s)).getMessage
      assert(why(s"PIN x AS '((f a) b)' FOR ${query(1)}").contains("it leaves out c"))
      val outer =
        "SELECT count(*) FROM f LEFT JOIN (a JOIN b ON a.k = b.k AND b.w = 1) ON f.k1 = a.k JOIN c ON f.k3 = c.k"
      assert(why(s"PIN x AS '((f a) b) c' FOR $outer").contains("outer or semi joins forbid it"))
      assert(why("PIN x FOR SELECT * FROM f JOIN a ON f.k1 = a.k").contains("no group of three or more relations"))
      assert(why("UNPIN nope").contains("there is no pin 'nope'. Pins: none"))
      assert(why("PIN x SELECT 1").contains("DOVETAIL PIN <name> [AS '<order>'] FOR <query>"))
      assert(pins.isEmpty)
    }
  }

  test(
    "pins are in the store: another session, and another application, find them; two pins of one name are the last one"
  ) {
    inStore { directory =>
      run(s"PIN one AS '(((f a) b) c)' FOR ${query(1)}")
      run(s"PIN one AS '(((f b) a) c)' FOR ${query(1)}")
      run(s"PIN two FOR SELECT count(*) FROM f JOIN a ON f.k1 = a.k JOIN b ON f.k2 = b.k")
      assert(pins == Seq("one", "two"))
      val other = spark.newSession()
      other.sql(s"SET ${DovetailConf.StorePath.key}=$directory")
      assert(other.sql("SELECT name, order FROM dovetail_pins()").collect().map(_.getString(0)).toSeq == Seq(
        "one",
        "two"
      ))
      // the pins as another JVM finds them
      val anew = new Pins(new StoreFiles(StoreFiles.path(directory.toString), spark.sessionState.newHadoopConf()))
      assert(anew.all.map(_.name) == Vector("one", "two") && same(anew.all.head.groups.head.order, "(((f b) a) c)"))
      // a change that another JVM makes
      anew.remove("two")
      assert(pins == Seq("one"))
      assert(group(query(3)).reason.startsWith("the order of pin 'one'"))
    }
  }

  test(
    "a store that cannot be written: of this application alone, and it says so; a file that cannot be read: no pins, " +
      "a warning, not overwritten"
  ) {
    withDirectory { d =>
      val file = Files.write(d.resolve("file"), Array[Byte](1))
      withConf(DovetailConf.StorePath.key -> s"$file/below") {
        assert(run(s"PIN x FOR ${query(1)}").head.contains("in this application only: Dovetail cannot write"))
        assert(group(query(2)).reason.startsWith("the order of pin 'x'"))
        assert(spark.sql("SELECT place FROM dovetail_pins()").head().getString(0) == "this application")
        run("UNPIN x")
        assert(pins.isEmpty)
      }
    }
    inStore { directory =>
      Files.write(directory.resolve("pins.json"), "{\"version\": 2, \"pins\": []}".getBytes("UTF-8"))
      val (_, warnings) = LogCapture("dovetail")(assert(group(query(1)).status == "reordered"))
      assert(warnings.exists(_.contains("has format 2, but this Dovetail reads up to 1")), warnings)
      assert(group(query(1)).reason.contains("pins.json is not used: the file has format 2"))
      assert(run(s"PIN x FOR ${query(1)}").head.contains("in this application only"))
      assert(new String(Files.readAllBytes(directory.resolve("pins.json")), "UTF-8").contains("\"version\": 2"))
      assert(group(query(2)).reason.startsWith("the order of pin 'x'"))
    }
  }

  test("the contents of a broken file are named as the cause, and not the directory; the file stays") {
    inStore { directory =>
      val file = directory.resolve("pins.json")
      Seq("{\"version\":1,\"pi", "[]", "null", "{\"version\":99}", "{\"version\":1,\"pins\":[{}]}", "").foreach {
        text =>
          Files.writeString(file, text)
          val said = run(s"PIN x FOR ${query(1)}") ++ run("UNPIN x")
          assert(
            said(0).contains(", in this application only: ") && said(1).contains(", but not from the store: "),
            said
          )
          said.foreach { s =>
            assert(
              s.contains(s"$file is left as it is: ") && s.endsWith(". Remove entries, or correct or delete the file.")
            )
            assert(!s.contains("..") && !s.contains("spark.dovetail.store.path"), s)
          }
          assert(Files.readString(file) == text)
      }
    }
  }

  test("a file that cannot be opened for once takes no pin away") {
    inStore { directory =>
      val (file, aside) = (directory.resolve("pins.json"), directory.resolve("aside"))
      run(s"PIN x FOR ${query(1)}")
      assert(pins == Seq("x"))
      Files.move(file, aside)
      Files.createDirectory(file)
      assert(pins == Seq("x"), "those that were read before")
      Files.delete(file)
      Files.move(aside, file)
      assert(pins == Seq("x"))
    }
  }

  test("a pin that is removed while the file cannot be written does not come back with the next write") {
    withDirectory { d =>
      withConf(WatchedFileSystem.setting) {
        def opened() = new Pins(
          new StoreFiles(new HadoopPath(s"${WatchedFileSystem.Scheme}:$d"), spark.sessionState.newHadoopConf())
        )
        val kept = inStore { _ => run(s"PIN one FOR ${query(1)}"); Pins(spark).all.head }
        val here = opened()
        assert(here.add(Vector("one", "two", "three").map(n => kept.copy(name = n))).isEmpty)
        WatchedFileSystem.readOnly = true
        try assert(here.remove("one")._2.exists(_.contains("Permission denied")))
        finally WatchedFileSystem.readOnly = false
        assert(here.all.map(_.name) == Vector("three", "two") && opened().all.size == 3)
        assert(here.add(Vector(kept.copy(name = "four"))).isEmpty)
        assert(opened().all.map(_.name) == Vector("four", "three", "two"))
      }
    }
  }

  test("a query of several groups, and a table that meets itself") {
    inStore { _ =>
      val two =
        s"SELECT count(*) $from WHERE c.w = 1 UNION ALL SELECT count(*) FROM a JOIN f ON f.k1 = a.k JOIN b ON f.k2 = " +
          "b.k WHERE b.w = 2"
      assert(run(s"PIN both FOR $two").size == 2)
      assert(group(query(5)).reason.startsWith("the order of pin 'both'"))
      assert(group(
        "SELECT f.t FROM b, f, a WHERE f.k1 = a.k AND f.k2 = b.k AND b.w = 9"
      ).reason.startsWith("the order of pin 'both'"))
      run("UNPIN both")
      def self(x: String, y: String) =
        s"SELECT count(*) FROM f JOIN a $x ON f.k1 = $x.k JOIN a $y ON f.k2 = $y.k JOIN c ON f.k3 = c.k WHERE c.w = 1"
      run(s"PIN self AS '(((f a#2) a) c)' FOR ${self("x", "y")}")
      // the input that k2 joins comes first, whatever its name and its place in the query
      val g =
        group("SELECT count(*) FROM a y JOIN f ON f.k2 = y.k JOIN a x ON f.k1 = x.k JOIN c ON f.k3 = c.k WHERE c.w = 1")
      assert(g.reason.startsWith("the order of pin 'self'"), g)
      assert(g.after.orElse(g.before).get.joins.head.condition.contains("k2"), g)
      sameAnswer(self("x", "y"), reorders = false)
    }
  }

  test("pins are passed on as a file") {
    withDirectory { d =>
      val file = d.resolve("pins.json")
      inStore { _ =>
        run(s"PIN nightly AS '(((f a) b) c)' FOR ${query(1)}");
        assert(run(s"SAVE PINS '$file'") == Seq(s"1 pins written to $file"))
      }
      inStore { _ =>
        assert(pins.isEmpty)
        assert(run(s"LOAD PINS '$file'") == Seq("pin 'nightly'"))
        assert(same(order(group(query(2))), "(((f a) b) c)"))
      }
    }
  }

  test("a hint in a statement of a SQL script leaves the rest of the script as it is") {
    assume(spark.version >= "4.0")
    withTables("written")(withConf("spark.sql.scripting.enabled" -> "true", "spark.sql.ansi.enabled" -> "true") {
      spark.sql("CREATE TABLE written (v INT) USING parquet")
      spark.sql(
        "BEGIN IF 1 = 2 THEN INSERT INTO written SELECT /*+ DOVETAIL_OFF */ 1; " +
          "ELSE INSERT INTO written VALUES (2); END IF; END"
      ).collect()
      assert(answer("SELECT v FROM written") == Seq("[2]"))
      val handled = spark.sql(
        "BEGIN DECLARE EXIT HANDLER FOR DIVIDE_BY_ZERO BEGIN SELECT 'handled'; END; " +
          "INSERT INTO written SELECT /*+ DOVETAIL_OFF */ 3; SELECT 1 / 0; END"
      )
      assert(handled.head().getString(0) == "handled")
    })
  }

  test("left to Spark: a query by its hint, a group by its tables, and explain says why; Spark warns of nothing") {
    val (_, warnings) =
      LogCapture("org.apache.spark.sql")(Seq("/*+ DOVETAIL_OFF */", "/*+ BROADCAST(zz), dovetail_off */").foreach {
        hint =>
          val g = group(query(1).replace("SELECT", s"SELECT $hint"))
          assert(g.status == "left_alone" && g.reason == "the query has the hint DOVETAIL_OFF", g)
      })
    assert(!warnings.exists(_.toUpperCase.contains("DOVETAIL_OFF")), warnings)
    assert(reordered(query(1)))
    assert(reordered(query(1) + " -- DOVETAIL_OFF"))
    Seq("c", "nope, C", "default.c", "spark_catalog.default.c", "def*.c").foreach { tables =>
      withConf(DovetailConf.ExcludeTables.key -> tables) {
        val g = group(query(1))
        assert(
          g.status == "left_alone" && g.reason.startsWith(
            "it reads c, which spark.dovetail.reorder.excludeTables names ("
          ),
          (tables, g)
        )
      }
    }
    withConf(DovetailConf.ExcludeTables.key -> "cc, x.c, , *d") { assert(reordered(query(1))) }
    // Spark's own cost-based reordering gets the group then, as without Dovetail
    withConf(
      DovetailConf.ExcludeTables.key      -> "c",
      "spark.sql.cbo.enabled"             -> "true",
      "spark.sql.cbo.joinReorder.enabled" -> "true"
    ) {
      val alone = PlanText(optimized(query(1)))
      assert(alone == dovetail(on = false)(PlanText(optimized(query(1)))))
    }
  }
}
