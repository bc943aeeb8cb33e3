package org.apache.spark.sql.dovetail

import java.nio.file.Path

/** JVMs that run a test program beside this one, to be killed: [[StoreWriter]], [[HistoryWriter]]. */
object WriterProcess {

  /** A writer that has written nothing after this time has not started at all. */
  val StartSeconds = 120L

  /** Exit code of a process that was killed by SIGKILL. */
  val Killed: Int = 128 + 9

  /** Starts the main method of `program`, which logs to `log`. */
  def start(program: AnyRef, log: Path, arguments: String*): Process = new ProcessBuilder(
    Seq(
      s"${System.getProperty("java.home")}/bin/java",
      "-Xmx256m",
      "-XX:TieredStopAtLevel=1",
      "-cp",
      System.getProperty("java.class.path"),
      program.getClass.getName.stripSuffix("$")
    ) ++ arguments: _*
  ).redirectErrorStream(true).redirectOutput(log.toFile).start()
}
