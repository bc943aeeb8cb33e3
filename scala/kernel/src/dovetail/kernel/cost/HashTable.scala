package dovetail.kernel.cost

/**
 * Memory of the hash tables of shuffled hash joins, and whether a task has it: such a table cannot be spilled, so a task that runs out of memory costs the
 * query. The search asks with estimates, to price a join (`PhysicalCosts`); the planner with what exchanges counted, before it has a join done this way.
 *
 * @param taskMemory bytes that a task can count on; 0: tables are never built in place of sorts
 * @param taskInput  bytes of both inputs together that a task is given, unless a single partition is larger
 */
final case class HashTable(taskMemory: Double = 0.0, taskInput: Double = HashTable.TaskInput) {
  import HashTable._

  /**
   * A table over one input fits into every task's memory. Rows, and bytes as rows in memory.
   *
   * @param largest share of the input that its largest partition is known to hold; 0: tasks share the inputs evenly
   */
  def fits(rows: Double, bytes: Double, otherBytes: Double, largest: Double = 0.0): Boolean =
    taskMemory > 0.0 && memory(rows, bytes) * math.max(largest, share(bytes, otherBytes)) <= taskMemory

  /** It pays: the table is made of the clearly smaller input. */
  def pays(bytes: Double, otherBytes: Double): Boolean = bytes * Smaller <= otherBytes

  private def share(bytes: Double, otherBytes: Double): Double = math.min(1.0, taskInput / math.max(bytes + otherBytes, 1.0))
}

object HashTable {

  /** Never. */
  val none: HashTable = HashTable()

  /** Bytes: Spark's `spark.sql.adaptive.advisoryPartitionSizeInBytes`. */
  val TaskInput: Double = 64.0 * 1024 * 1024

  /** Times the bytes of its rows that a table takes while it grows: old and new pages of doubled size live side by side. */
  private val Growth = 3.0

  /** Bytes of a table per row besides the row: two slots of pointer and hash, at most half full, and again while it grows; the copy of the key. */
  private val Slots = 100.0

  /**
   * How many times larger the other input has to be. Of equal inputs a table saves little: in a self join of 2.9 million rows 7 % of the time, in joins with
   * an input a third to a thirtieth of the other's size 20 to 50 %.
   */
  private val Smaller = 2.0

  /** Bytes of a table over all of an input. */
  def memory(rows: Double, bytes: Double): Double = Growth * bytes + Slots * rows
}
