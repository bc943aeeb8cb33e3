package dovetail.kernel.cost

/**
 * Memory of the hash tables of shuffled hash joins, and whether a task has it: such a table cannot be spilled, so a
 * task that runs out of memory costs the query. The search asks with estimates, to price a join (`PhysicalCosts`); the
 * planner with what exchanges counted, before it has a join done this way.
 *
 * One task may get all rows of an input. How many it gets is known in compressed bytes alone, and rows that are alike
 * compress to next to nothing: sizes of partitions say where the bytes on disk are, not where the rows are. So the
 * whole table has to fit into one task's memory.
 *
 * @param taskMemory bytes that a task can count on; 0: tables are never built in place of sorts
 */
final case class HashTable(taskMemory: Double = 0.0) {
  import HashTable._

  /** A table over all of an input fits into a task's memory. Rows, and bytes as rows in memory. */
  def fits(rows: Double, bytes: Double): Boolean = taskMemory > 0.0 && memory(rows, bytes) <= taskMemory

  /** It pays: the table is made of the clearly smaller input. */
  def pays(bytes: Double, otherBytes: Double): Boolean = bytes * Smaller <= otherBytes
}

object HashTable {

  /** Never. */
  val none: HashTable = HashTable()

  /**
   * Times the bytes of its rows that a table takes while it grows: old and new pages of doubled size live side by side.
   */
  private val Growth = 3.0

  /**
   * Bytes of a table per row besides the row: two slots of pointer and hash, at most half full, and again while it
   * grows; the copy of the key.
   */
  val Slots = 100.0

  /**
   * How many times larger the other input has to be. Of equal inputs a table saves little: in a self join of 2.9
   * million rows 7 % of the time, in joins with an input a third to a thirtieth of the other's size 20 to 50 %.
   */
  private val Smaller = 2.0

  /** Bytes of a table over all of an input. */
  def memory(rows: Double, bytes: Double): Double = Growth * bytes + Slots * rows
}
