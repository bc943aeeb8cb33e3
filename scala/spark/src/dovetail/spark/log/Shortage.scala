package org.apache.spark.sql.dovetail.log

/**
 * Finds out which resource was short if a query failed for lack of one. Spark has no exception type for most of these
 * failures, so their messages are searched.
 */
object Shortage {

  /** The resource, in words for the user; None if the failure has another cause. */
  def apply(e: Throwable): Option[String] = {
    val causes = Iterator.iterate(e)(_.getCause).takeWhile(_ != null).take(CausesSeen).toVector
    // the answer of the query may be too large for the driver, too
    lazy val broadcasts = causes.exists(_.getStackTrace.exists(_.getClassName.contains(BroadcastOperator)))
    causes.iterator.flatMap { cause =>
      val told = Option(cause.getMessage).flatMap(m =>
        Signs.find(s => m.contains(s._1)).map(_._2)
          .orElse(Results.find(s => m.contains(s._1)).filter(_ => broadcasts).map(_._2))
      )
      // Spark throws such an error, too, if it cannot write to a disk what does not fit into memory
      cause match {
        case _: OutOfMemoryError => told.filter(_ == Disk).orElse(Some(Memory))
        case _                   => told
      }
    }.toSeq.headOption.map(r => if (r == Memory && isOfDriver(causes, broadcasts)) DriverMemory else r)
  }

  /** Whether the driver was out of memory, and not because of a task or a broadcast: the answer may be too large. */
  private def isOfDriver(causes: Vector[Throwable], broadcasts: Boolean): Boolean =
    !broadcasts && causes.exists(_.getClass == classOf[OutOfMemoryError]) &&
      !causes.exists(cause => Option(cause.getMessage).exists(m => Elsewhere.exists(m.contains(_))))

  /** Whether the method of a join may be to blame. Neither a broadcast nor a hash table is written to a disk. */
  def isOfJoinMethod(resource: String): Boolean = resource != Disk

  /** Whether a join order may be to blame: with another one, fewer or smaller rows may need this resource. */
  def dependsOnOrder(resource: String): Boolean = Set(Memory, Disk, Executor)(resource)

  /** Most nested causes that are examined: a chain of causes may be a cycle. */
  private val CausesSeen = 20

  /** What is told if a task, an executor or a broadcast has had too little memory. */
  val Memory = "out of memory"

  /** What is told if the driver has had too little memory for something else than a broadcast. */
  val DriverMemory = "the driver was out of memory"

  /** Parts of the messages of a failed job and of a broadcast. */
  private val Elsewhere = Vector("Job aborted", "Not enough memory")

  /** What is told if a task could not write its rows to a local disk: those of a shuffle, a sort or an aggregate. */
  val Disk = "no space on a disk"

  /** What is told if executors were lost for a reason that is not known. */
  private val Executor = "an executor was lost"

  /**
   * Parts of error messages and their meaning, the more specific parts first. An error that tells of a full disk may
   * also tell of memory, and the loss of an executor may have a reason that tells of memory.
   */
  private val Signs = Vector(
    "No space left on device"  -> Disk,
    "OutOfMemory"              -> Memory,
    "UNABLE_TO_ACQUIRE_MEMORY" -> Memory,
    "Can't acquire"            -> Memory,
    "CANNOT_ACQUIRE_MEMORY"    -> Memory,
    "Java heap space"          -> Memory,
    "GC overhead limit"        -> Memory,
    "Not enough memory"        -> Memory,
    // YARN, by the limit that a container exceeded
    "exceeding memory limits"          -> Memory,
    "exceeding physical memory limits" -> Memory,
    "exceeding virtual memory limits"  -> Memory,
    // the status of a process that the kernel killed (128 + SIGKILL): YARN, Kubernetes, a standalone cluster
    "Exit status: 137"     -> Memory,
    "exit code 137"        -> Memory,
    "exited with code 137" -> Memory,
    // Kubernetes, of an executor that has ended itself
    "(JVM OOM)"                   -> Memory,
    "ExecutorLostFailure"         -> Executor,
    "EXECUTOR_BROADCAST_JOIN"     -> "the broadcast was too large",
    "Could not execute broadcast" -> "the broadcast took too long",
    "broadcastTimeout"            -> "the broadcast took too long",
    "maxBroadcastTableSize"       -> "the broadcast was too large",
    "Cannot broadcast"            -> "the broadcast was too large",
    "CANNOT_BROADCAST"            -> "the broadcast was too large"
  )

  /** The same for results of tasks on their way to the driver, which are not always those of a broadcast. */
  private val Results = Vector(
    "maxResultSize"  -> "the result was too large for the driver",
    "TaskResultLost" -> "a result was lost"
  )

  /** Part of the name of the class that fetches the rows of a broadcast. */
  private val BroadcastOperator = "BroadcastExchangeExec"
}
