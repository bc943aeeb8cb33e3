package org.apache.spark.sql.dovetail.plan

import org.apache.spark.util.SparkUncaughtExceptionHandler

/**
 * Tells why the JVM ends, for its shutdown hooks: Java tells them neither the exit code nor the reason. The thread that
 * ends the JVM waits in `System.exit` until all hooks are done, so its stack shows who called it. Spark's handler of
 * uncaught exceptions calls it for errors such as running out of memory. All other exits are orderly: the end of the
 * main program, a signal, a call by the program itself.
 */
object FatalExit {

  /** Whether Spark ends this JVM because of an error. Only shutdown hooks may ask. */
  def isUnderWay: Boolean =
    Thread.getAllStackTraces.values.toArray(Array.empty[Array[StackTraceElement]]).exists(isFatal(_))

  /** Whether a thread with this stack ends the JVM because of an error. */
  def isFatal(stack: Array[StackTraceElement]): Boolean =
    stack.exists(f => Exits(f.getClassName) && f.getMethodName == "exit") &&
      stack.exists(_.getClassName.startsWith(classOf[SparkUncaughtExceptionHandler].getName))

  private val Exits = Set("java.lang.System", "java.lang.Runtime")
}
