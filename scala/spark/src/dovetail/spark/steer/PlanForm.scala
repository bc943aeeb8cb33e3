package org.apache.spark.sql.dovetail.steer

import java.util.IdentityHashMap

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.ExistenceJoin
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.dovetail.base.TextHash
import org.apache.spark.sql.dovetail.deadline.PlanningTime
import org.apache.spark.sql.dovetail.leaf.LeafNames
import org.apache.spark.sql.dovetail.predicates.{Conjuncts, Disjuncts}
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2ScanRelation, FileScan}
import org.apache.spark.sql.types.DataType

/**
 * Canonical texts of a group's inputs and of expressions over them. Equal texts mean equal inputs or expressions,
 * whatever names a query gives its tables and columns, and in whatever order it writes its predicates. [[GroupForm]]
 * builds on these texts.
 *
 * Columns are columns of tables; a computed column is replaced by its expression. A computed column of a union has
 * another expression in each branch, so it is named by its position, and the text of the union contains the
 * expressions. Operators that do not change the number of rows (projections, sorts, windows) are left out. A window
 * below a filter is not left out, because what it computes depends on whether the filter lies above or below it. With
 * `literals`, a text that would not distinguish an input or expression from others contains [[PlanForm.Nameless]].
 *
 * @param literals whether constants are part of the text. They are for row counts, and are not for join orders
 * @param nulls    whether IS NOT NULL is always part of the text. It is for row counts of executed plans, in which the
 *                 predicate removed rows
 */
final class PlanForm(literals: Boolean, nulls: Boolean = false) {
  import PlanForm._

  private val columns = mutable.HashMap.empty[ExprId, (Int, String)]
  private val defined = mutable.HashMap.empty[ExprId, Expression]
  private val sizes   = mutable.HashMap.empty[ExprId, Long]

  // nodes that may still be put into expressions; what is not replaced has no name in a text
  private var left = MostInAll

  // expressions of the columns of each branch of a union
  private val branches = new IdentityHashMap[Union, Seq[Seq[Expression]]]

  /** Registers an input. All inputs must be registered before a text is requested. */
  def learn(input: Int, plan: LogicalPlan): Unit = {
    plan.collectLeaves().zipWithIndex.foreach { case (leaf, i) =>
      leaf.output.foreach(a => columns(a.exprId) = (input, if (i == 0) a.name else s"${a.name}#$i"))
    }
    var unions = 0
    plan.foreachUp {
      case u: Union =>
        branches.put(u, u.children.map(_.output.map(overTables(_))))
        unions += 1
        // the columns of a union have the IDs of those of its first branch
        u.output.zipWithIndex.foreach { case (a, i) =>
          if (defined.remove(a.exprId).isDefined) columns(a.exprId) = (input, s"$UnionColumn$unions.$i")
        }
      case p => p.expressions.foreach { case a: Alias => define(a); case _ => }
    }
  }

  /**
   * Registers a computed column. A loop over a DataFrame can make a chain of columns, each of which uses the one before
   * it twice. The text of such a column doubles with each step, so a column above a certain size has no text.
   */
  def define(a: Alias): Unit = if (columns.get(a.exprId).exists(_._2.startsWith(UnionColumn))) {
    // a union that occurs twice with the same columns: they cannot be told apart any more
    columns.remove(a.exprId)
    defined(a.exprId) = named(if (literals) Nameless else a.name, a.dataType)
  } else {
    val size = a.child.collect { case c: Attribute => sizes.getOrElse(c.exprId, 1L); case _ => 1L }.sum
    val fits = size <= MostNodes
    sizes(a.exprId) = if (fits) size else 1L
    defined(a.exprId) = if (fits) overTables(a.child) else named(if (literals) Nameless else a.name, a.dataType)
  }

  /** Registers the column that an existence join with this input adds to its other side. */
  def flag(a: Attribute, input: Int): Unit = columns(a.exprId) = (input, "exists")

  /** The table columns that an expression reads. */
  def reads(e: Expression): Set[ExprId] = overTables(e).references.map(_.exprId).toSet

  /** The inputs whose columns an expression reads. */
  def inputs(e: Expression): Set[Int] =
    overTables(e).references.toSeq.flatMap(a => columns.get(a.exprId).map(_._1)).toSet

  /** @param name name to write for an input */
  def expression(e: Expression, name: Int => String): String = text(normalized(overTables(e), name))

  private def text(e: Expression): String = if (literals) e.sql + UnwrittenArguments(e) else e.sql

  def conjuncts(es: Seq[Expression], name: Int => String): String =
    es.flatMap(Conjuncts(_)).map(expression(_, name)).distinct.sorted.mkString(" AND ")

