package dovetail.kernel.size

import scala.util.Random

import dovetail.kernel.graph.{EquivalenceClass, JoinGraph, Member, Relation, RelSet}
import dovetail.kernel.profile.{
  ColumnProfile,
  Estimate,
  KeyColumn,
  KeyFigures,
  KeyMemo,
  RelationProfile,
  RelationSample,
  RowBytes,
  RowNumbers,
  SetCounts,
  Source
}
import org.scalactic.Tolerance
import org.scalatest.funsuite.AnyFunSuite

/** Join sizes counted on samples, compared with joins by brute force. */
class SampleJoinsSuite extends AnyFunSuite with Tolerance {
  private type Table = Vector[Vector[Option[Long]]]

  /**
   * A relation with one column per class that it belongs to, the share of its rows that its sample has, and the rows
   * that its predicates keep.
   */
  private case class Input(
      classes: Vector[Int],
      rows: Table,
      share: Double = 1.0,
      keeps: Vector[Option[Long]] => Boolean = _ => true
  ) {
    def kept: Input = copy(rows = rows.filter(keeps))
  }

  private def graph(inputs: Vector[Input], seed: Int = 1): JoinGraph = {
    val random                        = new Random(seed)
    def profile(values: Vector[Long]) = {
      val d = Some(values.distinct.size.toDouble); ColumnProfile(ndv = d, domain = d)
    }
    val relations = inputs.zipWithIndex.map { case (in, i) =>
      val drawn = random.shuffle(in.rows).take(math.round(in.rows.size * in.share).toInt)
      val keys  = in.classes.zipWithIndex.map { case (c, k) =>
        c -> drawn.map(_(k).getOrElse(RelationSample.NullKey)).toArray
      }.toMap
      val rows   = Estimate.exactly(in.rows.count(in.keeps).toDouble, Source.Exact)
      val sample = RelationSample(in.share == 1.0, drawn.size, in.share, keys, in.classes.toSet)
      Relation(
        i,
        s"r$i",
        RelationProfile(rows, Map.empty, in.rows.size.toDouble),
        RowBytes.fixed(8.0),
        broadcastable = false,
        Some(sample.copy(kept = sample.kept.filter(row => in.keeps(drawn(row)))))
      )
    }
    val classes = inputs.flatMap(_.classes).distinct.sorted.zipWithIndex.map { case (c, i) =>
      assert(c == i, "classes are numbered from 0")
      EquivalenceClass(
        c,
        inputs.zipWithIndex.collect {
          case (in, r) if in.classes.contains(c) =>
            val values = in.rows.flatMap(_(in.classes.indexOf(c)))
            val column = profile(values).copy(nulls = Some(1.0 - values.size / math.max(in.rows.size.toDouble, 1.0)))
            Member(r, column, Set(c.toLong), s"r$r.c$c")
        }
      )
    }
    JoinGraph(relations, classes, Vector.empty)
  }

  private def estimate(inputs: Vector[Input], set: Int*): Double =
    new CardinalityModel(graph(inputs)).estimate(set.toArray).value

  /** Number of combinations of rows that agree on every class. */
  private def join(inputs: Seq[Input]): Long = {
    val all = inputs.foldLeft(Vector(Map.empty[Int, Long] -> 1L)) { case (partial, in) =>
      val next = for ((bound, n) <- partial; row <- in.rows; if agrees(bound, in, row, inputs))
        yield (bound ++ bindings(in, row)) -> n
      next.groupBy(_._1).toVector.map { case (b, ns) => b -> ns.map(_._2).sum }
    }
    all.map(_._2).sum
  }

  private def bindings(in: Input, row: Vector[Option[Long]]) = in.classes.zip(row).collect { case (c, Some(v)) =>
    c -> v
  }

  private def agrees(bound: Map[Int, Long], in: Input, row: Vector[Option[Long]], inputs: Seq[Input]) =
    in.classes.zip(row).forall { case (c, v) =>
      val joins = inputs.count(_.classes.contains(c)) > 1
      !joins || (v.isDefined && bound.get(c).forall(v.contains))
    }

  private def table(rows: Int, columns: Int, values: Int, random: Random): Table =
    Vector.fill(rows)(Vector.fill(columns)(if (random.nextInt(10) == 0) None
    else Some((random.nextDouble() * random.nextDouble() * values).toLong)))

  private val shapes = Map(
    "one class"               -> Vector(Vector(0), Vector(0), Vector(0), Vector(0)),
    "chain"                   -> Vector(Vector(0), Vector(0, 1), Vector(1, 2), Vector(2)),
    "star"                    -> Vector(Vector(0, 1, 2), Vector(0), Vector(1), Vector(2)),
    "composite key"           -> Vector(Vector(0, 1), Vector(0, 1), Vector(1)),
    "composite keys and more" -> Vector(Vector(0, 1), Vector(0, 1), Vector(0, 2), Vector(0, 2), Vector(0))
  )

