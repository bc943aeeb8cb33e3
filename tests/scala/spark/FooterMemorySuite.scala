package org.apache.spark.sql.dovetail.footers

import java.nio.file.Files
import java.util.concurrent.{CountDownLatch, TimeUnit}

import scala.collection.mutable

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.dovetail.TestSession
import org.apache.spark.sql.dovetail.base.SharedMemory
import org.scalatest.funsuite.AnyFunSuite

/** All footers that are parsed at the same time share a part of the driver's memory. */
class FooterMemorySuite extends AnyFunSuite {
  private val Second = 1000000000L

  /** Bytes of a footer that takes more than half of the memory for footers of any heap. */
  private lazy val large: Long = {
    val sizes = Iterator.iterate(1024L)(_ * 2L).takeWhile(n => fits(n)).toVector
    sizes.last
  }

  private def fits(bytes: Long): Boolean =
    try FooterMemory.within(System.nanoTime() + Second) { admit => admit(bytes); true }
    catch { case SharedMemory.TooLarge => false }

  test("a footer that is larger than all of the memory is refused at once") {
    assert(fits(large) && !fits(large * 2L) && !fits(Int.MaxValue.toLong))
  }

  test("a footer waits for the memory of another one, and no longer than it may") {
    val (began, end) = (new CountDownLatch(1), new CountDownLatch(1))
    val other        = new Thread(() =>
      FooterMemory.within(System.nanoTime() + Second) { admit =>
        admit(large); began.countDown(); end.await(30L, TimeUnit.SECONDS); ()
      }
    )
    other.start()
    began.await()
    try {
      val late = System.nanoTime() + Second / 10L
      assertThrows[SharedMemory.NoFreeMemory.type](FooterMemory.within(late)(admit => admit(large)))
      assert(System.nanoTime() - late >= 0L)
      // small ones pass beside it
      assert(FooterMemory.within(late) { admit => admit(10L); true })
    } finally end.countDown()
    other.join()
    assert(fits(large), "what was taken is given back")
  }

  test("what is taken is given back after a failure") {
    for (_ <- 1 to 5) intercept[IllegalStateException](FooterMemory.within(System.nanoTime() + Second) { admit =>
      admit(large); if (large > 0L) throw new IllegalStateException("broken")
    })
    assert(fits(large))
  }

  test("the tail of an ORC file asks for memory before it is read; a refusal is not the fault of the file") {
    val spark     = TestSession.spark
    val directory = Files.createTempDirectory(TestSession.directory, "tails").resolve("t").toString
    val columns   = (0 until 1500).map(i => s"hash(id, $i) c$i")
    spark.range(0, 10, 1, 1).selectExpr(columns: _*).write.orc(directory)
    val conf = spark.sessionState.newHadoopConf()
    val file = new Path(directory).getFileSystem(conf).listStatus(new Path(directory)).filter(_.getLen > 0L).last
    def footer(admit: Long => Unit) = OrcFooters.footer(file, conf, admit)
    val admitted                    = mutable.ArrayBuffer.empty[Long]
    val found                       = footer(n => { admitted += n; () })
    assert(found.columns.size == 1500 && found.groups.map(_.rows) == Vector(10L))
    // what a reader fetches first does not have all of it
    assert(admitted.size == 2 && admitted(1) > admitted(0), admitted)
    assertThrows[SharedMemory.TooLarge.type](footer(n => if (n > admitted(0)) throw SharedMemory.TooLarge))
  }
}
