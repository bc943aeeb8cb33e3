package org.apache.spark.sql.dovetail.plan

import java.util.IdentityHashMap

import org.apache.spark.sql.catalyst.expressions.{Equality, Expression, ExprId}
import org.apache.spark.sql.catalyst.optimizer.{BuildRight, BuildSide}
import org.apache.spark.sql.catalyst.plans.{InnerLike, LeftAnti, LeftOuter, LeftSemi, RightOuter}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.dovetail.deadline.PlanningTime
import org.apache.spark.sql.dovetail.leaf.{FailingScan, PartitionColumns}
import org.apache.spark.sql.dovetail.predicates.Conjuncts
import org.apache.spark.sql.dovetail.predicates.FailingPlan.throws

/**
 * Finds inputs that the written order does not read if another input is empty, and that may fail when they are read.
 *
 * A hash join reads its broadcast side first: if that side has no row, the other side is not read at all. So an input
 * that filters by `CAST(name AS INT) = 3` does not meet a row whose name is not a number, and a scan in the mode
 * FAILFAST does not meet a malformed record. A new order is only taken if each input that may throw ([[FailingPlan]])
 * still comes after all broadcasts that spare it in the written plan: after the same relations, or after a broadcast of
 * more relations that must be empty if these have no rows.
 *
 * Some other joins spare an input, too. A NOT IN reads its broadcast side first: if there is a NULL in it, the join
 * returns no row and does not read the other side. Adaptive execution removes a broadcast join without a key once it
 * knows that the join returns no row. A Cartesian product reads nothing if one side is a table without files, because
 * it then has no partition. Without adaptive execution, Spark does not compute the exchanges below the other side then.
 * A sort-merge join of an input that is sorted by the keys already stops after the last key of the other side
 * ([[SortedRows]]).
 *
 * The reverse holds for inputs that run a program of the user: it may have effects that come with plain Spark's answer,
 * so a new order must not spare such an input where the written one does not.
 *
 * Otherwise, the check covers only what happens in every run. If both sides are exchanged, both are read, or it is a
 * race which of them ends first. There is one exception: adaptive execution starts all inputs at once, in an order
 * ([[FirstStages]]), and ends the query when one of them turns out to be empty. An input that may fail must not lose a
 * broadcast that started before it, because plain Spark nearly always wins this race.
 *
 * An input that has a row in every run spares nothing, whatever is written: `nonEmpty`.
 *
 * @param leaves   leaf plans of the join group, and the other inputs of the joins above it
 * @param nonEmpty conjuncts of a leaf that certainly has a row after them (`CertainRows`); None for any other leaf
 * @param above    puts the joins above the group on top of a plan of the group
 */