  for ((name, classes) <- shapes.toVector.sortBy(_._1))
    test(s"complete samples count acyclic joins exactly, with NULLs, repeated and rare keys: $name") {
      for (seed <- 1 to 15) {
        val random = new Random(seed)
        val inputs = classes.map(cs => Input(cs, table(5 + random.nextInt(20), cs.size, 2 + random.nextInt(6), random)))
        for (n <- 2 to inputs.size; set <- inputs.indices.combinations(n)) {
          if (connected(set.map(classes))) assert(
            estimate(inputs, set: _*) === math.max(1.0, join(set.map(inputs)).toDouble) +- 1e-6,
            s"$set seed $seed"
          )
        }
      }
    }

  private def connected(classes: Seq[Vector[Int]]): Boolean =
    classes.tail.indices.foldLeft((classes.head.toSet, classes.tail)) { case ((reached, left), _) =>
      val (now, later) = left.partition(_.exists(reached))
      (reached ++ now.flatten, later)
    }._2.isEmpty

  test("a filter that goes together with the keys counts by the rows it meets") {
    // nine of ten rows of the fact have one key, and the dimension is filtered to exactly that key
    val fact = Input(Vector(0), Vector.tabulate(1000)(i => Vector(Some(if (i % 10 == 0) i.toLong else 7L))))
    val dim  = Input(Vector(0), Vector(Vector(Some(7L))))
    assert(estimate(Vector(fact, dim), 0, 1) === 900.0 +- 1e-6)
  }

  for (share <- Seq(0.1, 0.3))
    test(s"samples of $share of the rows: skewed keys of two many-to-many sides come out near the truth") {
      val errors = for (seed <- 1 to 9) yield {
        val random = new Random(seed)
        val inputs = Vector.fill(2)(Input(
          Vector(0),
          Vector.fill(20000)(Vector(Some((math.pow(random.nextDouble(), 3.0) * 5000).toLong))),
          share
        ))
        val counts = inputs.map(_.rows.groupBy(_.head.get).map { case (k, rows) => k -> rows.size.toDouble })
        val truth  = counts.head.map { case (k, n) => n * counts(1).getOrElse(k, 0.0) }.sum
        val found  = new CardinalityModel(graph(inputs, seed)).estimate(Array(0, 1)).value
        math.max(found / truth, truth / found)
      }
      assert(errors.sorted.apply(4) < 1.5 && errors.max < 2.0, errors)
    }

  test("a sampled fact and sampled keys of a dimension: every row of the fact finds its partner") {
    val fact  = Input(Vector(0), Vector.tabulate(30000)(i => Vector(Some((i * 7919L) % 10000))), 0.1)
    val dim   = Input(Vector(0), Vector.tabulate(10000)(i => Vector(Some(i.toLong))), 0.2)
    val found = estimate(Vector(fact, dim), 0, 1)
    assert(found > 24000.0 && found < 36000.0)
  }

  // a fact of whose rows half have the 100 keys that the filter of its dimension keeps, of 10,000
  private val popular   = (row: Vector[Option[Long]]) => row.head.exists(_ % 100 == 37)
  private val popularly =
    Vector.tabulate(40000)(i => Vector(Option(if (i % 2 == 0) (i / 2) % 100 * 100L + 37 else (i * 7919L) % 10000)))
  private val items = Input(Vector(0), Vector.tabulate(10000)(i => Vector(Some(i.toLong))), 0.4, popular)

  for ((factShare, itemShare) <- Seq((0.3, 0.4), (0.05, 0.4), (0.5, 0.2)))
    test(s"a filter of a dimension that goes together with a fact's keys, on samples of $itemShare and $factShare") {
      val inputs = Vector(Input(Vector(0), popularly, factShare), items.copy(share = itemShare))
      val truth  = join(inputs.map(_.kept)).toDouble
      val found  = estimate(inputs, 0, 1)
      assert(truth > 20000 && found > truth / 1.8 && found < truth * 1.8, s"$found for $truth")
    }

  test("keys of a sampled dimension that are not in the sample count like those asked for, and not like all keys") {
    val inputs = Vector(Input(Vector(0), popularly, 0.3), items)
    val shares = new SampleJoins(graph(inputs)).partnered(0, 1).get.counted
    assert(shares > 0.35 && shares < 0.7, "half of the fact's rows, and one of a hundred of the others")
    // where the fact does not ask for the keys that are kept, few of its rows have a partner
    val even = Input(Vector(0), Vector.tabulate(40000)(i => Vector(Some((i * 7919L) % 10000))), 0.3)
    assert(new SampleJoins(graph(Vector(even, items))).partnered(0, 1).get.counted < 0.02)
    assert(estimate(Vector(even, items), 0, 1) === 400.0 +- 150.0)
  }

  test("a table that has grown since its sample was taken: keys that nobody saw are expected") {
    val fact      = Input(Vector(0), Vector.tabulate(20000)(i => Vector(Some(i.toLong % 2000))))
    val whole     = graph(Vector(fact, Input(Vector(0), Vector.tabulate(1000)(i => Vector(Some(2L * i))))))
    val rows      = Estimate.exactly(2000.0, Source.Exact)
    val dimension = whole.relations(1).copy(
      profile = RelationProfile(rows, Map.empty, rows.value),
      sample = whole.relations(1).sample.map(_.copy(complete = false))
    )
    val grown = whole.copy(relations = Vector(whole.relations.head, dimension))
    val found = new CardinalityModel(grown).estimate(Array(0, 1)).value
    assert(found > 16000.0 && found < 24000.0, "each of the fact's rows has a partner by now")
  }

