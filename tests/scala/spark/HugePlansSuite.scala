package org.apache.spark.sql.dovetail

import java.util.concurrent.atomic.AtomicInteger

import dovetail.kernel.profile.{Estimate, RelationProfile, Source}
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  AttributeReference,
  AttributeSet,
  EqualTo,
  Expression,
  If,
  Literal,
  Or,
  UnaryExpression
}
import org.apache.spark.sql.catalyst.plans.{Inner, LeftOuter}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.deadline.PlanningTime
import org.apache.spark.sql.dovetail.footers.{FooterCache, FooterStatistics}
import org.apache.spark.sql.dovetail.group.{JoinGroup, RepeatedInputs}
import org.apache.spark.sql.dovetail.leaf.LeafNames
import org.apache.spark.sql.dovetail.plan.ExchangedInputs
import org.apache.spark.sql.dovetail.predicates.{
  Conjuncts,
  Disjuncts,
  JoinCondition,
  JoinPredicates,
  PredicateSelectivity
}
import org.apache.spark.sql.dovetail.sample.PlanSample
import org.apache.spark.sql.dovetail.sql.Token
import org.apache.spark.sql.dovetail.steer.{PlanForm, Steering}
import org.apache.spark.sql.dovetail.table.{SampledRows, TableSample}
import org.apache.spark.sql.execution.datasources.{FileIndex, HadoopFsRelation, InMemoryFileIndex, LogicalRelation}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.types.{BooleanType, DataType, LongType, StringType}

/**
 * Plans that programs make: they are small for Spark, and grow without bound if every column is replaced by what it is
 * computed from, or if every computed column costs an operator.
 */
class HugePlansSuite extends DovetailSuite with SuiteTables {
  private val Columns = 40

  override def beforeAll(): Unit = {
    super.beforeAll()
    val numbers = (0 until Columns).map(i => s"if(id % ${i + 2} = 0, NULL, id) AS n$i").mkString(", ")
    table(
      "facts",
      s"SELECT id, concat('x', id % 9) AS code, id % 30 AS a, id % 20 AS b, id % 10 AS c, $numbers FROM range(900)"
    )
    table("codes", "SELECT concat('x', id) AS x, id % 30 AS a FROM range(20)")
    for ((name, rows) <- Seq("da" -> 30, "db" -> 20, "dc" -> 10))
      table(name, s"SELECT id AS ${name.last}, id % 7 AS w$name FROM range($rows)")
  }

  private def planned(frame: DataFrame) = {
    val (plan, lines) = LogCapture("dovetail")(frame.queryExecution.optimizedPlan)
    assert(lines.isEmpty, lines)
    plan
  }

  test("a column that projections double has values in a sample up to a size") {
    val table = spark.table("codes").queryExecution
    val rows  = table.toRdd.map(_.copy()).collect()
    val of = TableSample(table.analyzed.schema, SampledRows(table.analyzed.schema, rows.toVector), rows.length.toLong)
    val begin = PlanSample(of, table.analyzed.output, fresh = true)
    val steps = Iterator.iterate((begin, table.analyzed.output.head)) { case (sample, column) =>
      val next = AttributeReference("x", StringType)()
      (sample.projected(Seq(next -> If(EqualTo(column, Literal("y")), Literal("z"), column))), next)
    }
    def keyed(at: Int) = {
      val (sample, column) = steps.drop(at).next()
      sample.keyed(Map(0 -> column), Map.empty, (0, 1)).isDefined
    }
    assert(keyed(5) && !keyed(30))
  }

  test("computed columns of one input are one projection, unless one reads another") {
    val filled = Seq("da", "db", "dc").foldLeft(spark.table("facts")) { (f, d) =>
      f.join(spark.table(d).where(s"w$d < 5"), d.last.toString).na.fill(0L)
    }
    val plan = planned(filled)
    assert(plan.collect { case p: Project => p }.size < 15, plan)
    def rows(on: Boolean) = dovetail(on)(DovetailSuite.sorted(filled.select("id", "n0", "n5", "wdb").collect()))
    assert(rows(on = true) == rows(on = false))
  }

  test("hundreds of outer joins are no group, which is found in a moment; the first three hundred inputs are one") {
    val asked  = new AtomicInteger
    val tables = (0 until 600).map(_ => HugePlansSuite.CountedLeaf(AttributeReference("k", LongType)(), asked))
    val plan   = tables.tail.foldLeft(tables.head: LogicalPlan)((left, t) =>
      Join(left, t, LeftOuter, Some(EqualTo(left.output.head, t.output.head)), JoinHint.NONE)
    )
    def found: Option[JoinGroup] = plan.find(JoinGroup.unapply(_).isDefined).flatMap(JoinGroup.unapply)
    asked.set(0)
    assert(found.exists(_.leaves.size == 300))
    // a group that is built anew at each of the upper joins looks at its leaves more than a hundred thousand times
    assert(asked.get < 10000, asked.get)
  }

