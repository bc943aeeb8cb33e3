package org.apache.spark.sql.dovetail

import java.util.concurrent.atomic.AtomicLong

import org.apache.spark.sql.catalyst.expressions.AttributeReference
import org.apache.spark.sql.catalyst.plans.logical.{Distinct, LogicalPlan, Union}
import org.apache.spark.sql.dovetail.group.RepeatedInputs
import org.apache.spark.sql.dovetail.leaf.CanonicalForms
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

/** Spark's canonical form of a table takes a time quadratic in its columns, so it is made of few tables. */
class CanonicalFormsSuite extends DovetailSuite {

  test("plans of other tables are not the same, and of very wide ones no forms are made") {
    def forms(plan: LogicalPlan)  = plan.collectLeaves().map { case c: CountedForms => c.forms; case _ => 0 }.sum
    val (one, other, wide, alike) = (CountedForms(), CountedForms(), CountedForms(2000), CountedForms(2000))
    assert(CanonicalForms.same(Distinct(one), Distinct(other)) && forms(one) == 1)
    assert(CanonicalForms.same(Distinct(wide), Distinct(alike)) && forms(wide) + forms(alike) == 0)
    val (left, right) = (Distinct(CountedForms()), Distinct(spark.range(5).queryExecution.analyzed))
    assert(!CanonicalForms.same(left, Distinct(Union(left, right))) && forms(left) == 0)
  }

  /** Columns that count how often somebody looks at one. */
  final private class Watched(columns: Vector[AttributeReference], looks: AtomicLong)
      extends scala.collection.immutable.IndexedSeq[AttributeReference] {
    override def apply(i: Int): AttributeReference = { looks.incrementAndGet(); columns(i) }
    override def length: Int                       = columns.size
  }

  test("an input of a data source of version 2 that a query has twice is found without a look at columns not read") {
    withConf("spark.sql.sources.useV1SourceList" -> "") {
      withDirectory { d =>
        spark.range(10).selectExpr("id", "id % 3 k").write.parquet(d.resolve("t").toString)
        val unread              = (0 until 300).map(i => s"u$i BIGINT").mkString(", ")
        val looks               = new AtomicLong
        def read(where: String) = {
          val data = spark.read.schema(s"id BIGINT, k BIGINT, $unread").parquet(d.resolve("t").toString)
          data.where(where).select("id", "k").queryExecution.optimizedPlan.transform {
            case r: DataSourceV2ScanRelation =>
              // one column less, because Spark keeps a plan that is equal to the new one
              r.copy(relation = r.relation.copy(output = new Watched(r.relation.output.toVector.init, looks)))
          }
        }
        val (one, same, other) = (read("k = 1"), read("k = 1"), read("k = 2"))
        looks.set(0L)
        val repeated = RepeatedInputs(Union(Seq(one, same, other)), reused = true)
        assert(Seq(one, same, other).map(repeated.copies) == Seq(2, 2, 1))
        assert(looks.get <= 3L * 302L, "at most once each")
      }
    }
  }
}
