package dovetail.kernel.cost

/**
 * Memory of the sorts in front of a sort-merge join, and what does not fit into it: a task whose memory is full writes
 * all that it has sorted to disk, and reads it again to merge (Graefe, "Implementing sorting in database systems", ACM
 * Computing Surveys 2006, §4). Priced by [[PhysicalCosts]].
 *
 * @param taskMemory bytes that the sort of one input can count on in a task; infinite: nothing is ever written
 * @param partitions of an exchange
 * @param taskInput  bytes up to which adaptive execution makes one task of several partitions; 0: each partition is a
 *                   task
 */
final case class SortMemory(
    taskMemory: Double = Double.PositiveInfinity,
    partitions: Int = 1,
    taskInput: Double = 0.0
) {
  import SortMemory._

  /** A task has the memory to sort this share of an input. Rows, and bytes as rows in memory. */
  def holds(rows: Double, bytes: Double, share: Double): Boolean = (bytes + rows * Pointers) * share <= taskMemory

  /** Share of an input that each task gets where its keys are even. */
  def even(bytes: Double): Double = math.max(1.0 / partitions, math.min(1.0, taskInput / bytes))
}

object SortMemory {

  /** Nothing is ever written. */
  val unlimited: SortMemory = SortMemory()

  /** Bytes of a sort per row besides the row: pointer and key prefix, and as much again for the radix sort. */
  private val Pointers = 32.0
}
