package org.apache.spark.sql.dovetail.sql

import java.lang.reflect.{InvocationHandler, InvocationTargetException, Method, Modifier, Proxy}

import scala.util.Try

import org.apache.spark.sql.catalyst.parser.{ParseException, ParserInterface}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.dovetail.steer.QueryHints

/**
 * Adds the statements that begin with DOVETAIL to the session's parser. All other text goes to the previous parser
 * (Spark's, or another extension's), and Dovetail's hints are removed from its result.
 *
 * It is a dynamic proxy, because the parser's interface grows with every Spark line. The proxy has all interfaces of
 * the previous parser, and the parser interfaces of those behind it ([[ParserChain]]): other extensions look for their
 * own ones on the session's parser, as the procedures of Iceberg do.
 */
object CommandParser {

  def apply(delegate: ParserInterface): ParserInterface = {
    val chain  = ParserChain(delegate)
    val own    = Seq[Class[_]](classOf[ParserInterface])
    val direct = own ++ interfaces(delegate.getClass)
    val behind = chain.tail.flatMap(p => interfaces(p.getClass)).filter(own.head.isAssignableFrom(_))
    def proxy(loader: ClassLoader, wanted: Seq[Class[_]]) = Try(
      Proxy.newProxyInstance(loader, wanted.distinct.toArray, new Handler(chain)).asInstanceOf[ParserInterface]
    ).toOption
    // a class loader may not see the interfaces of another one
    val loaders = chain.map(_.getClass.getClassLoader).distinct
    loaders.flatMap(proxy(_, direct ++ behind)).headOption
      .orElse(proxy(loaders.head, direct))
      .orElse(proxy(getClass.getClassLoader, own)).get
  }

  /** The public interfaces that a class and its superclasses name. */
  private def interfaces(of: Class[_]): Seq[Class[_]] =
    if (of == null) Nil
    else of.getInterfaces.toSeq.filter(i => Modifier.isPublic(i.getModifiers)) ++ interfaces(of.getSuperclass)

  final private class Handler(chain: Vector[ParserInterface]) extends InvocationHandler {
    private val delegate = chain.head

    override def invoke(proxy: AnyRef, method: Method, arguments: Array[AnyRef]): AnyRef = {
      val args = if (arguments == null) Array.empty[AnyRef] else arguments
      val own  = (method.getName, args.headOption) match {
        // spark.sql() calls parsePlan up to Spark 4.0, and parsePlanWithParameters from 4.1 on
        case ("parsePlan" | "parsePlanWithParameters", Some(text: String)) if Grammar.isIn(text) =>
          Some(command(Grammar(text, delegate)))
        case _ => None
      }
      own.getOrElse {
        val parsed =
          try method.invoke(chain.find(method.getDeclaringClass.isInstance).getOrElse(delegate), args: _*)
          catch { case e: InvocationTargetException => throw allowed(e.getTargetException) }
        (args.headOption, parsed) match {
          case (Some(text: String), plan: LogicalPlan) if QueryHints.isIn(text) => QueryHints.removed(plan)
          case _                                                                => parsed
        }
      }
    }
  }

  /**
   * A proxy may only throw what the interface declares: other checked exceptions, as those of SQL scripts, would lose
   * their message.
   */
  private def allowed(e: Throwable): Throwable = e match {
    case _: RuntimeException | _: Error | _: ParseException => e
    case _                                                  => new RuntimeException(e.getMessage, e)
  }

  private def command(statement: Statement): LogicalPlan = statement match {
    case s: Statement.Analyze   => AnalyzeCommand(s)
    case Statement.Profile(sql) => ProfileCommand(sql)
    case Statement.Calibrate(n) => CalibrateCommand(n)
    case Statement.Help(word)   => HelpCommand(word)
    case s: Statement.Steer     => SteerCommand(s)
  }
}
