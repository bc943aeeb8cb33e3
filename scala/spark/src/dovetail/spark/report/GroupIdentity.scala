package org.apache.spark.sql.dovetail.report

import dovetail.kernel.enumerate.Shape

/**
 * The keys that identify a join group, and the sets of relations that its plan joined, in later runs. The keys are
 * hashes of canonical forms (`steer.GroupForm`), so no constant of a query is stored.
 *
 * @param form       key of the recognized relations and their joins, with constants; None if the predicates of joins
 *                   may return different results
 * @param pattern    key of the whole group, without constants; None if the group has no constants, or not all of its
 *                   relations are recognized
 * @param template   the same for the errors of estimates, which depend on the statistics, too
 * @param statistics version of these statistics: the same for the same content
 * @param planned    when the query was planned, in milliseconds of the system's clock
 * @param grownFrom  state of the data whose estimation errors still count, because files were only added since
 * @param scaledFrom state of the data whose row counts still count in the same way
 * @param relations  keys of the relations by number; None for a relation without a name, without recognizable data, or
 *                   with an expression that may return different results
 * @param sets       keys of the recognized relations, and of the chosen plan's joins of only these
 * @param shape      join order of the chosen plan; None if not all relations are recognized
 */
final case class GroupIdentity(
    form: Option[GroupIdentity.Whole],
    pattern: Option[GroupIdentity.Whole],
    template: Option[GroupIdentity.Whole],
    statistics: String,
    planned: Long,
    grownFrom: Option[DataStamp],
    scaledFrom: Option[DataStamp],
    relations: Vector[Option[GroupIdentity.OfRelation]],
    sets: Map[Set[Int], GroupIdentity.OfSet],
    shape: Option[Shape]
)

object GroupIdentity {

  /** @param order numbers of the group's relations, in the order in which the canonical form numbers them */
  final case class Whole(key: String, order: Vector[Int])

  /**
   * @param key    hash of the relation's canonical form
   * @param tables tables that the relation reads
   * @param data   state of the data in these tables
   */
  final case class OfRelation(key: String, tables: Vector[String], data: DataStamp)

  /**
   * @param key       hash of the set's canonical form
   * @param estimated rows estimated from statistics alone
   */
  final case class OfSet(key: String, estimated: Double)
}

/**
 * The state of the data that a relation reads: equal stamps mean the same data.
 *
 * @param sum    sum of the hashes of the files, or hash of the snapshot
 * @param files  number of files
 * @param bytes  size of all files together
 * @param newest modification time of the newest file, in milliseconds
 */
final case class DataStamp(sum: Long, files: Int, bytes: Long, newest: Long) {
  def +(that: DataStamp): DataStamp =
    DataStamp(sum + that.sum, files + that.files, bytes + that.bytes, math.max(newest, that.newest))
}

object DataStamp {

  /** The stamp of no files. */
  val none: DataStamp = DataStamp(0L, 0, 0L, 0L)
}
