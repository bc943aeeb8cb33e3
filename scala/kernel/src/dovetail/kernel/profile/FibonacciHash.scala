package dovetail.kernel.profile

/** Fibonacci hashing (Knuth, TAOCP vol. 3, 6.4): spreads numbers that differ in few bits over all values of a Long. */
object FibonacciHash {

  /** 2^64 over the golden ratio, rounded to an odd number, so that different numbers have different products. */
  private val Factor = 0x9e3779b97f4a7c15L

  /** Each bit of `key` changes the bits above it, so hash tables take their slots from the highest bits. */
  def apply(key: Long): Long = key * Factor
}
