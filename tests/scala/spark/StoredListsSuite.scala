package org.apache.spark.sql.dovetail

import java.io.{EOFException, IOException}
import java.nio.file.{Files, Path, Paths}

import scala.util.{Failure, Try}

import com.fasterxml.jackson.databind.node.JsonNodeFactory
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path => HadoopPath}
import org.apache.spark.sql.dovetail.base.BoundedJson
import org.apache.spark.sql.dovetail.store.{JsonList, StoreFiles}

/** Lists in files of the store, such as pins: what is saved, and what faults of the file system leave of them. */
class StoredListsSuite extends DovetailSuite {

  private def names(directory: Path): Vector[String] = {
    val list = Files.list(directory)
    try list.toArray.toVector.map(_.asInstanceOf[Path].getFileName.toString).sorted
    finally list.close()
  }

  test("while a list cannot be written: what it leaves out stays in the file, and what was removed does not") {
    withList { (here, opened) =>
      assert(here.add(Vector("a", "b", "c", "d")).isEmpty)
      whileReadOnly(assert(here.change(_.filterNot(_ == "a")).isDefined && here.remove(_ == "b").isDefined))
      assert(here.all == Vector("a", "c", "d") && opened().all == Vector("a", "b", "c", "d"))
      assert(here.remove(_ == "b").isEmpty && opened().all == Vector("a", "c", "d"), "as soon as it can be written")
    }
  }

  test("after a failed write only the changes are unsaved: what another application removes does not come back") {
    withList { (here, opened) =>
      assert(here.add(Vector("a", "b")).isEmpty)
      whileReadOnly(assert(here.add(Vector("b", "c")).isDefined))
      val places = here.all.map(here.place)
      assert(places == Vector(here.file, here.file, "this application") && !here.isSaved)
      assert(opened().remove(_ == "a").isEmpty)
      assert(here.add(Vector("d")).isEmpty && here.isSaved)
      assert(opened().all == Vector("b", "c", "d") && here.all == opened().all)
    }
  }

  test("an empty change of a store that cannot be written needs no write") {
    withList((here, _) => whileReadOnly(assert(here.remove(_ => true).isEmpty)))
  }

  /** Runs a test on a list in a file, and on the same list as another application opens it. */
  private def withList(body: (JsonList[String], () => JsonList[String]) => Unit): Unit = withDirectory { d =>
    withConf(WatchedFileSystem.setting) {
      val path  = new HadoopPath(s"${WatchedFileSystem.Scheme}:$d")
      val files = new StoreFiles(path, spark.sessionState.newHadoopConf())
      body(list(files), () => list(files))
    }
  }

  private def whileReadOnly(body: => Unit): Unit = {
    WatchedFileSystem.readOnly = true
    try body
    finally WatchedFileSystem.readOnly = false
  }

  private def list(files: StoreFiles) = new JsonList[String](files, "list.json", "Entries", (text: String) => text)(
    all => all.foldLeft(JsonNodeFactory.instance.arrayNode())(_ add _),
    json => BoundedJson.elements(json).map(_.asText)
  )

  test("a list that no reader would accept is not written, and the others stay") {
    withDirectory { d =>
      val files = new StoreFiles(new HadoopPath(d.toString), new Configuration())
      val here  = list(files)
      assert(here.add(Vector("a")).isEmpty)
      val why = here.add(Vector("x" * (17 << 20)))
      assert(why.exists(w => w.contains("is left as it is") && w.contains("more than")), why)
      assert(list(files).all == Vector("a"))
      assert(here.remove(_.startsWith("x")).isEmpty && here.add(Vector("b")).isEmpty)
      assert(list(files).all == Vector("a", "b"))
    }
  }