  test("a range of a sampled dimension: the partners are within it") {
    // 40 of 2000 days are left, and the fact has rows of all days
    val fact  = Input(Vector(0), Vector.tabulate(50000)(i => Vector(Some(i.toLong % 2000))), 0.1)
    val days  = Input(Vector(0), Vector.tabulate(40)(i => Vector(Some(100L + i))), 0.5)
    val found = estimate(Vector(fact, days), 0, 1)
    assert(found > 700.0 && found < 1400.0, "truth 1000")
  }

  test("many relations are put together from smaller sets, and each set has one size") {
    val random = new Random(3)
    val n      = 20
    val hub    = Input((0 until n).toVector, Vector.fill(8000)(Vector.fill(n)(Some(random.nextInt(50).toLong))))
    val dims   = Vector.tabulate(n)(c => Input(Vector(c), Vector.tabulate(25)(i => Vector(Some(i.toLong)))))
    val model  = new CardinalityModel(graph(hub +: dims))
    for (k <- 1 to n) {
      val found = model.estimate((0 to k).toArray).value
      assert(
        found === math.max(1.0, 8000 * math.pow(0.5, k.toDouble)) +- (8000 * math.pow(0.5, k.toDouble) * 0.5 + 3.0),
        s"$k dimensions"
      )
      assert(model.estimate((0 to k).reverse.toArray).value === found)
    }
  }

  test("many relations whose hub comes last keep all its equalities") {
    val n     = 20
    val hub   = Input((0 until n).toVector, Vector.fill(8000)(Vector.fill(n)(Some(1L))))
    val dims  = Vector.tabulate(n)(c => Input(Vector(c), Vector.tabulate(25)(i => Vector(Some(i.toLong)))))
    val found = new CardinalityModel(graph(dims :+ hub)).estimate((0 to n).toArray).value
    assert(found === 8000.0 +- 1.0)
  }

  test("a large set of partial samples keeps the equality of a class that joins its last relation with another one") {
    val random = new Random(8)
    val n      = 12
    // the last relation shares a class with the hub, and another one with the first dimension alone
    val hub  = Input((0 to n).toVector, Vector.fill(4000)(Vector.fill(n + 1)(Some(random.nextInt(40).toLong))), 0.9)
    val dims = Vector.tabulate(n)(c => Input(Vector(c), Vector.tabulate(40)(i => Vector(Some(i.toLong)))))
    val both = Input(Vector(n, n + 1), Vector.tabulate(40)(i => Vector(Some(i.toLong), Some((i % 8).toLong))))
    val far  = Input(Vector(0, n + 1), Vector.tabulate(40)(i => Vector(Some(i.toLong), Some((i % 8).toLong))))
    val all  = (hub +: far +: dims.tail) :+ both
    // each row of the hub has a partner in each dimension; those of `far` and `both` agree for one row in eight
    assert(estimate(all, all.indices: _*) === 500.0 +- 200.0)
  }

  test("many relations: of the last one, the rows that the fact has count, and not those of its own neighbor") {
    def rows(n: Int)(row: Int => Seq[Long]): Table = Vector.tabulate(n)(i => row(i).map(Option(_)).toVector)
    // A fact of customers of countries: three in ten of its rows are of the first country, as one in 1,000 customers is.
    // Eight other dimensions and large samples: sets of all relations are composed of smaller ones.
    val random    = new Random(2)
    val customers = rows(30000)(i => Seq(i.toLong, i / 30L))
    val others    = 8
    val fact      = rows(150000)(i =>
      (if (i % 10 < 3) i % 30L else random.nextInt(30000).toLong) +: Seq.fill(others)(random.nextInt(20000).toLong)
    )
    val dimension = rows(20000)(i => Seq(i.toLong))
    val inputs    = Vector(Input(0 +: (2 until 2 + others).toVector, fact)) ++
      (2 until 2 + others).map(c => Input(Vector(c), dimension)) ++
      Vector(Input(Vector(0, 1), customers), Input(Vector(1), rows(1000)(i => Seq(i.toLong)), 1.0, _(0).contains(0L)))
    val model = new CardinalityModel(graph(inputs))
    assert(model.samples.largest < inputs.size)
    val found = model.estimate(inputs.indices.toArray).value
    val real  = fact.count(_(0).get < 30).toDouble
    assert(found > real / 1.5 && found < real * 1.5, s"$found for $real")
  }

