package org.apache.spark.sql.dovetail

import java.io.{ByteArrayOutputStream, DataOutputStream}
import java.lang.management.ManagementFactory
import java.nio.ByteBuffer
import java.nio.file.{Files, Path, Paths}
import java.util.zip.CRC32

import scala.util.Random

import com.github.luben.zstd.{Zstd, ZstdInputStream, ZstdOutputStream}
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path => HadoopPath}
import org.apache.spark.sql.dovetail.steer.Pins
import org.apache.spark.sql.dovetail.store.{StatisticsStore, StoredTable, StoreFiles}
import org.scalatest.BeforeAndAfterAll

/**
 * Malicious files with correct checksums: reading them gives nothing or sensible statistics, and takes no more memory
 * than their format has room for, whatever sizes they claim. The tests measure the memory that the reading thread
 * allocates, so that the load of the machine does not matter.
 */
class HostileFilesSuite extends DovetailSuite with BeforeAndAfterAll {
  import HostileFilesSuite._

  override def beforeAll(): Unit = { spark; () }

  private val name  = "every_type-ec69ebb5b85d4369.stats"
  private val every = Files.readAllBytes(Paths.get("tests/resources/store/version-1", name))
  private val key   = "file:/data/every_type"
  private val good  = new Pieces(every)

  private def store(directory: Path): StatisticsStore =
    new StatisticsStore(new StoreFiles(new HadoopPath(directory.toString), new Configuration()))

  /** Reads a file as a query does, and uses everything that is found. */
  private def look(directory: Path, bytes: Array[Byte]): (Option[StoredTable], Long) = {
    Files.write(directory.resolve(name), bytes)
    allocated {
      val found = store(directory).find(key)
      found.foreach { t =>
        t.statistics.columns.foreach(c => c.frequencies.foreach(_.hashCode))
        t.statistics.sample.foreach(s => s.rows.foreach(_.toSeq(s.schema).foreach(v => if (v != null) v.toString)))
        t.header.parts.foreach(p => store(directory).sketches(t, Seq(p))(_ => ()))
      }
      found
    }
  }

  test("any bit of a header or a sketch may be another, under checksums that are right") {
    withDirectory { d =>
      val random                                  = new Random(13)
      def broken(bytes: Array[Byte]): Array[Byte] = {
        val other = bytes.clone()
        (0 to random.nextInt(4)).foreach { _ =>
          val at = random.nextInt(bytes.length)
          if (random.nextBoolean()) other(at) = (other(at) ^ (1 << random.nextInt(8))).toByte
          else ByteBuffer.wrap(other).putInt(math.min(at, bytes.length - 4), Claims(random.nextInt(Claims.size)))
        }
        if (random.nextInt(10) == 0) other.take(random.nextInt(other.length)) else other
      }
      LogCapture("dovetail") {
        (0 until Rounds).foreach { i =>
          val (_, bytes) =
            look(d, if (i % 2 == 0) good.withHeader(broken(good.header)) else good.withWhole(broken(good.whole)))
          assert(bytes < MostMemory, s"round $i asked for $bytes bytes")
        }
      }
      assert(
        look(d, good.withHeader(good.header))._1.exists(_.statistics.rows == 600),
        "the pieces are put together as they were"
      )
    }
  }

  test("every number of a header may claim ten million of whatever it counts") {
    withDirectory { d =>
      LogCapture("dovetail") {
        for (
          at    <- (0 until good.header.length - 4).filter(i => i < 40 || i > good.header.length - 140);
          claim <- Seq(10000000)
        ) {
          val header = good.header.clone()
          ByteBuffer.wrap(header).putInt(at, claim)
          val (_, bytes) = look(d, good.withHeader(header))
          assert(bytes < MostMemory, s"$claim at $at asked for $bytes bytes")
        }
      }
    }
  }

  test("a small file that unpacks to half a gigabyte: in the header, in a sketch, or by the window that it asks for") {
    withDirectory { d =>
      val zeros = packedZeros(512 << 20)
      assert(zeros.length < 100000)
      val bombs =
        Seq("header" -> good.withPacked(zeros, good.packedWhole), "sketch" -> good.withPacked(good.packedHeader, zeros))
      bombs.foreach { case (where, file) =>
        val ((found, bytes), warnings) = LogCapture("dovetail")(look(d, file))
        assert(
          found.isEmpty && warnings.size == 1 && warnings.head.contains("unpack to more than"),
          s"$where: $warnings"
        )
        assert(bytes < 4L * MostMemory, s"$where asked for $bytes bytes")
      }
    }
  }

