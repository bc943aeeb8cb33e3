package dovetail.kernel.graph

/**
 * How two sets of relations are joined.
 *
 * @param operator the operator that joins them; none for an inner join
 * @param swapped  the operator's left input is the second of the two sets
 */
final case class Step(kind: JoinKind, operator: Option[Operator], swapped: Boolean)

object Step {
  val Inner: Step = Step(JoinKind.Inner, None, swapped = false)
}
