package org.apache.spark.sql.dovetail.steer

import dovetail.kernel.enumerate.Shape
import dovetail.kernel.graph.{JoinGraph, KnownSize}
import dovetail.kernel.profile.Source
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LeafNode
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.deadline.Aside
import org.apache.spark.sql.dovetail.group.JoinGroup
import org.apache.spark.sql.dovetail.leaf.{GivenRows, LeafNames}

/**
 * What people who know better have told, as one run of the rule asks for it: groups to leave alone, orders that are
 * pinned, rows that are given.
 *
 * Forms of a group are made only where there is something to be found by them.
 */
final class Steering(session: SparkSession) {
  import Steering._

  private val known       = GivenRows(session)
  private lazy val pinned = Pins(session)

  // their file is looked at for every query
  private lazy val (pins, fault) =
    Aside(pinned.files.place)(_ => (pinned.all, pinned.problem)).getOrElse((
      Vector.empty,
      Some("it was not read in time")
    ))

  private lazy val excluded: Vector[(String, String)] =
    DovetailConf.ExcludeTables.get(session.sessionState.conf).split(',').map(_.trim).filter(_.nonEmpty).map(p =>
      p -> pattern(p)
    ).toVector

  /** Why a group is left to Spark, if somebody asks for that. */
  def off(group: JoinGroup): Option[String] =
    if (QueryHints.off(group)) Some("the query has the hint DOVETAIL_OFF")
    else if (excluded.isEmpty) None
    else {
      val tables = group.leaves.flatMap(_.collectLeaves()).collect { case l: LeafNode => l }
      (for (t <- tables; (text, regex) <- excluded if names(t).exists(_.matches(regex)))
        yield s"it reads ${LeafNames.name(t)}, which spark.dovetail.reorder.excludeTables names ($text)").headOption
    }

  /** The graph with the rows that were given for its relations and joins. */
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

  /**
   * Orders that are pinned for a group, and pins that are near enough to it that somebody may wonder why they are not
   * used.
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

  /** Ways to find the relations of one entry among those of a group: more than one where a table meets itself. */
  private val MostPlaces = 64

  /** What keeps a pin from a group with the same relations, or with one more or less. */
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

  /** `*` stands for any text. */
  private def pattern(text: String): String =
    "(?i)" + text.split("\\*", -1).map(java.util.regex.Pattern.quote).mkString(".*")
}

/**
 * An order that somebody asks for: by a hint, a setting or a pin.
 *
 * @param whenUsed what explain calls it when it is used
 * @param name     and when it is not
 * @param order    or why it is none for this group
 * @param used     to be told when it is used
 */
final case class AskedOrder(whenUsed: String, name: String, order: Either[String, Shape], used: () => Unit = () => ())