  test(
    "a schema that is deep, names a class to be loaded, or is no schema of flat columns is refused before Spark " +
      "reads it"
  ) {
    withDirectory { d =>
      val deep   = "{\"type\":\"struct\",\"fields\":" + "[" * 100000
      val nested = "{\"type\":\"array\",\"elementType\":" * 20000 + "\"long\"" + "}" * 20000
      val loads  =
        s"""{"type":"struct","fields":[{"name":"a","type":{"type":"udt","class":"${classOf[LoadProbe].getName}"},""" +
          """"nullable":true,"metadata":{}}]}"""
      val (_, warnings) = LogCapture("dovetail")(Seq(deep, nested, loads, "\"long\"", "", "[]").foreach { schema =>
        val (found, bytes) = look(d, good.withHeader(good.headerWith(schema)))
        assert(found.isEmpty && bytes < MostMemory, schema.take(40))
      })
      assert(!LoadProbe.loaded && warnings.nonEmpty)
    }
  }

  test("a schema of a newer Spark is not broken: the statement that replaces the file tells the user") {
    def schema(column: String)        = s"""{"type":"struct","fields":[{"name":"a",$column}]}"""
    def newer(column: String): String = withDirectory { d =>
      val header    = good.withHeader(good.headerWith(schema(column)))
      val (_, told) = LogCapture("dovetail")(assert(look(d, header)._1.isEmpty))
      assert(told.size == 1, told)
      store(d).newer(key).fold("")(_.replaced)
    }
    val ofSpark = "a newer version of Spark wrote (types of columns"
    assert(newer(""""type":"lidar","nullable":true,"metadata":{}""").contains(ofSpark))
    val collated = newer(""""type":"string","nullable":true,"metadata":{"__COLLATIONS":{"a":"spark.UTF8_LCASE"}}""")
    assert(collated.contains(ofSpark) == spark.version.startsWith("3."), collated)
    assert(newer(""""type":"long","nullable":true,"metadata":{}""").isEmpty)
  }

  test("a broken file is read once, not once per query; and what is no file is not opened") {
    withDirectory { d =>
      withConf(WatchedFileSystem.setting) {
        val files =
          new StoreFiles(new HadoopPath(s"${WatchedFileSystem.Scheme}:$d"), spark.sessionState.newHadoopConf())
        Files.write(d.resolve(name), good.withHeader(good.header.take(100)))
        val here = new StatisticsStore(files)
        LogCapture("dovetail") {
          val (_, calls) = WatchedFileSystem.during((0 until 20).foreach(_ => assert(here.find(key).isEmpty)))
          assert(calls.count(_.startsWith("open")) == 1, calls)
        }
      }
      // a reader that opens a pipe waits for a writer
      Files.delete(d.resolve(name))
      Seq(name, "pins.json").foreach(n =>
        assert(new ProcessBuilder("mkfifo", d.resolve(n).toString).start().waitFor() == 0)
      )
      LogCapture("dovetail") {
        val here = store(d)
        assert(here.find(key).isEmpty && here.newer(key).isEmpty && new Pins(here.files).all.isEmpty)
      }
    }
  }

  test("pins that are deep, many, long or cut are no pins, one warning, and little memory") {
    withDirectory { d =>
      val files = Seq(
        "{\"version\":1,\"pins\":" + "[" * 1000000,
        "{\"version\":1,\"pins\":[" + "{}," * 3000000 + "{}]}",
        "{\"version\":1,\"pins\":[{\"name\":\"" + "x" * (20 << 20) + "\"}]}",
        "{\"version\":1,\"pins\":[{\"na",
        "{\"version\":99999999999999999999999999}",
        ""
      )
      files.foreach { content =>
        Files.write(d.resolve("pins.json"), content.getBytes("UTF-8"))
        val pins            = new Pins(new StoreFiles(new HadoopPath(d.toString), new Configuration()))
        val (bytes, warned) =
          LogCapture("dovetail")(allocated((0 until 20).foreach(_ => assert(pins.all.isEmpty)))._2)
        assert(pins.look._2.isDefined && warned.size <= 1, content.take(60))
        assert(bytes < 4L * MostMemory, s"${content.take(60)} asked for $bytes bytes")
      }
    }
  }

  test("a broken part costs its own files' reading when the table is analyzed again, and no query") {
    withDirectory { d =>
      withConf("spark.dovetail.store.path" -> d.toString, "spark.dovetail.store.writeBack" -> "false") {
        withTables("t") {
          spark.range(0, 4000, 1, 4).selectExpr(
            "id",
            "CAST(id % 4 AS INT) p"
          ).repartition(4).write.partitionBy("p").saveAsTable("t")
          spark.sql("DOVETAIL ANALYZE TABLE t").collect()
          val list = Files.list(d)
          val file =
            try list.toArray.toSeq.map(_.asInstanceOf[Path]).find(_.toString.endsWith(StoreFiles.Suffix)).get
            finally list.close()
          val pieces = new Pieces(Files.readAllBytes(file))
          Files.write(file, pieces.withFirstPart(packedZeros(64 << 20)))
          val sql           = "SELECT count(*) FROM t WHERE p < 2"
          val (_, warnings) = LogCapture("dovetail")((0 until 3).foreach(_ =>
            assert(spark.sql(s"$sql AND id >= 0").head().getLong(0) == 2000)
          ))
          assert(warnings.size <= 1, warnings)
          val again = spark.sql("DOVETAIL ANALYZE TABLE t").head()
          assert(again.getLong(1) == 4000 && again.getInt(3) > 0 && again.getInt(4) > 0)
        }
      }
    }
  }
}

