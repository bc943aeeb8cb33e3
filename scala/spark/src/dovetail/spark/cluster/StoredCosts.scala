package org.apache.spark.sql.dovetail.cluster

import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.TimeUnit

import dovetail.kernel.cost.{CostConstants, CostText}
import org.apache.spark.sql.dovetail.base.FailOpen.Survivable
import org.apache.spark.sql.dovetail.base.{BrokenFile, FailOpen}
import org.apache.spark.sql.dovetail.deadline.Aside
import org.apache.spark.sql.dovetail.store.{StoreFiles, StoreState}

/**
 * The constants that `DOVETAIL CALIBRATE` has measured, in a file beside the statistics of a store, for
 * [[ClusterCosts]]. This JVM reads the file once. If the file system does not answer, the built-in constants are used,
 * and the file is tried again some time later.
 *
 * @param clock a clock in nanoseconds
 */
final private[dovetail] class StoredCosts(files: StoreFiles, clock: () => Long = () => System.nanoTime())
    extends StoreState {
  import StoredCosts._

  @volatile private var known   = Option.empty[CostConstants]
  @volatile private var retryAt = Option.empty[Long]

  override def isSaved: Boolean = true
  override def save(): Unit     = ()

  /** The constants of the file, or the built-in ones. */
  def constants: CostConstants =
    known.orElse(if (retryAt.exists(clock() - _ < 0L)) None else Aside(files.place)(_ => load()).flatten)
      .getOrElse(CostConstants())

  def keep(constants: CostConstants): Unit = {
    files.replace(Name)(_.write(CostText.write(constants).getBytes(UTF_8)))
    learn(constants)
  }

  /** Restores the built-in constants, and returns whether there were others. */
  def forget(): Boolean = {
    val there = files.delete(Name)
    learn(CostConstants())
    there
  }

  private def learn(constants: CostConstants): Unit = synchronized { known = Some(constants) }

  private def load(): Option[CostConstants] = {
    val found = read()
    synchronized {
      // constants that were measured or reset meanwhile are newer
      if (known.isEmpty) known = found
      if (known.isEmpty) retryAt = Some(clock() + Aside.TriedAgainAfter)
      known
    }
  }

  /** The constants for as long as this JVM lives; None if the file may be readable later. */
  private def read(): Option[CostConstants] =
    try {
      files.stamp(Name) match {
        case None => Some(CostConstants())
        // a pipe has length 0, too, and would block the reader
        case Some((_, 0L)) => throw new BrokenFile("it is empty")
        // a FileNotFoundException may also mean that this user may not read the file
        case _ =>
          Some(files.open(Name) { in =>
            CostText.read(new String(in.readNBytes(MostBytes), UTF_8), CostConstants())
              .fold(why => throw new BrokenFile(why), identity)
          })
      }
    } catch {
      case e: BrokenFile =>
        warn("", s"is ignored: ${e.getMessage}. Run DOVETAIL CALIBRATE again")
        Some(CostConstants())
      case Survivable(e) =>
        val seconds = TimeUnit.NANOSECONDS.toSeconds(Aside.TriedAgainAfter)
        warn(e.getClass.getName, s"cannot be read: ${e.getMessage}. Dovetail tries it again every $seconds s")
        None
    }

  private def warn(kind: String, what: String): Unit =
    FailOpen.warnOnce(s"costs ${files.directory} $kind", s"The calibration in ${files.directory} $what")
}

private object StoredCosts {
  private val Name = "cluster.costs"

  /** Most bytes of the file that are read: ten times its usual size. */
  private val MostBytes = 4096
}
