package org.apache.spark.sql.dovetail.plan

import java.util.Locale

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.{AttributeSet, Expression}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.dovetail.deadline.{PerQuery, PlanningTime}
import org.apache.spark.sql.dovetail.group.{GroupNames, JoinGroup}
import org.apache.spark.sql.dovetail.predicates.JoinPredicates
import org.apache.spark.sql.dovetail.sample.{FilteredRead, PassingRows}
import org.apache.spark.sql.dovetail.stats.PlanStatistics

/**
 * Reads the rows of a group's inputs that their filters keep, if samples have too few of them ([[RareRows]]), before
 * the join graph is built. The joins of these inputs are then counted on their real keys.
 *
 * Rows that are in memory are used in any case. Others are read in the order of their cost, a few and for a short time.
 * A group with the same inputs as one before, such as the second copy of a common table expression, uses the rows of
 * the same inputs, although more may be in memory by then: Spark computes both once only if they have the same order.
 */
final class RareInputs(planner: Planner, statistics: PlanStatistics) {
  import RareInputs._

  private val ofQuery = choices(new Choices)

  /**
   * Reads such rows, and returns a remark for explain on each input; empty if there are none. The statistics know the
   * rows from then on.
   *
   * @param told inputs with a number of rows that the user has set
   */
  def read(
      group: JoinGroup,
      leaves: Vector[LogicalPlan],
      predicates: JoinPredicates,
      told: => Set[Int]
  ): Vector[String] =
    if (!planner.countsInputs || leaves.size < LeastInputs) Vector.empty
    else {
      lazy val names = GroupNames(group, leaves)
      val found      = candidates(group, leaves, predicates, told)
      val chosen     = ofQuery.choice(found)
      found.filter(c => chosen(c.rows.key)).flatMap { c =>
        PlanningTime.check()
        val before = statistics(leaves(c.input)).rows.value
        // the reads before may have taken the time
        if (c.rows.isPossible)
          statistics.rare.learn(leaves(c.input), c.rows).map(remark(names.shown(c.input), _, before))
        else None
      }
    }

  private def candidates(
      group: JoinGroup,
      leaves: Vector[LogicalPlan],
      predicates: JoinPredicates,
      told: => Set[Int]
  ): Vector[Candidate] = {
    val tables = leaves.map(statistics.samples(_).map(_.table.id))
    val keys   = (predicates.members ++ OperatorConjunct.of(group, predicates).flatten.flatMap(_.sampled)).flatten
    val others = AttributeSet.fromAttributeSets(
      predicates.complex.map(_.expression.references) ++ group.operators.flatMap(_.condition).map(_.references)
    )
    for {
      input <- leaves.indices.toVector
      read   = references(keys.filter(_.relation == input).map(_.expression))
      copies = tables(input).fold(1)(id => tables.count(_.contains(id)))
      rows <- statistics.rare(leaves(input), copies, read, others.intersect(leaves(input).outputSet))
      if rows.isPossible && !told(input)
    } yield Candidate(input, rows)
  }

  private def references(of: Vector[Expression]): AttributeSet = AttributeSet.fromAttributeSets(of.map(_.references))

  private def remark(name: String, rows: Long, estimated: Double): String =
    s"the rows of %s that pass its filter were read: %,d, estimated %,.${if (estimated < Small) 1 else 0}f".formatLocal(
      Locale.ROOT,
      name,
      rows,
      estimated
    )
}

private object RareInputs {

  final private case class Candidate(input: Int, rows: PassingRows)

  /** The inputs of a query that are read. All runs of the rule for the query share them, and their time. */
  final private class Choices {
    private var nanos  = MostNanos
    private val before = mutable.HashMap.empty[Set[FilteredRead.Key], Set[FilteredRead.Key]]

    /** The reads of a group that are used: those in memory, and a few cheap ones. */
    def choice(of: Vector[Candidate]): Set[FilteredRead.Key] = before.getOrElseUpdate(
      of.map(_.rows.key).toSet, {
        val (known, others) = of.sortBy(c => (c.rows.nanos, c.input)).partition(_.rows.isKnown)
        val times           = others.map(_.rows.nanos).scanLeft(0.0)(_ + _).tail
        val cheap           = others.zip(times).takeWhile(_._2 <= nanos).map(_._1).take(MostInputs)
        nanos -= cheap.map(_.rows.nanos).sum
        (known ++ cheap).map(_.rows.key).toSet
      }
    )
  }

  private val choices = new PerQuery[Choices]

  /** Fewest inputs of a group that has more than one order. */
  private val LeastInputs = 3

  /** Most inputs of a group that are read. */
  private val MostInputs = 4

  /** Most estimated nanoseconds of all reads for a query: some 50 ms in a JVM that has compiled the code. */
  private val MostNanos = 1e8

  /** Estimates below are shown with a decimal. */
  private val Small = 10.0
}
