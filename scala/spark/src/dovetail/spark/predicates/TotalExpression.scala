package org.apache.spark.sql.dovetail.predicates

import scala.util.Try

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.catalyst.trees.TreePattern.PLAN_EXPRESSION
import org.apache.spark.sql.catalyst.util.{CharVarcharCodegenUtils, StringUtils}
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._

/**
 * The only list of expressions that return a value for every row, whatever their inputs are. An expression is
 * recognized by its class and, if these matter, by its types and by the ANSI mode that it was resolved with (a view
 * keeps the mode it was created in). Every expression that is not in the list may throw.
 *
 * Left out on purpose: regular expressions (a match can overflow the stack), functions whose result can have any length
 * (`repeat`, `lpad`), everything that formats or parses, date functions that can leave the range of their type
 * (`date_trunc`, `last_day`), and `substring_index`, which reads out of bounds for the
 * smallest integer.
 */
object TotalExpression {

  /** Checks this node only, not its children. */
  def apply(e: Expression): Boolean = value(e) || predicate(e) || text(e) || date(e) || nested(e) || number(e)

  private def value(e: Expression): Boolean = e match {
    case _: Attribute | _: Literal | _: OuterReference => true
    case _: Coalesce | _: If | _: CaseWhen | _: NaNvl  => true
    case _: Greatest | _: Least                        => true
    case _: Murmur3Hash | _: XxHash64                  => !e.children.exists(c => hasMap(c.dataType))
    case c: Cast                                       => TotalCast(c)
    case p: ToPrettyString                             => TotalCast.shown(p.child.dataType)
    // an uncorrelated subquery: Spark computes it once, before any row ([[MovableCondition]] has the exception)
    case s: ScalarSubquery                                                     => s.children.isEmpty
    case s: StaticInvoke if s.staticObject == classOf[CharVarcharCodegenUtils] => s.functionName == "readSidePadding"
    case _                                                                     => false
  }

  private def predicate(e: Expression): Boolean = e match {
    case _: And | _: Or | _: Not                                                   => true
    case _: EqualTo | _: EqualNullSafe                                             => true
    case _: LessThan | _: LessThanOrEqual | _: GreaterThan | _: GreaterThanOrEqual => true
    case _: In | _: InSet                                                          => true
    case _: IsNull | _: IsNotNull | _: IsNaN | _: AtLeastNNonNulls                 => true
    case l: Like                                                                   => likes(l)
    // a subquery builds the Bloom filter before any row is tested
    case _: BloomFilterMightContain => true
    case _                          => false
  }

  private def text(e: Expression): Boolean = e match {
    case _: StartsWith | _: EndsWith | _: Contains              => true
    case _: Upper | _: Lower | _: InitCap                       => true
    case _: Length | _: OctetLength | _: BitLength | _: Ascii   => true
    case _: Substring | _: StringInstr                          => true
    case _: StringTrim | _: StringTrimLeft | _: StringTrimRight => true
    case _: ConcatWs                                            => true
    case _: Sha1 | _: Sha2 | _: Crc32                           => true
    // arrays have a maximum size, so their concatenation may fail
    case c: Concat => !c.dataType.isInstanceOf[ArrayType]
    case other     => TotalCollation(other)
  }

  private def date(e: Expression): Boolean = e match {
    case _: Year | _: Quarter | _: Month | _: DayOfMonth          => true
    case _: DayOfYear | _: DayOfWeek | _: WeekDay | _: WeekOfYear => true
    case _: Hour | _: Minute | _: Second                          => true
    case _: DateAdd | _: DateSub | _: DateDiff                    => true // they wrap around in every mode
    case _                                                        => false
  }

  private def nested(e: Expression): Boolean = e match {
    case _: CreateNamedStruct | _: GetStructField | _: GetArrayStructFields => true
    case _: CreateArray | _: Size | _: ArrayContains                        => true
    case g: GetArrayItem                                                    => !g.failOnError
    case _: GetMapValue                                                     => true
    // on an array, index 0 fails in every mode
    case m: ElementAt => m.left.dataType.isInstanceOf[MapType] && !m.failOnError
    case _            => false
  }