  test("composite keys: most of the rows that ask for a key of the smaller table have none there") {
    val random  = new Random(4)
    val pairs   = for (a <- 0 until 40; b <- 0 until 100) yield Vector(Some(a.toLong), Some(b.toLong))
    val all     = Input(Vector(0, 1), pairs.toVector, 0.5)
    val few     = Input(Vector(0, 1), random.shuffle(pairs.toVector).take(400), 0.5)
    val written = graph(Vector(all, few))
    def counted(relation: Int, combinations: Double) = {
      val r = written.relations(relation)
      r.copy(profile = r.profile.copy(groups = Map(Set(0L, 1L) -> combinations)))
    }
    val known = written.copy(relations = Vector(counted(0, 4000.0), counted(1, 400.0)))
    assert(new CardinalityModel(known).estimate(Array(0, 1)).value === 400.0 +- 100.0)
  }

  test("a count begins at the side that refers to keys, and not at the larger sample of the keys") {
    val random = new Random(6)
    val users  = Input(Vector(0), Vector.tabulate(8000)(i => Vector(Some(i.toLong))), 0.1)
    val facts  =
      Input(Vector(0), Vector.fill(6000)(Vector(Some(random.nextInt(8000).toLong))), 0.1, _.head.exists(_ % 20 == 0))
    // each fact has one user, whether that one was drawn or not
    assert(estimate(Vector(users, facts), 0, 1) === facts.kept.rows.size.toDouble +- facts.kept.rows.size * 0.1)
  }

  test("runs of keys count if they differ by more than chance") {
    val random                       = new Random(9)
    val sizes                        = Array.fill(1000)(1)
    val runs                         = KeyRuns(sizes).get
    def means(weight: Int => Double) = runs.means(Array.tabulate(1000)(weight), identity)
    val byChance = (1 to 100).count(_ => means(_ => if (random.nextInt(4) == 0) 1.0 else 0.0).isDefined)
    assert(byChance <= 15, s"$byChance of 100 samples without any difference")
    assert(means(i => if (random.nextInt(1000) < i) 1.0 else 0.0).exists(m => m.head < 0.2 && m.last > 0.8))
  }

  /** A memo that keeps counts, as the planner's memo does, and tells for how many groups it has them. */
  private class Memo extends KeyMemo {
    private val kept  = scala.collection.mutable.LinkedHashMap.empty[SetCounts.Group, SetCounts]
    private val byKey = scala.collection.mutable.LinkedHashMap.empty[(Long, Long), KeyFigures]

    def groups: Int                                                         = kept.size
    override def places(of: KeyColumn, in: KeyColumn): Array[Int]           = in.placesOf(of)
    override def together(columns: Vector[KeyColumn]): KeyColumn            = KeyColumn.together(columns)
    override def counts(of: SetCounts.Group, made: => SetCounts): SetCounts = kept.getOrElseUpdate(of, made)

    override def figures(column: KeyColumn, rows: RowNumbers, made: => KeyFigures): KeyFigures =
      byKey.getOrElseUpdate((column.id, rows.hash), made)
  }

  private def remembering(graph: JoinGraph, memo: KeyMemo): JoinGraph =
    graph.copy(relations = graph.relations.map(r => r.copy(sample = r.sample.map(_.copy(memo = memo)))))

  test("a group that is planned again finds its sizes, and a group that differs in anything does not") {
    val random = new Random(5)
    val inputs = Vector(Vector(0, 1), Vector(0, 1), Vector(1)).map(cs => Input(cs, table(200, cs.size, 9, random), 0.5))
    val memo   = new Memo
    val first  = remembering(graph(inputs), memo)
    def sizes(g: JoinGraph) = {
      val model = new CardinalityModel(g)
      for (n <- 2 to 3; set <- inputs.indices.combinations(n)) yield model.estimate(set.toArray).value
    }
    // the same samples, in a query with other column names
    val renamed = first.copy(classes =
      first.classes.map(c =>
        c.copy(members = c.members.map(m => m.copy(columns = m.columns.map(_ + 100L), text = m.text + "'")))
      )
    )
    val counted = sizes(first)
    // rows, and how certain they are
    assert(memo.groups === 2 && sizes(renamed) === counted && memo.groups === 2)

    def relation(f: Relation => Relation) = first.copy(relations = f(first.relations.head) +: first.relations.tail)
    def sample(f: RelationSample => RelationSample) = relation(r => r.copy(sample = r.sample.map(f)))
    def grouped(ndv: Double) = relation(r => r.copy(profile = r.profile.copy(groups = Map(Set(0L, 1L) -> ndv))))
    val others               = Vector(
      "rows"           -> relation(_.withRows(Estimate.exactly(150.0, Source.Exact))),
      "a row kept"     -> sample(s => s.copy(kept = s.kept.filter(_ != s.rows - 1))),
      "other rows"     -> sample(s => s.copy(kept = s.kept.filter(_ != 0))),
      "other keys"     -> sample(s => s.copy(keys = s.keys + (1 -> KeyColumn(s.keys(1).codes.map(_ % 3L))))),
      "no sample"      -> relation(_.copy(sample = None)),
      "no line"        -> sample(_.copy(ordered = Set(1))),
      "fewer drawn"    -> sample(s => s.copy(drawn = s.drawn.filter(_ != 0), kept = s.kept.filter(_ != 0))),
      "unknown keys"   -> sample(_.copy(keptOnly = Set(0))),
      "a count of two" -> grouped(30.0),
      "another count"  -> grouped(60.0),
      "a domain"       -> first.copy(classes =
        first.classes.updated(
          0,
          first.classes.head.copy(members =
            first.classes.head.members.map(m => m.copy(column = m.column.copy(domain = Some(77.0))))
          )
        )
      )
    )
    others.zipWithIndex.foreach { case ((what, other), i) =>
      val found = sizes(other)
      assert(memo.groups === 2 * (i + 2), what)
      assert(found === sizes(remembering(other, KeyMemo.none)), what)
    }
  }

