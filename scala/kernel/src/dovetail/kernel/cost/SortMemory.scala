package dovetail.kernel.cost

/**
 * Memory of the sorts in front of a sort-merge join, and what does not fit into it: a task whose memory is full writes all that it has sorted to disk, and
 * reads it again to merge (Graefe, "Implementing sorting in database systems", ACM Computing Surveys 2006, §4). Priced by [[PhysicalCosts]].
 *
 * @param taskMemory bytes that the sort of one input can count on in a task; infinite: nothing is ever written
 * @param partitions of an exchange
 * @param taskInput  bytes up to which adaptive execution makes one task of several partitions; 0: each partition is a task
 */
final case class SortMemory(taskMemory: Double = Double.PositiveInfinity, partitions: Int = 1, taskInput: Double = 0.0) {
  import SortMemory._

  /** One task could sort all of an input. Rows, and bytes as rows in memory. */
  def holds(rows: Double, bytes: Double): Boolean = needed(rows, bytes) <= taskMemory

  /**
   * Bytes that go to disk and back, of all tasks if they are even; else those of the largest one times the tasks, for which all others wait.
   *
   * @param most    share of the input that no task exceeds
   * @param tasks   at a time
   * @param largest share that the largest task is known to get; asked for only where it can matter
   */
  def spilled(rows: Double, bytes: Double, most: Double, tasks: Int)(largest: => Double): Double = {
    val even                = math.max(1.0 / partitions, math.min(1.0, taskInput / bytes))
    def full(share: Double) = needed(rows, bytes) * share > taskMemory
    if (full(even)) { if (most * tasks <= 1.0) bytes else bytes * math.max(1.0, largest * tasks) }
    else if (full(most) && full(largest)) bytes * largest * tasks
    else 0.0
  }
}

object SortMemory {

  /** Nothing is ever written. */
  val unlimited: SortMemory = SortMemory()

  /** Bytes of a sort per row besides the row: pointer and key prefix, and as much again for the radix sort. */
  private val Pointers = 32.0

  private def needed(rows: Double, bytes: Double): Double = bytes + rows * Pointers
}
