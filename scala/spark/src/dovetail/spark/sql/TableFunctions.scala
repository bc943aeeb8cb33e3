package org.apache.spark.sql.dovetail.sql

import org.apache.spark.SPARK_VERSION
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  AttributeReference,
  Expression,
  ExpressionInfo,
  UnsafeProjection
}
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LogicalPlan, Statistics}
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, ArrayData, GenericArrayData}
import org.apache.spark.sql.catalyst.{FunctionIdentifier, InternalRow}
import org.apache.spark.sql.dovetail.advise.{AdviseQuery, ExplainQuery}
import org.apache.spark.sql.dovetail.base.{DovetailConf, ErrorCondition}
import org.apache.spark.sql.dovetail.BuildInfo
import org.apache.spark.sql.dovetail.history.ShowHistory
import org.apache.spark.sql.dovetail.leaf.GivenRows
import org.apache.spark.sql.dovetail.log.{LoggedQuery, QueryLog}
import org.apache.spark.sql.dovetail.stats.ShowStatistics
import org.apache.spark.sql.dovetail.steer.Pins
import org.apache.spark.sql.execution.{LeafExecNode, SparkPlan, SparkStrategy}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * A read-only table function. Its rows are computed when the query runs, not when it is analyzed, because Spark Connect
 * analyzes a query several times.
 *
 * @param arguments description of the arguments, for error messages
 * @param arity     allowed numbers of arguments
 * @param compute   computes the rows from the constant arguments; values are String, Long, Int, Double, Boolean, a Seq
 *                  or a Map of these, or null
 * @param numbers   whether an argument may also be a whole number
 */
final class TableFunction(
    val name: String,
    val arguments: String,
    val arity: Range,
    val columns: Seq[(String, DataType)],
    val compute: (SparkSession, Seq[String]) => Seq[Seq[Any]],
    val numbers: Boolean = false
)

object TableFunctions {

  private val version = new TableFunction(
    "dovetail_version",
    "",
    0 to 0,
    Seq(
      "version"       -> StringType,
      "spark_line"    -> StringType,
      "spark_version" -> StringType,
      "scala_version" -> StringType,
      "enabled"       -> BooleanType
    ),
    (session, _) =>
      Seq(Seq(
        BuildInfo.version,
        BuildInfo.sparkLine,
        SPARK_VERSION,
        scala.util.Properties.versionNumberString,
        DovetailConf.Enabled.get(session.sessionState.conf)
      ))
  )

  private val conf = new TableFunction(
    "dovetail_conf",
    "",
    0 to 0,
    Seq("key", "value", "default", "type", "range", "doc", "since").map(_ -> StringType),
    (session, _) =>
      DovetailConf.all.map(s =>
        Seq(
          s.key,
          s.get(session.sessionState.conf).toString,
          s.entry.defaultValueString,
          s.kind,
          s.range,
          s.entry.doc,
          s.entry.version
        )
      )
  )

  private val stats = new TableFunction(
    "dovetail_stats",
    "table",
    1 to 1,
    ShowStatistics.columns,
    (session, args) => ShowStatistics(session, args.head)
  )

  private val explain =
    new TableFunction(
      "dovetail_explain",
      "sql or number [, format [, 'planned' | 'actual']]",
      1 to 3,
      Seq("explain" -> StringType),
      (session, args) =>
        Seq(Seq(ExplainQuery(session, args.head, args.lift(1).getOrElse("text"), args.lift(2).getOrElse("planned")))),
      numbers = true
    )

  private val estimate = new TableFunction(
    "dovetail_estimate",
    "sql",
    1 to 1,
    EstimateQuery.columns,
    (session, args) => Seq(EstimateQuery(session, args.head))
  )

  private val advise = new TableFunction(
    "dovetail_advise",
    "sql",
    1 to 1,
    AdviseQuery.columns,
    (session, args) => AdviseQuery(session, args.head)
  )

  private val queries = new TableFunction(
    "dovetail_queries",
    "",
    0 to 0,
    LoggedQuery.columns,
    (session, _) => { QueryLog.settle(session); QueryLog(session).all.map(_.row) }
  )

  private val rows = new TableFunction(
    "dovetail_rows",
    "",
    0 to 0,
    Seq("kind" -> StringType, "text" -> StringType, "rows" -> DoubleType, "relations" -> ArrayType(StringType)),
    (session, _) =>
      GivenRows(session).all.map(e => Seq[Any](if (e.isTable) "table" else "query", e.of.text, e.rows, e.relations))
  )