  test("a file that cannot take the place of the old one leaves the old one") {
    withDirectory { d =>
      withConf(WatchedFileSystem.setting) {
        val files = new StoreFiles(
          new HadoopPath(s"${WatchedFileSystem.Scheme}:$d"),
          spark.sessionState.newHadoopConf()
        )
        assert(list(files).add(Vector("a")).isEmpty)
        for (fails <- Seq[() => Boolean](() => false, () => throw new java.io.IOException("lost"))) {
          var left = 1
          WatchedFileSystem.renames = to =>
            if (to.getName != "list.json" || left == 0) true else { left -= 1; fails() }
          try assert(list(files).add(Vector("b")).isDefined && left == 0)
          finally WatchedFileSystem.renames = _ => true
          assert(list(files).all == Vector("a") && names(d).forall(!_.endsWith(".tmp")), names(d))
        }
        assert(list(files).add(Vector("b")).isEmpty && list(files).all == Vector("a", "b"))
      }
    }
  }

  test("a fault of the file system or of memory leaves what was read before, and the next look reads again") {
    withDirectory { d =>
      def onDisk(conf: Configuration) = new StoreFiles(new HadoopPath(d.toString), conf)
      val here                        = list(onDisk(WatchedDisk.configuration))
      def others                      = list(onDisk(new Configuration()))
      val faults                      = Seq[() => Throwable](
        () => new IOException("503 Slow Down"),
        () => new EOFException("End of File Exception between local host and name node"),
        () => new IllegalStateException("Connection pool shut down"),
        () => new OutOfMemoryError("unable to create native thread")
      )
      LogCapture("dovetail")(faults.zipWithIndex.foreach { case (fault, i) =>
        val before = here.all
        assert(others.add(Vector(s"entry $i")).isEmpty)
        WatchedFileSystem.beforeOpen = _ => throw fault()
        try assert(here.all == before && here.problem.isDefined, fault())
        finally WatchedFileSystem.beforeOpen = _ => ()
        assert(here.all == others.all && here.all.size == i + 1 && here.problem.isEmpty, fault())
      })
    }
  }

  test("a change that waits for another writer keeps no reader waiting; if it is interrupted, it takes no effect") {
    withList { (here, opened) =>
      assert(here.add(Vector("a")).isEmpty)
      val lock = Paths.get(new HadoopPath(here.file).getParent.toUri.getPath).resolve(".dovetail.lock")
      Files.createFile(lock)
      @volatile var ended = Option.empty[Try[Option[String]]]

      /** Adds an entry in another thread, which waits for the lock when this returns. */
      def adding(entry: String): Thread = {
        val thread = new Thread(() => {
          val result =
            try Try(here.add(Vector(entry)))
            catch { case e: InterruptedException => Failure(e) }
          ended = Some(result)
        })
        thread.start()
        while (thread.getState != Thread.State.TIMED_WAITING) Thread.onSpinWait()
        thread
      }
      val first = adding("b")
      assert(here.all == Vector("a", "b") && opened().all == Vector("a") && first.isAlive)
      first.interrupt()
      first.join()
      assert(ended.exists(_.failed.toOption.exists(_.isInstanceOf[InterruptedException])), ended)
      assert(here.all == Vector("a") && here.isSaved)
      val second = adding("c")
      Files.delete(lock)
      second.join()
      assert(ended.exists(_.toOption.exists(_.isEmpty)), ended)
      assert(here.isSaved && here.all == Vector("a", "c") && opened().all == Vector("a", "c"))
    }
  }

  test("a local file is on the disk before it takes the place of the old one, if the file system can tell") {
    withDirectory { d =>
      val here       = list(new StoreFiles(new HadoopPath(d.toString), WatchedDisk.configuration))
      val (_, calls) = WatchedFileSystem.during(assert(here.add(Vector("a")).isEmpty))
      val bytes      = Files.size(d.resolve("list.json"))
      assert(bytes > 0L && calls.containsSlice(Seq(s"sync of $bytes bytes", "rename to list.json")), calls)
      WatchedFileSystem.beforeSync = () => throw new UnsupportedOperationException("hsync")
      try assert(here.add(Vector("b")).isEmpty)
      finally WatchedFileSystem.beforeSync = () => ()
      assert(here.all == Vector("a", "b"))
    }
  }
}