  test("what is kept of a group's sizes is what was counted first, and beyond its room all is counted") {
    val random = new Random(7)
    for (relations <- Seq(2, 5, 20)) {
      val counts               = new SetCounts(relations)
      val sets                 = Vector.fill(9000)(1L + (random.nextLong() >>> 1) % ((1L << relations) - 1))
      var times                = Map.empty[Long, Int]
      def ask(set: Long): Unit = assert(
        counts.getOrCount(set) { times += set -> (times.getOrElse(set, 0) + 1); set.toDouble } === set.toDouble
      )
      sets.foreach(ask)
      sets.foreach(ask)
      val again = times.values.count(_ > 1)
      if (relations < 20) assert(again === 0) else assert(again > 0 && again < times.size - 4000, "4,096 are kept")
    }
  }

  test("a relation without a sample is sized by formulas, in proportion to what was counted") {
    val fact =
      Input(Vector(0, 1), Vector.tabulate(1000)(i => Vector(Some(if (i % 10 == 0) i.toLong else 7L), Some(i % 20L))))
    val dim    = Input(Vector(0), Vector(Vector(Some(7L))))
    val other  = Input(Vector(1), Vector.tabulate(20)(i => Vector(Some(i.toLong))))
    val whole  = graph(Vector(fact, dim, other))
    val bare   = whole.copy(relations = whole.relations.map(r => if (r.index == 2) r.copy(sample = None) else r))
    val counts = new CardinalityModel(bare)
    assert(counts.estimate(Array(0, 1)).value === 900.0 +- 1e-6)
    assert(counts.estimate(Array(0, 1, 2)).value === 900.0 +- 1.0)
  }

  test("rows with a partner: counted on complete samples, likely where keys are drawn in part") {
    val fact = Input(Vector(0), Vector.tabulate(20000)(i => Vector(if (i % 10 == 0) None else Some(i.toLong % 1000))))
    def partners(share: Double, right: Input) =
      new SampleJoins(graph(Vector(fact.copy(share = share), right))).partnered(0, 1).get
    def partnered(share: Double, right: Input) = partners(share, right).counted
    val some = Input(Vector(0), Vector.tabulate(8000)(i => Vector(Some(i.toLong % 250))))
    assert(partnered(1.0, some) === 0.9 * 0.25 +- 1e-9)
    assert(partners(1.0, some).leastAlone === 0.0, "what was counted is exact")
    assert(partners(0.2, some).leastAlone === 1.0 / 4002 +- 1e-9)
    assert(partnered(0.2, some.copy(share = 0.1)) === 0.9 * 0.25 +- 0.04)
    assert(partnered(0.2, some.copy(share = 0.5)) === 0.9 * 0.25 +- 0.03)
  }

  private def mostRows(of: JoinGraph): Double =
    new SampleBounds(of, new SampleJoins(of)).rowsOf(RelSet(of.relations.indices: _*))

  private def changed(of: JoinGraph, relation: Int)(change: Relation => Relation): JoinGraph =
    of.copy(relations = of.relations.updated(relation, change(of.relations(relation))))

  test(
    "cautious rows: the count, if the samples are the tables; else more by doubt, and no fewer than samples can show"
  ) {
    val many = Input(Vector(0), Vector.tabulate(4000)(i => Vector(Some(i.toLong % 400))))
    val few  = Input(Vector(0), Vector.tabulate(4000)(i => Vector(Some(i.toLong % 3 + 400 * 1000))))
    def both(share: Double, right: Input) = graph(Vector(many.copy(share = share), right.copy(share = share)))
    assert(mostRows(both(1.0, many)) === 40000.0 +- 1e-3)
    val part = both(0.25, many)
    assert(mostRows(part) >= 2 * new SampleJoins(part).rowsOf(RelSet(0, 1)))
    assert(mostRows(both(0.25, few)) >= 3 * 16)
    // the model takes the smaller one of this bound and the bound of the formulas
    assert(new CardinalityModel(graph(Vector(many, many))).sizeOf(Array(0, 1), 2).cautious === 40000.0 +- 1e-3)
  }

  for (share <- Seq(1.0, 0.5))
    test(s"cautious rows of a cycle: columns may be equal in each row, however independent they look ($share)") {
      def table(a: Int, b: Int) =
        Input(Vector(a, b), Vector.tabulate(200)(i => Vector.fill(2)(Some(i.toLong % 20))), share)
      val cycle = Vector(table(0, 1), table(1, 2), table(0, 2))
      val all   = graph(cycle)
      assert(join(cycle) == 20 * 10 * 10 * 10)
      assert(new SampleJoins(all).rowsOf(RelSet(0, 1, 2)) < 20000.0 && mostRows(all) >= 20000.0)
    }

