package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.objects.{Invoke, StaticInvoke}
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.UserDefinedType

/**
 * Whether an expression may be computed while a query is planned: it does nothing but compute, in bounded memory
 * ([[BoundedResult]]), and all of it is Spark's own. What is known to be so may; a function of the user's, or of a
 * library's, may be slow, count its calls or write somewhere, and runs only where the session allows it.
 */
object TrialSafe {
  def apply(e: Expression): Boolean = e.deterministic && !e.exists(impossible) &&
    (!e.exists(foreign) || DovetailConf.SampleUserFunctions.get(SQLConf.get))

  private def foreign(e: Expression): Boolean =
    !ofSpark(e.getClass) || e.dataType.isInstanceOf[UserDefinedType[_]] || (e match {
      // Spark's nodes that hold somebody's code
      case _: UserDefinedExpression | _: ApplyFunctionExpression | _: CallMethodViaReflection => true
      case s: StaticInvoke => !ofSpark(s.staticObject)
      case i: Invoke       => !ofSparkOrJava(i)
      // encoders: constructors and functions of the user's classes
      case other => other.getClass.getName.startsWith(Objects)
    })

  /** There is no value without running the query; or of a function of Spark's, one of any length. */
  private def impossible(e: Expression): Boolean =
    e.isInstanceOf[PlanExpression[_]] || (!BoundedResult(e) && !foreign(e))

  private def ofSpark(c: Class[_]): Boolean = c.getName.startsWith(Catalyst)

  /**
   * Functions that Spark has moved out of their expressions are methods of an object of its own, which stands there as
   * a literal.
   */
  private def ofSparkOrJava(i: Invoke): Boolean = i.targetObject match {
    case Literal(target: AnyRef, _) => ofSpark(target.getClass)
    case _                          => false
  }

  /** Of Spark's own functions; connectors (Avro, Protobuf, Hive) are elsewhere. */
  private val Catalyst = "org.apache.spark.sql.catalyst."
  private val Objects  = "org.apache.spark.sql.catalyst.expressions.objects."
}
