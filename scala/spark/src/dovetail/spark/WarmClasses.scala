package org.apache.spark.sql.dovetail

import java.util.concurrent.atomic.AtomicBoolean
import java.util.jar.JarFile

import scala.util.control.NonFatal

import org.apache.spark.sql.SparkSession

/**
 * Loads and links Dovetail's classes once the first session has started, in a thread of low priority: the first query
 * of a JVM would wait for them otherwise. The classes come from the jar that this one is in, by the order of its
 * entries; nothing of them runs but what reads a small file ([[WarmParquet]]). Whatever goes wrong leaves the classes to
 * the first query.
 *
 * Extensions are applied in the middle of a session's start, which takes a second more and keeps two cores busy: on
 * those it would take twice as long beside this thread.
 */
private[dovetail] object WarmClasses {
  private val started = new AtomicBoolean(false)

  /** Starts the thread, once in a JVM. */
  def start(): Unit = if (started.compareAndSet(false, true)) {
    val thread = new Thread(
      () => if (waited(SparkSession.getDefaultSession.isDefined)) { WarmParquet(); load(); () },
      "dovetail-classes"
    )
    thread.setDaemon(true)
    thread.setPriority(Thread.MIN_PRIORITY)
    thread.start()
  }

  /** Whether it was worth to wait: no session after so long, and somebody else has other plans for this JVM. */
  private[dovetail] def waited(ready: => Boolean, times: Int = MostPauses): Boolean =
    try {
      val pauses = Iterator.continually(Thread.sleep(PauseMs)).take(times)
      while (!ready && pauses.hasNext) pauses.next()
      ready
    } catch { case _: InterruptedException => false }

  /** @return classes that are loaded and linked */
  def load(): Int =
    try {
      val loader = getClass.getClassLoader
      classes().count { name =>
        try {
          // to ask for its methods links a class, without running its initializer
          Class.forName(name, false, loader).getDeclaredMethods
          true
        } catch { case _: LinkageError | _: ClassNotFoundException => false }
      }
    } catch { case NonFatal(_) => 0 }

  /** The names of the classes in the jar; none where they are not in a jar. */
  private def classes(): Vector[String] =
    Option(getClass.getProtectionDomain.getCodeSource).map(_.getLocation.toURI).filter(_.getPath.endsWith(".jar"))
      .fold(Vector.empty[String]) { at =>
        val jar   = new JarFile(new java.io.File(at))
        val names = Vector.newBuilder[String]
        try {
          val entries = jar.entries
          while (entries.hasMoreElements) {
            val name = entries.nextElement().getName
            if (name.endsWith(Ending) && Packages.exists(name.startsWith))
              names += name.dropRight(Ending.length).replace('/', '.')
          }
        } finally jar.close()
        names.result()
      }

  /** Milliseconds between two looks for a session: a tenth of what may be added to its start. */
  private val PauseMs = 50L

  /** A minute: sessions take some seconds to start, on a loaded machine ten times that. */
  private val MostPauses = 1200

  private val Ending   = ".class"
  private val Packages = Vector("dovetail/kernel/", "org/apache/spark/sql/dovetail/")
}
