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
 * The constants of the cost model that hold here: those set by `spark.dovetail.cost.constants`, else those that
 * `DOVETAIL CALIBRATE` left in the store's directory, else Dovetail's own. The file is read once per directory and JVM.
 */
object ClusterCosts {
  private val Name  = "cluster.costs"
  private val known = new ConcurrentHashMap[String, CostConstants]()

  def apply(session: SparkSession, conf: SQLConf): CostConstants = {
    val here = stored(session)
    // what cannot be read was refused when it was set
    CostText.read(DovetailConf.CostConstants.get(conf), here).getOrElse(here)
  }

  def keep(session: SparkSession, constants: CostConstants): Unit = {
    val files = StatisticsStore(session).files
    files.replace(Name)(_.write(CostText.write(constants).getBytes(UTF_8)))
    known.put(files.directory.toString, constants)
    ()
  }

  /** Dovetail's own constants hold again. Says whether there were others. */
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
      // also a pipe has no length, and would keep its reader waiting
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

  /** Bytes of the file that are read: ten times what one has. */
  private val MostBytes = 4096
}
