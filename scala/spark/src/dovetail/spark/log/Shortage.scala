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
    causes.iterator.flatMap {
      case _: OutOfMemoryError => Some(Memory)
      case cause               => Option(cause.getMessage).flatMap(m =>
          Signs.find(s => m.contains(s._1)).map(_._2)
            .orElse(Results.find(s => m.contains(s._1)).filter(_ => broadcasts).map(_._2))
        )
    }.toSeq.headOption
  }

  /** Most nested causes that are examined: a chain of causes may be a cycle. */
  private val CausesSeen = 20

  /** What is told if a task, an executor or the driver has had too little memory. */
  val Memory = "out of memory"

  /** Parts of error messages and their meaning, the more specific parts first. */
  private val Signs = Vector(
    "OutOfMemory"                 -> Memory,
    "UNABLE_TO_ACQUIRE_MEMORY"    -> Memory,
    "Can't acquire"               -> Memory,
    "CANNOT_ACQUIRE_MEMORY"       -> Memory,
    "Java heap space"             -> Memory,
    "GC overhead limit"           -> Memory,
    "Not enough memory"           -> Memory,
    "exceeding memory limits"     -> Memory,
    "ExecutorLostFailure"         -> "an executor was lost",
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
