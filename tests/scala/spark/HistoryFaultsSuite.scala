package org.apache.spark.sql.dovetail

import java.nio.file.{Files, Path}
import java.nio.file.attribute.FileTime
import java.util.UUID
import java.util.concurrent.TimeUnit

import scala.util.Random

import org.apache.spark.sql.dovetail.store.StoreFiles

/** The history while applications that write it are killed. */
class HistoryFaultsSuite extends DovetailSuite {

  /** Each round starts two JVMs, which takes seconds. */
  private val Rounds = 2

  private def writer(directory: Path, name: String): Process =
    WriterProcess.start(HistoryWriter, directory.resolveSibling(s"$name.log"), directory.toString, name)

  test("two applications write at once and are killed: no entry is lost or goes back, and the file is never broken") {
    withDirectory { d =>
      val directory = d.resolve("store")
      val random    = new Random(5)
      var last      = Map.empty[String, Long]

      /** A new application reads the file. */
      def look(): Unit = {
        val (now, warnings) = LogCapture("dovetail")(HistoryWriter.rows(HistoryWriter.history(directory.toString)))
        assert(!warnings.exists(_.contains(directory.toString)), warnings)
        last.foreach { case (key, rows) =>
          assert(now.get(key).exists(_ >= rows), s"$key: $rows, then ${now.get(key)}")
        }
        last = now
      }
      (0 until Rounds).foreach { round =>
        val names   = Seq(s"a$round", s"b$round")
        val writers = names.map(writer(directory, _))
        try {
          val deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(WriterProcess.StartSeconds)
          def wrote    = names.forall(n => last.keysIterator.count(_.startsWith(n)) >= 2)
          while (!wrote && System.nanoTime() < deadline) { Thread.sleep(5); look() }
          assert(wrote, names.map(n => Files.readString(d.resolve(s"$n.log")).take(2000)))
          Thread.sleep(random.nextInt(40).toLong)
        } finally writers.foreach(_.destroyForcibly().waitFor())
        writers.foreach(p => assert(p.exitValue == WriterProcess.Killed))
        look()
      }

      // what a killed writer was writing is removed by the first write after a day
      val abandoned = directory.resolve(s".history.json.${UUID.randomUUID()}.tmp")
      // files of other programs stay, also if they have names like these
      val foreign = Seq("report.tmp", ".lock", ".history.json.tmp", s".other.${UUID.randomUUID()}.tmp").map(
        directory.resolve(_)
      )
      (abandoned +: foreign).foreach(file =>
        Files.setLastModifiedTime(
          Files.createFile(file),
          FileTime.fromMillis(System.currentTimeMillis() - TimeUnit.HOURS.toMillis(25))
        )
      )
      val mine = HistoryWriter.history(directory.toString)
      HistoryWriter.record(mine, "mine", 1)
      assert(!Files.exists(abandoned) && foreign.forall(Files.exists(_)))
      look()
      assert(last("mine") == 1L && Files.exists(directory.resolve("history.json")))
      assert(!Files.list(directory).anyMatch(_.toString.endsWith(StoreFiles.Suffix)))
    }
  }
}
