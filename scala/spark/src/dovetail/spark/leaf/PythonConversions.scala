package org.apache.spark.sql.dovetail.leaf

import java.util.IdentityHashMap

import org.apache.spark.sql.dovetail.leaf.Pickle.{Call, Entries, Items, Name, NoValue, Text, Value}

/**
 * Tells whether a function that pyspark has pickled for its workers does no more than pyspark's own row-by-row
 * conversions: those of `createDataFrame`, `toDF` and of serializers. `LocalRows` counts rows below such a function.
 *
 * The pickle alone answers this (`Pickle`); no Python runs. Two properties are checked.
 *
 *   - How the function is made: only from `RDD.map` of one of the conversions, and from chains of such functions
 *     (`PipelinedRDD`). So it returns one row for each row.
 *   - Whether it contains code from outside of pyspark: a function that is not pyspark's comes either with its code,
 *     which names its file, or by the name of its module.
 *
 * The names are those of pyspark 3.5 to 4.3, in which they hardly differ. If another pyspark has other names, the
 * number of rows is unknown.
 */
object PythonConversions {

  /**
   * The conversions of a function that does nothing else; None for any other function.
   *
   * @param command pyspark's `(function, profiler, deserializer, serializer)`
   */
  def apply(command: Array[Byte]): Option[PythonConversions] =
    Pickle(command).map(new PythonConversions(_)).filter(_.only)

  /** Limit of the functions in a chain: pyspark's own chains are four functions long; a user's may have many. */
  private val MostStages = 16

  /** Modules of the local functions, which are pickled with their code and its file name; `pyspark.rdd` until 3.5. */
  private val Modules = Set("pyspark.core.rdd", "pyspark.rdd", "pyspark.sql.session", "pyspark.sql.types")

  private val MapRows = "RDD.map.<locals>.func"
  private val Chained = "PipelinedRDD.__init__.<locals>.pipeline_func"

  /** Returns the row unchanged: only the serializer changes. */
  private val Unchanged = "RDD._reserialize.<locals>.<lambda>"

  /** Functions that `RDD.map` may apply to each row. */
  private val Conversions = Set(
    Unchanged,
    // verifies a row by the schema if this is turned on; wraps a value that is not a row
    "SparkSession._create_dataframe.<locals>.prepare",
    // without a schema: makes tuples of dictionaries and objects; from 4.1 on, makes strings of the values in a string
    // column
    "_create_converter.<locals>.convert_struct",
    "_create_converter.<locals>.convert_string",
    "_create_converter.<locals>.<lambda>"
  )

  /**
   * The method of a schema that converts Python's values to those of Spark. It is pickled by its name, not with its
   * code.
   */
  private val ToInternal = Name("pyspark.sql.types", "StructType.toInternal")

  /**
   * Modules and names outside of pyspark: classes of values that the verification by the schema compares, and names in
   * type annotations.
   */
  private val OthersModules = Set("typing", "datetime", "decimal", "array")
  private val OthersNames   =
    Set("bool", "bytearray", "bytes", "dict", "float", "getattr", "int", "list", "str", "tuple", "type").map(
      Name("builtins", _)
    ) + Name("_operator", "getitem")

  private def known(name: Name): Boolean = name.module == "pyspark" || name.module.startsWith("pyspark.") ||
    OthersModules(name.module) || OthersNames(name)

  private val Cloudpickle = "pyspark.cloudpickle."

  private val Batches          = Name("pyspark.serializers", "BatchedSerializer")
  private val AutomaticBatches = Name("pyspark.serializers", "AutoBatchedSerializer")

  // positions in the arguments of Python's CodeType, the same from Python 3.8 on
  private val FileOfCode = 10
  private val NameOfCode = 11
  // counted from the end: the free variables (of enclosing functions), then the cell variables (for inner functions)
  private val FreeOfCode = 2

  private def isFile(path: String, module: String): Boolean =
    path.replace('\\', '/').endsWith("/" + module.replace('.', '/') + ".py")
}

final class PythonConversions private (pickle: Pickle) {
  import PythonConversions._

  /**
   * The state that cloudpickle sets on a function after it has made it: names, and the values that its code refers to.
   */
  private val states = new IdentityHashMap[Value, Items]
  pickle.calls.foreach(c =>
    (c.what, c.arguments) match {
      case (Name(module, "_function_setstate"), Seq(function, state: Items)) if module.startsWith(Cloudpickle) =>
        require(states.put(function, state) == null, "a function has one state")
      case _ =>
    }
  )