  private def number(e: Expression): Boolean = e match {
    case _: BitwiseAnd | _: BitwiseOr | _: BitwiseXor | _: BitwiseNot => true
    case _: ShiftLeft | _: ShiftRight | _: ShiftRightUnsigned         => true
    case _: Sqrt | _: Exp | _: Log | _: Pow | _: Signum               => true
    case m: UnaryMinus                                                => negates(m.dataType, m.failOnError)
    case a: Abs                                                       => negates(a.dataType, a.failOnError)
    case _: UnaryPositive                                             => true
    case a @ (_: Add | _: Subtract | _: Multiply) => TotalArithmetic(a.asInstanceOf[BinaryArithmetic])
    case u: UnscaledValue                         => isShort(u.child.dataType)
    case d: Divide                                => TotalArithmetic.divides(d)
    case d @ (_: Remainder | _: Pmod)             => TotalArithmetic.divides(d.asInstanceOf[BinaryArithmetic])
    case d: IntegralDivide                        => TotalArithmetic.divides(d)
    case _                                        => false
  }

  /** Whether the digits of every value are a BIGINT. */
  private def isShort(t: DataType): Boolean = t match {
    case d: DecimalType => d.precision <= Decimal.MAX_LONG_DIGITS
    case _              => false
  }

  /** Whether every value has a negative. The smallest integer has none, which only ANSI mode reports as an error. */
  private def negates(t: DataType, failOnError: Boolean): Boolean = t match {
    case _: DoubleType | _: FloatType | _: DecimalType => true
    case _: IntegralType                               => !failOnError
    case _                                             => false // the smallest interval has none in every mode
  }

  /**
   * Whether the pattern is constant and valid. A valid pattern does not end with the escape character, and has it only
   * before a wildcard or before another escape character.
   */
  private def likes(l: Like): Boolean = l.right match {
    case Literal(null, _)    => true
    case Literal(pattern, _) => Try(StringUtils.escapeLikeRegex(pattern.toString, l.escapeChar)).isSuccess
    case _                   => false
  }

  private def hasMap(t: DataType): Boolean = t.existsRecursively(_.isInstanceOf[MapType])
}

/**
 * Whether an expression may be evaluated at another place of the plan than the written one, on rows that it might not
 * see there.
 *
 * This requires a value for every row: the expression is deterministic, and all of its nodes are known to be total
 * ([[TotalExpression]]). Under ANSI semantics, `a.x / b.y > 2` and `CAST(a.name AS INT) = b.id` fail for some rows, and
 * the written order may be what removes such rows first. Unknown expressions are not moved: user functions, Python
 * functions (still inside the expression here, because Spark extracts them only after our rule), correlated subqueries,
 * and new functions of Spark. Nor is a subquery that may fail, because it may have several rows or an expression in it
 * may throw ([[FailingPlan]]): it fails when its operator starts, and an operator higher up may never start, because a
 * join below it has no row.
 */
object Movable {
  def apply(e: Expression): Boolean =
    e.deterministic && (neverFails(GuardedDivision(e)) || DovetailConf.MoveAll.get(SQLConf.get))

  private def neverFails(e: Expression): Boolean = TotalExpression(e) && !FailingPlan.fails(e) && (e match {
    case b: BloomFilterMightContain => neverFails(b.valueExpression) // the subquery builds the filter
    case other                      => other.children.forall(neverFails)
  })
}

/**
 * Whether a condition of a join, or a filter above joins, may move as a whole.
 *
 * An equality between two inputs that contains a subquery stays where it is: as the key of a broadcast, Spark cannot
 * evaluate it, because nobody waits for the subquery there (SPARK-58485). Spark plans such a join well if that input
 * happens to be streamed, and another order could build it.
 */
object MovableCondition {
  def apply(condition: Expression): Boolean = Movable(condition) && !hasSubqueryKey(condition)

  def hasSubqueryKey(condition: Expression): Boolean = Conjuncts(condition).exists(isSubqueryKey)

  private def isSubqueryKey(e: Expression): Boolean = e match {
    case _: EqualTo | _: EqualNullSafe =>
      val sides = e.children.map(_.references)
      e.containsPattern(PLAN_EXPRESSION) && sides.forall(_.nonEmpty) && sides.reduce(_ intersect _).isEmpty
    case _ => false
  }
}
