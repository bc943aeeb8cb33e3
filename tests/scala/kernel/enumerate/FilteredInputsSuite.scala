package dovetail.kernel.enumerate

import scala.util.Random

import dovetail.kernel.Bags.{Bag, Column}
import dovetail.kernel.graph.{JoinGraph, JoinKind, Levels}
import dovetail.kernel.RandomPlans
import org.scalatest.funsuite.AnyFunSuite

/**
 * Inputs that are filtered by the keys of other inputs, as Bloom filters and key ranges do: whatever the plan and the
 * rows are, the result does not change. `DOVETAIL_PLANS` sets the number of plans for a longer run.
 */
class FilteredInputsSuite extends AnyFunSuite {
  private val plans = sys.env.get("DOVETAIL_PLANS").fold(800)(_.toInt)

  /** Sets of tables that each plan is run on. */
  private val tables = 20

  /** The filters of a graph: equality, filtered relation, source of the keys. */
  private def filters(graph: JoinGraph): Vector[(Int, Int, Int)] = for {
    k       <- graph.keys.indices.toVector
    reduced <- graph.keys(k).relations
    source  <- graph.keys(k).relations if graph.filters(k, reduced, source)
  } yield (k, reduced, source)

  private def column(graph: JoinGraph, k: Int, of: Int): Column =
    Column(of, (graph.keys(k).memberOf(of).get.columns.head - of * 2L).toInt)

  /** The rows with a key of the source; some others pass, as with a Bloom filter. */
  private def filtered(graph: JoinGraph, ts: Vector[Bag], f: (Int, Int, Int), random: Random): Bag = {
    val (k, reduced, source) = f
    val keys                 = ts(source).rows.flatMap(column(graph, k, source).in(_)).toSet
    val own                  = column(graph, k, reduced)
    ts(reduced).copy(rows = ts(reduced).rows.filter(own.in(_).exists(keys) || random.nextInt(8) == 0))
  }

  test("one filter, and all of them together, give the rows of the plan as written") {
    var (dropped, below, filled) = (0, 0, 0)
    for (seed <- 1 to plans) {
      val random = new Random(seed)
      val plan   = RandomPlans(2 + random.nextInt(5), random)
      val graph  = plan.graph
      val found  = filters(graph)
      if (found.nonEmpty) for (_ <- 1 to tables) {
        val ts                                           = Vector.tabulate(graph.size)(RandomPlans.table(_, random))
        val truth                                        = plan.run(ts)
        def check(changed: Vector[Bag], what: Any): Unit =
          assert(plan.run(changed).same(truth), s"seed $seed, $what of ${plan.written}\n${ts.map(_.rows)}")
        for (f <- found) {
          val less = filtered(graph, ts, f, random)
          if (less.rows.size < ts(f._2).rows.size && truth.rows.nonEmpty) {
            dropped += 1
            if (graph.levels.levelOf(f._2) != Levels.Top) below += 1
          }
          check(ts.updated(f._2, less), f)
        }
        // each filter takes its keys from the tables as they are
        val all = found.foldLeft(ts) { (now, f) =>
          val kept = filtered(graph, ts, f, random).rows.toSet
          now.updated(f._2, now(f._2).copy(rows = now(f._2).rows.filter(kept)))
        }
        if (truth.rows.nonEmpty) filled += 1
        check(all, found)
      }
    }
    assert(dropped > plans && below > plans / 10 && filled > plans / 2, s"$dropped, $below, $filled of $plans plans")
  }

  test("full outer joins filter nothing, and no left side is filtered by a right one") {
    for (seed <- 1 to plans) {
      val graph = RandomPlans(2 + seed % 5, new Random(seed)).graph
      for ((k, reduced, source) <- filters(graph) if k >= graph.classes.size) {
        val o = graph.operators.find(o => o.right.contains(reduced) && o.left.contains(source))
        assert(o.exists(_.kind != JoinKind.FullOuter), s"seed $seed")
      }
    }
  }
}
