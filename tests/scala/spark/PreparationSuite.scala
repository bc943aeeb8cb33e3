package org.apache.spark.sql.dovetail

import org.apache.spark.sql.catalyst.QueryPlanningTracker
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, SubqueryAlias}
import org.apache.spark.sql.dovetail.deadline.ListedFiles
import org.apache.spark.sql.dovetail.group.Preparation
import org.apache.spark.sql.execution.datasources.{CatalogFileIndex, HadoopFsRelation, LogicalRelation}

/** Partitions are pruned before they are listed, unless that computes a function of the user for each of them. */
class PreparationSuite extends DovetailSuite {
  override def beforeAll(): Unit = {
    super.beforeAll()
    spark.udf.register("user_day", (s: String) => s)
    spark.udf.register("user_name", (s: String) => s)
    spark.sql("CREATE TABLE visits (name STRING, day STRING) USING parquet PARTITIONED BY (day)")
    spark.sql("INSERT INTO visits VALUES ('a', '1'), ('b', '2'), ('c', '3')")
    ()
  }

  override def afterAll(): Unit =
    try { spark.sql("DROP TABLE IF EXISTS visits"); () }
    finally super.afterAll()

  /** Number of partitions that are left of the table, or None if all of them would be listed. */
  private def partitions(where: String): Option[Int] = {
    val written = spark.sql(s"SELECT * FROM visits WHERE $where").queryExecution.analyzed.transform {
      case SubqueryAlias(_, child) => child
    }
    val plan: LogicalPlan = written.collectFirst { case f: Filter => f }.get
    assert(plan.collectLeaves().forall(l => index(l).exists(_.isInstanceOf[CatalogFileIndex])))
    Preparation.pruned(spark, plan).collectLeaves().flatMap(index(_)).headOption.filterNot(
      _.isInstanceOf[CatalogFileIndex]
    ).map(_.listFiles(Nil, Nil).size)
  }

  private def index(leaf: LogicalPlan) = leaf match {
    case r: LogicalRelation => r.relation match { case f: HadoopFsRelation => Some(f.location); case _ => None }
    case _                  => None
  }

  test("predicates of other columns do not keep partitions from being pruned") {
    assert(partitions("day = '1'").contains(1))
    assert(partitions("day = '1' AND user_name(name) = 'a'").contains(1))
    assert(partitions("day > '1' AND name IN (SELECT max(id) FROM range(3))").contains(2))
    assert(partitions("day > '1' AND rpad(name, 1000, 'x') > 'a'").contains(2))
    assert(partitions("day > '1' AND (user_name(name) = 'a' OR day = '2')").contains(2))
  }

  test("predicates of computed columns do not keep them either, because no partition has these") {
    val sql  = "SELECT day, count(*) FROM visits WHERE day = '1' GROUP BY day HAVING user_day(max(name)) > '0'"
    val plan = Preparation.pruned(
      spark,
      spark.sql(sql).queryExecution.analyzed.transform {
        case SubqueryAlias(_, child) => child
      }
    )
    assert(plan.collectLeaves().flatMap(index(_)).forall(!_.isInstanceOf[CatalogFileIndex]))
  }

  test("if partitions cannot be pruned early, nobody asks for the files of all of them") {
    def files(where: String): Boolean =
      QueryPlanningTracker.withTracker(new QueryPlanningTracker) {
        val plan = spark.sql(s"SELECT * FROM visits WHERE $where").queryExecution.analyzed.transform {
          case SubqueryAlias(_, child) => child
        }
        Preparation.pruned(spark, plan).collectLeaves().flatMap(index(_)).flatMap(ListedFiles(_)).nonEmpty
      }
    assert(files("day = '1'") && files("name = 'a'") && !files("user_day(day) = '1'"))
  }

  test("a function of the user on a partition column is not computed twice") {
    assert(partitions("user_day(day) = '1'").isEmpty)
    assert(partitions("day > '1' AND (name = 'b' AND user_day(day) = '2' OR day = '3')").isEmpty)
  }
}