final class SparedInputs(
    leaves: Vector[LogicalPlan],
    nonEmpty: Int => Option[Vector[Expression]],
    above: LogicalPlan => LogicalPlan
) {
  import SparedInputs._

  /**
   * The leaf that a plan is, with or without the filters and projections on top of the leaf. Identity tells leaves
   * apart, because one leaf may contain a copy of another one with the same columns: Spark makes such copies for
   * LATERAL and correlated subqueries.
   */
  private lazy val leafOf: IdentityHashMap[LogicalPlan, Integer] = {
    val found                                   = new IdentityHashMap[LogicalPlan, Integer]
    def put(plan: LogicalPlan, leaf: Int): Unit = {
      found.putIfAbsent(plan, leaf)
      plan match {
        case _: Project | _: Filter => put(plan.children.head, leaf)
        case _                      => ()
      }
    }
    leaves.zipWithIndex.foreach { case (leaf, i) => put(leaf, i) }
    found
  }

  /** The leaf of the group that a column comes from. No two of them return the same column. */
  private lazy val leafOfColumn: Map[ExprId, Int] =
    leaves.zipWithIndex.reverse.flatMap { case (leaf, i) => leaf.output.map(_.exprId -> i) }.toMap

  /**
   * Why the rebuilt plan must not be used: it would read an input that the written plan does not read in some case, and
   * that may fail. None if there is no such input.
   */
  def exposed(written: LogicalPlan, rebuilt: => LogicalPlan, names: Vector[String]): Option[String] = {
    val keys        = failingKeys(written)
    val fragile     = leaves.map(InputFault(_))
    lazy val deeper = leaves.map(InputFault.anywhere)

    def fails(i: Int, when: Spares): Option[InputFault] =
      Seq(if (keepsBelow(when, written)) deeper(i) else fragile(i), keys.get(i)).flatten
        .find(f => !inTime(when) || f.inAnyRun)
    if (
      keys.isEmpty && fragile.forall(_.isEmpty) &&
      (!keepsBelow(NoFile, written) || deeper.forall(_.isEmpty))
    ) None
    else {
      def mayFail(i: Int) =
        keys.contains(i) || fragile(i).nonEmpty || (keepsBelow(NoFile, written) && deeper(i).nonEmpty)
      val whole  = above(written)
      val before =
        shields(whole, mayFail).map { case (i, spared) =>
          i -> spared.filter(s => fails(i, s.when).nonEmpty && !isIdle(s, i, whole))
        }.filter(_._2.nonEmpty)
      if (before.isEmpty) None
      else {
        val after = shields(above(rebuilt), before.contains).withDefaultValue(Vector.empty)
        before.toVector.sortBy(_._1).flatMap { case (i, spared) =>
          spared.find(s => !after(i).exists(_.covers(s))).map(s =>
            s"reading ${names(i)} may fail in ${fails(i, s.when).get.shown}; in the written order Spark does not " +
              s"read it if there ${s.when.shown} ${s.leaves.toVector.sorted.map(names).mkString(", ")}"
          )
        }.headOption
      }
    }
  }

  /**
   * Why the rebuilt plan must not be used: in some case, it would not read an input that the written plan reads, and
   * whose reading may have effects.
   */
  def skipped(written: LogicalPlan, rebuilt: => LogicalPlan, names: Vector[String]): Option[String] = {
    val programs = leaves.indices.filter(i => leaves(i).exists(FailingScan.runsProgram)).toSet
    if (programs.isEmpty) None
    else {
      val (before, after) = (shields(above(written), programs), shields(above(rebuilt), programs))
      def certain(of: Map[Int, Vector[Shield]], i: Int) =
        of.getOrElse(i, Vector.empty).filterNot(s => inTime(s.when) || s.when == LastKey)
      (for (i <- programs.toVector.sorted; s <- certain(after, i) if !certain(before, i).exists(_.covers(s)))
        yield s"reading ${names(i)} runs a program, which may have effects; in the new order Spark does not read it " +
          s"if there ${s.when.shown} ${s.leaves.toVector.sorted.map(names).mkString(", ")}").headOption
    }
  }

  /**
   * Whether a shield never spares anything, because its only leaf certainly has a row after all filters above it. Only
   * for shields of the written plan: Dovetail may give an input of a new one a filter by the keys of another input. Not
   * for a leaf with partitions, of which Spark may leave out those that the keys of the broadcast do not select.
   */
  private def isIdle(shield: Shield, spared: Int, plan: LogicalPlan): Boolean =
    shield.when.isInstanceOf[NoRows] && !PartitionColumns.prunedAtRun(leaves(spared)) && (shield.leaves.toSeq match {
      case Seq(leaf) =>
        nonEmpty(leaf).exists { known =>
          def above = plan.collect { case f: Filter if of(f) == shield.leaves => Conjuncts(f.condition) }.flatten
          above.forall(c => known.exists(_.semanticEquals(c)))
        }
      case _ => false
    })

  /**
   * Per leaf, a join key that may throw. Spark computes it for each row of its side, with or without a join partner.
   */
  private def failingKeys(written: LogicalPlan): Map[Int, InputFault] = written.collect { case j: Join =>
    for {
      conjunct <- j.condition.toSeq.flatMap(Conjuncts(_))
      key      <- conjunct match {
        case Equality(a, b) => Seq(a, b)
        case _              => Nil
      }
      if throws(key)
      leaf <- key.references.flatMap(a => leafOfColumn.get(a.exprId))
    } yield leaf -> InputFault.of(key)
  }.flatten.toMap

  /**
   * Per leaf of the group, the inputs that spare it. The walk carries the shields of the current plan (`behind`), and
   * the shields of the whole broadcast for which the plan is computed (`outside`).
   *
   * @param asked leaves that are asked for
   */
  private def shields(plan: LogicalPlan, asked: Int => Boolean): Map[Int, Vector[Shield]] = {
    val found = Map.newBuilder[Int, Vector[Shield]]
    def walk(p: LogicalPlan, behind: Vector[Shield], outside: Vector[Shield]): Unit = of(p) match {
      case one if one.size == 1 => PlanningTime.check(); found += one.head -> behind
      case _                    =>
        p match {
          case j: Join =>
            SparkBuildSide(j) match {
              case Some(side) =>
                val probe  = JoinChoice.input(j, JoinChoice.other(side))
                val around = if (j.conf.adaptiveExecutionEnabled) Vector.empty else outside ++ below(probe)
                walk(JoinChoice.input(j, side), around, around)
                walk(probe, behind ++ shield(j, side), outside)
              case None if SparkBuildSide.isProduct(j) =>
                walk(j.left, behind ++ product(j.right), outside); walk(j.right, behind ++ product(j.left), outside)
              case None =>
                walk(j.left, merged(j, j.left, j.right, behind), Vector.empty)
                walk(j.right, merged(j, j.right, j.left, behind), Vector.empty)
            }
          case _: Project | _: Filter => walk(p.children.head, behind, outside)
          case other                  => other.children.foreach(walk(_, Vector.empty, Vector.empty))
        }
    }
    walk(plan, Vector.empty, Vector.empty)
    val shielded = found.result().filter { case (leaf, _) => asked(leaf) }
    if (!plan.conf.adaptiveExecutionEnabled || shielded.isEmpty) shielded
    else {
      val stages = new FirstStages(of, SparkBuildSide(_))(plan)
      val ends   = enders(plan)
      shielded.map { case (leaf, by) => leaf -> (by ++ earlier(stages, leaf, ends.getOrElse(leaf, Set.empty))) }
    }
  }

  /** The broadcasts that adaptive execution starts before a leaf, and without whose rows it does not need the leaf. */
  private def earlier(stages: Vector[FirstStages.Stage], leaf: Int, ends: Set[Int]): Vector[Shield] = {
    PlanningTime.check()
    val (before, rest) = stages.span(!_.leaves(leaf))
    before.filter(s => s.broadcast && s.leaves.subsetOf(ends))
      .map(s => Shield(s.leaves, Set.empty, if (rest.isEmpty) NoRowBefore else NoRowEarlier))
  }

  /** Per leaf, the leaves without whose rows some join above it has none. */
  private def enders(plan: LogicalPlan): Map[Int, Set[Int]] = {
    val found                                       = Map.newBuilder[Int, Set[Int]]
    def walk(p: LogicalPlan, above: Set[Int]): Unit = {
      PlanningTime.check()
      if (of(p).size <= 1) of(p).foreach(found += _ -> above)
      else {
        val more = needed(p)
        val all  = if (more.subsetOf(above)) above else above ++ more
        p.children.foreach(walk(_, all))
      }
    }
    walk(plan, Set.empty)
    found.result()
  }

  /**
   * The shields of a broadcast that is joined with the rows of `probe`, without adaptive execution. Spark starts all
   * broadcasts at once. If one below turns out to be empty, generated code has no rows for the joins above it, so it
   * does not wait for their broadcasts and does not notice if they failed.
   */
  private def below(probe: LogicalPlan): Vector[Shield] = probe match {
    case _ if of(probe).size == 1 => Vector.empty
    case j: Join                  =>
      SparkBuildSide(j).toVector.flatMap(side =>
        shield(j, side).map(s => if (s.when == NoRow) s.copy(when = NoRowBelow) else s) ++
          below(JoinChoice.input(j, JoinChoice.other(side)))
      )
    case _: Project | _: Filter => below(probe.children.head)
    case _                      => Vector.empty
  }

  /**
   * None if the join returns rows of the other side without a partner, or reads them before it looks at the broadcast
   * side.
   */
  private def shield(j: Join, side: BuildSide): Option[Shield] = {
    val build       = JoinChoice.input(j, side)
    val looksBefore = SparkBuildSide.hasKeys(j) || j.conf.adaptiveExecutionEnabled
    j.joinType match {
      case _ if SparkBuildSide.isNullAware(j)            => Some(Shield(of(build), Set.empty, NullKey))
      case _: InnerLike if looksBefore                   => Some(Shield(of(build), needed(build), NoRow))
      case LeftSemi if looksBefore && side == BuildRight => Some(Shield(of(build), needed(build), NoRow))
      case LeftAnti if j.condition.isEmpty && looksBefore && side == BuildRight =>
        Some(Shield(of(build), Set.empty, AnyRow))
      case _ => None
    }
  }

  /** The shields of an input of a sort-merge join: the other side is one if the input is sorted by the keys already. */
  private def merged(j: Join, input: LogicalPlan, other: LogicalPlan, behind: Vector[Shield]): Vector[Shield] = {
    val asIs = SortedRows(j, input)
    behind.filter(s => keepsBelow(s.when, j) || (asIs && s.when == LastKey)) ++
      (if (asIs) Some(Shield(of(other), Set.empty, LastKey)) else None)
  }

  /**
   * The shield that one side of a Cartesian product is for the other. If one side has no partition, the product has
   * none, and Spark does not compute the plan below the other side.
   */
  private def product(side: LogicalPlan): Option[Shield] =
    if (partitionsOfFiles(side)) Some(Shield(of(side), of(side), NoFile)) else None

  private def partitionsOfFiles(plan: LogicalPlan): Boolean = plan match {
    case _: LeafNode            => true
    case _: Project | _: Filter => partitionsOfFiles(plan.children.head)
    case j: Join                => SparkBuildSide.isProduct(j) && j.children.forall(partitionsOfFiles)
    case _                      => false
  }

  /** The leaves of the group in a plan. */
  private def of(plan: LogicalPlan): Set[Int] = remembered(leavesIn, plan)(
    Option(leafOf.get(plan)).fold(plan.children.iterator.flatMap(of).toSet)(leaf => Set(leaf.intValue))
  )

  // a large group asks for the same parts of its plan very often
  private val leavesIn = new IdentityHashMap[LogicalPlan, Set[Int]]
  private val neededIn = new IdentityHashMap[LogicalPlan, Set[Int]]

  private def remembered(known: IdentityHashMap[LogicalPlan, Set[Int]], plan: LogicalPlan)(body: => Set[Int]) = {
    val before = known.get(plan)
    if (before != null) before
    else {
      PlanningTime.check()
      val found = body
      known.put(plan, found)
      found
    }
  }

  /** Leaves that contribute to every row of the plan: if the join of these leaves has no row, the plan has none. */
  private def needed(plan: LogicalPlan): Set[Int] = remembered(neededIn, plan)(plan match {
    case _ if of(plan).size == 1 => of(plan)
    case j: Join                 =>
      j.joinType match {
        case _: InnerLike | LeftSemi => needed(j.left) ++ needed(j.right)
        case LeftOuter               => needed(j.left)
        case RightOuter              => needed(j.right)
        case _                       => Set.empty
      }
    case _: Project | _: Filter => needed(plan.children.head)
    case _                      => Set.empty
  })
}