  private def only: Boolean = pickle.names.forall(known) && pickle.calls.forall(c => !isCode(c) || ofPyspark(c)) &&
    converts(isConversion)

  /** Whether a conversion may throw at a row: it verifies or changes the row. */
  def mayFail: Boolean = !converts(isUnchanged)

  private def converts(by: Value => Boolean): Boolean = pickle.value match {
    case command: Items => command.items.toList match {
        case List(function, NoValue, from, to) => isBatches(from, to) && isRowByRow(function, by, MostStages)
        case _                                 => false
      }
    case _ => false
  }

  private def isCode(call: Call): Boolean = isBuiltin(call.what, "CodeType")

  /** Whether code is pyspark's. This includes the code of a comprehension, which is inside that of a function. */
  private def ofPyspark(code: Call): Boolean = code.arguments.lift(FileOfCode) match {
    case Some(Text(path)) => Modules.exists(isFile(path, _))
    case _                => false
  }

  private def isBuiltin(value: Value, name: String): Boolean = value match {
    case c: Call => c.what match {
        case Name(module, "_builtin_type") => module.startsWith(Cloudpickle) && c.arguments == Seq(Text(name))
        case _                             => false
      }
    case _ => false
  }

  /**
   * Whether the function reads and writes batches: it reads batches of equal sizes, as `SparkContext.parallelize`
   * writes them; the batches that it writes may have other sizes.
   */
  private def isBatches(from: Value, to: Value): Boolean = isMade(from, Batches) &&
    (isMade(to, Batches) || isMade(to, AutomaticBatches))

  private def isMade(value: Value, of: Name): Boolean = value match {
    case c: Call => c.what == of
    case _       => false
  }

  private def isRowByRow(function: Value, by: Value => Boolean, stages: Int): Boolean =
    stages > 0 && Function.of(function).exists(f =>
      if (f.name == MapRows) f.refersTo("f").exists(by)
      else f.name == Chained && Seq("func", "prev_func").forall(f.refersTo(_).exists(isRowByRow(_, by, stages - 1)))
    )

  private def isUnchanged(function: Value): Boolean = Function.of(function).exists(_.name == Unchanged)

  private def isConversion(function: Value): Boolean = function match {
    case c: Call if isBuiltin(c.what, "MethodType") => c.arguments.headOption.contains(ToInternal)
    case other                                      => Function.of(other).exists(f => Conversions(f.name))
  }

  /**
   * A local function of pyspark's.
   *
   * @param name  qualified name in Python
   * @param cells cells of the free variables, by variable name
   */
  final private class Function(val name: String, cells: Map[String, Value]) {
    def refersTo(variable: String): Option[Value] = cells.get(variable).flatMap {
      case c: Call => c.what match {
          case Name(module, "_make_cell") if module.startsWith(Cloudpickle) => c.arguments.headOption
          case _                                                            => None
        }
      case _ => None
    }
  }

  private object Function {
    def of(value: Value): Option[Function] = for {
      made <- Some(value).collect { case c: Call => c }
      code <- made.what match {
        case Name(module, "_make_function") if module.startsWith(Cloudpickle) =>
          made.arguments.headOption.collect { case c: Call if isCode(c) => c }
        case _ => None
      }
      state        <- Option(states.get(value)).flatMap(_.items.lift(1)).collect { case e: Entries => fields(e) }
      Text(name)   <- state.get("__qualname__")
      Text(module) <- state.get("__module__")
      Text(file)   <- code.arguments.lift(FileOfCode)
      Text(short)  <- code.arguments.lift(NameOfCode)
      if Modules(module) && isFile(file, module) && name.split('.').last == short
    } yield new Function(name, cells(code, state))

    private def fields(entries: Entries): Map[String, Value] =
      entries.entries.collect { case (Text(key), value) => key -> value }.toMap

    private def cells(code: Call, state: Map[String, Value]): Map[String, Value] =
      (code.arguments(code.arguments.size - FreeOfCode), state.get("__closure__")) match {
        case (names: Items, Some(values: Items)) if names.items.size == values.items.size =>
          names.items.zip(values.items).collect { case (Text(name), cell) => name -> cell }.toMap
        case _ => Map.empty
      }
  }
}
