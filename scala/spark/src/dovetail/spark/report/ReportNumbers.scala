package org.apache.spark.sql.dovetail.report

import java.util.Locale

import dovetail.kernel.profile.Estimate

/** Formats numbers for people, in the text of explain and in reasons, in the same way in all locales. */
private[dovetail] object ReportNumbers {

  /** Formats a number of rows in at most seven characters. */
  def count(d: Double): String =
    if (d < 1e4) text("%.0f", d)
    else if (d < 1e6) text("%.1fk", d / 1e3)
    else if (d < 1e9) text("%.1fM", d / 1e6)
    else if (d < 1e12) text("%.1fG", d / 1e9)
    else text("%.1e", d)

  /** Formats a number of rows with all of its digits. */
  def whole(d: Double): String = text("%.0f", d)

  def size(bytes: Double): String =
    if (bytes < Kilo) text("%.0f B", bytes)
    else if (bytes < Kilo * Kilo) text("%.0f KiB", bytes / Kilo)
    else if (bytes < Kilo * Kilo * Kilo) text("%.1f MiB", bytes / Kilo / Kilo)
    else text("%.1f GiB", bytes / Kilo / Kilo / Kilo)

  /** Formats a part of a whole as a percentage; both are in the same unit. */
  def percent(part: Double, whole: Double): String = {
    val p = if (whole > 0.0) 100.0 * part / whole else 0.0
    if (p >= Fine || p == 0.0) text("%.0f %%", p) else if (p >= 0.1) text("%.1f %%", p) else "<0.1 %"
  }

  /** Formats a percentage with one decimal. */
  def tenths(percent: Double): String = text("%.1f %%", percent)

  def factor(d: Double): String = if (d < Fine) text("%.1fx", d) else if (d < 1e4) text("%.0fx", d) else s"${count(d)}x"

  def seconds(millis: Double): String = if (millis < 1e3) text("%.0f ms", millis) else text("%.1f s", millis / 1e3)

  /**
   * Formats the bounds of an estimate. A certain estimate has no bounds to show.
   *
   * @param all whether to show bounds that are farther than `MostFar` from the estimate, too
   */
  def bounds(e: Estimate, all: Boolean): String = {
    def says(far: Double) = all || far <= MostFar
    val lower             = e.lower > 0.0 && says(math.max(e.value, 1.0) / e.lower)
    val upper             = e.upper < Estimate.Ceiling && says(e.upper / math.max(e.value, 1.0))
    if (e.isExact) ""
    else if (lower && upper) s"${count(e.lower)} to ${count(e.upper)}"
    else if (upper) s"up to ${count(e.upper)}"
    else if (lower) s"at least ${count(e.lower)}"
    else ""
  }

  /**
   * Largest factor between an estimate and a bound that is shown. Looser bounds do not help a reader: most of them are
   * the product of the inputs' rows.
   */
  private val MostFar = 100.0

  /** Percentages from this value on are shown without a decimal, factors below it with one. */
  private val Fine = 10.0
  private val Kilo = 1024.0

  private def text(format: String, d: Double): String = format.formatLocal(Locale.ROOT, d)
}
