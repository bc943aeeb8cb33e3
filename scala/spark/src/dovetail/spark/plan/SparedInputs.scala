package org.apache.spark.sql.dovetail.plan

import org.apache.spark.sql.catalyst.expressions.{EqualNullSafe, EqualTo, Expression, ExprId}
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide}
import org.apache.spark.sql.catalyst.plans.{Inner, InnerLike, LeftAnti, LeftOuter, LeftSemi, RightOuter}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.dovetail.leaf.SparkBroadcast
import org.apache.spark.sql.dovetail.plan.StartOrder.throws
import org.apache.spark.sql.dovetail.predicates.{Conjuncts, ExpressionText, JoinCondition}

/**
 * Inputs that the written order does not read where another one is empty, and that may fail when they are read.
 *
 * A hash join looks at its broadcast side first: if that has no row, the other side is not read at all. An input that
 * filters by `CAST(name AS INT) = 3` then never meets the row that is no number. So an order is only taken if each
 * input that may throw ([[StartOrder]]) is still behind all broadcasts that spare it in the written plan: behind the same
 * relations, or behind more of them whose rows are all joined with theirs.
 *
 * A NOT IN looks at its broadcast side first, too: with a NULL in there it has no answer, and reads nothing else. So
 * does adaptive execution with a broadcast that is compared without a key: it takes the join out once it knows that
 * none of its rows can come out. A Cartesian product reads nothing either where one side is a table without files, for
 * it has no partition then.
 *
 * It is about what happens in every run. Where both sides are exchanged, both are read, or which of them ends first is
 * a race.
 *
 * @param leaves of the group
 */
final class SparedInputs(leaves: Vector[LogicalPlan]) {
  import SparedInputs._

  private lazy val leafOf: Map[ExprId, Int] = leaves.zipWithIndex.flatMap { case (leaf, i) =>
    leaf.collectLeaves().flatMap(_.output).map(_.exprId -> i)
  }.toMap

  /** An input that would be read in the new plan where it is not in the written one, and why that matters. */
  def exposed(written: LogicalPlan, rebuilt: => LogicalPlan, names: Vector[String]): Option[String] = {
    val keys    = failingKeys(written)
    val fragile = leaves.indices.map(i => failing(leaves(i)).orElse(keys.get(i)))
    if (fragile.forall(_.isEmpty)) None
    else {
      val before = shields(written).filter { case (i, s) => fragile(i).nonEmpty && s.nonEmpty }
      if (before.isEmpty) None
      else {
        val after = shields(rebuilt).withDefaultValue(Vector.empty)
        before.toVector.sortBy(_._1).flatMap { case (i, spared) =>
          spared.find(s => !after(i).exists(_.covers(s))).map(s =>
            s"${names(i)} may fail, by ${ExpressionText(fragile(i).get)}; as written, it is not read if there " +
              s"${s.when.shown} ${s.leaves.toVector.sorted.map(names).mkString(", ")}"
          )
        }.headOption
      }
    }
  }

  /** Per leaf a join key of it that may throw: it is computed for each row of its side, partner or not. */
  private def failingKeys(written: LogicalPlan): Map[Int, Expression] = written.collect { case j: Join =>
    for {
      conjunct <- j.condition.toSeq.flatMap(Conjuncts(_))
      key      <- conjunct match {
        case EqualTo(a, b)       => Seq(a, b)
        case EqualNullSafe(a, b) => Seq(a, b)
        case _                   => Nil
      }
      if throws(key)
      leaf <- key.references.flatMap(a => leafOf.get(a.exprId))
    } yield leaf -> key
  }.flatten.toMap

  /**
   * Per leaf of the group the broadcasts that are empty first. A walk carries those that spare what it is at, and those
   * that spare the whole broadcast that this is computed for.
   */
  private def shields(plan: LogicalPlan): Map[Int, Vector[Shield]] = {
    val found = Map.newBuilder[Int, Vector[Shield]]
    def walk(p: LogicalPlan, behind: Vector[Shield], outside: Vector[Shield]): Unit = of(p) match {
      case one if one.size == 1 => found += one.head -> behind
      case _                    =>
        p match {
          case j: Join =>
            buildSide(j) match {
              case Some(side) =>
                val probe  = JoinChoice.input(j, JoinChoice.other(side))
                val around = if (j.conf.adaptiveExecutionEnabled) Vector.empty else outside ++ below(probe)
                walk(JoinChoice.input(j, side), around, around)
                walk(probe, behind ++ shield(j, side), outside)
              case None if isProduct(j) =>
                walk(j.left, behind ++ product(j.right), outside); walk(j.right, behind ++ product(j.left), outside)
              case None => j.children.foreach(walk(_, Vector.empty, Vector.empty))
            }
          case _: Project | _: Filter => walk(p.children.head, behind, outside)
          case other                  => other.children.foreach(walk(_, Vector.empty, Vector.empty))
        }
    }
    walk(plan, Vector.empty, Vector.empty)
    found.result()
  }

  /**
   * What spares a broadcast whose rows come to those of `probe`, without adaptive execution. Broadcasts are started all
   * at once. Where one below turns out to be empty, compiled code has nothing for the joins above it: nobody waits for
   * their broadcasts, or hears that they have failed.
   */
  private def below(probe: LogicalPlan): Vector[Shield] = probe match {
    case _ if of(probe).size == 1 => Vector.empty
    case j: Join                  =>
      buildSide(j).toVector.flatMap(side =>
        shield(j, side).map(s => if (s.when == NoRow) s.copy(when = NoRowBelow) else s) ++
          below(JoinChoice.input(j, JoinChoice.other(side)))
      )
    case _: Project | _: Filter => below(probe.children.head)
    case _                      => Vector.empty
  }