  // 40 of 4,000 rows have the key of all 300 rows of the other table
  private val rarelyBusy =
    Input(Vector(0), Vector.tabulate(4000)(i => Vector(Some(if (i < 40) 7L else 1000L + i))), share = 0.1)
  private val busy = Input(Vector(0), Vector.fill(300)(Vector(Some(7L))))

  test("cautious rows: a row that was not drawn comes with all its partners, in samples and in whole tables") {
    assert(mostRows(graph(Vector(rarelyBusy, busy))) >= 3 * 10 * 300)
    // one of the 200 accounts that are kept has half of the facts, and was not drawn
    val accounts =
      Input(Vector(0), Vector.tabulate(4000)(i => Vector(Some(i.toLong))), 0.1, row => row.head.exists(_ % 20 == 7))
    val facts   = Input(Vector(0), Vector.tabulate(20000)(i => Vector(Some(if (i < 10000) 7L else i / 3L))), 0.5)
    val sampled = graph(Vector(accounts, facts))
    assert(new SampleJoins(sampled).rowsOf(RelSet(0, 1)) * 8 < 10000.0 && mostRows(sampled) >= 10000.0)
  }

  test("cautious rows: a chain of complete tables adds nothing to a row that was not drawn, if it goes up by keys") {
    val facts     = Input(Vector(0), Vector.tabulate(4000)(i => Vector(Some(i % 100L))), 0.1)
    val suppliers = Input(Vector(0, 1), Vector.tabulate(100)(i => Vector(Some(i.toLong), Some(i % 4L))))
    val nations   = Input(Vector(1), Vector.tabulate(4)(i => Vector(Some(i.toLong))))
    val snowflake = graph(Vector(facts, suppliers, nations))
    assert(mostRows(snowflake) === new SampleJoins(snowflake).rowsOf(RelSet(0, 1, 2)) * 8 + 3 * 10 +- 1e-6)
  }

  test("rows that were added since the samples were drawn: the other relations are counted all the same") {
    val fact =
      Input(Vector(0, 1), Vector.tabulate(1000)(i => Vector(Some(if (i % 10 == 0) i.toLong else 7L), Some(i % 100L))))
    val dim  = Input(Vector(0), Vector(Vector(Some(7L))))
    val days = Input(Vector(1), Vector.tabulate(10)(i => Vector(Some(200L + i))))
    val all  = graph(Vector(fact, dim, days))
    // a tenth of the fact's rows came later, and the days are those of these rows
    def ranged(m: Member) =
      if (m.relation == 0) m.copy(column = m.column.copy(min = Some(0.0), max = Some(99.0), unseen = 0.1))
      else m.copy(column = m.column.copy(min = Some(200.0), max = Some(209.0)))
    val later =
      all.copy(classes = all.classes.updated(1, all.classes(1).copy(members = all.classes(1).members.map(ranged))))
    val model = new CardinalityModel(later)
    assert(model.estimate(Array(0, 1)).value === 900.0 +- 1e-6)
    assert(model.estimate(Array(0, 1, 2)).value === 900.0 * 10 / 100 +- 1e-6)
  }

  test("cautious rows: a predicate that was not tried on a sample is taken to keep all of it") {
    def guessed(of: JoinGraph, relation: Int) =
      changed(of, relation)(r => r.copy(profile = r.profile.copy(rows = Estimate.guess(3.0, Source.Exact))))
    val whole = graph(Vector(rarelyBusy.copy(share = 1.0), busy))
    assert(mostRows(whole) === 40.0 * 300 +- 1e-6)
    assert(mostRows(guessed(whole, 1)) === Estimate.Ceiling)
    val keys = Input(Vector(0), Vector.tabulate(4000)(i => Vector(Some(i.toLong))))
    val part = graph(Vector(keys.copy(share = 0.1), keys))
    assert(mostRows(guessed(part, 0)) >= 4000.0)
  }

  test("cautious rows: a table that has changed since its rows were drawn tells no limit") {
    val part = graph(Vector(rarelyBusy, busy))
    assert(mostRows(changed(part, 0)(r => r.copy(sample = r.sample.map(_.copy(current = false))))) === Estimate.Ceiling)
  }

