package org.apache.spark.sql.dovetail

import java.nio.file.Path
import java.util.Locale

import dovetail.kernel.size.CardinalityModel

/**
 * Quality of estimates on a small real data set, from its statistics, as ANALYZE collects them, and the true sizes of
 * sub-plans.
 *
 * `estimate` takes lines `-- relation,relation: rows` with true sizes, and a query with one group. It prints the median
 * and the worst q-error, max(estimate / truth, truth / estimate) (Moerkotte, Neumann and Steidl, VLDB 2009), where both
 * are at least one row. It also prints every sub-plan whose q-error is larger than [[EstimateGoldenSuite.Shown]]. An
 * estimate above its own upper bound fails.
 */
class EstimateGoldenSuite extends GoldenSuite("estimates") {
  import EstimateGoldenSuite._

  override protected def commands: Seq[String] = Seq("estimate")

  override protected def output(file: Path, c: GoldenCase): Option[Vector[String]] =
    if (c.command == "estimate") Some(estimate(file, c)) else None

  private def estimate(file: Path, c: GoldenCase): Vector[String] = {
    val (_, groups) = planned(c.input.mkString("\n"), Map.empty)
    assert(groups.size == 1, s"\n$file:${c.line}: a query has one group")
    val p     = groups.head
    val names = p.group.leaves.indices.map(i => p.group.aliases(i).map(_.name).getOrElse(p.report.relations(i).name))
    val model = new CardinalityModel(p.graph)
    val found = c.input.collect { case Truth(relations, rows) =>
      val set = relations.split(',').map(n => names.indexOf(n.trim))
      assert(!set.contains(-1), s"\n$file:${c.line}: $relations; known: ${names.mkString(", ")}")
      val e = model.estimate(set.sorted)
      assert(e.value <= e.upper, s"\n$file:${c.line}: $relations")
      SubPlanEstimate(relations, e.value, rows.toDouble)
    }.sortBy(f => (f.relations.count(_ == ','), f.relations))
    val errors = found.map(_.error).sorted
    val head   = s"${found.size} sub-plans: median ${digits(errors(errors.size / 2))}, worst ${digits(errors.last)}"
    head +: found.filter(_.error > Shown).map(f =>
      s"  ${f.relations}: ${number(f.estimate)} for ${number(f.truth)}, ${digits(f.error)}"
    )
  }

  private def digits(error: Double): String = "%.2f".formatLocal(Locale.ROOT, error)
}

object EstimateGoldenSuite {

  /** Sub-plans with a larger q-error are listed one by one. */
  private val Shown = 3.0

  private val Truth = "-- ([\\w,]+): (\\d+)".r

  final private case class SubPlanEstimate(relations: String, estimate: Double, truth: Double) {
    def error: Double = {
      val (e, t) = (math.max(estimate, 1.0), math.max(truth, 1.0))
      math.max(e / t, t / e)
    }
  }
}