  test("the text of a plan has a bound, however many columns it computes") {
    val columns = (0 until 8).map(i => s"k$i")
    val start   = spark.table("facts").select(columns.map(col("n0").as(_)): _*)
    val wide    = (0 until 11).foldLeft(start)((f, s) =>
      f.select(columns.map(c => when(col(c) > s, col(c) - s).otherwise(col(c)).as(c)): _*)
    )
    val plan = Seq.fill(6)(wide).reduce(_ union _).queryExecution.analyzed
    val form = new PlanForm(literals = true, nulls = true)
    form.learn(0, plan)
    val text = form.input(plan)
    assert(PlanForm.isNameless(text) && text.length < 10000000, text.length)
  }

  test("a chain of hundreds of alternatives has one text, however it is written, within the time of planning") {
    val plan                      = spark.table("facts").queryExecution.analyzed
    val a                         = plan.output.find(_.name == "a").get
    val all                       = (0 until 600).map(i => EqualTo(a, Literal(i.toLong)))
    def text(es: Seq[Expression]) = withConf(DovetailConf.PlanningMaxMs.key -> "20000") {
      PlanningTime.ofItsOwn(spark.sessionState.conf) {
        val form = new PlanForm(literals = true, nulls = true)
        form.learn(0, plan)
        form.input(Filter(es.reduceLeft(Or(_, _)), plan))
      }
    }
    val (one, other) = (text(all), text(all.reverse :+ all.head))
    assert(one.exists(t => t.split(" OR ").length == all.size) && one == other)
  }

  test("an OR of many thousand alternatives over two tables has an estimate and a text") {
    def table(name: String) = spark.table(name).queryExecution.analyzed
    val (one, other)        = (table("facts"), table("codes"))
    val sides               = Vector(one, other).map(_.output.find(_.name == "a").get)
    val alternatives        = (0 until 10000).map(i => Conjuncts.together(sides.map(EqualTo(_, Literal(i.toLong)))))
    val profile             = RelationProfile(Estimate.exactly(900.0, Source.Exact), Map.empty, 900.0)
    val classifier          = new JoinCondition.Classifier(Vector(one.outputSet, other.outputSet))
    val selectivity         = new PredicateSelectivity(Vector(profile, profile), classifier.relationsOf, Vector.empty)
    val share               = selectivity.byFormulas(Disjuncts.together(alternatives))
    assert(share > 0.0 && share <= 1.0)
    val form = new PlanForm(literals = true)
    form.learn(0, one)
    form.learn(1, other)
    val text = form.expression(Disjuncts.together(alternatives), i => s"t$i")
    assert(text.split(" OR ").length == alternatives.size && text.contains("9999L = t1.a"), text.take(1000))
  }

  test("the chain of a few operands is written from left to right, and all operands keep their places") {
    val columns = (0 until 1000).map(i => AttributeReference(s"c$i", BooleanType)())
    assert(Disjuncts.together(columns.take(100)) == columns.take(100).reduceLeft[Expression](Or(_, _)))
    assert(Conjuncts.together(columns.take(1)) == columns.head)
    assert(Disjuncts(Disjuncts.together(columns)) == columns && Conjuncts(Conjuncts.together(columns)) == columns)
    def depth(e: Expression): Int = e.children.map(depth).foldLeft(0)(math.max) + 1
    assert(depth(Disjuncts.together(columns)) < 150)
  }

  test("a table that a query reads many times has each footer read once") {
    withDirectory { d =>
      spark.range(0, 1000, 1, 5).selectExpr("id", "id % 7 AS k").write.parquet(d.resolve("t").toString)
      withConf(WatchedFileSystem.setting, DovetailConf.FootersMaxMs.key -> "20000") {
        def table                   = spark.read.parquet(s"${WatchedFileSystem.Scheme}://${d.resolve("t")}")
        def opened(times: Int): Int = {
          val leaves = Seq.fill(times)(table.queryExecution.analyzed.collect { case leaf: LeafNode => leaf }).flatten
          val wanted = AttributeSet(leaves.flatMap(_.output))
          val statistics = new FooterStatistics(spark.sessionState.conf, LeafNames.name)
          FooterCache.clear()
          val (_, calls) = WatchedFileSystem.during(statistics.readAhead(leaves, wanted))
          assert(leaves.forall(statistics(_, Nil).exists(_.rows.value == 1000.0)))
          calls.count(_.startsWith("open part-"))
        }
        assert(opened(1) >= 5 && opened(12) == opened(1))
      }
    }
  }

