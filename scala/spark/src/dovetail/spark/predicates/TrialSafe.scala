package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.objects.{Invoke, StaticInvoke}
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.UserDefinedType

/**
 * Whether an expression may be evaluated while a query is planned. The expression must do nothing but compute, in
 * bounded memory ([[BoundedResult]]), and consist of Spark's own functions only. A function of the user or of a library
 * may be slow, count its calls or write somewhere. It runs only if the session allows it.
 */
object TrialSafe {
  def apply(e: Expression): Boolean = e.deterministic && !e.exists(impossible) &&
    (!e.exists(foreign) || DovetailConf.SampleUserFunctions.get(SQLConf.get))

  private def foreign(e: Expression): Boolean =
    !ofSpark(e.getClass) || e.dataType.isInstanceOf[UserDefinedType[_]] || (e match {
      // Spark's nodes that wrap code of users or libraries
      case _: UserDefinedExpression | _: ApplyFunctionExpression | _: CallMethodViaReflection => true
      case s: StaticInvoke => !ofSpark(s.staticObject)
      case i: Invoke       => !ofSparkOrJava(i)
      // encoders: constructors and functions of the user's classes
      case other => other.getClass.getName.startsWith(Objects)
    })

  /**
   * Whether the node has no value before the query runs, or is a function of Spark's whose value may have any length.
   */
  private def impossible(e: Expression): Boolean =
    e.isInstanceOf[PlanExpression[_]] || (!BoundedResult(e) && !foreign(e))

  private def ofSpark(c: Class[_]): Boolean = c.getName.startsWith(Catalyst)

  /**
   * Whether the object of a method call is Spark's. Spark has moved the code of some functions from expressions to such
   * objects. The expression holds the object as a literal.
   */
  private def ofSparkOrJava(i: Invoke): Boolean = i.targetObject match {
    case Literal(target: AnyRef, _) => ofSpark(target.getClass)
    case _                          => false
  }

  /** Package of Spark's own functions. Connectors (Avro, Protobuf, Hive) are in other packages. */
  private val Catalyst = "org.apache.spark.sql.catalyst."
  private val Objects  = "org.apache.spark.sql.catalyst.expressions.objects."
}
