package dovetail.kernel.profile

/**
 * A predicate over the columns of one relation, as far as an estimator can look into it. The caller translates its own
 * expressions into conditions.
 */
sealed trait Condition

object Condition {
  sealed trait Comparison
  case object Less           extends Comparison
  case object LessOrEqual    extends Comparison
  case object Greater        extends Comparison
  case object GreaterOrEqual extends Comparison

  /**
   * `column = constant`. `value` is None if the constant has no place on the number line (a string). Such a constant
   * may have a `key` ([[FrequentValue]]).
   */
  final case class Equals(column: Long, value: Option[Double], key: Option[Long] = None) extends Condition

  /**
   * `column IN (constants)`, without NULLs. `distinct` is the number of distinct constants. `values` are the constants
   * with a place on the number line, otherwise `keys` are their keys.
   */
  final case class In(column: Long, values: Vector[Double], distinct: Int, keys: Vector[Long] = Vector.empty)
      extends Condition

  /** `column op constant`; `value` as in [[Equals]]. */
  final case class Compare(column: Long, op: Comparison, value: Option[Double]) extends Condition
  final case class IsNull(column: Long)                                         extends Condition
  final case class IsNotNull(column: Long)                                      extends Condition

  /** `a = b` or `a < b` on two columns of the relation; `op` None means equality. */
  final case class CompareColumns(left: Long, op: Option[Comparison], right: Long) extends Condition

  /** `column LIKE 'abc%'`. */
  final case class StartsWith(column: Long) extends Condition

  /** Any other search for a piece of text in a column. */
  final case class Matches(column: Long)                  extends Condition
  final case class And(left: Condition, right: Condition) extends Condition
  final case class Or(left: Condition, right: Condition)  extends Condition
  final case class Not(child: Condition)                  extends Condition

  /** TRUE keeps all rows; FALSE and NULL none. */
  final case class Constant(keeps: Boolean) extends Condition

  /** A predicate that no estimator can look into. */
  final case class Opaque(text: String) extends Condition

  /** The conjuncts of a predicate. */
  def conjuncts(c: Condition): Vector[Condition] = operands(c) { case And(l, r) => Some((l, r)); case _ => None }

  /** The operands of a chain of ORs, however it is nested. */
  def disjuncts(c: Condition): Vector[Condition] = operands(c) { case Or(l, r) => Some((l, r)); case _ => None }

  private def operands(c: Condition)(split: Condition => Option[(Condition, Condition)]): Vector[Condition] = {
    val found = Vector.newBuilder[Condition]
    var left  = List(c)
    while (left.nonEmpty) split(left.head) match {
      case Some((l, r)) => left = l :: r :: left.tail
      case None         => found += left.head; left = left.tail
    }
    found.result()
  }
}
