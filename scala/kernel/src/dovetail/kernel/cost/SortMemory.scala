package dovetail.kernel.cost

/**
 * Memory of the sorts in front of a sort-merge join, and the data that does not fit into it. A task whose memory is
 * full writes all that it has sorted to disk, and reads it again to merge (Graefe, "Implementing sorting in database
 * systems", ACM Computing Surveys 2006, §4). [[PhysicalCosts]] prices it.
 *
 * @param taskMemory bytes that the sort of one input can rely on in a task; infinite: nothing is ever written
 * @param partitions number of partitions of an exchange
 * @param taskInput  bytes up to which adaptive execution makes one task of several partitions; 0: each partition is a
 *                   task
 */
final case class SortMemory(
    taskMemory: Double = Double.PositiveInfinity,
    partitions: Int = 1,
    taskInput: Double = 0.0
) {
  import SortMemory._

  /** Whether a task has the memory to sort this share of an input. `bytes` counts the rows as rows in memory. */
  def holds(rows: Double, bytes: Double, share: Double): Boolean = (bytes + rows * Pointers) * share <= taskMemory

  /** Share of an input that each task gets if its keys are even. */
  def even(bytes: Double): Double = math.max(1.0 / partitions, math.min(1.0, taskInput / bytes))
}

object SortMemory {

  /** Sorts that never write to disk. */
  val unlimited: SortMemory = SortMemory()

  /** Bytes of a sort per row in addition to the row: pointer and key prefix, and the same again for the radix sort. */
  private val Pointers = 32.0
}
