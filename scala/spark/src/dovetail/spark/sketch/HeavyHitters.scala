package org.apache.spark.sql.dovetail.sketch

import java.io.DataOutput

import org.apache.spark.sql.catalyst.expressions.XXH64
import org.apache.spark.sql.dovetail.base.{BrokenFile, UnpackedStream}
import org.apache.spark.sql.dovetail.table.Counting
import org.apache.spark.unsafe.Platform

/**
 * Counts of a column's most frequent values; exact, and of all values, as long as there are at most half as many as
 * there are slots.
 *
 * A value is a 64-bit key (itself, or its hash) and, where the key does not tell the value, its bytes. Beyond the
 * capacity the smallest counts are thrown out: Anderson et al., "A high-performance algorithm for identifying frequent
 * items in data streams", IMC 2017 (Misra-Gries with a purge by the median). From then on one value in
 * [[HeavyHitters.Sampled]] is counted, with that weight: a departure that makes the count of a value that fills a share
 * f of n rows uncertain by about sqrt(8 f n), which is 1.6 % of it for one in a thousand of 30 million.
 */
final class HeavyHitters(hashed: Boolean, slotBits: Int) {
  import HeavyHitters._

  private val slots    = 1 << slotBits
  private val capacity = capacityOf(slotBits)

  private val keys    = new Array[Long](slots)
  private val counts  = new Array[Long](slots)
  private val values  = if (hashed) new Array[Array[Byte]](slots) else null
  private var used    = 0
  private var offset  = 0L
  private var purged  = false
  private var taken   = 0L
  private var sampled = false

  /** Every value is here with its exact count. */
  def exact: Boolean = !purged

  /** What a count of [[frequent]] says of the values that there are. */
  def counting: Counting =
    if (!purged) Counting.Exact else if (sampled) Counting.About else Counting.AtLeast(offset / 2)

  /** Distinct values, where exact. */
  def distinct: Int = used

  /** Whether the next value is to be counted, given bits that are random per row. */
  def wants(random: Long): Boolean = !purged || taken < AllCounted || (random & (Sampled - 1)) == 0L

  private def weight(): Long = {
    taken += 1
    if (purged && taken > AllCounted) { sampled = true; Sampled }
    else 1L
  }

  /** Counts a value that is its own key. */
  def add(key: Long): Unit = { count(key, weight()); () }

  /** Counts a value of which `key` is a hash, and returns whether [[remember]] should be given its bytes. */
  def addHash(key: Long): Int = {
    val slot = count(key, weight())
    if (slot >= 0 && values(slot) == null) slot else -1
  }

  def remember(slot: Int, bytes: Array[Byte]): Unit = values(slot) = bytes

  /** The slot of the key, or -1 where it was thrown out again at once. */
  private def count(key: Long, n: Long): Int = {
    val slot = find(key)
    if (counts(slot) == 0L) {
      keys(slot) = key
      used += 1
    }
    counts(slot) += n
    if (used > capacity) { purge(); val again = find(key); if (counts(again) == 0L) -1 else again }
    else slot
  }

  private def find(key: Long): Int = {
    var slot = ((key * Spread) >>> (64 - slotBits)).toInt
    while (counts(slot) != 0L && keys(slot) != key) slot = (slot + 1) & (slots - 1)
    slot
  }

  private def purge(): Unit = {
    val sorted = counts.filter(_ > 0L)
    java.util.Arrays.sort(sorted)
    drop(sorted(sorted.length / 2))
  }

  /** Lowers every count by `by`, and throws out those that come to nothing. */
  private def drop(by: Long): Unit = {
    val old = entries
    java.util.Arrays.fill(counts, 0L)
    if (hashed) java.util.Arrays.fill(values.asInstanceOf[Array[AnyRef]], null)
    used = 0
    offset += by
    purged = true
    old.foreach { e => if (e.count > by) put(e.key, e.count - by, e.bytes) }
  }

  private def put(key: Long, n: Long, bytes: Array[Byte]): Unit = {
    val slot = count(key, n)
    if (hashed && slot >= 0 && values(slot) == null) values(slot) = bytes
  }

  private def entries: Vector[HeavyHitter] =
    (0 until slots).iterator.filter(counts(_) > 0L).map(i =>
      HeavyHitter(keys(i), counts(i), if (hashed) values(i) else null)
    ).toVector

  def merge(that: HeavyHitters): Unit = {
    offset += that.offset
    purged |= that.purged
    sampled |= that.sampled
    that.entries.foreach(e => put(e.key, e.count, e.bytes))
  }

  /** Calls `key` for each value, where all of them are here. */
  def foreachKey(key: Long => Unit): Unit = entries.foreach(e => key(e.key))

  /**
   * Most frequent first, ties by key. Where not exact, only those whose count is certain to within a factor of two.
   *
   * A count is too low by 0 to `offset`: the middle is taken.
   */
  def frequent: Vector[HeavyHitter] = {
    val least   = math.max(offset, if (sampled) LeastSampled else 0L)
    val certain = if (exact) entries else entries.filter(_.count >= least)
    certain.map(e => e.copy(count = e.count + offset / 2)).sortBy(e => (-e.count, e.key)).take(if (exact) capacity
    else Kept)
  }

