package dovetail.kernel

import scala.util.Random

import dovetail.kernel.Bags._
import dovetail.kernel.enumerate.Shape
import dovetail.kernel.graph.{
  EquivalenceClass,
  JoinGraph,
  JoinKind,
  JoinPredicate,
  Levels,
  Member,
  Operator,
  Relation,
  RelSet,
  Step
}
import dovetail.kernel.profile.{ColumnProfile, Estimate, RelationProfile, RowBytes, Source}

/**
 * A plan as a user may have written it: joins of all kinds with all sorts of conditions, and filters above them. Each
 * relation has two columns.
 *
 * @param filters filters above the join
 */
sealed trait WrittenPlan { def relations: Vector[Int]; def visible: Vector[Int]; def shape: Shape }
final case class Scan(relation: Int) extends WrittenPlan {
  def relations = Vector(relation); def visible = Vector(relation); def shape = Shape.Leaf(relation)
}
final case class WrittenJoin(
    kind: JoinKind,
    operator: Int,
    left: WrittenPlan,
    right: WrittenPlan,
    on: Vector[Condition],
    filters: Vector[Condition]
) extends WrittenPlan {
  val relations: Vector[Int] = left.relations ++ right.relations
  val visible: Vector[Int]   = kind match {
    case JoinKind.Semi | JoinKind.Anti => left.visible
    case JoinKind.Existence            => left.visible :+ flag(operator)
    case _                             => left.visible ++ right.visible
  }
  val shape: Shape = Shape.Join(left.shape, right.shape)
}

/**
 * The join graph of a written plan, as the extraction builds it. Runs the written plan, and any tree that the graph
 * allows.
 */
final class PlanGraph(val written: WrittenPlan, random: Random) {
  private val n = written.relations.size

  private val nodes: Vector[WrittenJoin] = {
    def all(w: WrittenPlan): Vector[WrittenJoin] =
      w match { case j: WrittenJoin => all(j.left) ++ all(j.right) :+ j; case _ => Vector.empty }
    all(written)
  }

  /** All relations that a condition reads. A flag stands for the relations on the right side of its operator. */
  private def reads(keys: Set[Int]): Vector[Int] =
    keys.toVector.flatMap(k =>
      if (k < flag(0)) Vector(k)
      else nodes.find(j => j.kind == JoinKind.Existence && flag(j.operator) == k).get.right.relations
    ).distinct.sorted

  private def member(c: Column) =
    Member(
      c.of,
      ColumnProfile(ndv = Some(10.0), domain = Some(10.0)),
      Set(c.of * 2L + c.number),
      s"${GraphText.name(c.of)}.c${c.number}"
    )

  val operators: Vector[Operator] = nodes.filter(_.kind != JoinKind.Inner).map { j =>
    val equalities =
      j.on.collect { case Equal(a, b) if a.of < flag(0) && b.of < flag(0) => (a, b) }.flatMap { case (a, b) =>
        val (left, right) = (j.left.relations, j.right.relations)
        if (left.contains(a.of) && right.contains(b.of)) Some((member(a), member(b)))
        else if (left.contains(b.of) && right.contains(a.of)) Some((member(b), member(a)))
        else None
      }
    Operator(
      j.operator,
      j.kind,
      j.left.relations.sorted,
      j.right.relations.sorted,
      equalities,
      reads(j.on.flatMap(_.reads).toSet),
      if (equalities.size < j.on.size) 0.5 else 1.0,
      reads(j.on.flatMap(_.rejects).toSet),
      wideEquality = false,
      j.on.mkString(" and ")
    )
  }

  private val levels = new Levels(operators)

  // conditions of inner joins and filters, each with the relations below it
  private val scoped: Vector[(Condition, Vector[Int])] =
    nodes.flatMap(j =>
      ((if (j.kind == JoinKind.Inner) j.on else Vector.empty) ++ j.filters).map(_ -> j.relations.sorted)
    )
  private def pure(c: Condition, scope: Vector[Int]) = levels.pure(reads(c.reads), scope) && c.reads.forall(_ < flag(0))

  private val (locals, joining) = scoped.partition { case (c, scope) => c.reads.size == 1 && pure(c, scope) }
  private val (equal, others)   = joining.partition { case (c, scope) =>
    c.isInstanceOf[Equal] && c.reads.size == 2 && pure(c, scope)
  }

  /** Columns that equalities of one level make equal. */
  private val classes: Vector[Vector[Column]] =
    equal.map(_._1).collect { case Equal(a, b) => Vector(a, b) }.foldLeft(Vector.empty[Vector[Column]]) { (found, e) =>
      val (touching, apart) = found.partition(_.exists(e.contains)); apart :+ (touching.flatten ++ e).distinct
    }

  val predicates: Vector[Condition] = others.map(_._1)

  val graph: JoinGraph = JoinGraph(
    Vector.tabulate(n) { r =>
      val rows = Graphs.magnitude(5, random).toDouble
      Relation(
        r,
        GraphText.name(r),
        RelationProfile(Estimate.exactly(rows, Source.Exact), Map.empty, rows),
        RowBytes.fixed(12.0 + random.nextInt(100)),
        rows < 50
      )
    },
    classes.zipWithIndex.map { case (cs, i) => EquivalenceClass(i, cs.map(member)) },
    others.zipWithIndex.map { case ((c, scope), i) =>
      val sides = c match {
        case NullSafeEqual(a, b) if reads(Set(a.of)).intersect(reads(Set(b.of))).isEmpty =>
          Some((reads(Set(a.of)), reads(Set(b.of))))
        case Equal(a, b) if reads(Set(a.of)).intersect(reads(Set(b.of))).isEmpty =>
          Some((reads(Set(a.of)), reads(Set(b.of))))
        case SumIs(sum, t) if reads(sum.map(_.of).toSet).intersect(reads(Set(t.of))).isEmpty =>
          Some((reads(sum.map(_.of).toSet), reads(Set(t.of))))
        case _ => None
      }
      JoinPredicate(i, reads(c.reads), 0.3, sides, c.toString, Some(scope))
    },
    operators
  )

