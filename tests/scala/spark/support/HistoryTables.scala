package org.apache.spark.sql.dovetail

import java.nio.file.Path

import org.apache.spark.sql.Row
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.history.{History, ShowHistory}
import org.apache.spark.sql.dovetail.report.GroupReport
import org.scalatest.BeforeAndAfterEach

/** Tables whose joins no statistics of one table estimate well, and what the history knows about queries of them. */
trait HistoryTables extends DovetailSuite with BeforeAndAfterEach {
  protected val tables = Seq("h_fact", "h_a", "h_b", "h_c")

  // nine tenths of the fact's rows have the most frequent value of `a`, which is the 'hot' one; no statistics of one
  // table tell
  override def beforeEach(): Unit = {
    super.beforeEach()
    write("h_fact", "SELECT id, if(id % 10 = 0, id % 100, 7) AS a, id % 50 AS b, id % 20 AS c FROM range(4000)")
    write("h_a", "SELECT id AS k, if(id = 7, 'hot', concat('cold', id)) AS name FROM range(100)")
    write("h_b", "SELECT id AS k, id % 5 AS v FROM range(50)")
    write("h_c", "SELECT id AS k, id % 4 AS v FROM range(20)")
  }

  override def afterEach(): Unit = { withTables(tables: _*)(()); super.afterEach() }

  protected def write(table: String, query: String): Unit =
    spark.sql(s"CREATE TABLE $table USING parquet AS SELECT /*+ COALESCE(1) */ * FROM ($query)")

  protected val star = "SELECT f.id, a.name, b.v, c.v FROM h_fact f JOIN h_a a ON f.a = a.k JOIN h_b b ON f.b = b.k " +
    "JOIN h_c c ON f.c = c.k WHERE a.name = 'hot' AND b.v = 1 AND c.v = 2"

  /** Runs the body with a history that starts empty. */
  protected def remembering[A](settings: (String, String)*)(body: Path => A): A = withDirectory { directory =>
    withConf(
      Seq(
        DovetailConf.HistoryEnabled.key        -> "true",
        DovetailConf.StorePath.key             -> directory.resolve("store").toString,
        "spark.sql.adaptive.enabled"           -> "false",
        "spark.sql.autoBroadcastJoinThreshold" -> "-1"
      ) ++ settings: _*
    )(
      try withoutIdempotenceCheck(body(directory.resolve("store")))
      finally { ShowHistory.settle(spark); History(spark).save() } // nothing is written while the directory is deleted
    )
  }

  protected def runs(sql: String): Seq[Row] = {
    val rows = spark.sql(sql).collect().toSeq; ShowHistory.settle(spark); rows
  }

  protected def group(sql: String): GroupReport = traced(sql)._2.groups.head

  /** The table of each relation, by the name of the relation in the query. */
  protected def tables(g: GroupReport): Map[String, String] =
    g.relations.map(r => r.name -> r.label.takeWhile(_ != ' ')).toMap

  /** Rows of all relations and joins of the plan, with their sources, by set of tables. */
  protected def sizes(sql: String): Map[Set[String], (Double, String)] = {
    val g     = group(sql)
    val joins = g.after.orElse(g.before).get.joins
    val table = tables(g)
    (g.relations.map(r => Set(table(r.name)) -> r.rows.get) ++ joins.map(j =>
      j.relations.map(table).toSet -> j.rows
    )).map {
      case (set, e) => set -> ((e.value, e.source.name))
    }.toMap
  }

  protected def counted(sql: String): Map[Set[String], Double] =
    sizes(sql).collect { case (set, (rows, "history")) => set -> rows }

  /** The rows that the history has counted. */
  protected def recorded: Map[Set[String], Long] = {
    val shown = spark.sql("SELECT relations, rows FROM dovetail_history() WHERE kind = 'counted'").collect()
    shown.map(r => r.getSeq[String](0).map(_.split('.').last).toSet -> r.getLong(1)).toMap
  }

  protected def count(sql: String): Double = dovetail(on = false)(spark.sql(sql).count().toDouble)
}
