package org.apache.spark.sql.dovetail.sketch

import java.io.DataOutput

import dovetail.kernel.profile.FibonacciHash
import org.apache.spark.sql.catalyst.expressions.XXH64
import org.apache.spark.sql.dovetail.base.{BrokenFile, UnpackedStream}
import org.apache.spark.sql.dovetail.table.Counting
import org.apache.spark.unsafe.Platform

/**
 * Counts the most frequent values of a column. The counts are exact and include all values, as long as there are at
 * most half as many distinct values as slots.
 *
 * A value is stored as a 64-bit key (the value itself or its hash) and, if the key is a hash, as its bytes. Beyond the
 * capacity, the smallest counts are evicted: Anderson et al., "A high-performance algorithm for identifying frequent
 * items in data streams", IMC 2017 (Misra-Gries with a purge by the median). We depart from the paper after the first
 * purge, beyond `AllCounted` values: only one value in [[HeavyHitters.Sampled]] is counted, with that weight. For a
 * value that fills a share f of n rows, this makes its count uncertain by about sqrt(8 f n), which is 1.6 % of the
 * count if the value fills one in a thousand of 30 million rows.
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

  /** Whether every value is here with its exact count. */
  def exact: Boolean = !purged

  /** How exact the counts of [[frequent]] are. */
  def counting: Counting =
    if (!purged) Counting.Exact else if (sampled) Counting.About else Counting.AtLeast(offset / 2)

  /** Number of distinct values, if the counts are [[exact]]. */
  def distinct: Int = used

  /** Whether to count the next value, given random bits of its row. */
  def wants(random: Long): Boolean = !purged || taken < AllCounted || (random & (Sampled - 1)) == 0L

  private def weight(): Long = {
    taken += 1
    if (purged && taken > AllCounted) { sampled = true; Sampled }
    else 1L
  }

  /** Counts a value that is its own key. */
  def add(key: Long): Unit = { count(key, weight()); () }

  /**
   * Counts a value whose hash is `key`. Returns the slot for which [[remember]] needs the value's bytes, or -1 if none.
   */
  def addHash(key: Long): Int = {
    val slot = count(key, weight())
    if (slot >= 0 && values(slot) == null) slot else -1
  }

  def remember(slot: Int, bytes: Array[Byte]): Unit = values(slot) = bytes

  /** The slot of the key, or -1 if the key was evicted at once. */
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
    var slot = (FibonacciHash(key) >>> (64 - slotBits)).toInt
    while (counts(slot) != 0L && keys(slot) != key) slot = (slot + 1) & (slots - 1)
    slot
  }

  private def purge(): Unit = {
    val sorted = counts.filter(_ > 0L)
    java.util.Arrays.sort(sorted)
    drop(sorted(sorted.length / 2))
  }

  /** Lowers every count by `by`, and evicts the entries that have no count left. */
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

  /** Calls `key` with the key of each entry. If the counts are [[exact]], these are all values. */
  def foreachKey(key: Long => Unit): Unit = entries.foreach(e => key(e.key))

  /**
   * The most frequent values first, ties by key. If the counts are not exact, only values whose count is certain to
   * within a factor of two.
   *
   * A count is too low by 0 to `offset`, so the middle of this range is added.
   */
  def frequent: Vector[HeavyHitter] = {
    val least   = math.max(offset, if (sampled) LeastSampled else 0L)
    val certain = if (exact) entries else entries.filter(_.count >= least)
    certain.map(e => e.copy(count = e.count + offset / 2)).sortBy(e => (-e.count, e.key)).take(if (exact) capacity
    else MostStored)
  }

  /** Writes the entries. If a key is the hash of bytes that are kept, only the bytes are written. */
  def write(out: DataOutput): Unit = {
    // entries beyond [[HeavyHitters.MostStored]] could matter only together with their counts in other files, and are
    // not worth the space
    val kept   = if (exact) entries else entries.sortBy(e => (-e.count, e.key)).take(MostStored)
    val lowest = if (exact || used <= MostStored) 0L else kept.last.count
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

  /** @param bytes bytes of the value; null if the key is the value, or if the value was too long to keep */
  final case class HeavyHitter(key: Long, count: Long, bytes: Array[Byte])

  /** The key of a value that is stored as its bytes. */
  def keyOf(bytes: Array[Byte]): Long =
    XXH64.hashUnsafeBytes(bytes, Platform.BYTE_ARRAY_OFFSET.toLong, bytes.length, ColumnSketch.Seed)

  /**
   * Largest number of values: half of the slots, so that probing stays short. Of n values, a value that occurs more
   * than 2 n / capacity times is never lost.
   */
  def capacityOf(slotBits: Int): Int = 1 << (slotBits - 1)

  /** 512 values and 16 to 24 KiB per column. */
  val SlotBits = 10

  /** 64 values and 2 to 3 KiB per column, for tables with very many columns. */
  val FewSlotBits = 7

  /**
   * Largest number of entries of an inexact list that are stored and returned. Values beyond it are too rare to matter
   * to a join.
   */
  private val MostStored = 128

  /** After the first purge, and beyond [[AllCounted]] values, one value in this many is counted. A power of two. */
  private val Sampled = 8L

  /** Number of values of a part that are all counted, in some milliseconds: samples of small tables are too inexact. */
  private val AllCounted = 1L << 15

  /**
   * Smallest count of sampled values that is certain to within a factor of two: 36 sampled occurrences. A value with
   * half as many rows is sampled 18 times on average, and 36 times in one case of ten thousand.
   */
  private val LeastSampled = 36L * Sampled

  /** Bits of the first byte of a list in a file. */
  private val Purged  = 1
  private val Counted = 2

  def read(in: UnpackedStream, hashed: Boolean, slotBits: Int, version: Int): HeavyHitters =
    new HeavyHitters(hashed, slotBits).readFrom(in, version)

  /** Largest number of bytes of a value that is kept. Longer values are texts, which rarely repeat. */
  val LongestValue = 256

  /** Smallest number of bytes of an entry without its value: its count, and its key or the length of its value. */
  private val EntryBytes = 12

  /** Largest possible count: the number of rows, or eight times as many if rows are sampled. */
  private val MostCount = Sampled * TableSketch.MostRows

  /**
   * Largest number of bytes that a list takes in a file: a byte of flags, the offset, the number of entries, and
   * entries with a count, a key, a length and a value each.
   */
  def mostBytes(hashed: Boolean, slotBits: Int): Int =
    1 + 8 + 4 + capacityOf(slotBits) * (8 + 8 + (if (hashed) 4 + LongestValue else 0))
}
