package org.apache.spark.sql.dovetail.sketch

import org.apache.spark.sql.dovetail.base.BrokenFile

/**
 * Counts distinct values from their 64-bit hashes. A [[ColumnSketch]] has one, and a [[TableSketch]] has one per group
 * of columns.
 *
 * Flajolet et al., "HyperLogLog", AofA 2007, with the estimator of Ertl, "New cardinality estimation algorithms for
 * HyperLogLog sketches", 2017 (algorithm 6), which needs no bias correction at any size. This is our own implementation
 * rather than a library's, because the hash exists already and other statistics use it too.
 */
final class HyperLogLog private (private val registers: Array[Byte]) {
  import HyperLogLog._

  def this() = this(new Array[Byte](HyperLogLog.Registers))

  def add(hash: Long): Unit = {
    val register = (hash >>> MaxRank).toInt
    // the guard bit ends the count of leading zeros where the hash ends
    val rank = (java.lang.Long.numberOfLeadingZeros((hash << IndexBits) | Guard) + 1).toByte
    if (registers(register) < rank) registers(register) = rank
  }

  def merge(that: HyperLogLog): Unit = {
    var i = 0
    while (i < Registers) {
      if (registers(i) < that.registers(i)) registers(i) = that.registers(i)
      i += 1
    }
  }

  def estimate: Double = {
    val histogram = new Array[Int](MaxRank + 2)
    registers.foreach(r => histogram(r) += 1)
    var z = Registers * tau(1.0 - histogram(MaxRank + 1).toDouble / Registers)
    (MaxRank to 1 by -1).foreach(k => z = 0.5 * (z + histogram(k)))
    z += Registers * sigma(histogram(0).toDouble / Registers)
    Registers.toDouble * Registers / (2.0 * math.log(2.0) * z)
  }

  /** The registers themselves, not a copy. */
  def toBytes: Array[Byte] = registers
}

object HyperLogLog {

  /** 4096 registers: a standard error of 1.04 / 64 = 1.6 %, 4 KiB in memory and about 1.5 KiB compressed. */
  private val IndexBits = 12
  private val Registers = 1 << IndexBits
  private val MaxRank   = 64 - IndexBits
  private val Guard     = 1L << (IndexBits - 1)

  /** Relative standard error of an estimate. */
  val StandardError: Double = 1.04 / math.sqrt(Registers.toDouble)

  def fromBytes(bytes: Array[Byte]): HyperLogLog = {
    require(bytes.length == Registers, s"a distinct count of ${bytes.length} registers instead of $Registers")
    if (bytes.exists(r => r < 0 || r > MaxRank + 1))
      throw new BrokenFile("a distinct count has a register that no hash sets")
    new HyperLogLog(bytes)
  }

  val Size: Int = Registers

  private def sigma(share: Double): Double =
    if (share == 1.0) Double.PositiveInfinity
    else {
      var (x, y, z, before) = (share, 1.0, share, Double.NaN)
      while (z != before) { x *= x; before = z; z += x * y; y += y }
      z
    }

  private def tau(share: Double): Double =
    if (share == 0.0 || share == 1.0) 0.0
    else {
      var (x, y, z, before) = (share, 1.0, 1.0 - share, Double.NaN)
      while (z != before) { x = math.sqrt(x); before = z; y *= 0.5; z -= (1.0 - x) * (1.0 - x) * y }
      z / 3.0
    }
}