object HostileFilesSuite {
  private val Rounds = 200

  /** Memory that reading a file of some kilobytes may allocate: its sketches, twice, and what the first read loads. */
  private val MostMemory = 48L << 20

  private val Claims = Vector(-1, 0, 1, Int.MaxValue, Int.MinValue, 10000000, 65536)

  private val threads = ManagementFactory.getThreadMXBean.asInstanceOf[com.sun.management.ThreadMXBean]

  /** Returns the result of the body, and the bytes that this thread allocated meanwhile. */
  private def allocated[A](body: => A): (A, Long) = {
    val before = threads.getThreadAllocatedBytes(Thread.currentThread.getId)
    val result = body
    (result, threads.getThreadAllocatedBytes(Thread.currentThread.getId) - before)
  }

  private def packedZeros(n: Int): Array[Byte] = {
    val bytes = new ByteArrayOutputStream()
    val out   = new ZstdOutputStream(bytes)
    val block = new Array[Byte](1 << 20)
    (0 until n / block.length).foreach(_ => out.write(block))
    out.close()
    bytes.toByteArray
  }

  private def unpacked(bytes: Array[Byte]): Array[Byte] =
    new ZstdInputStream(new java.io.ByteArrayInputStream(bytes)).readAllBytes()

  private def checksum(bytes: Array[Byte]): Long = { val crc = new CRC32; crc.update(bytes); crc.getValue }

  /** Records whether an instance was created. */
  class LoadProbe  { LoadProbe.loaded = true      }
  object LoadProbe { @volatile var loaded = false }

  /** A statistics file in pieces. Can replace single pieces, with matching lengths and checksums. */
  final class Pieces(file: Array[Byte]) {
    private val length            = ByteBuffer.wrap(file).getInt(12)
    val packedHeader: Array[Byte] = file.slice(24, 24 + length)
    val header: Array[Byte]       = unpacked(packedHeader)
    private val blocks            = file.drop(24 + length)
    private val last              = ByteBuffer.wrap(header, header.length - 20, 20)
    private val offset            = last.getLong().toInt
    val packedWhole: Array[Byte]  = blocks.slice(offset, offset + last.getInt())
    val whole: Array[Byte]        = unpacked(packedWhole)

    def withHeader(header: Array[Byte]): Array[Byte] = put(Zstd.compress(header, 1), blocks)
    def withWhole(whole: Array[Byte]): Array[Byte]   = replaced(Zstd.compress(whole, 1))

    def withPacked(packedHeader: Array[Byte], packedWhole: Array[Byte]): Array[Byte] =
      if (packedHeader eq this.packedHeader) replaced(packedWhole) else put(packedHeader, blocks)

    /** Returns the header with another schema. */
    def headerWith(schema: String): Array[Byte] = {
      val in    = ByteBuffer.wrap(header)
      val text  = (0 until 2).foldLeft(0)((at, _) => at + 4 + in.getInt(at)) + 8
      val bytes = schema.getBytes("UTF-8")
      header.take(text) ++ ByteBuffer.allocate(4).putInt(bytes.length).array ++ bytes ++ header.drop(
        text + 4 + in.getInt(text)
      )
    }

    /** Replaces the block of the first part. The new block goes behind all others, so that these keep their offsets. */
    def withFirstPart(block: Array[Byte]): Array[Byte] = {
      val first = blocks.length.toLong
      val old   = place(0L, findFirst, 0L).array.take(12)
      val at    = header.indexOfSlice(old)
      val other = header.clone()
      place(first, block.length, checksum(block)).array.copyToArray(other, at)
      put(Zstd.compress(other, 1), blocks ++ block)
    }

    /** Length of the first block, which is the offset of the next one. */
    private def findFirst: Int = {
      val ends =
        (0 to header.length - 20).map(i => ByteBuffer.wrap(header, i, 12)).map(b => (b.getLong(), b.getInt())).collect {
          case (0L, n) if n > 100 && n < blocks.length => n
        }
      ends.find(n => header.indexOfSlice(ByteBuffer.allocate(8).putLong(n.toLong).array) >= 0).get
    }

    private def replaced(packed: Array[Byte]): Array[Byte] = {
      val other = header.dropRight(20) ++ place(offset.toLong, packed.length, checksum(packed)).array
      put(Zstd.compress(other, 1), blocks.take(offset) ++ packed)
    }

    private def place(offset: Long, length: Int, sum: Long): ByteBuffer =
      ByteBuffer.allocate(20).putLong(offset).putInt(length).putLong(sum)

    private def put(packedHeader: Array[Byte], blocks: Array[Byte]): Array[Byte] = {
      val bytes = new ByteArrayOutputStream()
      val out   = new DataOutputStream(bytes)
      out.write(file, 0, 12)
      out.writeInt(packedHeader.length)
      out.writeLong(checksum(packedHeader))
      out.write(packedHeader)
      out.write(blocks)
      bytes.toByteArray
    }
  }
}