  private val pins = new TableFunction(
    "dovetail_pins",
    "",
    0 to 0,
    Seq("name", "order").map(_ -> StringType) ++
      Seq(
        "relations" -> ArrayType(StringType),
        "created"   -> StringType,
        "query"     -> StringType,
        "used"      -> LongType,
        "place"     -> StringType
      ),
    (session, _) => {
      val kept = Pins(session)
      for (p <- kept.all; g <- p.groups)
        yield Seq[Any](p.name, g.order, g.relations, p.created, p.query, kept.uses(p.name), kept.place(p.name))
    }
  )

  private val history = new TableFunction(
    "dovetail_history",
    "",
    0 to 0,
    ShowHistory.columns,
    (session, _) => ShowHistory(session)
  )

  val functions: Seq[TableFunction] =
    Seq(version, conf, stats, explain, estimate, advise, queries, history, rows, pins)

  type Description = (FunctionIdentifier, ExpressionInfo, Seq[Expression] => LogicalPlan)

  val all: Seq[Description] = functions.map { f =>
    (
      FunctionIdentifier(f.name),
      new ExpressionInfo(classOf[TableFunctionCall].getName, f.name),
      (arguments: Seq[Expression]) => call(f, arguments)
    )
  }

  private def call(f: TableFunction, arguments: Seq[Expression]): LogicalPlan = {
    def wrong(what: String) = throw ErrorCondition.InvalidArgument(
      s"$what Usage: ${f.name}(${f.arguments}).",
      "function" -> f.name
    )
    if (!f.arity.contains(arguments.size)) {
      val most = if (f.arity.end > f.arity.start) s" to ${f.arity.end}" else ""
      wrong(
        s"${f.name} takes ${f.arity.start}$most argument${if (f.arity.end == 1) "" else "s"}, not ${arguments.size}."
      )
    }
    val allowed = if (f.numbers) "constant strings or whole numbers" else "constant strings"
    val values  = arguments.map { a =>
      val number = f.numbers && a.dataType.isInstanceOf[IntegralType]
      if (!a.foldable || !(a.dataType.isInstanceOf[StringType] || number))
        wrong(s"The arguments of ${f.name} must be $allowed, not ${a.sql}.")
      Option(a.eval()).fold(wrong(s"The arguments of ${f.name} must not be NULL."))(_.toString)
    }
    TableFunctionCall(f.name, values, f.columns.map { case (name, dataType) => AttributeReference(name, dataType)() })
  }

  def apply(name: String): TableFunction = functions.find(_.name == name).get
}

/** A call of a table function in a logical plan. */
case class TableFunctionCall(function: String, arguments: Seq[String], output: Seq[Attribute]) extends LeafNode {
  override def computeStats(): Statistics =
    Statistics(sizeInBytes = BigInt(output.map(_.dataType.defaultSize).sum.toLong * TableFunctionCall.AssumedRows))
}

object TableFunctionCall {

  /** Assumed number of rows: small enough for Spark to treat the result as small. */
  private val AssumedRows = 100L
}

/** A call of a table function in a physical plan; the driver executes it. */
case class TableFunctionExec(function: String, arguments: Seq[String], output: Seq[Attribute]) extends LeafExecNode {
  private lazy val rows: Array[InternalRow] = {
    val toUnsafe = UnsafeProjection.create(output, output)
    TableFunctions(function).compute(SparkSession.active, arguments).map { values =>
      toUnsafe(InternalRow.fromSeq(values.map(TableFunctionExec.internal))).copy(): InternalRow
    }.toArray
  }

  override def executeCollect(): Array[InternalRow]        = rows
  override def executeTake(limit: Int): Array[InternalRow] = rows.take(limit)
  override def executeTail(limit: Int): Array[InternalRow] = rows.takeRight(limit)
  override protected def doExecute(): RDD[InternalRow]     = sparkContext.parallelize(rows.toSeq, 1)
}

object TableFunctionExec {

  private def internal(value: Any): Any = value match {
    case s: String               => UTF8String.fromString(s)
    case s: collection.Seq[_]    => array(s)
    case r: Row                  => InternalRow.fromSeq(r.toSeq.map(internal))
    case m: collection.Map[_, _] =>
      val entries = m.toSeq
      new ArrayBasedMapData(array(entries.map(_._1)), array(entries.map(_._2)))
    case other => other
  }

  private def array(values: collection.Seq[_]): ArrayData =
    new GenericArrayData(values.iterator.map(internal).toArray[Any])
}

object TableFunctionStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case c: TableFunctionCall => TableFunctionExec(c.function, c.arguments, c.output) :: Nil
    case _                    => Nil
  }
}
