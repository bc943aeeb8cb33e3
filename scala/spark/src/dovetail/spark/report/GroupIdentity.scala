package org.apache.spark.sql.dovetail.report

import dovetail.kernel.enumerate.Shape

/**
 * By what a group of joins, and the sets of its relations that a plan joined, are known again in another run. Texts of
 * canonical forms (`steer.GroupForm`) are hashes, so that no constant of a query is kept.
 *
 * @param form      of the whole group, with constants; none where it cannot be told apart from other groups
 * @param template  of the whole group, without constants
 * @param relations by number; none where a relation has no name, no data that can be recognized, or an expression that
 *                  may change its answer
 * @param sets      single relations and joins of the plan that was chosen
 * @param shape     of that plan
 */
final case class GroupIdentity(
    form: Option[GroupIdentity.Whole],
    template: Option[GroupIdentity.Whole],
    relations: Vector[Option[GroupIdentity.OfRelation]],
    sets: Map[Set[Int], GroupIdentity.OfSet],
    shape: Shape
)

object GroupIdentity {

  /** @param order the group's relations, in the order of the numbers that they have in the form */
  final case class Whole(key: String, order: Vector[Int])

  /** @param key hash of the relation's form @param tables what it reads @param data the state of it */
  final case class OfRelation(key: String, tables: Vector[String], data: DataStamp)

  /** @param key hash of the set's form @param estimated rows, by statistics alone */
  final case class OfSet(key: String, estimated: Double)
}

/**
 * The state of the data that a relation reads: equal stamps mean the same data.
 *
 * @param sum    of hashes of its files, or of its snapshot
 * @param files  their number
 * @param bytes  of all of them
 * @param newest time of modification of the newest, in milliseconds
 */
final case class DataStamp(sum: Long, files: Int, bytes: Long, newest: Long) {
  def +(that: DataStamp): DataStamp =
    DataStamp(sum + that.sum, files + that.files, bytes + that.bytes, math.max(newest, that.newest))
}
