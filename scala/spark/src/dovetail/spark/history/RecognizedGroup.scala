package org.apache.spark.sql.dovetail.history

import org.apache.spark.sql.dovetail.group.JoinGroup
import org.apache.spark.sql.dovetail.report.GroupIdentity
import org.apache.spark.sql.dovetail.steer.GroupForm

/**
 * Which part of a join group the history recognizes. [[RunRecorder]] records that part, and
 * `DOVETAIL FORGET HISTORY FOR` finds what was recorded of it.
 */
final class RecognizedGroup(group: JoinGroup, forms: HistoryForms) {
  import RecognizedGroup._

  private val keys: Vector[Option[String]] =
    if (group.leaves.size > HistoryForms.MostRelations) group.leaves.map(_ => None) else forms.relations

  /**
   * The relations by number; None for those that later queries cannot recognize, or whose data has no stamp.
   *
   * @param at        when the query was planned, in milliseconds of the system's clock: files that are newer were
   *                  written after that, and the query may not have read them
   * @param snapshots snapshots of Iceberg tables that the leaves read when the query was planned
   */
  def relations(at: Long, snapshots: Vector[Vector[Option[String]]]): Vector[Option[GroupIdentity.OfRelation]] = {
    val stamps = new DataStamps
    group.leaves.indices.toVector.map { i =>
      def isSame = IcebergSnapshot.of(group.leaves(i)) == snapshots(i)
      for (key <- keys(i); data <- stamps(group.leaves(i)) if data.newest <= at && isSame)
        yield GroupIdentity.OfRelation(key, HistoryForms.tables(group.leaves(i)), data)
    }
  }

  /** Whether there can be entries about the group. */
  def isNamed: Boolean = forms.part(keys.indices.filter(keys(_).isDefined).toVector).isDefined

  /**
   * Whether an entry is about the group, with its constants or without, or about a part of it. A run records only the
   * part whose data had a stamp then, which may be another part than today.
   */
  def has(entry: HistoryEntry): Boolean = entry match {
    case runs: GroupRuns => places(runs).exists(of => forms.part(of.sorted).exists(_.key == runs.key)) ||
      (runs.sets.isEmpty && isNamed && forms.pattern.exists(_.key == runs.key))
    case errors: GroupErrors => isNamed && forms.pattern.exists(_.key == HistoryForms.patternOf(errors.key))
  }

  private lazy val numbers: Map[String, Vector[Int]] =
    keys.indices.toVector.filter(keys(_).isDefined).groupBy(keys(_).get)

  /** Sets of the group's relations that may be those of an entry. */
  private def places(runs: GroupRuns): Vector[Vector[Int]] = {
    val named = runs.relations.map(_.key)
    if (named.forall(numbers.contains)) GroupForm.places(named, numbers, MostPlaces) else Vector.empty
  }
}

private object RecognizedGroup {

  /** Most sets of a group's relations that are compared with one entry. Only self-joins have several. */
  private val MostPlaces = 64
}
