package dovetail.kernel.size

import dovetail.kernel.profile.Estimate

/**
 * A product of rows and shares whose intermediate values may exceed the range of a Double: hundreds of large relations
 * are multiplied before the shares make the product small again. Each factor is at most 10^158.
 */
final private[size] class RowProduct {
  import RowProduct.Huge

  // the product is mantissa * Huge^exponent
  private[this] var mantissa = 1.0
  private[this] var exponent = 0

  def times(factor: Double): Unit = {
    mantissa *= factor
    if (mantissa > Huge) { mantissa /= Huge; exponent += 1 }
    else if (mantissa < 1.0 / Huge) { mantissa *= Huge; exponent -= 1 }
  }

  /** The product as a number of rows: at least 1, at most `limit`, which is no higher than [[Estimate.Ceiling]]. */
  def rows(limit: Double): Double = {
    var value = mantissa
    var left  = exponent
    while (left > 0 && value <= Estimate.Ceiling) { value *= Huge; left -= 1 }
    if (left < 0) 1.0 else math.max(1.0, math.min(value, limit))
  }
}

private[size] object RowProduct {

  /**
   * The base of the exponent. It is far above any number of rows, and its inverse times any number of rows is not 0.
   */
  private val Huge = 1e150
}