  test("what a third relation leaves of a dimension counts in the part of it that a fact has") {
    def rows(n: Int)(row: Int => Seq[Long]): Table = Vector.tabulate(n)(i => row(i).map(Option(_)).toVector)
    // 40,000 days in weeks of seven; facts of 1,000 of these days; and 40 of the 140 weeks of these facts
    val days  = Input(Vector(0, 1), rows(40000)(i => Seq(i.toLong, i.toLong / 7)), 0.2)
    val facts = Input(Vector(0), rows(50000)(i => Seq(20000L + i % 1000)), 0.1)
    val weeks = Input(Vector(1), rows(40)(i => Seq(2900L + i)))
    val true_ = 40.0 * 7 * 50
    val was   = facts.rows.size.toDouble * weeks.rows.size * 7 / days.rows.size
    val is    = estimate(Vector(facts, days, weeks), 0, 1, 2)
    assert(true_ > 30 * was)
    assert(is > true_ / 1.5 && is < true_ * 1.5, s"$is for $true_")
    // if the weeks do not follow the order of the days, the mean of all days is used
    val shuffled = new Random(7).shuffle((0 until 40000).toVector)
    val mixed    = days.copy(rows = rows(40000)(i => Seq(shuffled(i).toLong, i.toLong / 7)))
    val even     = estimate(Vector(facts, mixed, weeks), 0, 1, 2)
    assert(even > was / 2 && even < was * 2, s"$even for $was")
  }

  test("an equality that closes a cycle is sized from the keys that the other equalities leave") {
    def rows(n: Int)(row: Int => Seq[Long]): Table = Vector.tabulate(n)(i => row(i).map(Option(_)).toVector)
    // Days in weeks of seven, stock counted once a week, and sales of the same weeks. The last ten weeks have 100 of
    // the 2,000 items. Classes: 0 day of stock, 1 week, 2 day of sale, 3 item.
    val random           = new Random(5)
    def item(week: Int)  = random.nextInt(if (week >= 190) 100 else 2000).toLong
    val days             = Input(Vector(0, 1), rows(1400)(i => Seq(i.toLong, i.toLong / 7)))
    val sold             = Input(Vector(2, 1), rows(70)(i => Seq(1330L + i, 190L + i / 7)))
    val stock            = Input(Vector(0, 3), rows(60000)(i => Seq(i % 200 * 7L, item(i % 200))), 0.2)
    val sales            = Input(Vector(2, 3), rows(42000)(i => Seq(i % 1400L, item(i % 1400 / 7))), 0.2)
    def week(day: Int)   = (r: Vector[Option[Long]]) => (r(0).get / 7, r(day).get)
    val inStock          = stock.rows.groupBy(week(1)).map { case (k, all) => k -> all.size }
    val real             = sales.rows.filter(_(0).get >= 1330).map(r => inStock.getOrElse(week(1)(r), 0)).sum.toDouble
    val (found, byRange) = (estimate(Vector(stock, days, sold, sales), 0, 1, 2, 3), real * 100 / 2000)
    assert(found > real / 2 && found < real * 2, s"$found for $real; by the domain $byRange")
    assert(byRange < real / 10)
  }

  for (
    (shares, name) <-
      Vector((1.0, 1.0) -> "complete", (0.05, 1.0) -> "of a part of the pairs", (0.05, 0.5) -> "of parts")
  )
    test(s"an equality that closes a cycle over a relation of pairs is counted on the pairs: samples $name") {
      def rows(n: Int)(row: Int => Seq[Long]): Table = Vector.tabulate(n)(i => row(i).map(Option(_)).toVector)
      // Persons of 200 cities, and friends, half of them in one city. Classes: 0 a person, 1 the friend, 2 the city.
      val random            = new Random(9)
      val cities            = 200
      def person()          = random.nextInt(4000).toLong
      def neighbor(p: Long) = (p + cities * (1 + random.nextInt(19))) % 4000
      val people            = rows(4000)(i => Seq(i.toLong, i.toLong % cities))
      val pairs             = rows(40000) { i =>
        val p = person(); Seq(p, if (i % 2 == 0) neighbor(p) else person())
      }
      val inputs = Vector(
        Input(Vector(0, 1), pairs, shares._1),
        Input(Vector(0, 2), people, shares._2),
        Input(Vector(1, 2), people, shares._2)
      )
      val real  = pairs.count(p => p(0).get % cities == p(1).get % cities).toDouble
      val found = estimate(inputs, 0, 1, 2)
      if (shares == (1.0 -> 1.0)) assert(found === real +- 1e-6)
      else assert(found > real / 1.3 && found < real * 1.3, s"$found for $real")
      // if friends are found everywhere, the cities are as independent as they are
      val apart = inputs.updated(0, inputs(0).copy(rows = rows(40000)(_ => Seq(person(), person()))))
      val few   = apart(0).rows.count(p => p(0).get % cities == p(1).get % cities).toDouble
      val even  = estimate(apart, 0, 1, 2)
      assert(even > few / 2 && even < few * 2, s"$even for $few")
    }

