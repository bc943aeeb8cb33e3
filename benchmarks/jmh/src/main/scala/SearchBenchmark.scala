// Time of one search by the shape of the join graph: milliseconds per search, warm. Run with
//   ./sbt "bench/Jmh/run SearchBenchmark"
// or only some shapes, with a profile of memory allocation:
//   ./sbt "bench/Jmh/run SearchBenchmark -p shape=clique12,star16 -prof gc"
package dovetail.bench

import java.util.concurrent.TimeUnit

import org.openjdk.jmh.annotations._
import dovetail.kernel.cost.{ClusterFacts, CostConstants, PhysicalCosts}
import dovetail.kernel.enumerate.{Budget, Outcome, Search, Shape}
import dovetail.kernel.graph.JoinGraph

@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@State(Scope.Thread)
@Fork(1)
@Warmup(iterations = 4, time = 2)
@Measurement(iterations = 4, time = 2)
class SearchBenchmark {

  @Param(
    Array(
      "clique12",
      "star16",
      "chain20",
      "cycle12",
      "chain50",
      "star50",
      "snowflake50",
      "mixed50",
      "chain100",
      "star100",
      "snowflake100",
      "mixed100",
      "chain1000",
      "star1000",
      "snowflake1000",
      "mixed1000",
      "outerstar16",
      "outerstar50",
      "outersnowflake50",
      "outersnowflake100",
      "outersnowflake1000"
    )
  )
  var shape: String = _

  private var graph: JoinGraph     = _
  private var written: Shape       = _
  private var costs: PhysicalCosts = _

  @Setup def prepare(): Unit = {
    graph = Shapes(shape)
    written = graph.relations.indices.map(i => Shape.Leaf(i): Shape).reduceLeft((l, r) => Shape.Join(l, r))
    costs = new PhysicalCosts(CostConstants(), ClusterFacts())
    val found = search()
    println(
      s"$shape: ${found.algorithm}, ${found.pairs} pairs, cost ${found.best.cost.total} of ${found.original.cost.total}"
    )
  }

  /** Uses the default budget of pairs and no deadline, so that the benchmark does the same work on any machine. */
  @Benchmark def search(): Outcome = new Search(graph, costs, Budget(300000L, Long.MaxValue / 1000000 / 4)).run(written)
}
