// Time per value of Dovetail's own sketches and of those of Apache DataSketches, which Spark ships: nanoseconds per
// value, warm. `distinct` is the number of distinct values. Run and record the results with
//   python -m dovetail_bench.micro SketchBenchmark
package dovetail.bench

import java.util.concurrent.TimeUnit

import org.apache.datasketches.frequencies.{ItemsSketch, LongsSketch}
import org.apache.datasketches.hll.{HllSketch, TgtHllType}
import org.apache.datasketches.sampling.ReservoirItemsSketch
import org.apache.spark.sql.catalyst.expressions.XXH64
import org.apache.spark.sql.dovetail.sketch.{HeavyHitters, HyperLogLog, RowSample}
import org.apache.spark.unsafe.types.UTF8String
import org.openjdk.jmh.annotations._

@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@OperationsPerInvocation(SketchBenchmark.Values)
@State(Scope.Thread)
@Fork(1)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
class SketchBenchmark {
  import SketchBenchmark._

  @Param(Array("300", "1000000"))
  var distinct: Int = _

  private var numbers: Array[Long]     = _
  private var texts: Array[UTF8String] = _
  private var random: Array[Long]      = _
  private var row: Array[Byte]         = _

  @Setup def prepare(): Unit = {
    val generator = new java.util.SplittableRandom(Seed)
    numbers = Array.fill(Values)(generator.nextLong(distinct.toLong))
    texts = numbers.map(n => UTF8String.fromString(s"value number $n"))
    random = Array.fill(Values)(generator.nextLong(Long.MaxValue))
    row = new Array[Byte](RowBytes)
  }

  @Benchmark def distinctNumbersOurs(): Double = {
    val sketch = new HyperLogLog
    numbers.foreach(n => sketch.add(XXH64.hashLong(n, Seed)))
    sketch.estimate
  }

  @Benchmark def distinctNumbersLibrary(): Double = {
    val sketch = new HllSketch(LogRegisters, TgtHllType.HLL_8)
    numbers.foreach(sketch.update(_))
    sketch.getEstimate
  }

  @Benchmark def distinctTextsOurs(): Double = {
    val sketch = new HyperLogLog
    texts.foreach(t => sketch.add(hash(t)))
    sketch.estimate
  }

  @Benchmark def distinctTextsLibrary(): Double = {
    val sketch = new HllSketch(LogRegisters, TgtHllType.HLL_8)
    texts.foreach(t => sketch.update(t.getBytes))
    sketch.getEstimate
  }

  @Benchmark def frequentNumbersOurs(): Int = {
    val sketch = new HeavyHitters(false, HeavyHitters.SlotBits)
    var i      = 0
    while (i < Values) { if (sketch.wants(random(i))) sketch.add(numbers(i)); i += 1 }
    sketch.distinct
  }

  @Benchmark def frequentNumbersLibrary(): Int = {
    val sketch = new LongsSketch(1 << HeavyHitters.SlotBits)
    numbers.foreach(sketch.update)
    sketch.getNumActiveItems
  }

  // the time includes the hash, which a column's sketch has already computed
  @Benchmark def frequentTextsOurs(): Int = {
    val sketch = new HeavyHitters(true, HeavyHitters.SlotBits)
    var i      = 0
    while (i < Values) {
      if (sketch.wants(random(i))) {
        val slot = sketch.addHash(hash(texts(i)))
        if (slot >= 0) sketch.remember(slot, texts(i).getBytes)
      }
      i += 1
    }
    sketch.distinct
  }

  @Benchmark def frequentTextsLibrary(): Int = {
    val sketch = new ItemsSketch[String](1 << HeavyHitters.SlotBits)
    texts.foreach(t => sketch.update(t.toString))
    sketch.getNumActiveItems
  }

  @Benchmark def sampleOurs(): Int = {
    val sketch = new RowSample(SampleRows)
    var i      = 0
    while (i < Values) { if (sketch.wants(random(i))) sketch.add(random(i), row.clone()); i += 1 }
    sketch.held
  }

  // the library draws its own random numbers, and decides only after it has received the row
  @Benchmark def sampleLibrary(): Int = {
    val sketch = ReservoirItemsSketch.newInstance[Array[Byte]](SampleRows)
    var i      = 0
    while (i < Values) { sketch.update(row.clone()); i += 1 }
    sketch.getNumSamples
  }

  private def hash(text: UTF8String): Long =
    XXH64.hashUnsafeBytes(text.getBaseObject, text.getBaseOffset, text.numBytes, Seed)
}

object SketchBenchmark {
  final val Values = 1 << 20

  /** Rows in the sample of one part, and bytes of a row of about ten columns. */
  private val SampleRows = 2000
  private val RowBytes   = 120

  /** Base-2 logarithm of the registers: 4096, as many as Dovetail's sketch has. */
  private val LogRegisters = 12
  private val Seed         = 42L
}