  /** Runs the plan as written. */
  def run(tables: Vector[Bag]): Bag = {
    def rowsOf(w: WrittenPlan): Bag = w match {
      case Scan(r)                                 => tables(r)
      case WrittenJoin(kind, o, l, r, on, filters) => join(kind, o, rowsOf(l), rowsOf(r), on).filter(filters)
    }
    rowsOf(written)
  }

  /**
   * Runs a tree that the graph allows. An inner join applies one equality per class, and a join applies each predicate
   * whose relations are complete.
   */
  def run(shape: Shape, tables: Vector[Bag]): Bag = shape match {
    case Shape.Leaf(r) => tables(r).filter(locals.map(_._1).filter(_.reads == Set(r)) ++ classes.flatMap(c =>
        equalAmong(c.filter(_.of == r))
      ))
    case Shape.Join(a, b) =>
      val (x, y)  = (a.leaves, b.leaves)
      val applied = graph.joinable.predicatesAt(x, y).map(p => predicates(p.index))
      val (p, q)  = (run(a, tables), run(b, tables))
      graph.joinable.between(RelSet(x: _*), RelSet(y: _*)).get match {
        case Step(_, None, _) =>
          val keys = classes.flatMap(c =>
            for (l <- c.find(m => x.contains(m.of)); r <- c.find(m => y.contains(m.of))) yield Equal(l, r)
          )
          join(JoinKind.Inner, 0, p, q, keys).filter(applied)
        case Step(kind, Some(o), swapped) =>
          val (l, r) = if (swapped) (q, p) else (p, q)
          join(
            kind,
            o.index,
            l,
            r,
            nodes.find(j => j.kind != JoinKind.Inner && j.operator == o.index).get.on
          ).filter(applied)
      }
  }

  private def equalAmong(columns: Vector[Column]) = columns.drop(1).map(Equal(columns.head, _))
}

object RandomPlans {

  /** A plan over `n` relations, numbered in random order. */
  def apply(n: Int, random: Random, kinds: Vector[JoinKind] = JoinKind.all): PlanGraph = {
    val number                                   = random.shuffle((0 until n).toVector)
    var operators                                = 0
    def plan(from: Int, until: Int): WrittenPlan =
      if (until - from == 1) Scan(number(from))
      else {
        val middle        = from + 1 + random.nextInt(until - from - 1)
        val (left, right) = (plan(from, middle), plan(middle, until))
        // nearly half of the joins are inner joins, as in real queries
        val kind     = if (random.nextInt(3) == 0) JoinKind.Inner else kinds(random.nextInt(kinds.size))
        val operator = if (kind == JoinKind.Inner) -1 else { operators += 1; operators - 1 }
        val on       = Vector.fill(if (random.nextInt(8) == 0) 0 else 1 + random.nextInt(4) / 3)(condition(
          left.visible,
          right.visible,
          random
        ))
        val bare = WrittenJoin(kind, operator, left, right, on, Vector.empty)
        bare.copy(filters = if (random.nextInt(5) == 0) Vector(filter(bare.visible, random)) else Vector.empty)
      }
    val w = plan(0, n)
    new PlanGraph(w, random)
  }

  /** At most three rows of a relation, with few distinct values and many NULLs. */
  def table(relation: Int, random: Random): Bag = {
    def value = random.nextInt(4) match { case 0 => None; case v => Some(v % 2) }
    Bag(
      Map(relation -> 2),
      Vector.fill(if (random.nextInt(8) == 0) 0 else 1 + random.nextInt(3))(Map(relation -> Vector(value, value)))
    )
  }

  private def column(among: Vector[Int], random: Random): Column = {
    val k = among(random.nextInt(among.size)); Column(k, if (k >= flag(0)) 0 else random.nextInt(2))
  }

  private def condition(left: Vector[Int], right: Vector[Int], random: Random): Condition = {
    val (a, b) = (column(left, random), column(right, random))
    random.nextInt(14) match {
      case 0 => NullSafeEqual(a, b)
      case 1 => AtMost(Vector(a, b), 1)
      case 2 => Or(Equal(a, b), IsNull(a))
      case 3 => Or(Equal(a, b), IsNull(b))
      case 4 => SumIs(Vector(a, column(left, random)), b)
      case 5 => AtMost(Vector(a, column(left, random), b), 1)
      // reads one side only
      case 6 => if (random.nextBoolean()) AtMost(Vector(a), 0) else IsNull(b)
      case _ => Equal(a, b)
    }
  }

  private def filter(visible: Vector[Int], random: Random): Condition = {
    val (a, b) = (column(visible, random), column(visible, random))
    random.nextInt(6) match {
      case 0 => IsNull(a)
      case 1 => AtMost(Vector(a), 0)
      case 2 => NullSafeEqual(a, b)
      case 3 => Or(IsNull(a), AtMost(Vector(b), 0))
      case 4 => AtMost(Vector(a, b), 1)
      case _ => Equal(a, b)
    }
  }
}
