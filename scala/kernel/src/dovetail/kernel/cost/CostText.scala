package dovetail.kernel.cost

/**
 * Reads and writes cost constants by name, in the format of settings and files: `exchangeByte=2.5, merge=40`. Names
 * that are left out keep their value.
 */
object CostText {

  /** Every constant: its name, its getter, and its setter, in the order of [[CostConstants]]. */
  val constants: Vector[(String, CostConstants => Double, (CostConstants, Double) => CostConstants)] = Vector(
    ("rowProduced", _.rowProduced, (c, v) => c.copy(rowProduced = v)),
    ("hashProbe", _.hashProbe, (c, v) => c.copy(hashProbe = v)),
    ("hashBuild", _.hashBuild, (c, v) => c.copy(hashBuild = v)),
    ("sortCompare", _.sortCompare, (c, v) => c.copy(sortCompare = v)),
    ("merge", _.merge, (c, v) => c.copy(merge = v)),
    ("exchangeRow", _.exchangeRow, (c, v) => c.copy(exchangeRow = v)),
    ("exchangeByte", _.exchangeByte, (c, v) => c.copy(exchangeByte = v)),
    ("broadcastByte", _.broadcastByte, (c, v) => c.copy(broadcastByte = v)),
    ("nestedLoopPair", _.nestedLoopPair, (c, v) => c.copy(nestedLoopPair = v)),
    ("scanByte", _.scanByte, (c, v) => c.copy(scanByte = v)),
    ("spillByte", _.spillByte, (c, v) => c.copy(spillByte = v))
  )

  def names: Vector[String] = constants.map(_._1)

  /** Returns `base` with the constants of the text, or what is wrong with the text. */
  def read(text: String, base: CostConstants): Either[String, CostConstants] =
    text.split(",").map(_.trim).filter(_.nonEmpty).foldLeft(Right(base): Either[String, CostConstants]) {
      (found, entry) =>
        val (name, number) = entry.span(_ != '=') match { case (n, v) => (n.trim, v.drop(1).trim) }
        for {
          sofar    <- found
          constant <- constants.find(_._1 == name).toRight(s"'$name' is not one of ${names.mkString(", ")}")
          value    <-
            scala.util.Try(number.toDouble).toOption.filter(v => v > 0.0 && !v.isInfinite).toRight(
              s"$name is '$number', but must be a number of nanoseconds above 0"
            )
        } yield constant._3(sofar, value)
    }

  def write(values: CostConstants): String =
    constants.map { case (name, get, _) => s"$name=${get(values)}" }.mkString(", ")
}