  test("inputs of sort-merge joins above one another are looked through once for expressions that may fail") {
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1") {
      def looks(n: Int): Int = {
        val asked  = Vector.fill(n)(new AtomicInteger)
        val tables = asked.map(HugePlansSuite.WatchedLeaf(AttributeReference("k", LongType)(), _))
        val plan   = tables.tail.foldLeft(tables.head: LogicalPlan)((left, t) =>
          Join(left, t, Inner, Some(EqualTo(left.output.head, t.output.head)), JoinHint.NONE)
        )
        val steering = new Steering(spark, plan)
        asked.head.set(0)
        ExchangedInputs.count(plan, steering)
        asked.head.get
      }
      assert(looks(10) > 0 && looks(40) == looks(10), "the lowest input is an input of all joins")
    }
  }

  test("the equalities of two wide tables are compared with those of their class only") {
    val asked              = new AtomicInteger
    val n                  = 300
    def columns(t: String) = (0 until n).map(i => AttributeReference(s"$t$i", LongType)())
    val (ls, rs)           = (columns("l"), columns("r"))
    val conditions         = ls.zip(rs).map { case (l, r) =>
      EqualTo(HugePlansSuite.Key(l, asked), HugePlansSuite.Key(r, asked))
    }
    val predicates = JoinPredicates.together(Vector(AttributeSet(ls), AttributeSet(rs)), conditions)
    assert(predicates.members.map(_.map(_.expression)) == conditions.map(_.children))
    assert(predicates.originals.map(_.map(_.expression)) == conditions.map(Vector(_)) && predicates.complex.isEmpty)
    assert(asked.get < 50 * n, asked.get)
  }

  test("an input that a query has twice is found without a look at all of its paths") {
    withDirectory { d =>
      spark.range(10).write.parquet(d.resolve("t").toString)
      val asked              = new AtomicInteger
      val read               = spark.read.parquet(d.resolve("t").toString).queryExecution.analyzed
      def input(value: Long) = {
        val again = read.collect { case r @ HugePlansSuite.OfFiles(f) =>
          r.copy(relation = f.copy(location = new HugePlansSuite.WatchedIndex(spark, f.location, asked))(spark))
        }.head
        Filter(EqualTo(again.output.head, Literal(value)), again)
      }
      val inputs = Seq(1L, 1L, 2L).map(input)
      asked.set(0)
      val repeated = RepeatedInputs(Union(inputs), reused = true)
      assert(inputs.map(repeated.copies) == Seq(2, 2, 1) && asked.get == 0)
    }
  }

  test("many paths are named by the first one, their number and a hash") {
    def paths(n: Int, last: String) = (1 until n).map(i => new Path(s"s3://bucket/day=$i")) :+ new Path(last)
    assert(LeafNames.together(paths(2, "/b")) == "s3://bucket/day=1 /b")
    val texts = Seq("/b", "/c").map(l => LeafNames.together(paths(50000, l)))
    assert(texts.distinct.size == 2 && texts.forall(t =>
      t.length < 100 && t.startsWith("s3://bucket/day=1 and 49999 more")
    ))
  }

  test("tokens of a text know their places, and the first one is found without the rest") {
    val text  = "/* \uD83D\uDE00 */ SELECT '\uD83D\uDE00', `\uD83D\uDE00` FROM t -- end"
    val first = Token.first(text)
    assert(first.is("SELECT") && first.start == Token.all(text).head.start)
    val kinds = Token.all("'a' \"b\" r'c' R\"d\" `'e'` `\"f\"` g'").map(_.isString)
    assert(kinds.take(6) == Vector(true, true, true, true, false, false))
    Token.all(text).init.foreach(t => assert(text.substring(t.start, t.end) == t.text))
  }
}

object HugePlansSuite {

  /** An input that counts how often it is looked at for the mark of a copy. */
  final case class CountedLeaf(column: Attribute, asked: AtomicInteger) extends LeafNode {
    override def output: Seq[Attribute]                         = Seq(column)
    override def computeStats(): Statistics                     = Statistics(sizeInBytes = 1)
    override def getTagValue[T](tag: TreeNodeTag[T]): Option[T] = { asked.incrementAndGet(); super.getTagValue(tag) }
  }

  /** An input that counts how often somebody asks which operator it is. */
  final case class WatchedLeaf(column: Attribute, asked: AtomicInteger) extends LeafNode {
    override def output: Seq[Attribute]     = Seq(column)
    override def computeStats(): Statistics = Statistics(sizeInBytes = BigInt(1L << 40))
    override def nodeName: String           = { asked.incrementAndGet(); super.nodeName }
  }

  /** A key that counts how often it is compared with another one. */
  final case class Key(child: Expression, asked: AtomicInteger) extends UnaryExpression with CodegenFallback {
    override def dataType: DataType                                     = LongType
    override def eval(input: InternalRow): Any                          = child.eval(input)
    override def hashCode: Int                                          = child.hashCode
    override protected def withNewChildInternal(child: Expression): Key = copy(child = child)
    override def equals(that: Any): Boolean                             = that match {
      case k: Key => asked.incrementAndGet(); child == k.child
      case _      => false
    }
  }

  /** A relation over files. */
  object OfFiles {
    def unapply(r: LogicalRelation): Option[HadoopFsRelation] =
      Some(r.relation).collect { case f: HadoopFsRelation => f }
  }

  /** A list of files that counts how often it is compared or hashed. */
  final class WatchedIndex(session: SparkSession, of: FileIndex, asked: AtomicInteger)
      extends InMemoryFileIndex(session, of.rootPaths, Map.empty, None) {
    override def equals(that: Any): Boolean = { asked.incrementAndGet(); super.equals(that) }
    override def hashCode: Int              = { asked.incrementAndGet(); super.hashCode }
  }
}