  /**
   * Text of an input with its predicates. Spark adds IS NOT NULL for columns of join keys and of other predicates,
   * depending on the whole query. These are left out, unless `nulls` is set.
   *
   * @param more predicates in addition to those in the plan
   * @param keys columns that joins read
   */
  def input(plan: LogicalPlan, more: Seq[Expression] = Nil, keys: Set[ExprId] = Set.empty): String = {
    val (core, filters) = peeled(plan, more.exists(removesRows))
    val all             = (filters ++ more).flatMap(Conjuncts(_))
    val read            = all.filterNot(_.isInstanceOf[IsNotNull]).flatMap(reads).toSet ++ keys
    val kept            =
      conjuncts(all.filterNot { case IsNotNull(c) => !nulls && reads(c).subsetOf(read); case _ => false }, _ => "")
    if (kept.isEmpty) text(core) else s"${text(core)}[$kept]"
  }

  /**
   * The plan below the operators that the text leaves out, and the predicates among them.
   *
   * @param filtered whether a filter lies above
   */
  private def peeled(plan: LogicalPlan, filtered: Boolean): (LogicalPlan, Vector[Expression]) = plan match {
    case Project(_, child)      => peeled(child, filtered)
    case s: SubqueryAlias       => peeled(s.child, filtered)
    case s: Sort                => peeled(s.child, filtered)
    case w: Window if !filtered => peeled(w.child, filtered)
    case Filter(c, child)       =>
      val (core, filters) = peeled(child, filtered || removesRows(c)); (core, filters :+ c)
    case other => (other, Vector.empty)
  }

  /** Whether a predicate is always part of the text. */
  private def removesRows(predicate: Expression): Boolean =
    nulls || Conjuncts(predicate).exists(!_.isInstanceOf[IsNotNull])

  private def text(plan: LogicalPlan): String = plan match {
    case l: LeafNode  => leaf(l)
    case a: Aggregate =>
      s"aggregate(${a.groupingExpressions.map(expression(_, _ => "")).sorted.mkString(", ")})(${input(a.child)})"
    case d: Distinct => s"distinct(${listed(d.child.output).sorted.mkString(", ")})(${input(d.child)})"
    case w: Window   => s"window(${input(w.child)})"
    // the rows that a limit keeps depend on their order, and on the plan if there is none
    case _: GlobalLimit | _: LocalLimit if literals && nulls => Nameless
    case l: GlobalLimit => s"limit(${expression(l.limitExpr, _ => "")})(${input(l.child)})"
    case l: LocalLimit  => input(l.child)
    case u: Union       => Option(branches.get(u)).fold(unknown(u))(united(u, _))
    case j: Join        =>
      val kind = j.joinType match {
        case _: ExistenceJoin => "existence"; case other => other.sql.toLowerCase(java.util.Locale.ROOT)
      }
      s"$kind join(${input(j.left)}, ${input(j.right)})(${conjuncts(j.condition.toSeq, _ => "")})"
    case other => unknown(other)
  }

  private def united(u: Union, columns: Seq[Seq[Expression]]): String =
    u.children.zip(columns).map { case (child, es) => s"${input(child)}: ${listed(es).mkString(", ")}" }
      .mkString("union(", "; ", ")")

  private def unknown(plan: LogicalPlan): String = if (literals) Nameless else plan.nodeName

  private def listed(es: Seq[Expression]): Seq[String] = es.map(expression(_, _ => ""))

  private def leaf(l: LeafNode): String = (l match {
    case v: DataSourceV2ScanRelation => LeafNames.identity(v).map(_ + pushed(v))
    case r: InMemoryRelation         => r.cacheBuilder.tableName.map("cached " + _)
    case other                       => LeafNames.identity(other)
  }).getOrElse(if (literals) Nameless else LeafNames.name(l))

  /** Predicates that Spark has pushed into a data source and that are no longer in the plan. */
  private def pushed(v: DataSourceV2ScanRelation): String = v.scan match {
    case f: FileScan => if (f.partitionFilters.isEmpty) "" else conjuncts(f.partitionFilters, _ => "")
    case other       => if (literals) other.description().replaceAll("#\\d+", "") else ""
  }

  private def overTables(e: Expression): Expression = {
    PlanningTime.check()
    if (defined.isEmpty) e
    else {
      val grown = e.collect { case a: Attribute => sizes.getOrElse(a.exprId, 0L) }.sum
      if (grown > FewNodes) left -= grown
      if (grown > FewNodes && left < 0L) e else e.transformUp { case a: Attribute => defined.getOrElse(a.exprId, a) }
    }
  }