  test("few combinations or none were drawn: the rarest rows decide how sure a count is, not those that meet them") {
    def rows(n: Int)(row: Int => Seq[Long]): Table = Vector.tabulate(n)(i => row(i).map(Option(_)).toVector)
    // Results of drivers with a status, and more results of the same statuses. Few results are of the kept drivers, and
    // each of them meets thousands of other results: all depends on which of these few were drawn.
    val logErrors = (1 to 40).map { seed =>
      val random         = new Random(seed)
      val drivers        = Input(Vector(0), rows(800)(i => Seq(i.toLong)), 1.0, _(0).exists(_ < 4L))
      val status         = Input(Vector(1), rows(100)(i => Seq(i.toLong)), 1.0, _(0).exists(_ < 3L))
      def result(i: Int) = Seq(random.nextInt(800).toLong, if (i % 3 == 0) 0L else random.nextInt(100).toLong)
      val first          = Input(Vector(0, 1), rows(3000)(result), 0.4)
      val second         = Input(Vector(1), rows(6000)(i => Seq(result(i)(1))), 0.4)
      val others         = second.rows.groupBy(_(0)).map { case (k, all) => k -> all.size }
      val kept           = first.rows.filter(r => r(0).get < 4L && r(1).get < 3L)
      val real           = kept.map(r => others.getOrElse(r(1), 0)).sum.toDouble
      val found = new CardinalityModel(graph(Vector(drivers, first, status, second), seed)).estimate(Array(0, 1, 2, 3))
      math.abs(math.log(found.value / math.max(real, 1.0)))
    }
    assert(math.exp(logErrors.sum / logErrors.size) < 2.5, logErrors.map(math.exp(_).toInt))
    assert(logErrors.count(_ > math.log(10.0)) <= 4, logErrors.map(math.exp(_).toInt))
  }

  test("runs of keys: all rows, no run of few") {
    val random = new Random(3)
    (0 until 50).foreach { _ =>
      val sizes = Array.fill(random.nextInt(400))(random.nextInt(4))
      KeyRuns(sizes) match {
        case None       => assert(sizes.sum < 2 * KeyRuns.LeastRows)
        case Some(runs) =>
          val rows = new Array[Int](runs.count)
          sizes.indices.foreach(i => rows(runs.runOf(i)) += sizes(i))
          assert(rows.forall(_ >= KeyRuns.LeastRows) && rows.sum == sizes.sum)
          assert(runs.runOf.toSeq == runs.runOf.toSeq.sorted)
          assert(runs.means(Array.fill(sizes.sum)(1.0), rowsOf(sizes)).isEmpty)
      }
    }
  }

  private def rowsOf(sizes: Array[Int]): Int => Int = sizes.indices.flatMap(g => Seq.fill(sizes(g))(g)).toVector

  test("joins of which no drawn row shows anything: the formulas go on, and one row more does not change everything") {
    // 1 row of 20,000 is drawn from each thousand rows of the fact, and two dimensions keep one key of a hundred each
    val keys                         = 100
    def dimension(kept: Long): Input =
      Input(Vector.empty, Vector.tabulate(keys)(k => Vector(Some(k.toLong))), 1.0, _.head.contains(kept))
    val facts = Vector.tabulate(200000)(i => Vector(Some((i % keys).toLong), Some((i / keys % keys).toLong)))
    for (kept <- Seq(3L, 50L, 98L)) {
      val inputs = Vector(
        Input(Vector(0, 1), facts, 0.01),
        dimension(kept).copy(classes = Vector(0)),
        dimension(kept).copy(classes = Vector(1))
      )
      val truth = 200000.0 / keys / keys
      for (seed <- 1 to 5) {
        val found = new CardinalityModel(graph(inputs, seed)).estimate(Array(0, 1, 2)).value
        assert(found > truth / 4 && found < truth * 8, s"seed $seed, key $kept: $found of $truth")
      }
    }
  }

  test("a sample that lacks the key of one class still counts the joins by the others") {
    val random = new Random(3)
    val facts  = Vector.fill(4000)(Vector(Some(random.nextInt(20).toLong), Some(random.nextInt(20).toLong)))
    // the second class goes together with few rows: the dimension keeps five keys
    val dimension                    = Vector.tabulate(20)(k => Vector(Some(k.toLong): Option[Long]))
    def lacking(r: Relation, c: Int) = r.copy(sample = r.sample.map(s => s.copy(keys = s.keys - c)))
    val whole                        =
      graph(Vector(
        Input(Vector(0, 1), facts),
        Input(Vector(0), dimension),
        Input(Vector(1), dimension, 1.0, _.head.get < 5)
      ))
    val part  = whole.copy(relations = lacking(whole.relations.head, 0) +: whole.relations.tail)
    val model = new CardinalityModel(part)
    val truth = facts.count(_(1).get < 5).toDouble
    assert(model.samples.pieces(RelSet(0, 1, 2)).counted.map(_.toVector) === Vector(Vector(0, 2)))
    assert(model.estimate(Array(0, 2)).value === truth +- 1e-6)
    assert(model.estimate(Array(0, 1, 2)).value === truth +- truth * 0.01)
    // an equality that no edge of the join tree can count keeps its share by the domain
    val cyclic = graph(Vector(Input(Vector(0, 1), facts), Input(Vector(0, 1), facts.take(400))))
    val less   = cyclic.copy(relations = lacking(cyclic.relations.head, 0) +: cyclic.relations.tail)
    val pairs  = join(Vector(Input(Vector(0, 1), facts), Input(Vector(0, 1), facts.take(400)))).toDouble
    assert(new CardinalityModel(less).estimate(Array(0, 1)).value === pairs +- pairs * 0.5)
    assert(new CardinalityModel(less).samples.partnered(0, 1).isEmpty)
  }
}
