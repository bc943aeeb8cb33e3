package org.apache.spark.sql.dovetail

import java.io.IOException
import java.nio.file.attribute.FileTime
import java.nio.file.{Files, Path}
import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicBoolean
import java.util.concurrent.locks.ReentrantLock

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path => HadoopPath}
import org.apache.spark.sql.dovetail.store.{StoreFiles, StoreLock}

/** The lock of a store's directory: writers that were killed, other clocks, other names of the directory. */
class StoreLockSuite extends DovetailSuite {

  private def lockFile(d: Path): Path = d.resolve(".dovetail.lock")

  /**
   * A writer on a file system whose lock is a file. Its clock goes on by two seconds whenever it looks at the clock.
   *
   * @param at called at each look with the seconds since the start
   */
  private class Writer(d: Path, at: Long => Unit = _ => ()) {
    @volatile var seconds = 0L

    private val directory = new HadoopPath(s"${WatchedFileSystem.Scheme}:$d")

    val lock = new StoreLock(
      withConf(WatchedFileSystem.setting)(StoreFiles.fileSystem(directory, spark.sessionState.newHadoopConf())),
      directory,
      local = false,
      clock = () => { seconds += 2L; at(seconds); TimeUnit.SECONDS.toNanos(seconds) }
    )
  }

  test("a writer that took too long does not release the lock of its successor") {
    withDirectory { d =>
      val file   = lockFile(d)
      val writer = new Writer(d)
      assert(writer.lock(Files.exists(file)) && !Files.exists(file))
      writer.lock(Files.setLastModifiedTime(file, FileTime.fromMillis(1000)))
      assert(Files.exists(file))
      // nobody writes any more, so the writer of this file counts as dead
      assert(writer.lock(Files.exists(file)) && !Files.exists(file))
    }
  }

  test("a lock file is taken over when it has stayed for ten seconds, whatever the clock of the file system says") {
    withDirectory { d =>
      Seq(FileTime.fromMillis(1000), FileTime.fromMillis(System.currentTimeMillis() + 1000000L)).foreach { time =>
        Files.setLastModifiedTime(Files.createFile(lockFile(d)), time)
        val writer = new Writer(d)
        writer.lock {
          assert(writer.seconds > 10L && writer.seconds < 20L, time)
          assert(Files.getLastModifiedTime(lockFile(d)) != time, "it is the writer's own file")
        }
        assert(!Files.exists(lockFile(d)))
      }
    }
  }

  test("lock files of writers that follow each other are none that stays") {
    withDirectory { d =>
      Files.createFile(lockFile(d))
      val writer = new Writer(d, s => { Files.setLastModifiedTime(lockFile(d), FileTime.fromMillis(s)); () })
      writer.lock(assert(writer.seconds > 20L))
      assert(Files.getLastModifiedTime(lockFile(d)).toMillis == writer.seconds)
    }
  }

  test("a file that another writer has created and not closed yet is a lock, whatever exception tells so") {
    withDirectory { d =>
      Files.createFile(lockFile(d))
      // as HDFS does, whose exception is no FileAlreadyExistsException
      WatchedFileSystem.beforeCreate = _ =>
        if (Files.exists(lockFile(d))) throw new IOException("AlreadyBeingCreatedException")
      try {
        val writer = new Writer(d, s => if (s == 8L) Files.delete(lockFile(d)))
        assert(writer.lock(writer.seconds >= 8L && Files.exists(lockFile(d))))
        assert(!Files.exists(lockFile(d)))
        // where no file can be created, nobody waits for a lock
        WatchedFileSystem.beforeCreate = _ => throw new IOException("no space left")
        val without = new Writer(d)
        without.lock(assert(without.seconds <= 2L && !Files.exists(lockFile(d))))
      } finally WatchedFileSystem.beforeCreate = _ => ()
    }
  }

  test("two names of one local directory: no thread opens the lock's file while another one holds it") {
    withDirectory { d =>
      val real          = Files.createDirectory(d.resolve("real"))
      val link          = Files.createSymbolicLink(d.resolve("link"), real)
      def lock(p: Path) = {
        val directory = new HadoopPath(p.toString)
        new StoreLock(StoreFiles.fileSystem(directory, new Configuration()), directory, local = true)
      }
      val ran   = new AtomicBoolean
      val other = new Thread(() => lock(link)(ran.set(true)))
      lock(real) {
        other.start()
        while (other.getState != Thread.State.TIMED_WAITING) Thread.onSpinWait()
        // closing the file would release the lock of the operating system, which belongs to the process
        val stack = other.getStackTrace
        assert(stack.exists(_.getClassName == classOf[ReentrantLock].getName) && !ran.get, stack.toSeq)
      }
      other.join()
      assert(ran.get)
    }
  }
}