  /** Of a key that is the hash of its bytes, the bytes alone. */
  def write(out: DataOutput): Unit = {
    // what could only matter together with other files' halves of it is not worth its place
    val kept   = if (exact) entries else entries.sortBy(e => (-e.count, e.key)).take(Kept)
    val lowest = if (exact || used <= Kept) 0L else kept.last.count
    val sure   = kept.filter(_.count > lowest).sortBy(_.key)
    out.writeByte(if (!purged) 0 else if (sampled) Purged else Purged | Counted)
    out.writeLong(offset + lowest)
    out.writeInt(sure.size)
    Bytes.writeWords(out, sure.map(_.count - lowest).toArray)
    if (hashed) sure.foreach(e => Bytes.write(out, Option(e.bytes)))
    Bytes.writeWords(out, (if (hashed) sure.filter(_.bytes == null) else sure).map(_.key).toArray)
  }

  private def readFrom(in: UnpackedStream, version: Int): this.type = {
    val flags = in.readUnsignedByte()
    if (flags > (Purged | Counted)) throw new BrokenFile("frequent values are of no known kind")
    purged = (flags & Purged) != 0
    sampled = purged && (flags & Counted) == 0
    taken = AllCounted
    offset = in.amount(MostCount)
    val n = in.count(capacity, EntryBytes)
    if (version == 1) (0 until n).foreach(_ => entered(in.readLong(), in.readLong(), bytesOf(in)))
    else {
      val counts = in.words(n)
      val bytes  = if (hashed) Array.fill(n)(bytesOf(in)) else new Array[Array[Byte]](n)
      val keys   = in.words(bytes.count(_ == null)).iterator
      (0 until n).foreach(i => entered(if (bytes(i) == null) keys.next() else keyOf(bytes(i)), counts(i), bytes(i)))
    }
    this
  }

  private def bytesOf(in: UnpackedStream): Array[Byte] = if (hashed) in.array(LongestValue).orNull else null

  private def entered(key: Long, n: Long, bytes: Array[Byte]): Unit = {
    if (n <= 0L || n > MostCount) throw new BrokenFile(s"a frequent value occurs $n times")
    put(key, n, bytes)
  }
}

object HeavyHitters {

  /** @param bytes of the value; null where the key is the value, or where it was too long to keep */
  final case class HeavyHitter(key: Long, count: Long, bytes: Array[Byte])

  /** The key of a value that is known by its bytes. */
  def keyOf(bytes: Array[Byte]): Long =
    XXH64.hashUnsafeBytes(bytes, Platform.BYTE_ARRAY_OFFSET.toLong, bytes.length, ColumnSketch.Seed)

  /**
   * Half of the slots, so that probing stays short. Of n values, one that comes more than 2 n / capacity times is never
   * lost.
   */
  def capacityOf(slotBits: Int): Int = 1 << (slotBits - 1)

  /** 512 values and 16 to 24 KiB per column. */
  val SlotBits = 10

  /** 64 values and 2 to 3 KiB per column, where there are very many columns. */
  val FewSlotBits = 7

  /** Entries of an inexact list that are stored, and shown: beyond them frequencies are too low to matter to a join. */
  private val Kept = 128

  /** A power of two. */
  private val Sampled = 8L

  /** Values of a part that are all counted, which takes some milliseconds: in small tables samples are too rough. */
  private val AllCounted = 1L << 15

  /**
   * A count of sampled values that is certain to within a factor of two: 36 of them. A value of half as many rows comes
   * 18 times, and 36 times in one case of ten thousand.
   */
  private val LeastSampled = 36L * Sampled

  /** Bits of the byte by which a list begins in a file. */
  private val Purged  = 1
  private val Counted = 2

  /**
   * An odd number with well mixed bits (the golden ratio times 2 to the 64th), for Fibonacci hashing of keys that are
   * values.
   */
  private val Spread = 0x9e3779b97f4a7c15L

  def read(in: UnpackedStream, hashed: Boolean, slotBits: Int, version: Int): HeavyHitters =
    new HeavyHitters(hashed, slotBits).readFrom(in, version)

  /** Bytes of the longest value that is kept: longer ones are text, which does not repeat. */
  val LongestValue = 256

  /** Bytes of an entry without its value's: its count, and its key or the length of the value. */
  private val EntryBytes = 12

  /** A count is of rows, or of eight times as many where they are sampled. */
  private val MostCount = Sampled * TableSketch.MostRows

  /**
   * Bytes that a list takes in a file at most: whether it is complete, its offset and its number, then entries with a
   * length and a value each.
   */
  def mostBytes(hashed: Boolean, slotBits: Int): Int =
    1 + 8 + 4 + capacityOf(slotBits) * (8 + 8 + (if (hashed) 4 + LongestValue else 0))
}