object SparedInputs {

  /**
   * An input that spares another one: it is broadcast, or it forms a Cartesian product with the other one.
   *
   * @param leaves leaves of the sparing input
   * @param needed leaves among them without whose rows the input is empty
   * @param when   condition under which the other input is not read
   */
  final private case class Shield(leaves: Set[Int], needed: Set[Int], when: Spares) {
    def covers(that: Shield): Boolean =
      (when == that.when || (rank(when) > rank(that.when) && rank(that.when) > 0)) &&
        (leaves == that.leaves || that.leaves.subsetOf(needed))

    /** How surely an input without rows is noticed before the other input fails; 0 if the condition is another one. */
    private def rank(when: Spares): Int = Seq(NoRowEarlier, NoRowBefore, NoRow).indexOf(when) + 1
  }

  /** What must be true of an input so that another one is not read. */
  sealed abstract private class Spares(val shown: String)
  sealed abstract private class NoRows extends Spares("are no rows of")
  private case object NoRow            extends NoRows

  /**
   * Like `NoRow`, but only if Spark generates code for the query. Such code still reads its own input, up to the join
   * with the empty broadcast.
   */
  private case object NoRowBelow extends NoRows

  /** Like `NoRow`, but the other input is started, too, and usually too late to be noticed. */
  private case object NoRowEarlier extends NoRows

  /** Like `NoRowEarlier`, but the other input has to wait for an exchange, while the sparing one has not. */
  private case object NoRowBefore extends NoRows
  private case object NoFile      extends Spares("are no files of")
  private case object LastKey     extends Spares("are no further keys of")
  private case object AnyRow      extends Spares("are rows of")
  private case object NullKey     extends Spares("is a NULL in the key of")

  /**
   * Whether the spared input is started, too, and only its failure usually comes too late. This counts only for some
   * faults ([[InputFault.inAnyRun]]).
   */
  private def inTime(when: Spares): Boolean = when == NoRowEarlier || when == NoRowBefore

  /** Whether exchanges below the spared input are not computed either. Adaptive execution computes them first. */
  private def keepsBelow(when: Spares, plan: LogicalPlan): Boolean =
    when == NoFile && !plan.conf.adaptiveExecutionEnabled
}
