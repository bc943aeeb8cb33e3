package org.apache.spark.sql.dovetail.collect

import java.io.{DataInput, DataOutput}

import org.apache.datasketches.kll.KllDoublesSketch
import org.apache.datasketches.memory.Memory

/**
 * Quantiles of a column's values on the number line, from all of them.
 *
 * Karnin, Lang, Liberty, "Optimal quantile approximation in streams", FOCS 2016, as Apache DataSketches has it; Spark ships that library. This is the only
 * place that touches it, and only calls that are the same in every version from Spark 3.5 to 4.2. Its bytes are the same in all of them but for one bit.
 */
final class Quantiles private (private val sketch: KllDoublesSketch) {
  import Quantiles._

  def this() = this(KllDoublesSketch.newHeapInstance(Quantiles.K))

  /** Infinite values and NaN have no place on the number line. */
  def add(value: Double): Unit = if (value - value == 0.0) sketch.update(value)

  def merge(that: Quantiles): Unit = if (!that.isEmpty) sketch.merge(that.sketch)

  def isEmpty: Boolean = sketch.isEmpty

  /** Equi-depth bounds, lowest and highest value included; empty where there are no values. */
  def bounds: Vector[Double] = if (isEmpty) Vector.empty else sketch.getQuantiles(Ranks).toVector

  def write(out: DataOutput): Unit = Bytes.write(
    out,
    if (isEmpty) None
    else {
      val bytes = sketch.toByteArray
      bytes(FlagsByte) = (bytes(FlagsByte) | DoublesFlag).toByte
      Some(bytes)
    }
  )
}

object Quantiles {

  /** Items in the largest level: ranks are off by at most 1.33 %, with a confidence of 99 %. */
  private val K = 200

  /** Bins are not narrower than the error of a rank. */
  val Bins = 100

  /** Version 3.3 of the library (Spark 3.5) demands a flag for doubles, which version 6 neither sets nor looks at. */
  private val FlagsByte   = 3
  private val DoublesFlag = 8

  private val Ranks: Array[Double] = Array.tabulate(Bins + 1)(_.toDouble / Bins)

  def read(in: DataInput): Quantiles = Bytes.read(in).fold(new Quantiles)(b => new Quantiles(KllDoublesSketch.heapify(Memory.wrap(b))))
}