  /** Chains of AND and OR are taken as a whole: a program may make one of a thousand parts. */
  private def normalized(e: Expression, name: Int => String): Expression = e match {
    case a: And => Conjuncts.together(sorted(Conjuncts(a).map(normalized(_, name))))
    case o: Or  => Disjuncts.together(sorted(Disjuncts(o).map(normalized(_, name))))
    case other  => node(other.mapChildren(normalized(_, name)), name)
  }

  /** An expression whose children are normalized. */
  private def node(e: Expression, name: Int => String): Expression = e match {
    case a: Attribute =>
      columns.get(a.exprId).fold(written(if (literals) Nameless else a.name, a.dataType)) { case (i, column) =>
        written(column, a.dataType, name(i))
      }
    case p: PlanExpression[_]                         => written(if (literals) Nameless else "query", p.dataType)
    case l: Literal if !literals                      => written(Constant, l.dataType)
    case u: ScalaUDF if literals && u.udfName.isEmpty => written(Nameless, u.dataType)
    case i: InSet                 => among(i.child, i.hset.size, i.hset.iterator.map(Literal(_, i.child.dataType)))
    case i: In                    => among(i.value, i.list.size, i.list.iterator)
    case EqualTo(l, r)            => if (r.sql < l.sql) EqualTo(r, l) else EqualTo(l, r)
    case EqualNullSafe(l, r)      => if (r.sql < l.sql) EqualNullSafe(r, l) else EqualNullSafe(l, r)
    case GreaterThan(l, r)        => LessThan(r, l)
    case GreaterThanOrEqual(l, r) => LessThanOrEqual(r, l)
    case other                    => other
  }

  /**
   * Text of an IN list. If constants are not part of the text, their number is not either. Of a list that a program has
   * made, only a hash is part of it: the texts of a million values would take all of the planning time.
   */
  private def among(value: Expression, size: Int, list: Iterator[Expression]): Expression =
    if (!literals) In(value, Seq(written(Constant, value.dataType)))
    else if (size <= MostListed) In(value, sorted(list.toVector))
    else In(value, Seq(written(f"$size values ${hash(list)}%016x", value.dataType)))

  /** The sum of the hashes of the values, which does not depend on their order. */
  private def hash(list: Iterator[Expression]): Long =
    list.map { e => PlanningTime.check(); TextHash(constant(e)) }.foldLeft(0L)(_ + _)

  /** A short text of a constant, and the SQL of another expression. */
  private def constant(e: Expression): String = e match {
    case Literal(bytes: Array[Byte], _) => bytes.mkString("x", " ", "")
    case Literal(value, _)              => String.valueOf(value)
    case other                          => text(other)
  }

  private def sorted(es: Seq[Expression]): Seq[Expression] = {
    val texts = es.map { e => PlanningTime.check(); text(e) -> e }
    texts.sortBy(_._1).foldLeft(Vector.empty[(String, Expression)])((seen, e) =>
      if (seen.lastOption.exists(_._1 == e._1)) seen else seen :+ e
    ).map(_._2)
  }

  /** A column that no input has. */
  private def named(text: String, dataType: DataType): Attribute = AttributeReference(text, dataType)(ExprId(0L), Nil)

  /** A column of which only the text remains. Its text is made once: that of an AttributeReference takes long. */
  private def written(column: String, dataType: DataType, input: String = ""): Attribute =
    PrettyAttribute(if (input.isEmpty) quoted(column) else s"${quoted(input)}.${quoted(column)}", dataType)

  /** A name as in SQL: in backticks unless it is a plain identifier. */
  private def quoted(name: String): String = {
    val plain = name.nonEmpty && name.forall(c => c < 128 && (c.isLetterOrDigit || c == '_'))
    if (plain && !name.forall(_.isDigit)) name else s"`${name.replace("`", "``")}`"
  }
}

object PlanForm {

  /** Marks a part of a text that has no name by which other queries can recognize it. */
  val Nameless = "\u0000"

  /** Whether other queries cannot recognize what has this text. */
  def isNameless(text: String): Boolean = text.contains(Nameless)

  private val Constant = "?"

  /** Most values of an IN list that are written: a person writes fewer. */
  private val MostListed = 1000

  /** Begin of the name of a computed column of a union; no column of a table has such a name. */
  private val UnionColumn = "\u0001union "

  /** Most nodes of the expression that replaces a computed column in a text: some milliseconds of work. */
  private val MostNodes = 10000L

  /** Most nodes of all expressions that replace columns in one form: 0.2 s of work. */
  private val MostInAll = 200000L

  /** Nodes that do not count: the texts of many sets of relations may have the same small expression. */
  private val FewNodes = 500L
}
