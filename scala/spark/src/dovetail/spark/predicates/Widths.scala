package org.apache.spark.sql.dovetail.predicates

import dovetail.kernel.profile.{Estimate, Source, Width}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._

/**
 * Bytes that values take in Spark's rows: by their type if all of its values have the same length, otherwise by
 * measured lengths.
 */
object Widths {

  /** Width of a column of which only the type is known. */
  def ofType(t: DataType): Width =
    fixed(t).fold(Width.unknown(t.defaultSize.toDouble))(Width.fixed(t.defaultSize.toDouble, _))

  /** Bytes that a row takes for a value of the type, if all values of the type take the same. */
  def fixed(t: DataType): Option[Double] = t match {
    case BooleanType | DateType | TimestampType | TimestampNTZType | NullType => Some(Width.Slot)
    case _: DayTimeIntervalType | _: YearMonthIntervalType                    => Some(Width.Slot)
    case CalendarIntervalType                                                 => Some(LongValue)
    case d: DecimalType => Some(if (d.precision <= Decimal.MAX_LONG_DIGITS) Width.Slot else LongValue)
    case _: NumericType => Some(Width.Slot)
    case _              => None
  }

  /** Number of flat values that a value of the type consists of, with one element for each list and map. */
  def leaves(t: DataType): Int = t match {
    case s: StructType => s.map(f => leaves(f.dataType)).sum
    case a: ArrayType  => leaves(a.elementType)
    case m: MapType    => leaves(m.keyType) + leaves(m.valueType)
    case _             => 1
  }

  /**
   * Whether a value of a type takes no more bytes than the same value read as another type: it has no other fields. A
   * query may read fewer of them.
   */
  def covers(whole: DataType, t: DataType): Boolean = (whole, t) match {
    case (w: StructType, s: StructType) =>
      s.forall(f => w.exists(o => o.name == f.name && covers(o.dataType, f.dataType)))
    case (w: ArrayType, a: ArrayType)   => covers(w.elementType, a.elementType)
    case (w: MapType, m: MapType)       => covers(w.keyType, m.keyType) && covers(w.valueType, m.valueType)
    case (_: StringType, _: StringType) => true
    case (w, other)                     => w == other
  }

  /** A slot and sixteen bytes. */
  private val LongValue = 3.0 * Width.Slot

  /**
   * Width of a computed value, from the columns that it reads.
   *
   * @param column width of a column
   * @param rows   largest number of values that are computed
   */
  def ofExpression(e: Expression, rows: Double, column: Attribute => Width): Width = {
    def child(e: Expression): Width = ofExpression(e, rows, column)
    def among(es: Seq[Expression])  = es.map(child).reduce(_ or _)
    def upTo(length: Double): Width = Width.measured(length, Some(length), None, Source.Exact)
    def times(w: Width, n: Double)  = w.copy(
      mean = w.mean * n,
      most = math.min(w.most * n, Estimate.Ceiling),
      total = math.min(w.total * n, Estimate.Ceiling)
    )
    def together(es: Seq[Expression]) = es.map(child).reduce { (a, b) =>
      // each part has at most its own bytes in all rows
      def all(w: Width) = math.min(w.total, w.most * rows)
      Width(
        a.mean + b.mean,
        math.min(a.most + b.most, Estimate.Ceiling),
        math.min(all(a) + all(b), Estimate.Ceiling),
        Source.weakest(a.source, b.source)
      )
    }
    if (fixed(e.dataType).isDefined) ofType(e.dataType)
    else e match {
      case a: Attribute                                              => column(a)
      case a: Alias                                                  => child(a.child)
      case l: Literal if isText(l.dataType)                          => upTo(ExpressionBytes.ofValue(l.value).toDouble)
      case i: If                                                     => among(Seq(i.trueValue, i.falseValue))
      case c: CaseWhen                                               => among(c.branches.map(_._2) ++ c.elseValue)
      case c: Coalesce                                               => among(c.children)
      case c: Cast if isText(c.dataType) && isText(c.child.dataType) => child(c.child)
      case c: Cast if isText(c.dataType) && fixed(c.child.dataType).isDefined => upTo(LongestNumber)
      case _: StringTrim | _: StringTrimLeft | _: StringTrimRight             => child(e.children.head)
      case CharPadding(text, n)                                               => padded(child(text), n, rows)
      case u: Upper                        => times(child(u.child), MostBytesPerCharacter)
      case l: Lower                        => times(child(l.child), MostBytesPerCharacter)
      case s: Substring                    => child(s.str)
      case c: Concat if isText(c.dataType) => together(c.children)
      case _                               => Width.unknown(e.dataType.defaultSize.toDouble)
    }
  }

  /** Width of a text that is padded with blanks to this number of characters. */
  private def padded(w: Width, characters: Double, rows: Double): Width = Width(
    math.max(w.mean, characters),
    math.min(w.most + Width.padded(1.0, characters), Estimate.Ceiling),
    math.min(math.min(w.total, w.most * rows) + rows * Width.padded(1.0, characters), Estimate.Ceiling),
    w.source
  )

  private def isText(t: DataType): Boolean = t.isInstanceOf[StringType] || t == BinaryType

  /**
   * Largest number of bytes of a character in UTF-8, and largest factor by which a change of case can lengthen a text.
   */
  private val MostBytesPerCharacter = 4.0

  /**
   * Bytes of a number, date, timestamp or interval as text, with room to spare: a decimal has 38 digits, a day-time
   * interval takes 60 characters.
   */
  private val LongestNumber = 80.0
}
