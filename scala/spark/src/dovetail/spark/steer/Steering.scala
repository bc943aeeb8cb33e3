package org.apache.spark.sql.dovetail.steer

import dovetail.kernel.enumerate.Shape
import dovetail.kernel.graph.{JoinGraph, KnownSize}
import dovetail.kernel.profile.Source
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LogicalPlan}
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.deadline.Aside
import org.apache.spark.sql.dovetail.group.JoinGroup
import org.apache.spark.sql.dovetail.leaf.{GivenRows, LeafNames}

/**
 * The user's instructions, for one run of the rule: groups to leave alone, pinned orders, and given row counts.
 *
 * Canonical forms of a group are computed only if there are pins or row counts to look up.
 *
 * @param query plan whose join groups are asked for
 */
final class Steering(session: SparkSession, query: LogicalPlan) {
  import Steering._

  /** Hints in the text of the query. */
  val hints: QueryHints = new QueryHints(query)

  private val known       = GivenRows(session)
  private lazy val pinned = Pins(session)

  @volatile private var seen = Option.empty[(Vector[Pin], Option[String])]

  // every query looks at the file of pins
  private lazy val (pins, fault) =
    seen.orElse(Aside(pinned.files.place)(_ => pinned.look)).getOrElse((Vector.empty, Some("it was not read in time")))

  /** A look at the file of pins, for a thread that may wait for the store in any case. */
  def look: () => Unit = {
    val file = pinned
    () => seen = Some(file.look)
  }

  private lazy val excluded: Vector[(String, String)] =
    DovetailConf.ExcludeTables.get(session.sessionState.conf).split(',').map(_.trim).filter(_.nonEmpty).map(p =>
      p -> pattern(p)
    ).toVector

  /** Reason why a group is left to Spark, if the user requests this. */
  def off(group: JoinGroup): Option[String] =
    off(group.top, group.leaves.flatMap(_.collectLeaves()).collect { case l: LeafNode => l })

  /**
   * Reason why connected joins are left to Spark, if the user requests this.
   *
   * @param tables tables below the joins
   */
  def off(top: LogicalPlan, tables: => Seq[LeafNode]): Option[String] =
    if (hints.off(top)) Some("the query has the hint DOVETAIL_OFF")
    else if (excluded.isEmpty) None
    else
      (for (t <- tables; (text, regex) <- excluded if names(t).exists(_.matches(regex)))
        yield s"it reads ${LeafNames.name(t)}, which spark.dovetail.reorder.excludeTables names ($text)").headOption

  /** Adds the row counts that the user gave for relations and joins to the graph. */
  def informed(graph: JoinGraph, form: Boolean => GroupForm): JoinGraph = {
    val entries = known.queries
    if (entries.isEmpty) graph
    else {
      val group = form(true)
      val at    = group.relations.zipWithIndex.groupBy(_._1).map { case (text, found) => text -> found.map(_._2) }
      val sizes =
        for (
          e <- entries if e.relations.forall(at.contains); set <- GroupForm.places(e.relations, at, MostPlaces)
          if group.formOf(set).text == e.form
        ) yield set.toSet -> KnownSize.exactly(e.rows, Source.Given)
      graph.knowing(sizes.toMap)
    }
  }

  /** Relations of a graph whose rows the user gave; the graph is made only if the user gave any rows. */
  def inputs(graph: => JoinGraph): Set[Int] =
    if (known.queries.isEmpty) Set.empty
    else graph.relations.filter(_.profile.rows.source == Source.Given).map(_.index).toSet

  /**
   * Pinned orders for a group. If there are none, pins of similar groups with the reason why they are not used, because
   * the user may expect them to be used.
   */
  def pins(form: Boolean => GroupForm): Vector[AskedOrder] =
    fault.toVector.map(why => AskedOrder("", s"the file ${pinned.file}", Left(why))) ++ (if (pins.isEmpty) Vector.empty
                                                                                         else found(form(false)))

  private def found(group: GroupForm): Vector[AskedOrder] = {
    val all            = for (p <- pins; g <- p.groups) yield p -> g
    val (same, others) = all.partition(_._2.form == group.whole.text)
    val fit            = same.map { case (p, g) =>
      val shape = OrderHint.numbered(g.shape, group.whole.order)
      AskedOrder(s"the order of pin '${p.name}'", s"pin '${p.name}'", shape, () => pinned.used(p.name))
    }
    if (fit.nonEmpty) fit
    else for ((p, g) <- others; why <- whyNot(g.relations, group.names))
      yield AskedOrder("", s"pin '${p.name}'", Left(why))
  }
}

object Steering {

  /** Most assignments of the relations of an entry to those of a group. A self-join has more than one. */
  private val MostPlaces = 64

  /** Reason why a pin does not apply to a group that has the same relations, or one more or one less. */
  private def whyNot(pinned: Vector[String], here: Vector[String]): Option[String] =
    (pinned.diff(here), here.diff(pinned)) match {
      case (Seq(), Seq())     => Some("the predicates or inputs of this query differ from those of the pinned query")
      case (Seq(gone), Seq()) => Some(s"this query does not join $gone")
      case (Seq(), Seq(more)) => Some(s"this query also joins $more")
      case _                  => None
    }

  private def names(leaf: LeafNode): Seq[String] = {
    val parts = LeafNames.identity(leaf).toSeq.filterNot(_.contains("/")).map(_.split('.').toSeq)
    LeafNames.name(leaf) +: parts.flatMap(p => p.indices.map(i => p.drop(i).mkString(".")))
  }

  /** The regular expression of a table pattern, in which `*` stands for any text. */
  private def pattern(text: String): String =
    "(?i)" + text.split("\\*", -1).map(java.util.regex.Pattern.quote).mkString(".*")
}

/**
 * A join order that the user requests by a hint, a setting or a pin.
 *
 * @param whenUsed description in explain if the order is used
 * @param name     description in explain if the order is not used
 * @param order    the order, or the reason why it does not apply to this group
 * @param used     called if the order is used
 */
final case class AskedOrder(whenUsed: String, name: String, order: Either[String, Shape], used: () => Unit = () => ())
