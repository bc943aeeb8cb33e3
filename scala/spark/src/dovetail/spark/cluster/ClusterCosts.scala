package org.apache.spark.sql.dovetail.cluster

import java.io.FileNotFoundException
import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.ConcurrentHashMap

import scala.util.control.NonFatal

import dovetail.kernel.cost.{CostConstants, CostText}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.dovetail.base.{DovetailConf, FailOpen}
import org.apache.spark.sql.dovetail.deadline.Aside
import org.apache.spark.sql.dovetail.store.{StatisticsStore, StoreFiles}
import org.apache.spark.sql.internal.SQLConf

/**
 * The constants of the cost model for this cluster. The setting `spark.dovetail.cost.constants` comes first, then the
 * file that `DOVETAIL CALIBRATE` wrote to the store's directory, then the built-in constants. The file is read once per
 * directory and JVM.
 */
object ClusterCosts {
  private val Name  = "cluster.costs"
  private val known = new ConcurrentHashMap[String, CostConstants]()

  def apply(session: SparkSession, conf: SQLConf): CostConstants = {
    val here = stored(session)
    // an invalid value was already refused when it was set
    CostText.read(DovetailConf.CostConstants.get(conf), here).getOrElse(here)
  }

  def keep(session: SparkSession, constants: CostConstants): Unit = {
    val files = StatisticsStore(session).files
    files.replace(Name)(_.write(CostText.write(constants).getBytes(UTF_8)))
    known.put(files.directory.toString, constants)
    ()
  }

  /** Restores the built-in constants, and returns whether there were others. */
  def forget(session: SparkSession): Boolean = {
    val files = StatisticsStore(session).files
    known.remove(files.directory.toString)
    files.delete(Name)
  }

  private def stored(session: SparkSession): CostConstants = {
    val store     = StatisticsStore(session)
    val directory = store.files.directory.toString
    Option(known.get(directory)).orElse(Aside(store.files.place)(_ => {
      val found = read(store.files); known.putIfAbsent(directory, found); found
    }))
      .getOrElse(CostConstants())
  }

  private def read(files: StoreFiles): CostConstants =
    try {
      // a pipe has length 0, too, and would block the reader
      if (files.stamp(Name).exists(_._2 == 0L)) throw new IllegalArgumentException("it is empty")
      files.open(Name) { in =>
        val text = new String(in.readNBytes(MostBytes), UTF_8)
        CostText.read(text, CostConstants()).fold(why => throw new IllegalArgumentException(why), identity)
      }
    } catch {
      case _: FileNotFoundException => CostConstants()
      case NonFatal(e)              =>
        val what =
          s"The calibration in ${files.directory} cannot be used and is ignored: ${e.getMessage}. Run DOVETAIL " +
            "CALIBRATE again"
        FailOpen.warnOnce(s"costs ${files.directory}", what)
        CostConstants()
    }

  /** Most bytes of the file that are read: ten times its usual size. */
  private val MostBytes = 4096
}