  /** None where the rows of the other side come out without a partner, or are read before that is looked at. */
  private def shield(j: Join, side: BuildSide): Option[Shield] = {
    val build       = JoinChoice.input(j, side)
    val looksBefore = hasKeys(j) || j.conf.adaptiveExecutionEnabled
    j.joinType match {
      case _ if isNullAware(j)                           => Some(Shield(of(build), Set.empty, NullKey))
      case _: InnerLike if looksBefore                   => Some(Shield(of(build), needed(build), NoRow))
      case LeftSemi if looksBefore && side == BuildRight => Some(Shield(of(build), needed(build), NoRow))
      case LeftAnti if j.condition.isEmpty && looksBefore && side == BuildRight =>
        Some(Shield(of(build), Set.empty, AnyRow))
      case _ => None
    }
  }

  /** Without a partition on one side, a product has none, and what the other side is computed from is not computed. */
  private def product(side: LogicalPlan): Option[Shield] =
    if (partitionsOfFiles(side)) Some(Shield(of(side), of(side), NoFile)) else None

  private def partitionsOfFiles(plan: LogicalPlan): Boolean = plan match {
    case _: LeafNode            => true
    case _: Project | _: Filter => partitionsOfFiles(plan.children.head)
    case j: Join                => isProduct(j) && j.children.forall(partitionsOfFiles)
    case _                      => false
  }

  private def of(plan: LogicalPlan): Set[Int] =
    plan.collectLeaves().iterator.flatMap(_.output.headOption).flatMap(a => leafOf.get(a.exprId)).toSet

  /** Leaves all of whose partners are in each row: if those alone have no row together, the plan has none. */
  private def needed(plan: LogicalPlan): Set[Int] = plan match {
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
  }
}

object SparedInputs {

  /**
   * An input that spares another one: it is broadcast, or makes a product with it.
   *
   * @param leaves of it
   * @param needed those of them without whose rows it is empty
   * @param when   it does
   */
  final private case class Shield(leaves: Set[Int], needed: Set[Int], when: Spares) {
    def covers(that: Shield): Boolean =
      when == that.when && (leaves == that.leaves || that.leaves.subsetOf(needed))
  }

  /** What an input has to have, or not to have, so that another one is not read. */
  sealed abstract private class Spares(val shown: String)
  private case object NoRow extends Spares("are no rows of")

  /** Only if the query's code is compiled. Such code still reads what it is compiled for, up to the empty broadcast. */
  private case object NoRowBelow extends Spares("are no rows of")
  private case object NoFile     extends Spares("are no files of")
  private case object AnyRow     extends Spares("are rows of")
  private case object NullKey    extends Spares("is a NULL in the key of")

  /**
   * The side that is broadcast: by our choice, or by Spark's, which goes by sizes. Without a key a join that is not inner
   * has no other way. None where both are read.
   */
  private def buildSide(j: Join): Option[BuildSide] =
    if (isNullAware(j)) Some(BuildRight)
    else JoinDecision.broadcast(j).orElse {
      (broadcasts(j, BuildLeft), broadcasts(j, BuildRight)) match {
        case (true, true)  => Some(if (j.right.stats.sizeInBytes <= j.left.stats.sizeInBytes) BuildRight else BuildLeft)
        case (left, right) =>
          if (left) Some(BuildLeft)
          else if (right || (!hasKeys(j) && JoinChoice.builds(j.joinType, BuildRight) && j.joinType != Inner))
            Some(BuildRight)
          else None
      }
    }

  /** NOT IN of one column, by which a row with a NULL is told apart: Spark broadcasts its right side, however large. */
  private def isNullAware(j: Join): Boolean = j.joinType == LeftAnti && j.conf.optimizeNullAwareAntiJoin &&
    j.condition.exists(sides(j)(_).equality.exists(_.kind == JoinCondition.NullAware))

  private def broadcasts(j: Join, side: BuildSide): Boolean =
    JoinChoice.builds(if (j.joinType.isInstanceOf[InnerLike]) Inner else j.joinType, side) &&
      !JoinDecision.kept(j).contains(side) &&
      SparkBroadcast(JoinChoice.input(j, side), j.conf.autoBroadcastJoinThreshold)

  /** Every row with every row, neither side broadcast. */
  private def isProduct(j: Join): Boolean = j.joinType.isInstanceOf[InnerLike] && !hasKeys(j) &&
    JoinDecision.broadcast(j).isEmpty && !broadcasts(j, BuildLeft) && !broadcasts(j, BuildRight)

  /** Without an equality between its sides a join is no hash join. */
  private def hasKeys(j: Join): Boolean = j.condition.exists(Conjuncts(_).exists(sides(j)(_).sides.isDefined))

  /** The two sides of a join as relations. */
  private def sides(j: Join) = new JoinCondition.Classifier(Vector(j.left.outputSet, j.right.outputSet))

  def mayFail(input: LogicalPlan): Boolean = failing(input).nonEmpty

  /** What may throw when the input is read: above its uppermost exchange, which is filled in any case. */
  private def failing(input: LogicalPlan): Option[Expression] = input match {
    case a: Aggregate                                                                 => a.expressions.find(throws)
    case _: Distinct | _: Sort | _: GlobalLimit | _: Window | _: RepartitionOperation => None
    case other => other.expressions.find(throws).orElse(other.children.iterator.map(failing).collectFirst {
        case Some(e) => e
      })
  }
}
