package org.apache.spark.sql.dovetail

import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Project, UnresolvedHint}

/** Hints on DataFrames. test_frames_as_queries.py tests what they say. */
class FrameHintsSuite extends StarSuite {
  test("a column of a DataFrame with a hint is found by the id of the DataFrame, as Spark Connect gives it") {
    def tagged[A <: LogicalPlan](plan: A, id: Long): A = { plan.setTagValue(LogicalPlan.PLAN_ID_TAG, id); plan }
    for (
      of <- Seq("SELECT k1, count(*) AS n FROM f GROUP BY k1", "SELECT * FROM f", "SELECT f.* FROM f JOIN a ON k1 = k")
    ) {
      val frame  = tagged(spark.sessionState.sqlParser.parsePlan(of), 1L)
      val hinted = tagged(UnresolvedHint("DOVETAIL_OFF", Nil, frame), 2L)
      // Spark resolves the function, and then the column above it, after it has resolved the hint
      val filter = tagged(Filter(spark.sessionState.sqlParser.parseExpression("abs(k1) >= 0"), hinted), 3L)
      val column = UnresolvedAttribute("k1")
      column.setTagValue(LogicalPlan.PLAN_ID_TAG, 2L)
      val plan = tagged(Project(Seq(column), filter), 4L)
      assert(spark.sessionState.executePlan(plan).analyzed.output.map(_.name) == Seq("k1"), of)
    }
  }
}
