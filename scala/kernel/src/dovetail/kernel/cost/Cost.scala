package dovetail.kernel.cost

/**
 * Cost of a plan by part, in the unit of its cost model. Plans are compared by `total`.
 *
 * @param scan cost of scanning tables whose scan joins can prune; below 0 for the part that a join saves
 */
final case class Cost(
    exchange: Double = 0.0,
    sort: Double = 0.0,
    hash: Double = 0.0,
    broadcast: Double = 0.0,
    output: Double = 0.0,
    scan: Double = 0.0
) {
  def total: Double = exchange + sort + hash + broadcast + output + scan

  def +(that: Cost): Cost = Cost(
    exchange + that.exchange,
    sort + that.sort,
    hash + that.hash,
    broadcast + that.broadcast,
    output + that.output,
    scan + that.scan
  )
}

/** How a join is (expected to be) executed. */
sealed abstract class JoinMethod(val name: String, val buildsLeft: Boolean) {

  /** The same with its sides swapped. */
  def flipped: JoinMethod = this match {
    case JoinMethod.BroadcastLeft  => JoinMethod.BroadcastRight
    case JoinMethod.BroadcastRight => JoinMethod.BroadcastLeft
    case other                     => other
  }
}

object JoinMethod {
  case object BroadcastRight extends JoinMethod("broadcast hash", false)
  case object BroadcastLeft  extends JoinMethod("broadcast hash", true)

  /** Both sides exchanged, then sorted and merged. */
  case object SortMerge extends JoinMethod("sort merge", false)

  /** Both sides exchanged, then one side hashed per partition. */
  case object ShuffledHash extends JoinMethod("shuffled hash", false)

  /** Planned as [[SortMerge]], but one side turns out small enough to be broadcast instead of sorted and merged. */
  case object ShuffledThenBroadcast extends JoinMethod("shuffled, then broadcast", false)
  case object NestedLoop            extends JoinMethod("nested loop", false)

  /** The model does not specify the method. */
  case object Unspecified extends JoinMethod("join", false)
}
